"""A process that is killed with SIGKILL at a named point of a step (run by `test_sigkill.py`).

    python -m tests.crash.victim DATABASE LEDGER POINT

It sends `Pay` (id `pay-1`) to the order `o-1`. The step runs the action `charge`, which writes its idempotency key
to the ledger file, arms a timer, and forks two regions. Points:

    before-action    the handler is about to run
    after-action     the ledger is written, nothing is committed
    inside-commit    the transaction has written its rows and is about to commit
    after-commit     committed; no child exists yet
    between-children the first region exists, the second does not
    never            the process lives
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from harel import Definition, DurableRunner, Event, SqliteStore, definition_from_dsl

SOURCE = """
event Pay {}
event Stock {}
event Fraud {}

machine order {
  initial Cart
  state Cart {}
  orthogonal Checks {
    on enter charge
    timeout 900
    state Goods { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Stock }
    state Money { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Fraud }
  }
  final Paid success {}
  final Late expired {}

  from Cart to Checks on Pay
  from Checks join all to Paid else to Late
  from Checks to Late on Timeout
}
"""

POINTS = ("before-action", "after-action", "inside-commit", "after-commit", "between-children")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Ledger:
    """Where `charge` leaves its mark: a file of idempotency keys, one line for each time it ran."""

    def __init__(self, path: Path, point: str = "never") -> None:
        self.path = path
        self._point = point

    def charge(self, stm: Any, event: Event) -> None:
        if self._point == "before-action":
            die()
        with self.path.open("a") as file:
            file.write(f"{stm.idempotency_key}\n")
            file.flush()
            os.fsync(file.fileno())
        if self._point == "after-action":
            die()

    def keys(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


class Watch:
    """Counts the commits of a process by SQLite's own trace, and kills it before or after one of them."""

    def __init__(self, point: str) -> None:
        self._point = point
        self._commits = 0

    def connect(self, *args: Any, **options: Any) -> sqlite3.Connection:
        connection = _connect(*args, **options)
        connection.set_trace_callback(self.seen)
        return connection

    def seen(self, statement: str) -> None:
        verb = statement.strip().upper()
        if verb.startswith("COMMIT"):
            self._commits += 1
            if self._point == "inside-commit":
                die()
        elif self._commits == {"after-commit": 1, "between-children": 2}.get(self._point):
            die()


_connect = sqlite3.connect


def machine(ledger: Ledger) -> Definition:
    return definition_from_dsl(SOURCE, "order", actions={"charge": ledger.charge})


def main(database: str, ledger: str, point: str) -> None:
    watch = Watch(point)
    store = SqliteStore(database)
    store.load("o-1")
    store.close()
    sqlite3.connect = watch.connect
    runner = DurableRunner(store, [machine(Ledger(Path(ledger), point))], clock=lambda: 0.0)
    runner.process("o-1", Event("Pay", id="pay-1"))


if __name__ == "__main__":
    main(*sys.argv[1:])
