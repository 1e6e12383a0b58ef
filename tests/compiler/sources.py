"""Sources in memory for tests of the compiler: several files by name, compiled as `main.stm`."""

from __future__ import annotations

from collections.abc import Mapping

from harel.issue import Issue
from harelc.compiler import Compilation, compile_source
from harelc.diagnostics import Finding, Source
from harelc.reading import Unreadable, source_from_text
from harelc.tree import Span

MAIN = "main.stm"

Files = str | Mapping[str, str]
"""The text of `main.stm`, or texts by file name."""

ORDER = """
machine order {
  initial Cart
  state Cart {}
  final Done success {}
  from Cart to Done on Go
}
"""
"""A machine that needs an event `Go` from somewhere."""


def compiled(files: Files, entry: str = MAIN, guards: tuple[str, ...] = ()) -> Compilation:
    """What comes of the file `entry`, which finds the others by name."""
    texts = {MAIN: files} if isinstance(files, str) else files

    def load(name: str) -> Source:
        if name not in texts:
            finding = Finding("unreadable_file", Span(name, 0, 0), f"`{name}` cannot be read: there is no such file")
            raise Unreadable(finding, Source(name, ""))
        return source_from_text(texts[name], name)

    return compile_source(load(entry), load, guards=guards)


def issues(files: Files) -> tuple[Issue, ...]:
    return compiled(files).issues


def found(files: Files) -> list[tuple[str, str, int]]:
    """Code, file and line of each finding."""
    return [(issue.code, issue.file, issue.line) for issue in issues(files)]


def only(files: Files) -> Issue:
    """The one finding there is."""
    (issue,) = issues(files)
    return issue


def pointed_at(files: Files, issue: Issue) -> str:
    """The text that a finding of one line points at."""
    texts = {MAIN: files} if isinstance(files, str) else files
    assert issue.line == issue.end_line
    return texts[issue.file].split("\n")[issue.line - 1][issue.column - 1 : issue.end_column - 1]
