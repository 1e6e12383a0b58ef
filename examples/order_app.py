"""A shop's order service over the generated module `order`: one call handles one message and returns.

    python examples/order_app.py FOLDER start ORDER
    python examples/order_app.py FOLDER send ORDER EVENT-ID KIND [JSON]
    python examples/order_app.py FOLDER sweep

FOLDER holds the SQLite file and the bank's ledger. `--now SECONDS` sets the clock, `--die-after ACTION` kills the
process right after that action has run and before its step is committed: how a power cut looks to the order.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bank import Bank
from harel import DurableRunner, Event, Execution, SqliteStore, Stm

sys.path.insert(0, str(Path(__file__).parent / "machines"))

import order


class Shop:
    """The actions that the machine leaves to the program: `order.Actions`, checked by the type checker."""

    def __init__(self, bank: Bank, die_after: str | None = None) -> None:
        self.bank = bank
        self.die_after = die_after

    def hold_amount(self, stm: Stm, event: Event) -> None:
        self._book(stm, "hold_amount", stm.execution_ctx["amount"])

    def charge(self, stm: Stm, event: Event) -> None:
        self._book(stm, "charge", stm.execution_ctx["amount"])

    def release_amount(self, stm: Stm, event: Event) -> None:
        self._book(stm, "release_amount", stm.execution_ctx["amount"])

    def order_picking(self, stm: Stm, event: Event) -> None:
        print("    order_picking: a note to the warehouse")

    def book_carrier(self, stm: Stm, event: Event) -> None:
        print("    book_carrier: the parcel is on its way")

    def _book(self, stm: Stm, action: str, amount: int) -> None:
        key = stm.idempotency_key
        done = "booked" if self.bank.book(key, action, amount) else "booked before, not again"
        print(f"    {action}: {amount / 100:.2f} {done}, key {key}", flush=True)
        if action == self.die_after:
            os.kill(os.getpid(), signal.SIGKILL)


def open_shop(folder: Path, clock: Callable[[], float] = time.time, die_after: str | None = None) -> DurableRunner:
    """A runner for orders whose store and ledger are in a folder."""
    shop = Shop(Bank(folder / "bank.txt"), die_after)
    return DurableRunner(SqliteStore(folder / "orders.db"), [order.bind(shop)], clock=clock)


def describe(execution: Execution) -> str:
    """Where an order stands, in one line."""
    outcome = f", outcome {execution.outcome}" if execution.outcome else ""
    return f"{execution.id} is {execution.status} in {execution.active_path}{outcome}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Handle one message of the order service.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--now", type=float, help="the clock, in epoch seconds")
    parser.add_argument("--die-after", metavar="ACTION", help="die after this action, before the commit")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="begin an order")
    start.add_argument("order")
    send = commands.add_parser("send", help="hand an event to an order")
    send.add_argument("order")
    send.add_argument("event_id")
    send.add_argument("kind")
    send.add_argument("data", nargs="?", type=json.loads, default={})
    commands.add_parser("sweep", help="fire the timers that are due")
    options = parser.parse_args()

    clock = time.time if options.now is None else lambda: options.now
    runner = open_shop(options.folder, clock, options.die_after)
    if options.command == "start":
        print(f"    {describe(runner.create('order', execution_id=options.order))}")
    elif options.command == "send":
        event = Event(options.kind, options.data, id=options.event_id)
        print(f"    {describe(runner.process(options.order, event))}")
    else:
        print(f"    timers fired: {runner.fire_due_timers()}")


if __name__ == "__main__":
    main()
