"""Findings: how the compiler's stages report them, and where in a file they stand (build.md section 2).

A stage yields `Finding`s, which name spans; `Sources` turns them into `Issue`s with lines and columns, sorted by
place and each only once. How an issue is printed is `report.py`'s subject.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .records import Record
from .tree import Span

if TYPE_CHECKING:
    from harel.issue import Issue

ERROR = "error"
WARNING = "warning"


class Finding(Record):
    """One fault at a span: the rule's code, what is wrong, what helps, and further places with a word to each."""

    code: str
    span: Span
    message: str
    hint: str | None = None
    notes: tuple[tuple[Span, str], ...] = ()
    severity: str = ERROR


class Source:
    """The decoded text of one file, by the name it was asked for, and where its lines begin."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts = [0]
        position = text.find("\n")
        while position >= 0:
            self._starts.append(position + 1)
            position = text.find("\n", position + 1)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end]


Sources = Mapping[str, Source]
"""Sources by file name."""


def issues(findings: Iterable[Finding], sources: Sources) -> tuple[Issue, ...]:
    """The findings as issues: sorted by file, place and code, the same fault at one place only once."""
    unique = {(f.code, f.span, f.message): f for f in findings}
    return tuple(sorted({_issue(finding, sources) for finding in unique.values()}))


def _issue(finding: Finding, sources: Sources) -> Issue:
    from harel.issue import Issue, Note  # slow to import, and wanted only where something is found

    line, column, end_line, end_column = _extent(finding.span, sources)
    notes = tuple(Note(span.file, *_extent(span, sources)[:2], text) for span, text in finding.notes)
    return Issue(
        finding.span.file, line, column, end_line, end_column, finding.code, finding.severity, finding.message,
        finding.hint, notes,
    )  # fmt: skip


def _extent(span: Span, sources: Sources) -> tuple[int, int, int, int]:
    source = sources.get(span.file)
    if source is None:
        return 1, 1, 1, 1
    return (*source.place(span.start), *source.place(span.end))
