"""Two processes on one store, one held up between two calls: see `races.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .races import RACES


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
def test_a_race_has_no_effect_twice_and_loses_none(race: Callable[[], None]) -> None:
    race()
