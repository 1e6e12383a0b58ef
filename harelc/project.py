"""Which sources a command is about, where their project begins, and where their modules go (build.md sections 1 and 3).

A project is marked by a `pyproject.toml`, or by a `.git` where there is none; one with `[tool.harelc]` wins over nearer
ones without. Inside it a source is known by its path from there, so that the bytes of a module do not depend on the
folder a build was started in. Where nothing marks a project a source is known by its file name alone. Nothing is
compiled or written here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .console import Refusal
from .records import Record
from .settings import FILE, Settings, Target, read_settings

if TYPE_CHECKING:
    from harel.issue import Issue

SUFFIX = ".stm"
STANDARD_INPUT = Path("-")


class Project(Record):
    """A folder that imports may not leave, and its settings. `marked`: something says that it is a project."""

    root: Path
    marked: bool
    settings: Settings

    def name_of(self, source: Path) -> str:
        """The name by which generated files know a source, or a folder of sources; `/` on every platform."""
        return relative(source, self.root) if self.marked else source.name


class Job(Record):
    """One source to build: where it is, its name in what is made of it, the folder for that, and whether diagrams
    and pages are made.

    `real` is the source with links resolved; it lies below `root`, which imports may not leave. A job is equal to
    itself only, since a build looks up thousands of them.
    """

    source: Path
    real: Path
    name: str
    root: Path
    output: Path
    diagrams: bool
    docs: bool

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Plan(Record):
    """All that one build is about. `folders` are those that were searched for sources."""

    project: Project
    jobs: tuple[Job, ...]
    folders: tuple[Path, ...]


def relative(path: Path, folder: Path) -> str:
    """The path from a folder, with `/`; absolute paths in, no link is followed."""
    return Path(os.path.relpath(path, folder)).as_posix()


def shown(path: Path) -> str:
    """A path as a user would type it here: relative where it lies below the current folder."""
    path = Path(os.path.abspath(path))
    return relative(path, Path.cwd()) if path.is_relative_to(Path.cwd()) else str(path)


def from_here(issue: Issue, root: Path) -> Issue:
    """An issue whose file names are paths from a project, with names as a user would type them here."""
    notes = tuple(replace(note, file=shown(root / note.file)) for note in issue.notes)
    return replace(issue, file=shown(root / issue.file), notes=notes)


def find_project(start: Path) -> Project:
    """The project around a file or folder. Raises `Refusal` for settings that cannot be read."""
    start = Path(os.path.abspath(start))
    marker: Path | None = None
    for folder in (start, *start.parents):
        file = folder / FILE
        if file.is_file():
            settings = read_settings(file)
            if settings.targets:
                return Project(folder, True, settings)
            marker = marker or folder
        elif (folder / ".git").exists():
            marker = marker or folder
    if marker:
        return Project(marker, True, Settings())
    here = Path.cwd()
    folder = start if start.is_dir() else start.parent
    return Project(here if folder.is_relative_to(here) else folder, False, Settings())


def plan(paths: Sequence[Path], output: Path | None) -> Plan:
    """What `harelc build` is to do: the given paths or the settings' sources, into the given folder or the settings'.

    Raises:
        Refusal: nothing says what to build, a path does not exist, there is no source in any of them, or the output
            is no folder.
    """
    project = find_project(Path.cwd())
    targets = project.settings.targets
    if paths:
        project = find_project(paths[0])
        targets = tuple(_target(path, output, project.settings) for path in paths)
    elif output:
        targets = tuple(replace(target, output=output) for target in targets)
    if not targets:
        raise Refusal(f"nothing says what to build: give a path, or set `sources` under [tool.harelc] in {FILE}")
    jobs: dict[tuple[str, str], Job] = {}
    neighbours = cache(partial(_neighbourhood, project))
    for target in targets:
        if target.output and target.output.exists() and not target.output.is_dir():
            raise Refusal(f"{shown(target.output)}: modules go to a folder, and this is none")
        output = Path(os.path.abspath(target.output)) if target.output else None
        for source, real in _found(target.sources).items():
            folder, name = os.path.split(source)
            around = neighbours(folder, os.path.dirname(real))
            place = Path(source)
            job = Job(
                source=place,
                real=place if real == source else Path(real),
                name=around.prefix + name,
                root=around.root,
                output=output or around.folder,
                diagrams=target.diagrams,
                docs=target.docs,
            )
            jobs.setdefault((source, str(job.output)), job)
    if not jobs:
        searched = ", ".join(shown(source) for target in targets for source in target.sources)
        raise Refusal(f"there is no {SUFFIX} file in {searched}")
    folders = tuple(Path(os.path.abspath(s)) for target in targets for s in target.sources if s.is_dir())
    return Plan(project, tuple(jobs.values()), folders)


class _Neighbourhood(NamedTuple):
    """What the sources of one folder share: the folder, the root of their project, what their names begin with."""

    folder: Path
    root: Path
    prefix: str


def _neighbourhood(project: Project, folder: str, real: str) -> _Neighbourhood:
    """Of the sources in a folder that lie in the folder `real` once links are resolved."""
    here, there = Path(folder), Path(real)
    named = project if here.is_relative_to(project.root) else find_project(here)
    around = named if there.is_relative_to(os.path.realpath(named.root)) else find_project(there)
    below = named.name_of(here) if named.marked else "."
    return _Neighbourhood(here, around.root, "" if below == "." else f"{below}/")


def _target(path: Path, output: Path | None, settings: Settings) -> Target:
    """A path from the command line as a target: with the output of the settings' target that it lies in."""
    place = Path(os.path.abspath(path))
    for target in settings.targets:
        if any(place.is_relative_to(Path(os.path.abspath(source))) for source in target.sources):
            return replace(target, sources=(place,), output=output or target.output)
    first = settings.targets[0] if settings.targets else Target(())
    return replace(first, sources=(place,), output=output or first.output)


def find_sources(paths: Sequence[Path]) -> dict[Path, Path]:
    """The files named, and every `.stm` file below the folders named, in order, each once.

    As absolute paths; the values are the same files with links resolved. Hidden files and folders and virtual
    environments are passed over unless named; links are followed, each folder once.

    Raises:
        Refusal: a path does not exist, or is neither file nor folder.
    """
    return {Path(source): Path(real) for source, real in _found(paths).items()}


def _found(paths: Iterable[Path]) -> dict[str, str]:
    """`find_sources` in plain strings, of which there may be thousands."""
    found: dict[str, str] = {}
    for path in paths:
        place = os.path.abspath(path)
        listed: list[tuple[str, str | None]] = [(place, None)]
        if os.path.isdir(place):
            listed = sorted(_walk(place, os.path.realpath(place), set()), key=_steps)
        for source, real in listed:
            if real is None:
                if not os.path.isfile(source):
                    raise Refusal(_absent(Path(source)))
                real = os.path.realpath(source)
            found.setdefault(real, source)
    return {source: real for real, source in found.items()}


def _steps(listed: tuple[str, str | None]) -> list[str]:
    return os.path.normcase(listed[0]).split(os.sep)


def _absent(path: Path) -> str:
    try:
        path.stat()
    except FileNotFoundError:
        return f"{shown(path)}: there is no such file or folder"
    except OSError as error:
        return f"{shown(path)}: {error.strerror}"
    return f"{shown(path)}: it is neither a file nor a folder"


def _walk(folder: str, real: str, seen: set[tuple[int, int]]) -> Iterator[tuple[str, str | None]]:
    """The sources below a folder, each with links resolved; with `None` where it is a link itself."""
    status = os.stat(folder)
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if _is_dir(entry):
                if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    inner = os.path.realpath(entry.path) if entry.is_symlink() else os.path.join(real, entry.name)
                    yield from _walk(entry.path, inner, seen)
            elif entry.name.endswith(SUFFIX):
                if entry.is_symlink():
                    yield entry.path, None
                elif entry.is_file():
                    yield entry.path, os.path.join(real, entry.name)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself is no folder; as a source it is refused by name
        return False
