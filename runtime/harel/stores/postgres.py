"""`PostgresStore`: a Postgres server, for any number of processes and machines (runtime.md section 5; edges.md).

Loading a step is one statement and committing it another. The statements are in `postgres_statements`, the functions
that they call in `postgres.sql`, the connections in `postgres_connections`; here every method of the protocol says
which statement it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harel.errors import (
    DefinitionConflict,
    ExecutionAlreadyExists,
    ExecutionNotFound,
    RecordTooLarge,
    StoreConflict,
    StoreUnavailable,
)
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
from .postgres_connections import Database, Joined, database_of
from .postgres_statements import Statements
from .protocol import (
    DEDUPE_LIMIT,
    DEDUPE_WINDOW,
    Effects,
    Loaded,
    Message,
    Page,
    SpawnBatch,
    Timer,
    TraceRow,
)

RECORD_LIMIT = 1_000_000_000
"""How many bytes a record may have: Postgres takes a statement of 1 GiB, and the effects are in it."""

KEY_LIMIT = 2_600
"""How many bytes the texts of one key may have: an entry of an index has to fit a third of a page."""

_BEFORE_ALL = (float("-inf"), 0, "", "")


class _PostgresMethods:
    """The methods of the protocol over any database; see `Store` for what they promise."""

    def __init__(self, database: Database, statements: Statements) -> None:
        self._database = database
        self._sql = statements

    # --- steps

    def load(self, execution_id: str) -> Execution:
        """See `Store.load`."""
        return self._execution(execution_id, self._found(execution_id, self._sql.load, (execution_id,))[0])

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        """See `Store.load_step`."""
        record, processed, backlog = self._found(execution_id, self._sql.load_step, (execution_id, event_id))
        return Loaded(self._execution(execution_id, record), processed, backlog)

    def create(self, execution: Execution, effects: Effects) -> None:
        """See `Store.create`."""
        identity = execution.id, execution.version, execution.status.value, execution.definition_id
        row = (*identity, execution.parent_id is None, _record(execution))
        if self._written(self._sql.create, row, execution, effects) == "taken":
            raise ExecutionAlreadyExists(execution.id)

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        """See `Store.commit`."""
        row = execution.id, expected_version, execution.version, execution.status.value, _record(execution)
        outcome = self._written(self._sql.commit, row, execution, effects)
        if outcome != "done":
            raise StoreConflict(execution.id, expected_version, "it is gone" if outcome == "gone" else None)

    def is_processed(self, execution_id: str, event_id: str) -> bool:
        """See `Store.is_processed`."""
        return bool(self._database.read(self._sql.is_processed, (execution_id, event_id)))

    # --- outbox and spawns

    def pending_outbox(self, limit: int = 100, after: str | None = None) -> list[Message]:
        """See `Store.pending_outbox`."""
        return [read_message(text) for (text,) in self._database.read(self._sql.pending_outbox, (after, limit))]

    def ack_outbox(self, message_id: str) -> None:
        """See `Store.ack_outbox`."""
        self._database.write(self._sql.ack_outbox, (message_id,))

    def pending_spawns(self, limit: int = 100, after: str | None = None) -> list[SpawnBatch]:
        """See `Store.pending_spawns`."""
        return [read_batch(text) for (text,) in self._database.read(self._sql.pending_spawns, (after, limit))]

    def ack_spawn(self, batch_id: str) -> None:
        """See `Store.ack_spawn`."""
        self._database.write(self._sql.ack_spawn, (batch_id,))

    # --- timers

    def due_timers(self, now: float, limit: int = 100, after: tuple[float, int, str, str] | None = None) -> list[Timer]:
        """See `Store.due_timers`."""
        rows = self._database.read(self._sql.due_timers, (float(now), *(after or _BEFORE_ALL), limit))
        return [Timer(*row) for row in rows]

    def timers(self, execution_id: str) -> list[Timer]:
        """See `Store.timers`."""
        return [Timer(*row) for row in self._database.read(self._sql.timers, (execution_id,))]

    # --- reading

    def read_trace(self, execution_id: str) -> list[TraceRow]:
        """See `Store.read_trace`."""
        return [read_trace_row(text) for (text,) in self._database.read(self._sql.read_trace, (execution_id,))]

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
        rows = self._database.read(statement, (cursor or "", *filters, limit + 1))
        items = tuple(Execution.from_json(record) for (record,) in rows[:limit])
        return Page(items, items[-1].id if items and len(rows) > limit else None)

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """See `Store.ids_with_prefix`."""
        end = end_of_prefix(prefix)
        if end is None:
            return [id for (id,) in self._database.read(self._sql.ids_from, (prefix,))]
        return [id for (id,) in self._database.read(self._sql.ids_between, (prefix, end))]

    # --- the rest

    def purge(self, execution_ids: Sequence[str]) -> None:
        """See `Store.purge`."""
        self._database.write(self._sql.purge, (list(execution_ids),))

    def publish_definition(self, id: str, version: int, digest: str, document: str) -> None:
        """See `Store.publish_definition`."""
        published = self._database.write(self._sql.publish, (id, version, digest, document))
        if not published:
            published = self._database.read(self._sql.digest, (id, version))
        if published[0][0] != digest:
            raise DefinitionConflict(id, version, published[0][0], digest)

    def load_definition(self, id: str, version: int) -> str | None:
        """See `Store.load_definition`."""
        rows = self._database.read(self._sql.load_definition, (id, version))
        return rows[0][0] if rows else None

    def list_definitions(self) -> list[tuple[str, int, str]]:
        """See `Store.list_definitions`."""
        return [(id, version, digest) for id, version, digest in self._database.read(self._sql.list_definitions)]

    def close(self) -> None:
        """See `Store.close`. A pool or connection that was given is the caller's."""
        self._database.close()

    # --- records

    def _found(self, execution_id: str, statement: str, parameters: tuple[object, ...]) -> tuple[Any, ...]:
        try:
            rows = self._database.read(statement, parameters)
        except UnicodeEncodeError:
            rows = []  # an id with a lone surrogate: Postgres cannot hold it
        if not rows or rows[0][0] is None:
            raise ExecutionNotFound(execution_id)
        return rows[0]

    def _execution(self, execution_id: str, record: str) -> Execution:
        execution = Execution.from_json(record)
        if execution.id != execution_id:
            self._database.drop()
            place = self._database.place
            raise StoreUnavailable(
                f"Postgres store {place} answered {execution.id!r} to a question for {execution_id!r}"
            )
        return execution

    def _written(self, statement: str, row: tuple[object, ...], execution: Execution, effects: Effects) -> str:
        """Write a record and its effects in one statement; what became of the record."""
        _check_keys(execution, effects)
        outcome: str = self._database.write(statement, (*row, *_effect_parameters(execution, effects)))[0][0]
        return outcome


class PostgresStore(_PostgresMethods):
    """A store in a Postgres database, for any number of processes and machines.

    Args:
        connection: a URL (`postgresql://app@db/shop`) or connection string, a `psycopg_pool.ConnectionPool`, or a
            `psycopg.Connection` that nobody else uses at the same time. Connections to a URL are opened when they are
            needed, one for each thread that is in a call, again after the server restarted, and after a fork.
        prefix: names every table and function, `[a-z][a-z0-9_]{0,29}`; several prefixes may share a database.
        create_schema: create tables and functions where they are missing; otherwise that is an error.

    Raises:
        ModuleNotFoundError: the library is not installed; says the pip line.
        TypeError: the connection is none of these.
        ValueError: an argument cannot be used. The server is reached when it is first needed; what is wrong with it
            is a `StoreUnavailable` or a `StoreFormatError` of the method that needs it.
    """

    def __init__(self, connection: Any, *, prefix: str = "harel", create_schema: bool = True) -> None:
        statements = Statements(prefix)
        super().__init__(database_of(connection, statements, create_schema), statements)
        self.prefix = prefix

    def __repr__(self) -> str:
        return f"PostgresStore({self._database.place!r}, prefix={self.prefix!r})"

    def joined(self, connection: Any) -> JoinedPostgresStore:
        """This store inside the caller's transaction in the same database (edges.md, Races).

        Raises:
            TypeError: the connection is no `psycopg.Connection`.
            ValueError: it commits each statement by itself and has no transaction open.
            StoreFormatError: its database has not got this store's tables.
        """
        return JoinedPostgresStore(connection, self._sql)


class JoinedPostgresStore(_PostgresMethods):
    """A store whose writes are part of the caller's transaction: the caller commits them or rolls them back."""

    def __init__(self, connection: Any, statements: Statements) -> None:
        super().__init__(Joined(connection, statements), statements)


# --- what a step writes


def _record(execution: Execution) -> str:
    record = execution_text(execution)
    check_size(execution, record, RECORD_LIMIT, "Postgres")
    return record


def _effect_parameters(execution: Execution, effects: Effects) -> tuple[object, ...]:
    """The effects in the order in which `apply` takes them; nothing is `None`."""
    arms = {timer.path: timer for timer in effects.arms}.values()
    processed, trace = effects.processed, effects.trace
    last_number = oldest = None
    # A young execution cannot have ids that are too old or too many.
    if processed is not None:
        horizon = processed.at - DEDUPE_WINDOW
        if processed.number > DEDUPE_LIMIT or execution.created_at < horizon:
            last_number, oldest = processed.number - DEDUPE_LIMIT, float(horizon)
    return (
        list(effects.cancels) or None,
        [timer.path for timer in arms] or None,
        [float(timer.due) for timer in arms] or None,
        [-timer.depth for timer in arms] or None,
        [timer.arming for timer in arms] or None,
        effects.hold,
        effects.forget,
        None if processed is None else processed.event_id,
        None if processed is None else processed.number,
        None if processed is None else float(processed.at),
        last_number,
        oldest,
        [message.id for message in effects.emits] or None,
        [message.source for message in effects.emits] or None,
        [message.target for message in effects.emits] or None,
        [message_text(message) for message in effects.emits] or None,
        [batch.id for batch in effects.spawns] or None,
        [batch.parent_id for batch in effects.spawns] or None,
        [batch_text(batch) for batch in effects.spawns] or None,
        list(effects.acks) or None,
        list(effects.spawn_acks) or None,
        None if trace is None else trace_text(trace),
        effects.trace_limit,
    )


def _check_keys(execution: Execution, effects: Effects) -> None:
    """Refuse what no index of Postgres could hold, before it is sent. Raises `RecordTooLarge`."""
    keys = [execution.id + timer.path for timer in effects.arms]
    keys += [message.id for message in effects.emits]
    keys += [batch.id for batch in effects.spawns]
    keys.append(execution.id + ("" if effects.processed is None else effects.processed.event_id))
    for key in keys:
        if len(key) * 4 > KEY_LIMIT and len(key.encode()) > KEY_LIMIT:
            raise RecordTooLarge(
                f"execution {execution.id[:200]!r} writes a key of {len(key.encode())} bytes, Postgres takes "
                f"{KEY_LIMIT}: nest states less deeply, or give them shorter names; it begins with {key[:80]!r}"
            )
