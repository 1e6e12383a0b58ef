"""`PostgresStore` keeps the contract on a real server; and what a server adds: races, restarts, isolation, joining."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from servers import postgres_server

from harel.stores.postgres import PostgresStore
from harel.stores.protocol import Store
from harel.testing import StoreContract

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
