"""What a build tells: the summary line, what is stale, the differences, the progress bar (build.md sections 1 and 4).

Texts only; what is stale and why is `build.py`'s subject.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from .project import shown

if TYPE_CHECKING:
    from .build import Change, Prepared

T = TypeVar("T")

_LONG = 20
"""From how many sources on a terminal shows how far a build is."""


def progress(results: Iterator[T], count: int) -> Iterator[T]:
    """The results as they come, under a bar where a terminal watches and the build is a long one."""
    if count < _LONG or not sys.stderr.isatty():
        yield from results
        return
    with click.progressbar(results, length=count, label="compiling", file=sys.stderr) as bar:
        yield from bar


def summary(prepared: Prepared, seconds: float) -> str:
    """`12 machines, 3 written, 9 fresh, 0.04 s`; removed files and broken sources are named where there are any."""
    blocked = {path.with_suffix("") for path in prepared.in_the_way}
    written = len(_modules_written(prepared) - blocked)
    removed = sum(change.new is None and change.is_module for change in prepared.changes)
    parts = [counted(prepared.machines, "machine"), f"{written} written"]
    parts.append(f"{prepared.machines - written - len(blocked)} fresh")
    if removed:
        parts.append(f"{removed} removed")
    if prepared.broken:
        parts.append(f"{counted(prepared.broken, 'source')} with errors")
    return ", ".join([*parts, f"{seconds:.2f} s"])


def stale(prepared: Prepared) -> str:
    """One line per stale file, then how many modules that are."""
    if not prepared.changes:
        return f"{counted(prepared.machines, 'module')} up to date"
    rows = [("stale", shown(change.path), change.reason) for change in prepared.changes]
    width = max(len(path) for _, path, _ in rows)
    lines = [f"{word}  {path:{width}}  {reason}" for word, path, reason in rows]
    gone = sum(change.new is None and change.is_module for change in prepared.changes)
    number, total = len(_modules_written(prepared)) + gone, prepared.machines + gone
    lines.append(f"{number} of {counted(total, 'module')} {'is' if number == 1 else 'are'} stale; run `harelc build`")
    return "\n".join(lines)


def differences(prepared: Prepared) -> str:
    """What the build would change, as a unified diff."""
    return "".join(_difference(change) for change in prepared.changes)


def counted(number: int, noun: str) -> str:
    """`1 machine`, `2 machines`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _modules_written(prepared: Prepared) -> set[Path]:
    return {change.path.with_suffix("") for change in prepared.changes if change.new is not None}


def _difference(change: Change) -> str:
    path = shown(change.path)
    from difflib import unified_diff  # slow to import, and seldom wanted

    lines = unified_diff(
        _lines(change.old),
        _lines(change.new),
        "/dev/null" if change.old is None else path,
        "/dev/null" if change.new is None else path,
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str | None) -> list[str]:
    return io.StringIO(text or "", newline="\n").readlines()
