"""The one source that a command was given as FILE, `-` being standard input (build.md section 1)."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from pathlib import Path

from harel import Definition
from harel.issue import Issue

from . import console, tree
from .compiler import Compilation, compile_file, compile_source, disk
from .diagnostics import Source, issues
from .findings import print_issues
from .parsing import room_to_parse
from .project import STANDARD_INPUT, find_project, find_sources, from_here, shown
from .reading import Unreadable, read_source, source_from_bytes
from .records import Record
from .syntax import parse

_NAME = "<stdin>"


class Given(Record):
    """A compiled source, and the folder that its names are relative to."""

    compilation: Compilation
    root: Path

    @property
    def issues(self) -> tuple[Issue, ...]:
        """The findings, with file names as paths from where the command runs."""
        return tuple(i if i.file == _NAME else from_here(i, self.root) for i in self.compilation.issues)


def compile_given(file: Path) -> Given:
    """Compile a file or standard input, whatever is found in it.

    Raises:
        Refusal: there is no such file, or it is a folder.
    """
    if file == STANDARD_INPUT:
        return Given(_compile_standard_input(), Path.cwd())
    source = _one_file(file)
    real = Path(os.path.realpath(source))
    root = find_project(source).root
    if not real.is_relative_to(os.path.realpath(root)):
        root = real.parent
    return Given(compile_file(real, root=root), root)


def sound(file: Path) -> Given | None:
    """Compile a file or standard input; `None` where it has errors, which are then printed to standard error.

    Raises:
        Refusal: as of `compile_given`.
    """
    given = compile_given(file)
    if not given.compilation.has_errors:
        return given
    tell(given)
    return None


def tell(given: Given) -> None:
    """Print the findings to standard error."""
    known = {name: source for name, source in given.compilation.sources.items() if name == _NAME}
    print_issues(given.issues, sys.stderr, known)


def all_machines(given: Given) -> tuple[Definition, ...]:
    """The machines of the source and of everything it imports, each once."""
    load = disk(given.root)
    found = {(each.id, each.version): each for each in given.compilation.definitions.values()}
    for name, source in given.compilation.sources.items():
        if name != given.compilation.entry:
            for each in compile_source(source, load).definitions.values():
                found.setdefault((each.id, each.version), each)
    return tuple(found.values())


def machine_of(given: Given, name: str | None) -> Definition:
    """The machine of that name; without one the only machine there is.

    Raises:
        Refusal: there is no such machine, or there are several to choose from.
    """
    machines = given.compilation.definitions
    if name is None and len(machines) == 1:
        return next(iter(machines.values()))
    where, there = given.compilation.entry, ", ".join(f"`{each}`" for each in machines) or "none"
    if name is None:
        raise console.Refusal(f"{where} declares {there}: name one machine" if machines else f"{where} has no machine")
    if name not in machines:
        near = get_close_matches(name, machines, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else f"; it declares {there}"
        raise console.Refusal(f"{where} has no machine `{name}`{hint}")
    return machines[name]


def parse_given(file: Path) -> tuple[tree.File, tuple[Issue, ...], Source]:
    """Parse a file or standard input without looking at what it means: its tree, the syntax errors, the text.

    Raises:
        Refusal: as of `compile_given`.
    """
    try:
        source = _standard_input() if file == STANDARD_INPUT else read_source(_one_file(file), shown(file))
    except Unreadable as error:
        source = error.source
        return tree.File(source.name, (), broken=True), issues([error.finding], {source.name: source}), source
    with room_to_parse():
        parsed, findings = parse(source)
    return parsed, issues(findings, {source.name: source}), source


def _one_file(file: Path) -> Path:
    if file.is_dir():
        raise console.Refusal(f"{shown(file)} is a folder: name one file")
    (source,) = find_sources([file])
    return source


def _standard_input() -> Source:
    return source_from_bytes(sys.stdin.buffer.read(), _NAME)


def _compile_standard_input() -> Compilation:
    try:
        source = _standard_input()
    except Unreadable as error:
        sources = {_NAME: error.source}
        return Compilation(_NAME, {}, issues([error.finding], sources), True, sources, None)
    return compile_source(source, disk(Path.cwd()))
