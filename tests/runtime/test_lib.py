"""`harel.lib`: retries that wait longer each time, and a selector over what regions reported (runtime.md section 1)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harel import (
    Definition,
    DictStore,
    DurableRunner,
    Event,
    Execution,
    Stm,
    definition_from_dsl,
    definition_from_dsl_file,
)
from harel.draft import Draft
from harel.lib import exponential_backoff, join_success, linear_backoff, reset_backoff
from harel.testing import FakeClock

MACHINE = Definition(id="payment", version=1, digest="", states=(("", -1, "machine"),))
EVENT = Event("Refused")


def a_call(context: dict[str, Any], step: str = "refused-1", execution_id: str = "payment-1") -> Stm:
    """What a handler is called with in one step of a payment."""
    execution = Execution(execution_id, "payment", context=context)
    return Stm(Draft(execution, 0.0, "Refused", step), MACHINE, step, 0, "harel.lib.exponential_backoff")


def delays(backoff: Any, number: int, **inputs: Any) -> list[Any]:
    """The delays of the first steps of one retry."""
    context: dict[str, Any] = {}
    found = []
    for step in range(number):
        backoff(a_call(context, f"refused-{step}"), EVENT, into="backoff", **inputs)
        found.append(context["backoff"])
    return found


def test_an_exponential_backoff_doubles_up_to_its_limit() -> None:
    assert delays(exponential_backoff, 6, base=5, limit=60) == [5, 10, 20, 40, 60, 60]


def test_the_factor_is_chosen_by_the_machine() -> None:
    assert delays(exponential_backoff, 4, base=1, factor=3) == [1, 3, 9, 27]
    assert delays(exponential_backoff, 3, base=2, factor=1) == [2, 2, 2]


def test_a_linear_backoff_grows_by_its_step_or_by_its_base() -> None:
    assert delays(linear_backoff, 4, base=30, step=15) == [30, 45, 60, 75]
    assert delays(linear_backoff, 3, base=30) == [30, 60, 90]
    assert delays(linear_backoff, 3, base=30, limit=45) == [30, 45, 45]


def test_whole_seconds_stay_whole_numbers_and_fractions_stay_fractions() -> None:
    assert [type(delay) for delay in delays(exponential_backoff, 3, base=5, jitter=0.5)] == [int, int, int]
    assert delays(exponential_backoff, 2, base=0.5) == [0.5, 1.0]


def test_a_retry_of_years_costs_no_more_than_the_first() -> None:
    context = {"backoff_count": 10**9}
    exponential_backoff(a_call(context), EVENT, into="backoff")

    assert context == {"backoff": 3600, "backoff_count": 10**9 + 1}


def test_jitter_takes_a_share_off_and_differs_between_executions() -> None:
    def delay(execution_id: str) -> float:
        context: dict[str, Any] = {}
        exponential_backoff(a_call(context, execution_id=execution_id), EVENT, into="wait", base=100.0, jitter=0.2)
        value: float = context["wait"]
        return value

    found = [delay(f"payment-{number}") for number in range(50)]

    assert all(80.0 < one <= 100.0 for one in found)
    assert len(set(found)) == 50


def test_every_attempt_at_one_step_gives_the_same_jitter() -> None:
    first, second = ({"amount": 1}, {"amount": 1})
    exponential_backoff(a_call(first), EVENT, into="wait", base=100.0, jitter=1)
    exponential_backoff(a_call(second), EVENT, into="wait", base=100.0, jitter=1)

    assert first == second


def test_a_reset_begins_the_series_anew() -> None:
    context: dict[str, Any] = {}
    exponential_backoff(a_call(context), EVENT, into="wait", base=5, count="tries")
    exponential_backoff(a_call(context), EVENT, into="wait", base=5, count="tries")
    assert context == {"wait": 10, "tries": 2}

    reset_backoff(a_call(context), EVENT, into="wait", count="tries")
    assert context == {"wait": 0, "tries": 0}

    exponential_backoff(a_call(context), EVENT, into="wait", base=5, count="tries")
    assert context == {"wait": 5, "tries": 1}


@pytest.mark.parametrize(
    ("inputs", "context", "message"),
    [
        ({"base": 0}, {}, "base is 0; it is a number above 0"),
        ({"base": True}, {}, "base is True; it is a number above 0"),
        ({"base": "5"}, {}, "base is '5'; it is a number above 0"),
        ({"factor": 0.5}, {}, "factor is 0.5; it is a number of at least 1"),
        ({"limit": 1e99}, {}, "limit is 1e+99; no delay is longer than 100 years, which are 3153600000 seconds"),
        ({"jitter": 2}, {}, "jitter is 2; it is a share of the delay, from 0 to 1"),
        (
            {"base": 5},
            {"backoff_count": "two"},
            "context.backoff_count is 'two'; a back-off counts there: a whole number, or absent",
        ),
    ],
)
def test_an_input_out_of_range_is_refused_and_leaves_the_context_alone(
    inputs: dict[str, Any], context: dict[str, Any], message: str
) -> None:
    before = dict(context)
    with pytest.raises(ValueError, match=re.escape(message)):
        exponential_backoff(a_call(context), EVENT, into="backoff", **inputs)

    assert context == before


@pytest.mark.parametrize(
    ("outcomes", "label"),
    [
        (["success", "success"], "all"),
        (["success", "rejected"], "some"),
        (["success", None], "some"),
        (["rejected", "cancelled"], "none"),
        ([], "none"),
    ],
)
def test_join_success_says_how_many_regions_succeeded(outcomes: list[str | None], label: str) -> None:
    results = {f"Checks.R{number}": {"outcome": outcome} for number, outcome in enumerate(outcomes)}

    assert join_success(a_call({"region_results": results}), EVENT) == label


def test_join_success_without_results_is_none() -> None:
    assert join_success(a_call({}), EVENT) == "none"


RETRYING = """
event Refused {}
event Accepted {}

machine payment {
  context { backoff: int = 0  backoff_count: int = 0 }
  initial Charging
  state Charging {}
  state Waiting {
    on enter harel.lib.exponential_backoff(base: 5, into: "backoff")
    timeout context backoff
  }
  final Paid success { on enter harel.lib.reset_backoff(into: "backoff") }

  from Charging to Waiting on Refused
  from Charging to Paid on Accepted
  from Waiting to Charging on Timeout
}
"""


def test_a_machine_waits_longer_after_each_refusal() -> None:
    clock = FakeClock()
    runner = DurableRunner(DictStore(), [definition_from_dsl(RETRYING)], clock=clock)
    payment = runner.create("payment")
    waited = []
    for _ in range(3):
        payment = runner.process(payment.id, Event("Refused"))
        assert payment.active_path == "Waiting"
        waited.append(payment.timers["Waiting"].due - clock.now)
        clock.advance(waited[-1])
        assert runner.fire_due_timers() == 1
    paid = runner.process(payment.id, Event("Accepted"))

    assert waited == [5, 10, 20]
    assert (paid.outcome, paid.context) == ("success", {"backoff": 0, "backoff_count": 0})


EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_the_example_of_a_busy_bank_tells_its_story() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, str(EXAMPLES / "charge_app.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    paid, given_up = done.stdout.strip().split("\n\n")

    assert (done.returncode, done.stderr) == (0, "")
    assert [line.strip() for line in paid.splitlines() if "asked" not in line] == [
        "paid at the third try",
        "00:00  Start: - to Open",
        "00:00  Submit: Open to Charging.Trying",
        "00:01  BankAnswered: Charging.Trying to Charging.Waiting",
        "00:06  Timeout: Charging.Waiting to Charging.Trying",
        "00:07  BankAnswered: Charging.Trying to Charging.Waiting",
        "00:17  Timeout: Charging.Waiting to Charging.Trying",
        "00:18  BankAnswered: Charging.Trying to Paid",
        "charge-1 is DONE, outcome success, context {'amount': 4200, 'backoff': 0, 'tries': 0}",
    ]
    assert given_up.count("the bank is asked for 19.90") == 6
    assert given_up.splitlines()[-3:] == [
        "        the customer is told to try again tomorrow",
        "  10:00  Timeout: Charging.Waiting to Abandoned",
        "  charge-2 is DONE, outcome abandoned, context {'amount': 1990, 'backoff': 0, 'tries': 0}",
    ]


def test_an_answer_that_comes_while_the_retry_waits_counts() -> None:
    clock = FakeClock()
    machine = definition_from_dsl_file(
        EXAMPLES / "charge.stm", actions={"ask_bank": lambda stm, event: None, "tell_customer": print}
    )
    runner = DurableRunner(DictStore(), [machine], clock=clock)
    runner.create("charge", execution_id="charge-1")
    runner.process("charge-1", Event("Submit", {"amount": 4200}))
    clock.advance(60)
    runner.fire_due_timers()
    assert runner.store.load("charge-1").active_path == "Charging.Waiting"

    paid = runner.process("charge-1", Event("BankAnswered", {"status": "paid"}))
    assert (paid.outcome, paid.timers) == ("success", {})


def test_a_call_that_raises_is_tried_again_like_a_refusal() -> None:
    def ask_bank(stm: Stm, event: Event) -> None:
        raise ConnectionError("no route to the bank")

    machine = definition_from_dsl_file(EXAMPLES / "charge.stm", actions={"ask_bank": ask_bank, "tell_customer": print})
    runner = DurableRunner(DictStore(), [machine], clock=FakeClock())
    runner.create("charge", execution_id="charge-1")
    waiting = runner.process("charge-1", Event("Submit", {"amount": 4200}))

    assert (waiting.active_path, waiting.timers["Charging.Waiting"].due, waiting.timers["Charging"].due) == (
        "Charging.Waiting",
        5.0,
        600.0,
    )
