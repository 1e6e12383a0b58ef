"""Charts for Graphviz (build.md section 3).

Ids are made up. Labels are quoted strings, in which quotes, backslashes, `&` and line ends are escaped. A state with an
inside is a cluster with an invisible node in it, for arrows join nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from .chart import ENDS, Arrow, Block, Chart, Node

_INDENT = "  "


def dot_text(chart: Chart) -> str:
    """The chart as a `digraph`, with a line end at its end."""
    title = "\n".join([chart.machine.name, *chart.machine.notes])
    lines = [
        f"digraph {_quoted(chart.machine.name)} {{",
        f"{_INDENT}graph [compound=true, fontname=Helvetica, label={_quoted(title)}, labelloc=t];",
        f"{_INDENT}node [fontname=Helvetica, shape=box, style=rounded];",
        f"{_INDENT}edge [fontname=Helvetica];",
    ]
    lines += (f"{_INDENT}{line}" for line in _Writer(chart).machine())
    return "\n".join([*lines, "}"]) + "\n"


def escape(text: str) -> str:
    """A text as it may stand in a quoted label; line ends stay line ends there."""
    plain = text.replace("&", "&amp;")
    printable = "".join(char if char.isprintable() or char == "\n" else f"&#{ord(char)};" for char in plain)
    return printable.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _quoted(text: str) -> str:
    return f'"{escape(text)}"'


class _Writer:
    """Writes one chart."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._outer = {
            node.index: index for index, parts in chart.blocks.items() for block in parts for node in block.nodes
        }

    def machine(self) -> Iterator[str]:
        if self._chart.boxed:
            yield from self._leaf(self._chart.machine)
        for block in self._chart.blocks.get(0, ()):
            yield from self._block(block, "0")

    def _block(self, block: Block, key: str) -> Iterator[str]:
        for node in block.nodes:
            yield from self._cluster(node) if node.index in self._chart.blocks else self._leaf(node)
        for choice in block.choices:
            yield f'{self._node(choice)} [label="", shape=diamond];'
        if any(arrow.source == ENDS for arrow in block.arrows):
            yield f'begin{key} [label="", shape=point, width=0.15];'
        if any(arrow.target == ENDS for arrow in block.arrows):
            yield f'end{key} [label="", shape=doublecircle, style=filled, fillcolor=black, width=0.15];'
        yield from (self._arrow(arrow, key) for arrow in block.arrows)

    def _leaf(self, node: Node) -> Iterator[str]:
        text = "\n".join([node.name, *node.details, *node.notes])
        yield f"{self._node(node.index)} [label={_quoted(text)}];"

    def _cluster(self, node: Node) -> Iterator[str]:
        parts = self._chart.blocks[node.index]
        text = "\n".join([node.name, *node.details, *node.notes])
        yield f"subgraph cluster{node.index} {{"
        yield f"{_INDENT}graph [label={_quoted(text)}, style={'dashed' if len(parts) > 1 else 'rounded'}];"
        yield f'{_INDENT}{self._node(node.index)} [label="", shape=point, style=invis];'
        for number, block in enumerate(parts):
            yield from (f"{_INDENT}{line}" for line in self._block(block, f"{node.index}_{number}"))
        yield "}"

    def _arrow(self, arrow: Arrow, key: str) -> str:
        source = f"begin{key}" if arrow.source == ENDS else self._node(arrow.source)
        target = f"end{key}" if arrow.target == ENDS else self._node(arrow.target)
        attributes = [f"label={_quoted(arrow.label)}"] if arrow.label else []
        if self._is_cluster(arrow.source) and not self._is_inside(arrow.target, arrow.source):
            attributes.append(f"ltail=cluster{arrow.source}")
        if self._is_cluster(arrow.target) and not self._is_inside(arrow.source, arrow.target):
            attributes.append(f"lhead=cluster{arrow.target}")
        words = f" [{', '.join(attributes)}]" if attributes else ""
        return f"{source} -> {target}{words};"

    def _is_cluster(self, point: int) -> bool:
        return point > 0 and point in self._chart.blocks

    def _is_inside(self, point: int, cluster: int) -> bool:
        """Whether a state is the cluster's own or stands in it: Graphviz cuts no such arrow at the cluster's edge."""
        while point > 0 and point != cluster:
            point = self._outer.get(point, 0)
        return point == cluster

    def _node(self, point: int) -> str:
        return f"s{point}"
