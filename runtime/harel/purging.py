"""Purging: deleting finished trees of executions, archived first (runtime.md section 3, edges.md, Meaning).

`purge_tree` is the job behind `purge`; `purge_finished` goes through a whole store. Neither needs a machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from .archive import Archive, as_archive
from .errors import ExecutionNotFound, PurgeRefused
from .execution import Execution, Status
from .jobs import Job, StoreCall, load
from .stores.protocol import Page, Store

T = TypeVar("T")

FINISHED = (Status.DONE, Status.CANCELLED)
"""The statuses of a root that may be purged; a `FAILED` one can still be redriven."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A root that was old enough and is kept all the same, and why, in one line."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What `purge_finished` did.

    Attributes:
        purged: the ids of the roots that were deleted with their trees; with `dry_run`, that would be.
        executions: how many executions these trees have altogether.
        kept: the roots whose tree has a live or `FAILED` member.
        dry_run: nothing was deleted.
    """

    purged: tuple[str, ...] = ()
    executions: int = 0
    kept: tuple[Kept, ...] = ()
    dry_run: bool = False


def purge_tree(execution_id: str, archive: Archive | None) -> Job[int]:
    """Delete a finished root with its whole tree, each execution archived first; how many executions that were.

    Raises:
        ExecutionNotFound: there is no such execution.
        PurgeRefused: it is no root, or a member of the tree has not ended; nothing was deleted.
    """
    tree = yield from finished_tree(execution_id)
    if archive is not None:
        for member in tree:
            archive(member)
    yield StoreCall("purge", ([member.id for member in reversed(tree)],))
    return len(tree)


def finished_tree(execution_id: str) -> Job[list[Execution]]:
    """A root and everything below it, all of it ended. Raises as `purge_tree`."""
    root = yield from load(execution_id)
    if root.parent_id is not None:
        raise PurgeRefused(f"execution {execution_id!r} belongs to {root.root_id!r}: purge that one")
    tree = [root]
    ids: list[str] = yield StoreCall("ids_with_prefix", (f"{execution_id}/",))
    for child_id in ids:
        try:
            tree.append((yield from load(child_id)))
        except ExecutionNotFound:
            continue
    live = [member for member in tree if not member.status.ended]
    if live:
        named = ", ".join(f"{member.id!r} is {member.status.name}" for member in live[:3])
        raise PurgeRefused(f"execution {execution_id!r} is not finished: {named}; end it first (cancel or terminate)")
    return tree


def purge_finished(
    store: Store,
    *,
    older_than: float,
    statuses: Iterable[Status | str] = FINISHED,
    archive: Any = None,
    limit: int | None = None,
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
) -> PurgeReport:
    """Delete the trees whose root ended more than `older_than` seconds ago.

    A tree with a live or `FAILED` member is left and reported. Each tree goes in one piece; stopping in the middle
    and calling again is safe.

    Args:
        older_than: seconds since the root's `finished_at`, 0 or more.
        statuses: of the roots, out of `DONE` and `CANCELLED`.
        archive: gets every execution before it is deleted: a `JsonlArchive`, or any function of an execution.
        limit: delete at most so many trees.
        dry_run: delete and archive nothing, and report what would be.
        clock: epoch seconds; that of the runners.

    Raises:
        ValueError: an argument cannot be used; nothing was deleted. What the archive raises ends the purge; the tree
            it was raised for is still there.
    """
    return _perform(store, purge_finished_job(clock(), older_than, statuses, as_archive(archive), limit, dry_run))


def purge_finished_job(
    now: float,
    older_than: float,
    statuses: Iterable[Status | str],
    archive: Archive | None,
    limit: int | None,
    dry_run: bool,
) -> Job[PurgeReport]:
    """`purge_finished` as a job, for any runner; `now` is epoch seconds."""
    wanted = _checked(older_than, statuses, limit)
    outcomes: list[Outcome] = []
    room = limit
    for status in wanted:
        cursor: str | None = None
        while room is None or room > 0:
            page: Page = yield StoreCall("list_executions", (status, None, True, 100, cursor))
            for root in page.items:
                if room == 0 or root.finished_at is None or root.finished_at > now - older_than:
                    continue
                outcome = yield from _try_to_purge(root.id, archive, dry_run)
                outcomes.append(outcome)
                room = room - 1 if room is not None and isinstance(outcome, _Purged) else room
            cursor = page.cursor
            if cursor is None:
                break
    return _report(outcomes, dry_run)


def purge_named(
    store: Store, execution_ids: Iterable[str], *, archive: Any = None, dry_run: bool = False
) -> PurgeReport:
    """Delete the trees of some roots, however long ago they ended; those that cannot be purged are left and reported.

    An id that is not there is passed over. Arguments and errors as of `purge_finished`.
    """
    write = as_archive(archive)
    return _report([_perform(store, _try_to_purge(id, write, dry_run)) for id in execution_ids], dry_run)


@dataclass(frozen=True, slots=True)
class _Purged:
    id: str
    executions: int


Outcome = _Purged | Kept | None
"""What became of a root; `None`: another process has purged it meanwhile."""


def _try_to_purge(execution_id: str, archive: Archive | None, dry_run: bool) -> Job[Outcome]:
    try:
        if dry_run:
            return _Purged(execution_id, len((yield from finished_tree(execution_id))))
        return _Purged(execution_id, (yield from purge_tree(execution_id, archive)))
    except ExecutionNotFound:
        return None
    except PurgeRefused as refused:
        return Kept(execution_id, str(refused))


def _report(outcomes: list[Outcome], dry_run: bool) -> PurgeReport:
    purged = [outcome for outcome in outcomes if isinstance(outcome, _Purged)]
    kept = tuple(outcome for outcome in outcomes if isinstance(outcome, Kept))
    return PurgeReport(tuple(one.id for one in purged), sum(one.executions for one in purged), kept, dry_run)


def _checked(older_than: float, statuses: Iterable[Status | str], limit: int | None) -> tuple[Status, ...]:
    names = [statuses] if isinstance(statuses, str) else list(statuses)
    wanted = tuple(status for status in FINISHED if status in names)
    if not wanted or any(name not in FINISHED for name in names):
        given = ", ".join(Status(name).name if name in list(Status) else repr(name) for name in names) or "none"
        raise ValueError(f"statuses are {given}; only roots that are DONE or CANCELLED can be purged")
    if not older_than >= 0:
        raise ValueError(f"older_than is {older_than!r}; it is a number of seconds, 0 or more")
    if limit is not None and limit < 1:
        raise ValueError(f"limit is {limit!r}; it is a whole number, at least 1")
    return wanted


def _perform(store: Store, job: Job[T]) -> T:
    """Do a job that calls nothing but the store."""
    result: Any = None
    error: Exception | None = None
    while True:
        try:
            request = job.send(result) if error is None else job.throw(error)
        except StopIteration as done:
            value: T = done.value
            return value
        assert isinstance(request, StoreCall)
        result, error = None, None
        try:
            result = getattr(store, request.method)(*request.args)
        except Exception as raised:
            error = raised
