"""A build: what is stale, what that comes to, and putting it in place (build.md sections 1, 3 and 4).

`prepare` reads and compiles and writes nothing, which is all that `--check` and `--diff` need; `apply` writes. A build
where nothing is stale reads and hashes files only: the compiler is imported when there is something to compile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .cache import Entry, Key, Made, file_hash, fingerprint, load, save, text_hash
from .outputs import diagram_file, origin, page_file, printable, read_output, write_atomically
from .pool import each
from .project import Job, Plan, from_here, relative, shown
from .records import Record

if TYPE_CHECKING:
    from harel.issue import Issue

    from .translate import Module, Translation


class Change(Record):
    """A file to write, or to remove where `new` is `None`, and why. `old` is its text now, `None` where it is not."""

    path: Path
    reason: str
    old: str | None
    new: str | None

    @property
    def is_module(self) -> bool:
        return self.path.suffix == ".py"


class Prepared(Record):
    """What a build would do.

    Attributes:
        machines: how many modules there are to be.
        changes: the files that are not as they should be.
        issues: the findings by place; file names are paths from where the command runs.
        in_the_way: files without the header where generated ones should go.
        broken: how many sources have errors.
        home: the folder that holds the cache, and `entries` what it is to keep; `None`: what it has.
        folders: where sources, and what they import, were read.
        results: what each source without errors comes to, changed or not.
    """

    machines: int
    changes: tuple[Change, ...]
    issues: tuple[Issue, ...]
    in_the_way: tuple[Path, ...]
    broken: int
    home: Path
    entries: Mapping[Key, Entry] | None
    folders: frozenset[Path]
    results: Mapping[Job, Entry]

    @property
    def outputs(self) -> tuple[Path, ...]:
        """Every file that the build makes, changed or not."""
        return tuple(job.output / made.file for job, entry in self.results.items() for made in entry.made)

    @property
    def inputs(self) -> frozenset[Path]:
        """Every source that it reads, imported ones too."""
        return frozenset(job.root / name for job, entry in self.results.items() for name in entry.inputs)

    @property
    def has_errors(self) -> bool:
        return bool(self.in_the_way) or any(issue.is_error for issue in self.issues)


class _Survey(Record):
    """A job against its cache entry: the texts of its files as far as they stand, and why it is stale, if it is."""

    job: Job
    entry: Entry | None
    reason: str | None
    is_stale: bool


Progress = Callable[[Iterator["Translation"], int], Iterator["Translation"]]
"""Hands on the translations as they come, of which there will be so many, and may show how far they are."""


def prepare(plan: Plan, *, force: bool, processes: int | None, progress: Progress) -> Prepared:
    """Find out what is stale and compile that; `force` takes everything for stale.

    Raises:
        OSError: an output cannot be read.
    """
    home = _home(plan)
    keys = _keys(plan.jobs, home)
    cached = load(home)
    compiler = fingerprint()
    hash_of = cache(file_hash)
    surveys = [_survey(job, cached.get(keys[job]), compiler, hash_of, force) for job in plan.jobs]
    stale = [survey for survey in surveys if survey.is_stale]
    compiled = _compile([survey.job for survey in stale], processes, progress)

    entries = {survey.job: survey.entry for survey in surveys if survey.entry and not survey.is_stale}
    entries |= {job: _entry(job, result, compiler) for job, result in compiled.items() if not result.is_broken}
    broken = {job: result.issues for job, result in compiled.items() if result.is_broken}
    issues = {from_here(issue, job.root) for job, found in broken.items() for issue in found}
    clashes = tuple(_clashes({job: entries[job] for job in plan.jobs if job in entries}))
    for job, issue in clashes:
        issues.add(issue)
        entries.pop(job, None)
    issues |= {from_here(issue, job.root) for job, entry in entries.items() for issue in entry.warnings}

    wanted = [change for each in stale if each.job in entries for change in _changes(each, compiled[each.job])]
    in_the_way = tuple(change.path for change in wanted if change.old is not None and origin(change.old) is None)
    changes = [change for change in wanted if change.path not in in_the_way]
    kept = _kept(home, cached, {keys[job]: entry for job, entry in entries.items()})
    return Prepared(
        machines=sum(made.file.endswith(".py") for entry in entries.values() for made in entry.made),
        changes=(*changes, *_orphans(plan, home, cached, entries)),
        issues=tuple(sorted(issues, key=_place)),
        in_the_way=in_the_way,
        broken=len(plan.jobs) - len(entries),
        home=home,
        entries=None if kept == cached else kept,
        folders=_folders(plan, entries, compiled),
        results=entries,
    )


def _place(issue: Issue) -> tuple[str, int, int, str, str]:
    return issue.file, issue.line, issue.column, issue.code, issue.message


def _kept(home: Path, cached: Mapping[Key, Entry], fresh: Mapping[Key, Entry]) -> dict[Key, Entry]:
    """The new entries, and the old ones of sources with errors and of sources that this build was not asked about."""
    others = {key: entry for key, entry in cached.items() if key not in fresh and (home / key[0]).exists()}
    return others | dict(fresh)


def _folders(plan: Plan, entries: Mapping[Job, Entry], compiled: Mapping[Job, Translation]) -> frozenset[Path]:
    read = {(job.root, os.path.dirname(name)) for job, entry in entries.items() for name in entry.inputs}
    read |= {(job.root, os.path.dirname(name)) for job, result in compiled.items() for name, _ in result.inputs}
    sources = {os.path.dirname(job.source) for job in plan.jobs}
    return frozenset({*plan.folders, *(root / folder for root, folder in read), *map(Path, sources)})


def _compile(jobs: Sequence[Job], processes: int | None, progress: Progress) -> dict[Job, Translation]:
    if not jobs:
        return {}
    from .translate import translate

    return dict(zip(jobs, progress(each(translate, jobs, processes), len(jobs)), strict=True))


def apply(prepared: Prepared) -> None:
    """Write and remove what `prepare` found, each file whole, then keep the cache.

    Raises:
        OSError: a file cannot be written or removed; those before it are in place.
    """
    for change in prepared.changes:
        if change.new is None:
            change.path.unlink(missing_ok=True)
        else:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(change.path, change.new)
    if prepared.entries is not None:
        save(prepared.home, prepared.entries)


def _home(plan: Plan) -> Path:
    """Where the cache is: in the project, or beside the output where nothing marks a project."""
    return plan.project.root if plan.project.marked else plan.jobs[0].output


def _keys(jobs: Sequence[Job], home: Path) -> dict[Job, Key]:
    below = cache(lambda folder: relative(Path(folder), home))
    keys: dict[Job, Key] = {}
    for job in jobs:
        folder, name = os.path.split(job.source)
        before = below(folder)
        keys[job] = (name if before == "." else f"{before}/{name}", below(str(job.output)))
    return keys


# --- what is stale

Hash = Callable[[str], str | None]
"""`file_hash`, once for each file."""


def _survey(job: Job, entry: Entry | None, compiler: str, hash_of: Hash, force: bool) -> _Survey:
    if force or entry is None:
        return _Survey(job, entry, None, True)
    reason = _reason(job, entry, compiler, hash_of)
    return _Survey(job, entry, reason, reason is not None)


def _reason(job: Job, entry: Entry, compiler: str, hash_of: Hash) -> str | None:
    """Why a job must be compiled again, or `None`."""
    if entry.compiler != compiler:
        return "made by another harelc"
    if entry.name != job.name:
        return f"made from {entry.name}"
    changed = [name for name, known in entry.inputs.items() if hash_of(os.path.join(job.root, name)) != known]
    if changed:
        return f"{', '.join(changed)} changed"
    if entry.made and job.diagrams != any(made.file.endswith(".mmd") for made in entry.made):
        return "diagrams were switched"
    if entry.made and job.docs != any(made.file.endswith(".md") for made in entry.made):
        return "pages were switched"
    if any(hash_of(os.path.join(job.output, made.file)) != made.hash for made in entry.made):
        return "edited by hand"
    return None


# --- what it comes to


def _entry(job: Job, translation: Translation, compiler: str) -> Entry:
    inputs = {name: text_hash(text) for name, text in translation.inputs}
    made = [
        Made(file, module.machine, module.line, module.column, text_hash(text))
        for module in translation.modules
        for file, text in _files(job, module)
    ]
    return Entry(compiler, job.name, inputs, tuple(made), translation.issues)


def _files(job: Job, module: Module) -> Iterator[tuple[str, str]]:
    yield f"{module.stem}.py", module.text
    if job.diagrams:
        yield f"{module.stem}.mmd", diagram_file(module.diagram, job.name)
    if module.page is not None:
        yield f"{module.stem}.md", page_file(module.page, job.name)


def _clashes(entries: Mapping[Job, Entry]) -> Iterator[tuple[Job, Issue]]:
    """Two machines whose modules would be one file, on a disk that does not tell upper from lower case either."""
    first: dict[tuple[Path, str], tuple[Job, Made]] = {}
    for job, entry in entries.items():
        for made in entry.made:
            if not made.file.endswith(".py"):
                continue
            earlier, other = first.setdefault((job.output, made.file.casefold()), (job, made))
            if other is not made:
                from harel.issue import Issue, Note  # slow to import, and seldom wanted

                note = Note(shown(earlier.source), other.line, other.column, f"`{other.machine}` makes it too")
                yield job, Issue(
                    *(shown(job.source), made.line, made.column, made.line, made.column + len(made.machine)),
                    code="name_clash",
                    severity="error",
                    message=f"`{made.machine}` would be written to {shown(job.output / made.file)} a second time",
                    hint="rename one of the machines, or give the sources different outputs",
                    notes=(note,),
                )


def _changes(survey: _Survey, translation: Translation) -> Iterator[Change]:
    """The files of a compiled source that differ from what is on the disk."""
    job = survey.job
    for module in translation.modules:
        for file, text in _files(job, module):
            path = job.output / file
            old = read_output(path)
            if old == text:
                continue
            reason = survey.reason or f"differs from what {job.name} makes"
            yield Change(path, "is missing" if old is None else reason, old, text)


def _orphans(plan: Plan, home: Path, cached: Mapping[Key, Entry], entries: Mapping[Job, Entry]) -> Iterator[Change]:
    """Generated files that nothing makes any more: their source, one of this build, has no such machine, or is gone.

    What belongs to a source with errors, or to one that this build was not asked about, stays.
    """
    wanted: dict[Path, set[str]] = {job.output: set() for job in plan.jobs}
    for job, entry in entries.items():
        wanted[job.output].update(made.file for made in entry.made)
    strays = [path for output in sorted(wanted) for path in _strays(output, wanted[output])]
    if not strays:
        return
    known = {
        (output, made.file): home / source for (source, output), entry in cached.items() for made in entry.made
    }
    jobs = {(job.source, job.output): job for job in plan.jobs}
    names = {(job.output, printable(job.name)): job.source for job in plan.jobs}
    for path in strays:
        text = read_output(path)
        name = origin(text) if text is not None else None
        if name is None:
            continue
        output = path.parent
        source = known.get((relative(output, home), path.name)) or names.get((output, name))
        if source is None and plan.project.marked:
            source = plan.project.root / name
        if source is None:
            continue
        source = Path(os.path.normpath(source))
        maker = jobs.get((source, output))
        if maker in entries:
            yield Change(path, f"{name} no longer makes it", text, None)
        elif maker is None and not source.exists() and any(source.is_relative_to(f) for f in plan.folders):
            yield Change(path, f"{name} is gone", text, None)


def _strays(folder: Path, wanted: Set[str]) -> list[Path]:
    """The files in an output folder that may have been generated, but for those that are wanted there."""
    if not folder.is_dir():
        return []
    others = sorted(name for name in os.listdir(folder) if name not in wanted and name.endswith((".py", ".mmd", ".md")))
    return [folder / name for name in others if os.path.isfile(folder / name)]
