"""The driver: takes an execution through one delivery, and commits it once (runtime.md section 4).

It performs the engine's steps: handlers are called, the context is checked, and the record is written with everything
the step changes. What a step sets off is left to `relay.py`. Jobs throughout, for the sync and the async runner alike.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from . import engine
from .declarations import check_event, check_schema, check_types
from .definition import Definition
from .draft import Draft
from .engine import Act, Delivery, Steps
from .errors import (
    ContextError,
    DefinitionChanged,
    DefinitionNotLoaded,
    ExecutionAlreadyExists,
    ExecutionNotFound,
    RecordTooLarge,
    SettlingLimit,
    StoreConflict,
)
from .event import Event
from .execution import Execution, Status
from .jobs import Invoke, Job, Pause, StoreCall, check_record, load
from .machines import Machines
from .program import Program
from .stm import Stm
from .stores.protocol import Effects, Loaded, Message, Processed, SpawnBatch
from .trace import trace_row
from .values import check_json, copy_json, error_text, escape_text, from_literal

ATTEMPTS = 4
"""How often a step is tried that loses its compare-and-set: once, and three times again (edges.md, Races)."""

COMMIT_FAILURES = (ContextError, RecordTooLarge, SettlingLimit, DefinitionChanged)
"""What fails a step as a whole: the record stays as it was but for the failure (edges.md, Values)."""

Attempt = Callable[[Loaded, Delivery, "Outgoing"], Job[Execution | None]]
"""One try at a delivery; `None`: nothing was committed, for there is nothing to do."""


@dataclass(slots=True)
class Outgoing:
    """What committed steps have set off and nobody has delivered yet, in order.

    `entries` counts how often each execution has started children meanwhile.
    """

    batches: deque[SpawnBatch] = field(default_factory=deque)
    messages: deque[Message] = field(default_factory=deque)
    entries: Counter[str] = field(default_factory=Counter)

    def add(self, effects: Effects) -> None:
        self.batches.extend(effects.spawns)
        self.messages.extend(effects.emits)

    def __bool__(self) -> bool:
        return bool(self.batches or self.messages)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a runner runs: its clock (epoch seconds), its trace, and whether an action's exception reaches the caller."""

    clock: Callable[[], float]
    trace: bool
    trace_limit: int
    raises: bool


class Driver:
    """Steps of one store's executions."""

    def __init__(self, machines: Machines, settings: Settings) -> None:
        self.machines = machines
        self.settings = settings

    # --- starting

    def start(
        self, new: Execution, definition: Definition, outgoing: Outgoing, spawn_acks: tuple[str, ...]
    ) -> Job[Execution]:
        """Run the first step and write the record with its effects, once."""
        now = self.settings.clock()
        execution, seed = new, new.to_json()
        execution.created_at = execution.updated_at = now
        program = self.machines.registry.program(definition)
        draft = Draft(execution, now, "Start", "start")
        try:
            draft.restart_ttl(definition.ttl)
            yield from self.run(program, draft, engine.start(program, draft))
            self._check_context(program, draft)
        except COMMIT_FAILURES as error:
            if self.settings.raises:
                raise
            draft = self.stillborn(seed, now, error)
        written = yield from self.write_new(draft, replace(self.effects(draft), spawn_acks=spawn_acks), outgoing)
        return written

    def write_new(self, draft: Draft, effects: Effects, outgoing: Outgoing) -> Job[Execution]:
        execution = draft.execution
        execution.version = 1
        try:
            yield StoreCall("create", (execution, effects))
        except ExecutionAlreadyExists:
            raise
        except Exception:
            # The answer may have been lost: the record is there, or it is not.
            if not (yield from self._is_written(execution)):
                raise
        outgoing.add(effects)
        return execution

    def _is_written(self, execution: Execution) -> Job[bool]:
        try:
            stored = yield from load(execution.id)
        except ExecutionNotFound:
            return False
        return stored.to_json() == execution.to_json()

    def stillborn(self, seed: str, now: float, error: Exception) -> Draft:
        """An execution that failed at its very first commit: its initial context, and why."""
        execution = Execution.from_json(seed)
        execution.created_at = now
        draft = Draft(execution, now, "Start", "start")
        self._fail(draft, error)
        return draft

    # --- one delivery

    def deliver(
        self,
        execution_id: str,
        delivery: Delivery,
        outgoing: Outgoing,
        attempt: Attempt,
    ) -> Job[tuple[Execution, bool]]:
        """Try until the step is committed or nothing is to do; the record, and whether the store has leftovers."""
        for left in reversed(range(ATTEMPTS)):
            loaded: Loaded = yield StoreCall("load_step", (execution_id, delivery.id))
            yield from check_record(loaded.execution, execution_id)
            try:
                committed = yield from attempt(loaded, delivery, outgoing)
                return committed or loaded.execution, loaded.backlog
            except StoreConflict:
                if not left:
                    raise
                yield Pause(random.uniform(0.001, 0.02) * (ATTEMPTS - left))
        raise AssertionError("the last attempt returns or raises")

    def step(
        self, execution: Execution, delivery: Delivery, outgoing: Outgoing, acks: tuple[str, ...] = ()
    ) -> Job[Execution]:
        """Run a delivery and commit it; a failure that shows only at the commit becomes a dead letter."""
        now = self.settings.clock() if delivery.at is None else delivery.at
        draft = Draft(execution, now, delivery.kind, delivery.id)
        expected = execution.version
        before = copy_json(execution.context) if self.settings.trace else {}
        consumed = delivery.kind not in ("Timeout", "Expired")
        try:
            program = yield from self._program(execution, delivery)
            if program is None:
                return (yield from self._end_without_machine(draft, delivery, outgoing, acks))
            if not delivery.internal:
                check_event(program.definition, delivery.kind, delivery.data)
            copied = replace(delivery, data=copy_json(delivery.data))
            yield from self.run(program, draft, engine.handle(program, draft, copied))
            self._check_context(program, draft)
            effects = self.effects(draft, before)
            return (yield from self._commit(draft, effects, outgoing, acks, consumed))
        except COMMIT_FAILURES as error:
            if self.settings.raises and not isinstance(error, DefinitionChanged):
                raise
            draft = yield from self._dead_letter(execution.id, expected, draft, error)
            failed = yield from self._commit(draft, draft.effects(), outgoing, acks, consumed)
            if self.settings.raises:
                raise
            return failed

    def _program(self, execution: Execution, delivery: Delivery) -> Job[Program | None]:
        """The machine that runs the execution; `None` where it is not to be had and a `Cancel` has to do without."""
        try:
            return (yield from self.machines.running(execution))
        except (DefinitionChanged, DefinitionNotLoaded):
            if delivery.internal and delivery.kind == "Cancel":
                return None
            raise

    def _end_without_machine(
        self, draft: Draft, delivery: Delivery, outgoing: Outgoing, acks: tuple[str, ...]
    ) -> Job[Execution]:
        """`cancel` and `terminate` reach an execution whose machine is gone or was edited (runtime.md section 6)."""
        data = delivery.data
        if draft.execution.status is not Status.FAILED or data.get("command"):
            reported = delivery.source in (None, draft.execution.id)
            command = reported or bool(data.get("command"))
            force = bool(data.get("force"))
            draft.end_by_force(reason=data.get("reason"), force=force, command=command, reported=reported)
        return (yield from self._commit(draft, draft.effects(), outgoing, acks, consumed=True))

    def _commit(
        self, draft: Draft, effects: Effects, outgoing: Outgoing, acks: tuple[str, ...], consumed: bool
    ) -> Job[Execution]:
        """The step's one write. An answer that was lost is looked up, so that the step is done once."""
        execution, expected = draft.execution, draft.execution.version
        processed: Processed | None = draft.consume() if consumed else None
        effects = replace(effects, processed=processed, acks=acks)
        execution.version = expected + 1
        execution.updated_at = max(draft.now, execution.updated_at)
        try:
            yield StoreCall("commit", (execution, expected, effects))
        except (StoreConflict, RecordTooLarge, ContextError):
            raise
        except Exception:
            if not consumed or not (yield StoreCall("is_processed", (execution.id, draft.event_id))):
                raise
        outgoing.add(effects)
        return execution

    def run(self, program: Program, draft: Draft, steps: Steps) -> Job[None]:
        """Perform the engine's calls of handlers, in order; what they raise goes to the engine, or to the caller."""
        try:
            act = next(steps)
            while True:
                request = self._invocation(program, draft, act)
                try:
                    result = yield request
                except Exception as error:
                    if self.settings.raises:
                        raise
                    act = steps.throw(error)
                else:
                    act = steps.send(result)
        except StopIteration:
            return
        finally:
            steps.close()

    def _invocation(self, program: Program, draft: Draft, act: Act) -> Invoke:
        definition = program.definition
        handler = self.machines.handlers.find(definition, act.call.name)
        stm = Stm(draft, definition, draft.event_id, act.index, act.call.name)
        event = Event(act.event.kind, act.event.data, act.event.id)
        return Invoke(
            handler, stm, event, {name: from_literal(value) for name, value in act.call.inputs}, act.call.name
        )

    def _check_context(self, program: Program, draft: Draft) -> None:
        """What an action left in the context must be JSON and fit the schema (edges.md, Values). Raises
        `ContextError`.
        """
        if draft.touched:
            check_json(draft.execution.context)
            check = check_types if draft.execution.region else check_schema
            check(program.definition, draft.execution.context)

    def effects(self, draft: Draft, before: dict[str, Any] | None = None) -> Effects:
        """The draft's effects, with a trace row where this runner traces; `before` is the context as it was."""
        effects = draft.effects()
        if not self.settings.trace:
            return effects
        return replace(effects, trace=trace_row(draft, before or {}), trace_limit=self.settings.trace_limit)

    # --- dead letters of the commit

    def _dead_letter(self, execution_id: str, expected: int, draft: Draft, error: Exception) -> Job[Draft]:
        """The record as it was before the step, failed (edges.md, Meaning: nothing else of the step remains)."""
        pristine = yield from load(execution_id)
        if pristine.version != expected:
            raise StoreConflict(execution_id, expected)
        failed = Draft(pristine, draft.now, draft.event_kind, draft.event_id)
        pristine.failed_event = draft.event_id
        self._fail(failed, error)
        return failed

    def give_up(self, execution: Execution, batch: SpawnBatch, error: Exception, outgoing: Outgoing) -> Job[None]:
        """Make a dead letter of an execution instead of starting the children it waits for."""
        draft = Draft(execution, self.settings.clock(), "Start", batch.id)
        execution.children = {}
        self._fail(draft, error)
        effects = replace(draft.effects(), spawn_acks=(batch.id,))
        yield from self._commit(draft, effects, outgoing, (), consumed=False)

    def _fail(self, draft: Draft, error: Exception) -> None:
        type_, message = error_text(error)
        draft.execution.status = Status.FAILED
        draft.execution.error = escape_text(f"{type_}: {message}")
        draft.stop_all_timers()
        draft.report_failure(type_, message)
