"""How the `harel` command meets its surroundings: streams, colours, questions, tables, exit statuses (build.md section
1).

Whatever happens ends in a status and at most a few lines on standard error, never in a traceback. It knows neither
stores nor executions.
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from .errors import DslError, HarelError
from .values import escape_text

FINE = 0
FINDINGS = 1
WRONG_USE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141


class Refusal(Exception):
    """The command does not do what was asked; `str()` is the one line that says why and what to do."""

    def __init__(self, message: str, status: int = WRONG_USE) -> None:
        super().__init__(message)
        self.status = status


def run(command: Callable[[], int]) -> int:
    """The command's exit status, with every way it may end turned into one.

    A reader that has gone away ends it quietly, as the signal would; so does Ctrl-C.
    """
    _prepare_streams()
    with _warnings_shown():
        try:
            status = command()
            sys.stdout.flush()
        except Refusal as error:
            return _end(error.status, str(error))
        except SystemExit as error:  # argparse
            return _end(error.code if isinstance(error.code, int) else FINE)
        except KeyboardInterrupt:
            return _end(INTERRUPTED)
        except BrokenPipeError:
            return _end(PIPE_CLOSED)
        except DslError as error:
            # A report of findings has its own lines, and nothing in them that a terminal would obey.
            return _end(FINDINGS, str(error)) if error.issues else _end(WRONG_USE, _one_line(str(error)))
        except (HarelError, ValueError, ModuleNotFoundError) as error:
            return _end(WRONG_USE, _one_line(str(error)))
        except OSError as error:
            return _end(WRONG_USE, _describe(error))
        except Exception as error:
            if os.environ.get("HAREL_DEBUG"):
                raise
            text = _one_line(f"{type(error).__name__}: {error}")
            return _end(WRONG_USE, f"internal error: {text} (HAREL_DEBUG=1 shows where; please report it)")
    return status


def complain(message: str) -> None:
    """One line on standard error, by the command's name."""
    print(f"harel: {message}", file=sys.stderr, flush=True)


def confirm(question: str, *, yes: bool) -> None:
    """Go on only if whoever sits at the terminal agrees, or has said `--yes`.

    Raises:
        Refusal: there is no terminal to ask at (status 2), or the answer is no (status 1).
    """
    if yes:
        return
    if not sys.stdin or not sys.stdin.isatty():
        raise Refusal(f"{question} Nothing was done: there is no terminal to answer at; pass --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refusal("nothing was done", FINDINGS)


def print_json(value: Any) -> None:
    """A value on standard output as JSON, two spaces a level."""
    print(json.dumps(value, ensure_ascii=not _is_utf8(sys.stdout), indent=2))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows in columns on standard output, texts escaped; on a terminal the heads are bold and statuses coloured."""
    cells = [[escape_text(str(cell)) or "-" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    colour = has_colour(sys.stdout)
    print(_line(heads, widths, _bold if colour else _plain))
    for row in cells:
        print(_line(row, widths, _by_status if colour else _plain))


def print_fields(fields: Sequence[tuple[str, object]]) -> None:
    """Names and values, one a line, the values in one column."""
    width = max((len(name) for name, _ in fields), default=0)
    style = _by_status if has_colour(sys.stdout) else _plain
    for name, value in fields:
        print(f"{name:<{width}}  {style(escape_text(str(value)))}")


def has_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user wants colours (`NO_COLOR`, `TERM=dumb`)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def moment(seconds: float | None) -> str:
    """A time in epoch seconds for people: `2026-01-05 09:00:00Z`, `-` where there is none."""
    if seconds is None:
        return "-"
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g}"


_COLOURS = {"DONE": "32", "RUNNING": "36", "SUSPENDED": "33", "CANCELLING": "33", "CANCELLED": "35", "FAILED": "31"}


def _line(cells: Sequence[str], widths: Sequence[int], style: Callable[[str], str]) -> str:
    padded = [style(cell) + " " * (width - len(cell)) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(padded).rstrip()


def _plain(text: str) -> str:
    return text


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"


def _by_status(text: str) -> str:
    return f"\x1b[{_COLOURS[text]}m{text}\x1b[0m" if text in _COLOURS else text


def _one_line(text: str) -> str:
    return escape_text(" ".join(text.split()))


def _describe(error: OSError) -> str:
    """What the system refused, with the file where it names one: `archive.jsonl: No space left on device`."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, (str, bytes)) else reason


def _is_utf8(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


class _OnStandardError(logging.Handler):
    """The runtime's warnings, one line each, by the command's name."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(_one_line(record.getMessage()))


@contextmanager
def _warnings_shown() -> Iterator[None]:
    log, handler = logging.getLogger("harel"), _OnStandardError(logging.WARNING)
    propagate, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagate


def _prepare_streams() -> None:
    """UTF-8 with plain line ends in pipes and files, whatever the locale; what a terminal cannot show is escaped.

    A stream that was closed before the start (`>&-`) takes all and keeps nothing; as input it is empty.
    """
    # In order of the descriptors, so that each takes the free one of its own stream and no later file does.
    sys.stdin = sys.stdin or io.TextIOWrapper(io.FileIO(os.devnull))
    sys.stdout = sys.stdout or io.TextIOWrapper(io.FileIO(os.devnull, "w"))
    sys.stderr = sys.stderr or io.TextIOWrapper(io.FileIO(os.devnull, "w"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="backslashreplace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _end(status: int, message: str = "") -> int:
    """The status after the last words; what cannot be written any more is dropped, so that the exit stays silent."""
    for stream, speak in ((sys.stdout, None), (sys.stderr, complain if message else None)):
        try:
            if speak:
                speak(message)
            stream.flush()
        except OSError:
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
    return status
