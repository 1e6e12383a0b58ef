"""`RedisStore`: a Redis or Valkey server, alone or as a cluster (runtime.md section 5; edges.md, Redis).

Loading a step is one script call and committing it another. The scripts are in `redis_scripts`, the names of keys in
`redis_keys`, the client in `redis_connections`; here every method of the protocol says which script it runs on what.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from harel.errors import DefinitionConflict, ExecutionAlreadyExists, ExecutionNotFound, StoreConflict, StoreUnavailable
from harel.execution import Execution, Status

from .encoding import (
    batch_text,
    check_size,
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
from .redis_connections import Connection, as_bytes, as_text, without_options
from .redis_keys import Keys, Partition
from .redis_scripts import (
    ACK,
    COMMIT,
    CREATE,
    DUE_AFTER,
    FORGET,
    LOAD_STEP,
    PENDING,
    PUBLISH,
    PURGE,
    READ,
)

RECORD_LIMIT = 512 * 1024 * 1024
"""How many bytes a value of Redis has at most."""

_PURGED_AT_ONCE = 1000
"""How many executions one script call deletes at most, so that others need not wait long."""

_READ_AT_ONCE = 100

_DEEPEST = 999

_NO_EFFECTS = " 0 0 0 - 0 0 0 0 -"

Position = tuple[float, int, str, str]


class RedisStore:
    """A store on a Redis or Valkey server, for any number of processes and machines.

    Args:
        client: a `redis.Redis` or `redis.RedisCluster` of the caller's, or a URL (`redis://`, `rediss://`,
            `valkey://`, `valkeys://`, `unix://`). A URL may carry `?partitions=16` and `wait_replicas=1`, which count
            more than the arguments; one of a server in cluster mode makes a cluster client.
        prefix: the beginning of every key, `[a-z][a-z0-9_]{0,29}`; several prefixes may share a server.
        partitions: over how many slots of a cluster trees of executions are spread; fixed when the store is made.
        wait_replicas: how many replicas must have a write before it counts as done, within a second.
        create_schema: make the store (one key that tells its format) where it is missing; otherwise that is an error.

    Raises:
        ModuleNotFoundError: a URL is given and the library is not installed; says the pip line.
        ValueError: an argument cannot be used. The server is reached when it is first needed; what is wrong with it
            is a `StoreUnavailable` or a `StoreFormatError` of the method that needs it.
    """

    def __init__(
        self,
        client: Any,
        *,
        prefix: str = "harel",
        partitions: int = 1,
        wait_replicas: int = 0,
        create_schema: bool = True,
    ) -> None:
        if isinstance(client, str):
            client, options = without_options(client)
            partitions = options.get("partitions", partitions)
            wait_replicas = options.get("wait_replicas", wait_replicas)
        if isinstance(wait_replicas, bool) or not isinstance(wait_replicas, int) or wait_replicas < 0:
            raise ValueError(f"wait_replicas is {wait_replicas!r}; it is a whole number, 0 or more")
        self._keys = Keys(prefix, partitions)
        self._connection = Connection(client, self._keys, wait_replicas, create_schema)
        self.prefix = prefix
        self.partitions = partitions

    def __repr__(self) -> str:
        return f"RedisStore({self._connection.place!r}, prefix={self.prefix!r}, partitions={self.partitions})"

    # --- steps

    def load(self, execution_id: str) -> Execution:
        """See `Store.load`."""
        key = self._partition(execution_id).record(execution_id)
        return self._execution(execution_id, self._connection.use(lambda client: client.hget(key, "r")))

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        """See `Store.load_step`; with several partitions the flag tells of the execution's own."""
        partition = self._partition(execution_id)
        keys = [partition.record(execution_id), partition.seen(execution_id)[0], partition.waiting]
        answer = self._connection.run(LOAD_STEP, keys, [event_id])
        record, processed, waiting = answer if isinstance(answer, list) else (answer, 0, 0)
        return Loaded(self._execution(execution_id, record), bool(processed), bool(waiting))

    def create(self, execution: Execution, effects: Effects) -> None:
        """See `Store.create`."""
        partition = self._keys.partition(execution.id)
        fixed = [partition.record(execution.id), partition.status, partition.ids, partition.roots]
        keys = fixed + _effect_keys(partition, execution.id, effects)
        answer = self._connection.run(CREATE, keys, _step_arguments(execution, 0, effects))
        if not isinstance(answer, list) and as_text(answer) == "taken":
            raise ExecutionAlreadyExists(execution.id)
        self._acknowledge_elsewhere(effects, answer)

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        """See `Store.commit`. What it acknowledges in other partitions goes after it, in calls of their own."""
        partition = self._keys.partition(execution.id)
        keys = [partition.record(execution.id), partition.status, *_effect_keys(partition, execution.id, effects)]
        answer = self._connection.run(COMMIT, keys, _step_arguments(execution, expected_version, effects))
        if not isinstance(answer, list) and as_text(answer) in ("lost", "gone"):
            raise StoreConflict(execution.id, expected_version, "it is gone" if as_text(answer) == "gone" else None)
        self._acknowledge_elsewhere(effects, answer)

    def is_processed(self, execution_id: str, event_id: str) -> bool:
        """See `Store.is_processed`."""
        key = self._keys.partition(execution_id).seen(execution_id)[0]
        return bool(self._connection.use(lambda client: client.hexists(key, event_id)))

    # --- outbox and spawns

    def pending_outbox(self, limit: int = 100, after: str | None = None) -> list[Message]:
        """See `Store.pending_outbox`."""
        queues = [(partition.waiting, partition.outbox) for partition in self._keys.partitions]
        return [read_message(text) for text in self._pending("m", queues, limit, after)]

    def ack_outbox(self, message_id: str) -> None:
        """See `Store.ack_outbox`."""
        for partition in self._keys.likely_first(message_id):
            if self._connection.run(ACK, [partition.waiting, partition.outbox, partition.owners], ["m", message_id]):
                return

    def pending_spawns(self, limit: int = 100, after: str | None = None) -> list[SpawnBatch]:
        """See `Store.pending_spawns`."""
        queues = [(partition.waiting, partition.spawns) for partition in self._keys.partitions]
        return [read_batch(text) for text in self._pending("s", queues, limit, after)]

    def ack_spawn(self, batch_id: str) -> None:
        """See `Store.ack_spawn`."""
        for partition in self._keys.likely_first(batch_id):
            if self._connection.run(ACK, [partition.waiting, partition.spawns, partition.owners], ["s", batch_id]):
                return

    # --- timers

    def due_timers(self, now: float, limit: int = 100, after: Position | None = None) -> list[Timer]:
        """See `Store.due_timers`; one range of the due index for each partition."""
        pages = [self._due(partition, now, limit, after) for partition in self._keys.partitions]
        return list(islice(heapq.merge(*pages, key=lambda timer: timer.position), limit))

    def timers(self, execution_id: str) -> list[Timer]:
        """See `Store.timers`."""
        key = self._keys.partition(execution_id).timers(execution_id)
        armed = self._connection.use(lambda client: client.hvals(key))
        parts = (as_bytes(value).partition(b" ") for value in armed)
        timers = [_read_timer(member, float(due)) for due, _, member in parts]
        return sorted((timer for timer in timers if not timer.is_ttl), key=lambda timer: timer.position)

    # --- reading

    def read_trace(self, execution_id: str) -> list[TraceRow]:
        """See `Store.read_trace`."""
        key = self._keys.partition(execution_id).trace(execution_id)
        return [read_trace_row(text) for text in self._connection.use(lambda client: client.lrange(key, 0, -1))]

    def list_executions(
        self,
        status: Status | None = None,
        definition_id: str | None = None,
        roots_only: bool = True,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """See `Store.list_executions`; ids by status and of roots are indexed, other filters read the records."""

        def walk(partition: Partition) -> Iterator[Execution]:
            for execution in self._walk(partition, status, roots_only, limit + 1, cursor or ""):
                if (
                    (status is None or execution.status is status)
                    and (definition_id is None or execution.definition_id == definition_id)
                    and not (roots_only and execution.parent_id is not None)
                ):
                    yield execution

        walks = [walk(partition) for partition in self._keys.partitions]
        found = list(islice(heapq.merge(*walks, key=lambda execution: execution.id), limit + 1))
        items = tuple(found[:limit])
        return Page(items, items[-1].id if items and len(found) > limit else None)

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """See `Store.ids_with_prefix`."""
        end = end_of_prefix(prefix)
        low = b"[" + prefix.encode() if prefix else b"-"
        high = b"+" if end is None else b"(" + end.encode()
        ids: list[str] = []
        for partition in self._keys.of_prefix(prefix):
            ids += map(as_text, self._range(partition.ids, low, high))
        return sorted(ids)

    # --- the rest

    def purge(self, execution_ids: Sequence[str]) -> None:
        """See `Store.purge`. More than a thousand go in several calls, in the order in which they are named."""
        for start in range(0, len(execution_ids), _PURGED_AT_ONCE):
            ids = list(execution_ids[start : start + _PURGED_AT_ONCE])
            homes = [self._keys.partition(id) for id in ids]
            for partition in self._keys.partitions:
                if any(home is not partition for home in homes):
                    self._connection.run(FORGET, partition.queues, ids)
            for partition, members in groupby(zip(homes, ids, strict=True), key=lambda member: member[0]):
                self._purge(partition, [id for _, id in members])

    def publish_definition(self, id: str, version: int, digest: str, document: str) -> None:
        """See `Store.publish_definition`."""
        keys = [self._keys.digests, self._keys.documents]
        kept = as_text(self._connection.run(PUBLISH, keys, [_version_name(id, version), digest, document]))
        if kept != digest:
            raise DefinitionConflict(id, version, kept, digest)

    def load_definition(self, id: str, version: int) -> str | None:
        """See `Store.load_definition`."""
        key, name = self._keys.documents, _version_name(id, version)
        document = self._connection.use(lambda client: client.hget(key, name))
        return None if document is None else as_text(document)

    def list_definitions(self) -> list[tuple[str, int, str]]:
        """See `Store.list_definitions`."""
        digests = self._connection.use(lambda client: client.hgetall(self._keys.digests))
        published: list[tuple[str, int, str]] = []
        for name, digest in digests.items():
            id, _, version = as_text(name).rpartition(" ")
            published.append((id, int(version), as_text(digest)))
        return sorted(published)

    def close(self) -> None:
        """See `Store.close`. An injected client is the caller's."""
        self._connection.close()

    # --- records

    def _partition(self, execution_id: str) -> Partition:
        """Where an execution is looked for. Raises `ExecutionNotFound` for a lone surrogate, which no key has."""
        try:
            execution_id.encode()
        except UnicodeEncodeError:
            raise ExecutionNotFound(execution_id) from None
        return self._keys.partition(execution_id)

    def _execution(self, execution_id: str, record: Any) -> Execution:
        if record is None:
            raise ExecutionNotFound(execution_id)
        execution = Execution.from_json(record)
        if execution.id != execution_id:
            self._connection.drop()
            place = self._connection.place
            raise StoreUnavailable(f"Redis store {place} answered {execution.id!r} to a question for {execution_id!r}")
        return execution

    def _walk(
        self, partition: Partition, status: Status | None, roots_only: bool, wanted: int, cursor: str
    ) -> Iterator[Execution]:
        """Executions of a partition behind an id, by id, read as they are asked for."""
        if status is not None:
            index, begin, high = partition.status, f"{status.value}\0", f"({status.value}\1".encode()
        else:
            index, begin, high = partition.roots if roots_only else partition.ids, "", b"+"
        size = min(wanted, _READ_AT_ONCE)
        while True:
            low = f"({begin}{cursor}".encode() if begin or cursor else b"-"
            ids = [as_text(member).removeprefix(begin) for member in self._range(index, low, high, size)]
            if not ids:
                return
            for record in self._connection.run(READ, [partition.record(id) for id in ids]):
                if record is not None:
                    yield Execution.from_json(record)
            cursor = ids[-1]

    def _range(self, index: bytes, low: bytes, high: bytes, size: int | None = None) -> list[Any]:
        start = None if size is None else 0
        found: list[Any] = self._connection.use(lambda client: client.zrangebylex(index, low, high, start, size))
        return found

    # --- queues and the due index

    def _acknowledge_elsewhere(self, effects: Effects, answer: Any) -> None:
        """Forget messages that came from trees in other partitions, after a step whose script answered this.

        The step that consumed them is committed; if this is cut short they are delivered again, and found consumed.
        """
        if len(self._keys.partitions) == 1 or not effects.acks:
            return
        left = map(as_text, answer) if isinstance(answer, list) else effects.acks if as_text(answer) == "again" else ()
        for id in left:
            self.ack_outbox(id)

    def _pending(self, mark: str, queues: Sequence[tuple[bytes, bytes]], limit: int, after: str | None) -> list[Any]:
        """The texts of some queues in the order of commits, behind an entry."""
        if len(queues) == 1:
            asked = ["-inf", int(after is not None), after or "", limit, mark]
            texts: list[Any] = self._connection.run(PENDING, queues[0], asked)[1::2]
            return texts
        last = self._place(queues, after)
        waiting: list[tuple[float, int, Any]] = []
        for number, queue in enumerate(queues):
            # Two partitions may number alike: then the one that is named first goes first.
            low = "-inf" if last is None else f"{'(' if number <= last[1] else ''}{last[0]}"
            answer = self._connection.run(PENDING, queue, [low, 0, "", limit, mark])
            waiting += [(float(at), number, text) for at, text in zip(answer[::2], answer[1::2], strict=True)]
        waiting.sort(key=lambda entry: entry[:2])
        return [text for _, _, text in waiting[:limit]]

    def _place(self, queues: Sequence[tuple[bytes, bytes]], id: str | None) -> tuple[str, int] | None:
        """The number of an entry and its queue; `None` where it is gone."""
        if id is None:
            return None
        for number, (_, order) in enumerate(queues):
            score = self._score(order, id)
            if score is not None:
                return f"{score:.0f}", number
        return None

    def _score(self, index: bytes, member: str) -> float | None:
        score = self._connection.use(lambda client: client.zscore(index, member))
        return None if score is None else float(score)

    def _due(self, partition: Partition, now: float, limit: int, after: Position | None) -> list[Timer]:
        if limit < 1:
            return []
        if after is None:
            found = self._connection.use(
                lambda client: client.zrangebyscore(partition.due, "-inf", repr(float(now)), 0, limit, withscores=True)
            )
            pairs = [(as_bytes(member), float(due)) for member, due in found]
        else:
            due, negative_depth, execution_id, path = after
            behind = _member_beginning(-negative_depth, execution_id, path) + b"\xff"
            flat = self._connection.run(DUE_AFTER, [partition.due], [repr(float(due)), behind, limit])
            members = zip(flat[::2], flat[1::2], strict=True)
            pairs = [(as_bytes(member), float(due)) for member, due in members if float(due) <= now]
        return [_read_timer(member, due) for member, due in pairs]

    def _purge(self, partition: Partition, ids: list[str]) -> None:
        keys = [*partition.queues, partition.due, partition.status, partition.ids, partition.roots]
        for id in ids:
            keys += partition.of_execution(id)
        self._connection.run(PURGE, keys, ids)


def _effect_keys(partition: Partition, execution_id: str, effects: Effects) -> list[bytes]:
    """The keys of what a step changes besides the record, as the scripts look for them."""
    keys: list[bytes] = []
    if effects.processed is not None:
        keys += partition.seen(execution_id)
    if effects.forget is not None:
        keys.append(partition.seen(execution_id)[0])
    if effects.cancels or effects.arms or effects.hold is not None:
        keys += (partition.timers(execution_id), partition.due)
    if effects.emits or effects.spawns or effects.acks or effects.spawn_acks:
        keys += partition.queues
    if effects.trace is not None:
        keys.append(partition.trace(execution_id))
    return keys


def _step_arguments(execution: Execution, expected_version: int, effects: Effects) -> list[Any]:
    """Record and effects, encoded: a text of numbers and plain words, then the texts that they count."""
    record = execution_text(execution)
    check_size(execution, record, RECORD_LIMIT, "Redis")
    arguments: list[Any] = [
        f"{execution.version} {expected_version} {execution.status.value} {os.urandom(8).hex()} "
        f"{int(execution.parent_id is None)} {_remembered(execution, effects.processed)}{_counts(effects)}",
        execution.id,
        record.encode(),
    ]
    if effects.processed is not None:
        arguments.append(effects.processed.event_id)
    if effects.forget is not None:
        arguments.append(effects.forget)
    arguments += effects.cancels
    for timer in effects.arms:
        arguments += (timer.path, repr(float(timer.due)), _timer_member(timer))
    for message in effects.emits:
        arguments += (message.id, message.source, message.target, message_text(message))
    for batch in effects.spawns:
        arguments += (batch.id, batch.parent_id, batch_text(batch))
    arguments += (*effects.acks, *effects.spawn_acks)
    if effects.trace is not None:
        arguments.append(trace_text(effects.trace))
    return arguments


def _remembered(execution: Execution, processed: Processed | None) -> str:
    """Number and time of the processed id, and from where on older ones are kept, if any can be too old or too many."""
    if processed is None:
        return "- - - -"
    number, at, oldest = processed.number, float(processed.at), processed.at - DEDUPE_WINDOW
    if number > DEDUPE_LIMIT or execution.created_at < oldest:
        return f"{number} {at!r} {oldest!r} {number - DEDUPE_LIMIT}"
    return f"{number} {at!r} - -"


def _counts(effects: Effects) -> str:
    """How many effects there are of each kind; nothing where there are none."""
    hold, trace = effects.hold, effects.trace
    counts = (
        f" {int(effects.forget is not None)} {len(effects.cancels)} {len(effects.arms)} "
        f"{'-' if hold is None else int(hold)} {len(effects.emits)} {len(effects.spawns)} {len(effects.acks)} "
        f"{len(effects.spawn_acks)} {'-' if trace is None else effects.trace_limit}"
    )
    return "" if counts == _NO_EFFECTS else counts


def _version_name(id: str, version: int) -> str:
    return f"{id} {version}"


def _member_beginning(depth: int, execution_id: str, path: str) -> bytes:
    """How the entry of a timer in the due index begins: bytes that sort like `Timer.position`, the due time apart."""
    return f"{_DEEPEST - depth:03d}{execution_id}\0{path}\0".encode()


def _timer_member(timer: Timer) -> bytes:
    return _member_beginning(timer.depth, timer.execution_id, timer.path) + b"%d" % timer.arming


def _read_timer(member: bytes, due: float) -> Timer:
    execution_id, path, arming = member[3:].decode().split("\0")
    return Timer(execution_id, path, due, int(arming))
