"""Jobs: what the driver's generators ask of the outside, so that a sync and an async runner can both do it.

A job yields a request and is sent its result, or is thrown the exception that doing it raised. Nothing here does
anything.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import StoreUnavailable
from .event import Event
from .execution import Execution
from .handlers import Handler
from .stm import Stm

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoreCall:
    """Call a method of the store and send back its result."""

    method: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a handler: `handler(stm, event, **inputs)`. What it raises is thrown back."""

    handler: Handler
    stm: Stm
    event: Event
    inputs: dict[str, Any]
    name: str


@dataclass(frozen=True, slots=True)
class Exclusive:
    """Do the job while no other call of this process works on the execution, and send back its result."""

    execution_id: str
    job: Job[Any]


class OwnStep(RuntimeError):
    """A handler asks for a step of the very execution whose step waits for the handler."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait some seconds."""

    seconds: float


Request = StoreCall | Invoke | Exclusive | Pause
Job = Generator[Request, Any, T]


def load(execution_id: str) -> Job[Execution]:
    """The record as it is now. Raises `ExecutionNotFound`."""
    execution: Execution = yield StoreCall("load", (execution_id,))
    yield from check_record(execution, execution_id)
    return execution


def check_record(execution: Execution, execution_id: str) -> Job[None]:
    """Refuse a record of another id: a connection on which answers are mixed up is not used again (edges.md, Races).

    Raises:
        StoreUnavailable: names both ids; the store has been told to close its connections.
    """
    if execution.id != execution_id:
        yield StoreCall("close", ())
        raise StoreUnavailable(
            f"the store answered with the record of {execution.id!r} when asked for {execution_id!r}: "
            "its connections are closed; send the event again"
        )
