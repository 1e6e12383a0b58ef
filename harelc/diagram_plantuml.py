"""Charts in PlantUML (build.md section 3).

PlantUML reads labels as wiki text and lines as commands, so every character that could mean something is written as its
code point, `<U+003B>`. An id is the state's name where that is plain, unique and no word of the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .chart import ENDS, Arrow, Block, Chart, Node
from .diagram_ids import identifiers

_WORDS = re.compile(
    r"allow_mixin|allowmixing|as|bottom|caption|center|choice|class|component|direction|end|endfooter|"
    r"endheader|endlegend|endnote|endtitle|entrypoint|exitpoint|footer|fork|frame|h|header|hide|history|join|"
    r"json|left|legend|link|mainframe|namespace|newpage|note|of|on|page|remove|restore|right|rotate|scale|"
    r"sdlreceive|set|show|skinparam|sprite|start|state|style|title|to|together|top|url|yaml",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_UNSAFE = re.compile(r"[^\w .,()\[\]=|?…]|(?<=\[)\[|(?<=\])\]|(?<=_)_|_(?=_)|^[=|.\[]")
_INDENT = "  "


def plantuml_text(chart: Chart) -> str:
    """The chart as PlantUML text, with a line end at its end."""
    lines = ["@startuml", f"title {escape(chart.machine.name)}"]
    if chart.machine.notes:
        lines.append(f"caption {_lines(chart.machine.notes)}")
    return "\n".join([*lines, *_Writer(chart).machine(), "@enduml"]) + "\n"


def escape(text: str) -> str:
    """A text as it may stand anywhere in a label, on one line."""
    return _UNSAFE.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def _lines(texts: tuple[str, ...]) -> str:
    return "\\n".join(map(escape, texts))


def _is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None and not _WORDS.fullmatch(name) and "__" not in name


class _Writer:
    """Writes one chart."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._ids: Mapping[int, str] = identifiers(chart, _is_plain)

    def machine(self) -> Iterator[str]:
        if self._chart.boxed:
            yield from self._state(self._chart.machine)
        for block in self._chart.blocks.get(0, ()):
            yield from self._block(block)

    def _block(self, block: Block) -> Iterator[str]:
        for node in block.nodes:
            yield from self._state(node)
        for choice in block.choices:
            yield f"state {self._ids[choice]} <<choice>>"
        yield from map(self._arrow, block.arrows)
        for node in block.nodes:
            if node.notes:
                yield f"note right of {self._ids[node.index]} : {_lines(node.notes)}"

    def _state(self, node: Node) -> Iterator[str]:
        id = self._ids[node.index]
        parts = self._chart.blocks.get(node.index, ()) if node.index else ()
        yield f'state "{escape(node.name)}" as {id}{" {" if parts else ""}'
        for number, block in enumerate(parts):
            if number:
                yield f"{_INDENT}--"
            yield from (f"{_INDENT}{line}" for line in self._block(block))
        if parts:
            yield "}"
        yield from (f"{id} : {escape(detail)}" for detail in node.details)

    def _arrow(self, arrow: Arrow) -> str:
        label = f" : {escape(arrow.label)}" if arrow.label else ""
        return f"{self._point(arrow.source)} --> {self._point(arrow.target)}{label}"

    def _point(self, point: int) -> str:
        return "[*]" if point == ENDS else self._ids[point]
