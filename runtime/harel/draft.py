"""`Draft`: one step in the making: the record being changed, and what else the step's one commit will carry.

The engine writes here and nowhere else; the driver turns a draft into `Effects` and commits it. It knows the record
and the shape of effects, not what a transition is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from .execution import Armed, Child, Deferred, Execution, Status
from .stores.protocol import Effects, Message, Processed, Spawn, SpawnBatch, Timer

ID_LIMIT = 100
"""How long an event id may be to stand in the ids of what its step sends."""


class Draft:
    """The execution as it will be, and the effects so far.

    Attributes:
        execution: the working copy; the caller's, changed in place.
        event_kind, event_id: what set the step off, for the trace.
        touched: an action ran, so that the context must be checked before it is committed.
        actions: names of the actions that ran, in order.
        assigned: what `set` wrote.
    """

    def __init__(self, execution: Execution, now: float, event_kind: str, event_id: str) -> None:
        self.execution = execution
        self.now = now
        self.event_kind = event_kind
        self.event_id = event_id
        self.path_from = execution.active_path
        self.touched = False
        self.actions: list[str] = []
        self.assigned: dict[str, Any] = {}
        self._emits: list[Message] = []
        self._spawns: list[SpawnBatch] = []
        self._arms: dict[str, Timer] = {}
        self._cancels: dict[str, None] = {}

    @property
    def next_version(self) -> int:
        return self.execution.version + 1

    @property
    def order(self) -> tuple[float, int]:
        """Where an event that comes in now stands among all events of the tree, whatever the clock does."""
        return (max(self.now, self.execution.updated_at), self.execution.processed_count)

    # --- timers

    def arm(self, path: str, due: float) -> None:
        """Arm the timer of a state."""
        execution = self.execution
        execution.armings += 1
        execution.timers[path] = Armed(due, execution.armings)
        self._put(Timer(execution.id, path, due, execution.armings))

    def disarm(self, path: str) -> None:
        """Cancel the timer of a state, if it has one."""
        if self.execution.timers.pop(path, None) is not None:
            self._drop(path)

    def restart_ttl(self, ttl: float | None) -> None:
        """Count the time to live, where the machine has one, from now; children live as long as their root."""
        if ttl is None or self.execution.parent_id is not None:
            return
        self.execution.expires_at = self.now + ttl
        self._put(Timer(self.execution.id, "", self.now + ttl, 0))

    def stop_ttl(self) -> None:
        if self.execution.expires_at is not None:
            self.execution.expires_at = None
            self._drop("")

    def stop_all_timers(self) -> None:
        for path in list(self.execution.timers):
            self.disarm(path)
        self.stop_ttl()

    def _put(self, timer: Timer) -> None:
        self._cancels.pop(timer.path, None)
        self._arms[timer.path] = timer

    def _drop(self, path: str) -> None:
        self._arms.pop(path, None)
        self._cancels[path] = None

    # --- messages and children

    def emit(
        self,
        target: str,
        kind: str,
        data: Mapping[str, Any],
        event_id: str | None = None,
        order: tuple[float, int] | None = None,
    ) -> None:
        """Put a message in the outbox; without an id it gets one that is the same over attempts (edges.md, Meaning)."""
        number = len(self._emits)
        message_id = f"{self.execution.id}:{self.next_version}:{number}"
        event_id = event_id or f"send:{self.execution.id}:{_short(self.event_id)}:{number}"
        self._emits.append(Message(message_id, self.execution.id, target, kind, dict(data), event_id, order))

    def spawn(self, spawns: list[Spawn]) -> None:
        """Start the children of one entry; they replace what the record knew of earlier ones."""
        execution = self.execution
        execution.children = {spawn.key: Child(spawn.child_id) for spawn in spawns}
        if spawns:
            batch_id = f"{execution.id}:{self.next_version}:{len(self._spawns)}"
            self._spawns.append(SpawnBatch(batch_id, execution.id, execution.generation, tuple(spawns)))

    def cancel_children(self, *, reason: str | None = None, force: bool = False, command: bool = False) -> None:
        """Send `Cancel` to every child that has not ended, in declaration order.

        `force` ends them without asking; `command` (an operator's, not the parent's leaving) ends dead letters too.
        """
        flags = {**({"force": True} if force else {}), **({"command": True} if command else {})}
        for child in self.execution.children.values():
            if child.state != "ended":
                self.emit(child.id, "Cancel", {"reason": reason, **flags})

    def report_end(self, outcome: str | None, carried: Mapping[str, Any], deferred: list[Deferred]) -> None:
        """Tell the parent that this execution has ended."""
        execution = self.execution
        if execution.parent_id is not None:
            handed = [[d.kind, d.data, d.id, list(d.order)] for d in deferred] if execution.region else []
            data = {"outcome": outcome, "carried": dict(carried), "deferred": handed}
            self.emit(execution.parent_id, "Finished", data, f"returned:{execution.id}")

    def report_failure(self, type_: str, message: str) -> None:
        """Tell the parent that this execution has become a dead letter."""
        execution = self.execution
        if execution.parent_id is not None:
            data = {"type": type_, "message": message, "child": execution.key}
            event_id = f"returned:{execution.id}:failed:{self.next_version}"
            self.emit(execution.parent_id, "error", data, event_id)

    # --- endings

    def cancelled(self, *, outcome: str | None, reported: bool) -> None:
        """End the execution where it stands, without hooks; `outcome` replaces what was set unless it is `None`."""
        execution = self.execution
        execution.status = Status.CANCELLED
        execution.outcome = outcome or execution.outcome
        self.close()
        if reported:
            self.report_end("cancelled", {}, [])

    def end_by_force(self, *, reason: str | None, force: bool, command: bool, reported: bool) -> None:
        """End the execution where it stands, and its children; flags as of `cancel_children`."""
        self.cancel_children(reason=reason, force=force, command=command)
        self.cancelled(outcome=None, reported=reported)

    def close(self) -> None:
        """What holds of every execution that has ended: no timers, no queue, an end time."""
        self.stop_all_timers()
        self.execution.deferred = []
        self.execution.finished_at = max(self.now, self.execution.updated_at)

    # --- the commit

    def consume(self) -> Processed:
        """Count the event's id as consumed."""
        self.execution.processed_count += 1
        return Processed(self.event_id, self.now, self.execution.processed_count)

    def effects(self) -> Effects:
        """What the step sends, starts, arms and cancels; the driver adds what only it knows."""
        return Effects(
            emits=tuple(self._emits),
            spawns=tuple(self._spawns),
            arms=tuple(self._arms.values()),
            cancels=tuple(self._cancels),
            event=self.event_kind,
            path_from=self.path_from,
        )


def _short(step: str) -> str:
    """The step's event id, or a digest of a long one: an event that answers an event that answered … stays bounded."""
    return step if len(step) <= ID_LIMIT else hashlib.sha256(step.encode()).hexdigest()[:32]
