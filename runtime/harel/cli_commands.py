"""What the operator's commands do to executions: suspend, resume, cancel, terminate, redrive, purge (runtime.md
section 3).

Each finds all its executions first, asks where it destroys, and then says of each what came of it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from .aio import AsyncDurableRunner
from .archive import JsonlArchive
from .cli_console import FINDINGS, FINE, Refusal, complain, confirm, print_json, print_table
from .cli_ids import find, find_all
from .cli_reading import HEADS, as_data, as_row
from .cli_runner import Operator
from .environment import Settings
from .errors import DefinitionNotLoaded, ExecutionNotFound, StoreConflict
from .execution import Execution, Status
from .purging import FINISHED, PurgeReport, purge_finished, purge_named
from .values import escape_text


def suspend(settings: Settings, ids: Sequence[str], *, as_json: bool) -> int:
    """Let executions rest."""
    store = settings.open_store()
    chosen = find_all(store, ids)
    return _each(Operator(store, settings), chosen, lambda runner, id: runner.suspend(id), as_json=as_json)


def resume(settings: Settings, ids: Sequence[str], *, as_json: bool) -> int:
    """Let suspended executions go on."""
    store = settings.open_store()
    chosen = find_all(store, ids)
    return _each(Operator(store, settings), chosen, lambda runner, id: runner.resume(id), as_json=as_json)


def cancel(settings: Settings, ids: Sequence[str], reason: str | None, *, yes: bool, as_json: bool) -> int:
    """End executions by their `on Cancel`, or where they stand."""
    store = settings.open_store()
    chosen = find_all(store, ids)
    confirm(f"Cancel {_named(chosen)}?", yes=yes)
    operator = Operator(store, settings)
    for execution in chosen:
        if not execution.status.ended and not operator.knows(execution):
            complain(
                f"{execution.id}: machine {execution.definition_id} version {execution.definition_version} is neither "
                "loaded here nor published, so the execution is ended where it stands, without its `on Cancel`"
            )
    return _each(operator, chosen, lambda runner, id: runner.cancel(id, reason), as_json=as_json)


def terminate(settings: Settings, ids: Sequence[str], *, yes: bool, as_json: bool) -> int:
    """End executions where they stand."""
    store = settings.open_store()
    chosen = find_all(store, ids)
    confirm(f"Terminate {_named(chosen)}? None of the machine's handlers will run.", yes=yes)
    return _each(Operator(store, settings), chosen, lambda runner, id: runner.terminate(id), as_json=as_json)


def redrive(settings: Settings, id: str, path: str, *, as_json: bool) -> int:
    """Put a dead letter back on a leaf."""
    store = settings.open_store()
    execution = find(store, id)
    operator = Operator(store, settings)
    try:
        waits = operator.give(lambda runner: runner.redrive(execution.id, path))
    except DefinitionNotLoaded as error:
        raise Refusal(f"{error}; set HAREL_DEFINITIONS, or publish it") from error
    after = store.load(execution.id)
    if waits and after.version == execution.version:
        raise Refusal(
            f"{execution.id}: going on from {path} runs {waits}, which is not to be had here; nothing was changed. "
            "Set HAREL_DEFINITIONS or HAREL_ACTION_MODULES as the workers have it"
        )
    _say_what_waits(after, waits)
    _print_executions([after], as_json=as_json)
    return FINE


@dataclass(frozen=True, slots=True)
class Purge:
    """What to purge: the roots `ids`, or those that ended `older_than` seconds ago or earlier."""

    ids: tuple[str, ...]
    older_than: float | None
    statuses: tuple[Status, ...]
    archive: str | None
    limit: int | None
    dry_run: bool


def purge(settings: Settings, asked: Purge, *, yes: bool, as_json: bool) -> int:
    """Delete finished trees; 1 where one that was named is kept."""
    store = settings.open_store()
    archive = JsonlArchive(asked.archive) if asked.archive else None
    ids = [execution.id for execution in find_all(store, asked.ids)]

    def purged(dry_run: bool) -> PurgeReport:
        if asked.older_than is None:
            return purge_named(store, ids, archive=archive, dry_run=dry_run)
        return purge_finished(
            store, older_than=asked.older_than, statuses=asked.statuses or FINISHED, archive=archive,
            limit=asked.limit, dry_run=dry_run,
        )  # fmt: skip

    report = purged(True)
    if report.purged and not asked.dry_run:
        trees = "1 execution" if len(report.purged) == 1 else f"{len(report.purged)} executions"
        confirm(f"Delete {trees} for good, {report.executions} records with all below?", yes=yes)
        report = purged(False)
    _print_report(report, dry_run=asked.dry_run, as_json=as_json)
    return FINDINGS if ids and report.kept else FINE


def _print_report(report: PurgeReport, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        kept = [{"id": left.id, "reason": left.reason} for left in report.kept]
        counts = {"executions": report.executions, "kept": kept, "dry_run": dry_run}
        print_json({"purged": list(report.purged), **counts})
        return
    for id in report.purged:
        print(f"{'would purge' if dry_run else 'purged'} {escape_text(id)}")
    for left in report.kept:
        print(f"kept {escape_text(left.id)}: {escape_text(left.reason)}")
    if not report.purged and not report.kept:
        print("nothing to purge")


Ask = Callable[[AsyncDurableRunner, str], Coroutine[Any, Any, Execution]]
"""Gives a runner's command to the execution with an id."""


def _each(operator: Operator, chosen: Sequence[Execution], ask: Ask, *, as_json: bool) -> int:
    """Give a command to one execution after the other and show what came of it; 1 where one did not take it."""
    done: list[Execution] = []
    status = FINE
    for execution in chosen:
        try:
            waits = _ask_one(operator, execution.id, ask)
            after = operator.store.load(execution.id)
        except (StoreConflict, ExecutionNotFound, DefinitionNotLoaded) as error:
            complain(str(error))
            status = FINDINGS
            continue
        if after.version == execution.version:
            complain(f"{after.id} is {after.status.name}: there was nothing to do")
        _say_what_waits(after, waits)
        done.append(after)
    _print_executions(done, as_json=as_json)
    return status


def _ask_one(operator: Operator, id: str, ask: Ask) -> str | None:
    return operator.give(lambda runner: ask(runner, id))


def _say_what_waits(execution: Execution, handler: str | None) -> None:
    if handler:
        complain(f"{execution.id}: what follows runs {handler}, which is not to be had here; a worker does it")


def _print_executions(executions: Sequence[Execution], *, as_json: bool) -> None:
    if as_json:
        print_json([as_data(execution) for execution in executions])
    elif executions:
        print_table(HEADS, [as_row(execution) for execution in executions])


def _named(executions: Sequence[Execution]) -> str:
    """The executions as a question names them."""
    if len(executions) > 1:
        return f"{len(executions)} executions ({', '.join(escape_text(execution.id) for execution in executions[:3])}…)"
    one = executions[0]
    place = f"{one.status.name} in {one.active_path}" if one.active_path else one.status.name
    return f"{escape_text(one.id)} ({one.definition_id}, {place})"
