"""Regions: one claim whose papers and damage are checked side by side, and one whose papers are refused.

    python examples/claim_demo.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from harel import DictStore, DurableRunner, Event, Stm

sys.path.insert(0, str(Path(__file__).parent / "machines"))

import claim


class Insurer:
    def pay(self, stm: Stm, event: Event) -> None:
        damage = stm.execution_ctx["region_results"]["Checks.Damage"]
        print(f"pays {damage['estimate']} to {stm.execution_id}")


def main() -> None:
    runner = DurableRunner(DictStore(), [claim.bind(Insurer())], clock=lambda: 0.0)

    runner.create("claim", execution_id="claim-1")
    runner.process("claim-1", claim.DamageEstimated(amount=900))
    print(runner.process("claim-1", claim.PapersApproved()).outcome)

    runner.create("claim", execution_id="claim-2")
    print(runner.process("claim-2", claim.PapersRejected(reason="not signed")).context["region_results"])


if __name__ == "__main__":
    main()
