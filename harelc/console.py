"""How the command meets its surroundings: streams, colours, signals and exit statuses (build.md section 1).

Whatever happens ends in a status and at most a few lines on standard error, never in a traceback. What a command does
is `cli.py`'s subject; nothing here knows sources or machines.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

import click

FINE = 0
FINDINGS = 1
WRONG_USE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

_ALIVE = 200_000
"""So many more objects than before are worth a look for garbage."""


class Refusal(Exception):
    """The command cannot do what was asked; `str()` is the one line that says why and what to do. Exit status 2."""


def run(command: Callable[[], int]) -> int:
    """The command's exit status, with every way it may end turned into one.

    A reader that has gone away ends it quietly, like the signal would; so does Ctrl-C.
    """
    _prepare_streams()
    try:
        with _rare_collections():
            status = command()
        sys.stdout.flush()
    except click.ClickException as error:
        return _end(error.exit_code, error.show)
    except (KeyboardInterrupt, click.Abort):
        return _end(INTERRUPTED)
    except BrokenPipeError:
        return _end(PIPE_CLOSED)
    except Refusal as refusal:
        return _end(WRONG_USE, partial(complain, str(refusal)))
    except OSError as error:
        return _end(WRONG_USE, partial(complain, describe(error)))
    except Exception as error:
        if os.environ.get("HARELC_DEBUG"):
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        return _end(WRONG_USE, partial(complain, f"internal error: {what} (HARELC_DEBUG=1 shows where)"))
    return status


def complain(message: str) -> None:
    """One line on standard error, by the command's name."""
    print(f"harelc: {message}", file=sys.stderr, flush=True)


def describe(error: OSError) -> str:
    """What the system refused, with the file where it names one: `out/order.py: No space left on device`."""
    reason = error.strerror or type(error).__name__
    return f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, (str, bytes)) else reason


def has_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user wants colours (`NO_COLOR`, `TERM=dumb`)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Garbage is looked for seldom: nearly all that a command makes, modules before all, lives until its end.

    At the end of the process nothing is looked through once more; its memory goes with it.
    """
    usual = gc.get_threshold()
    gc.set_threshold(_ALIVE, *usual[1:])
    atexit.register(gc.freeze)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


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


def _end(status: int, last_words: Callable[[], None] | None = None) -> int:
    """The status after the last words; what cannot be written any more is dropped, so that the exit stays silent."""
    _finish(sys.stdout, sys.stdout.flush)
    _finish(sys.stderr, last_words or sys.stderr.flush)
    return status


def _finish(stream: TextIO, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError:
        _drain(stream)


def _drain(stream: TextIO) -> None:
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
