"""What a rule is: one function, one code, and the page that explains it (language.md section 6).

A rule's function yields faults; code and severity come from the rule, so that no function can report under another's
name. Codes that earlier stages report have a page here and no function. Nothing registers itself: `__init__` lists
all rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import cleandoc
from typing import Generic, NamedTuple, TypeVar

from ..diagnostics import Finding
from ..tree import Span

Subject = TypeVar("Subject")


class Fault(NamedTuple):
    """What a rule has found: the place, what is wrong, what to do, and further places with a word to each."""

    span: Span
    message: str
    hint: str | None = None
    notes: tuple[tuple[Span, str], ...] = ()


class Page(NamedTuple):
    """The explanation of one code.

    `written` is the text as it stands in a docstring. `text` has a first line that says what is wrong (with the spec
    section), then why, then sources under `Wrong:` and `Right:`; a line `# file: NAME` begins a second file.
    """

    code: str
    severity: str
    written: str

    @property
    def text(self) -> str:
        return cleandoc(self.written)


class Rule(NamedTuple, Generic[Subject]):
    """A check of one subject (a file, or a machine) with its page."""

    page: Page
    faults: Callable[[Subject], Iterator[Fault]]

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """The subject's findings under this rule's code, in no particular order."""
        for fault in self.faults(subject):
            yield Finding(self.page.code, fault.span, fault.message, fault.hint, fault.notes, self.page.severity)


def rule(code: str, severity: str) -> Callable[[Callable[[Subject], Iterator[Fault]]], Rule[Subject]]:
    """Make a rule of a function; its docstring becomes the page."""

    def made(function: Callable[[Subject], Iterator[Fault]]) -> Rule[Subject]:
        return Rule(Page(code, severity, function.__doc__ or ""), function)

    return made
