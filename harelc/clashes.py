"""Names of a source that are different there and one in Python, or one file (edges.md, Values, names, sizes).

The names themselves are decided by `pynames.py` and `interface.py`; here a clash becomes a finding with both places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from harel.issue import Issue

from . import tree
from .compiler import Compilation
from .diagnostics import Finding, issues
from .interface import event_classes, methods
from .pynames import NameClash, module_name

CODE = "name_clash"


def name_clashes(compilation: Compilation) -> tuple[Issue, ...]:
    """What keeps the machines of a file from becoming modules, in order of place; empty where there are errors."""
    if compilation.unit is None or compilation.has_errors:
        return ()
    return issues(_findings(compilation), compilation.sources)


def _findings(compilation: Compilation) -> Iterator[Finding]:
    if compilation.unit is None:
        return
    file = compilation.unit.file
    first: dict[str, str] = {}
    for machine, definition in compilation.definitions.items():
        other = first.setdefault(module_name(machine).casefold(), machine)
        if other != machine:
            yield _finding(NameClash("machines", other, machine, f"{module_name(machine)}.py"), file)
        try:
            event_classes(definition)
            methods(definition)
        except NameClash as clash:
            yield _finding(clash, file)


def _finding(clash: NameClash, file: tree.File) -> Finding:
    spans = {name: _span(file, name) for name in (clash.first, clash.second)}
    message = f"the {clash.what} `{clash.first}` and `{clash.second}` would both be called `{clash.python}` in Python"
    notes = ((spans[clash.first], f"`{clash.first}` is here"),)
    return Finding(CODE, spans[clash.second], message, "rename one of them", notes)


def _span(file: tree.File, name: str) -> tree.Span:
    """Where a name stands first; the beginning of the file where another file brings it in."""
    found = sorted(span for span, text in _names(file) if text == name)
    return found[0] if found else tree.Span(file.name, 0, 0)


def _names(node: object) -> Iterator[tuple[tree.Span, str]]:
    if isinstance(node, (tree.Name, tree.Dotted)):
        yield node.span, node.text
    elif isinstance(node, tuple) and not isinstance(node, tree.Span):
        for part in node:
            yield from _names(part)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _names(getattr(node, field.name))
