"""`harel.testing` as a program's tests use it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import harel.testing
from harel.testing import FakeClock


def test_a_fake_clock_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(100.0)
    times = [clock(), clock()]
    clock.advance(15 * 60)
    times.append(clock())
    clock.now = 50.0

    assert times == [100.0, 100.0, 1_000.0]
    assert clock() == 50.0
    assert repr(clock) == "FakeClock(50.0)"


def test_the_clock_needs_no_pytest() -> None:
    script = "import sys; from harel.testing import FakeClock; sys.exit('pytest' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": ":".join(sys.path)}, check=False)

    assert answer.returncode == 0


@pytest.mark.parametrize("name", ["Clock", "store"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
        getattr(harel.testing, name)
