"""The settings that docs/integration.md shows are those of the sample projects, which are built; its names exist."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml
from commands import REPOSITORY

PAGE = (REPOSITORY / "docs" / "integration.md").read_text(encoding="utf-8")
PROJECTS = REPOSITORY / "tests" / "integration" / "projects"


def block(opening: str) -> str:
    """The text of the one fenced block that opens so."""
    (text,) = re.findall(rf"^```{opening}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def is_part(small: Any, large: Any) -> bool:
    if isinstance(small, dict):
        return all(key in large and is_part(value, large[key]) for key, value in small.items())
    return bool(small == large)


@pytest.mark.parametrize("name", ["hatch", "setuptools"])
def test_the_settings_of_a_build_hook_are_those_of_its_sample_project(name: str) -> None:
    settings = tomllib.loads((PROJECTS / name / "pyproject.toml").read_text())

    assert is_part(tomllib.loads(block(f"toml {name}")), settings)


def test_the_table_is_that_of_a_sample_project() -> None:
    settings = tomllib.loads((PROJECTS / "hatch" / "pyproject.toml").read_text())

    assert is_part(tomllib.loads(block("toml")), settings)


def test_the_hooks_of_pre_commit_exist() -> None:
    (repository,) = yaml.safe_load(block("yaml"))["repos"]
    offered = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())

    assert sorted(hook["id"] for hook in repository["hooks"]) == sorted(hook["id"] for hook in offered)
