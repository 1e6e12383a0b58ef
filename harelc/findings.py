"""Findings on their way to the user: the right format, with the lines they stand in (build.md section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from harel.issue import Issue

from . import report
from .console import has_colour
from .diagnostics import Source, Sources
from .reading import Unreadable, read_source


def print_issues(issues: Sequence[Issue], stream: TextIO, known: Sources | None = None) -> None:
    """Findings as text, in colour on a terminal; lines come from `known` sources or from the files."""
    stream.write(report.text(issues, _sources(issues, known or {}), has_colour(stream)))


def formatted(issues: Sequence[Issue], form: str) -> str:
    """Findings for a program: `json`, `github` or `sarif`."""
    return {"json": report.as_json, "github": report.github, "sarif": report.sarif}[form](issues)


def _sources(issues: Sequence[Issue], known: Sources) -> Sources:
    sources: dict[str, Source] = dict(known)
    for name in {issue.file for issue in issues} - set(sources):
        try:
            sources[name] = read_source(Path(name), name)
        except Unreadable:
            continue
    return sources
