"""What edges.md decides of parents and children: order, failures, generations, and what an ended region leaves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harel import DictStore, DurableRunner, Event, Execution, SqliteStore, Status, Stm, definition_from_dsl

Start = Callable[..., DurableRunner]


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def start(log: list[str]) -> Start:
    """`start(text, *machines)` gives a runner with the machines; every action notes its execution and its name."""

    def note(stm: Stm, event: Event, text: str) -> None:
        log.append(text)

    def fail(stm: Stm, event: Event) -> None:
        raise OSError("no stock")

    def run(text: str, *machines: str) -> DurableRunner:
        actions = {"note": note, "fail": fail}
        return DurableRunner(
            DictStore(), [definition_from_dsl(text, machine, actions=actions) for machine in machines], actions=actions
        )

    return run


def child(runner: DurableRunner, parent: Execution, key: str) -> Execution:
    """The child that a parent waits for under a key."""
    return runner.store.load(runner.store.load(parent.id).children[key].id)


def test_results_of_a_fan_out_are_in_numerical_order(start: Start) -> None:
    runner = start(
        """
        machine parcel { initial Packed  final Packed success }
        machine order {
          context { items: any }
          initial Shipping
          state Shipping { invoke parcel for item in items }
          final Shipped success
          from Shipping join all to Shipped else to Shipping
        }
        """,
        "order",
        "parcel",
    )
    shipped = runner.create("order", {"items": list(range(12))})

    assert list(shipped.context["region_results"]) == [f"Shipping:{number}" for number in range(12)]


def test_a_child_that_cannot_be_started_is_born_failed_and_its_siblings_start(start: Start) -> None:
    runner = start(
        """
        event Go {}
        machine parcel {
          context { weight: int }
          initial Packed
          state Packed {}
          final Sent success
          from Packed to Sent on Go
        }
        machine order {
          context { weights: any }
          initial Shipping
          state Shipping { invoke parcel for weight in weights with { weight: weight } }
          final Shipped success
          from Shipping join all to Shipped else to Shipping
        }
        """,
        "order",
        "parcel",
    )
    order = runner.create("order", {"weights": [1, "heavy", 3]})
    statuses = [child(runner, order, f"Shipping:{number}").status for number in range(3)]

    assert statuses == [Status.RUNNING, Status.FAILED, Status.RUNNING]
    assert order.context["_error"] == {
        "type": "ContextError",
        "message": "weight: declared int by machine parcel, and is string",
        "child": "Shipping:1",
    }


LEFT = """
    event Stop {}   event Late {}
    machine order {
      initial Checks
      orthogonal Checks {
        on exit note(text: "checks left")
        state Stock {
          initial Open
          state Open { defer Late }
          final Off cancelled { on enter note(text: "stock off") }
          from Open to Off on Cancel
        }
        state Credit {
          initial Open
          state Open {}
          final Off cancelled { on enter note(text: "credit off") }
          from Open to Off on Cancel
        }
      }
      state Stopped { on enter note(text: "stopped") }
      final Ended success
      from Checks to Stopped on Stop
      from Stopped to Ended on Late
    }
"""


def test_the_parents_step_comes_first_and_whole_then_the_children_in_declaration_order(
    start: Start, log: list[str]
) -> None:
    runner = start(LEFT, "order")
    order = runner.create("order")
    runner.process(order.id, Event("Stop"))

    assert log == ["checks left", "stopped", "stock off", "credit off"]


def test_what_a_cancelled_region_had_deferred_is_dropped(start: Start) -> None:
    runner = start(LEFT, "order")
    order = runner.create("order")
    runner.process(order.id, Event("Late"))
    stopped = runner.process(order.id, Event("Stop"))

    assert (stopped.active_path, stopped.deferred) == ("Stopped", [])


def test_a_return_of_an_earlier_entry_is_ignored(tmp_path: Path) -> None:
    text = """
        event Again {}   event Pay {}
        machine payment { initial Open  state Open {}  final Paid success  from Open to Paid on Pay }
        machine order {
          initial Paying
          state Paying { invoke payment }
          final Paid success
          state Resting {}
          from Paying to Resting on Again
          from Resting to Paying on Again
          from Paying to Paid on Returned
        }
    """
    store = SqliteStore(tmp_path / "orders.db")
    runner = DurableRunner(store, [definition_from_dsl(text, "order"), definition_from_dsl(text, "payment")])
    order = runner.create("order")
    earlier = child(runner, order, "Paying")
    with closing(sqlite3.connect(tmp_path / "orders.db")) as connection:
        runner.process(earlier.id, Event("Pay"), connection=connection)
        connection.commit()  # the end of the payment waits to be relayed
    runner.process(order.id, Event("Again"))
    runner.process(order.id, Event("Again"))

    assert store.load(earlier.id).status is Status.DONE
    assert store.load(order.id).active_path == "Paying"
    assert child(runner, order, "Paying").status is Status.RUNNING


def test_cancelled_regions_count_as_cancelled_and_carry_nothing(start: Start) -> None:
    runner = start(
        """
        event Refuse {}
        machine order {
          initial Checks
          orthogonal Checks {
            cancel_on_failure
            with { seen: seen }
            state Stock  { carry seen  initial Open  state Open {}  final Full success  from Open to Full on Timeout }
            state Credit { initial Open  state Open {}  final Refused rejected  from Open to Refused on Refuse }
          }
          final Done success   final Rejected rejected
          from Checks join all to Done else to Rejected
        }
        """,
        "order",
    )
    order = runner.create("order", {"seen": True})
    rejected = runner.process(order.id, Event("Refuse"))

    assert rejected.outcome == "rejected"
    assert rejected.context["region_results"] == {
        "Checks.Stock": {"outcome": "cancelled"},
        "Checks.Credit": {"outcome": "rejected"},
    }


def test_a_region_with_an_activity_takes_what_the_parent_does_not_name(start: Start, log: list[str]) -> None:
    runner = start(
        """
        event Ping {}   event Stop {}
        machine device {
          initial Working
          orthogonal Working {
            state Motor {
              initial On
              state On { on activity note(text: "motor saw it") }
              final Off success
              from On to Off on Timeout
            }
          }
          final Stopped success
          from Working to Stopped on Stop
        }
        """,
        "device",
    )
    device = runner.create("device")
    runner.process(device.id, Event("Ping"))
    stopped = runner.process(device.id, Event("Stop"))

    assert (log, stopped.active_path) == (["motor saw it"], "Stopped")


def test_a_fork_and_a_fan_out_may_be_left_by_an_automatic_choice(start: Start) -> None:
    runner = start(
        """
        machine parcel { initial Packed  final Packed success }
        machine order {
          context { items: any  express: bool = true }
          initial Shipping
          state Shipping { invoke parcel for item in items }
          final Fast success   final Slow success
          from Shipping choose { when context.express == true to Fast  else to Slow }
        }
        """,
        "order",
        "parcel",
    )

    assert runner.create("order", {"items": [1, 2]}).active_path == "Fast"


def test_a_state_whose_entry_raised_counts_for_history(start: Start) -> None:
    runner = start(
        """
        event Go {}   event Back {}
        machine order {
          initial Work
          state Work {
            initial Plan
            state Plan {}
            state Book { on enter fail }
            from Plan to Book on Go
            from Book to Plan on Go
          }
          state Repair {}
          final Done success
          from Work to Repair on error
          from Repair to Work on Back
          from Repair to Done on Go
        }
        """,
        "order",
    )
    order = runner.create("order")
    repaired = runner.process(order.id, Event("Go"))

    assert (repaired.active_path, repaired.history) == ("Repair", {"Work": "Book"})
