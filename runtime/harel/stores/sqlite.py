"""`SqliteStore`: one file on a local disk, safe across threads and processes (runtime.md section 5; edges.md, SQLite).

A step is one SELECT and one transaction with one fsync. The statements are in `sqlite_statements`, the connections in
`sqlite_connections`; here every method of the protocol says which statements it runs.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from harel.errors import DefinitionConflict, ExecutionAlreadyExists, ExecutionNotFound, StoreConflict
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
from .sqlite_connections import Connections, FileConnections, MemoryConnection, Opening, check_tables, fetched, problem
from .sqlite_statements import Statements

T = TypeVar("T")

Rows = list[tuple[Any, ...]]

Write = tuple[str, Sequence[tuple[object, ...]]]
"""A statement and the parameters of each of its runs."""

RECORD_LIMIT = 1_000_000_000
"""How many bytes a value of SQLite has at most."""

_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")

_BEFORE_ALL = (float("-inf"), 0, "", "")


class _SqliteMethods:
    """The methods of the protocol over any connections; see `Store` for what they promise."""

    def __init__(self, connections: Connections, statements: Statements, path: str) -> None:
        self._connections = connections
        self._sql = statements
        self._path = path

    # --- steps

    def load(self, execution_id: str) -> Execution:
        """See `Store.load`."""
        return Execution.from_json(self._found(execution_id, self._sql.load, (execution_id,))[0])

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        """See `Store.load_step`."""
        record, processed, backlog = self._found(execution_id, self._sql.load_step, (execution_id, event_id))
        return Loaded(Execution.from_json(record), bool(processed), bool(backlog))

    def create(self, execution: Execution, effects: Effects) -> None:
        """See `Store.create`."""
        record = self._record(execution)
        identity = execution.id, execution.version, execution.status.value, execution.definition_id
        row = (*identity, execution.parent_id is None, record)
        writes = self._writes(execution, effects)

        def write(connection: sqlite3.Connection) -> None:
            try:
                connection.execute(self._sql.create, row)
            except sqlite3.IntegrityError:
                raise ExecutionAlreadyExists(execution.id) from None
            _run(connection, writes)

        self._write(write)

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        """See `Store.commit`."""
        row = execution.id, expected_version, execution.version, self._record(execution), execution.status.value
        writes = self._writes(execution, effects)

        def write(connection: sqlite3.Connection) -> None:
            if not any(connection.execute(sql, row).rowcount for sql in (self._sql.replace, self._sql.replace_status)):
                exists = fetched(connection, self._sql.load, (execution.id,))
                raise StoreConflict(execution.id, expected_version, None if exists else "it is gone")
            _run(connection, writes)

        self._write(write)

    def is_processed(self, execution_id: str, event_id: str) -> bool:
        """See `Store.is_processed`."""
        return bool(self._rows(self._sql.is_processed, (execution_id, event_id)))

    # --- outbox and spawns

    def pending_outbox(self, limit: int = 100, after: str | None = None) -> list[Message]:
        """See `Store.pending_outbox`."""
        return [read_message(text) for (text,) in self._rows(self._sql.pending_outbox, (after, limit))]

    def ack_outbox(self, message_id: str) -> None:
        """See `Store.ack_outbox`."""
        self._run([(self._sql.ack_outbox, [(message_id,)])])

    def pending_spawns(self, limit: int = 100, after: str | None = None) -> list[SpawnBatch]:
        """See `Store.pending_spawns`."""
        return [read_batch(text) for (text,) in self._rows(self._sql.pending_spawns, (after, limit))]

    def ack_spawn(self, batch_id: str) -> None:
        """See `Store.ack_spawn`."""
        self._run([(self._sql.ack_spawn, [(batch_id,)])])

    # --- timers

    def due_timers(self, now: float, limit: int = 100, after: tuple[float, int, str, str] | None = None) -> list[Timer]:
        """See `Store.due_timers`."""
        rows = self._rows(self._sql.due_timers, (now, *(after or _BEFORE_ALL), limit))
        return [Timer(*row) for row in rows]

    def timers(self, execution_id: str) -> list[Timer]:
        """See `Store.timers`."""
        return [Timer(*row) for row in self._rows(self._sql.timers, (execution_id,))]

    # --- reading

    def read_trace(self, execution_id: str) -> list[TraceRow]:
        """See `Store.read_trace`."""
        return [read_trace_row(text) for (text,) in self._rows(self._sql.read_trace, (execution_id,))]

    def list_executions(
        self,
        status: Status | None = None,
        definition_id: str | None = None,
        roots_only: bool = True,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """See `Store.list_executions`."""
        statement = self._sql.list_executions(
            status=status is not None, definition=definition_id is not None, roots=roots_only
        )
        filters = [value for value in (status and status.value, definition_id) if value is not None]
        rows = self._rows(statement, (cursor or "", *filters, limit + 1))
        items = tuple(Execution.from_json(record) for (record,) in rows[:limit])
        return Page(items, items[-1].id if items and len(rows) > limit else None)

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """See `Store.ids_with_prefix`."""
        end = end_of_prefix(prefix)
        if end is None:
            return [id for (id,) in self._rows(self._sql.ids_from, (prefix,))]
        return [id for (id,) in self._rows(self._sql.ids_between, (prefix, end))]

    # --- the rest

    def purge(self, execution_ids: Sequence[str]) -> None:
        """See `Store.purge`."""
        ids = json.dumps(list(execution_ids))
        self._run([(statement, [(ids,)]) for statement in self._sql.purge])

    def publish_definition(self, id: str, version: int, digest: str, document: str) -> None:
        """See `Store.publish_definition`."""
        published = self._rows(self._sql.digest, (id, version))
        if not published:
            self._run([(self._sql.publish, [(id, version, digest, document)])])
            published = self._rows(self._sql.digest, (id, version))
        if published[0][0] != digest:
            raise DefinitionConflict(id, version, published[0][0], digest)

    def load_definition(self, id: str, version: int) -> str | None:
        """See `Store.load_definition`."""
        rows = self._rows(self._sql.load_definition, (id, version))
        return rows[0][0] if rows else None

    def list_definitions(self) -> list[tuple[str, int, str]]:
        """See `Store.list_definitions`."""
        return [(id, version, digest) for id, version, digest in self._rows(self._sql.list_definitions, ())]

    def close(self) -> None:
        """See `Store.close`."""
        self._connections.close()

    # --- how statements are run

    def _found(self, execution_id: str, statement: str, parameters: tuple[object, ...]) -> tuple[Any, ...]:
        try:
            rows = self._rows(statement, parameters)
        except UnicodeEncodeError:
            rows = []  # an id with a lone surrogate: SQLite cannot hold it
        if not rows:
            raise ExecutionNotFound(execution_id)
        return rows[0]

    def _rows(self, statement: str, parameters: tuple[object, ...]) -> Rows:
        try:
            return self._connections.read(lambda connection: fetched(connection, statement, parameters))
        except sqlite3.DatabaseError as error:
            raise problem(error, self._path) from error

    def _run(self, writes: list[Write]) -> None:
        self._write(lambda connection: _run(connection, writes))

    def _write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        try:
            self._connections.write(work)
        except sqlite3.DatabaseError as error:
            raise problem(error, self._path) from error

    # --- what a step writes

    def _record(self, execution: Execution) -> str:
        record = execution_text(execution)
        check_size(execution, record, RECORD_LIMIT, "SQLite")
        return record

    def _writes(self, execution: Execution, effects: Effects) -> list[Write]:
        """Everything but the record, encoded, so that nothing fails in the middle."""
        sql, id = self._sql, execution.id
        writes: list[Write] = [
            (sql.cancel, [(id, path) for path in effects.cancels]),
            (sql.arm, [(id, timer.path, timer.due, -timer.depth, timer.arming) for timer in effects.arms]),
            (sql.hold, [] if effects.hold is None else [(id, effects.hold)]),
            (sql.forget, [] if effects.forget is None else [(id, effects.forget)]),
            *self._remembering(execution, effects.processed),
            (sql.emit, [(m.id, m.source, m.target, message_text(m)) for m in effects.emits]),
            (sql.spawn, [(batch.id, batch.parent_id, batch_text(batch)) for batch in effects.spawns]),
            (sql.ack_outbox, [(message_id,) for message_id in effects.acks]),
            (sql.ack_spawn, [(batch_id,) for batch_id in effects.spawn_acks]),
        ]
        if effects.trace is not None:
            writes.append((sql.append_trace, [(id, execution.version, trace_text(effects.trace))]))
            writes.append((sql.trim_trace, [(id, effects.trace_limit)]))
        return [(statement, rows) for statement, rows in writes if rows]

    def _remembering(self, execution: Execution, processed: Processed | None) -> list[Write]:
        if processed is None:
            return []
        id, oldest = execution.id, processed.at - DEDUPE_WINDOW
        writes: list[Write] = [(self._sql.remember, [(id, processed.event_id, processed.number, processed.at)])]
        # A young execution cannot have ids that are too old or too many.
        if processed.number > DEDUPE_LIMIT or execution.created_at < oldest:
            writes.append((self._sql.trim_processed, [(id, processed.number - DEDUPE_LIMIT, oldest)]))
        return writes


def _run(connection: sqlite3.Connection, writes: list[Write]) -> None:
    for statement, rows in writes:
        if len(rows) == 1:
            connection.execute(statement, rows[0])
        else:
            connection.executemany(statement, rows)


class SqliteStore(_SqliteMethods):
    """A store in an SQLite file, for any number of threads and processes of one machine; local disks only.

    Args:
        path: the file, never read as a URI; `":memory:"` is a database of this object alone.
        prefix: names every table, `[a-z][a-z0-9_]{0,29}`; several prefixes may share a file.
        create_schema: create the file and its tables where they are missing; otherwise that is an error.
        synchronous: `FULL` survives a power cut with every commit; `NORMAL` may lose the last ones, `OFF` the file.
        timeout: how long to wait for another connection's lock, in seconds.

    Raises:
        ValueError: an argument cannot be used. The file is opened when it is first needed; what is wrong with it
            is a `StoreUnavailable` or a `StoreFormatError` of the method that needs it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        prefix: str = "harel",
        create_schema: bool = True,
        synchronous: str = "FULL",
        timeout: float = 30.0,
    ) -> None:
        name = os.fspath(path)
        if not name or "\0" in name:
            raise ValueError(f"{name!r} is not the path of an SQLite file")
        if synchronous not in _SYNCHRONOUS:
            raise ValueError(f"synchronous is {synchronous!r}; it is one of {', '.join(_SYNCHRONOUS)}")
        statements = Statements(prefix)
        # Absolute, so that no `file:…` is taken for a URI and a later change of folder means nothing.
        file = name if name == ":memory:" else str(Path(name).absolute())
        opening = Opening(file, statements, create_schema, synchronous, timeout)
        connections = MemoryConnection(opening) if file == ":memory:" else FileConnections(opening)
        super().__init__(connections, statements, file)
        self.prefix = prefix

    def __repr__(self) -> str:
        return f"SqliteStore({self._path!r}, prefix={self.prefix!r})"

    def joined(self, connection: sqlite3.Connection) -> JoinedSqliteStore:
        """This store inside the caller's transaction on the same file (edges.md, Races).

        Raises:
            ValueError: the connection commits each statement by itself and has no transaction open.
            StoreFormatError: the connection's file has not got this store's tables.
        """
        return JoinedSqliteStore(connection, self._sql, self._path)


class JoinedSqliteStore(_SqliteMethods):
    """A store whose writes are part of the caller's transaction: the caller commits them or rolls them back."""

    def __init__(self, connection: sqlite3.Connection, statements: Statements, path: str) -> None:
        super().__init__(_CallersConnection(connection), statements, path)
        if connection.isolation_level is None and not connection.in_transaction:
            raise ValueError("the connection commits every statement by itself: execute BEGIN before the step")
        try:
            check_tables(connection, statements, path, create=False)
        except sqlite3.DatabaseError as error:
            raise problem(error, path) from error


class _CallersConnection:
    """The caller's connection. Each write is a savepoint, so that one that fails leaves the caller's own work alone."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Connections.read`."""
        self._begin()
        return work(self._connection)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Connections.write`."""
        self._begin()
        self._connection.execute("SAVEPOINT harel_step")
        try:
            result = work(self._connection)
        except BaseException:
            self._connection.execute("ROLLBACK TO harel_step")
            self._connection.execute("RELEASE harel_step")
            raise
        self._connection.execute("RELEASE harel_step")
        return result

    def close(self) -> None:
        """The connection is the caller's."""

    def _begin(self) -> None:
        """Open the transaction that Python opens before the caller's own first write; the caller ends it."""
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
