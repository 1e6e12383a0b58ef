"""docs/durability.md: its program runs, its failure message is real, and every test it names is there."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harel.testing import crash

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "durability.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def program() -> dict[str, Any]:
    """The names that the page's program defines."""
    names: dict[str, Any] = {}
    (source,) = [text for kind, text in BLOCKS if kind == "python"]
    exec(compile(source, "docs/durability.md", "exec"), names)
    return names


def test_its_program_passes(program: dict[str, Any]) -> None:
    program["test_orders_survive_any_two_crashes"]()


def test_its_failure_is_what_a_bank_without_keys_gets(program: dict[str, Any]) -> None:
    def forgetful() -> crash.World:
        charges: list[int] = []
        return crash.World({"charge": lambda stm, event: charges.append(event.data["amount"])}, lambda: charges)

    with pytest.raises(crash.CrashFailure) as failure:
        crash.check_crashes(replace(program["paid"], world=forgetful))

    assert str(failure.value) in PAGE


def test_every_test_it_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 20
    for file, name in named:
        tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not name or name in functions, f"{file}::{name}"


def test_the_steps_it_lists_are_the_ones_there_are() -> None:
    (line,) = re.findall(r"\*\*Steps\*\*: (.*?)\(go on", PAGE, re.DOTALL)
    listed = re.findall(r"`(\w+)`", line)
    functions = inspect.getmembers(crash, inspect.isfunction)
    makers = {name for name, function in functions if function.__annotations__.get("return") == "Step"}

    assert set(listed) == makers
