"""Names of a source that are different there and one in Python, or one file (edges.md, Values, names, sizes).

The names themselves are decided by `pynames.py` and `interface.py`; here a clash becomes a finding with both places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import tree
from .compiler import Compilation
from .diagnostics import Finding, issues
from .interface import event_classes, methods
from .model import Unit
from .pynames import NameClash, module_name
from .records import Record

if TYPE_CHECKING:
    from harel.issue import Issue

CODE = "name_clash"


def name_clashes(compilation: Compilation) -> tuple[Issue, ...]:
    """What keeps the machines of a file from becoming modules, in order of place; empty where there are errors."""
    if compilation.unit is None or compilation.has_errors:
        return ()
    return issues(_findings(compilation), compilation.sources)


def _findings(compilation: Compilation) -> Iterator[Finding]:
    if compilation.unit is None:
        return
    places = _Places(compilation.unit)
    first: dict[str, str] = {}
    for machine, definition in compilation.definitions.items():
        other = first.setdefault(module_name(machine).casefold(), machine)
        if other != machine:
            yield places.finding(NameClash("machines", other, machine, f"{module_name(machine)}.py"))
        try:
            event_classes(definition)
            methods(definition)
        except NameClash as clash:
            yield places.finding(clash)


class _Places:
    """Where names stand: in the file itself, or in one that an import line brings in."""

    def __init__(self, unit: Unit) -> None:
        self._file = unit.file
        self._imported = unit.imported

    def finding(self, clash: NameClash) -> Finding:
        """At the second name, or the first where only that stands in this file, or the import line of the second."""
        message = (
            f"the {clash.what} `{clash.first}` and `{clash.second}` would both be called `{clash.python}` in Python"
        )
        own = {name: _first_in(self._file, name) for name in (clash.first, clash.second)}
        others = {name: self._elsewhere(name) for name, span in own.items() if span is None}
        named = clash.first if own[clash.second] is None and own[clash.first] is not None else clash.second
        notes = [(span, f"`{name}` is here") for name, span in own.items() if span is not None and name != named]
        notes += [(span, f"`{name}` is here") for name, (_, span) in others.items()]
        at = own[named] or others[named][0]
        return Finding(CODE, at, message, "rename one of them", tuple(notes))

    def _elsewhere(self, name: str) -> tuple[tree.Span, tree.Span]:
        """The import line that brings a name in, and the name's own place."""
        for line, files in self._imported.items():
            for file in files:
                span = _first_in(file, name)
                if span is not None:
                    return line.path.span, span
        beginning = tree.Span(self._file.name, 0, 0)
        return beginning, beginning


def _first_in(file: tree.File, name: str) -> tree.Span | None:
    return min((span for span, text in _names(file) if text == name), default=None)


def _names(node: object) -> Iterator[tuple[tree.Span, str]]:
    if isinstance(node, (tree.Name, tree.Dotted)):
        yield node.span, node.text
    elif isinstance(node, tuple) and not isinstance(node, tree.Span):
        for part in node:
            yield from _names(part)
    elif isinstance(node, Record):
        for name in node.__match_args__:
            yield from _names(getattr(node, name))
