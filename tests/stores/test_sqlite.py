"""`SqliteStore` keeps the contract; and what a file adds: locks, processes, damage, formats, joined transactions."""

from __future__ import annotations

import multiprocessing
import re
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harel.errors import StoreConflict, StoreFormatError, StoreUnavailable
from harel.schema import sql_schema
from harel.stores.protocol import Effects, Processed, Store, Timer
from harel.stores.sqlite import SqliteStore
from harel.stores.sqlite_connections import problem
from harel.stores.sqlite_statements import Statements
from harel.testing import StoreContract
from harel.testing.store_contract import FOREVER, a_message, an_order, every_effect, traces_of_effects

TABLES = ("execution", "timer", "processed", "outbox", "spawn", "trace", "definition")


def rows_left(path: Path, prefix: str = "harel") -> list[str]:
    with sqlite3.connect(path) as connection:
        counts = {table: connection.execute(f"SELECT count(*) FROM {prefix}_{table}").fetchone()[0] for table in TABLES}
    connection.close()
    return [f"{count} in {table}" for table, count in counts.items() if count]


class TestSqliteStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "orders.db"

    @pytest.fixture
    def open_store(self) -> Callable[..., SqliteStore]:
        # OFF, for there is no power cut in here, and an fsync is slow
        return lambda prefix="harel": SqliteStore(self.path, prefix=prefix, synchronous="OFF")

    def leftovers(self, store: Store) -> list[str]:
        assert isinstance(store, SqliteStore)
        store.ids_with_prefix("")
        return rows_left(self.path, store.prefix)


class TestSqliteStoreInMemory(StoreContract):
    @pytest.fixture
    def open_store(self) -> Callable[..., SqliteStore]:
        stores: dict[str, SqliteStore] = {}

        def open_store(prefix: str = "harel") -> SqliteStore:
            if prefix not in stores:
                stores[prefix] = SqliteStore(":memory:", prefix=prefix)
            return stores[prefix]

        return open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "orders.db"


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that connections opened from now on send."""
    sent: list[str] = []
    connect = sqlite3.connect

    def traced(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.set_trace_callback(sent.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    return sent


# --- the file


def test_a_path_is_never_a_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("file:orders.db?mode=memory")
    store.create(an_order(), Effects())
    store.close()

    assert (tmp_path / "file:orders.db?mode=memory").is_file()


def test_a_relative_path_stays_where_it_was_when_the_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("orders.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.create(an_order(), Effects())

    assert (tmp_path / "orders.db").exists()


def test_the_file_is_in_wal_mode_and_every_commit_is_synced(path: Path, statements: list[str]) -> None:
    SqliteStore(path).create(an_order(), Effects())

    assert "PRAGMA synchronous = FULL" in statements
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_system_that_refuses_wal_is_warned_about(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class WithoutWal(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("journal_mode = WAL", "journal_mode = DELETE"), *parameters)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, factory=WithoutWal, **kwargs))
    store = SqliteStore(path)
    store.create(an_order(), Effects())

    assert store.load("order-1") == an_order()
    assert "write-ahead logging was refused (journal mode delete)" in caplog.text


def test_a_file_that_another_process_turns_to_wal_at_this_moment_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    refusals = [busy, busy]

    class Contended(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if sql == "PRAGMA journal_mode = WAL" and refusals:
                raise refusals.pop()
            return super().execute(sql, *parameters)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, factory=Contended, **kwargs))
    SqliteStore(path).create(an_order(), Effects())

    assert refusals == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": ""}, "is not the path"),
        ({"path": "a\0b"}, "is not the path"),
        ({"path": "a.db", "synchronous": "full; DROP"}, "it is one of OFF, NORMAL, FULL, EXTRA"),
        ({"path": "a.db", "prefix": "Harel"}, "prefix 'Harel'"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SqliteStore(**arguments)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"the folder '.*/missing' does not exist; create it"):
        SqliteStore(tmp_path / "missing" / "orders.db").load("order-1")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="it is a folder"):
        SqliteStore(tmp_path).load("order-1")


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("orders\n" * 1_000)
    with pytest.raises(StoreFormatError, match="is not an SQLite database"):
        SqliteStore(path).load("order-1")

    assert path.read_text() == "orders\n" * 1_000


def test_a_newer_format_says_what_to_install(path: Path) -> None:
    SqliteStore(path).ids_with_prefix("")
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "UPDATE harel_meta SET value = '2' WHERE name = 'format';"
            "UPDATE harel_meta SET value = '0.9.3' WHERE name = 'release'"
        )
    connection.close()

    with pytest.raises(StoreFormatError, match=r"tables of format 2, .* reads format 1: install harel-runtime 0\.9\.3"):
        SqliteStore(path).load("order-1")


def test_a_full_disk_is_unavailable_and_leaves_the_record_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path)
    store.create(an_order(), Effects())
    store.close()
    connect = sqlite3.connect

    def small(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.execute("PRAGMA max_page_count = 30")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        store.commit(an_order(version=2, context={"text": "x" * 1_000_000}), 1, every_effect())
    monkeypatch.undo()

    assert store.load("order-1") == an_order()
    assert store.pending_outbox() == []


def test_a_read_only_database_is_unavailable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).create(an_order(), Effects())
    connect = sqlite3.connect

    def read_only(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.execute("PRAGMA query_only = ON")
        return connection

    monkeypatch.setattr(sqlite3, "connect", read_only)
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        SqliteStore(path).commit(an_order(version=2), 1, Effects())


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreUnavailable, "locked by another connection"),
        (sqlite3.SQLITE_LOCKED, StoreUnavailable, "locked by another connection"),
        (sqlite3.SQLITE_CORRUPT, StoreFormatError, "is damaged (odd); restore it from a backup"),
        (sqlite3.SQLITE_NOTADB, StoreFormatError, "is not an SQLite database"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, StoreUnavailable, "make the file and its folder writable"),
        (sqlite3.SQLITE_CANTOPEN, StoreUnavailable, "check the permissions of the file"),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnavailable, "/orders.db': odd"),
    ],
)
def test_what_sqlite_says_becomes_one_clear_error(path: Path, code: int, kind: type[Exception], message: str) -> None:
    error = sqlite3.OperationalError("odd")
    error.sqlite_errorcode = code
    meaning = problem(error, str(path))

    assert type(meaning) is kind
    assert message in str(meaning)


def test_tables_that_are_dropped_under_a_running_store_are_named(path: Path) -> None:
    store = SqliteStore(path)
    store.create(an_order(), Effects())
    sqlite3.connect(path).execute("DROP TABLE harel_execution")

    with pytest.raises(StoreFormatError, match=r"has not got its tables \(no such table: harel_execution\)"):
        store.load("order-1")


# --- the schema


def test_a_store_that_may_create_nothing_creates_nothing(path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="does not exist"):
        SqliteStore(path, create_schema=False).load("order-1")
    assert not path.exists()

    sqlite3.connect(path).execute("CREATE TABLE invoices (id)")
    with pytest.raises(StoreFormatError, match=r"no tables with the prefix 'shop'.*sql_schema\('sqlite', 'shop'\)"):
        SqliteStore(path, prefix="shop", create_schema=False).load("order-1")
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall() == [("invoices",)]


def test_the_printed_schema_is_what_a_store_needs(path: Path) -> None:
    sqlite3.connect(path).executescript(sql_schema("sqlite", "shop"))
    store = SqliteStore(path, prefix="shop", create_schema=False)
    store.create(an_order(), every_effect())

    assert store.load("order-1") == an_order()


def test_a_schema_is_asked_for_by_dialect_and_prefix() -> None:
    with pytest.raises(ValueError, match=r"no SQL schema is known for 'oracle'; known are .*sqlite"):
        sql_schema("oracle")
    with pytest.raises(ValueError, match="prefix"):
        sql_schema("sqlite", "a;b")

    assert set(re.findall(r"\bshop_\w+|\bharel_\w+", sql_schema("sqlite", "shop"))) >= {"shop_execution", "shop_timer"}
    assert "harel" not in sql_schema("sqlite", "shop")


def test_with_everything_there_no_ddl_is_sent(path: Path, statements: list[str]) -> None:
    SqliteStore(path).create(an_order(), Effects())
    assert any(statement.lstrip().startswith(("CREATE", "--")) for statement in statements)
    statements.clear()
    SqliteStore(path).load("order-1")

    assert [statement for statement in statements if re.search(r"\b(CREATE|ALTER|DROP|INSERT)\b", statement)] == []


def test_many_processes_create_the_schema_at_once(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(10)
    workers = [context.Process(target=_create_one, args=(path, number, start)) for number in range(10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert [worker.exitcode for worker in workers] == [0] * 10
    assert SqliteStore(path).ids_with_prefix("") == [f"order-{number}" for number in range(10)]


def _create_one(path: Path, number: int, start: Any) -> None:
    start.wait(30)
    SqliteStore(path, synchronous="OFF").create(an_order(f"order-{number}"), Effects())


# --- locks, threads and processes


def test_a_file_locked_for_too_long_is_unavailable_and_works_afterwards(path: Path) -> None:
    store = SqliteStore(path, timeout=0.05)
    store.create(an_order(), Effects())
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked by another connection"):
        store.commit(an_order(version=2), 1, Effects())
    readable = store.load("order-1")
    other.execute("ROLLBACK")
    store.commit(an_order(version=2), 1, Effects())

    assert readable == an_order()
    assert store.load("order-1").version == 2


def test_an_interrupt_between_statements_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path)
    store.create(an_order(), Effects())
    store.close()

    class Interrupted(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if "_trace" in sql:
                raise KeyboardInterrupt
            return super().execute(sql, *parameters)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, factory=Interrupted, **kwargs))
    with pytest.raises(KeyboardInterrupt):
        store.commit(an_order(version=2), 1, every_effect())
    monkeypatch.undo()

    assert store.load("order-1") == an_order()
    assert store.pending_outbox() == []
    store.commit(an_order(version=2), 1, every_effect())
    assert store.load("order-1").version == 2


BREAKS_IN_THE_MIDDLE = Effects(arms=(Timer("order-1", "A", 1.0, 1), Timer("order-1", "B", 1.0, 2**70)))
"""SQLite has no integer for the second arming."""


def test_a_step_that_breaks_in_the_middle_leaves_nothing(path: Path) -> None:
    store = SqliteStore(path)
    store.create(an_order(), Effects())
    with pytest.raises(OverflowError):
        store.commit(an_order(version=2), 1, BREAKS_IN_THE_MIDDLE)
    with pytest.raises(OverflowError):
        store.create(an_order("order-2"), BREAKS_IN_THE_MIDDLE)

    assert rows_left(path) == ["1 in execution"]
    assert store.load("order-1") == an_order()


def test_a_forked_process_opens_connections_of_its_own(path: Path, statements: list[str]) -> None:
    store = SqliteStore(path)
    store.create(an_order(), Effects())
    statements.clear()
    child = multiprocessing.get_context("fork").Process(target=_commit_one, args=(store, statements))
    child.start()
    child.join(60)
    store.commit(an_order(version=3), 2, Effects())

    assert child.exitcode == 0
    assert store.load("order-1").version == 3
    assert "PRAGMA synchronous = FULL" not in statements


def _commit_one(store: SqliteStore, statements: list[str]) -> None:
    store.commit(an_order(version=2), 1, Effects())
    assert "PRAGMA synchronous = FULL" in statements


def test_a_database_in_memory_stays_in_its_process() -> None:
    store = SqliteStore(":memory:")
    store.create(an_order(), Effects())
    child = multiprocessing.get_context("fork").Process(target=_must_not_load, args=(store,))
    child.start()
    child.join(60)

    assert child.exitcode == 0


def _must_not_load(store: SqliteStore) -> None:
    with pytest.raises(StoreUnavailable, match="in memory belongs to the process"):
        store.load("order-1")


def test_connections_are_shared_by_threads_that_come_and_go(path: Path, statements: list[str]) -> None:
    store = SqliteStore(path)
    store.create(an_order(), Effects())
    for version in range(1, 21):
        thread = threading.Thread(target=store.commit, args=(an_order(version=version + 1), version, Effects()))
        thread.start()
        thread.join()

    assert store.load("order-1").version == 21
    assert len([statement for statement in statements if statement == "PRAGMA synchronous = FULL"]) == 1


def test_a_lost_race_costs_no_connection(path: Path, statements: list[str]) -> None:
    store = SqliteStore(path)
    store.create(an_order(), Effects())
    statements.clear()
    with pytest.raises(StoreConflict):
        store.commit(an_order(version=8), 7, every_effect())
    store.commit(an_order(version=2), 1, Effects())

    assert "ROLLBACK" in statements
    assert "PRAGMA synchronous = FULL" not in statements


# --- what a call costs


def test_a_step_is_one_select_and_one_transaction(path: Path, statements: list[str]) -> None:
    store = SqliteStore(path)
    store.create(an_order(), Effects())
    statements.clear()
    store.load_step("order-1", "e-1")
    store.commit(an_order(version=2), 1, Effects(processed=Processed("e-1", 1.0, 1)))

    assert [statement.split(" ")[0] for statement in statements] == [
        "SELECT", "BEGIN", "UPDATE", "INSERT", "COMMIT",
    ]  # fmt: skip


def plan(path: Path, statement: str, parameters: tuple[object, ...]) -> str:
    with sqlite3.connect(path) as connection:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
    connection.close()
    return "\n".join(row[-1] for row in rows)


def test_a_sweep_reads_due_timers_only(path: Path) -> None:
    SqliteStore(path).ids_with_prefix("")
    steps = plan(path, Statements("harel").due_timers, (5.0, 1.0, 0, "", "", 100))
    both_ends = "((due,rank,execution_id,path)>(?,?,?,?) AND due<?)"

    assert steps == f"SEARCH harel_timer USING COVERING INDEX harel_timer_due {both_ends}"


def test_no_query_scans_a_table_or_sorts(path: Path) -> None:
    SqliteStore(path).ids_with_prefix("")
    sql = Statements("harel")
    lists = [
        sql.list_executions(status=status, definition=definition, roots=roots)
        for status in (True, False)
        for definition in (True, False)
        for roots in (True, False)
    ]
    single = [
        value for name, value in vars(sql).items() if isinstance(value, str) and name not in ("prefix", "_list", "meta")
    ]
    for statement in (*lists, *single, *sql.purge[1:]):
        numbered = len(set(re.findall(r"\?\d", statement)))
        steps = plan(path, statement, ("1",) * (numbered or statement.count("?")))
        if statement in (sql.list_definitions, sql.timers, sql.purge[1]):
            continue
        for step in steps.splitlines():
            assert not re.match(r"SCAN harel_(?!outbox|spawn)|USE TEMP", step), (statement, steps)


def test_the_page_of_a_list_uses_the_index_of_its_filter(path: Path) -> None:
    SqliteStore(path).ids_with_prefix("")

    def index(*, status: bool = False, definition: bool = False, roots: bool = False) -> str:
        statement = Statements("harel").list_executions(status=status, definition=definition, roots=roots)
        found = re.search(r"INDEX (\w+)", plan(path, statement, ("1",) * statement.count("?")))
        assert found
        return found[1]

    assert index(status=True, roots=True) == "harel_execution_status"
    assert index(definition=True) == "harel_execution_definition"
    assert index(roots=True) == "harel_execution_root"


def test_ids_that_no_longer_count_leave_the_table(path: Path) -> None:
    store = SqliteStore(path, synchronous="OFF")
    store.create(an_order(created_at=1.0), Effects())
    for number in (1, 2, 9_999, 10_000, 10_001, 10_002):
        version = store.load("order-1").version + 1
        store.commit(
            an_order(version=version, created_at=1.0),
            version - 1,
            Effects(processed=Processed(f"e-{number}", 1.0, number)),
        )

    assert rows_left(path) == ["1 in execution", "4 in processed"]


# --- in somebody else's transaction


@pytest.fixture
def shop(path: Path) -> sqlite3.Connection:
    """The program's own connection to the file that the store is in."""
    SqliteStore(path).create(an_order(), Effects())
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE payments (id)")
    connection.commit()
    return connection


def test_a_joined_step_is_committed_with_the_callers_work(path: Path, shop: sqlite3.Connection) -> None:
    store = SqliteStore(path)
    shop.execute("INSERT INTO payments VALUES (1)")
    store.joined(shop).commit(an_order(version=2), 1, every_effect())
    before = store.load("order-1").version
    seen_inside = store.joined(shop).load("order-1").version
    shop.commit()

    assert (before, seen_inside) == (1, 2)
    assert store.load("order-1").version == 2
    assert traces_of_effects(store)["messages"] == ["order-1:1:1"]


def test_a_joined_step_is_rolled_back_with_the_callers_work(path: Path, shop: sqlite3.Connection) -> None:
    store = SqliteStore(path)
    store.joined(shop).commit(an_order(version=2), 1, every_effect())
    shop.execute("INSERT INTO payments VALUES (1)")
    shop.rollback()

    assert store.load("order-1") == an_order()
    assert store.pending_outbox() == []
    assert shop.execute("SELECT count(*) FROM payments").fetchone() == (0,)


def test_a_joined_step_that_fails_leaves_the_callers_work_alone(path: Path, shop: sqlite3.Connection) -> None:
    store = SqliteStore(path)
    shop.execute("INSERT INTO payments VALUES (1)")
    with pytest.raises(StoreConflict):
        store.joined(shop).commit(an_order(version=8), 7, every_effect())
    shop.commit()

    assert store.pending_outbox() == []
    assert shop.execute("SELECT count(*) FROM payments").fetchone() == (1,)


def test_a_joined_step_that_breaks_in_the_middle_leaves_the_callers_work_alone(
    path: Path, shop: sqlite3.Connection
) -> None:
    store = SqliteStore(path)
    shop.execute("INSERT INTO payments VALUES (1)")
    with pytest.raises(OverflowError):
        store.joined(shop).commit(an_order(version=2), 1, BREAKS_IN_THE_MIDDLE)
    shop.commit()

    assert store.load("order-1") == an_order()
    assert store.timers("order-1") == []
    assert shop.execute("SELECT count(*) FROM payments").fetchone() == (1,)


def test_a_joined_connection_may_have_its_own_kind_of_rows(path: Path, shop: sqlite3.Connection) -> None:
    shop.row_factory = lambda cursor, row: dict(zip((column[0] for column in cursor.description), row, strict=True))
    joined = SqliteStore(path).joined(shop)
    joined.commit(an_order(version=2), 1, Effects(arms=(Timer("order-1", "A", 1.0, 1),), emits=(a_message(1),)))

    assert joined.load("order-1").version == 2
    assert joined.due_timers(FOREVER) == [Timer("order-1", "A", 1.0, 1)]


def test_a_connection_that_commits_by_itself_is_refused(path: Path, shop: sqlite3.Connection) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(ValueError, match="execute BEGIN"):
        SqliteStore(path).joined(connection)
    connection.execute("BEGIN")
    SqliteStore(path).joined(connection).commit(an_order(version=2), 1, Effects())
    connection.execute("ROLLBACK")

    assert SqliteStore(path).load("order-1").version == 1


def test_a_connection_to_another_file_is_refused(path: Path) -> None:
    with pytest.raises(StoreFormatError, match="no tables with the prefix"):
        SqliteStore(path).joined(sqlite3.connect(":memory:"))
