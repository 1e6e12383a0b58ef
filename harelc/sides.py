"""One side of a comparison: the machines of a file, a folder or standard input, on the disk or in a git revision.

The machines that a source declares count, and those of the files it imports. What they differ in is not known here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harel.definition import Definition
from harel.issue import Issue

from . import console
from .compiler import Compilation, compile_source, disk
from .diagnostics import Source, issues
from .findings import print_issues
from .given import compile_given, tell
from .imports import Load
from .project import STANDARD_INPUT, SUFFIX, find_sources, shown
from .reading import Unreadable
from .revisions import PREFIX, Revision, open_revision


@dataclass(frozen=True, slots=True)
class _Part:
    """A compiled source, what reads the files beside it, the place it is read from, and how its findings are told."""

    compilation: Compilation
    load: Load
    place: str
    tell: Callable[[], None]


def read_side(side: str) -> list[Definition] | None:
    """The machines of a side; `None` where a source has errors, which are then printed to standard error.

    Raises:
        Refusal: there is nothing of that name, no source in it, or one version of a machine twice with other content.
    """
    parts = _revision(side) if side.startswith(PREFIX) else _disk(Path(side))
    broken = [part for part in parts if part.compilation.has_errors]
    for part in broken:
        part.tell()
    return None if broken else _machines(parts)


def _disk(path: Path) -> list[_Part]:
    if path == STANDARD_INPUT or not path.is_dir():
        return [_file(path)]
    sources = find_sources([path])
    if not sources:
        raise console.Refusal(f"there is no {SUFFIX} file in {shown(path)}")
    return [_file(source) for source in sources]


def _file(path: Path) -> _Part:
    given = compile_given(path)
    return _Part(given.compilation, disk(given.root), str(given.root), lambda: tell(given))


def _revision(side: str) -> list[_Part]:
    revision, names = open_revision(side)
    return [_at_revision(revision, name) for name in names]


def _at_revision(revision: Revision, name: str) -> _Part:
    try:
        compilation = compile_source(revision.load(name), revision.load)
    except Unreadable as error:
        sources = {name: error.source}
        compilation = Compilation(name, {}, issues([error.finding], sources), True, sources, None)
    return _Part(compilation, revision.load, revision.commit, lambda: _tell(compilation, revision))


def _tell(compilation: Compilation, revision: Revision) -> None:
    """Print findings with the lines of the revision, which are not those on the disk."""

    def named(name: str) -> str:
        return f"{PREFIX}{revision.name}:{name}"

    def placed(issue: Issue) -> Issue:
        notes = tuple(replace(note, file=named(note.file)) for note in issue.notes)
        return replace(issue, file=named(issue.file), notes=notes)

    sources = {named(name): Source(named(name), source.text) for name, source in compilation.sources.items()}
    print_issues([placed(issue) for issue in compilation.issues], sys.stderr, sources)


def _machines(parts: Sequence[_Part]) -> list[Definition]:
    """The machines of the sources, then those of the files that only an import leads to."""
    found: dict[tuple[str, int], tuple[Definition, str]] = {}
    for part in parts:
        for machine in part.compilation.definitions.values():
            known, place = found.setdefault((machine.id, machine.version), (machine, part.compilation.entry))
            if known.digest != machine.digest:
                raise console.Refusal(
                    f"machine {machine.id} version {machine.version} is declared by {place} and, otherwise, by "
                    f"{part.compilation.entry}: compare one file at a time"
                )
    for machine in _imported(parts):
        found.setdefault((machine.id, machine.version), (machine, ""))
    return [machine for machine, _ in found.values()]


def _imported(parts: Sequence[_Part]) -> Iterable[Definition]:
    seen = {(part.place, part.compilation.entry) for part in parts}
    for part in parts:
        for name in part.compilation.sources:
            if (part.place, name) not in seen:
                seen.add((part.place, name))
                yield from compile_source(part.load(name), part.load).definitions.values()
