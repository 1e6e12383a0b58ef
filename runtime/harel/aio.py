"""`AsyncDurableRunner`: the same driver under asyncio (runtime.md sections 3 and 4).

`async def` handlers are awaited, plain ones and blocking stores run in threads with context variables copied.
Neither the runner nor its queue is bound to an event loop when made, so that one runner works under several
`asyncio.run`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from .archive import Archive, as_archive
from .errors import StoreConflict
from .event import Event
from .execution import Execution
from .jobs import Exclusive, Invoke, Job, Pause, Request, StoreCall
from .queue import WAIT_LIMIT
from .runner import RunnerBase, in_action
from .stores.protocol import Store

T = TypeVar("T")


class AsyncExecutionQueue:
    """One first-in-first-out queue per execution id, for the tasks of one event loop at a time."""

    def __init__(self, wait_limit: float = WAIT_LIMIT) -> None:
        self._wait_limit = wait_limit
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, execution_id: str) -> AsyncIterator[None]:
        """Wait for the execution's turn and hold it. Raises `StoreConflict` where the wait is over the bound."""
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._waiting.setdefault(execution_id, deque())
        line.append(ticket)
        if line[0] is ticket:
            ticket.set_result(None)
        try:
            try:
                await asyncio.wait_for(asyncio.shield(ticket), self._wait_limit)
            except TimeoutError:
                cause = f"calls of this process were at work on it for {self._wait_limit:g} s"
                raise StoreConflict(execution_id, cause=cause) from None
            yield
        finally:
            line.remove(ticket)
            if not line:
                del self._waiting[execution_id]
            elif not line[0].done():
                line[0].set_result(None)


class AsyncDurableRunner(RunnerBase):
    """Runs machines under asyncio. Parameters as of `RunnerBase`."""

    def _prepare(self) -> None:
        self._queue = AsyncExecutionQueue()

    async def create(
        self,
        definition_id: str,
        context: Mapping[str, Any] | None = None,
        *,
        execution_id: str | None = None,
        version: int | None = None,
        priority: int = 0,
        exist_ok: bool = False,
    ) -> Execution:
        """As `DurableRunner.create`."""
        return await self._perform(self._create_job(definition_id, context, execution_id, version, priority, exist_ok))

    async def process(self, execution_id: str, event: Event, *, connection: Any = None) -> Execution:
        """As `DurableRunner.process`; a `connection` is used in the calling thread, which it may be bound to."""
        checked = self._checked(execution_id, event)
        if connection is not None:
            return await self._perform(self._relay.process_within(*checked), self._joined(connection))
        return await self._perform(self._relay.process(*checked))

    async def fire_due_timers(self) -> int:
        """As `DurableRunner.fire_due_timers`."""
        return await self._perform(self._relay.sweep())

    async def cancel(self, execution_id: str, reason: str | None = None) -> Execution:
        """As `DurableRunner.cancel`."""
        return await self._perform(self._control.cancel(execution_id, reason))

    async def terminate(self, execution_id: str) -> Execution:
        """As `DurableRunner.terminate`."""
        return await self._perform(self._control.terminate(execution_id))

    async def suspend(self, execution_id: str) -> Execution:
        """As `DurableRunner.suspend`."""
        return await self._perform(self._control.suspend(execution_id))

    async def resume(self, execution_id: str) -> Execution:
        """As `DurableRunner.resume`."""
        return await self._perform(self._control.resume(execution_id))

    async def redrive(self, execution_id: str, target_path: str) -> Execution:
        """As `DurableRunner.redrive`."""
        return await self._perform(self._control.redrive(execution_id, target_path))

    async def purge(self, execution_id: str, archive: Archive | Any = None) -> None:
        """As `DurableRunner.purge`."""
        await self._perform(self._control.purge(execution_id, as_archive(archive)))

    # --- the loop

    async def _perform(self, job: Job[T], within: Store | None = None) -> T:
        """Do what the job asks for until it is done; `DurableRunner._perform` with `await`."""
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
                    result = await self._do(request, within)
                except Exception as raised:
                    error = raised
        finally:
            job.close()

    async def _do(self, request: Request, within: Store | None) -> Any:
        match request:
            case StoreCall(method, args):
                return getattr(within, method)(*args) if within else await self._call_store(method, args)
            case Invoke():
                return await self._call(request)
            case Exclusive(execution_id, job):
                self._refuse_own(execution_id)
                async with self._queue.turn(execution_id):
                    return await self._perform(job, within)
            case Pause(seconds):
                return await asyncio.sleep(seconds)

    async def _call_store(self, method: str, args: tuple[Any, ...]) -> Any:
        """A call that has begun is finished, even if the task is cancelled meanwhile (edges.md, Races)."""
        call = asyncio.ensure_future(asyncio.to_thread(getattr(self.store, method), *args))
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            await asyncio.wait([call])
            raise

    async def _call(self, request: Invoke) -> Any:
        token = in_action.set((*in_action.get(), (id(self), request.stm.execution_id)))
        try:
            if inspect.iscoroutinefunction(request.handler):
                return await request.handler(request.stm, request.event, **request.inputs)
            result = await asyncio.to_thread(request.handler, request.stm, request.event, **request.inputs)
            return await result if inspect.isawaitable(result) else result
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Nobody cancels this task: the handler's own affair has leaked out, which is an error like any other.
            raise RuntimeError(f"the action {request.name} was cancelled from inside: {error}") from error
        finally:
            in_action.reset(token)
