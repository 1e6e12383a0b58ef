"""What needs two processes: one is held up between two calls of the store, and the other comes in between.

Each race is a function that runs it and asserts how it ends; `test_races.py` runs them one by one, and the count of
store calls runs them all.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from harel import DictStore, DurableRunner, Event, Execution, Status, StoreUnavailable, definition_from_dsl
from harel.stores.protocol import Effects, Loaded
from harel.testing import FakeClock

ORDER = """
event Stock {}
event Fraud {}
event Count {}
event Split {}
machine order {
  context { start: int = 0 }
  initial Checks
  orthogonal Checks {
    with { n: start }
    state Goods {
      initial Ask
      state Ask {}
      orthogonal Parts { state Left { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Stock } }
      final Fine success {}
      from Ask to Ask on Count set context.n = context.n + 1
      from Ask to Fine on Stock
      from Ask to Parts on Split
      from Parts join all to Fine else to Fine
    }
    state Money { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Fraud }
  }
  final Paid success {}
  final Failed rejected {}
  from Checks join all to Paid else to Failed
}
"""

Rival = Callable[[DurableRunner], object]


class Stopped(BaseException):
    """The process is gone."""


class Between:
    """One process's view of a store: before its call of `method` for `subject`, the rival comes in, once."""

    def __init__(self, store: DictStore, method: str, subject: str, rival: Callable[[], object]) -> None:
        self._store = store
        self._place = (method, subject)
        self._rivals = [rival]

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            subject = getattr(args[0], "id", args[0]) if args else ""
            if (method, str(subject)) == self._place and self._rivals:
                self._rivals.pop()()
            return getattr(self._store, method)(*args)

        return call


def runner_on(store: Any) -> DurableRunner:
    return DurableRunner(store, [definition_from_dsl(ORDER, "order")], clock=FakeClock())


def meet(method: str, subject: str, rival: Rival, work: Rival) -> DictStore:
    """Do the work on a store, with the rival coming in between; the store as it is then."""
    store = DictStore()
    slow = Between(store, method, subject, lambda: rival(runner_on(store)))
    work(runner_on(slow))
    return store


def start(runner: DurableRunner) -> None:
    runner.create("order", execution_id="o-1")


def sweep(runner: DurableRunner) -> None:
    runner.fire_due_timers()


def die() -> None:
    raise Stopped


def half_made(method: str, subject: str) -> DictStore:
    """A store whose only process died at that call."""
    store = DictStore()
    with suppress(Stopped):
        start(runner_on(Between(store, method, subject, die)))
        raise AssertionError("the call was not made")
    return store


def two_start_the_same_children() -> None:
    """Each child exists once, and nothing waits."""
    store = meet("create", "o-1/Checks.Money/1", sweep, start)

    assert store.ids_with_prefix("") == ["o-1", "o-1/Checks.Goods/1", "o-1/Checks.Money/1"]
    assert store.pending_spawns() == []
    assert runner_on(store).process("o-1", Event("Stock")).status is Status.RUNNING
    assert runner_on(store).process("o-1", Event("Fraud")).outcome == "success"


def two_deliver_the_same_event() -> None:
    """It takes effect once."""
    store = DictStore()
    start(runner_on(store))
    slow = Between(store, "load_step", "o-1/Checks.Goods/1", lambda: sweep(runner_on(store)))
    runner_on(slow).process("o-1", Event("Count"))

    assert store.load("o-1/Checks.Goods/1").context == {"n": 1}
    assert store.pending_outbox() == []


def an_event_for_a_child_that_is_not_started_yet() -> None:
    """It waits: who starts the child delivers it."""
    store = DictStore()
    start(runner_on(store))
    part = "o-1/Checks.Goods/1/Checks.Goods.Parts.Left/2"

    def split_and_die() -> None:
        with suppress(Stopped):
            runner_on(Between(store, "create", part, die)).process("o-1/Checks.Goods/1", Event("Split"))

    runner_on(Between(store, "load_step", "o-1/Checks.Goods/1", split_and_die)).process("o-1", Event("Stock"))
    assert store.load("o-1/Checks.Goods/1").active_path == "Checks.Goods.Parts"
    assert part not in store.ids_with_prefix("")
    sweep(runner_on(store))

    assert store.load(part).outcome == "success"
    assert store.load("o-1/Checks.Goods/1").outcome == "success"
    assert store.pending_outbox() == []


def a_child_that_is_started_while_its_tree_is_ended() -> None:
    """It is cancelled by the process that started it: nobody else knows that it is there."""

    def end(runner: DurableRunner) -> None:
        runner.terminate("o-1")
        runner.fire_due_timers()

    store = meet("create", "o-1/Checks.Money/1", end, start)

    assert store.load("o-1/Checks.Goods/1").status is Status.CANCELLED
    assert store.load("o-1/Checks.Money/1").status is Status.CANCELLED
    assert (store.pending_spawns(), store.pending_outbox()) == ([], [])


def a_child_that_is_started_while_its_tree_is_purged() -> None:
    """It does not go on alone."""

    def purge(runner: DurableRunner) -> None:
        runner.terminate("o-1")
        runner.purge("o-1")

    store = half_made("load", "o-1")
    sweep(runner_on(Between(store, "create", "o-1/Checks.Money/1", lambda: purge(runner_on(store)))))

    assert store.ids_with_prefix("") == ["o-1/Checks.Money/1"]
    assert store.load("o-1/Checks.Money/1").status is Status.CANCELLED


def children_that_nobody_waits_for_any_more() -> None:
    """The tree is ended before its children were started: they never are."""
    store = half_made("load", "o-1")
    runner = runner_on(store)
    runner.terminate("o-1")
    runner.fire_due_timers()

    assert store.ids_with_prefix("") == ["o-1"]
    assert (store.pending_spawns(), store.pending_outbox()) == ([], [])


def a_parent_that_is_purged_meanwhile() -> None:
    """Whoever was about to start its children finds nothing to do."""
    store = half_made("load", "o-1")

    def purge(runner: DurableRunner) -> None:
        runner.terminate("o-1")
        runner.purge("o-1")

    runner_on(Between(store, "load", "o-1", lambda: purge(runner_on(store)))).fire_due_timers()

    assert store.ids_with_prefix("") == []
    assert (store.pending_spawns(), store.pending_outbox()) == ([], [])


class MixedUp(DictStore):
    """A connection on which the answer to another process's question comes in."""

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        return super().load_step("o-2", event_id)


def the_answer_to_another_question() -> None:
    """The record of another execution is not worked on: the connection is given up, and the event can be sent again."""
    store = MixedUp()
    for order in ("o-2", "o-1"):
        DictStore.create(store, Execution(order, "order", active_path="Checks", version=1), Effects())
    with pytest.raises(StoreUnavailable, match="'o-2' when asked for 'o-1'"):
        runner_on(store).process("o-1", Event("Stock"))


RACES = (
    the_answer_to_another_question,
    two_start_the_same_children,
    two_deliver_the_same_event,
    an_event_for_a_child_that_is_not_started_yet,
    a_child_that_is_started_while_its_tree_is_ended,
    a_child_that_is_started_while_its_tree_is_purged,
    children_that_nobody_waits_for_any_more,
    a_parent_that_is_purged_meanwhile,
)
