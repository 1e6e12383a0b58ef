"""The names of a store's keys on Redis, and in which partition each execution lives (edges.md, Redis).

A partition is what lies in one slot of a cluster: all keys of one hash tag. A tree of executions is in the partition of
its root id, which every id of the tree begins with.
"""

from __future__ import annotations

from binascii import crc_hqx
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from .names import checked_prefix

SLOTS = 16384
"""How many slots a cluster has."""


def slot_of(tag: bytes) -> int:
    """The slot of a key with this hash tag."""
    return crc_hqx(tag, 0) % SLOTS


@dataclass(frozen=True, slots=True)
class Partition:
    """The keys of one partition; those of an execution are made of its id.

    `waiting` has the entries of both queues, `outbox` and `spawns` their order, `owners` whose they are.
    """

    number: int
    base: bytes
    due: bytes
    waiting: bytes
    outbox: bytes
    spawns: bytes
    owners: bytes
    status: bytes
    ids: bytes
    roots: bytes

    @classmethod
    def named(cls, number: int, base: bytes) -> Partition:
        names = b"due", b"waiting", b"outbox", b"spawns", b"owners", b"status", b"ids", b"roots"
        return cls(number, base, *(base + name for name in names))

    @property
    def queues(self) -> tuple[bytes, bytes, bytes, bytes]:
        return self.waiting, self.outbox, self.spawns, self.owners

    def of_execution(self, execution_id: str) -> tuple[bytes, bytes, bytes, bytes, bytes]:
        """All keys of an execution: record, timers, processed ids and their order, trace."""
        id = execution_id
        return self.record(id), self.timers(id), *self.seen(id), self.trace(id)

    def record(self, execution_id: str) -> bytes:
        return self.base + b"record:" + execution_id.encode()

    def timers(self, execution_id: str) -> bytes:
        return self.base + b"timers:" + execution_id.encode()

    def seen(self, execution_id: str) -> tuple[bytes, bytes]:
        """Processed ids, and these in the order of their numbers."""
        id = execution_id.encode()
        return self.base + b"seen:" + id, self.base + b"numbers:" + id

    def trace(self, execution_id: str) -> bytes:
        return self.base + b"trace:" + execution_id.encode()


class Keys:
    """The keys of a store with a prefix and a number of partitions."""

    def __init__(self, prefix: str, partitions: int) -> None:
        self.prefix = checked_prefix(prefix)
        if isinstance(partitions, bool) or not isinstance(partitions, int) or not 1 <= partitions <= SLOTS:
            raise ValueError(f"partitions is {partitions!r}; it is a whole number from 1 to {SLOTS}")
        common = f"{prefix}:{{{prefix}}}:".encode()
        self.meta = common + b"meta"
        self.digests = common + b"digests"
        self.documents = common + b"documents"
        self.partitions = tuple(
            Partition.named(number, f"{prefix}:{{{tag}}}:".encode())
            for number, tag in enumerate(_tags(prefix, partitions))
        )

    def partition(self, execution_id: str) -> Partition:
        """Where an execution lives."""
        if len(self.partitions) == 1:
            return self.partitions[0]
        root_id = execution_id.partition("/")[0]
        return self.partitions[slot_of(root_id.encode()) % len(self.partitions)]

    def likely_first(self, entry_id: str) -> list[Partition]:
        """All partitions, that of the execution which the id of a message or batch begins with before the others."""
        first = self.partition(entry_id.rsplit(":", 2)[0])
        return [first, *(partition for partition in self.partitions if partition is not first)]

    def of_prefix(self, id_prefix: str) -> tuple[Partition, ...]:
        """The partitions where ids that begin like this may be."""
        return (self.partition(id_prefix),) if "/" in id_prefix else self.partitions


def _tags(prefix: str, partitions: int) -> Iterator[str]:
    """Hash tags whose slots lie evenly apart, so that the nodes of a cluster get equal shares."""
    for number in range(partitions):
        names = (f"{prefix}.{number}" + (f".{attempt}" if attempt else "") for attempt in count())
        yield next(name for name in names if slot_of(name.encode()) * partitions // SLOTS == number)
