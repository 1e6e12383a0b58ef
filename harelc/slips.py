"""Slips of people who come from another notation, and what to write instead (build.md section 2).

A table: what stands before the place, what begins there, and what the grammar would have taken. Knows texts without
comments, and no machine. A row is tried only where reading has stopped, so it never judges what is right.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Slip(NamedTuple):
    """One row. `needs` is a keyword, sign or token rule that would have fitted, `statement` for a whole statement."""

    here: str
    needs: str
    advice: str
    before: str = ""


STATEMENT = "statement"

_BEFORE = 200
"""How many characters in front of the place are looked at."""

_TRANSITION = "a transition is written `from A to B on EVENT`"
_COMMENT = "comments begin with `#` or `//`"
_ACTION = "actions stand in states: `on enter ACTION`, `on exit ACTION`"
_NAME = "names hold letters, digits and `_`; those of states, events and fields may stand in double quotes"
_OPERATION = "a `set` holds one operator: compute the rest in an action"

SLIPS = (
    # transitions
    Slip(r"(-+|=)>", "to", _TRANSITION),
    Slip(r"(transition|transitions|goto|go)\b", STATEMENT, _TRANSITION),
    Slip(r'(\w+|"[^"\n]*")\s*(-+|=)>', STATEMENT, _TRANSITION),
    Slip(r'(\w+|"[^"\n]*")\s*(to\b|where\b|set\b|(-+|=)>)', "HookKind", _TRANSITION, before=r"\bon\s*"),
    Slip(r"(if|when)\b", "where", "did you mean `where`?"),
    Slip(r"\[", "where", "a guard follows `where`"),
    Slip(r"(,|or\b|and\b)", "|", "several events are joined by `|`"),
    Slip(r"(/(?![/*])|do\b|call\b|run\b|action\b|effect\b)", "where", _ACTION),
    Slip(r"if\b", "when", "did you mean `when`?"),
    # states
    Slip(r"(on_?)?(entry|enter)\b", STATEMENT, "write `on enter ACTION`"),
    Slip(r"(on_?)?(exit|leave)\b", STATEMENT, "write `on exit ACTION`"),
    Slip(r".", STATEMENT, "write `initial A`, and `state A { … }` by itself", before=r"\binitial\s+state\s+"),
    Slip(r"[a-z]", STATEMENT, "no space stands in a duration: `15m`", before=r"\b(timeout|ttl)\s+[\d.]+\s+"),
    Slip(r'"', "Number", "a duration has no quotes: `15m`", before=r"\b(timeout|ttl)\s+"),
    Slip(r'"', "Number", "a version has no quotes", before=r"\bversion\s+"),
    # predicates and assignments
    Slip(r"not\s+in\b", "CompareOp", "write `not n in […]`"),
    Slip(r"[\d\"]", "NotWord", "the field stands on the left: `n > 1`"),
    Slip(r"\(", "[", "a list stands in brackets: `[1, 2]`", before=r"\bin\s*"),
    Slip(r"\w", "context", "`set` writes keys of the context: `set context.n = …`", before=r"\bset\s+"),
    Slip(r"([-+*/]=|\+\+|--)", "=", "write it out: `context.n = context.n + 1`"),
    Slip(r"[-+*/]", ",", _OPERATION, before=r"\bset\b[^\n]*[-+*/][^\n]*"),
    # declarations and names
    Slip(r"\(", "{", "fields stand in braces: `event Go { amount: int }`", before=r"\bevent\s+\S+\s*"),
    Slip(r"", "{", "an event without fields is written `event Go {}`", before=r"\bevent\s+\S+\s+"),
    Slip(r"\w", "String", 'the file stands in double quotes: `import "lib.stm"`', before=r"\bimport\s+"),
    Slip(r"/\*", "", _COMMENT),
    Slip(r"--", STATEMENT, _COMMENT),
    Slip(r"-\w", "", _NAME, before=r"\b(machine|fragment|event|initial|state|final|orthogonal|from|to|on|\|)\s+\w+"),
)


def advice(text: str, position: int, fitting: frozenset[str]) -> str | None:
    """What to write instead of what begins at the position, or `None`; `fitting` is what the grammar would take."""
    before = text[max(0, position - _BEFORE) : position]
    for slip in SLIPS:
        if slip.needs and slip.needs not in fitting:
            continue
        if re.compile(slip.here).match(text, position) and re.search(rf"(?:{slip.before})\Z", before):
            return slip.advice
    return None
