"""`DurableRunner`: runs machines against a store, in the calling thread (runtime.md section 3).

A thin loop over the driver's jobs: it calls the store and the handlers, waits, and keeps calls for one execution apart.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from .archive import Archive, as_archive
from .control import Control
from .declarations import check_event_id, check_execution_id, seed_context
from .driver import Driver, Settings
from .errors import ContextError, EventError, ResolveError
from .event import Event
from .execution import Execution
from .handlers import Handler, Handlers, Resolver
from .jobs import Exclusive, Invoke, Job, OwnStep, Pause, Request, StoreCall
from .machines import Machines
from .published import AllowedModules
from .queue import ExecutionQueue
from .relay import Relay
from .stores.protocol import Store
from .values import copy_json
from .versions import Definitions, Registry, as_iterable

T = TypeVar("T")

Guard = Callable[..., Any]

in_action: ContextVar[tuple[tuple[int, str], ...]] = ContextVar("harel_in_action", default=())
"""The (runner, execution id) pairs whose handlers are running in this thread or task, outermost first."""


def seed_digest(context: dict[str, Any]) -> str:
    """A digest of an initial context, to tell whether `create` was asked for the same (edges.md, Meaning)."""
    text = json.dumps(context, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class RunnerBase(ABC):
    """What the sync and the async runner share: the machines, the handlers, and the jobs behind the public methods.

    Args:
        store: where executions live.
        definitions: the machines, as a mapping or an iterable; several versions of one machine may be there.
        clock: epoch seconds; timers are armed and swept by it.
        resolver: turns a dotted path into a function, instead of an import.
        trace: write a trace row with each step; `None` reads `HAREL_TRACE`.
        action_modules: modules whose functions a published machine may call, besides those of the machines given.
        actions, guards: functions for handler and guard names; they come before those bound to a definition.
        on_action_error: "fail" routes an action's exception as the machine says; "raise" gives it to the caller and
            commits nothing.

    Raises:
        ResolveError: a handler that nothing binds.
        DslError: one version of a machine twice with different content.
    """

    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        *,
        clock: Callable[[], float] = time.time,
        resolver: Resolver | None = None,
        trace: bool | None = None,
        action_modules: Iterable[str] = (),
        actions: Mapping[str, Handler] | None = None,
        guards: Mapping[str, Guard] | None = None,
        on_action_error: str = "fail",
    ) -> None:
        if on_action_error not in ("fail", "raise"):
            raise ValueError(f'on_action_error is {on_action_error!r}; it is "fail" or "raise"')
        self.store = store
        self.registry = Registry([d.bound(None, guards) if guards else d for d in as_iterable(definitions)])
        self._handlers = Handlers(actions, resolver)
        self._handlers.check(list(self.registry))
        modules = (*action_modules, *os.environ.get("HAREL_ACTION_MODULES", "").split(","))
        traced = os.environ.get("HAREL_TRACE", "").lower() in ("1", "true", "yes", "on") if trace is None else trace
        settings = Settings(clock, traced, _trace_limit(), on_action_error == "raise")
        allowed = AllowedModules(self.registry, modules)
        driver = Driver(Machines(self.registry, self._handlers, allowed, guards or {}), settings)
        self._relay = Relay(driver)
        self._control = Control(driver, self._relay)
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """What one kind of runner sets up for itself."""

    def _create_job(
        self,
        definition_id: str,
        context: Mapping[str, Any] | None,
        execution_id: str | None,
        version: int | None,
        priority: int,
        exist_ok: bool,
    ) -> Job[Execution]:
        definition = self.registry.choose(definition_id, version)
        if not isinstance(context, Mapping | None):
            raise ContextError(f"the context of an execution is a dict of JSON values, not {type(context).__name__}")
        given = dict(context or {})
        seeded = seed_context(definition, given)
        if execution_id is not None:
            check_execution_id(execution_id)
        if priority not in range(5):
            raise ValueError(f"priority is {priority!r}; it is a whole number from 0 to 4")
        new = Execution(
            id=execution_id if execution_id is not None else uuid.uuid4().hex,
            definition_id=definition.id, definition_version=definition.version, definition_digest=definition.digest,
            context=seeded, priority=priority, seed_digest=seed_digest(given),
        )  # fmt: skip
        if execution_id is not None:
            existing = yield from self._relay.existing(new, exist_ok=exist_ok)
            if existing is not None:
                return existing
        return (yield from self._relay.create(new, definition, exist_ok=exist_ok))

    def _checked(self, execution_id: str, event: Event) -> tuple[str, Event, str]:
        """Refuse what can be refused without the record, and give the event an id that all attempts share."""
        self._refuse_own(execution_id)
        if not isinstance(event, Event):
            raise EventError(f"an event is an Event(kind, data), not {type(event).__name__}")
        if event.id is not None:
            check_event_id(event.id)
        event_id = event.id if event.id is not None else uuid.uuid4().hex
        try:
            copied = Event(event.kind, copy_json(event.data), event_id)
        except ContextError as error:
            raise EventError(f"event {event.kind}: {error}") from error
        return execution_id, copied, event_id

    def _joined(self, connection: Any) -> Store:
        """The store inside the caller's transaction on a connection of the caller's."""
        joined = getattr(self.store, "joined", None)
        if joined is None:
            kind = type(self.store).__name__
            raise TypeError(f"{kind} has no transactions of the caller's to join: leave connection= out")
        store: Store = joined(connection)
        return store

    def _refuse_own(self, execution_id: str) -> None:
        """A handler cannot wait for a step of the execution whose step is waiting for the handler (edges.md,
        Meaning).
        """
        if (id(self), execution_id) in in_action.get():
            raise OwnStep(
                f"an action of execution {execution_id!r} cannot process an event of the same execution: "
                "its own step is not over; use stm.send(kind, data) to send it one afterwards"
            )


def _trace_limit() -> int:
    text = os.environ.get("HAREL_TRACE_MAX", "200")
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"HAREL_TRACE_MAX is {text!r}; it is a whole number of rows, at least 1")
    return int(text)


class DurableRunner(RunnerBase):
    """Runs machines in the calling thread; one runner serves many threads. Parameters as of `RunnerBase`.

    An `async def` handler is refused (`ResolveError`).
    """

    def _prepare(self) -> None:
        self._handlers.check_sync(self.registry)
        self._queue = ExecutionQueue()

    def create(
        self,
        definition_id: str,
        context: Mapping[str, Any] | None = None,
        *,
        execution_id: str | None = None,
        version: int | None = None,
        priority: int = 0,
        exist_ok: bool = False,
    ) -> Execution:
        """Start a machine, in its highest loaded version or the one named, and return it settled.

        Raises:
            ContextError: the context breaks the schema; nothing has run.
            ExecutionAlreadyExists: the id is taken; with `exist_ok` only by another machine or initial context.
            DefinitionNotLoaded: the machine or version is not here.
            ValueError: the id is not 1 to 200 printable characters without white space and `/`.
        """
        return self._perform(self._create_job(definition_id, context, execution_id, version, priority, exist_ok))

    def process(self, execution_id: str, event: Event, *, connection: Any = None) -> Execution:
        """Send an event and return when everything it sets off has settled.

        With a `connection` of the caller's on the store's database, the step is part of the caller's transaction: it is
        committed and rolled back with it, and what it sets off is relayed by the next call after the caller's commit.

        Raises:
            EventError: the event breaks its declaration, or is reserved; nothing has run and its id is not used up.
            ExecutionNotFound, ExecutionSuspended, DefinitionNotLoaded: the execution is untouched.
            StoreConflict: other writers were faster, again and again; send the event again.
            StoreUnavailable: the store cannot be reached; sending the event again is safe.
            RuntimeError: an action of the execution itself calls.
        """
        checked = self._checked(execution_id, event)
        if connection is not None:
            return self._perform(self._relay.process_within(*checked), self._joined(connection))
        return self._perform(self._relay.process(*checked))

    def fire_due_timers(self) -> int:
        """Deliver every timer and ttl that is due by the clock; the number that took effect."""
        return self._perform(self._relay.sweep())

    def cancel(self, execution_id: str, reason: str | None = None) -> Execution:
        """End the execution and its children: by its `on Cancel` where that leads to an end, else where it stands."""
        return self._perform(self._control.cancel(execution_id, reason))

    def terminate(self, execution_id: str) -> Execution:
        """End the execution and its children where they stand: no handlers, no hooks."""
        return self._perform(self._control.terminate(execution_id))

    def suspend(self, execution_id: str) -> Execution:
        """Let the execution and its children rest until `resume`."""
        return self._perform(self._control.suspend(execution_id))

    def resume(self, execution_id: str) -> Execution:
        """Let a suspended execution and its children go on."""
        return self._perform(self._control.resume(execution_id))

    def redrive(self, execution_id: str, target_path: str) -> Execution:
        """Put a `FAILED` execution on a leaf and go on from there. Raises `ValueError` where that cannot be."""
        return self._perform(self._control.redrive(execution_id, target_path))

    def purge(self, execution_id: str, archive: Archive | Any = None) -> None:
        """Delete a finished execution with its tree, archived first. Raises `PurgeRefused` where it has not ended."""
        self._perform(self._control.purge(execution_id, as_archive(archive)))

    # --- the loop

    def _perform(self, job: Job[T], within: Store | None = None) -> T:
        """Do what the job asks for until it is done; `within` is the store inside the caller's transaction."""
        result: Any = None
        error: Exception | None = None
        try:
            while True:
                try:
                    request = job.send(result) if error is None else job.throw(error)
                except StopIteration as done:
                    value: T = done.value
                    return value
                result, error = None, None
                try:
                    result = self._do(request, within)
                except Exception as raised:
                    error = raised
        finally:
            job.close()

    def _do(self, request: Request, within: Store | None) -> Any:
        match request:
            case StoreCall(method, args):
                return getattr(within or self.store, method)(*args)
            case Invoke():
                return self._call(request)
            case Exclusive(execution_id, job):
                self._refuse_own(execution_id)
                with self._queue.turn(execution_id):
                    return self._perform(job, within)
            case Pause(seconds):
                return time.sleep(seconds)

    def _call(self, request: Invoke) -> Any:
        token = in_action.set((*in_action.get(), (id(self), request.stm.execution_id)))
        try:
            result = request.handler(request.stm, request.event, **request.inputs)
        finally:
            in_action.reset(token)
        if inspect.isawaitable(result) or inspect.isgenerator(result):
            if inspect.iscoroutine(result):
                result.close()
            kind = type(result).__name__
            raise ResolveError(f"the action {request.name} returned a {kind}: it never ran; use AsyncDurableRunner")
        return result
