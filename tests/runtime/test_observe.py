"""`ObservedStore`: one call of the observer for every committed step, and for nothing else (runtime.md section 1)."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import pytest

from harel import (
    Definition,
    DictStore,
    DurableRunner,
    Event,
    Execution,
    ExecutionAlreadyExists,
    ObservedStore,
    Status,
    Step,
    StoreConflict,
    StoreUnavailable,
    definition_from_dsl,
)
from harel.stores.names import checked_prefix
from harel.stores.protocol import Effects, Store
from harel.testing import FakeClock, StoreContract

ORDER = """
event Checkout {}
event Approve {}

machine order version 3 {
  initial Cart
  state Cart {}
  orthogonal Checks {
    state Fraud { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Approve }
    state Stock { initial Ask  state Ask { timeout 60 }  final Fine success {}  from Ask to Fine on Timeout }
  }
  final Done success {}

  from Cart to Checks on Checkout
  from Checks join all to Done
}
"""


class Inner(DictStore):
    """A store that another writer overtakes, or whose answer gets lost, as often as a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.lost_races = 0
        self.lost_answers = 0

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        if self.lost_races:
            self.lost_races -= 1
            raise StoreConflict(execution.id, expected_version)
        super().commit(execution, expected_version, effects)
        if self.lost_answers:
            self.lost_answers -= 1
            raise StoreUnavailable("the connection was cut")


@pytest.fixture
def inner() -> Inner:
    return Inner()


@pytest.fixture
def seen() -> list[Step]:
    return []


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1000.0)


@pytest.fixture(scope="module")
def machine() -> Definition:
    return definition_from_dsl(ORDER)


@pytest.fixture
def runner(inner: Inner, seen: list[Step], clock: FakeClock, machine: Definition) -> DurableRunner:
    return DurableRunner(ObservedStore(inner, seen.append), [machine], clock=clock)


def lines(seen: list[Step]) -> list[str]:
    return [f"{step.execution_id}: {step.event}, {step.path_from or '-'} to {step.path_to}" for step in seen]


def test_every_step_of_a_tree_is_told_once_in_the_order_of_the_commits(
    runner: DurableRunner, seen: list[Step], clock: FakeClock
) -> None:
    runner.create("order", execution_id="o-1")
    runner.process("o-1", Event("Checkout"))
    fraud, stock = (child.id for child in runner.store.load("o-1").children.values())
    runner.process("o-1", Event("Approve"))
    clock.advance(60)
    runner.fire_due_timers()

    assert lines(seen) == [
        "o-1: Start, - to Cart",
        "o-1: Checkout, Cart to Checks",
        f"{fraud}: Start, Checks.Fraud to Checks.Fraud.Ask",
        f"{stock}: Start, Checks.Stock to Checks.Stock.Ask",
        "o-1: Approve, Checks to Checks",
        f"{fraud}: Approve, Checks.Fraud.Ask to Checks.Fraud.Fine",
        f"{stock}: Approve, Checks.Stock.Ask to Checks.Stock.Ask",
        "o-1: Finished, Checks to Checks",
        f"{stock}: Timeout, Checks.Stock.Ask to Checks.Stock.Fine",
        "o-1: Finished, Checks to Done",
    ]


def test_a_step_says_what_a_metric_or_a_log_line_needs(runner: DurableRunner, seen: list[Step]) -> None:
    runner.create("order", execution_id="o-1")
    runner.terminate("o-1")

    assert seen[-1] == Step(
        execution_id="o-1", root_id="o-1", machine="order", version=3, event="Cancel", path_from="Cart", path_to="Cart",
        status=Status.CANCELLED, outcome=None, error=None, time=1000.0, number=2,
    )  # fmt: skip


def test_a_step_that_lost_a_race_is_told_when_it_has_won(runner: DurableRunner, inner: Inner, seen: list[Step]) -> None:
    runner.create("order", execution_id="o-1")
    inner.lost_races = 2
    runner.process("o-1", Event("Checkout"))

    assert [step.event for step in seen if step.execution_id == "o-1"] == ["Start", "Checkout"]


def test_a_step_that_is_never_committed_is_never_told(runner: DurableRunner, inner: Inner, seen: list[Step]) -> None:
    runner.create("order", execution_id="o-1")
    inner.lost_races = 4
    with pytest.raises(StoreConflict):
        runner.process("o-1", Event("Checkout"))
    with pytest.raises(ExecutionAlreadyExists):
        runner.create("order", execution_id="o-1")

    assert lines(seen) == ["o-1: Start, - to Cart"]


def test_a_commit_whose_answer_was_lost_is_told_once(runner: DurableRunner, inner: Inner, seen: list[Step]) -> None:
    runner.create("order", execution_id="o-1")
    inner.lost_answers = 1
    runner.process("o-1", Event("Checkout"))

    assert [step.event for step in seen if step.execution_id == "o-1"] == ["Start", "Checkout"]


def test_an_observer_that_raises_is_logged_and_the_step_stands(
    inner: Inner, machine: Definition, caplog: pytest.LogCaptureFixture
) -> None:
    def observer(step: Step) -> None:
        raise RuntimeError("the metrics server is down")

    runner = DurableRunner(ObservedStore(inner, observer), [machine])
    with caplog.at_level(logging.ERROR, logger="harel"):
        order = runner.create("order", execution_id="o-1")

    assert (order.active_path, inner.load("o-1").active_path) == ("Cart", "Cart")
    assert [record.getMessage() for record in caplog.records] == [
        "the observer failed at step 1 of execution o-1; the step stands"
    ]


def test_a_step_is_frozen() -> None:
    step = Step("o-1", "o-1", "order", 1, "Start", "", "Cart", Status.RUNNING, None, None, 0.0, 1)
    with pytest.raises(AttributeError):
        step.status = Status.DONE


def test_every_method_of_the_protocol_is_there_with_its_parameters() -> None:
    wanted = {name: method for name, method in vars(Store).items() if inspect.isfunction(method) and name[0] != "_"}
    for name, method in wanted.items():
        assert inspect.signature(getattr(ObservedStore, name)) == inspect.signature(method), name


class TestObservedStore(StoreContract):
    """It keeps every promise of the store that it wraps."""

    @pytest.fixture
    def open_store(self) -> Any:
        kept: dict[str, DictStore] = {}
        return lambda prefix="harel": ObservedStore(
            kept.setdefault(checked_prefix(prefix), DictStore()), lambda step: None
        )
