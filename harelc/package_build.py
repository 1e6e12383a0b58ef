"""A build on the way to a wheel or an sdist: `harelc build` for the project that is packaged (build.md section 5).

What both build hooks share. It knows `[tool.harelc]` and nothing of hatchling and setuptools, which are told what was
made, and from what.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from . import announce
from .build import Prepared, apply, prepare
from .console import Refusal, describe
from .findings import print_issues
from .project import Plan, plan, shown
from .settings import FILE


class BuildFailed(Exception):
    """A package cannot be built; `str()` are the findings as `harelc build` prints them, or one line that says why."""


@dataclass(frozen=True, slots=True)
class Built:
    """What a build came to, as absolute paths: the files made, and the sources that they need, imported ones too.

    A source that the project only links to is named by its link.
    """

    outputs: tuple[Path, ...]
    sources: tuple[Path, ...]


def build_package(root: Path) -> Built:
    """Build what the `[tool.harelc]` table of the project's own `pyproject.toml` names. Warnings go to standard error.

    Raises:
        BuildFailed: a source has errors, a file cannot be written, or the table is missing or wrong. Nothing is written
            then, but for a file that failed after others.
    """
    root = Path(os.path.abspath(root))
    try:
        with chdir(root):
            planned = _plan(root)
            prepared = prepare(planned, force=False, processes=None, progress=announce.progress)
            told = _told(prepared)
            if prepared.has_errors:
                raise BuildFailed(told)
            apply(prepared)
    except Refusal as refusal:
        raise BuildFailed(str(refusal)) from None
    except OSError as error:
        raise BuildFailed(describe(error)) from None
    sys.stderr.write(told)
    sources = {*(job.source for job in planned.jobs), *prepared.inputs}
    return Built(
        outputs=tuple(sorted(prepared.outputs)),
        sources=tuple(sorted(source for source in sources if source.is_relative_to(root))),
    )


def _plan(root: Path) -> Plan:
    planned = plan((), None)
    if planned.project.root != root:
        raise Refusal(f"{root / FILE}: it has no [tool.harelc]; a package says itself what to build: set `sources`")
    return planned


def _told(prepared: Prepared) -> str:
    """The findings, and what stands in the way, as text."""
    text = io.StringIO()
    print_issues(prepared.issues, text)
    for path in prepared.in_the_way:
        text.write(f"{shown(path)} was not made by harelc: move it, or choose another output\n")
    return text.getvalue()
