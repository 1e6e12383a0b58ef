"""`idempotent`: a handler whose effect is remembered, so that a repeated attempt does not repeat it (runtime.md
sections 1 and 3).

A step is committed once, but its handlers may run again: after a crash, a lost race or an answer that never came. Each
attempt gives a handler the same `stm.idempotency_key`. The decorator records what the handler returned, and what it
left in the context, under this key; a later attempt gets the record and the handler is not called.

**The window that remains.** The effect and its record are two writes to two places. A process that dies after the
effect and before the record leaves no trace of it, and the next attempt runs the handler again. Nothing on this side
can close that window. The service can: pass it the key (most payment, mail and shipping services take an idempotency
key), and it answers the second call like the first without doing it again:

    @idempotent(backend)
    def charge(stm, event, *, account):
        charge = bank.charge(account, stm.execution_ctx["amount"], idempotency_key=stm.idempotency_key)
        stm.execution_ctx["charge_id"] = charge.id

The record then spares the call; without it, the key still makes the call harmless. Where the effect is a write to the
same Postgres, do it through the connection given to `PostgresIdempotency` in one transaction: then there is no window.

Backends on a server stand in `idempotency_redis.py` and `idempotency_postgres.py`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar, cast

from .errors import ContextError
from .event import Event
from .stm import Stm
from .values import check_json, copy_json

H = TypeVar("H", bound=Callable[..., Any])


class IdempotencyBackend(Protocol):
    """Where records are kept: JSON texts by key. Methods may block; each must be safe to call from many threads."""

    def get(self, key: str) -> str | None:
        """The record under the key, if there is one."""

    def put(self, key: str, record: str) -> str:
        """Keep a record unless the key has one, in one atomic operation; the record that the key has now."""


class DictIdempotency:
    """Records in this process's memory, for tests: they do not outlive it."""

    def __init__(self) -> None:
        self._records: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        """See `IdempotencyBackend.get`."""
        return self._records.get(key)

    def put(self, key: str, record: str) -> str:
        """See `IdempotencyBackend.put`."""
        return self._records.setdefault(key, record)  # atomic: one operation of the dict


def idempotent(backend: IdempotencyBackend) -> Callable[[H], H]:
    """A decorator for handlers, plain or `async def`: run once per `stm.idempotency_key`, then answer from the record.

    The record holds the returned value and the context keys that the handler set or removed; both are given back. What
    the handler sends with `stm.send` is not in it: send from a handler that is not decorated. A handler that raises
    leaves no record, so that the next attempt runs it.

    Raises (when the handler has run):
        TypeError: it returned something that is no JSON value, or left it in the context; nothing is recorded. Errors
            of the backend pass through, and are the action's.
    """

    def decorate(handler: H) -> H:
        if inspect.iscoroutinefunction(handler):
            return cast(H, _recording_async(backend, handler))
        return cast(H, _recording(backend, handler))

    return decorate


def _recording(backend: IdempotencyBackend, handler: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(handler)
    def answered(stm: Stm, event: Event, **inputs: Any) -> Any:
        record = backend.get(stm.idempotency_key)
        if record is None:
            before = copy_json(stm.execution_ctx)
            result = handler(stm, event, **inputs)
            record = backend.put(stm.idempotency_key, _record(stm, handler, before, result))
        return _replay(stm, record)

    return answered


def _recording_async(
    backend: IdempotencyBackend, handler: Callable[..., Awaitable[Any]]
) -> Callable[..., Awaitable[Any]]:
    """`_recording` with `await`; the backend blocks in a thread, not in the event loop."""

    @functools.wraps(handler)
    async def answered(stm: Stm, event: Event, **inputs: Any) -> Any:
        record = await asyncio.to_thread(backend.get, stm.idempotency_key)
        if record is None:
            before = copy_json(stm.execution_ctx)
            result = await handler(stm, event, **inputs)
            text = _record(stm, handler, before, result)
            record = await asyncio.to_thread(backend.put, stm.idempotency_key, text)
        return _replay(stm, record)

    return answered


def _record(stm: Stm, handler: Callable[..., Any], before: Mapping[str, Any], result: Any) -> str:
    """What a call came to, as JSON text. Raises `TypeError` for values that JSON does not know."""
    context = stm.execution_ctx
    try:
        check_json(result, "the result")
        changed = {key: value for key, value in context.items() if key not in before or _differ(before[key], value)}
        check_json(changed)
    except ContextError as error:
        raise TypeError(f"the call of {_name(handler)} has run and cannot be recorded: {error}") from error
    removed = [key for key in before if key not in context]
    return json.dumps({"result": result, "set": changed, "removed": removed}, ensure_ascii=False)


def _replay(stm: Stm, record: str) -> Any:
    """Leave the context as the recorded call left it, and return what it returned."""
    recorded = json.loads(record)
    stm.execution_ctx.update(recorded["set"])
    for key in recorded["removed"]:
        stm.execution_ctx.pop(key, None)
    return recorded["result"]


def _differ(one: Any, other: Any) -> bool:
    """Whether two values are not one and the same JSON text; `==` takes 1 for True and for 1.0."""
    return repr(one) != repr(other)


def _name(handler: Callable[..., Any]) -> str:
    return getattr(handler, "__qualname__", type(handler).__name__)
