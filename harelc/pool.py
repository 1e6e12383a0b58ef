"""One function over many items, in this process or in several (`--jobs`). What the function does is not known here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_WORTH_IT = 16
"""How many items make worker processes worth their start."""


def each(function: Callable[[T], R], items: Sequence[T], processes: int | None) -> Iterator[R]:
    """The results in the items' order. `processes` of `None`: as many as there are processors, where it is worth it.

    The first item is always done here, so that forked workers share what it has loaded.
    """
    if not items:
        return
    yield function(items[0])
    rest = items[1:]
    count = processes or ((os.cpu_count() or 1) if len(rest) >= _WORTH_IT else 1)
    if min(count, len(rest)) < 2:
        yield from map(function, rest)
    else:
        yield from _in_workers(function, rest, min(count, len(rest)))


def _in_workers(function: Callable[[T], R], items: Sequence[T], processes: int) -> Iterator[R]:
    import multiprocessing
    import signal
    import sys
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    # Ctrl-C reaches the whole process group: workers then end at once and silently, the parent cleans up.
    pool = ProcessPoolExecutor(processes, context, signal.signal, (signal.SIGINT, signal.SIG_DFL))
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)
