"""The command `harelc check`: every finding of many sources, in the format asked for (build.md sections 1 and 2)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import announce, console
from .clashes import name_clashes
from .compiler import compile_file
from .pool import each
from .project import STANDARD_INPUT, Job, find_project, from_here, plan

if TYPE_CHECKING:
    from harel.issue import Issue

    from .given import Given


def check_sources(paths: Sequence[Path], form: str, *, strict: bool) -> int:
    """Print the findings of the sources; without paths those of the settings, or below the current folder.

    The status is 1 for an error, with `strict` for a warning too.

    Raises:
        Refusal: a path does not exist, there is no source, or `-` does not stand alone.
    """
    if STANDARD_INPUT in paths:
        if len(paths) > 1:
            raise console.Refusal("`-` stands alone: standard input is one source")
        from .given import compile_given

        given = compile_given(STANDARD_INPUT)
        return _report(given.issues, form, strict=strict, given=given, count=1)
    if not paths and not find_project(Path.cwd()).settings.targets:
        paths = [Path.cwd()]
    jobs = plan(paths, None).jobs
    found = {issue for some in announce.progress(each(_issues, jobs, None), len(jobs)) for issue in some}
    return _report(sorted(found, key=_place), form, strict=strict, given=None, count=len(jobs))


def _issues(job: Job) -> tuple[Issue, ...]:
    compilation = compile_file(job.real, root=job.root)
    found = (*compilation.issues, *name_clashes(compilation))
    return tuple(from_here(issue, job.root) for issue in found)


def _place(issue: Issue) -> tuple[str, int, int, str, str]:
    return issue.file, issue.line, issue.column, issue.code, issue.message


def _report(issues: Sequence[Issue], form: str, *, strict: bool, given: Given | None, count: int) -> int:
    if form != "text":
        from .findings import formatted

        print(formatted(issues, form).rstrip("\n"))
    elif issues:
        from .findings import print_issues

        print_issues(issues, sys.stdout, given.compilation.sources if given else None)
    else:
        print(f"no findings in {announce.counted(count, 'file')}")
    return console.FINDINGS if any(issue.is_error or strict for issue in issues) else console.FINE
