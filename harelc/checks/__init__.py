"""The rules: one function, one code, in the lists below (language.md section 6, edges.md).

They read the plain machine after names have been looked up, report what is wrong with it, and change nothing. What
could not be looked up has had its finding, and nothing is concluded from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..diagnostics import Finding
from ..model import Unit
from . import endings, flow, handlers, invokes, names, pages, regions, structure, timing, types, usage
from .facts import Facts, FileFacts
from .registry import Page, Rule

FILE_RULES: tuple[Rule[FileFacts], ...] = (
    *names.RULES,
    *structure.RULES,
    *types.FILE_RULES,
    *flow.FILE_RULES,
    *timing.FILE_RULES,
    *invokes.FILE_RULES,
    *usage.RULES,
)
"""The rules that look at a file as a whole."""

MACHINE_RULES: tuple[Rule[Facts], ...] = (
    *types.MACHINE_RULES,
    *flow.MACHINE_RULES,
    *regions.MACHINE_RULES,
    *invokes.MACHINE_RULES,
    *endings.MACHINE_RULES,
    *timing.MACHINE_RULES,
)
"""The rules that look at one machine."""

BOUND_RULES: tuple[Rule[Facts], ...] = handlers.BOUND_RULES
"""The rules for a build that must be fully bound."""

PAGES: tuple[Page, ...] = (
    *pages.PAGES,
    *(rule.page for rule in FILE_RULES),
    *(rule.page for rule in MACHINE_RULES),
    *(rule.page for rule in BOUND_RULES),
)
"""One page per code, of all stages."""


def check(unit: Unit) -> Iterator[Finding]:
    """All findings about a file and its machines, inline ones included, in no particular order."""
    source = FileFacts(unit)
    for rule in FILE_RULES:
        yield from rule.findings(source)
    for facts in source.machines:
        for machine_rule in MACHINE_RULES:
            yield from machine_rule.findings(facts)


def check_bound(unit: Unit) -> Iterator[Finding]:
    """The handlers that nothing in the sources binds, for a build that must be fully bound."""
    for facts in FileFacts(unit).machines:
        for rule in BOUND_RULES:
            yield from rule.findings(facts)
