"""Durations as a source writes them (language.md section 1), in seconds.

One reading for the checks and for the tables: a whole number of seconds, or a number with a unit.
"""

from __future__ import annotations

import re
from fractions import Fraction

from harel.expressions import DELAY_LIMIT

_WRITTEN = re.compile(r"(-?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,4})?)([smhdw]?)", re.ASCII)
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def seconds(raw: str) -> int | float | None:
    """The seconds of a duration such as `45s`, `1.5h` or `900`; whole ones as an `int`.

    `None` for what is no duration: not a number, another unit, a fraction without a unit, zero, less, or more than
    100 years.
    """
    match = _WRITTEN.fullmatch(raw)
    if match is None:
        return None
    count = Fraction(match[1]) * _UNITS[match[2]]
    if not 0 < count <= DELAY_LIMIT or (not match[2] and count.denominator != 1):
        return None
    return count.numerator if count.denominator == 1 else float(count)
