"""Ids for the nodes of a chart: the states' own names where a diagram language can read them, made-up ones elsewhere.

Which names a language can read is for the caller to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import count

from .chart import Chart


def identifiers(chart: Chart, is_plain: Callable[[str], bool]) -> Mapping[int, str]:
    """An id for every state and choice, and for the machine where it has a box, by point.

    No two are alike, whatever the case of letters.
    """
    states = sorted(chart.nodes(), key=lambda node: node.index)
    nodes = [chart.machine, *states] if chart.boxed else states
    uses = Counter(node.name.lower() for node in nodes)
    names = {node.index: node.name for node in states if is_plain(node.name) and uses[node.name.lower()] == 1}
    made_up = _unused(frozenset(uses), "s")
    choices = _unused(frozenset(uses), "choice")
    ids = {node.index: names.get(node.index) or next(made_up) for node in nodes}
    points = sorted(point for parts in chart.blocks.values() for block in parts for point in block.choices)
    return {**ids, **{point: next(choices) for point in points}}


def _unused(names: frozenset[str], stem: str) -> Iterator[str]:
    return (f"{stem}{number}" for number in count(1) if f"{stem}{number}" not in names)
