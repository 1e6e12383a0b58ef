"""`FakeClock`: a clock that a test moves (runtime.md section 3, `clock=`). It knows nothing of runners and stores."""

from __future__ import annotations


class FakeClock:
    """A clock for `DurableRunner(clock=…)`: calling it gives its time in epoch seconds, which only a test changes.

    Attributes:
        now: the time; set it to jump, also backwards.
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let some seconds pass."""
        self.now += seconds

    def __repr__(self) -> str:
        return f"FakeClock({self.now!r})"
