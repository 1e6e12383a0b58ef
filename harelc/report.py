"""How issues are printed: as text for people; as JSON, GitHub annotations and SARIF 2.1.0 for machines (build.md 1, 2).

Pure functions over the same objects; where the text goes, and whether to a terminal, is the command's business. Text
from a source never reaches a terminal raw: what cannot be printed is shown escaped.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from harel.issue import Issue

from .diagnostics import Sources

_TAB = 4
_LONGEST_LINE = 160
_BEFORE_MARK = 60


class _Palette(NamedTuple):
    """What to print before a part of the text, and after it."""

    error: str
    warning: str
    frame: str
    strong: str
    end: str


_PLAIN = _Palette("", "", "", "", "")
_ANSI = _Palette("\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m")


def text(issues: Sequence[Issue], sources: Sources, color: bool) -> str:
    """Each issue with its line of the source, a mark under the place, notes and help; the last line counts them.

    Nothing for no issues; else it ends with a line break. Without a source in `sources` an issue has no line to show.
    """
    if not issues:
        return ""
    palette = _ANSI if color else _PLAIN
    blocks = ("\n".join(_lines(issue, sources, palette)) for issue in issues)
    return "\n\n".join([*blocks, _count(issues)]) + "\n"


def as_json(issues: Iterable[Issue]) -> str:
    """One array of objects with the keys that edges.md names; `hint` may be null."""
    return json.dumps(
        [
            {
                "code": issue.code,
                "severity": issue.severity,
                "file": issue.file,
                "line": issue.line,
                "column": issue.column,
                "end_line": issue.end_line,
                "end_column": issue.end_column,
                "message": issue.message,
                "hint": issue.hint,
            }
            for issue in issues
        ],
        indent=2,
    )


def github(issues: Iterable[Issue]) -> str:
    """One workflow command a line, which GitHub shows at the place in a pull request."""
    return "".join(f"{_annotation(issue)}\n" for issue in issues)


def sarif(issues: Sequence[Issue]) -> str:
    """A SARIF 2.1.0 log of one run; columns count code points."""
    codes = sorted({issue.code for issue in issues})
    run = {
        "tool": {"driver": {"name": "harelc", "rules": [{"id": code} for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(issue, codes.index(issue.code)) for issue in issues],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2)


# --- text


def _lines(issue: Issue, sources: Sources, palette: _Palette) -> Iterator[str]:
    grave = palette.error if issue.is_error else palette.warning
    margin = " " * len(str(issue.line))
    bar = f"{palette.frame}|{palette.end}"
    yield (
        f"{grave}{issue.severity}[{issue.code}]{palette.end}"
        f"{palette.strong}: {_printable(issue.message)}{palette.end}"
    )
    yield f"{margin}{palette.frame}-->{palette.end} {_printable(issue.file)}:{issue.line}:{issue.column}"
    source = sources.get(issue.file)
    if source is not None:
        shown, indent, width = _excerpt(source.line(issue.line), issue)
        yield f"{margin} {bar}"
        yield f"{palette.frame}{issue.line}{palette.end} {bar} {shown}".rstrip()
        yield f"{margin} {bar} {' ' * indent}{grave}{'^' * width}{palette.end}"
    for note in issue.notes:
        where = f"{_printable(note.file)}:{note.line}:{note.column}"
        yield f"{margin} {palette.frame}={palette.end} note: {where}: {_printable(note.message)}"
    if issue.hint is not None:
        yield f"{margin} {palette.frame}={palette.end} help: {_printable(issue.hint)}"


def _excerpt(line: str, issue: Issue) -> tuple[str, int, int]:
    """A line as a terminal may show it, and the mark's indent and width in its columns."""
    start = min(issue.column - 1, len(line))
    end = min(issue.end_column - 1, len(line)) if issue.end_line == issue.line else len(line)
    before, after = "", ""
    if len(line) > _LONGEST_LINE:
        cut = max(0, start - _BEFORE_MARK)
        before = "…" if cut else ""
        after = "…" if len(line) > cut + _LONGEST_LINE else ""
        line, start, end = line[cut : cut + _LONGEST_LINE], start - cut, min(end - cut, _LONGEST_LINE)
    cells = [_cell(character) for character in line]
    indent = len(before) + sum(width for _, width in cells[:start])
    marked = sum(width for _, width in cells[start:end])
    return before + "".join(shown for shown, _ in cells) + after, indent, max(1, marked)


def _cell(character: str) -> tuple[str, int]:
    """A character as shown, and the columns it takes."""
    if character == "\t":
        return " " * _TAB, _TAB
    shown = _printable(character)
    if shown != character:
        return shown, len(shown)
    if unicodedata.combining(character):
        return shown, 0
    return shown, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _printable(words: str) -> str:
    """Text without anything that moves a cursor, colours, or turns the direction of writing."""
    if words.isprintable():
        return words
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in words
    )


def _count(issues: Sequence[Issue]) -> str:
    errors = sum(issue.is_error for issue in issues)
    counts = ((errors, "error"), (len(issues) - errors, "warning"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count)


# --- GitHub and SARIF


def _annotation(issue: Issue) -> str:
    place = {
        "file": issue.file,
        "line": issue.line,
        "endLine": issue.end_line,
        "col": issue.column,
        "endColumn": issue.end_column,
        "title": issue.code,
    }
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in place.items())
    return f"::{issue.severity} {properties}::{_data(_with_help(issue))}"


def _data(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")


def _with_help(issue: Issue) -> str:
    return issue.message if issue.hint is None else f"{issue.message}\nhelp: {issue.hint}"


def _result(issue: Issue, rule: int) -> dict[str, object]:
    return {
        "ruleId": issue.code,
        "ruleIndex": rule,
        "level": issue.severity,
        "message": {"text": _with_help(issue)},
        "locations": [_location(issue.file, issue.line, issue.column, issue.end_line, issue.end_column)],
        "relatedLocations": [
            {"id": number, "message": {"text": note.message}, **_location(note.file, note.line, note.column)}
            for number, note in enumerate(issue.notes, 1)
        ],
    }


def _location(file: str, line: int, column: int, *end: int) -> dict[str, object]:
    region = {"startLine": line, "startColumn": column, **dict(zip(("endLine", "endColumn"), end, strict=False))}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": region}}


def _uri(file: str) -> str:
    path = quote(file.replace("\\", "/"))
    return f"file://{path}" if path.startswith("/") else path
