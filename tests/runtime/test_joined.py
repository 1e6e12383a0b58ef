"""A step inside the caller's transaction: committed and rolled back with the caller's own rows (edges.md, Races)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harel import AsyncDurableRunner, Definition, DictStore, DurableRunner, Event, SqliteStore, definition_from_dsl

SOURCE = """
event Pay {}
event Ok {}
machine order {
  initial Cart
  state Cart {}
  orthogonal Checks {
    timeout 60
    state A { initial Wait  state Wait {}  final Fine success {}  from Wait to Fine on Ok }
  }
  final Paid success {}
  final Late expired {}
  from Cart to Checks on Pay
  from Checks to Paid
  from Checks to Late on Timeout
}
"""


class Shop:
    """An application with a table of its own in the store's file."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.machine: Definition = definition_from_dsl(SOURCE)
        self.store = SqliteStore(self.path)
        self.runner = DurableRunner(self.store, [self.machine], clock=lambda: 0.0)
        self.runner.create("order", execution_id="o-1")
        with closing(self.connect()) as connection, connection:
            connection.execute("CREATE TABLE invoice (id TEXT PRIMARY KEY)")

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path)

    def invoices(self) -> list[str]:
        with closing(self.connect()) as connection:
            return [id for (id,) in connection.execute("SELECT id FROM invoice")]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path / "shop.db")
    yield shop
    shop.store.close()


def test_one_commit_holds_the_step_and_the_callers_rows(shop: Shop) -> None:
    with closing(shop.connect()) as connection, connection:
        connection.execute("INSERT INTO invoice VALUES ('i-1')")
        order = shop.runner.process("o-1", Event("Pay", id="p"), connection=connection)
        assert order.active_path == "Checks"
        assert shop.store.load("o-1").active_path == "Cart", "nothing is seen outside before the commit"

    assert shop.store.load("o-1").active_path == "Checks"
    assert shop.store.is_processed("o-1", "p")
    assert [timer.due for timer in shop.store.timers("o-1")] == [60.0]
    assert shop.invoices() == ["i-1"]


def test_a_rollback_takes_both_back_and_the_event_can_be_sent_again(shop: Shop) -> None:
    with closing(shop.connect()) as connection:
        connection.execute("INSERT INTO invoice VALUES ('i-1')")
        shop.runner.process("o-1", Event("Pay", id="p"), connection=connection)
        connection.rollback()

    assert shop.store.load("o-1").active_path == "Cart"
    assert shop.store.pending_spawns() == []
    assert shop.invoices() == []
    assert shop.runner.process("o-1", Event("Pay", id="p")).active_path == "Checks"


def test_what_the_step_sets_off_is_relayed_after_the_callers_commit(shop: Shop) -> None:
    with closing(shop.connect()) as connection, connection:
        shop.runner.process("o-1", Event("Pay"), connection=connection)
    assert shop.store.ids_with_prefix("o-1/") == []

    assert shop.runner.fire_due_timers() == 0
    assert shop.store.ids_with_prefix("o-1/") == ["o-1/Checks.A/1"]
    assert shop.runner.process("o-1", Event("Ok")).outcome == "success"


def test_the_async_runner_joins_too(shop: Shop) -> None:
    async def pay(connection: sqlite3.Connection) -> str:
        runner = AsyncDurableRunner(shop.store, [shop.machine], clock=lambda: 0.0)
        return (await runner.process("o-1", Event("Pay"), connection=connection)).active_path

    with closing(shop.connect()) as connection:
        assert asyncio.run(pay(connection)) == "Checks"
        connection.rollback()
    assert shop.store.load("o-1").active_path == "Cart"


def test_a_store_without_transactions_says_so() -> None:
    runner = DurableRunner(DictStore(), [definition_from_dsl(SOURCE)], clock=lambda: 0.0)
    order = runner.create("order")

    with pytest.raises(TypeError, match="DictStore has no transactions"):
        runner.process(order.id, Event("Pay"), connection=object())
