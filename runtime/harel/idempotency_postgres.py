"""`PostgresIdempotency`: records of `harel.idempotency` in a Postgres table (runtime.md section 1).

One `INSERT … ON CONFLICT DO NOTHING` keeps a record; the first of two callers wins. It needs the extra `postgres` only
where it is given a URL.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from .errors import StoreUnavailable
from .extras import library
from .stores.names import checked_prefix
from .urls import shown

T = TypeVar("T")

UNDEFINED_TABLE = "42P01"
"""Postgres's code for a table that is not there."""


class PostgresConnection(Protocol):
    """What is asked of a connection; `psycopg.Connection` is one."""

    def execute(self, query: Any, params: Any = None) -> Any:
        """Run a statement; the cursor with its rows."""

    def transaction(self) -> AbstractContextManager[Any]:
        """A transaction, or a savepoint inside the one that is open."""


class PostgresPool(Protocol):
    """What is asked of a pool; `psycopg_pool.ConnectionPool` is one."""

    def connection(self) -> AbstractContextManager[Any]:
        """A connection on loan."""


class PostgresIdempotency:
    """Records in the table `{prefix}_idempotency`.

    Given a connection with a transaction open, a record is part of that transaction: it is kept if the caller commits,
    and a handler whose effect is a write through the same connection has no window at all.

    Args:
        connection: a `psycopg.Connection`, used by no one else at the same time, or a `psycopg_pool.ConnectionPool`, or
            a URL or connection string. A connection to a URL is opened when first needed, again after it broke and
            after a fork.
        prefix: names the table, `[a-z][a-z0-9_]{0,29}`.
        create_schema: create the table where it is missing, when first needed; `schema_sql` has the statement.

    Raises:
        ModuleNotFoundError: a URL is given and the library is not installed; says the pip line.
        ValueError: the prefix cannot name a table.
    """

    def __init__(
        self, connection: PostgresConnection | PostgresPool | str, *, prefix: str = "harel", create_schema: bool = True
    ) -> None:
        self._table = f"{checked_prefix(prefix)}_idempotency"
        self._create_schema = create_schema
        self._connection = _source(connection)

    @property
    def schema_sql(self) -> str:
        """The statement that creates the table."""
        return (
            f"CREATE TABLE IF NOT EXISTS {self._table} "
            "(key text PRIMARY KEY, record text NOT NULL, kept_at timestamptz NOT NULL DEFAULT now())"
        )

    def get(self, key: str) -> str | None:
        """See `IdempotencyBackend.get`."""
        return self._in_transaction(lambda connection: self._read(connection, key))

    def put(self, key: str, record: str) -> str:
        """See `IdempotencyBackend.put`."""

        def keep(connection: PostgresConnection) -> str:
            insert = f"INSERT INTO {self._table} (key, record) VALUES (%s, %s) ON CONFLICT (key) DO NOTHING"
            if connection.execute(insert, (key, record)).rowcount == 1:
                return record
            return self._read(connection, key) or record

        return self._in_transaction(keep)

    def forget(self, older_than: float) -> int:
        """Delete the records kept longer than so many seconds; their number. Nothing else ever deletes any."""

        def delete(connection: PostgresConnection) -> int:
            statement = f"DELETE FROM {self._table} WHERE kept_at < now() - make_interval(secs => %s)"
            count: int = connection.execute(statement, (older_than,)).rowcount
            return count

        return self._in_transaction(delete)

    def close(self) -> None:
        """Close the connection if it is this object's own; it is opened again when needed."""
        if isinstance(self._connection, _Reconnecting):
            self._connection.close()

    def _read(self, connection: PostgresConnection, key: str) -> str | None:
        rows = connection.execute(f"SELECT record FROM {self._table} WHERE key = %s", (key,)).fetchall()
        return rows[0][0] if rows else None

    def _in_transaction(self, work: Callable[[PostgresConnection], T]) -> T:
        try:
            return self._attempt(work)
        except Exception as error:
            if not self._create_schema or getattr(error, "sqlstate", None) != UNDEFINED_TABLE:
                raise
        self._attempt(self._create_table)
        return self._attempt(work)

    def _attempt(self, work: Callable[[PostgresConnection], T]) -> T:
        with self._connection() as connection, connection.transaction():
            return work(connection)

    def _create_table(self, connection: PostgresConnection) -> None:
        # Two processes that create one table at once collide in the catalogue; the lock lets them queue up.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self._table,))
        connection.execute(self.schema_sql)


Source = Callable[[], AbstractContextManager[Any]]


def _source(connection: PostgresConnection | PostgresPool | str) -> Source:
    """How to get a connection that nobody else uses meanwhile."""
    if isinstance(connection, str):
        return _Reconnecting(connection)
    lend = getattr(connection, "connection", None)
    if callable(lend):
        source: Source = lend
        return source
    return _Shared(connection)


class _Shared:
    """The caller's one connection, for one thread at a time."""

    def __init__(self, connection: Any) -> None:
        self._given = connection
        self._lock = threading.RLock()

    @contextmanager
    def __call__(self) -> Iterator[Any]:
        with self._lock:
            yield self._given


class _Reconnecting:
    """A connection of its own to a URL, for one thread at a time."""

    def __init__(self, url: str) -> None:
        self._psycopg = library("psycopg")
        self._url = url
        self._lock = threading.RLock()
        self._opened: Any = None
        self._process = 0

    @contextmanager
    def __call__(self) -> Iterator[Any]:
        with self._lock:
            if self._opened is None or self._opened.closed or self._process != os.getpid():
                self._opened, self._process = self._connect(), os.getpid()
            yield self._opened

    def close(self) -> None:
        with self._lock:
            if self._opened is not None and self._process == os.getpid():
                self._opened.close()
            self._opened = None

    def _connect(self) -> Any:
        """A new connection. Raises `StoreUnavailable` without the password."""
        try:
            return self._psycopg.connect(self._url, autocommit=True)
        except self._psycopg.OperationalError as error:
            why = " ".join(str(error).split())
        except self._psycopg.Error:  # its text may quote the URL, with the password
            why = "this is no Postgres URL or connection string"
        raise StoreUnavailable(f"the idempotency records at {shown(self._url)} cannot be reached: {why}")
