"""What regions hand up and what they see, where the clock or a handler makes it hard (language.md section 5.7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harel import DictStore, DurableRunner, Event, SqliteStore, Stm, definition_from_dsl
from harel.stores.protocol import Store
from harel.testing import FakeClock

BOTH_DEFER = """
    event Check {}   event Bill {}   event Ship {}   event Done {}
    machine order {
      initial Prepare
      orthogonal Prepare {
        state Stock {
          initial Count
          orthogonal Count {
            state Shelf  { initial Open  state Open {}  final Full success  from Open to Full on Check }
            state Cellar { initial Open  state Open {}  final Full success  from Open to Full on Check }
          }
          state Packing { defer Bill }
          final Packed success
          from Count to Packing
          from Packing to Packed on Done
        }
        state Carrier {
          initial Waiting
          state Waiting { defer Ship }
          final Booked success
          from Waiting to Booked on Done
        }
      }
      state Ready {}   state Billed {}   state Shipped {}
      final Closed success
      from Prepare to Ready
      from Ready to Billed on Bill
      from Ready to Shipped on Ship
      from Billed to Closed on Ship
      from Shipped to Closed on Done
    }
"""


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return DictStore() if request.param == "memory" else SqliteStore(str(tmp_path / "orders.db"))


@pytest.mark.parametrize("ticks", [(0, 0), (0, -3600), (-3600, 7200), (1, 1)], ids=str)
def test_what_regions_deferred_queues_as_it_came_in_whatever_the_clock_does(
    store: Store, ticks: tuple[float, float]
) -> None:
    clock = FakeClock(10_000)
    runner = DurableRunner(store, [definition_from_dsl(BOTH_DEFER)], clock=clock)
    order = runner.create("order")
    runner.process(order.id, Event("Check"))  # the nested regions end: `Stock` has taken more steps than `Carrier`
    clock.advance(ticks[0])
    runner.process(order.id, Event("Bill"))  # deferred in `Stock`
    clock.advance(ticks[1])
    runner.process(order.id, Event("Ship"))  # deferred in `Carrier`
    joined = runner.process(order.id, Event("Done"))

    assert joined.active_path == "Closed"


def test_a_selector_that_changes_a_list_does_not_change_what_its_branch_sets() -> None:
    def pick(stm: Stm, event: Event) -> str:
        stm.execution_ctx["items"].append("added")
        return "known"

    machine = definition_from_dsl(
        """
        event Go {}
        machine order {
          context { items: any  seen: any? }
          initial Cart
          state Cart {}
          final Paid success
          from Cart select pick returns {"known"} on Go { "known" to Paid set context.seen = context.items }
        }
        """,
        actions={"pick": pick},
    )
    runner = DurableRunner(DictStore(), [machine])
    order = runner.create("order", {"items": ["book"]})
    paid = runner.process(order.id, Event("Go"))

    assert paid.context == {"items": ["book", "added"], "seen": ["book"]}
