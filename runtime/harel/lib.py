"""`harel.lib`: handlers that a machine may call by their dotted path, for retries and joins (runtime.md section 1).

They know the context they are given and nothing of stores or engines. A retry waits in a state of its own, whose
timeout is read from the context:

    state Waiting {
      on enter harel.lib.exponential_backoff(base: 5, into: "backoff")
      timeout context backoff
    }
    from Waiting to Charging on Timeout

The first wait is 5 seconds, then 10, 20, 40, up to `limit`. How many waits there were stands in the context under
`count`; `harel.lib.reset_backoff` starts anew. A whole number of seconds stays a whole number, so that the keys may be
declared `int`.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

from .event import Event
from .expressions import DELAY_LIMIT
from .stm import Stm

DEFAULT_LIMIT = 3600
"""The longest wait, in seconds, where the machine names no `limit`."""

Number = int | float


def exponential_backoff(
    stm: Stm,
    event: Event,
    *,
    into: str,
    base: Number = 1,
    factor: Number = 2,
    limit: Number = DEFAULT_LIMIT,
    count: str | None = None,
    jitter: Number = 0,
) -> None:
    """Write the next delay of a growing series to the context: base, base * factor, base * factor², … up to `limit`.

        on enter harel.lib.exponential_backoff(base: 5, into: "backoff")
        timeout context backoff

    Args:
        into: the context key for the delay, in seconds.
        base: the first delay, above 0. factor: what each delay is multiplied by, at least 1.
        limit: no delay is longer.
        count: the context key that counts the delays given out; `{into}_count` where it is not named.
        jitter: how much of the delay may be taken off, from 0 to 1, so that executions that failed together do not
            come back together. How much it is follows from `stm.idempotency_key`: every attempt at one step gives
            the same delay.

    Raises:
        ValueError: an input is out of its range, or the context holds no count under `count`.
    """
    _check("base", base, above=0)
    _check("factor", factor, least=1)
    _check("limit", limit, above=0)
    delay, left = base, _given_out(stm, into, count)
    while left and delay < limit and factor > 1:
        delay *= factor
        left -= 1
    _write(stm, min(delay, limit), into, count, jitter)


def linear_backoff(
    stm: Stm,
    event: Event,
    *,
    into: str,
    base: Number = 1,
    step: Number | None = None,
    limit: Number = DEFAULT_LIMIT,
    count: str | None = None,
    jitter: Number = 0,
) -> None:
    """Write the next delay of an evenly growing series to the context: base, base + step, base + 2 * step, …

        on enter harel.lib.linear_backoff(base: 30, step: 15, into: "backoff")

    `step` is `base` where it is not named; everything else as of `exponential_backoff`.
    """
    _check("base", base, above=0)
    _check("limit", limit, above=0)
    grown = base if step is None else step
    _check("step", grown, least=0)
    _write(stm, min(base + grown * _given_out(stm, into, count), limit), into, count, jitter)


def reset_backoff(stm: Stm, event: Event, *, into: str, count: str | None = None) -> None:
    """Begin the series anew: the count and the delay in the context go to 0.

    on exit harel.lib.reset_backoff(into: "backoff")
    """
    stm.execution_ctx[into] = 0
    stm.execution_ctx[count or f"{into}_count"] = 0


def join_success(stm: Stm, event: Event) -> str:
    """How many of the regions or fan-out instances ended with the outcome `success`, as a selector's label.

        from Checks select harel.lib.join_success returns {"all", "some", "none"} {
          "all" to Paid  "some" to Review  "none" to Refused
        }

    Returns:
        `"all"`: every one, and there was one. `"some"`: at least one, not all. `"none"`: not one, or
        `context.region_results` is not there. `join all` is `"all"`, `join any` is `"all"` or `"some"`.
    """
    results: dict[str, dict[str, Any]] = stm.execution_ctx.get("region_results") or {}
    outcomes = [(result or {}).get("outcome") for result in results.values()]
    if "success" not in outcomes:
        return "none"
    return "all" if all(outcome == "success" for outcome in outcomes) else "some"


def _given_out(stm: Stm, into: str, count: str | None) -> int:
    """How many delays there were since the series began."""
    key = count or f"{into}_count"
    value = stm.execution_ctx.get(key)
    if value is None:
        return 0
    if type(value) is not int or value < 0:
        raise ValueError(f"context.{key} is {value!r}; a back-off counts there: a whole number, or absent")
    return value


def _write(stm: Stm, delay: Number, into: str, count: str | None, jitter: Number) -> None:
    _check("jitter", jitter, least=0)
    if jitter > 1:
        raise ValueError(f"jitter is {jitter!r}; it is a share of the delay, from 0 to 1")
    taken_off = delay * jitter * _share(stm.idempotency_key)
    stm.execution_ctx[count or f"{into}_count"] = _given_out(stm, into, count) + 1
    stm.execution_ctx[into] = delay - (int(taken_off) if type(delay) is int else taken_off)


def _share(key: str) -> float:
    """A number from 0 up to 1 that looks random and is the same for the same key."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:6]) / 2**48


def _check(name: str, value: Any, *, above: Number | None = None, least: Number | None = None) -> None:
    """Refuse what is no finite number of the range. Raises `ValueError`."""
    is_number = type(value) is int or (type(value) is float and math.isfinite(value))
    too_small = is_number and ((above is not None and value <= above) or (least is not None and value < least))
    if not is_number or too_small:
        bound = f"above {above}" if above is not None else f"of at least {least}"
        raise ValueError(f"{name} is {value!r}; it is a number {bound}")
    if value > DELAY_LIMIT:
        raise ValueError(f"{name} is {value!r}; no delay is longer than 100 years, which are {DELAY_LIMIT} seconds")
