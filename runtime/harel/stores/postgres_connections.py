"""Connections to Postgres: opening, lending, checking, trying again, and what the server's errors mean.

It knows nothing of executions. No setting and no lock outlives a statement on the server, and statements are prepared
only where no pooler stands between, so that one in transaction mode may. Edges: edges.md, "Postgres" and "Races and
interruptions".
"""

from __future__ import annotations

import os
import random
import select
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from harel.errors import StoreFormatError, StoreUnavailable
from harel.extras import library
from harel.schema import sql_schema
from harel.urls import scheme_of, shown
from harel.version import VERSION

from .postgres_statements import Statements

Rows = list[tuple[Any, ...]]

FORMAT = "1"
"""The format of the tables that this release reads and writes."""

_IDLE = 16
"""How many idle connections one process keeps at most."""

_CONNECT_TIMEOUT = 10
"""How long a server may take to answer, in seconds, unless the URL has `connect_timeout`."""

_PAUSES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""How long to wait at most, in seconds, before a statement that could not be serialized is tried again."""

_NOT_SERIALIZED = ("40001", "40P01")
_NO_TABLE, _NO_FUNCTION = "42P01", "42883"
_NOT_ALLOWED, _READ_ONLY = "42501", "25006"
_LOCKED, _CANCELLED = "55P03", "57014"
_FAILED_TRANSACTION = "25P02"

_FORM = "postgresql://[user:password@]host:port/database, with special characters of the password percent-encoded"


class ConnectionLost(StoreUnavailable):
    """The connection broke, so that nobody knows what became of the statement; another connection may do."""


class Database(Protocol):
    """Runs single statements, each atomic. Raises `StoreUnavailable` and `StoreFormatError`."""

    place: str
    """Where it is, as errors name it."""

    def read(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """The rows of a statement that changes nothing."""

    def write(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """The rows of a statement that changes something."""

    def drop(self) -> None:
        """Give up connections that answer nonsense."""

    def close(self) -> None:
        """Close what was opened here and is not in use."""


def database_of(connection: Any, statements: Statements, create: bool) -> Database:
    """The database behind a URL, or behind a pool or a connection of the caller's.

    Raises:
        ModuleNotFoundError: a URL is given and the library is not installed; says the pip line.
        TypeError: it is none of these, or asynchronous.
        ValueError: the text is no URL and no connection string of Postgres.
    """
    if isinstance(connection, str):
        return Sessions(_Own(connection), statements, create)
    psycopg = library("psycopg")
    if isinstance(connection, psycopg.Connection):
        return Sessions(_Given(connection), statements, create)
    kind = type(connection).__name__
    if kind.startswith("Async") or not callable(getattr(connection, "connection", None)):
        raise TypeError(
            f"PostgresStore takes a URL, a psycopg.Connection or a psycopg_pool.ConnectionPool, not {kind}; "
            "under an async runner, too, for it calls stores in threads"
        )
    return Sessions(_Pooled(connection), statements, create)


# --- where connections come from


class Source(Protocol):
    """Lends connections on which every statement is a transaction of its own."""

    place: str

    def lend(self) -> AbstractContextManager[Any]:
        """A connection that nobody else uses meanwhile; one in doubt is thrown away afterwards."""

    def renew(self) -> None:
        """Get rid of connections that have broken."""

    def close(self) -> None:
        """Close what was opened here and is not in use."""


@dataclass(slots=True)
class _Process:
    """The idle connections of one process."""

    pid: int = field(default_factory=os.getpid)
    idle: deque[Any] = field(default_factory=deque)

    def close(self) -> None:
        """Close them, but never those of another process: the server's end of these would close as well."""
        if self.pid == os.getpid():
            with suppress(IndexError):
                while True:
                    self.idle.pop().close()


class _Own:
    """Connections to a URL, opened when they are needed; made anew in a process that was forked."""

    def __init__(self, url: str) -> None:
        self._psycopg = library("psycopg")
        self._parameters = _parsed(url, self._psycopg)
        self.place = f"at {shown(url)}"
        self._inherited: list[_Process] = []
        self._process = self._new_process()

    @contextmanager
    def lend(self) -> Iterator[Any]:
        """See `Source.lend`."""
        process = self._here()
        connection = self._take(process)
        try:
            yield connection
        except BaseException as error:
            if isinstance(error, Exception) and _is_idle(connection):
                process.idle.append(connection)
            else:
                connection.close()
            raise
        if len(process.idle) < _IDLE:
            process.idle.append(connection)
        else:
            connection.close()

    def renew(self) -> None:
        """See `Source.renew`."""
        self.close()

    def close(self) -> None:
        """See `Source.close`."""
        self._here().close()

    def _here(self) -> _Process:
        if self._process.pid != os.getpid():
            self._inherited.append(self._process)
            self._process = self._new_process()
        return self._process

    def _new_process(self) -> _Process:
        process = _Process()
        weakref.finalize(self, process.close)
        return process

    def _take(self, process: _Process) -> Any:
        while True:
            try:
                connection = process.idle.pop()
            except IndexError:
                return self._connect()
            if _is_quiet(connection):
                return connection
            connection.close()

    def _connect(self) -> Any:
        try:
            return self._psycopg.connect(**self._parameters, autocommit=True)
        except self._psycopg.Error as error:
            reason = _one_line(str(error))
        # Without the cause: its frames hold the password.
        raise StoreUnavailable(f"Postgres store {self.place} cannot be reached: {reason}")


def _parsed(url: str, psycopg: Any) -> dict[str, Any]:
    """The parameters of a connection. Raises `ValueError` without the password."""
    problem = ValueError(f"{shown(url)} is no Postgres URL; write {_FORM}")
    if scheme_of(url) not in ("", "postgresql", "postgres"):
        raise problem
    try:
        parameters: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise problem from None
    # A character of the password that nobody escaped moves the rest of it to where errors would show it.
    ports = str(parameters.get("port", "")).split(",")
    named_user = "user" in parameters or not scheme_of(url) or "@" not in url.partition("?")[0]
    if not named_user or "@" in str(parameters.get("host", "")) or not all(p == "" or p.isdigit() for p in ports):
        raise problem
    defaults = {"connect_timeout": _CONNECT_TIMEOUT, "fallback_application_name": "harel"}
    return {**defaults, **parameters, "client_encoding": "UTF8"}


class _Pooled:
    """The caller's pool."""

    place = "of the given pool"

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    @contextmanager
    def lend(self) -> Iterator[Any]:
        """See `Source.lend`."""
        with self._pool.connection() as connection, _committing_by_itself(connection):
            yield connection

    def renew(self) -> None:
        """See `Source.renew`."""
        check = getattr(self._pool, "check", None)
        if check is not None:
            check()

    def close(self) -> None:
        """The pool is the caller's."""


class _Given:
    """The caller's one connection, lent to one thread at a time."""

    place = "of the given connection"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._lock = threading.RLock()

    @contextmanager
    def lend(self) -> Iterator[Any]:
        """See `Source.lend`. Raises `ValueError` where the caller has a transaction open on it."""
        with self._lock:
            if not self._connection.closed and not _is_idle(self._connection):
                raise ValueError(
                    "the connection that PostgresStore was given has a transaction open: end it before the call, or "
                    "give the store a URL or a pool and the step this connection, by process(…, connection=…)"
                )
            with _committing_by_itself(self._connection):
                yield self._connection

    def renew(self) -> None:
        """See `Source.renew`: a connection of the caller's cannot be replaced."""

    def close(self) -> None:
        """The connection is the caller's."""


@contextmanager
def _committing_by_itself(connection: Any) -> Iterator[None]:
    """Spare the statement its BEGIN and COMMIT; how the connection does it otherwise is the client's affair only."""
    if connection.autocommit or connection.closed:
        yield
        return
    connection.autocommit = True
    try:
        yield
    finally:
        if _is_idle(connection):
            connection.autocommit = False


def _is_idle(connection: Any) -> bool:
    """Whether it is alive, as far as the client knows, with neither a transaction nor a statement open."""
    status: str = connection.info.transaction_status.name
    return status == "IDLE"


def _is_quiet(connection: Any) -> bool:
    """Whether the server has said nothing since; what it says to an idle connection is that it hangs up."""
    if connection.closed:
        return False
    if not hasattr(select, "poll"):  # Windows, where this has no limit
        return not select.select([connection.fileno()], [], [], 0)[0]
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


# --- running statements


class Sessions:
    """A database over a source of connections. Each statement is one round trip and one transaction."""

    def __init__(self, source: Source, statements: Statements, create: bool) -> None:
        self.place = source.place
        self._source = source
        self._sql = statements
        self._create = create
        self._error: type[Exception] = library("psycopg").Error
        self._is_checked = False
        self._checking = threading.RLock()
        self._is_direct: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def read(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """See `Database.read`; a connection that broke is replaced once."""
        try:
            return self.write(statement, parameters)
        except ConnectionLost:
            self._source.renew()
        return self.write(statement, parameters)

    def write(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """See `Database.write`; what could not be serialized is tried again."""
        if not self._is_checked:
            with self._checking:
                if not self._is_checked:
                    self._patiently(self._check)
                    self._is_checked = True
        return self._patiently(lambda connection: self._fetched(connection, statement, parameters))

    def drop(self) -> None:
        """See `Database.drop`."""
        self._source.renew()

    def close(self) -> None:
        """See `Database.close`."""
        self._source.close()

    def _patiently(self, work: Callable[[Any], Rows]) -> Rows:
        for pause in (*_PAUSES, None):
            try:
                with self._source.lend() as connection:
                    return work(connection)
            except self._error as error:
                if pause is None or getattr(error, "sqlstate", None) not in _NOT_SERIALIZED:
                    raise problem(error, self.place, self._sql.prefix) from error
                time.sleep(pause * random.random())
        raise AssertionError("the last attempt returns or raises")

    def _fetched(self, connection: Any, statement: str, parameters: Sequence[object]) -> Rows:
        is_direct = self._is_direct.get(connection)
        if is_direct is None:
            # A pooler gives every client a process number of its own making.
            [[pid]] = fetched(connection, "SELECT pg_backend_pid()")
            is_direct = self._is_direct[connection] = pid == connection.info.backend_pid
        return fetched(connection, statement, parameters, prepare=None if is_direct else False)

    def _check(self, connection: Any) -> Rows:
        """See that the database can hold the store and that the tables are there; make them if that is allowed."""
        check_encoding(connection, self.place)
        meta = self._meta(connection)
        if "format" not in meta and self._create:
            self._make(connection)
            meta = self._meta(connection)
        if "format" not in meta:
            raise StoreFormatError(_missing(self.place, self._sql.prefix))
        if meta["format"] != FORMAT:
            raise StoreFormatError(
                f"Postgres store {self.place} has tables of format {meta['format']}, and harel-runtime {VERSION} reads "
                f"format {FORMAT}: install harel-runtime {meta['release']} or newer"
            )
        return []

    def _meta(self, connection: Any) -> dict[str, str]:
        try:
            return dict(fetched(connection, self._sql.meta))
        except self._error as error:
            if getattr(error, "sqlstate", None) == _NO_TABLE:
                return {}
            raise

    def _make(self, connection: Any) -> None:
        """Run the schema, in one transaction, unless another process was quicker."""
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        try:
            # Two that create one table at once collide in the catalogue; here they queue up.
            fetched(connection, self._sql.lock)
            if not fetched(connection, self._sql.is_made)[0][0]:
                connection.execute(sql_schema("postgres", self._sql.prefix))
        except BaseException:
            with suppress(self._error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


class Joined:
    """A database seen from inside the caller's transaction, which the caller ends.

    Each write is a savepoint, so that one that fails leaves the caller's own work alone.

    Raises:
        TypeError: this is no `psycopg.Connection`.
        ValueError: it commits each statement by itself and has no transaction open.
        StoreFormatError: its database has not got the store's tables.
    """

    place = "of the given connection"

    def __init__(self, connection: Any, statements: Statements) -> None:
        psycopg = library("psycopg")
        if not isinstance(connection, psycopg.Connection):
            kind = type(connection).__name__
            raise TypeError(f"a step joins the transaction of a psycopg.Connection, not of {kind}")
        self._error: type[Exception] = psycopg.Error
        self._connection = connection
        self._prefix = statements.prefix
        if connection.autocommit and _is_idle(connection):
            raise ValueError(
                "the connection commits every statement by itself: open a transaction before the step, "
                "as with `with connection.transaction():`"
            )
        check_encoding(connection, self.place)
        if not self.read(statements.is_made)[0][0]:
            raise StoreFormatError(_missing(self.place, self._prefix))

    def read(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """See `Database.read`."""
        try:
            return fetched(self._connection, statement, parameters)
        except self._error as error:
            raise problem(error, self.place, self._prefix) from error

    def write(self, statement: str, parameters: Sequence[object] = ()) -> Rows:
        """See `Database.write`."""
        try:
            if _is_idle(self._connection):  # or else the block below would be a transaction, and commit
                fetched(self._connection, "SELECT 1")
            with self._connection.transaction():
                return fetched(self._connection, statement, parameters)
        except self._error as error:
            raise problem(error, self.place, self._prefix) from error

    def drop(self) -> None:
        """The connection is the caller's."""

    def close(self) -> None:
        """The connection is the caller's."""


def fetched(
    connection: Any, statement: str, parameters: Sequence[object] = (), *, prepare: bool | None = False
) -> Rows:
    """All rows of a statement as tuples, whatever cursors the connection makes: it may be the caller's.

    With `prepare=None` the connection's own threshold says when a statement is prepared.
    """
    psycopg = library("psycopg")
    cursor = psycopg.Cursor(connection, row_factory=psycopg.rows.tuple_row)
    rows: Rows = cursor.execute(statement, parameters, prepare=prepare).fetchall()
    return rows


def check_encoding(connection: Any, place: str) -> None:
    """Refuse a database that cannot hold every text, and a connection that cannot bring it. Asks nobody."""
    encodings = [connection.info.parameter_status(f"{side}_encoding") for side in ("server", "client")]
    for side, encoding in zip(("database", "connection"), encodings, strict=True):
        if encoding not in ("UTF8", "UNICODE", None):
            raise StoreFormatError(f"Postgres store {place}: the {side} has the encoding {encoding}; use one with UTF8")


def problem(error: Exception, place: str, prefix: str) -> Exception:
    """What an error of the client or the server means to the user, and what to do."""
    state = getattr(error, "sqlstate", None) or ""
    reason = _one_line(getattr(getattr(error, "diag", None), "message_primary", None) or str(error))
    store = f"Postgres store {place}"
    if state in (_NO_TABLE, _NO_FUNCTION):
        return StoreFormatError(f"{_missing(place, prefix)} ({reason})")
    if state in _NOT_SERIALIZED:
        return StoreUnavailable(f"{store} is contended: {reason}; roll back what is open and try again")
    if state in (_LOCKED, _CANCELLED):
        return StoreUnavailable(f"{store} is locked by another transaction for too long: {reason}; try again")
    if state == _FAILED_TRANSACTION:
        return StoreUnavailable(f"{store}: a statement before the step has failed; roll the transaction back")
    if state == _READ_ONLY:
        return StoreUnavailable(f"{store} cannot be written ({reason}); give the URL of the primary server")
    if state == _NOT_ALLOWED:
        return StoreUnavailable(
            f"{store}: {reason}; grant it, or have the tables of `harel.schema.sql_schema('postgres', {prefix!r})` "
            "created by a user who may"
        )
    if _is_of_a_lost_connection(error, state):
        return ConnectionLost(f"{store} cannot be reached: {reason}")
    return StoreUnavailable(f"{store} cannot be used: {reason}")


def _is_of_a_lost_connection(error: Exception, state: str) -> bool:
    """Class 08, a server that hangs up, or no answer of the server at all."""
    psycopg = library("psycopg")
    return state.startswith(("08", "57P")) or (not state and isinstance(error, psycopg.OperationalError))


def _missing(place: str, prefix: str) -> str:
    return (
        f"Postgres store {place} has no tables with the prefix {prefix!r}; "
        f"create them with `harel.schema.sql_schema('postgres', {prefix!r})` or with create_schema=True"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
