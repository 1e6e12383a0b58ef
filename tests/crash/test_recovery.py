"""What a crash leaves behind is taken up by whoever comes next, in order and without standing in others' way
(edges.md, Races and interruptions). Each of these was found by the simulation, or stands beside what it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harel import Definition, DictStore, DurableRunner, Event, Execution, Status, StoreUnavailable, definition_from_dsl
from harel.stores.protocol import Effects, Loaded
from harel.testing import FakeClock

ORDER = """
event Stock {}
event Fraud {}
machine order {
  initial Checks
  orthogonal Checks {
    timeout 60
    state Goods { on enter act  initial Ask  state Ask { timeout 30 }  final Fine success {}
      from Ask to Fine on Stock | Timeout }
    state Money { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Fraud }
  }
  final Paid success {}
  final Failed rejected {}
  from Checks join all to Paid else to Failed
  from Checks to Failed on Timeout
}
machine note { initial Written  final Written success {} }
"""


class Stopped(BaseException):
    """The process is gone."""


class Broken(DictStore):
    """A store with one call that fails when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.trouble: Callable[[str, str], BaseException | None] = lambda method, execution_id: None

    def _meet(self, method: str, execution_id: str) -> None:
        trouble = self.trouble(method, execution_id)
        if trouble is not None:
            raise trouble

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        self._meet("load_step", execution_id)
        return super().load_step(execution_id, event_id)

    def create(self, execution: Execution, effects: Effects) -> None:
        self._meet("create", execution.id)
        super().create(execution, effects)


def quiet(stm: Any, event: Event) -> None:
    """An action that does nothing."""


def machines(act: Callable[..., Any] = quiet) -> list[Definition]:
    return [definition_from_dsl(ORDER, name, actions={"act": act}) for name in ("order", "note")]


@pytest.fixture
def store() -> Broken:
    return Broken()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def half_made(store: Broken, clock: FakeClock) -> DurableRunner:
    """A new process; the one before it died when `o-1` was there and none of its regions."""
    store.trouble = lambda method, id: Stopped() if (method, id) == ("create", "o-1/Checks.Goods/1") else None
    with pytest.raises(Stopped):
        DurableRunner(store, machines(), clock=clock).create("order", execution_id="o-1")
    store.trouble = lambda method, id: None
    assert store.ids_with_prefix("") == ["o-1"]
    return DurableRunner(store, machines(), clock=clock)


def test_a_repeated_create_starts_the_children_that_its_creator_could_not(
    store: Broken, half_made: DurableRunner
) -> None:
    half_made.create("order", execution_id="o-1", exist_ok=True)

    assert store.ids_with_prefix("") == ["o-1", "o-1/Checks.Goods/1", "o-1/Checks.Money/1"]


def test_an_event_for_regions_that_are_not_started_is_not_lost(store: Broken, half_made: DurableRunner) -> None:
    half_made.process("o-1", Event("Stock"))

    assert store.load("o-1/Checks.Goods/1").outcome == "success"
    assert half_made.process("o-1", Event("Fraud")).outcome == "success"


def test_a_message_for_a_child_that_another_process_is_about_to_start_waits(
    store: Broken, half_made: DurableRunner
) -> None:
    store.trouble = lambda method, id: StoreUnavailable("busy") if method == "create" else None
    for event in (Event("Stock", id="s"), Event("Stock", id="s")):
        with pytest.raises(StoreUnavailable):
            half_made.process("o-1", event)
    store.trouble = lambda method, id: None
    half_made.create("note")

    assert store.load("o-1/Checks.Goods/1").outcome == "success"
    assert store.pending_outbox() == []


def test_a_store_out_of_reach_does_not_change_the_order_of_deadlines(
    store: Broken, half_made: DurableRunner, clock: FakeClock
) -> None:
    half_made.fire_due_timers()
    half_made.process("o-1", Event("Fraud"))
    clock.advance(60)
    store.trouble = lambda method, id: StoreUnavailable("busy") if id == "o-1/Checks.Goods/1" else None
    with pytest.raises(StoreUnavailable):
        half_made.fire_due_timers()
    held_back = store.load("o-1")
    store.trouble = lambda method, id: None
    half_made.fire_due_timers()

    assert held_back.active_path == "Checks"
    assert store.load("o-1").outcome == "success"


def test_what_cannot_be_delivered_does_not_stand_in_the_way_of_others(store: Broken, half_made: DurableRunner) -> None:
    def fail(stm: Any, event: Event) -> None:
        raise ValueError("no")

    strict = DurableRunner(store, machines(fail), on_action_error="raise", clock=FakeClock())
    note = strict.create("note", execution_id="n-1")
    with pytest.raises(ValueError, match="no"):
        strict.create("order", execution_id="o-1", exist_ok=True)
    strict.fire_due_timers()

    assert note.status is Status.DONE
    assert len(store.pending_spawns()) == 1
