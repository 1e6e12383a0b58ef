"""The command `harelc build`: once, or watching (build.md section 1)."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from . import announce, console
from .build import Prepared, apply, prepare
from .project import plan, shown
from .records import Record


class Options(Record):
    """What the command line says of any build: paths, `-o`, `--force`, `--jobs`."""

    paths: tuple[Path, ...]
    output: Path | None
    force: bool
    processes: int | None


def build_once(options: Options) -> int:
    """Build; the exit status.

    Raises:
        Refusal, OSError: as of `plan`, `prepare` and `apply`.
    """
    started = time.perf_counter()
    prepared = _prepare(options)
    _print_findings(prepared)
    apply(prepared)
    print(announce.summary(prepared, time.perf_counter() - started))
    return console.FINDINGS if prepared.has_errors else console.FINE


def compare(options: Options, *, lists: bool, shows: bool) -> int:
    """Say what a build would do and do nothing: list the stale files, show the differences; the exit status.

    Raises:
        Refusal, OSError: as of `plan` and `prepare`.
    """
    prepared = _prepare(options)
    _print_findings(prepared)
    if lists:
        print(announce.stale(prepared))
    if shows:
        sys.stdout.write(announce.differences(prepared))
    return console.FINDINGS if prepared.has_errors or prepared.changes else console.FINE


def build_watching(options: Options, *, poll: bool) -> int:
    """Build at every change until interrupted; a build that fails is reported and the next one waited for."""
    from .watch import build_on_change

    folders = frozenset(Path(path) for path in plan(options.paths, options.output).folders)
    told = ""

    def build() -> frozenset[Path]:
        nonlocal told, folders
        started = time.perf_counter()
        try:
            prepared = _prepare(options)
            apply(prepared)
        except (console.Refusal, OSError) as error:
            reason = console.describe(error) if isinstance(error, OSError) else str(error)
            if reason != told:
                console.complain(reason)
            told = reason
            return folders
        findings = repr((prepared.issues, prepared.in_the_way))
        if prepared.changes or findings != told:
            _print_findings(prepared)
            print(announce.summary(prepared, time.perf_counter() - started), flush=True)
        told, folders = findings, prepared.folders
        return folders

    build_on_change(build, poll=poll)
    return console.FINE


def _prepare(options: Options) -> Prepared:
    return prepare(
        plan(options.paths, options.output),
        force=options.force,
        processes=options.processes,
        progress=announce.progress,
    )


def _print_findings(prepared: Prepared) -> None:
    if prepared.issues:
        from .findings import print_issues

        print_issues(prepared.issues, sys.stderr)
    for path in prepared.in_the_way:
        console.complain(f"{shown(path)} was not made by harelc: move it, or choose another output")
