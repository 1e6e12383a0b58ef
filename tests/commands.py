"""What tests need that run the command: how it ended, and the environment of a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True)
class Result:
    """How a command ended: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


Command = Callable[..., Result]


def environment(**more: str) -> dict[str, str]:
    """This process's environment with the checkout importable, and more."""
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "runtime")])
    return {**os.environ, "PYTHONPATH": path, **more}
