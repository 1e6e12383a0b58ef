"""Connections to an SQLite file: opening, checking, sharing among threads, and what SQLite's errors mean.

It knows nothing of executions. Edges: edges.md, "SQLite" and "Races and interruptions".
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from harel.errors import StoreError, StoreFormatError, StoreUnavailable
from harel.schema import sql_schema
from harel.version import VERSION

from .sqlite_statements import Statements

log = logging.getLogger("harel")

T = TypeVar("T")

FORMAT = 1
"""The format of the tables that this release reads and writes."""

_IDLE = 16
"""How many idle connections one process keeps at most."""


def problem(error: sqlite3.DatabaseError, path: str) -> Exception:
    """What an error of SQLite means to the user, and what to do; one that comes of wrong use stays as it is."""
    if isinstance(error, sqlite3.ProgrammingError):
        return error
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    place = f"SQLite store {path!r}"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnavailable(f"{place} is locked by another connection for too long; try again")
    if code == sqlite3.SQLITE_NOTADB:
        return StoreFormatError(f"{place} is not an SQLite database; give the path of another file")
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreFormatError(f"{place} is damaged ({error}); restore it from a backup")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StoreUnavailable(f"{place} cannot be written ({error}); make the file and its folder writable")
    if code == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"{place}: the disk is full; free some space and try again")
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreUnavailable(f"{place} cannot be opened: {_why_not_opened(path)}")
    if str(error).startswith("no such table"):
        return StoreFormatError(f"{place} has not got its tables ({error}); create them with `harel.schema.sql_schema`")
    return StoreUnavailable(f"{place}: {error}")


def _why_not_opened(path: str) -> str:
    folder = Path(path).parent
    if not folder.is_dir():
        return f"the folder {str(folder)!r} does not exist; create it"
    if Path(path).is_dir():
        return "it is a folder; give the path of a file"
    return f"check the permissions of the file and of the folder {str(folder)!r}"


@dataclass(frozen=True, slots=True)
class Opening:
    """How connections to one file are opened; `timeout` is how long to wait for a lock, in seconds."""

    path: str
    statements: Statements
    create_schema: bool
    synchronous: str
    timeout: float

    def connect(self) -> sqlite3.Connection:
        """A checked connection, its tables in place. Raises `sqlite3.Error`, `StoreUnavailable`, `StoreFormatError`."""
        if not self.create_schema and self.path != ":memory:" and not Path(self.path).exists():
            raise StoreUnavailable(f"SQLite store {self.path!r} does not exist; only a worker or `publish` creates it")
        connection = sqlite3.connect(
            self.path, timeout=self.timeout, isolation_level=None, check_same_thread=False, uri=False
        )
        try:
            self._use_wal(connection)
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            check_tables(connection, self.statements, self.path, create=self.create_schema)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        if self.path == ":memory:" or connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]:
            return
        answer = self._patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall()[0][0])
        if answer != "wal":
            log.warning(
                "SQLite store %r: write-ahead logging was refused (journal mode %s); "
                "it needs a local disk, and on a network file system data can be lost",
                *(self.path, answer),
            )

    def _patiently(self, attempt: Callable[[], str]) -> str:
        """Retry what SQLite refuses at once when the file is busy, without asking its own time-out."""
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                return attempt()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.005)


def check_tables(connection: sqlite3.Connection, statements: Statements, path: str, *, create: bool) -> None:
    """See that the tables are there, in a format that this release knows; create them if asked to.

    Raises:
        StoreFormatError: they are of a newer format, or missing.
    """
    meta = _meta(connection, statements)
    if not meta and create:
        _create_tables(connection, statements.prefix)
        meta = _meta(connection, statements)
    if not meta:
        raise StoreFormatError(
            f"SQLite store {path!r} has no tables with the prefix {statements.prefix!r}; "
            f"create them with `harel.schema.sql_schema('sqlite', {statements.prefix!r})` or with create_schema=True"
        )
    if int(meta["format"]) != FORMAT:
        raise StoreFormatError(
            f"SQLite store {path!r} has tables of format {meta['format']}, and harel-runtime {VERSION} reads format "
            f"{FORMAT}: install harel-runtime {meta['release']} or newer"
        )


def fetched(connection: sqlite3.Connection, statement: str, parameters: tuple[object, ...]) -> list[tuple[Any, ...]]:
    """All rows of a statement as tuples, whatever the connection makes of rows: it may be the caller's."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(statement, parameters).fetchall()


def _meta(connection: sqlite3.Connection, statements: Statements) -> dict[str, str]:
    try:
        return dict(fetched(connection, statements.meta, ()))
    except sqlite3.OperationalError as error:
        if str(error).startswith("no such table"):
            return {}
        raise


def _create_tables(connection: sqlite3.Connection, prefix: str) -> None:
    def create(connection: sqlite3.Connection) -> None:
        for statement in sql_schema("sqlite", prefix).split(";\n"):
            connection.execute(statement)

    _transaction(connection, create)


class Connections(Protocol):
    """Lends connections. What `work` raises passes through, after a rollback; a connection in doubt is thrown away."""

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do some reading, outside a transaction."""

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do some writing as one transaction, which has the write lock from its beginning."""

    def close(self) -> None:
        """Close what is not in use."""


@dataclass(slots=True)
class _Process:
    """The connections of one process. Its writers queue up here, which is quicker than SQLite's own waiting."""

    pid: int = field(default_factory=os.getpid)
    idle: deque[sqlite3.Connection] = field(default_factory=deque)
    writing: threading.RLock = field(default_factory=threading.RLock)


class FileConnections:
    """Connections to a file, shared by the threads of a process, and made anew in a process that was forked."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._process = _Process()
        self._inherited: list[_Process] = []

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Connections.read`."""
        process = self._here()
        connection = self._take(process)
        try:
            result = work(connection)
        except BaseException:
            connection.close()
            raise
        _give(process, connection)
        return result

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Connections.write`. Raises `StoreUnavailable` where other threads write for too long."""
        process = self._here()
        try:
            if not process.writing.acquire(timeout=self._opening.timeout):
                raise StoreUnavailable(f"SQLite store {self._opening.path!r} is busy with other threads; try again")
            connection = self._take(process)
            try:
                result = _transaction(connection, work)
            except StoreError:
                _give(process, connection)
                raise
            except BaseException:
                connection.close()
                raise
            _give(process, connection)
            return result
        finally:
            # Not acquired is fine: an interrupt may have come first.
            with suppress(RuntimeError):
                process.writing.release()

    def close(self) -> None:
        """Close the idle connections; the next use opens new ones."""
        idle = self._here().idle
        with suppress(IndexError):
            while True:
                idle.pop().close()

    def _here(self) -> _Process:
        process = self._process
        if process.pid != os.getpid():
            # Kept and never touched: to close a connection of the parent here would give up the parent's locks.
            self._inherited.append(process)
            process = self._process = _Process()
        return process

    def _take(self, process: _Process) -> sqlite3.Connection:
        try:
            return process.idle.pop()
        except IndexError:
            return self._opening.connect()


def _give(process: _Process, connection: sqlite3.Connection) -> None:
    if len(process.idle) < _IDLE:
        process.idle.append(connection)
    else:
        connection.close()


class MemoryConnection:
    """The one connection to a database in memory, lent under a lock; the data lives as long as this object."""

    def __init__(self, opening: Opening) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._connection = opening.connect()
        weakref.finalize(self, self._connection.close)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Connections.read`."""
        self._check_process()
        with self._lock:
            return work(self._connection)

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Connections.write`."""
        self._check_process()
        with self._lock:
            return _transaction(self._connection, work)

    def close(self) -> None:
        """Nothing to give back: to close the connection would be to lose the data."""

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise StoreUnavailable("an SQLite store in memory belongs to the process that made it; use a file")


def _transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """Do some writing as one transaction: all of it or nothing, whatever is raised, Ctrl-C included."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise
    return result


def roll_back(connection: sqlite3.Connection) -> None:
    """Undo an open transaction."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
