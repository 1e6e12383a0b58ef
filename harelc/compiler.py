"""The pipeline: text in, definitions and findings out (design.md, the stages).

syntax -> imports -> fragments -> names -> rules -> tables. Each stage is a function of its own; here they are put
in a row, and told where files come from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from harel.definition import Definition

from . import tree
from .checks import check, check_bound
from .diagnostics import ERROR, Finding, Source, Sources, issues
from .digest import digest, shared_by
from .imports import Linked, Load, link, reached_from
from .lost import without_hidden, without_spoilt
from .lower import event_rows, is_lowerable, lower
from .model import Unit
from .parsing import room_to_parse
from .reading import Unreadable, read_source, source_from_text
from .records import Record
from .resolve import resolve

if TYPE_CHECKING:
    from harel.issue import Issue

Rules = Callable[[Unit], Iterator[Finding]]
"""What looks for mistakes in a file whose names are known."""


class Compilation(Record):
    """What one source came to.

    Attributes:
        entry: the file that was asked for, by its name relative to the project.
        definitions: its machines by name, in source order; one that cannot be lowered is not there.
        issues: everything that was found, in order of place.
        blocked: a machine is missing or not what was meant, for a name, an import or the syntax is wrong. Errors of the
            rules alone do not block: the engine still has a meaning for such a machine.
        sources: all files that were read, by name.
        unit: the file as the rules see it; `None` where not even its text could be read.
    """

    entry: str
    definitions: Mapping[str, Definition]
    issues: tuple[Issue, ...]
    blocked: bool
    sources: Sources
    unit: Unit | None

    @property
    def has_errors(self) -> bool:
        return any(issue.is_error for issue in self.issues)


def compile_file(
    path: Path, *, root: Path | None = None, guards: Iterable[str] = (), rules: Rules = check
) -> Compilation:
    """Compile a file on disk with all it imports.

    Args:
        path: the file.
        root: the project's folder, which imports may not leave and to which names in findings are relative; the file's
            own folder where it is left out.
        guards: names of guards that the program binds.
        rules: `check`, or `bound_check` for a build in which every handler is bound.

    Raises:
        ValueError: the file does not lie below `root`.
    """
    folder = path.parent if root is None else root
    name = _name_below(folder, path)
    load = disk(folder)
    try:
        source = load(name)
    except Unreadable as error:
        sources = {name: error.source}
        return Compilation(name, {}, issues([error.finding], sources), True, sources, None)
    return compile_source(source, load, guards=guards, rules=rules)


def _name_below(folder: Path, path: Path) -> str:
    """The path from a folder, with `/`; links are followed only where it does not lie there otherwise."""
    for whole in (os.path.abspath, os.path.realpath):
        place, around = Path(whole(path)), Path(whole(folder))
        if place.is_relative_to(around):
            return place.relative_to(around).as_posix()
    raise ValueError(f"{path} does not lie below {folder}, which its imports may not leave: name a folder around it")


def compile_text(
    text: str, name: str = "main.stm", *, base: Path | None = None, guards: Iterable[str] = (), rules: Rules = check
) -> Compilation:
    """Compile a text.

    Args:
        name: what findings call it.
        base: the folder from which imports are read; without one there is nothing to import.
        guards: names of guards that the program binds.
        rules: as of `compile_file`.
    """
    load = _nowhere if base is None else disk(base)
    return compile_source(source_from_text(text, name), load, guards=guards, rules=rules)


def compile_source(source: Source, load: Load, *, guards: Iterable[str] = (), rules: Rules = check) -> Compilation:
    """Compile a source that is in memory; `load` reads what it imports."""
    with room_to_parse():
        linked = link(source, load)
        resolved = resolve(linked, guards)
        early = [*linked.findings, *without_hidden(resolved.findings, linked)]
        found = list(without_spoilt([*early, *rules(resolved.unit)]))
        definitions = dict(_lowered(linked, resolved.unit))
        blocked = any(finding.severity == ERROR for finding in early)
        if not blocked and len(definitions) < len(resolved.unit.machines):
            found += _errors_of_imports(linked, load, guards, rules)
    return Compilation(
        entry=source.name,
        definitions=definitions,
        issues=issues((reached_from(linked, finding) for finding in found), linked.sources),
        blocked=blocked,
        sources=linked.sources,
        unit=resolved.unit,
    )


def _errors_of_imports(linked: Linked, load: Load, guards: Iterable[str], rules: Rules) -> Iterator[Finding]:
    """The errors that the rules find in imported files: in the text of a fragment one may spoil who uses it."""
    for name, source in linked.sources.items():
        if name != linked.entry:
            unit = resolve(link(source, load), guards).unit
            yield from (finding for finding in rules(unit) if finding.severity == ERROR)


def bound_check(unit: Unit) -> Iterator[Finding]:
    """All rules, and the one about handlers that nothing binds."""
    yield from check(unit)
    yield from check_bound(unit)


def _lowered(linked: Linked, unit: Unit) -> Iterator[tuple[str, Definition]]:
    imported = {
        name: [(line, linked.files[target]) for line, target in found] for name, found in linked.imports.items()
    }
    texts = tuple((name, source.text) for name, source in sorted(linked.sources.items()))
    shared = shared_by(unit.file, imported)
    events = event_rows(linked.scopes[linked.entry].events.values())
    for machine in unit.machines:
        if isinstance(machine.node, tree.Machine) and is_lowerable(machine):
            yield machine.id, lower(machine, digest(machine.node, shared), events, texts)


def disk(folder: Path) -> Load:
    """Reads files below a folder, in exact case also where the file system does not care."""
    listed: dict[Path, frozenset[str] | None] = {}

    def has(around: Path, name: str) -> bool:
        if around not in listed:
            try:
                listed[around] = frozenset(os.listdir(around))
            except OSError:  # it may be read and not listed: then any spelling is taken
                listed[around] = None
        names = listed[around]
        return names is None or name in names

    def load(name: str) -> Source:
        path = folder / name
        parts = [path, *path.parents][: len(PurePosixPath(name).parts)]
        if path.exists() and not all(has(part.parent, part.name) for part in parts):
            raise _unreadable(name, "there is no such file, in this spelling")
        return read_source(path, name)

    return load


def _nowhere(name: str) -> Source:
    raise _unreadable(name, "a text has no folder to import from: give `base_path`")


def _unreadable(name: str, why: str) -> Unreadable:
    return Unreadable(Finding("unreadable_file", tree.Span(name, 0, 0), why), Source(name, ""))
