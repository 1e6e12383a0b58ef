"""Charts in Mermaid's `stateDiagram-v2` (build.md section 3).

Mermaid reads a label up to the end of its line and looks for its own words in it, so every character that could mean
something there is written as its number, `#59;`. An id is the state's name where that is plain, unique and no word of
the language. Outcomes are not shown: an arrow to `[*]` carries none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .chart import ENDS, Arrow, Block, Chart, Node
from .diagram_ids import identifiers

_WORDS = re.compile(
    r"accdescr|acctitle|as|bt|choice|class|classdef|click|constructor|default|direction|end|fork|hide|href|"
    r"join|left|lr|note|of|prototype|right|rl|root|scale|state|statediagram|style|tb|td|tostring|valueof|width",
    re.IGNORECASE,
)
"""Words of the language, whatever the case of their letters, and names that every object of its own language has."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_MADE_BY_MERMAID = ("_start", "_end")
_UNSAFE = re.compile(r"""[^\w .,()\[\]=+/'!?|…]|\[(?=\[)|\](?=\])|\b_|_\b|(?<=\d)\.(?= )|^[+=/.!]""")
_DIRECTION = re.compile(r"(d)(?=irection\s)", re.IGNORECASE)
_INDENT = "    "


def mermaid_text(chart: Chart) -> str:
    """The chart as Mermaid text, with a line end at its end."""
    lines = ["stateDiagram-v2"]
    if chart.machine.notes:
        lines.append(f"{_INDENT}accDescr: {escape(' '.join(chart.machine.notes))}")
    lines += (f"{_INDENT}{line}" for line in _Writer(chart).machine())
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """A text as it may stand anywhere in a label, on one line."""
    escaped = _UNSAFE.sub(lambda found: f"#{ord(found[0])};", text)
    return _DIRECTION.sub(lambda found: f"#{ord(found[0])};", escaped)


def _is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None and not _WORDS.fullmatch(name) and not name.endswith(_MADE_BY_MERMAID)


class _Writer:
    """Writes one chart."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._ids: Mapping[int, str] = identifiers(chart, _is_plain)
        self._far: list[Arrow] = []

    def machine(self) -> Iterator[str]:
        if self._chart.boxed:
            yield from self._leaf(self._chart.machine)
        for block in self._chart.blocks.get(0, ()):
            yield from self._block(block)
        yield from map(self._arrow, self._far)

    def _block(self, block: Block) -> Iterator[str]:
        """A block. Its arrows to and from states further in wait for the end of the text, for a state is drawn where it
        is mentioned last.
        """
        own = {ENDS, 0, *block.choices, *(node.index for node in block.nodes)}
        near = [arrow for arrow in block.arrows if arrow.source in own and arrow.target in own]
        self._far += (arrow for arrow in block.arrows if arrow.source not in own or arrow.target not in own)
        drawn = {point for arrow in near for point in (arrow.source, arrow.target)}
        yield from (self._arrow(arrow) for arrow in near if arrow.source == ENDS)
        for node in block.nodes:
            if node.index in self._chart.blocks:
                yield from self._composite(node)
            elif node.details or self._ids[node.index] != node.name:
                yield from self._leaf(node)
            elif node.index not in drawn:
                yield self._ids[node.index]
        for choice in block.choices:
            yield f"state {self._ids[choice]} <<choice>>"
        yield from (self._arrow(arrow) for arrow in near if arrow.source != ENDS)
        for node in block.nodes:
            if node.notes:
                yield f"note right of {self._ids[node.index]} : {'<br/>'.join(map(escape, node.notes))}"

    def _leaf(self, node: Node) -> Iterator[str]:
        """A state by its label, and a line below it for each detail."""
        yield f'state "{escape(node.name)}" as {self._ids[node.index]}'
        for detail in node.details:
            yield f"{self._ids[node.index]} : {escape(detail)}"

    def _composite(self, node: Node) -> Iterator[str]:
        """A state with an inside; its details stand in its title, the only text that it shows."""
        title = f"{node.name} ({', '.join(node.details)})" if node.details else node.name
        if title != self._ids[node.index]:
            yield f'state "{escape(title)}" as {self._ids[node.index]}'
        yield f"state {self._ids[node.index]} {{"
        parts = self._chart.blocks[node.index]
        parted = not any(self._is_nested(region) for block in parts for region in block.nodes)
        for number, block in enumerate(parts):
            if number and parted:
                yield f"{_INDENT}--"
            yield from (f"{_INDENT}{line}" for line in self._block(block))
        yield "}"

    def _is_nested(self, region: Node) -> bool:
        """Whether a region has composites in it: Mermaid parses such a part between `--`, and fails to lay it out."""
        parts = self._chart.blocks.get(region.index, ())
        return any(inner.index in self._chart.blocks for block in parts for inner in block.nodes)

    def _arrow(self, arrow: Arrow) -> str:
        label = f" : {escape(arrow.label)}" if arrow.label and arrow.target != ENDS else ""
        return f"{self._point(arrow.source)} --> {self._point(arrow.target)}{label}"

    def _point(self, point: int) -> str:
        return "[*]" if point == ENDS else self._ids[point]
