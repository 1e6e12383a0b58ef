"""A real process is killed at five points of a step; every guarantee of runtime.md section 4 is kept on SQLite."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harel import DurableRunner, Event, SqliteStore, Status
from harel.stores.protocol import all_executions

from .victim import POINTS, Ledger, machine

REPOSITORY = Path(__file__).parents[2]


class Shop:
    """The database and ledger of one test, and runners that share nothing with the process that was killed."""

    def __init__(self, folder: Path) -> None:
        self.database = str(folder / "orders.db")
        self.ledger = Ledger(folder / "ledger.txt")
        self.now = 0.0
        self.restart().create("order", execution_id="o-1")

    def restart(self) -> DurableRunner:
        return DurableRunner(SqliteStore(self.database), [machine(self.ledger)], clock=lambda: self.now)

    def killed_at(self, point: str) -> int:
        command = [sys.executable, "-m", "tests.crash.victim", self.database, str(self.ledger.path), point]
        return subprocess.run(command, cwd=REPOSITORY, timeout=60, check=False).returncode

    def tree(self) -> dict[str, str]:
        store = SqliteStore(self.database)
        return {execution.key or "": execution.active_path for execution in all_executions(store)}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


@pytest.mark.parametrize("point", POINTS)
def test_the_same_event_again_ends_like_the_calm_run(shop: Shop, point: str) -> None:
    assert shop.killed_at(point) == -signal.SIGKILL

    order = shop.restart().process("o-1", Event("Pay", id="pay-1"))

    assert order.active_path == "Checks"
    assert shop.tree() == {"": "Checks", "Checks.Goods": "Checks.Goods.Ask", "Checks.Money": "Checks.Money.Ask"}
    assert set(shop.ledger.keys()) == {"o-1:pay-1:0:charge"}, "every attempt has the same idempotency key"


@pytest.mark.parametrize("point", POINTS)
def test_before_the_commit_nothing_has_moved_and_after_it_everything_has(shop: Shop, point: str) -> None:
    shop.killed_at(point)

    store = SqliteStore(shop.database)
    order = store.load("o-1")
    committed = point in ("after-commit", "between-children")
    assert order.active_path == ("Checks" if committed else "Cart")
    assert store.is_processed("o-1", "pay-1") is committed
    assert [timer.path for timer in store.timers("o-1")] == (["Checks"] if committed else [])
    assert len(store.pending_spawns()) == (1 if committed else 0)


@pytest.mark.parametrize("point", ["after-commit", "between-children"])
def test_a_sweep_of_a_new_process_finishes_the_fork_and_the_timer_still_fires(shop: Shop, point: str) -> None:
    shop.killed_at(point)

    shop.now = 899.0
    assert shop.restart().fire_due_timers() == 0
    assert set(shop.tree()) == {"", "Checks.Goods", "Checks.Money"}
    assert SqliteStore(shop.database).pending_spawns() == []
    shop.now = 900.0
    assert shop.restart().fire_due_timers() == 1
    assert SqliteStore(shop.database).load("o-1").outcome == "expired"


@pytest.mark.parametrize("point", POINTS)
def test_the_join_fires_once_after_any_of_them(shop: Shop, point: str) -> None:
    shop.killed_at(point)
    for event in (Event("Pay", id="pay-1"), Event("Stock", id="s"), Event("Stock", id="s"), Event("Fraud", id="f")):
        order = shop.restart().process("o-1", event)

    assert (order.status, order.outcome) == (Status.DONE, "success")
    assert order.context["region_results"] == {
        "Checks.Goods": {"outcome": "success"},
        "Checks.Money": {"outcome": "success"},
    }


def test_a_calm_process_ends_there_too(shop: Shop) -> None:
    assert shop.killed_at("never") == 0
    assert shop.tree()[""] == "Checks"
    assert shop.ledger.keys() == ["o-1:pay-1:0:charge"]
