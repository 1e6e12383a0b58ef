"""The command `harelc fmt`: sources rewritten in their one layout, or what would change (build.md section 1, edges.md).

A file keeps its line ends (the more frequent kind where they are mixed) and its byte order mark, is replaced whole or
not at all, and is left alone if it has syntax errors. How a text is laid out is `format.py`'s subject.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import console
from .project import SUFFIX, find_sources, shown
from .records import Record

if TYPE_CHECKING:
    from .diagnostics import Finding, Source

_STANDARD_INPUT = Path("-")
_MARK = "\ufeff"


class _Laid(Record):
    """A source by the name the user knows, as it is and as it should be: texts with plain line ends; `data` is what
    the file should hold."""

    name: str
    old: str
    new: str
    data: str


@click.command(short_help="Lay out sources.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and name what would change.")
@click.option("--diff", is_flag=True, help="Write nothing; exit 1 and show what would change.")
def fmt(paths: tuple[Path, ...], check: bool, diff: bool) -> int:
    """Lay out the `.stm` files named or below the folders named; standard input for `-`, to standard output.

    Only white space between tokens changes. A file with syntax errors is reported and left alone. Line ends and a byte
    order mark stay as they are; a difference in line ends only does not count for --check.

    \b
    Examples:
      harelc fmt machines
      harelc fmt --check machines        in CI: is everything laid out?
      harelc fmt - < order.stm
    """
    if _STANDARD_INPUT in paths:
        if len(paths) > 1:
            raise click.UsageError("`-` is standard input and stands alone")
        return _filter(sys.stdin.buffer.read(), lists=check, shows=diff)
    sources = tuple(find_sources(paths))
    if not sources:
        raise console.Refusal(f"there is no {SUFFIX} file in {', '.join(map(shown, paths))}")
    if check or diff:
        return _compare(sources, lists=check, shows=diff)
    return _rewrite(sources)


def _filter(data: bytes, *, lists: bool, shows: bool) -> int:
    laid = _laid(data, "<stdin>")
    if laid is None:
        return console.FINDINGS
    if not (lists or shows):
        sys.stdout.write(laid.data)
        return console.FINE
    _tell(laid, lists=lists, shows=shows)
    return console.FINE if laid.new == laid.old else console.FINDINGS


def _compare(sources: Sequence[Path], *, lists: bool, shows: bool) -> int:
    changed = broken = 0
    for source in sources:
        laid = _laid(source.read_bytes(), shown(source))
        if laid is None:
            broken += 1
        else:
            changed += laid.new != laid.old
            _tell(laid, lists=lists, shows=shows)
    if lists:
        advice = "; run `harelc fmt`" if changed else ""
        print(_summary("would change", changed, len(sources), broken) + advice)
    return console.FINDINGS if changed or broken else console.FINE


def _rewrite(sources: Sequence[Path]) -> int:
    from .outputs import write_atomically

    changed = broken = 0
    for source in sources:
        data = source.read_bytes()
        laid = _laid(data, shown(source))
        if laid is None:
            broken += 1
        elif laid.data.encode() != data:
            write_atomically(Path(os.path.realpath(source)), laid.data)
            print(f"formatted  {laid.name}")
            changed += 1
    print(_summary("formatted", changed, len(sources), broken))
    return console.FINDINGS if broken else console.FINE


def _laid(data: bytes, name: str) -> _Laid | None:
    """A source laid out; `None` where it is left alone, and why is on standard error."""
    from .format import Unformattable, format_source
    from .reading import Unreadable, source_from_bytes

    try:
        source = source_from_bytes(data, name)
        new = format_source(source)
    except Unreadable as error:
        _report((error.finding,), error.source)
        return None
    except Unformattable as error:
        _report(error.findings, error.source)
        return None
    mark = _MARK if data.startswith(_MARK.encode()) else ""
    return _Laid(name, source.text, new, mark + new.replace("\n", _line_end(data)))


def _line_end(data: bytes) -> str:
    """The most frequent kind of line end."""
    windows = data.count(b"\r\n")
    counts = {"\n": data.count(b"\n") - windows, "\r\n": windows, "\r": data.count(b"\r") - windows}
    return max(counts, key=lambda kind: counts[kind])


# --- what is told


def _report(findings: Sequence[Finding], source: Source) -> None:
    from .diagnostics import issues
    from .findings import print_issues

    sources = {source.name: source}
    print_issues(issues(findings, sources), sys.stderr, sources)


def _tell(laid: _Laid, *, lists: bool, shows: bool) -> None:
    if laid.new == laid.old:
        return
    if lists:
        print(f"would change  {laid.name}")
    if shows:
        sys.stdout.writelines(_difference(laid))


def _summary(word: str, changed: int, total: int, broken: int) -> str:
    """`1 formatted, 2 unchanged`; sources with errors are counted where there are any."""
    parts = [f"{changed} {word}", f"{total - changed - broken} unchanged"]
    if broken:
        parts.append(f"{broken} with errors")
    return ", ".join(parts)


def _difference(laid: _Laid) -> Iterator[str]:
    """A unified diff of the texts, line by line."""
    from difflib import unified_diff  # slow to import, and seldom wanted

    for line in unified_diff(_lines(laid.old), _lines(laid.new), laid.name, laid.name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
