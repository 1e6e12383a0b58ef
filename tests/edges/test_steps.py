"""What edges.md decides of a single step: its limits, its clock, and what a step that fails leaves behind."""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar

import pytest

from harel import AsyncDurableRunner, DictStore, DurableRunner, Event, Status, Stm, definition_from_dsl
from harel.testing import FakeClock

YEAR = 365 * 86_400


def test_what_fails_at_the_commit_sends_starts_arms_and_cancels_nothing() -> None:
    def spoil(stm: Stm, event: Event) -> None:
        stm.send("Note", to="somebody else")
        stm.execution_ctx["seen"] = {1, 2}

    machine = definition_from_dsl(
        """
        event Go {}   event Note {}
        machine order {
          context { n: int = 0  seen: any? }
          initial Cart
          state Cart { timeout 5m }
          orthogonal Checks {
            timeout 5m
            on enter spoil
            state Stock { initial Open  state Open {}  final Full success  from Open to Full on Note }
          }
          final Done success
          from Cart to Checks on Go set context.n = 1
          from Cart to Done on Timeout
          from Checks to Done
          from Checks to Done on Timeout
        }
        """,
        actions={"spoil": spoil},
    )
    store = DictStore()
    runner = DurableRunner(store, [machine], clock=FakeClock())
    order = runner.create("order")
    failed = runner.process(order.id, Event("Go"))

    assert (failed.status, failed.active_path, failed.context) == (Status.FAILED, "Cart", {"n": 0})
    assert failed.error == "ContextError: seen: set is not a JSON value"
    assert (failed.children, store.pending_outbox(), store.pending_spawns(), store.timers(order.id)) == ({}, [], [], [])


def test_a_trace_row_names_changes_that_are_too_long_to_keep() -> None:
    def write(stm: Stm, event: Event) -> None:
        stm.execution_ctx["letter"] = "x" * 9_000

    machine = definition_from_dsl(
        """
        event Go {}
        machine order { initial Cart  state Cart {}  final Done success { on enter write }  from Cart to Done on Go }
        """,
        actions={"write": write},
    )
    runner = DurableRunner(DictStore(), [machine], trace=True)
    order = runner.create("order")
    runner.process(order.id, Event("Go"))
    row = runner.store.read_trace(order.id)[-1]

    assert len(json.dumps(row["context"])) < 8_192
    assert "letter" in json.dumps(row["context"])


WAITING = """
    machine order {
      context { delay: float }
      initial Cart
      state Cart { timeout context delay }
      final Done success
      from Cart to Done on Timeout
    }
"""


@pytest.mark.parametrize("delay", [100 * YEAR, -3, 0])
def test_a_delay_may_be_anything_up_to_a_hundred_years(delay: float) -> None:
    clock = FakeClock(1_000)
    runner = DurableRunner(DictStore(), [definition_from_dsl(WAITING)], clock=clock)
    order = runner.create("order", {"delay": delay})
    clock.advance(max(delay, 0))

    assert runner.fire_due_timers() == 1
    assert runner.store.load(order.id).status is Status.DONE


def test_a_longer_delay_is_an_error_of_the_machine() -> None:
    runner = DurableRunner(DictStore(), [definition_from_dsl(WAITING)])
    order = runner.create("order", {"delay": 101 * YEAR})

    assert order.status is Status.FAILED
    assert order.error is not None
    assert order.error.startswith("ExpressionError: ")


def test_a_sweep_counts_what_took_effect_and_nothing_that_rests() -> None:
    clock = FakeClock()
    runner = DurableRunner(DictStore(), [definition_from_dsl(WAITING)], clock=clock)
    orders = [runner.create("order", {"delay": 60}) for _ in range(3)]
    runner.suspend(orders[0].id)
    runner.cancel(orders[1].id)
    clock.advance(60)

    assert runner.fire_due_timers() == 1
    assert runner.fire_due_timers() == 0

    runner.resume(orders[0].id)

    assert runner.fire_due_timers() == 1


def test_a_sync_action_under_the_async_runner_sees_the_context_variables_of_its_caller() -> None:
    tenant = ContextVar("tenant", default="nobody")

    def sign(stm: Stm, event: Event) -> None:
        stm.execution_ctx["tenant"] = tenant.get()

    machine = definition_from_dsl(
        """
        event Go {}
        machine order { initial Cart  state Cart {}  final Done success { on enter sign }  from Cart to Done on Go }
        """,
        actions={"sign": sign},
    )

    async def run() -> str:
        runner = AsyncDurableRunner(DictStore(), [machine])
        order = await runner.create("order")
        tenant.set("acme")
        done = await runner.process(order.id, Event("Go"))
        return str(done.context["tenant"])

    assert asyncio.run(run()) == "acme"


def test_texts_are_in_order_of_their_code_points() -> None:
    machine = definition_from_dsl(
        """
        event Go { name: string }
        machine order {
          initial Cart
          state Cart {}
          final Before success   final After success
          from Cart to Before on Go where name < "a"
          from Cart to After on Go
        }
        """
    )
    runner = DurableRunner(DictStore(), [machine])
    paths = {
        name: runner.process(runner.create("order").id, Event("Go", {"name": name})).active_path
        for name in ("Z", "b", "ä", "\uffff", "\U0001f600")
    }

    assert paths == {"Z": "Before", "b": "After", "ä": "After", "\uffff": "After", "\U0001f600": "After"}
