"""Steps a second of `SqliteStore` beside the floor, in one run: `python bench/store_floor.py [STEPS] [ROUNDS]`.

A step is what every durable step needs at least: read the row, then one transaction with a compare-and-set UPDATE
and a dedupe INSERT. The floor does it by hand on two tables; the store does it through its methods.
Rounds take turns, so that a noisy machine is noisy for both; printed are the medians and their ratio.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from harel.execution import Execution, Status
from harel.stores.memory import DictStore
from harel.stores.protocol import Effects, Processed, Store
from harel.stores.sqlite import SqliteStore

CONTEXT = {"order": "A-1001", "total": 129.5, "items": ["book", "pen", "lamp"], "retries": 0, "paid": False}

Steps = Callable[[int], None]


def by_hand(path: Path, synchronous: str) -> Steps:
    """The floor: hand-written SQL on one connection."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("CREATE TABLE execution (id TEXT PRIMARY KEY, version INTEGER, record TEXT)")
    connection.execute(
        "CREATE TABLE processed (execution_id TEXT, event_id TEXT, PRIMARY KEY (execution_id, event_id)) WITHOUT ROWID"
    )
    connection.execute("INSERT INTO execution VALUES ('order-1', 0, ?)", (json.dumps(CONTEXT),))
    number = 0

    def steps(count: int) -> None:
        nonlocal number
        for _ in range(count):
            number += 1
            row = connection.execute("SELECT version, record FROM execution WHERE id = ?", ("order-1",)).fetchone()
            record = json.loads(row[1])
            record["retries"] += 1
            connection.execute("BEGIN IMMEDIATE")
            updated = connection.execute(
                "UPDATE execution SET version = ?, record = ? WHERE id = ? AND version = ?",
                (row[0] + 1, json.dumps(record), "order-1", row[0]),
            )
            assert updated.rowcount == 1
            connection.execute("INSERT INTO processed VALUES (?, ?)", ("order-1", f"event-{number}"))
            connection.execute("COMMIT")

    return steps


def by_store(store: Store) -> Steps:
    """The product: `load_step` and `commit`."""
    order = Execution("order-1", "order", 1, "d" * 64, Status.RUNNING, "AwaitingPayment", context=dict(CONTEXT))
    order.version, order.created_at = 1, time.time()
    store.create(order, Effects())
    number = 0

    def steps(count: int) -> None:
        nonlocal number
        for _ in range(count):
            number += 1
            execution = store.load_step("order-1", f"event-{number}").execution
            execution.context["retries"] += 1
            execution.version += 1
            processed = Processed(f"event-{number}", time.time(), number)
            store.commit(execution, execution.version - 1, Effects(processed=processed))

    return steps


def rate(steps: Steps, count: int) -> float:
    """Steps a second of one round."""
    begin = time.perf_counter()
    steps(count)
    return count / (time.perf_counter() - begin)


def main(count: int, rounds: int) -> None:
    """Print a line for each durability."""
    with tempfile.TemporaryDirectory() as folder:
        for synchronous in ("FULL", "NORMAL"):
            floor = by_hand(Path(folder) / f"floor-{synchronous}.db", synchronous)
            store = by_store(SqliteStore(Path(folder) / f"store-{synchronous}.db", synchronous=synchronous))
            rates = [(rate(floor, count), rate(store, count)) for _ in range(rounds)]
            ours, theirs = median(r[1] for r in rates), median(r[0] for r in rates)
            print(f"{synchronous:7} floor {theirs:8,.0f}/s   SqliteStore {ours:8,.0f}/s   ratio {ours / theirs:4.0%}")
    memory = by_store(DictStore())
    print(f"memory  DictStore {median(rate(memory, count) for _ in range(rounds)):8,.0f}/s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ("500", "7")))
