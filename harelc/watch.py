"""`harelc build --watch`: builds again whenever a source, an import or the settings change (edges: 200 ms of quiet).

What a build does is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from watchfiles import Change, watch

from .project import SUFFIX
from .settings import FILE

_QUIET = 200
"""Milliseconds without a change before a build."""

_GLANCE = 1100
"""Milliseconds after which a last build looks for what the watch may have missed."""


def build_on_change(build: Callable[[], frozenset[Path]], *, poll: bool) -> None:
    """Build, then build after each change in the folders that the last build returned; never returns by itself.

    `poll` looks at the files at intervals, for file systems that report nothing.
    """
    folders = build()
    while True:
        folders = _wait(_existing(folders), build, poll=poll)


def _wait(folders: frozenset[Path], build: Callable[[], frozenset[Path]], *, poll: bool) -> frozenset[Path]:
    """Build on changes in the folders until a build needs others; those are returned.

    When it is quiet again there is one build more: polling tells times by the second, and a watch takes a moment to
    begin.
    """
    restless = True
    for changes in watch(
        *sorted(folders),
        watch_filter=_matters,
        step=_QUIET,
        rust_timeout=_GLANCE,
        yield_on_timeout=True,
        force_polling=True if poll else None,
        raise_interrupt=True,
    ):
        if changes or restless:
            restless = bool(changes)
            now = build()
            if _existing(now) != folders:
                return now
    return folders


def _matters(change: Change, path: str) -> bool:
    return path.endswith(SUFFIX) or Path(path).name == FILE


def _existing(folders: Iterable[Path]) -> frozenset[Path]:
    return frozenset(folder for folder in folders if folder.is_dir())
