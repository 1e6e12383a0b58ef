"""Time: deadlines over restarts, clocks that jump, sweepers that meet, machines that run for years."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import pytest
from cases.support import Start

from harel import DurableRunner, Event, Stm
from harel.stores.protocol import Store
from harel.testing import FakeClock


@pytest.mark.parametrize("replaced_at", [(), (400,), (400, 899), (1, 2, 3, 4)])
def test_a_timer_keeps_its_deadline_over_restarts(
    start: Start, store: Store, clock: FakeClock, replaced_at: tuple[int, ...]
) -> None:
    order = start("01-timer-over-restart", "order").create("order")  # the payment window closes at 900
    for moment in replaced_at:
        clock.now = moment
        assert start("01-timer-over-restart", "order").fire_due_timers() == 0

    clock.now = 899.9
    assert start("01-timer-over-restart", "order").fire_due_timers() == 0
    clock.now = 900
    assert start("01-timer-over-restart", "order").fire_due_timers() == 1
    assert start("01-timer-over-restart", "order").fire_due_timers() == 0
    assert store.load(order.id).outcome == "abandoned"


def test_a_clock_set_back_neither_fires_early_nor_loses_a_timer(start: Start, store: Store, clock: FakeClock) -> None:
    clock.now = 10_000
    runner = start("06-clock-jumps", "order")
    waits, moves = runner.create("order"), runner.create("order")  # both are due at 10,060
    clock.now = 6_400
    moved = runner.process(moves.id, Event("Next"))  # due at 6,460

    assert moved.updated_at >= moved.created_at
    assert [timer.due for timer in store.timers(moves.id)] == [6_460]
    clock.now = 6_459
    assert runner.fire_due_timers() == 0
    clock.now = 6_460
    assert runner.fire_due_timers() == 1
    assert (store.load(moves.id).active_path, store.load(waits.id).active_path) == ("LateB", "A")
    clock.now = 10_059
    assert runner.fire_due_timers() == 0
    assert store.load(moves.id).updated_at >= moved.updated_at


def test_a_clock_set_forward_by_a_year_fires_each_timer_once(start: Start, store: Store, clock: FakeClock) -> None:
    runner = start("06-clock-jumps", "order")
    orders = [runner.create("order").id for _ in range(3)]
    clock.advance(365 * 24 * 3600)

    assert runner.fire_due_timers() == 3
    assert runner.fire_due_timers() == 0
    assert {store.load(order).active_path for order in orders} == {"Late"}


def test_a_sweep_that_meets_another_in_an_action_neither_counts_nor_raises(
    start: Start, store: Store, clock: FakeClock
) -> None:
    counts: list[int] = []
    rivals: list[threading.Thread] = []

    def tell(stm: Stm, event: Event) -> None:
        if not rivals:
            rivals.append(threading.Thread(target=lambda: counts.append(rival.fire_due_timers())))
            rivals[0].start()

    first, rival = (start("30-two-sweepers", "order", actions={"tell": tell}) for _ in range(2))
    order = first.create("order")
    clock.now = 60
    counts.append(first.fire_due_timers())
    rivals[0].join(30)

    assert not rivals[0].is_alive()
    assert sum(counts) == 1
    assert store.load(order.id).context["fired"] == 1


def test_two_sweepers_count_every_timer_once_between_them(start: Start, store: Store, clock: FakeClock) -> None:
    actions = {"tell": lambda stm, event: None}
    one, other = (start("30-two-sweepers", "order", actions=actions) for _ in range(2))
    orders = [one.create("order").id for _ in range(40)]
    clock.now = 60
    counts: list[int] = []
    sweeps = [threading.Thread(target=lambda r=runner: counts.append(r.fire_due_timers())) for runner in (one, other)]
    for sweep in sweeps:
        sweep.start()
    for sweep in sweeps:
        sweep.join(60)

    assert sum(counts) == 40
    assert all(store.load(order).context["fired"] == 1 for order in orders)


def test_after_an_hour_of_silence_a_poller_asks_once_and_orders_come_oldest_first(
    start: Start, store: Store, clock: FakeClock
) -> None:
    late: list[str] = []

    def tell(stm: Stm, event: Event) -> None:
        late.append(stm.execution_id)

    runner = start("34-catch-up-after-downtime", "poller", "order", actions={"tell": tell})
    poller = runner.create("poller")
    orders = []
    for number in range(250):  # more than any page of a store
        clock.now = number / 10
        orders.append(runner.create("order").id)
    clock.now = 3600

    assert runner.fire_due_timers() == 251
    assert runner.fire_due_timers() == 0
    assert late == orders
    assert store.load(poller.id).context["rounds"] == 1
    clock.now = 3659
    assert runner.fire_due_timers() == 0
    clock.now = 3660
    assert runner.fire_due_timers() == 1


def test_an_event_that_comes_before_the_sweep_wins_over_an_overdue_timer(
    start: Start, store: Store, clock: FakeClock
) -> None:
    runner = start("38-overdue-timer-and-late-event", "order")
    order = runner.create("order")  # its window closes at 900, its ttl runs out at 950
    clock.now = 940
    assert runner.process(order.id, Event("Paid")).active_path == "Paid"
    clock.now = 1000

    assert runner.fire_due_timers() == 0
    assert store.load(order.id).active_path == "Paid"


def test_in_one_sweep_the_older_due_goes_first(start: Start, store: Store, clock: FakeClock) -> None:
    runner = start("38-overdue-timer-and-late-event", "order", trace=True)
    order = runner.create("order")
    clock.now = 1000
    runner.fire_due_timers()

    assert [row["event"] for row in store.read_trace(order.id)][-2:] == ["Timeout", "Expired"]
    assert (store.load(order.id).active_path, store.load(order.id).outcome) == ("Gone", "expired")


def rounds(runner: DurableRunner, clock: FakeClock, count: int) -> None:
    for _ in range(count):
        clock.advance(60)
        assert runner.fire_due_timers() == 1


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_poller_that_runs_for_years_does_not_grow(
    start: Start, store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harel.stores.memory.DEDUPE_LIMIT", 100)
    runner = start("28-a-poller-that-never-ends", "poller", trace=True)
    poller = runner.create("poller").id

    def size() -> int:
        kept: tuple[Any, ...] = (store.load(poller).to_json(), store.timers(poller), store.pending_outbox())
        return len(repr(kept))

    def nudges(numbers: range) -> int:
        for number in numbers:
            clock.advance(1)
            runner.process(poller, Event("Nudge", id=f"n-{number}"))
        return tracemalloc.get_traced_memory()[0]

    rounds(runner, clock, 10)
    small = size()
    tracemalloc.start()
    try:
        rounds(runner, clock, 300)
        first = nudges(range(500))
        second = nudges(range(500, 1000))
    finally:
        tracemalloc.stop()

    assert size() - small < 50
    assert len(store.read_trace(poller)) == 200
    assert second - first < 20_000
    assert store.load(poller).context["rounds"] == 1310
    runner.process(poller, Event("Nudge", id="n-999"))
    assert store.load(poller).context["rounds"] == 1310
