"""From one call to a settled tree: starts, events and timers, and everything they set off (runtime.md section 4).

After each commit the relay delivers its outbox and starts its children; both are idempotent, so that a crash
between any two store calls loses nothing and doubles nothing. Jobs throughout, for the sync and the async runner alike.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import replace

from . import engine
from .declarations import seed_context
from .definition import Definition
from .driver import Driver, Outgoing
from .engine import Delivery
from .errors import (
    ContextError,
    DefinitionNotLoaded,
    EventError,
    ExecutionAlreadyExists,
    ExecutionNotFound,
    ExecutionSuspended,
    SettlingLimit,
    StoreUnavailable,
)
from .event import Event
from .execution import Execution, Status
from .jobs import Exclusive, Job, OwnStep, StoreCall, check_record, load
from .stores.protocol import Loaded, Message, Spawn, SpawnBatch, Timer
from .values import copy_json

log = logging.getLogger("harel")

PAGE = 100
"""How many timers, messages or batches are read at a time."""

ENTRY_LIMIT = 1_000
"""How often one execution starts children within one call at most; a limit like the engine's on transitions."""

FROM_THE_TREE = ("Finished", "Cancel", "error")
"""What parents and children send one another; everything else in an outbox is a domain event."""


class Relay:
    """Jobs that leave nothing undelivered which can be delivered."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._clock = driver.settings.clock

    # --- what callers ask for

    def create(self, new: Execution, definition: Definition, *, exist_ok: bool) -> Job[Execution]:
        """Start an execution whose id, machine and context are set, and return it settled.

        Raises:
            ExecutionAlreadyExists: the id is taken (with `exist_ok`: by another machine or another initial context).
        """
        yield from self.recover()
        outgoing = Outgoing()
        try:
            execution = yield from self._driver.start(new, definition, outgoing, ())
        except ExecutionAlreadyExists:
            existing = yield from self.existing(new, exist_ok=exist_ok)
            if existing is None:
                raise
            return existing
        return (yield from self._settled(execution, outgoing))

    def existing(self, new: Execution, *, exist_ok: bool) -> Job[Execution | None]:
        """The execution that has the id already, if there is one, so that no action runs for one that cannot be.

        It comes settled, for its creator may have died before its first children were started.

        Raises:
            ExecutionAlreadyExists: it is not asked for with `exist_ok`, machine and initial context of the new one.
        """
        try:
            loaded: Loaded = yield StoreCall("load_step", (new.id, "start"))
        except ExecutionNotFound:
            return None
        found = loaded.execution
        yield from check_record(found, new.id)
        same = (found.definition_id, found.seed_digest) == (new.definition_id, new.seed_digest)
        if not (exist_ok and same):
            raise ExecutionAlreadyExists(new.id)
        if loaded.backlog:
            yield from self.recover(new.id)
            return (yield from load(new.id))
        return found

    def process(self, execution_id: str, event: Event, event_id: str) -> Job[Execution]:
        """Take a domain event through, and everything that it sets off; return the execution settled.

        Raises:
            EventError: the event breaks its declaration. ExecutionSuspended, ExecutionNotFound, DefinitionNotLoaded.
            StoreConflict: other writers were faster, three times.
        """
        outgoing = Outgoing()
        delivery = Delivery(event.kind, event.data, event_id)
        job = self._driver.deliver(execution_id, delivery, outgoing, self._attempt_event)
        taken: tuple[Execution, bool] = yield Exclusive(execution_id, job)
        execution, backlog = taken
        if backlog:
            # What waits from before goes first, children before messages; this step's own stands behind it.
            yield from self.recover(execution_id)
            return (yield from load(execution_id))
        return (yield from self._settled(execution, outgoing))

    def process_within(self, execution_id: str, event: Event, event_id: str) -> Job[Execution]:
        """Take a domain event through inside the caller's transaction: what it sets off waits in the outbox.

        Relaying is left to the next call on the store itself, once the caller has committed. Errors as of `process`.
        """
        delivery = Delivery(event.kind, event.data, event_id)
        job = self._driver.deliver(execution_id, delivery, Outgoing(), self._attempt_event)
        taken: tuple[Execution, bool] = yield Exclusive(execution_id, job)
        return taken[0]

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
        return (yield from self._driver.step(execution, delivery, outgoing))

    # --- passing on

    def _settled(self, execution: Execution, outgoing: Outgoing) -> Job[Execution]:
        """Relay what the step set off, and return the record as it is then."""
        if not outgoing:
            return execution
        yield from self.relay(outgoing)
        return (yield from load(execution.id))

    def relay(self, outgoing: Outgoing) -> Job[None]:
        """Start children and deliver messages, and what these set off in turn, until nothing is left.

        What cannot be delivered now stays in the store for a later relay.
        """
        while outgoing:
            if outgoing.batches:
                yield from self._start_children(outgoing.batches.popleft(), outgoing)
            else:
                yield from self._pass_on(outgoing.messages.popleft(), outgoing)

    def recover(self, execution_id: str | None = None) -> Job[None]:
        """Relay what earlier crashes left in the store (edges.md, Races), in the order in which it was committed.

        What that sets off stands behind it in the store and gets its turn there. What fails stays there and does not
        keep back the others. An error is the caller's only where it comes from the tree of `execution_id`; all others
        are logged. A store out of reach is everybody's.
        """
        failed: list[tuple[str, Exception]] = []
        yield from self._recover_batches(failed)
        yield from self._recover_messages(failed)
        for owner, error in failed:
            if execution_id is not None and _root_id(owner) == _root_id(execution_id):
                raise error

    def _relay_apart(self, owner: str, outgoing: Outgoing, failed: list[tuple[str, Exception]]) -> Job[None]:
        """Deliver a message, if there is one, and start children; the messages of these steps are left to `recover`."""
        try:
            if outgoing.messages:
                yield from self._pass_on(outgoing.messages.popleft(), outgoing)
            while outgoing.batches:
                yield from self._start_children(outgoing.batches.popleft(), outgoing)
        except StoreUnavailable:
            raise
        except Exception as error:
            log.error("what was left for %s stays undelivered: %s: %s", owner, type(error).__name__, error)
            failed.append((owner, error))

    def _recover_batches(self, failed: list[tuple[str, Exception]]) -> Job[None]:
        after: str | None = None
        while True:
            batches: list[SpawnBatch] = yield StoreCall("pending_spawns", (PAGE, after))
            for batch in batches:
                after = batch.id
                left = replace(batch, spawns=(yield from self._unstarted(batch)))
                yield from self._relay_apart(batch.parent_id, Outgoing(batches=deque([left])), failed)
            if len(batches) < PAGE:
                return

    def _unstarted(self, batch: SpawnBatch) -> Job[tuple[Spawn, ...]]:
        """The children of a left batch that do not exist: what those that do have done is not done again."""
        left: list[Spawn] = []
        for spawn in batch.spawns:
            try:
                yield from load(spawn.child_id)
            except ExecutionNotFound:
                left.append(spawn)
        return tuple(left)

    def _recover_messages(self, failed: list[tuple[str, Exception]]) -> Job[None]:
        after: str | None = None
        tried: set[str] = set()
        while True:
            messages: list[Message] = yield StoreCall("pending_outbox", (PAGE, after))
            if not messages:
                return
            for message in messages:
                after = message.id
                if message.id not in tried:  # a page begins anew where the message before it is gone
                    tried.add(message.id)
                    yield from self._relay_apart(message.target, Outgoing(messages=deque([message])), failed)

    def _start_children(self, batch: SpawnBatch, outgoing: Outgoing) -> Job[None]:
        """Create the children of one entry that still stands; each exists once, however often this runs."""
        try:
            parent = yield from load(batch.parent_id)
        except ExecutionNotFound:
            yield StoreCall("ack_spawn", (batch.id,))
            return
        if parent.status is Status.SUSPENDED:
            return
        wanted = [s for s in batch.spawns if _awaits(parent, s.key, s.child_id)]
        outgoing.entries[parent.id] += 1
        if wanted and outgoing.entries[parent.id] > ENTRY_LIMIT:
            yield from self._driver.give_up(parent, batch, _going_round(parent), outgoing)
            return
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
        else:
            yield from self._call_off(batch, wanted, outgoing)

    def _call_off(self, batch: SpawnBatch, started: list[Spawn], outgoing: Outgoing) -> Job[None]:
        """Cancel children whose parent stopped waiting while they were being started, for their `on enter` may take
        long: its own `Cancel` found nobody.
        """
        try:
            parent: Execution | None = yield from load(batch.parent_id)
        except ExecutionNotFound:
            parent = None
        for spawn in started:
            if parent is None or not _has(parent, spawn.key, spawn.child_id):
                message_id = f"{batch.id}:{spawn.key}"
                yield from self._pass_on(
                    Message(
                        message_id, batch.parent_id, spawn.child_id, "Cancel", {"reason": None}, f"send:{message_id}"
                    ),
                    outgoing,
                )

    def _start_child(
        self, parent: Execution, batch: SpawnBatch, spawn: Spawn, outgoing: Outgoing, acks: tuple[str, ...]
    ) -> Job[None]:
        definition = yield from self._driver.machines.of_child(parent, spawn)
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
            stillborn = self._driver.stillborn(child.to_json(), self._clock(), error)
            yield from self._driver.write_new(stillborn, replace(stillborn.effects(), spawn_acks=acks), outgoing)
            return
        yield from self._driver.start(child, definition, outgoing, acks)

    def _pass_on(self, message: Message, outgoing: Outgoing) -> Job[None]:
        """Deliver one outbox message; consumed or meaningless, it is gone afterwards."""
        delivery = Delivery(
            message.kind,
            message.data,
            message.event_id,
            source=message.source,
            internal=message.kind in FROM_THE_TREE,
            order=message.order,
        )

        def attempt(loaded: Loaded, delivery: Delivery, outgoing: Outgoing) -> Job[Execution | None]:
            execution = loaded.execution
            if execution.status is Status.SUSPENDED and delivery.kind != "Cancel":
                return None
            if loaded.processed or _is_moot(execution, delivery):
                log.info("execution %s: %s (%s) comes too late", execution.id, delivery.kind, delivery.id)
                yield StoreCall("ack_outbox", (message.id,))
                return None
            return (yield from self._driver.step(execution, delivery, outgoing, (message.id,)))

        try:
            yield Exclusive(message.target, self._driver.deliver(message.target, delivery, outgoing, attempt))
        except ExecutionNotFound:
            if (yield from self._is_unborn(message)):
                log.info("%s for %s waits until it is started", message.kind, message.target)
                return
            log.warning("execution %s is gone: %s from %s is dropped", message.target, message.kind, message.source)
            yield StoreCall("ack_outbox", (message.id,))
        except EventError as error:
            log.error("%s from %s to %s is dropped: %s", message.kind, message.source, message.target, error)
            yield StoreCall("ack_outbox", (message.id,))
        except DefinitionNotLoaded as error:
            log.warning("%s for %s waits: %s", message.kind, message.target, error)
        except OwnStep:
            log.info("%s for %s waits until the step that is under way there is over", message.kind, message.target)

    def _is_unborn(self, message: Message) -> Job[bool]:
        """Whether a message is for a child that its sender waits for and nobody has started yet."""
        try:
            parent = yield from load(message.source)
        except ExecutionNotFound:
            return False
        return any(_awaits(parent, key, message.target) for key in parent.children)

    # --- timers

    def sweep(self) -> Job[int]:
        """Deliver every timer and ttl that is due now, in order, and count those that took effect.

        An error of one does not keep back the others; the first is raised at the end. Only where the store was out of
        reach does the rest of that tree wait for the next sweep: out of order, a later deadline would win.
        """
        yield from self.recover()
        now = self._clock()
        due = yield from self._due(now)
        count, first_error = 0, None
        unreachable: set[str] = set()
        for timer in due:
            root_id = _root_id(timer.execution_id)
            if root_id in unreachable:
                continue
            try:
                count += yield from self._fire(timer, now)
            except DefinitionNotLoaded as error:
                log.warning("a timer of %s waits: %s", timer.execution_id, error)
            except ExecutionNotFound:
                log.info("execution %s is gone: its timer is ignored", timer.execution_id)
            except Exception as error:
                first_error = first_error or error
                if isinstance(error, StoreUnavailable):
                    unreachable.add(root_id)
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

    def _fire(self, timer: Timer, now: float) -> Job[int]:
        kind, number = ("Expired", f"{timer.due}") if timer.is_ttl else ("Timeout", f"{timer.path}:{timer.arming}")
        delivery = Delivery(
            kind,
            {},
            f"{kind.lower()}:{number}",
            internal=True,
            path=timer.path,
            arming=timer.arming,
            due=timer.due,
            at=now,
        )
        outgoing = Outgoing()
        fired: list[Execution] = []

        def attempt(loaded: Loaded, delivery: Delivery, outgoing: Outgoing) -> Job[Execution | None]:
            execution = loaded.execution
            if execution.status is Status.SUSPENDED or engine.is_stale(execution, delivery):
                return None
            committed = yield from self._driver.step(execution, delivery, outgoing)
            fired.append(committed)
            return committed

        yield Exclusive(timer.execution_id, self._driver.deliver(timer.execution_id, delivery, outgoing, attempt))
        yield from self.relay(outgoing)
        return len(fired)


def _root_id(execution_id: str) -> str:
    """The id of the tree's root: ids of children go on after a `/` (edges.md, Values)."""
    return execution_id.partition("/")[0]


def _going_round(parent: Execution) -> SettlingLimit:
    return SettlingLimit(
        f"one call started the children of {parent.active_path!r} more than {ENTRY_LIMIT} times: they end at once, and "
        "the machine comes back to it"
    )


def _is_moot(execution: Execution, delivery: Delivery) -> bool:
    """Whether a message has no meaning any more: it is stale, or a domain event for a dead letter."""
    is_dead_letter = execution.status is Status.FAILED
    return engine.is_stale(execution, delivery) or (is_dead_letter and delivery.kind not in FROM_THE_TREE)


def _has(parent: Execution, key: str, child_id: str) -> bool:
    """Whether a parent that has not ended still has the child, ended or not."""
    child = parent.children.get(key)
    return not parent.status.ended and child is not None and child.id == child_id


def _awaits(parent: Execution, key: str, child_id: str) -> bool:
    """Whether a parent that has not ended still waits for the child's end."""
    return _has(parent, key, child_id) and parent.children[key].state != "ended"
