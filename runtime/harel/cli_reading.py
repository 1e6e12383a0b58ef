"""What the operator's command shows: `list`, `show` and `schema` (runtime.md sections 3 and 5). Nothing is changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .cli_console import FINE, complain, moment, print_fields, print_json, print_table
from .cli_ids import find
from .environment import Settings
from .execution import Execution, Status
from .schema import sql_schema
from .stores.protocol import Store, TraceRow
from .versions import definition_registry

HEADS = ("ID", "MACHINE", "VERSION", "STATUS", "PATH", "OUTCOME", "UPDATED")

_UNFINISHED = (Status.PENDING, Status.RUNNING, Status.SUSPENDED, Status.CANCELLING)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which executions to list: at most `limit`, those whose ids follow `after` first; `None` filters nothing."""

    status: Status | None
    machine: str | None
    children: bool
    needs_version: bool
    limit: int
    after: str | None


def list_executions(settings: Settings, wanted: Selection, *, as_json: bool) -> int:
    """List executions by id, a page at a time."""
    store = settings.open_store()
    found = list(islice(_selected(store, settings, wanted), wanted.limit + 1))
    shown = found[: wanted.limit]
    if as_json:
        print_json({"executions": [as_data(execution) for execution in shown], "next": _next(found, shown)})
    elif shown:
        print_table(HEADS, [as_row(execution) for execution in shown])
    else:
        complain("no execution is like that" if wanted != _everything(wanted) else "the store has no executions")
    if len(found) > len(shown) and not as_json:
        complain(f"there are more; the next page: --after {shown[-1].id}")
    return FINE


def _everything(wanted: Selection) -> Selection:
    return Selection(None, None, wanted.children, False, wanted.limit, None)


def _next(found: list[Execution], shown: list[Execution]) -> str | None:
    return shown[-1].id if len(found) > len(shown) else None


def _selected(store: Store, settings: Settings, wanted: Selection) -> Iterator[Execution]:
    known = _known_versions(store, settings) if wanted.needs_version else frozenset()
    cursor = wanted.after
    while True:
        limit = 500 if wanted.needs_version else min(wanted.limit + 1, 500)
        page = store.list_executions(wanted.status, wanted.machine, not wanted.children, limit, cursor)
        for execution in page.items:
            if not wanted.needs_version or (execution.status in _UNFINISHED and _version(execution) not in known):
                yield execution
        cursor = page.cursor
        if cursor is None:
            return


def _known_versions(store: Store, settings: Settings) -> frozenset[tuple[str, int]]:
    """The machine versions that are here or published."""
    here = definition_registry(settings.load_definitions())
    return frozenset((*here, *((id, version) for id, version, _ in store.list_definitions())))


def _version(execution: Execution) -> tuple[str, int]:
    """The machine and version that a process must have; an inline machine comes with the one it stands in."""
    return execution.definition_id.partition(":")[0], execution.definition_version


def show(settings: Settings, id: str, *, as_json: bool) -> int:
    """Show one execution: record, context, children, timers, deferred events, trace."""
    store = settings.open_store()
    execution = find(store, id)
    timers, trace = store.timers(execution.id), store.read_trace(execution.id)
    if as_json:
        print_json({
            **as_data(execution),
            "timers": [{"path": timer.path, "due": timer.due} for timer in timers],
            "trace": trace,
        })  # fmt: skip
        return FINE
    _print_record(execution)
    _print_section("children", ("KEY", "ID", "STATE", "OUTCOME"), _child_rows(execution))
    _print_section("timers", ("PATH", "DUE"), [(timer.path, moment(timer.due)) for timer in timers])
    deferred = [(event.kind, event.id, _text(event.data)) for event in execution.deferred]
    _print_section("deferred", ("EVENT", "ID", "DATA"), deferred)
    _print_section("trace", ("TIME", "EVENT", "FROM", "TO", "ACTIONS", "CHANGED"), [_trace_row(row) for row in trace])
    return FINE


def print_schema(dialect: str, prefix: str, *, as_json: bool) -> int:
    """Print the SQL that creates a store's tables."""
    sql = sql_schema(dialect, prefix)
    if as_json:
        print_json({"dialect": dialect, "prefix": prefix, "sql": sql})
    else:
        print(sql, end="")
    return FINE


def as_row(execution: Execution) -> tuple[object, ...]:
    """An execution as a row under `HEADS`."""
    return (
        execution.id, execution.definition_id, execution.definition_version, execution.status.name,
        execution.active_path, execution.outcome or "", moment(execution.updated_at),
    )  # fmt: skip


def as_data(execution: Execution) -> dict[str, Any]:
    """An execution as JSON data, with the names of runtime.md section 2; times in epoch seconds."""
    plain = ("id", "definition_id", "definition_version", "definition_digest")
    rest = ("active_path", "outcome", "error", "context", "history", "parent_id", "root_id", "key", "version")
    times = ("priority", "created_at", "updated_at", "finished_at", "expires_at")
    return {
        **{name: getattr(execution, name) for name in plain},
        "status": execution.status.name,
        **{name: getattr(execution, name) for name in rest},
        **{name: getattr(execution, name) for name in times},
        "deferred": [{"kind": event.kind, "data": event.data, "id": event.id} for event in execution.deferred],
        "children": {
            key: {"id": child.id, "state": child.state, "result": child.result}
            for key, child in execution.children.items()
        },
    }


def _print_record(execution: Execution) -> None:
    machine = f"{execution.definition_id} version {execution.definition_version}"
    fields: list[tuple[str, object]] = [
        ("id", execution.id),
        ("machine", machine),
        ("digest", execution.definition_digest),
        ("status", execution.status.name),
        ("path", execution.active_path),
        ("outcome", execution.outcome),
        ("error", execution.error),
        ("parent", execution.parent_id),
        ("key", execution.key),
        ("priority", execution.priority or None),
        ("steps", execution.version),
        ("created", moment(execution.created_at)),
        ("updated", moment(execution.updated_at)),
        ("finished", execution.finished_at and moment(execution.finished_at)),
        ("expires", execution.expires_at and moment(execution.expires_at)),
        ("history", _text(execution.history) if execution.history else None),
        ("context", _text(execution.context)),
    ]
    print_fields([(name, value) for name, value in fields if value is not None])


def _print_section(title: str, heads: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
    if rows:
        print(f"\n{title}")
        print_table(heads, rows)


def _child_rows(execution: Execution) -> list[tuple[object, ...]]:
    return [
        (key, child.id, child.state, (child.result or {}).get("outcome") or "")
        for key, child in execution.children.items()
    ]


def _trace_row(row: TraceRow) -> tuple[object, ...]:
    actions = ", ".join(row["actions"])
    return (moment(row["time"]), row["event"], row["path_from"], row["path_to"], actions, _text(row["context"]))


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
