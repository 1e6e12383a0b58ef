"""Invoked machines: a canary first, then a fan-out over the other devices, driven by a clock of the program's own.

    python examples/deployment_demo.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from harel import DictStore, DurableRunner, Event, Stm

sys.path.insert(0, str(Path(__file__).parent / "machines"))

import deployment
import update


class Installer:
    def install(self, stm: Stm, event: Event) -> None:
        print(f"installs on {stm.execution_ctx['device']}")

    def roll_back(self, stm: Stm, event: Event) -> None:
        print(f"rolls back {stm.execution_ctx['device']}")


def main() -> None:
    now = 0.0
    machines = [deployment.DEFINITION, update.bind(Installer())]
    runner = DurableRunner(DictStore(), machines, clock=lambda: now)

    runner.create("deployment", {"canary": "kiosk-1", "devices": ["kiosk-2", "kiosk-3"]}, execution_id="release-7")
    canary = runner.store.load("release-7").children["Canary"]
    runner.process(canary.id, update.Healthy())
    second = runner.store.load("release-7").children["Fleet:0"]
    runner.process(second.id, update.Healthy())

    now += 600
    print(f"timers fired: {runner.fire_due_timers()}")
    print(runner.store.load("release-7").outcome)


if __name__ == "__main__":
    main()
