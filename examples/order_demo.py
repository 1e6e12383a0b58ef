"""Two orders, one of which survives a SIGKILL in the middle of a step. `make demo` runs this after `harelc build`.

Every message is handled by a process of its own (`order_app.py`), so that nothing survives but what is on the disk.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from bank import Bank
from harel import SqliteStore
from order_app import describe, order

HERE = Path(__file__).parent
NINE = 1_767_603_600.0  # 2026-01-05 09:00:00 UTC, in epoch seconds
MINUTE = 60.0


class Demo:
    """Sends messages to the order service at times of its choosing, and says so."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = NINE

    def say(self, text: str) -> None:
        minutes = int((self.now - NINE) // MINUTE)
        print(f"09:{minutes:02}  {text}", flush=True)

    def app(self, *arguments: str) -> int:
        """Run the service on one message; its exit status, or minus the signal that killed it."""
        command = [sys.executable, str(HERE / "order_app.py"), str(self.folder), "--now", str(self.now), *arguments]
        return subprocess.run(command, check=False).returncode

    def send(self, order_id: str, event_id: str, kind: str, **data: object) -> int:
        return self.app("send", order_id, event_id, kind, json.dumps(data))

    def state(self, order_id: str) -> str:
        """Where an order stands by the store, read anew."""
        return describe(SqliteStore(self.folder / "orders.db").load(order_id))


def expect(actual: object, wanted: object) -> None:
    if actual != wanted:
        sys.exit(f"the demo went wrong: expected {wanted!r}, got {actual!r}")


def abandoned_order(demo: Demo) -> None:
    demo.say("order-1 begins")
    expect(demo.app("start", "order-1"), 0)

    demo.say("checkout of 42.00; the process is killed after hold_amount ran, before the commit")
    killed = demo.app("--die-after", "hold_amount", "send", "order-1", "checkout-1", "Checkout", '{"amount": 4200}')
    expect(killed, -signal.SIGKILL)
    print(f"    the process died of {signal.Signals(-killed).name}")
    expect(demo.state("order-1"), "order-1 is RUNNING in Cart")
    print(f"    in the store: {demo.state('order-1')}, the step was never committed")

    demo.say("started again, the same event comes again")
    expect(demo.send("order-1", "checkout-1", "Checkout", amount=4200), 0)
    expect(demo.state("order-1"), "order-1 is RUNNING in AwaitingPayment")

    demo.now += 15 * MINUTE
    demo.say("nobody has paid; the payment window of 15 minutes is over")
    expect(demo.app("sweep"), 0)
    expect(demo.state("order-1"), "order-1 is DONE in Abandoned, outcome abandoned")
    print(f"    {demo.state('order-1')}")


def delivered_order(demo: Demo) -> None:
    demo.say("order-2 begins")
    expect(demo.app("start", "order-2"), 0)

    demo.say("checkout of 19.90")
    expect(demo.send("order-2", "checkout-2", "Checkout", amount=1990), 0)

    demo.now += 3 * MINUTE
    demo.say("the bank reports the payment")
    expect(demo.send("order-2", "payment-2", "PaymentResult", status="authorized"), 0)

    demo.now += 10 * MINUTE
    demo.say("the warehouse has packed the parcel")
    expect(demo.send("order-2", "packed-2", "ParcelPacked"), 0)

    demo.now += 30 * MINUTE
    demo.say("the customer signs for the parcel")
    expect(demo.send("order-2", "parcel-2", "ParcelSigned", by="Ada"), 0)
    expect(demo.state("order-2"), "order-2 is DONE in Delivered, outcome success")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="harel-demo-") as folder:
        demo = Demo(Path(folder))
        abandoned_order(demo)
        delivered_order(demo)
        booked = Bank(Path(folder) / "bank.txt").lines()
    expect([line.split("\t")[1] for line in booked], ["hold_amount", "release_amount", "hold_amount", "charge"])
    print("\nthe bank's ledger, each key once:")
    print("\n".join(f"    {line}" for line in booked))
    print(f"\nthe generated module: {Path(order.__file__ or '').resolve()}")
    print(f"\nthe diagram of {order.NAME} {order.VERSION}:\n")
    print(order.DIAGRAM)


if __name__ == "__main__":
    main()
