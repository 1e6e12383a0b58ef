"""What a syntax error hid or spoilt: what is found only for it has no finding of its own (language.md section 6).

A statement with a syntax error is skipped, and with it the states it declares. Which those were is read off the text: a
name that stands somewhere as if it were declared there. A value that cannot be read stands in the tree as another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from . import tree
from .diagnostics import Finding
from .imports import Linked

_OF_STATES = frozenset({"unknown_state", "initial_unresolved", "selector_target_unresolved"})

_NAMED_AFTER = r"(?<![\w.])(?!(?:from|to|initial|on|where|when|set|in|and|or|not|invoke|enter|exit|activity)\b)\w+\s+"
"""A word before a name that is not one of those after which a name is only used."""


def without_hidden(findings: Iterable[Finding], linked: Linked) -> Iterator[Finding]:
    """The findings but for names of states that a machine's skipped statements may have declared."""
    for finding in findings:
        if finding.code not in _OF_STATES or not _may_be_hidden(finding.span, linked):
            yield finding


def without_spoilt(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings but for those at a value that cannot be read, such as `15m` where a plain number stands."""
    known = list(findings)
    unreadable = {finding.span for finding in known if finding.code == "syntax_error"}
    for finding in known:
        if finding.code == "syntax_error" or finding.span not in unreadable:
            yield finding


def _may_be_hidden(span: tree.Span, linked: Linked) -> bool:
    text = linked.sources[span.file].text
    first, _, _ = text[span.start : span.end].partition(".")
    declared = re.compile(rf'{_NAMED_AFTER}"?{re.escape(first.strip().strip(chr(34)))}"?(?!\w)')
    for item in linked.files[span.file].items:
        is_broken = isinstance(item, (tree.Machine, tree.Fragment)) and item.broken
        if is_broken and item.span.start <= span.start < item.span.end:
            return declared.search(text, item.span.start, item.span.end) is not None
    return False
