"""What callers and actions do wrong, and what comes of it: one clear error, and an execution as it was (edges.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harel import (
    DictStore,
    DurableRunner,
    Event,
    Execution,
    ExecutionNotFound,
    ExecutionSuspended,
    PurgeRefused,
    ResolveError,
    SqliteStore,
    Status,
    StoreConflict,
    definition_from_dsl,
)
from harel.stores.protocol import Effects, Store
from harel.testing import FakeClock

ORDER = """
event Go {}
event Add {}
event Pick {}
event Stop {}
machine order {
  context { n: int = 0  left: any? }
  initial Cart
  state Cart { timeout 60 }
  state Acting { on enter act }
  state Work { initial Inner  state Inner {} }
  orthogonal Checks { state A { initial X  state X {}  final Y success {}  from X to Y on Go } }
  state Left {}
  final Done success {}
  from Cart to Acting on Go
  from Cart to Cart on Add set context.n = context.n + 1
  from Cart select act returns {"left", "right"} on Pick { "left" to Left  "right" to Work }
  from Cart to Done on Stop
  from Cart to Checks on Timeout
  from Acting to Left on Stop
  from Work to Done on Stop
  from Left to Done on Stop
  from Checks join all to Done else to Done
}
"""

Act = Callable[..., Any]


def quiet(stm: Any, event: Event) -> None:
    """An action that does nothing."""


def standing_still() -> float:
    return 0.0


def runner(store: Store, act: Act = quiet, clock: Callable[[], float] = standing_still) -> DurableRunner:
    return DurableRunner(store, [definition_from_dsl(ORDER, "order", actions={"act": act})], clock=clock)


@pytest.fixture
def store() -> DictStore:
    return DictStore()


def outcome_of(act: Act, event: str = "Go") -> Execution:
    """What becomes of an order whose action is this one."""
    orders = runner(DictStore(), act)
    return orders.process(orders.create("order").id, Event(event))


# --- two writers


def test_two_processes_that_write_one_execution_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "orders.db"
    runner(SqliteStore(path)).create("order", execution_id="o-1")

    def add(process: int) -> None:
        store = SqliteStore(path)
        orders = runner(store)
        for number in range(8):
            while True:
                try:
                    orders.process("o-1", Event("Add", id=f"{process}-{number}"))
                    break
                except StoreConflict:
                    continue
        store.close()

    threads = [threading.Thread(target=add, args=(process,)) for process in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    store = SqliteStore(path)

    assert store.load("o-1").context["n"] == 24
    store.close()


class Answerless(DictStore):
    """A store whose commits are written, and whose answers get lost once each."""

    def __init__(self, error: Exception, *, written: bool) -> None:
        super().__init__()
        self.error: Exception | None = error
        self._written = written

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        error, self.error = self.error, None
        if error is None or self._written:
            super().commit(execution, expected_version, effects)
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [OSError("connection reset"), RuntimeError("of a backend")], ids=repr)
def test_a_commit_whose_answer_is_lost_is_looked_up(error: Exception) -> None:
    store = Answerless(error, written=True)
    orders = runner(store)
    orders.create("order", execution_id="o-1")

    assert orders.process("o-1", Event("Add")).context["n"] == 1


def test_a_commit_that_failed_is_the_callers_to_repeat() -> None:
    store = Answerless(OSError("disk full"), written=False)
    orders = runner(store)
    before = orders.create("order", execution_id="o-1")
    with pytest.raises(OSError, match="disk full"):
        orders.process("o-1", Event("Add", id="a"))

    assert store.load("o-1") == before
    assert orders.process("o-1", Event("Add", id="a")).context["n"] == 1


# --- actions


@pytest.mark.parametrize(
    "result", [None, 7, object(), [1], {"a": {1}}, float("nan")], ids=lambda value: type(value).__name__
)
def test_what_an_action_returns_is_not_looked_at(result: object) -> None:
    assert outcome_of(lambda stm, event: result).active_path == "Acting"


class Nameless:
    def __str__(self) -> str:
        raise RuntimeError("no name")


@pytest.mark.parametrize("label", ["up", None, 3, b"left", ["left"]], ids=repr)
def test_a_selector_that_names_no_branch_is_an_error(label: object) -> None:
    failed = outcome_of(lambda stm, event: label, "Pick")

    assert failed.status is Status.FAILED
    assert (failed.error or "").startswith("SelectorError: act returned")


def test_a_selectors_result_that_cannot_be_named_is_an_error() -> None:
    failed = outcome_of(lambda stm, event: Nameless(), "Pick")

    assert (failed.status, failed.error) == (Status.FAILED, "RuntimeError: no name")


def test_an_action_that_waits_or_yields_never_ran(recwarn: pytest.WarningsRecorder) -> None:
    async def later(stm: Any, event: Event) -> None:
        raise AssertionError

    def generator(stm: Any, event: Event) -> Any:
        yield

    for act in (lambda stm, event: later(stm, event), generator):
        failed = outcome_of(act)
        assert failed.status is Status.FAILED
        assert "AsyncDurableRunner" in (failed.error or "")
    assert [str(warning.message) for warning in recwarn] == []


def test_an_async_action_is_refused_when_the_runner_is_made() -> None:
    async def act(stm: Any, event: Event) -> None:
        """Never called."""

    with pytest.raises(ResolveError, match="act of machine order is async"):
        runner(DictStore(), act)


def circle(context: dict[str, Any]) -> None:
    context["left"] = [context]


def abyss(context: dict[str, Any]) -> None:
    inner: list[Any] = []
    for _ in range(100_000):
        inner = [inner]
    context["left"] = inner


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda context: context.update(left={1, 2}), "left: set is not a JSON value"),
        (lambda context: context.update(left=(1,)), "left: tuple"),
        (lambda context: context.update(left=float("inf")), "left"),
        (lambda context: context.update(left={1: "a"}), "left"),
        (lambda context: context.update({3: "a"}), "3"),
        (lambda context: context.update(left=10**2000), "left"),
        (lambda context: context.update(n="many"), "n"),
        (lambda context: context.pop("n"), "n"),
        (circle, "left"),
        (abyss, "left"),
    ],
)
def test_a_context_that_cannot_be_kept_fails_the_step_and_stays_as_it_was(
    spoil: Callable[[dict[str, Any]], object], said: str
) -> None:
    failed = outcome_of(lambda stm, event: spoil(stm.execution_ctx) and None)

    assert (failed.status, failed.active_path, failed.context) == (Status.FAILED, "Cart", {"n": 0})
    assert (failed.error or "").startswith("ContextError: ")
    assert said in (failed.error or "")


def test_an_error_that_cannot_be_read_is_survived() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ValueError

    def act(stm: Any, event: Event) -> None:
        raise Silent

    assert (outcome_of(act).error or "").startswith("Silent")


def test_an_action_cannot_change_the_event_for_the_one_after_it() -> None:
    def act(stm: Any, event: Event) -> None:
        event.data["spoilt"] = True

    sent = Event("Go", {"amount": 1})
    orders = runner(DictStore(), act)
    orders.process(orders.create("order").id, sent)

    assert sent.data == {"amount": 1}


# --- events that come at the wrong time


def test_an_event_for_an_execution_that_has_ended_is_ignored(store: DictStore) -> None:
    orders = runner(store)
    orders.create("order", execution_id="o-1")
    done = orders.process("o-1", Event("Stop"))

    assert orders.process("o-1", Event("Go")) == done
    assert store.load("o-1") == done


def test_an_event_for_a_dead_letter_is_ignored(store: DictStore) -> None:
    def fail(stm: Any, event: Event) -> None:
        raise ValueError("no")

    orders = runner(store, fail)
    orders.create("order", execution_id="o-1")
    failed = orders.process("o-1", Event("Go"))

    assert orders.process("o-1", Event("Add")) == failed


def test_an_event_for_a_suspended_execution_is_not_used_up(store: DictStore) -> None:
    orders = runner(store)
    orders.create("order", execution_id="o-1")
    orders.suspend("o-1")
    with pytest.raises(ExecutionSuspended, match="o-1"):
        orders.process("o-1", Event("Add", id="a"))
    orders.resume("o-1")

    assert orders.process("o-1", Event("Add", id="a")).context["n"] == 1


@pytest.mark.parametrize("command", ["cancel", "terminate", "suspend", "resume", "purge"])
def test_an_unknown_execution_is_named_by_every_command(store: DictStore, command: str) -> None:
    with pytest.raises(ExecutionNotFound, match="o-9"):
        getattr(runner(store), command)("o-9")


def test_an_unknown_execution_is_named_by_process_and_redrive(store: DictStore) -> None:
    with pytest.raises(ExecutionNotFound, match="o-9"):
        runner(store).process("o-9", Event("Go"))
    with pytest.raises(ExecutionNotFound, match="o-9"):
        runner(store).redrive("o-9", "Cart")


# --- commands that cannot be


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("Work", "composite"),
        ("Checks", "orthogonal"),
        ("Checks.A", "region|composite"),
        ("Checks.A.X", "run by the region"),
        ("", "machine"),
        ("Nowhere", "no state 'Nowhere'"),
        ("Cart.Nowhere", "no state"),
    ],
)
def test_a_redrive_to_what_is_no_leaf_of_its_own_is_refused(store: DictStore, target: str, said: str) -> None:
    def fail(stm: Any, event: Event) -> None:
        raise ValueError("no")

    orders = runner(store, fail)
    orders.create("order", execution_id="o-1")
    failed = orders.process("o-1", Event("Go"))
    with pytest.raises(ValueError, match=said):
        orders.redrive("o-1", target)

    assert store.load("o-1") == failed


def test_a_redrive_of_what_is_no_dead_letter_is_refused(store: DictStore) -> None:
    order = runner(store).create("order", execution_id="o-1")
    with pytest.raises(ValueError, match=r"o-1.*is RUNNING"):
        runner(store).redrive("o-1", "Left")

    assert store.load("o-1") == order


def test_a_purge_of_a_live_tree_is_refused_and_deletes_nothing(store: DictStore) -> None:
    clock = FakeClock()
    orders = runner(store, clock=clock)
    orders.create("order", execution_id="o-1")
    clock.advance(60)
    orders.fire_due_timers()
    archived: list[str] = []
    with pytest.raises(PurgeRefused, match=r"o-1.*is RUNNING"):
        orders.purge("o-1", lambda execution: archived.append(execution.id))
    with pytest.raises(PurgeRefused, match="belongs to 'o-1'"):
        orders.purge("o-1/Checks.A/1")

    assert store.ids_with_prefix("") == ["o-1", "o-1/Checks.A/1"]
    assert archived == []


# --- clocks


def test_a_clock_that_goes_back_delays_and_nothing_else(store: DictStore) -> None:
    clock = FakeClock(1_000.0)
    orders = runner(store, clock=clock)
    orders.create("order", execution_id="o-1")
    clock.now = 500.0
    added = orders.process("o-1", Event("Add"))
    early = orders.fire_due_timers()
    clock.now = 1_060.0
    fired = orders.fire_due_timers()

    assert (added.created_at, added.updated_at) == (1_000.0, 1_000.0)
    assert (early, fired) == (0, 1)
    assert store.load("o-1").active_path == "Checks"


def test_what_ends_after_the_clock_went_back_has_not_ended_before_it_began(store: DictStore) -> None:
    clock = FakeClock(1_000.0)
    orders = runner(store, clock=clock)
    orders.create("order", execution_id="o-1")
    clock.now = 10.0
    done = orders.process("o-1", Event("Stop"))

    assert (done.finished_at, done.updated_at) == (1_000.0, 1_000.0)


def test_a_clock_that_jumps_far_fires_each_armed_timer_once(store: DictStore) -> None:
    clock = FakeClock()
    orders = runner(store, clock=clock)
    for number in range(3):
        orders.create("order", execution_id=f"o-{number}")
    clock.now = 1e10

    assert (orders.fire_due_timers(), orders.fire_due_timers()) == (3, 0)
