"""The examples run as they stand, and what `make demo` tells is what happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from commands import REPOSITORY, environment

EXAMPLES = REPOSITORY / "examples"


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, EXAMPLES / script, *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def demo() -> list[str]:
    return run("order_demo.py").splitlines()


def test_the_demo_kills_a_process_in_a_step_and_nothing_is_booked_twice(demo: list[str]) -> None:
    first, again = [line for line in demo if line.startswith("    hold_amount: 42.00")]

    assert "    the process died of SIGKILL" in demo
    assert first == "    hold_amount: 42.00 booked, key order-1:checkout-1:0:hold_amount"
    assert again == "    hold_amount: 42.00 booked before, not again, key order-1:checkout-1:0:hold_amount"


def test_the_demo_lets_a_payment_window_run_out_and_delivers_another_order(demo: list[str]) -> None:
    assert "    timers fired: 1" in demo
    assert "    order-1 is DONE in Abandoned, outcome abandoned" in demo
    assert "    order-2 is DONE in Delivered, outcome success" in demo


def test_the_demo_names_the_module_and_shows_the_diagram(demo: list[str]) -> None:
    (module,) = [line.removeprefix("the generated module: ") for line in demo if line.startswith("the generated")]

    assert Path(module) == EXAMPLES / "machines" / "order.py"
    assert "stateDiagram-v2" in demo


def test_a_claim_is_checked_in_two_regions() -> None:
    assert run("claim_demo.py").splitlines() == [
        "pays 900 to claim-1",
        "success",
        "{'Checks.Papers': {'reason': 'not signed', 'outcome': 'rejected'}, 'Checks.Damage': {'outcome': 'cancelled'}}",
    ]


def test_a_deployment_goes_to_one_device_and_then_to_the_others() -> None:
    assert run("deployment_demo.py").splitlines() == [
        "installs on kiosk-1",
        "installs on kiosk-2",
        "installs on kiosk-3",
        "rolls back kiosk-3",
        "timers fired: 1",
        "failed",
    ]


def test_what_is_committed_of_the_examples_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harelc", "build", "--check", "--force"], cwd=REPOSITORY, env=environment(),
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" modules up to date\n")
