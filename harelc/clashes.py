"""Names of a source that are different there and one in Python, or one file (edges.md, Values, names, sizes).

The names themselves are decided by `pynames.py` and `interface.py`; here a clash becomes a finding with both places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
        both = (clash.first, clash.second)
        is_declared = clash.what.startswith(("events", "fields"))
        others = {name: place for name in both if is_declared and (place := self._elsewhere(name))}
        own = {name: self._here(name) for name in both if name not in others}
        named = clash.second if clash.second in own or not own else clash.first
        notes = [(span, f"`{name}` is here") for name, span in own.items() if name != named]
        notes += [(span, f"`{name}` is here") for name, (_, span) in others.items()]
        at = own[named] if named in own else others[named][0]
        return Finding(CODE, at, message, "rename one of them", tuple(notes))

    def _elsewhere(self, name: str) -> tuple[tree.Span, tree.Span] | None:
        """The import line that brings a name in which the file does not declare, and the name's own place."""
        if _first(_declared(self._file), name) is not None:
            return None
        for line, files in self._imported.items():
            for file in files:
                span = _first(_declared(file), name)
                if span is not None:
                    return line.path.span, span
        return None

    def _here(self, name: str) -> tree.Span:
        """Where the file declares a name, or uses it first; its beginning where that is only in an imported text."""
        declared = _first(_declared(self._file), name)
        return declared or _first(_names(self._file), name) or tree.Span(self._file.name, 0, 0)


def _first(places: Iterable[tuple[tree.Span, str]], name: str) -> tree.Span | None:
    return min((span for span, text in places if text == name), default=None)


def _declared(file: tree.File) -> Iterator[tuple[tree.Span, str]]:
    for item in file.items:
        if isinstance(item, tree.Event | tree.Machine):
            yield item.name.span, item.name.text
        if isinstance(item, tree.Event):
            yield from ((field.name.span, field.name.text) for field in item.fields)


def _names(node: object) -> Iterator[tuple[tree.Span, str]]:
    if isinstance(node, (tree.Name, tree.Dotted)):
        yield node.span, node.text
    elif isinstance(node, tuple) and not isinstance(node, tree.Span):
        for part in node:
            yield from _names(part)
    elif isinstance(node, Record):
        for name in node.__match_args__:
            yield from _names(getattr(node, name))
