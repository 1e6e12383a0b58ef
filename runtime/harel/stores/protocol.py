"""What a store is: a few methods over plain data, and one write per step (runtime.md sections 4 and 5).

The engine's step becomes one `Effects` value; a backend implements the one method that writes it and has no logic
of its own. A backend imports this module, `execution`, `event`, `errors` and its client, nothing else of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from harel.execution import Execution, Status

DEDUPE_WINDOW = 7 * 24 * 3600.0
"""How long a processed event id is kept, in seconds (edges.md, Values)."""

DEDUPE_LIMIT = 10_000
"""How many processed event ids one execution keeps at most."""


@dataclass(frozen=True, slots=True)
class Timer:
    """A due-index entry. `path` is the state's, "" for the ttl; `due` is epoch seconds; `arming` tells a stale one.

    Due timers are delivered by `due`, at a tie the deeper state first and the ttl last.
    """

    execution_id: str
    path: str
    due: float
    arming: int

    @property
    def depth(self) -> int:
        """Levels of states in the path; 0 for the ttl."""
        return self.path.count(".") + 1 if self.path else 0

    @property
    def is_ttl(self) -> bool:
        return not self.path

    @property
    def position(self) -> tuple[float, int, str, str]:
        """The sort key of delivery, and the cursor of `due_timers`."""
        return (self.due, -self.depth, self.execution_id, self.path)


@dataclass(frozen=True, slots=True)
class Message:
    """An outbox entry: an event from one execution's step to an execution. `id` is unique in the store.

    `data` is JSON; `event_id` is what the receiver deduplicates by; `source` is the sending execution's id. `order` is
    that of a broadcast event among all that its tree has taken in: (epoch seconds, tie).
    """

    id: str
    source: str
    target: str
    kind: str
    data: dict[str, Any]
    event_id: str
    order: tuple[float, int] | None = None


@dataclass(frozen=True, slots=True)
class Spawn:
    """One child to create: all that its start needs. `region` is the region's path, or "" for a whole machine."""

    child_id: str
    key: str
    definition_id: str
    definition_version: int
    region: str
    context: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SpawnBatch:
    """All children that one entry of a state starts: one outbox entry whatever their number. `id` is unique in the
    store.
    """

    id: str
    parent_id: str
    generation: int
    spawns: tuple[Spawn, ...]


class TraceRow(TypedDict):
    """One step, for `read_trace`. `path_from` and `path_to` are active paths; `context` holds the changed keys."""

    event: str
    event_id: str
    path_from: str
    path_to: str
    actions: list[str]
    assigned: dict[str, Any]
    context: dict[str, Any]
    time: float


@dataclass(frozen=True, slots=True)
class Processed:
    """The event id that a step consumes. `number` counts the execution's processed ids, for trimming to
    `DEDUPE_LIMIT`.
    """

    event_id: str
    at: float
    number: int


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything one step changes besides the record; applied with it, atomically, or not at all.

    Attributes:
        emits: messages for the outbox, in order.
        spawns: batches of children to create.
        arms: due-index entries to put; one per (execution, path), replacing an older one.
        cancels: paths whose entries go.
        hold: `True` takes all entries of the execution out of the due index, `False` puts them back, `None` neither.
        processed: the event id to remember. The same write forgets ids older than `DEDUPE_WINDOW` before `processed.at`
            and those numbered `processed.number - DEDUPE_LIMIT` or less.
        forget: a processed id to forget (redrive).
        acks: ids of outbox messages that this step has consumed.
        spawn_acks: ids of spawn batches that this write completes.
        trace: a row to append, and how many rows to keep.
        event, path_from: what set the step off and where the execution stood, for observers; a store ignores them.
    """

    emits: tuple[Message, ...] = ()
    spawns: tuple[SpawnBatch, ...] = ()
    arms: tuple[Timer, ...] = ()
    cancels: tuple[str, ...] = ()
    hold: bool | None = None
    processed: Processed | None = None
    forget: str | None = None
    acks: tuple[str, ...] = ()
    spawn_acks: tuple[str, ...] = ()
    trace: TraceRow | None = None
    trace_limit: int = 200
    event: str = ""
    path_from: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a step begins with: the record, whether the event id was processed, and whether the store holds undelivered
    outbox messages or spawns (of whichever execution; a store of several partitions: of those in the execution's own),
    so that a crash's leftovers are noticed for free."""

    execution: Execution
    processed: bool
    backlog: bool


@dataclass(frozen=True, slots=True)
class Page:
    """Some executions in order of id, and the cursor of the next page (`None` at the end)."""

    items: tuple[Execution, ...]
    cursor: str | None = None

    def __iter__(self) -> Any:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Store(Protocol):
    """A durable store. Methods raise `StoreUnavailable` where the backend cannot be reached or is locked too long.

    Every returned execution is the caller's own copy. All times are epoch seconds.
    """

    def load(self, execution_id: str) -> Execution:
        """The record. Raises `ExecutionNotFound`."""

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        """The record, the dedupe check and the backlog flag in one round trip. Raises `ExecutionNotFound`."""

    def create(self, execution: Execution, effects: Effects) -> None:
        """Write a new record (its `version` is 1) and the effects. Raises `ExecutionAlreadyExists`, nothing written."""

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        """Replace the record if it is at `expected_version` (`execution.version` is that + 1), and apply the effects,
        atomically. Raises `StoreConflict` (also where the record is gone), nothing written."""

    def pending_outbox(self, limit: int = 100, after: str | None = None) -> list[Message]:
        """Undelivered messages in the order they were committed; `after` is the last message id of the page before."""

    def ack_outbox(self, message_id: str) -> None:
        """Forget a message; one that is gone is fine."""

    def pending_spawns(self, limit: int = 100, after: str | None = None) -> list[SpawnBatch]:
        """Uncompleted batches in the order they were committed; `after` as in `pending_outbox`."""

    def ack_spawn(self, batch_id: str) -> None:
        """Forget a batch; one that is gone is fine."""

    def is_processed(self, execution_id: str, event_id: str) -> bool:
        """Whether the execution has consumed the event id (and still remembers it)."""

    def due_timers(self, now: float, limit: int = 100, after: tuple[float, int, str, str] | None = None) -> list[Timer]:
        """Timers and ttls with `due <= now` that are not held, by `Timer.position`; `after` is the last position
        seen.
        """

    def timers(self, execution_id: str) -> list[Timer]:
        """The armed timers of an execution's states (not its ttl), held or not, by `Timer.position`."""

    def read_trace(self, execution_id: str) -> list[TraceRow]:
        """The kept trace rows, oldest first."""

    def list_executions(
        self,
        status: Status | None = None,
        definition_id: str | None = None,
        roots_only: bool = True,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """Executions by id (byte order), filtered; `cursor` is the last page's."""

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """Ids of all executions (children too) that begin with the prefix, byte-wise, in byte order."""

    def purge(self, execution_ids: Sequence[str]) -> None:
        """Delete records with all that belongs to them (timers, ids, messages, trace) in one transaction."""

    def publish_definition(self, id: str, version: int, digest: str, document: str) -> None:
        """Keep a document (JSON text) for a machine version; the same digest again is a no-op. Raises
        `StoreConflict` where the version is kept with another digest."""

    def load_definition(self, id: str, version: int) -> str | None:
        """The document of a machine version, or `None`."""

    def list_definitions(self) -> list[tuple[str, int, str]]:
        """(machine, version, digest) of all published, by machine and version."""

    def close(self) -> None:
        """Give connections back; the store may be used again and reconnects."""


def all_executions(store: Store, *, roots_only: bool = False) -> Iterable[Execution]:
    """Every execution, page by page."""
    cursor: str | None = None
    while True:
        page = store.list_executions(roots_only=roots_only, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return
