"""`DictStore`: the store for tests and short-lived programs, in the memory of one process (runtime.md section 5).

It keeps the same JSON texts as the other stores and refuses the same values, so that a test on it tells the truth;
nobody shares an object with it. Due timers and ids stand in sorted lists: a sweep costs O(due), not O(armed).
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from harel.errors import DefinitionConflict, ExecutionAlreadyExists, ExecutionNotFound, StoreConflict
from harel.execution import Execution, Status

from .encoding import (
    batch_text,
    execution_text,
    message_text,
    read_batch,
    read_message,
    read_trace_row,
    trace_text,
)
from .names import end_of_prefix
from .protocol import (
    DEDUPE_LIMIT,
    DEDUPE_WINDOW,
    Effects,
    Loaded,
    Message,
    Page,
    Processed,
    SpawnBatch,
    Timer,
    TraceRow,
)

Position = tuple[float, int, str, str]


class _Comparable(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=_Comparable)


class _Sorted(Generic[K]):
    """Distinct keys in order. To put or drop a key twice is like once, so that an interrupted write can be redone."""

    def __init__(self) -> None:
        self._keys: list[K] = []

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, key: K) -> None:
        at = bisect_left(self._keys, key)
        if at == len(self._keys) or self._keys[at] != key:
            self._keys.insert(at, key)

    def drop(self, key: K) -> None:
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            del self._keys[at]

    def following(self, after: K | None) -> Iterator[K]:
        """The keys greater than `after`, in order; all of them for `None`."""
        for at in range(0 if after is None else bisect_right(self._keys, after), len(self._keys)):
            yield self._keys[at]

    def between(self, first: K, end: K | None) -> list[K]:
        """The keys from `first` on that are less than `end`."""
        stop = len(self._keys) if end is None else bisect_left(self._keys, end)
        return self._keys[bisect_left(self._keys, first) : stop]


class _Queue:
    """Texts by id in the order they came in; an id that waits already stays where it is."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._order: _Sorted[int] = _Sorted()
        self._last = 0

    def __len__(self) -> int:
        return len(self._texts)

    def put(self, id: str, text: str) -> None:
        if id not in self._numbers:
            self._last += 1
            self._numbers[id] = self._last
        number = self._numbers[id]
        self._texts.setdefault(number, text)
        self._order.put(number)

    def drop(self, id: str) -> None:
        number = self._numbers.get(id)
        if number is not None:
            self._order.drop(number)
            self._texts.pop(number, None)
            self._numbers.pop(id, None)

    def texts(self, limit: int | None = None, after: str | None = None) -> list[str]:
        """The texts after the one of id `after`; from the beginning where that one is gone."""
        numbers = self._order.following(self._numbers.get(after) if after is not None else None)
        return [self._texts[number] for number in islice(numbers, limit)]


@dataclass(slots=True)
class _Entry:
    """What belongs to one execution; a timer that is held is here and not in the due index.

    `processed` maps an event id to when it was consumed and its number, oldest first; a trace row has its version.
    """

    text: str
    version: int
    status: Status
    definition_id: str
    is_root: bool
    timers: dict[str, Timer] = field(default_factory=dict)
    processed: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)
    trace: deque[tuple[int, str]] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class _Write:
    """A commit whose values are encoded, so that nothing can fail any more."""

    execution: Execution
    text: str
    effects: Effects
    messages: tuple[tuple[str, str], ...]
    batches: tuple[tuple[str, str], ...]
    trace: str | None


def _prepared(execution: Execution, effects: Effects) -> _Write:
    return _Write(
        execution,
        execution_text(execution),
        effects,
        tuple((message.id, message_text(message)) for message in effects.emits),
        tuple((batch.id, batch_text(batch)) for batch in effects.spawns),
        None if effects.trace is None else trace_text(effects.trace),
    )


class DictStore:
    """A store in memory, shared by the threads of one process; it ends with the program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._ids: _Sorted[str] = _Sorted()
        self._due: _Sorted[Position] = _Sorted()
        self._outbox = _Queue()
        self._spawns = _Queue()
        self._definitions: dict[tuple[str, int], tuple[str, str]] = {}

    # --- steps

    def load(self, execution_id: str) -> Execution:
        """See `Store.load`."""
        with self._lock:
            text = self._entry(execution_id).text
        return Execution.from_json(text)

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        """See `Store.load_step`."""
        with self._lock:
            entry = self._entry(execution_id)
            text, processed, backlog = entry.text, event_id in entry.processed, bool(self._outbox or self._spawns)
        return Loaded(Execution.from_json(text), processed, backlog)

    def create(self, execution: Execution, effects: Effects) -> None:
        """See `Store.create`."""
        write = _prepared(execution, effects)
        with self._lock:
            if execution.id in self._entries:
                raise ExecutionAlreadyExists(execution.id)
            self._finished(lambda: self._add(write))

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        """See `Store.commit`."""
        write = _prepared(execution, effects)
        with self._lock:
            entry = self._entries.get(execution.id)
            if entry is None:
                raise StoreConflict(execution.id, expected_version, "it is gone")
            if entry.version != expected_version:
                raise StoreConflict(execution.id, expected_version)
            self._finished(lambda: self._apply(write))

    def is_processed(self, execution_id: str, event_id: str) -> bool:
        """See `Store.is_processed`."""
        with self._lock:
            entry = self._entries.get(execution_id)
            return entry is not None and event_id in entry.processed

    # --- outbox and spawns

    def pending_outbox(self, limit: int = 100, after: str | None = None) -> list[Message]:
        """See `Store.pending_outbox`."""
        with self._lock:
            texts = self._outbox.texts(limit, after)
        return [read_message(text) for text in texts]

    def ack_outbox(self, message_id: str) -> None:
        """See `Store.ack_outbox`."""
        with self._lock:
            self._finished(lambda: self._outbox.drop(message_id))

    def pending_spawns(self, limit: int = 100, after: str | None = None) -> list[SpawnBatch]:
        """See `Store.pending_spawns`."""
        with self._lock:
            texts = self._spawns.texts(limit, after)
        return [read_batch(text) for text in texts]

    def ack_spawn(self, batch_id: str) -> None:
        """See `Store.ack_spawn`."""
        with self._lock:
            self._finished(lambda: self._spawns.drop(batch_id))

    # --- timers

    def due_timers(self, now: float, limit: int = 100, after: Position | None = None) -> list[Timer]:
        """See `Store.due_timers`."""
        due: list[Timer] = []
        with self._lock:
            for position in self._due.following(after):
                if position[0] > now or len(due) >= limit:
                    break
                due.append(self._entries[position[2]].timers[position[3]])
        return due

    def timers(self, execution_id: str) -> list[Timer]:
        """See `Store.timers`."""
        with self._lock:
            entry = self._entries.get(execution_id)
            armed = [] if entry is None else [timer for timer in entry.timers.values() if not timer.is_ttl]
        return sorted(armed, key=lambda timer: timer.position)

    # --- reading

    def read_trace(self, execution_id: str) -> list[TraceRow]:
        """See `Store.read_trace`."""
        with self._lock:
            entry = self._entries.get(execution_id)
            rows = [] if entry is None else list(entry.trace)
        return [read_trace_row(text) for _, text in rows]

    def list_executions(
        self,
        status: Status | None = None,
        definition_id: str | None = None,
        roots_only: bool = True,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """See `Store.list_executions`."""
        texts: list[str] = []
        last: str | None = None
        more = False
        with self._lock:
            for id in self._ids.following(cursor):
                entry = self._entries[id]
                if (
                    (status is not None and entry.status is not status)
                    or (definition_id is not None and entry.definition_id != definition_id)
                    or (roots_only and not entry.is_root)
                ):
                    continue
                if len(texts) >= limit:
                    more = True
                    break
                texts.append(entry.text)
                last = id
        return Page(tuple(map(Execution.from_json, texts)), last if more else None)

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """See `Store.ids_with_prefix`."""
        with self._lock:
            return self._ids.between(prefix, end_of_prefix(prefix))

    # --- the rest

    def purge(self, execution_ids: Sequence[str]) -> None:
        """See `Store.purge`."""
        gone = set(execution_ids)
        with self._lock:
            waiting = map(read_message, self._outbox.texts())
            messages = [message.id for message in waiting if gone & {message.source, message.target}]
            batches = [batch.id for batch in map(read_batch, self._spawns.texts()) if batch.parent_id in gone]
            self._finished(lambda: self._remove(gone, messages, batches))

    def publish_definition(self, id: str, version: int, digest: str, document: str) -> None:
        """See `Store.publish_definition`."""
        with self._lock:
            kept, _ = self._definitions.setdefault((id, version), (digest, document))
        if kept != digest:
            raise DefinitionConflict(id, version, kept, digest)

    def load_definition(self, id: str, version: int) -> str | None:
        """See `Store.load_definition`."""
        with self._lock:
            _, document = self._definitions.get((id, version), ("", None))
        return document

    def list_definitions(self) -> list[tuple[str, int, str]]:
        """See `Store.list_definitions`."""
        with self._lock:
            return sorted((id, version, digest) for (id, version), (digest, _) in self._definitions.items())

    def close(self) -> None:
        """Nothing to give back: what the store holds stays, for it lives as long as the object."""

    # --- writing, under the lock

    def _entry(self, execution_id: str) -> _Entry:
        entry = self._entries.get(execution_id)
        if entry is None:
            raise ExecutionNotFound(execution_id)
        return entry

    def _finished(self, write: Callable[[], None]) -> None:
        """Do a write whole: what an interrupt (Ctrl-C) cuts short is done again, for a write done twice is a write."""
        try:
            write()
        except BaseException:
            write()
            raise

    def _add(self, write: _Write) -> None:
        execution = write.execution
        is_root = execution.parent_id is None
        entry = _Entry(write.text, 0, execution.status, execution.definition_id, is_root)
        self._entries.setdefault(execution.id, entry)
        self._ids.put(execution.id)
        self._apply(write)

    def _apply(self, write: _Write) -> None:
        execution, effects = write.execution, write.effects
        entry = self._entries[execution.id]
        entry.text, entry.version, entry.status = write.text, execution.version, execution.status
        self._arm(entry, effects)
        _remember(entry, effects.forget, effects.processed)
        for id, text in write.messages:
            self._outbox.put(id, text)
        for id, text in write.batches:
            self._spawns.put(id, text)
        for id in effects.acks:
            self._outbox.drop(id)
        for id in effects.spawn_acks:
            self._spawns.drop(id)
        if write.trace is not None:
            _append(entry, execution.version, write.trace, effects.trace_limit)

    def _arm(self, entry: _Entry, effects: Effects) -> None:
        for path in effects.cancels:
            self._disarm(entry, path)
        for timer in effects.arms:
            self._disarm(entry, timer.path)
            entry.timers[timer.path] = timer
            self._due.put(timer.position)
        if effects.hold is not None:
            move = self._due.drop if effects.hold else self._due.put
            for timer in entry.timers.values():
                move(timer.position)

    def _disarm(self, entry: _Entry, path: str) -> None:
        timer = entry.timers.get(path)
        if timer is not None:
            self._due.drop(timer.position)
            entry.timers.pop(path, None)

    def _remove(self, gone: set[str], messages: list[str], batches: list[str]) -> None:
        for id in messages:
            self._outbox.drop(id)
        for id in batches:
            self._spawns.drop(id)
        for execution_id in gone:
            entry = self._entries.get(execution_id)
            for path in list(entry.timers) if entry else ():
                self._disarm(self._entries[execution_id], path)
            self._ids.drop(execution_id)
            self._entries.pop(execution_id, None)


def _remember(entry: _Entry, forget: str | None, processed: Processed | None) -> None:
    """Note a consumed event id and trim those that are too old or too many, in the order of their numbers."""
    if forget is not None:
        entry.processed.pop(forget, None)
    if processed is None:
        return
    entry.processed[processed.event_id] = (processed.at, processed.number)
    entry.processed.move_to_end(processed.event_id)
    while entry.processed:
        at, number = next(iter(entry.processed.values()))
        if at >= processed.at - DEDUPE_WINDOW and number > processed.number - DEDUPE_LIMIT:
            break
        entry.processed.popitem(last=False)


def _append(entry: _Entry, version: int, row: str, limit: int) -> None:
    """Append the trace row of a version, once, and keep the last rows."""
    if not entry.trace or entry.trace[-1][0] != version:
        entry.trace.append((version, row))
    while len(entry.trace) > limit:
        entry.trace.popleft()
