"""What callers hand over by mistake is refused by name, before anything runs (edges.md, values and names)."""

from __future__ import annotations

from typing import Any

import pytest

from harel import ContextError, DictStore, DurableRunner, EventError, definition_from_dsl

ORDER = """
    event Pay {}
    machine order { initial Cart  state Cart {}  final Paid success  from Cart to Paid on Pay }
"""


@pytest.fixture
def runner() -> DurableRunner:
    return DurableRunner(DictStore(), [definition_from_dsl(ORDER)])


@pytest.mark.parametrize("context", [["amount"], "amount", 5, True], ids=str)
def test_a_context_is_a_dict(runner: DurableRunner, context: Any) -> None:
    with pytest.raises(
        ContextError, match=f"^the context of an execution is a dict of JSON values, not {type(context).__name__}$"
    ):
        runner.create("order", context, execution_id="order-1")

    assert list(runner.store.list_executions()) == []


@pytest.mark.parametrize("event", ["Pay", None, {"kind": "Pay"}], ids=str)
def test_an_event_is_an_event(runner: DurableRunner, event: Any) -> None:
    runner.create("order", execution_id="order-1")

    with pytest.raises(EventError, match=f"^an event is an Event\\(kind, data\\), not {type(event).__name__}$"):
        runner.process("order-1", event)


def test_a_redrive_of_what_has_not_failed_says_so_even_where_the_machine_is_not_loaded() -> None:
    runner = DurableRunner(DictStore(), [definition_from_dsl(ORDER)])
    runner.create("order", execution_id="order-1")
    elsewhere = DurableRunner(runner.store, [])

    with pytest.raises(ValueError, match=r"^execution 'order-1' is RUNNING: only a FAILED one can be redriven$"):
        elsewhere.redrive("order-1", "Cart")
