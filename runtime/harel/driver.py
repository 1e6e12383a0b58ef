"""The driver: takes an execution through one delivery, commits it once, and relays what it set off (runtime.md
section 4).

Written once for the sync and the async runner: every method is a generator (`Job`) that yields what has to be done
outside (`StoreCall`, `Invoke`, `Exclusive`, `Pause`) and is sent the result or thrown the exception; a runner is a
loop that does it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from . import engine
from .declarations import check_event, check_schema, check_types, seed_context
from .definition import Definition
from .draft import Draft
from .engine import Act, Delivery, Steps
from .errors import (
    ContextError,
    DefinitionChanged,
    DefinitionNotLoaded,
    EventError,
    ExecutionAlreadyExists,
    ExecutionNotFound,
    ExecutionSuspended,
    RecordTooLarge,
    SettlingLimit,
    StoreConflict,
)
from .event import Event
from .execution import Execution, Status
from .handlers import Handler, Handlers
from .program import Program
from .stm import Stm
from .stores.protocol import Effects, Loaded, Message, Processed, Spawn, SpawnBatch, Timer, TraceRow
from .values import check_json, copy_json, error_text, escape_text, from_literal
from .versions import Registry

log = logging.getLogger("harel")

ATTEMPTS = 4
"""How often a step is tried that loses its compare-and-set: once, and three times again (edges.md, Races)."""

PAGE = 100
"""How many timers, messages or batches are read at a time."""

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


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait some seconds."""

    seconds: float


Request = StoreCall | Invoke | Exclusive | Pause
Job = Generator[Request, Any, T]


@dataclass(slots=True)
class Outgoing:
    """What committed steps have set off and nobody has delivered yet, in order."""

    batches: deque[SpawnBatch] = field(default_factory=deque)
    messages: deque[Message] = field(default_factory=deque)

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
    """Jobs over one store's executions, for the machines of one registry."""

    def __init__(self, registry: Registry, handlers: Handlers, settings: Settings) -> None:
        self.registry = registry
        self.handlers = handlers
        self.settings = settings

    # --- starting

    def create(self, new: Execution, definition: Definition, *, exist_ok: bool) -> Job[Execution]:
        """Start an execution whose id, machine and context are set, and return it settled.

        Raises:
            ExecutionAlreadyExists: the id is taken (with `exist_ok`: by another machine or another initial context).
        """
        yield from self.recover()
        outgoing = Outgoing()
        try:
            execution = yield from self._start(new, definition, outgoing, ())
        except ExecutionAlreadyExists:
            existing = yield from self.existing(new, exist_ok=exist_ok)
            if existing is None:
                raise
            return existing
        return (yield from self._settled(execution, outgoing))

    def existing(self, new: Execution, *, exist_ok: bool) -> Job[Execution | None]:
        """The execution that has the id already, if there is one, so that no action runs for one that cannot be.

        Raises:
            ExecutionAlreadyExists: it is not asked for with `exist_ok`, machine and initial context of the new one.
        """
        try:
            found: Execution = yield StoreCall("load", (new.id,))
        except ExecutionNotFound:
            return None
        same = (found.definition_id, found.seed_digest) == (new.definition_id, new.seed_digest)
        if not (exist_ok and same):
            raise ExecutionAlreadyExists(new.id)
        return found

    def _start(
        self, new: Execution, definition: Definition, outgoing: Outgoing, spawn_acks: tuple[str, ...]
    ) -> Job[Execution]:
        """Run the first step and write the record with its effects, once."""
        now = self.settings.clock()
        execution, seed = new, new.to_json()
        execution.created_at = execution.updated_at = now
        program = self.registry.program(definition)
        draft = Draft(execution, now, "Start", "start")
        try:
            if definition.ttl is not None and execution.parent_id is None:
                draft.restart_ttl(definition.ttl)
            yield from self.run(program, draft, engine.start(program, draft))
            self._check_context(program, draft)
        except _COMMIT_FAILURES as error:
            if self.settings.raises:
                raise
            draft = self._stillborn(seed, now, error)
        written = yield from self._create(draft, replace(self.effects(draft), spawn_acks=spawn_acks), outgoing)
        return written

    def _create(self, draft: Draft, effects: Effects, outgoing: Outgoing) -> Job[Execution]:
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
            stored: Execution = yield StoreCall("load", (execution.id,))
        except ExecutionNotFound:
            return False
        return stored.to_json() == execution.to_json()

    def _stillborn(self, seed: str, now: float, error: Exception) -> Draft:
        """An execution that failed at its very first commit: its initial context, and why."""
        execution = Execution.from_json(seed)
        execution.created_at = now
        draft = Draft(execution, now, "Start", "start")
        self._fail(draft, error)
        return draft

    # --- one delivery

    def process(self, execution_id: str, event: Event, event_id: str) -> Job[Execution]:
        """Take a domain event through, and everything that it sets off; return the execution settled.

        Raises:
            EventError: the event breaks its declaration. ExecutionSuspended, ExecutionNotFound, DefinitionNotLoaded.
            StoreConflict: other writers were faster, three times.
        """
        outgoing = Outgoing()
        delivery = Delivery(event.kind, event.data, event_id)
        job = self._deliver(execution_id, delivery, outgoing, self._attempt_event)
        taken: tuple[Execution, bool] = yield Exclusive(execution_id, job)
        execution, backlog = taken
        execution = yield from self._settled(execution, outgoing)
        if backlog:
            yield from self.recover()
            return (yield from self.load(execution_id))
        return execution

    def load(self, execution_id: str) -> Job[Execution]:
        """The record as it is now. Raises `ExecutionNotFound`."""
        execution: Execution = yield StoreCall("load", (execution_id,))
        return execution

    def _deliver(
        self,
        execution_id: str,
        delivery: Delivery,
        outgoing: Outgoing,
        attempt: Callable[[Loaded, Delivery, Outgoing], Job[Execution | None]],
    ) -> Job[tuple[Execution, bool]]:
        """Try until the step is committed or nothing is to do; the record, and whether the store has leftovers."""
        for left in reversed(range(ATTEMPTS)):
            loaded: Loaded = yield StoreCall("load_step", (execution_id, delivery.id))
            try:
                committed = yield from attempt(loaded, delivery, outgoing)
                return committed or loaded.execution, loaded.backlog
            except StoreConflict:
                if not left:
                    raise
                yield Pause(random.uniform(0.001, 0.02) * (ATTEMPTS - left))
        raise AssertionError("the last attempt returns or raises")

    def _attempt_event(self, loaded: Loaded, delivery: Delivery, outgoing: Outgoing) -> Job[Execution | None]:
        """One attempt at a domain event; `None`: nothing was committed, for there is nothing to do."""
        execution = loaded.execution
        if loaded.processed:
            log.info("execution %s: event %s (%s) is a duplicate", execution.id, delivery.id, delivery.kind)
            return None
        if execution.status is Status.SUSPENDED:
            raise ExecutionSuspended(execution.id)
        if execution.status.ended or execution.status is Status.FAILED:
            log.info("execution %s is %s: %s is ignored", execution.id, execution.status.name, delivery.kind)
            return None
        self._check_event(execution, delivery)
        return (yield from self._step(execution, delivery, outgoing))

    def _check_event(self, execution: Execution, delivery: Delivery) -> None:
        definition = self.registry.choose(execution.definition_id, execution.definition_version)
        check_event(definition, delivery.kind, delivery.data)

    def _step(
        self, execution: Execution, delivery: Delivery, outgoing: Outgoing, acks: tuple[str, ...] = ()
    ) -> Job[Execution]:
        """Run a delivery and commit it; a failure that shows only at the commit becomes a dead letter."""
        draft = Draft(execution, self.settings.clock(), delivery.kind, delivery.id)
        expected = execution.version
        before = copy_json(execution.context) if self.settings.trace else {}
        consumed = delivery.kind not in ("Timeout", "Expired")
        try:
            program = self.registry.running(execution)
            copied = replace(delivery, data=copy_json(delivery.data))
            yield from self.run(program, draft, engine.handle(program, draft, copied))
            self._check_context(program, draft)
            effects = self.effects(draft, before)
            return (yield from self._commit(draft, effects, outgoing, acks, consumed))
        except _COMMIT_FAILURES as error:
            if self.settings.raises:
                raise
            draft = yield from self._dead_letter(execution.id, expected, draft, error)
            return (yield from self._commit(draft, draft.effects(), outgoing, acks, consumed))

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
        handler = self.handlers.find(definition, act.call.name)
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
        return replace(effects, trace=_trace_row(draft, before or {}), trace_limit=self.settings.trace_limit)

    # --- dead letters of the commit

    def _dead_letter(self, execution_id: str, expected: int, draft: Draft, error: Exception) -> Job[Draft]:
        """The record as it was before the step, failed (edges.md, Meaning: nothing else of the step remains)."""
        pristine: Execution = yield StoreCall("load", (execution_id,))
        if pristine.version != expected:
            raise StoreConflict(execution_id, expected)
        failed = Draft(pristine, draft.now, draft.event_kind, draft.event_id)
        pristine.failed_event = draft.event_id
        self._fail(failed, error)
        return failed

    def _fail(self, draft: Draft, error: Exception) -> None:
        type_, message = error_text(error)
        draft.execution.status = Status.FAILED
        draft.execution.error = escape_text(f"{type_}: {message}")
        draft.stop_all_timers()
        draft.report_failure(type_, message)

    # --- relaying

    def _settled(self, execution: Execution, outgoing: Outgoing) -> Job[Execution]:
        """Relay what the step set off, and return the record as it is then."""
        if not outgoing:
            return execution
        yield from self.relay(outgoing)
        settled: Execution = yield StoreCall("load", (execution.id,))
        return settled

    def relay(self, outgoing: Outgoing) -> Job[None]:
        """Start children and deliver messages, and what these set off in turn, until nothing is left.

        What cannot be delivered now stays in the store for a later relay.
        """
        while outgoing:
            if outgoing.batches:
                yield from self._start_children(outgoing.batches.popleft(), outgoing)
            else:
                yield from self._pass_on(outgoing.messages.popleft(), outgoing)

    def recover(self) -> Job[None]:
        """Relay what earlier crashes left in the store (edges.md, Races)."""
        yield from self._recover_batches()
        yield from self._recover_messages()

    def _recover_batches(self) -> Job[None]:
        after: str | None = None
        while True:
            batches: list[SpawnBatch] = yield StoreCall("pending_spawns", (PAGE, after))
            for batch in batches:
                after = batch.id
                yield from self.relay(Outgoing(batches=deque([batch])))
            if len(batches) < PAGE:
                return

    def _recover_messages(self) -> Job[None]:
        after: str | None = None
        while True:
            messages: list[Message] = yield StoreCall("pending_outbox", (PAGE, after))
            for message in messages:
                after = message.id
                yield from self.relay(Outgoing(messages=deque([message])))
            if len(messages) < PAGE:
                return

    def _start_children(self, batch: SpawnBatch, outgoing: Outgoing) -> Job[None]:
        """Create the children of one entry that still stands; each exists once, however often this runs."""
        try:
            parent: Execution = yield StoreCall("load", (batch.parent_id,))
        except ExecutionNotFound:
            yield StoreCall("ack_spawn", (batch.id,))
            return
        if parent.status is Status.SUSPENDED:
            return
        wanted = [s for s in batch.spawns if _awaits(parent, s.key, s.child_id)]
        for spawn in wanted:
            acks = (batch.id,) if spawn is wanted[-1] else ()
            try:
                yield from self._start_child(parent, batch, spawn, outgoing, acks)
            except ExecutionAlreadyExists:
                if acks:
                    yield StoreCall("ack_spawn", (batch.id,))
            except DefinitionNotLoaded as error:
                log.warning("the children of %s wait: %s", parent.id, error)
                return
        if not wanted:
            yield StoreCall("ack_spawn", (batch.id,))

    def _start_child(
        self, parent: Execution, batch: SpawnBatch, spawn: Spawn, outgoing: Outgoing, acks: tuple[str, ...]
    ) -> Job[None]:
        definition = self.registry.choose(spawn.definition_id, spawn.definition_version)
        child = Execution(
            id=spawn.child_id, definition_id=definition.id, definition_version=definition.version,
            definition_digest=definition.digest, active_path=spawn.region, region=spawn.region, key=spawn.key,
            parent_id=parent.id, root_id=parent.root_id or parent.id, generation=batch.generation,
            priority=parent.priority, context=copy_json(spawn.context),
        )  # fmt: skip
        try:
            if not spawn.region:
                child.context = seed_context(definition, spawn.context)
        except ContextError as error:
            stillborn = self._stillborn(child.to_json(), self.settings.clock(), error)
            yield from self._create(stillborn, replace(stillborn.effects(), spawn_acks=acks), outgoing)
            return
        yield from self._start(child, definition, outgoing, acks)

    def _pass_on(self, message: Message, outgoing: Outgoing) -> Job[None]:
        """Deliver one outbox message; consumed or meaningless, it is gone afterwards."""
        delivery = Delivery(message.kind, message.data, message.event_id, source=message.source)

        def attempt(loaded: Loaded, delivery: Delivery, outgoing: Outgoing) -> Job[Execution | None]:
            execution = loaded.execution
            if execution.status is Status.SUSPENDED and delivery.kind != "Cancel":
                return None
            if loaded.processed or _is_moot(execution, delivery):
                log.info("execution %s: %s (%s) comes too late", execution.id, delivery.kind, delivery.id)
                yield StoreCall("ack_outbox", (message.id,))
                return None
            if delivery.kind not in _FROM_THE_TREE:
                self._check_event(execution, delivery)
            return (yield from self._step(execution, delivery, outgoing, (message.id,)))

        try:
            yield Exclusive(message.target, self._deliver(message.target, delivery, outgoing, attempt))
        except ExecutionNotFound:
            log.warning("execution %s is gone: %s from %s is dropped", message.target, message.kind, message.source)
            yield StoreCall("ack_outbox", (message.id,))
        except EventError as error:
            log.error("%s from %s to %s is dropped: %s", message.kind, message.source, message.target, error)
            yield StoreCall("ack_outbox", (message.id,))
        except DefinitionNotLoaded as error:
            log.warning("%s for %s waits: %s", message.kind, message.target, error)

    # --- timers

    def sweep(self) -> Job[int]:
        """Deliver every timer and ttl that is due now, in order, and count those that took effect.

        An error of one does not keep back the others; the first is raised at the end.
        """
        yield from self.recover()
        now = self.settings.clock()
        due = yield from self._due(now)
        count, first_error = 0, None
        for timer in due:
            try:
                count += yield from self._fire(timer)
            except DefinitionNotLoaded as error:
                log.warning("a timer of %s waits: %s", timer.execution_id, error)
            except ExecutionNotFound:
                log.info("execution %s is gone: its timer is ignored", timer.execution_id)
            except Exception as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error
        return count

    def _due(self, now: float) -> Job[list[Timer]]:
        due: list[Timer] = []
        while True:
            after = due[-1].position if due else None
            page: list[Timer] = yield StoreCall("due_timers", (now, PAGE, after))
            due += page
            if len(page) < PAGE:
                return due

    def _fire(self, timer: Timer) -> Job[int]:
        kind, number = ("Expired", f"{timer.due}") if timer.is_ttl else ("Timeout", f"{timer.path}:{timer.arming}")
        delivery = Delivery(kind, {}, f"{kind.lower()}:{number}", path=timer.path, arming=timer.arming, due=timer.due)
        outgoing = Outgoing()
        fired: list[Execution] = []

        def attempt(loaded: Loaded, delivery: Delivery, outgoing: Outgoing) -> Job[Execution | None]:
            execution = loaded.execution
            if execution.status is Status.SUSPENDED or engine.is_stale(execution, delivery):
                return None
            committed = yield from self._step(execution, delivery, outgoing)
            fired.append(committed)
            return committed

        yield Exclusive(timer.execution_id, self._deliver(timer.execution_id, delivery, outgoing, attempt))
        yield from self.relay(outgoing)
        return len(fired)


_COMMIT_FAILURES = (ContextError, RecordTooLarge, SettlingLimit, DefinitionChanged)
"""What fails a step as a whole: the record stays as it was but for the failure (edges.md, Values)."""


_FROM_THE_TREE = ("Finished", "Cancel", "error")
"""What parents and children send one another; everything else in an outbox is a domain event."""


def _is_moot(execution: Execution, delivery: Delivery) -> bool:
    """Whether a message has no meaning any more: it is stale, or a domain event for a dead letter."""
    is_dead_letter = execution.status is Status.FAILED
    return engine.is_stale(execution, delivery) or (is_dead_letter and delivery.kind not in _FROM_THE_TREE)


def _awaits(parent: Execution, key: str, child_id: str) -> bool:
    child = parent.children.get(key)
    return not parent.status.ended and child is not None and child.id == child_id and child.state != "ended"


def seed_digest(context: dict[str, Any]) -> str:
    """A digest of an initial context, to tell whether `create` was asked for the same (edges.md, Meaning)."""
    text = json.dumps(context, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


TRACE_CONTEXT_LIMIT = 8_192
"""How many characters of changed context one trace row keeps (edges.md, Values)."""


def _trace_row(draft: Draft, before: dict[str, Any]) -> TraceRow:
    execution = draft.execution
    changed = {k: v for k, v in execution.context.items() if k not in before or before[k] != v}
    text = json.dumps(changed, ensure_ascii=False)
    if len(text) > TRACE_CONTEXT_LIMIT:
        changed = {"…": f"{len(text)} characters in {', '.join(sorted(changed))}"[:TRACE_CONTEXT_LIMIT]}
    return TraceRow(
        event=draft.event_kind, event_id=draft.event_id, path_from=draft.path_from, path_to=execution.active_path,
        actions=list(draft.actions), assigned=dict(draft.assigned), context=changed, time=draft.now,
    )  # fmt: skip
