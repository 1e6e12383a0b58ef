"""`Event`: what is sent to an execution. It knows nothing of declarations, stores or engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESERVED_KINDS = frozenset(
    {"Start", "Finished", "Timeout", "Cancel", "Reset", "SetState", "Returned", "error", "Expired"}
)
"""Kinds that only the runtime itself sends (language.md section 2)."""


class Event:
    """A kind, JSON data and an optional id; the same id takes effect once per execution (runtime.md section 4)."""

    __slots__ = ("data", "id", "kind")

    def __init__(self, kind: str, data: Mapping[str, Any] | None = None, id: str | None = None) -> None:
        self.kind = kind
        self.data: dict[str, Any] = dict(data) if data else {}
        self.id = id

    def __repr__(self) -> str:
        return f"Event(kind={self.kind!r}, data={self.data!r}, id={self.id!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return (self.kind, self.data, self.id) == (other.kind, other.data, other.id)
