"""Archives: where an execution is kept before a purge deletes it (runtime.md section 3).

`JsonlArchive` is a file with one line per execution. It knows neither stores nor what makes an execution ripe for
purging; that is `purging.py`'s subject.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .execution import Execution

log = logging.getLogger("harel")

Archive = Callable[[Execution], None]
"""Keeps a copy of an execution; when it returns, the copy must be safe."""


def as_archive(archive: Any) -> Archive | None:
    """An archiver as a function: `JsonlArchive`, anything with `write(execution)`, a function, or nothing."""
    if archive is None:
        return None
    write: Archive = archive if callable(archive) else archive.write
    return write


class JsonlArchive:
    """A file of executions, one JSON record a line, UTF-8, only ever appended to.

    Each line is on the disk (fsync) before `write` returns, so that what a purge deletes is in the file whatever
    happens next. A process that dies between the line and the deletion leaves an execution in both places; the next
    purge writes it again, as it is then. Several processes may write to one file.

    Args:
        path: the file; it is created with its first line. Its folder must exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"JsonlArchive({str(self.path)!r})"

    def write(self, execution: Execution) -> None:
        """Append an execution. Raises `OSError` where the file cannot be written; nothing may be deleted then."""
        is_new = not self.path.exists()
        with self.path.open("ab+", buffering=0) as file:
            line = execution.to_json().encode() + b"\n"
            # A line that a crash cut short must not swallow this one.
            if file.write(line if _ends_a_line(file) else b"\n" + line) < len(line):
                raise OSError(f"{self.path}: execution {execution.id!r} was written in part; is the disk full?")
            os.fsync(file.fileno())
        if is_new:
            _sync_folder(self.path.parent)

    def read(self) -> Iterator[Execution]:
        """The executions in the order in which they were written; none where there is no file.

        One that was archived twice comes twice, the later record last. A line that a crash cut short is left out and
        logged: what it was for has not been deleted.
        """
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.isspace():
                    continue
                try:
                    execution = Execution.from_json(line)
                except (ValueError, TypeError, LookupError, AttributeError) as error:
                    log.warning("%s:%d: not an archived execution (%s); left out", self.path, number, error)
                    continue
                yield execution


def _ends_a_line(file: Any) -> bool:
    size = file.seek(0, os.SEEK_END)
    if not size:
        return True
    file.seek(size - 1)
    return bool(file.read(1) == b"\n")


def _sync_folder(folder: Path) -> None:
    """Make a new file's entry in its folder durable, where the system has that."""
    if hasattr(os, "O_DIRECTORY"):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
