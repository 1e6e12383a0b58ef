"""Imports: from one file to that file and everything it needs, and the names that each file sees (language.md
section 2).

Every file is read and parsed once. Events, guards and bindings come in bare, the file's own first; machines and
fragments are reached through aliases. Nothing is looked up here: a `Scope` only says what each name would mean.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from . import tree
from .diagnostics import WARNING, Finding, Source
from .digest import canonical
from .reading import Unreadable
from .syntax import parse

Load = Callable[[str], Source]
"""Reads a file by its name relative to the project; raises `Unreadable`."""

Declared = TypeVar("Declared", tree.Event, tree.Guard, tree.BindEntry)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names of one file mean. Machines and fragments are found by their dotted names, all else bare.

    `is_complete`: nothing was lost to a syntax error or a failed import, so a name that is not here does not exist.
    """

    events: Mapping[str, tree.Event]
    guards: Mapping[str, tree.Guard]
    binds: Mapping[str, tree.BindEntry]
    machines: Mapping[str, tree.Machine]
    fragments: Mapping[str, tree.Fragment]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Linked:
    """A file with all it imports: trees, sources and scopes by file name, the file that was asked for first.

    `imports` holds, for each file, its import lines with the file each leads to; `reached` the import line of the file
    asked for through which another file is reached first.
    """

    entry: str
    files: Mapping[str, tree.File]
    sources: Mapping[str, Source]
    imports: Mapping[str, tuple[tuple[tree.Import, str], ...]]
    reached: Mapping[str, tree.Import]
    scopes: Mapping[str, Scope]
    findings: tuple[Finding, ...]

    def behind(self, name: str) -> tuple[tree.File, ...]:
        """The file of that name and everything it imports, each once, itself first."""
        return tuple(self.files[found] for found in _closure(name, self.imports))


def link(entry: Source, load: Load) -> Linked:
    """Parse a file and everything it imports, and work out the scopes.

    Findings: those of the parser, `import_not_found`, `import_outside`, `import_cycle` and `import_shadowed`. An import
    with a finding is left out, and its file sees what the others bring.
    """
    reader = _Reader(load)
    reader.visit(entry)
    scopes: dict[str, Scope] = {}
    for name in reversed(reader.order):
        scopes[name] = _scope(reader.files[name], reader.imports[name], scopes)
    findings = [*reader.findings, *_shadowed(reader, scopes)]
    return Linked(
        entry=entry.name,
        files=reader.files,
        sources=reader.sources,
        imports={name: tuple(found) for name, found in reader.imports.items()},
        reached=_reached(entry.name, reader.imports),
        scopes=scopes,
        findings=tuple(findings),
    )


class _Reader:
    """Reads files depth-first. `order` has every file before those that it imports."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.files: dict[str, tree.File] = {}
        self.sources: dict[str, Source] = {}
        self.imports: dict[str, list[tuple[tree.Import, str]]] = {}
        self.findings: list[Finding] = []
        self._finished: list[str] = []

    @property
    def order(self) -> list[str]:
        return self._finished[::-1]

    def visit(self, entry: Source) -> None:
        """Read the entry and all behind it; no recursion, so that a long chain of imports is only long."""
        way: list[tuple[str, Iterator[tree.Import]]] = [(entry.name, self._open(entry))]
        came: list[tree.Import] = []
        while way:
            name, waiting = way[-1]
            found = next(waiting, None)
            if found is None:
                self._finished.append(name)
                way.pop()
                if came:
                    came.pop()
                continue
            target = self._target(name, found, came)
            if target is None:
                continue
            if target in (open_name for open_name, _ in way):
                self._report_cycle(found, target, came)
            elif target in self.files or self._read(target, found, came):
                self.imports[name].append((found, target))
                if target not in self._finished:
                    way.append((target, self._open(self.sources[target])))
                    came.append(found)

    def _open(self, source: Source) -> Iterator[tree.Import]:
        file, findings = parse(source)
        self.files[source.name], self.sources[source.name] = file, source
        self.imports[source.name] = []
        self.findings += findings
        return iter([item for item in file.items if isinstance(item, tree.Import)])

    def _target(self, name: str, found: tree.Import, came: list[tree.Import]) -> str | None:
        """The file an import leads to; `None`, with a finding, where it leads out of the project."""
        path = found.path.text
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if path.startswith("/") or "\\" in path or ":" in path or target.startswith(".."):
            message = f"the import {path!r} leads out of the project"
            hint = "name a file below the folder of the first source, relative to this file and with `/`"
            self._report("import_outside", found, message, hint, came)
            return None
        return target

    def _read(self, target: str, found: tree.Import, came: list[tree.Import]) -> bool:
        try:
            self.sources[target] = self._load(target)
        except Unreadable as error:
            if error.finding.code == "encoding_error":
                self.sources[target] = error.source
                self.findings.append(error.finding)
                return False
            message = f"the file {found.path.text!r} cannot be imported: {error.finding.message}"
            self._report("import_not_found", found, message, "check the path: it is relative to this file", came)
            return False
        return True

    def _report_cycle(self, found: tree.Import, target: str, came: list[tree.Import]) -> None:
        """A circle stands at the first import of the way that leads into it, in the file that everything began with."""
        circle = [*came, found]
        first = next((number for number, step in enumerate(circle) if step.path.span.file == target), 0)
        at, others = circle[first], circle[first + 1 :]
        files = " imports ".join([f"{step.path.span.file}" for step in circle[first:]] + [target])
        notes = tuple((step.path.span, "the circle goes on here") for step in others)
        hint = "put what both need into a third file"
        self.findings.append(Finding("import_cycle", at.path.span, f"imports go in a circle: {files}", hint, notes))

    def _report(self, code: str, found: tree.Import, message: str, hint: str, came: list[tree.Import]) -> None:
        notes = tuple((step.path.span, "this file is reached from here") for step in came)
        self.findings.append(Finding(code, found.path.span, message, hint, notes))


def _closure(name: str, imports: Mapping[str, Iterable[tuple[tree.Import, str]]]) -> list[str]:
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        at = waiting.pop()
        if at not in found:
            found[at] = None
            waiting += [target for _, target in reversed(list(imports[at]))]
    return list(found)


def _reached(entry: str, imports: Mapping[str, list[tuple[tree.Import, str]]]) -> dict[str, tree.Import]:
    reached: dict[str, tree.Import] = {}
    for line, target in imports[entry]:
        for name in _closure(target, imports):
            reached.setdefault(name, line)
    return reached


def _scope(file: tree.File, imports: list[tuple[tree.Import, str]], scopes: Mapping[str, Scope]) -> Scope:
    """What the file declares itself, over what its imports bring, the earlier import over the later."""
    events: dict[str, tree.Event] = {}
    guards: dict[str, tree.Guard] = {}
    binds: dict[str, tree.BindEntry] = {}
    machines: dict[str, tree.Machine] = {}
    fragments: dict[str, tree.Fragment] = {}
    for item in file.items:
        if isinstance(item, tree.Event):
            events.setdefault(item.name.text, item)
        elif isinstance(item, tree.Guard):
            guards.setdefault(item.name.text, item)
        elif isinstance(item, tree.Bind):
            for bound in item.entries:
                binds.setdefault(bound.name.text, bound)
        elif isinstance(item, tree.Machine):
            machines.setdefault(item.name.text, item)
        elif isinstance(item, tree.Fragment):
            fragments.setdefault(item.name.text, item)
    for line, target in imports:
        brought = scopes[target]
        prefix = f"{line.alias.text}." if line.alias else ""
        for name, event in brought.events.items():
            events.setdefault(name, event)
        for name, guard in brought.guards.items():
            guards.setdefault(name, guard)
        for name, entry in brought.binds.items():
            binds.setdefault(name, entry)
        for name, machine in brought.machines.items():
            machines.setdefault(prefix + name, machine)
        for name, fragment in brought.fragments.items():
            fragments.setdefault(prefix + name, fragment)
    lines = sum(isinstance(item, tree.Import) for item in file.items)
    is_complete = not file.broken and lines == len(imports) and all(scopes[target].is_complete for _, target in imports)
    return Scope(events, guards, binds, machines, fragments, is_complete)


def _shadowed(reader: _Reader, scopes: Mapping[str, Scope]) -> Iterator[Finding]:
    """Two imports of the first file that bring different declarations of one name (W `import_shadowed`)."""
    entry = reader.order[0]
    own = _scope(reader.files[entry], [], {})
    for what in ("event", "guard", "bind"):
        local: Mapping[str, object] = getattr(own, f"{what}s")
        seen: dict[str, tuple[object, tree.Import]] = {}
        for line, target in reader.imports[entry]:
            brought: Mapping[str, tree.Event | tree.Guard | tree.BindEntry] = getattr(scopes[target], f"{what}s")
            for name, declaration in brought.items():
                if name in local:
                    continue
                meaning = canonical(declaration)
                first, by = seen.setdefault(name, (meaning, line))
                if first != meaning:
                    noun = {"bind": "binding"}.get(what, what)
                    message = f"this import brings another {noun} `{name}` than the one before it, which wins"
                    note = ((by.path.span, "the first one comes in here"),)
                    hint = f"declare `{name}` in this file, or rename one of the two"
                    yield Finding("import_shadowed", line.path.span, message, hint, note, WARNING)


def reached_from(linked: Linked, finding: Finding) -> Finding:
    """A finding in a file that was only imported, put at the import line of the file that was asked for.

    What an import line itself or a syntax error is about stays where it must be changed.
    """
    line = linked.reached.get(finding.span.file)
    if finding.span.file == linked.entry or line is None:
        return finding
    message = f"in {finding.span.file}: {finding.message}"
    return replace(
        finding, span=line.path.span, message=message, notes=((finding.span, "it stands here"), *finding.notes)
    )
