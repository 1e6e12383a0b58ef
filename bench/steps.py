"""Steps a second of whole runners, beside the closest peer and the raw floor, in one run.

    python bench/steps.py [--orders 300] [--rounds 5] [--peer PYTHON]

One script drives an order through two events, on an in-memory store and on an SQLite file, in a process of its own for
each interpreter: this one, and the peer's (`--peer`: a Python with `harel` 0.9.0 installed, an interpreter of the same
language, used as a black box). The floor does by hand what a durable step needs at least: read the row, then one
transaction with a compare-and-set UPDATE and a dedupe INSERT. Rounds take turns, so that a noisy machine is noisy for
all; printed are medians and their ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

DRIVER = '''
import json, sys, tempfile, time
from pathlib import Path
from harel import DictStore, DurableRunner, Event, SqliteStore, definition_from_dsl

SOURCE = """
event Pay { amount: int }
event Ship {}

machine order {
  context { paid: int = 0 }
  initial Cart
  state Cart { timeout 900 }
  state Paid {}
  final Shipped success {}
  final Late expired {}

  from Cart to Paid on Pay where amount > 0 set context.paid = event.amount
  from Cart to Late on Timeout
  from Paid to Shipped on Ship
}
"""

orders = int(sys.argv[1])
machine = definition_from_dsl(SOURCE, "order")
rates = {}
with tempfile.TemporaryDirectory() as folder:
    for name, store in (("memory", DictStore()), ("sqlite", SqliteStore(str(Path(folder) / "orders.db")))):
        runner = DurableRunner(store, {machine.id: machine}, clock=lambda: 0.0)
        ids = [runner.create(machine.id).id for _ in range(orders)]
        begun = time.perf_counter()
        for id in ids:
            runner.process(id, Event(kind="Pay", data={"amount": 5}))
            done = runner.process(id, Event(kind="Ship"))
            assert done.outcome == "success", done
        rates[name] = 2 * orders / (time.perf_counter() - begun)
print(json.dumps(rates))
'''


def driven(python: str, orders: int, environment: dict[str, str]) -> dict[str, float]:
    """Steps a second by store, of the `harel` that this Python imports."""
    command = [python, "-c", DRIVER, str(orders)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    if run.returncode:
        raise SystemExit(f"{python}: {run.stderr.strip().splitlines()[-1]}")
    rates: dict[str, float] = json.loads(run.stdout)
    return rates


def floor(steps: int) -> float:
    """Hand-written steps a second on an SQLite file, WAL and synchronous=FULL."""
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "floor.db", isolation_level=None)
        connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            "CREATE TABLE execution (id TEXT PRIMARY KEY, version INTEGER, record TEXT);"
            "CREATE TABLE seen (id TEXT PRIMARY KEY) WITHOUT ROWID;"
            """INSERT INTO execution VALUES ('o', 0, '{"paid":0,"active_path":"Cart"}')"""
        )
        begun = time.perf_counter()
        for number in range(steps):
            version, record = connection.execute("SELECT version, record FROM execution WHERE id='o'").fetchone()
            row = (version + 1, json.dumps(json.loads(record)), version)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE execution SET version=?, record=? WHERE id='o' AND version=?", row)
            connection.execute("INSERT INTO seen VALUES (?)", (f"event-{number}",))
            connection.execute("COMMIT")
        rate = steps / (time.perf_counter() - begun)
        connection.close()
        return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", help="a Python in whose environment the peer is installed")
    given = parser.parse_args()
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pythons = {"harel": (sys.executable, dict(os.environ))}
    if given.peer:
        pythons["peer"] = (given.peer, alone)
    found: dict[str, list[float]] = {}
    for _ in range(given.rounds):
        found.setdefault("floor sqlite", []).append(floor(2 * given.orders))
        for who, (python, environment) in pythons.items():
            for store, rate in driven(python, given.orders, environment).items():
                found.setdefault(f"{who} {store}", []).append(rate)
    medians = {name: median(rates) for name, rates in found.items()}
    for name, rate in sorted(medians.items()):
        print(f"{name:14} {rate:10,.0f} steps/s")
    print(f"sqlite: {medians['harel sqlite'] / medians['floor sqlite']:.0%} of the floor")
    for store in ("memory", "sqlite") if given.peer else ():
        print(f"{store}: {medians[f'harel {store}'] / medians[f'peer {store}']:.1f} times the peer")


if __name__ == "__main__":
    main()
