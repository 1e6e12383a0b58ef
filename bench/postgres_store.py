"""Steps a second of `PostgresStore` beside the floor, in one run.

    PYTHONPATH=.:runtime python bench/postgres_store.py [STEPS] [ROUNDS]

A step is what every durable step needs at least: read the row, then one transaction with a compare-and-set UPDATE and a
dedupe INSERT. The floor does it by hand on two tables, with prepared statements, in two ways: as a transaction of two
statements, and as the one statement that is the least of all. The store does it through its methods. All use the same
server and client. Rounds take turns, so that a noisy machine is noisy for all; printed are the medians and ratios.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from statistics import median

import psycopg
from store_floor import CONTEXT, by_store, rate

from harel.stores.postgres import PostgresStore
from tests.servers import postgres_server

Steps = Callable[[int], None]

SELECT = "SELECT version, record FROM floor_execution WHERE id = %s"
UPDATE = "UPDATE floor_execution SET version = %s, record = %s WHERE id = %s AND version = %s"
INSERT = "INSERT INTO floor_processed VALUES (%s, %s)"
BOTH = f"WITH hit AS ({UPDATE} RETURNING id) INSERT INTO floor_processed SELECT id, %s FROM hit"


def tables(url: str) -> psycopg.Connection:
    """A connection to the floor's tables, emptied."""
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=0)
    connection.execute("CREATE TABLE IF NOT EXISTS floor_execution (id text PRIMARY KEY, version bigint, record text)")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS floor_processed "
        "(execution_id text, event_id text, PRIMARY KEY (execution_id, event_id))"
    )
    connection.execute("TRUNCATE floor_execution, floor_processed")
    connection.execute("INSERT INTO floor_execution VALUES ('order-1', 0, %s)", (json.dumps(CONTEXT),))
    return connection


def by_hand(connection: psycopg.Connection, write: Callable[[int, str, int, str], int]) -> Steps:
    """The floor, with one of the ways of writing: (version, record, expected version, event id) to rows changed."""
    number = 0

    def steps(count: int) -> None:
        nonlocal number
        for _ in range(count):
            number += 1
            row = connection.execute(SELECT, ("order-1",)).fetchone()
            assert row is not None
            record = json.loads(row[1])
            record["retries"] += 1
            assert write(row[0] + 1, json.dumps(record), row[0], f"{id(write)}-{number}") == 1

    return steps


def transaction(connection: psycopg.Connection) -> Steps:
    """BEGIN, UPDATE, INSERT, COMMIT."""

    def write(version: int, record: str, expected: int, event_id: str) -> int:
        with connection.transaction():
            changed = connection.execute(UPDATE, (version, record, "order-1", expected)).rowcount
            connection.execute(INSERT, ("order-1", event_id))
        return changed

    return by_hand(connection, write)


def single_statement(connection: psycopg.Connection) -> Steps:
    """Both changes in one statement."""

    def write(version: int, record: str, expected: int, event_id: str) -> int:
        return connection.execute(BOTH, (version, record, "order-1", expected, event_id)).rowcount

    return by_hand(connection, write)


def main(count: int, rounds: int) -> None:
    """Print a line for each durability."""
    with postgres_server() as url, psycopg.connect(url, autocommit=True) as admin:
        for synchronous in ("on", "off"):
            admin.execute(f"ALTER SYSTEM SET synchronous_commit = {synchronous}")
            admin.execute("SELECT pg_reload_conf()")
            time.sleep(0.2)
            with tables(url) as connection:
                store = PostgresStore(url, prefix=f"bench_{synchronous}")
                ways = transaction(connection), single_statement(connection), by_store(store)
                rates = [[rate(way, count) for way in ways] for _ in range(rounds)]
                slow, least, ours = (median(column) for column in zip(*rates, strict=True))
                store.close()
            print(
                f"synchronous_commit={synchronous:3}  transaction {slow:6,.0f}/s  one statement {least:6,.0f}/s  "
                f"PostgresStore {ours:6,.0f}/s  {ours / slow:.0%} and {ours / least:.0%}"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ("500", "7")))
