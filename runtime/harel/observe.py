"""`ObservedStore`: a store that tells an observer of every committed step, for metrics, logs and notifications
(runtime.md section 1).

It wraps any store and changes nothing of what the store does. It knows the protocol and no backend.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .errors import (
    ContextError,
    ExecutionAlreadyExists,
    RecordTooLarge,
    StoreConflict,
    StoreError,
)
from .execution import Execution, Status
from .stores.protocol import Effects, Loaded, Message, Page, SpawnBatch, Store, Timer, TraceRow

log = logging.getLogger("harel")

REFUSALS = (StoreConflict, ExecutionAlreadyExists, RecordTooLarge, ContextError)
"""What a store raises where it has certainly written nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    """One committed step of one execution, regions and invoked machines included.

    Attributes:
        execution_id: whose step. root_id: the execution at the top of its tree, itself for a root.
        machine, version: the machine that ran it. An inline machine's name is `MACHINE:PATH`.
        event: the kind that set the step off: `Start`, a domain event, `Timeout`, `Finished`, … or the command
            (`Suspend`, `Resume`, `Redrive`, `Cancel`).
        path_from, path_to: the active paths before and after. status, outcome, error: as they are after the step.
        time: the clock of the runner at the step, in epoch seconds.
        number: how many steps the execution has had, this one included; (execution_id, number) is unique.
    """

    execution_id: str
    root_id: str
    machine: str
    version: int
    event: str
    path_from: str
    path_to: str
    status: Status
    outcome: str | None
    error: str | None
    time: float
    number: int


Observer = Callable[[Step], object]
"""Called after a step is committed, in the thread that committed it; what it returns is not looked at."""


class ObservedStore:
    """A store whose every committed step is told to an observer, once, after the commit.

    A step that lost to another writer is not told. The call comes after the commit and not with it: a process that
    dies in between leaves a step untold, so that this is for looking on; what must not be missed is an action. An
    observer that raises is logged and the step stands. A slow observer holds up the runner.

        store = ObservedStore(SqliteStore("orders.db"), lambda step: metrics.count(step.machine, step.status))
    """

    def __init__(self, store: Store, observer: Observer) -> None:
        self.store = store
        self._observer = observer

    def __repr__(self) -> str:
        return f"ObservedStore({self.store!r})"

    # --- what is told

    def create(self, execution: Execution, effects: Effects) -> None:
        """See `Store.create`."""
        self._write(execution, effects, lambda: self.store.create(execution, effects))

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        """See `Store.commit`."""
        self._write(execution, effects, lambda: self.store.commit(execution, expected_version, effects))

    def _write(self, execution: Execution, effects: Effects, write: Callable[[], None]) -> None:
        try:
            write()
        except REFUSALS:
            raise
        except Exception:
            # The answer may have been lost: the driver looks the step up and goes on, so it must be told.
            if self._is_written(execution):
                self._tell(execution, effects)
            raise
        self._tell(execution, effects)

    def _is_written(self, execution: Execution) -> bool:
        try:
            return self.store.load(execution.id).to_json() == execution.to_json()
        except (StoreError, OSError):
            return False

    def _tell(self, execution: Execution, effects: Effects) -> None:
        step = Step(
            execution_id=execution.id,
            root_id=execution.root_id or execution.id,
            machine=execution.definition_id,
            version=execution.definition_version,
            event=effects.event,
            path_from=effects.path_from,
            path_to=execution.active_path,
            status=execution.status,
            outcome=execution.outcome,
            error=execution.error,
            time=execution.updated_at,
            number=execution.version,
        )
        try:
            self._observer(step)
        except Exception:
            log.exception("the observer failed at step %s of execution %s; the step stands", step.number, execution.id)

    # --- what is passed on

    def load(self, execution_id: str) -> Execution:
        """See `Store.load`."""
        return self.store.load(execution_id)

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        """See `Store.load_step`."""
        return self.store.load_step(execution_id, event_id)

    def pending_outbox(self, limit: int = 100, after: str | None = None) -> list[Message]:
        """See `Store.pending_outbox`."""
        return self.store.pending_outbox(limit, after)

    def ack_outbox(self, message_id: str) -> None:
        """See `Store.ack_outbox`."""
        self.store.ack_outbox(message_id)

    def pending_spawns(self, limit: int = 100, after: str | None = None) -> list[SpawnBatch]:
        """See `Store.pending_spawns`."""
        return self.store.pending_spawns(limit, after)

    def ack_spawn(self, batch_id: str) -> None:
        """See `Store.ack_spawn`."""
        self.store.ack_spawn(batch_id)

    def is_processed(self, execution_id: str, event_id: str) -> bool:
        """See `Store.is_processed`."""
        return self.store.is_processed(execution_id, event_id)

    def due_timers(self, now: float, limit: int = 100, after: tuple[float, int, str, str] | None = None) -> list[Timer]:
        """See `Store.due_timers`."""
        return self.store.due_timers(now, limit, after)

    def timers(self, execution_id: str) -> list[Timer]:
        """See `Store.timers`."""
        return self.store.timers(execution_id)

    def read_trace(self, execution_id: str) -> list[TraceRow]:
        """See `Store.read_trace`."""
        return self.store.read_trace(execution_id)

    def list_executions(
        self,
        status: Status | None = None,
        definition_id: str | None = None,
        roots_only: bool = True,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """See `Store.list_executions`."""
        return self.store.list_executions(status, definition_id, roots_only, limit, cursor)

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """See `Store.ids_with_prefix`."""
        return self.store.ids_with_prefix(prefix)

    def purge(self, execution_ids: Sequence[str]) -> None:
        """See `Store.purge`."""
        self.store.purge(execution_ids)

    def publish_definition(self, id: str, version: int, digest: str, document: str) -> None:
        """See `Store.publish_definition`."""
        self.store.publish_definition(id, version, digest, document)

    def load_definition(self, id: str, version: int) -> str | None:
        """See `Store.load_definition`."""
        return self.store.load_definition(id, version)

    def list_definitions(self) -> list[tuple[str, int, str]]:
        """See `Store.list_definitions`."""
        return self.store.list_definitions()

    def close(self) -> None:
        """See `Store.close`."""
        self.store.close()
