"""`[tool.harelc]` in pyproject.toml: what it may say, and what is said when it is wrong (build.md section 1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harelc.console import Refusal
from harelc.settings import Settings, Target, read_settings


def settings_of(folder: Path, text: str) -> Settings:
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return read_settings(file)


def test_a_project_without_the_table_has_no_targets(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "[tool.black]\nline-length = 88\n") == Settings()


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path, '[tool.harelc]\nsources = ["machines", "more/order.stm"]\noutput = "src/shop"\ndiagrams = false\n'
    )

    sources = (tmp_path / "machines", tmp_path / "more" / "order.stm")
    assert settings.targets == (Target(sources, tmp_path / "src" / "shop", diagrams=False),)


def test_further_targets_have_outputs_of_their_own_and_inherit_diagrams(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        """
        [tool.harelc]
        sources = ["machines"]
        diagrams = false
        [[tool.harelc.targets]]
        sources = ["devices"]
        output = "src/devices"
        diagrams = true
        [[tool.harelc.targets]]
        sources = ["payments"]
        """,
    )

    assert settings.targets == (
        Target((tmp_path / "machines",), None, diagrams=False),
        Target((tmp_path / "devices",), tmp_path / "src" / "devices", diagrams=True),
        Target((tmp_path / "payments",), None, diagrams=False),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sources = ["a"]\noutptu = "b"', "tool.harelc has no key `outptu`; did you mean `output`?"),
        ('sources = ["a"]\nx = 1', "tool.harelc has no key `x`; known are sources, output, diagrams, docs, targets"),
        ('sources = "machines"', 'tool.harelc.sources must be a list of paths, such as ["machines"]'),
        ("sources = []", 'tool.harelc.sources must be a list of paths, such as ["machines"]'),
        ('sources = ["a"]\noutput = 3', "tool.harelc.output must be the path of a folder"),
        ('sources = ["a"]\ndiagrams = "yes"', "tool.harelc.diagrams must be true or false"),
        ('output = "b"', "tool.harelc.output needs tool.harelc.sources beside it"),
        ('targets = "b"', "tool.harelc.targets must be a list of tables"),
        ('targets = [{output = "b"}]', 'tool.harelc.targets.sources must be a list of paths, such as ["machines"]'),
    ],
)
def test_a_wrong_table_names_the_file_and_the_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        settings_of(tmp_path, f"[tool.harelc]\n{text}\n")

    assert str(refused.value) == f"{tmp_path / 'pyproject.toml'}: {message}"


def test_a_file_that_is_no_toml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"pyproject\.toml: .*line 2"):
        settings_of(tmp_path, "[tool.harelc]\nsources = nothing\n")
