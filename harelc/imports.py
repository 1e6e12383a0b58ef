"""Imports: from one file to that file and everything it needs (language.md section 2; edges.md, Trees).

Every file is read and parsed once. What its names mean is `scopes.py`'s subject; nothing is looked up here.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from . import tree
from .diagnostics import WARNING, Finding, Source
from .digest import canonical
from .reading import Unreadable
from .records import Record
from .scopes import Scope, scope_of
from .syntax import parse

Load = Callable[[str], Source]
"""Reads a file by its name relative to the project; raises `Unreadable`."""

Imports = Mapping[str, list[tuple[tree.Import, str]]]
"""For each file its import lines with the file each leads to; a line with a finding is left out."""

Parsed = tuple[tree.File, tuple[Finding, ...]]
"""The tree of a file, and the findings of the parser."""

_KEPT = 128
"""How many imported files are remembered parsed."""

_OF_IMPORTS = frozenset({"import_not_found", "import_outside", "import_cycle"})


class Linked(Record):
    """A file with all it imports: trees, sources and scopes by file name, the file that was asked for first.

    `imports` holds, for each file, its import lines with the file each leads to; `reached` the import line of the file
    asked for through which another file is reached first.
    """

    entry: str
    files: Mapping[str, tree.File]
    sources: Mapping[str, Source]
    imports: Imports
    reached: Mapping[str, tree.Import]
    scopes: Mapping[str, Scope]
    findings: tuple[Finding, ...]

    def behind(self, name: str) -> tuple[tree.File, ...]:
        """The file of that name and everything it imports, each once, itself first."""
        return tuple(self.files[found] for found in _closure(name, self.imports))


def link(entry: Source, load: Load) -> Linked:
    """Parse a file and everything it imports, and work out the scopes.

    Findings: those of the parser, `encoding_error`, `import_not_found`, `import_outside`, `import_cycle` and
    `import_shadowed`. An import with a finding is left out, and its file sees what the others bring.
    """
    reader = _Reader(load)
    reader.visit(entry)
    scopes: dict[str, Scope] = {}
    for name in reader.finished:
        brought = [(line, scopes[target]) for line, target in reader.imports[name]]
        scopes[name] = scope_of(reader.files[name], brought)
    return Linked(
        entry=entry.name,
        files=reader.files,
        sources=reader.sources,
        imports=reader.imports,
        reached=_reached(entry.name, reader.imports),
        scopes=scopes,
        findings=(*reader.findings, *_shadowed(reader.files[entry.name], reader.imports[entry.name], scopes)),
    )


@lru_cache(maxsize=_KEPT)
def _parsed(name: str, text: str) -> Parsed:
    """The tree of an imported file: in a build many files import the same ones."""
    return parse(Source(name, text))


class _Reader:
    """Reads files depth-first. `finished` has every file behind those that it imports."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.files: dict[str, tree.File] = {}
        self.sources: dict[str, Source] = {}
        self.imports: dict[str, list[tuple[tree.Import, str]]] = {}
        self.findings: list[Finding] = []
        self.finished: dict[str, None] = {}

    def visit(self, entry: Source) -> None:
        """Read the entry and all behind it; no recursion, so that a long chain of imports is only long."""
        way: list[tuple[str, Iterator[tree.Import]]] = [(entry.name, self._open(entry, parse(entry)))]
        came: list[tree.Import] = []
        while way:
            name, waiting = way[-1]
            found = next(waiting, None)
            if found is None:
                self.finished[name] = None
                way.pop()
                if came:
                    came.pop()
                continue
            target = self._target(name, found, came)
            if target is None:
                continue
            if target in self.files and target not in self.finished:
                self._report_cycle(found, target, came)
            elif target in self.finished:
                self.imports[name].append((found, target))
            elif (opened := self._read(target, found, came)) is not None:
                self.imports[name].append((found, target))
                way.append((target, opened))
                came.append(found)

    def _open(self, source: Source, parsed: Parsed) -> Iterator[tree.Import]:
        file, findings = parsed
        self.findings += findings
        return self._add(source, file)

    def _add(self, source: Source, file: tree.File) -> Iterator[tree.Import]:
        self.files[source.name], self.sources[source.name] = file, source
        self.imports[source.name] = []
        return iter([item for item in file.items if isinstance(item, tree.Import)])

    def _target(self, name: str, found: tree.Import, came: list[tree.Import]) -> str | None:
        """The file an import leads to; `None`, with a finding, where it leads out of the project."""
        path = found.path.text
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if path.startswith("/") or "\\" in path or ":" in path or target.partition("/")[0] == "..":
            message = f"the import {path!r} leads out of the project"
            hint = "name a file of the project, relative to this file and with `/`"
            self._report("import_outside", found, message, hint, came)
            return None
        return target

    def _read(self, target: str, found: tree.Import, came: list[tree.Import]) -> Iterator[tree.Import] | None:
        """The imports of a file that was not read before; `None`, with a finding, where there is no such file."""
        try:
            source = self._load(target)
            return self._open(source, _parsed(source.name, source.text))
        except Unreadable as error:
            if error.finding.code == "encoding_error":
                self.findings.append(error.finding)
                return self._add(error.source, tree.File(target, (), broken=True))
            why = error.finding.message.removeprefix(f"`{target}` cannot be read: ")
            message = f"the file {found.path.text!r} cannot be imported: {why}"
            self._report("import_not_found", found, message, "check the path: it is relative to this file", came)
            return None

    def _report_cycle(self, found: tree.Import, target: str, came: list[tree.Import]) -> None:
        """A circle stands at the first import of the way that leads into it."""
        steps = [*came, found]
        first = next(number for number, step in enumerate(steps) if step.path.span.file == target)
        at, others = steps[first], steps[first + 1 :]
        files = [*(step.path.span.file for step in steps[first:]), target]
        shown = " imports ".join(_seen_from(target, file) for file in files)
        notes = [(step.path.span, "the circle goes on here") for step in others]
        hint = "put what both need into a third file"
        message = f"imports go in a circle: {shown}"
        self.findings.append(Finding("import_cycle", at.path.span, message, hint, (*_way(steps[:first]), *notes)))

    def _report(self, code: str, found: tree.Import, message: str, hint: str, came: list[tree.Import]) -> None:
        self.findings.append(Finding(code, found.path.span, message, hint, _way(came)))


def _way(came: Iterable[tree.Import]) -> tuple[tuple[tree.Span, str], ...]:
    return tuple((step.path.span, "this file is reached from here") for step in came)


def _seen_from(file: str, other: str) -> str:
    """Another file's name as one would import it in the file: what a message says, whatever the project's folder."""
    return posixpath.relpath(other, posixpath.dirname(file) or ".")


def _closure(name: str, imports: Imports) -> list[str]:
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        at = waiting.pop()
        if at not in found:
            found[at] = None
            waiting += [target for _, target in reversed(imports[at])]
    return list(found)


def _reached(entry: str, imports: Imports) -> dict[str, tree.Import]:
    reached: dict[str, tree.Import] = {}
    for line, target in imports[entry]:
        for name in _closure(target, imports):
            reached.setdefault(name, line)
    return reached


def _shadowed(
    entry: tree.File, imports: Iterable[tuple[tree.Import, str]], scopes: Mapping[str, Scope]
) -> Iterator[Finding]:
    """Two imports of the first file that bring different declarations of one name (W `import_shadowed`)."""
    own = scope_of(entry, ())
    first: dict[tuple[str, str], tuple[str, tree.Import]] = {}
    for line, target in imports:
        brought = scopes[target]
        for noun, local, names in (
            ("event", own.events, brought.events),
            ("guard", own.guards, brought.guards),
            ("binding", own.binds, brought.binds),
        ):
            for name, declaration in names.items():
                meaning = canonical(declaration)
                known, by = first.setdefault((noun, name), (meaning, line))
                if known != meaning and name not in local:
                    message = f"this import brings another {noun} `{name}` than the one before it, which wins"
                    note = ((by.path.span, "the first one comes in here"),)
                    hint = f"declare `{name}` in this file, or rename one of the two"
                    yield Finding("import_shadowed", line.path.span, message, hint, note, WARNING)


def reached_from(linked: Linked, finding: Finding) -> Finding:
    """A finding in a file that was only imported, put at the import line of the file that was asked for.

    What is wrong with an import itself stays where it must be changed (edges.md, Trees).
    """
    span = finding.span
    line = linked.reached.get(span.file)
    if span.file == linked.entry or line is None or finding.code in _OF_IMPORTS:
        return finding
    row, column = linked.sources[span.file].place(span.start)
    message = f"in {_seen_from(linked.entry, span.file)}:{row}:{column}: {finding.message}"
    return replace(finding, span=line.path.span, message=message, notes=((span, "it stands here"), *finding.notes))
