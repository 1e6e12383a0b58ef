"""`Execution`: one running machine, region, invoked machine or fan-out instance, as plain data (runtime.md section 2).

The record holds all that is needed to go on: the timers in a store are an index over `timers` here, and the record
decides. It knows neither tables, engine nor store. JSON round trip: `to_json` and `from_json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """Where an execution stands in its life; `DONE` and `CANCELLED` are final, `FAILED` can be redriven."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    CANCELLING = "CANCELLING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"

    @property
    def ended(self) -> bool:
        return self in (Status.DONE, Status.CANCELLED)


@dataclass(slots=True)
class Child:
    """What a parent knows of one child: its execution id, and how it ended once it has.

    `state` is `running`, `failed` (may still be redriven) or `ended`; `result` is what `region_results` reports.
    """

    id: str
    state: str = "running"
    result: dict[str, Any] | None = None


@dataclass(slots=True)
class Deferred:
    """An event that waits in the queue. `order` is when the tree took it in: (epoch seconds, tie)."""

    kind: str
    data: dict[str, Any]
    id: str
    order: tuple[float, int]


@dataclass(slots=True)
class Armed:
    """An armed timer of a state: when it is due (epoch seconds) and which arming it is, so that a stale one is
    known.
    """

    due: float
    arming: int


@dataclass(slots=True)
class Execution:
    """One execution. Times are UTC epoch seconds by the host's clock; `version` is the compare-and-set token."""

    id: str
    definition_id: str
    definition_version: int = 1
    definition_digest: str = ""
    status: Status = Status.PENDING
    active_path: str = ""
    outcome: str | None = None
    error: str | None = None
    context: dict[str, Any] = field(default_factory=dict)
    history: dict[str, str] = field(default_factory=dict)
    deferred: list[Deferred] = field(default_factory=list)
    children: dict[str, Child] = field(default_factory=dict)
    parent_id: str | None = None
    root_id: str | None = None
    key: str | None = None
    region: str = ""
    version: int = 0
    priority: int = 0
    created_at: float = 0.0
    updated_at: float = 0.0
    finished_at: float | None = None
    expires_at: float | None = None
    timers: dict[str, Armed] = field(default_factory=dict)
    armings: int = 0
    generation: int = 0
    seed_digest: str | None = None
    failed_event: str | None = None
    resume_status: Status | None = None
    processed_count: int = 0

    def to_json(self) -> str:
        """The record as JSON text; the one encoding that every store keeps."""
        return json.dumps(_pack(self), ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Execution:
        """The execution of a stored record; fields that the record lacks take their defaults (older formats)."""
        return _unpack(json.loads(text))


_PLAIN = tuple(
    f.name for f in fields(Execution) if f.name not in ("status", "resume_status", "deferred", "children", "timers")
)
_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(Execution) if f.name in _PLAIN}


def _pack(execution: Execution) -> dict[str, Any]:
    """The record as JSON data; fields at their default are left out, so that an idle record stays small."""
    record: dict[str, Any] = {"status": execution.status.value}
    for name in _PLAIN:
        value = getattr(execution, name)
        if value != _DEFAULTS[name] and value != {}:
            record[name] = value
    if execution.resume_status is not None:
        record["resume_status"] = execution.resume_status.value
    if execution.deferred:
        record["deferred"] = [[d.kind, d.data, d.id, list(d.order)] for d in execution.deferred]
    if execution.children:
        record["children"] = {key: [c.id, c.state, c.result] for key, c in execution.children.items()}
    if execution.timers:
        record["timers"] = {path: [armed.due, armed.arming] for path, armed in execution.timers.items()}
    return record


def _unpack(record: dict[str, Any]) -> Execution:
    execution = Execution(**{name: record[name] for name in _PLAIN if name in record}, status=Status(record["status"]))
    if "resume_status" in record:
        execution.resume_status = Status(record["resume_status"])
    execution.deferred = [
        Deferred(kind, data, id, (order[0], order[1])) for kind, data, id, order in record.get("deferred", ())
    ]
    execution.children = {key: Child(*parts) for key, parts in record.get("children", {}).items()}
    execution.timers = {path: Armed(*parts) for path, parts in record.get("timers", {}).items()}
    return execution
