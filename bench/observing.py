"""What tracing and observing cost a step, in memory, in one run.

    python bench/observing.py [--steps 4000] [--rounds 7]

Rounds take turns; printed are medians and their ratios to the plain runner. `plain again` is the plain runner a second
time: how much two equal runs differ. With tracing off a step builds no row, and without an observer there is no
wrapper, so that nothing is left to measure: what is off costs nothing.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

from harel import Definition, DictStore, DurableRunner, Event, ObservedStore, definition_from_dsl
from harel.stores.protocol import Store

SOURCE = """
event Tick { n: int }
machine device {
  context { total: int = 0 }
  initial On
  state On {}
  state Off {}
  from On to Off on Tick set context.total = context.total + event.n
  from Off to On on Tick
}
"""


def rate(machine: Definition, store: Store, steps: int, trace: bool) -> float:
    """Steps a second of one execution."""
    runner = DurableRunner(store, [machine], clock=lambda: 0.0, trace=trace)
    device = runner.create("device")
    begun = time.perf_counter()
    for _ in range(steps):
        runner.process(device.id, Event("Tick", {"n": 1}))
    return steps / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    machine = definition_from_dsl(SOURCE)
    found: dict[str, list[float]] = {}
    for _ in range(given.rounds):
        for name, store, trace in (
            ("plain", DictStore(), False),
            ("plain again", DictStore(), False),
            ("trace", DictStore(), True),
            ("observer", ObservedStore(DictStore(), lambda step: None), False),
        ):
            found.setdefault(name, []).append(rate(machine, store, given.steps, trace))
    plain = median(found["plain"])
    for name, rates in found.items():
        print(f"{name:12} {median(rates):9,.0f} steps/s   {median(rates) / plain:4.0%} of plain")


if __name__ == "__main__":
    main()
