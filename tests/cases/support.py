"""What the cases from the field share: the machines beside them, and the types of the fixtures."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from harel import Definition, DurableRunner, definition_from_dsl_file

CASES = Path(__file__).parent
Handlers = Mapping[str, Callable[..., Any]]
Completed = subprocess.CompletedProcess[str]


class Start(Protocol):
    """Starts a process: a new runner with the machines of a case, on the test's store and clock."""

    def __call__(self, case: str, *machines: str, actions: Handlers | None = None, **options: Any) -> DurableRunner: ...


class Command(Protocol):
    """Runs `harelc` with arguments in a folder."""

    def __call__(self, *args: str, cwd: Path, env: Mapping[str, str] | None = None) -> Completed: ...


def text_of(case: str, file: str = "machine.stm") -> str:
    """The source of a case."""
    return (CASES / case / file).read_text(encoding="utf-8")


def machine(case: str, name: str, actions: Handlers | None = None) -> Definition:
    """A machine of a case's `machine.stm`."""
    return definition_from_dsl_file(CASES / case / "machine.stm", name, actions=actions)
