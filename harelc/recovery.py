"""Going on after a syntax error: what is wrong with one declaration, and what can be read of it all the same.

The statement around each mistake is blanked and the text read again, so that one run reports several mistakes. Works on
the text of one declaration without comments (build.md section 2: several findings per run).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from . import expected
from .outline import Declaration
from .parsing import Mismatch, Node, parse_items
from .tokens import token_at

_GOES_ON = frozenset(("where", "set", ",", "CompareOp"))
"""What fits inside a transition only."""

_ROUNDS = 20
"""Mistakes reported in one declaration at most."""

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_WORD = r"(?:" + "|".join(sorted(expected.STATEMENTS)) + r")\b"
_SURE_WORD = (
    r"(?:from|state|orthogonal|final|initial|timeout|ttl|outcome|carry|defer|invoke|use|cancel_on_failure)\b"
    r"|on\s+(?:enter|exit|activity)\b|(?:context|with)\b(?=\s*\{)|no\s+history\b"
)
_START = re.compile(rf"(?:^[ \t]*|[{{}}]\s*)(?P<word>{_WORD})", re.MULTILINE)
_STRUCTURE = re.compile(
    rf"{_STRING}|(?:^[ \t]*|(?<=[{{}}])[ \t]*)(?P<start>{_SURE_WORD})|(?P<brace>[{{}}])", re.MULTILINE
)
_LINE_START = re.compile(rf"^[ \t]*(?P<start>{_SURE_WORD})", re.MULTILINE)
_FIRST_BRACE = re.compile(rf"(?:{_STRING}|[^\"{{])*\{{")


class Mistake(NamedTuple):
    """One syntax error; offsets in the file. `unclosed` is the bracket to close, where the text ends too early."""

    start: int
    end: int
    message: str
    hint: str | None = None
    unclosed: int | None = None


class Outcome(NamedTuple):
    """The node of a declaration, none where not even its head can be read; and what was wrong."""

    nodes: list[Node]
    mistakes: tuple[Mistake, ...]


class _Skip(NamedTuple):
    """What to blank after a mistake, in the declaration's text."""

    start: int
    end: int


def read(text: str, declaration: Declaration) -> Outcome:
    """Reads one declaration of a text; the positions of nodes count from its start."""
    own = text[declaration.start : declaration.end]
    mistakes: list[Mistake] = []
    while len(mistakes) < _ROUNDS:
        try:
            return Outcome(parse_items(own), tuple(mistakes))
        except Mismatch as error:
            mismatch = error
        mistake, skip = _judge(text, declaration, own, mismatch)
        mistakes.append(mistake)
        if skip is None or not own[skip.start : skip.end].strip():
            break
        own = own[: skip.start] + re.sub(r"[^\n]", " ", own[skip.start : skip.end]) + own[skip.end :]
    return Outcome(head(own), tuple(mistakes))


def head(own: str) -> list[Node]:
    """The node of a machine or fragment with nothing inside, where at least its head can be read."""
    brace = _FIRST_BRACE.match(own)
    try:
        return [] if brace is None or not _has_statements(own) else parse_items(brace[0] + "}")
    except Mismatch:
        return []


def is_inside_of_body(text: str, declaration: Declaration) -> bool:
    """Whether loose text begins like the rest of a body that was closed too early."""
    token = token_at(text, declaration.start)
    return token is not None and (token.text == "}" or token.text in expected.STATEMENTS)


def _judge(text: str, declaration: Declaration, own: str, mismatch: Mismatch) -> tuple[Mistake, _Skip | None]:
    """The mistake at which reading stopped, and the statement to skip."""
    base = declaration.start
    token = token_at(own, mismatch.position)
    if token is None:
        return _early_end(text, declaration, mismatch), None
    cut = _incomplete_line(own, token.start)
    if cut is not None:
        end, next_line, missing = cut
        message = expected.message(missing, "the end of the line")
        return Mistake(base + end, base + end, message), _skip_before(own, end, next_line)
    is_due = expected.expects_statement(mismatch) and not _goes_on(own, token.start, mismatch)
    skip = _statement(own, token.start, is_due) if _has_statements(own) else None
    if token.text == '"':
        end = own.find("\n", token.start)
        end = len(own) if end < 0 else end
        return Mistake(base + token.start, base + end, "this string is never closed"), skip
    message = expected.message(mismatch, expected.found_at(own, token.start))
    advice = expected.hint(mismatch, own)
    return Mistake(base + token.start, base + token.end, message, advice), skip


def _early_end(text: str, declaration: Declaration, mismatch: Mismatch) -> Mistake:
    message = expected.message(mismatch, expected.found_at(text, declaration.end))
    unclosed = declaration.unclosed[-1] if declaration.unclosed else None
    token = token_at(text, declaration.end)
    end = len(text.rstrip())
    start, end = (token.start, token.end) if token is not None else (end, end)
    return Mistake(start, end, message, expected.slip(mismatch, text, declaration.end), unclosed)


def _incomplete_line(own: str, position: int) -> tuple[int, int, Mismatch] | None:
    """A line that ends too early, so that the first word of the next was taken for a name.

    Gives the end of its text, the beginning of the next line, and what was expected there.
    """
    line = own.rfind("\n", 0, len(own[:position].rstrip())) + 1
    before = own[:line].rstrip()
    if own[line:position].strip() not in expected.STATEMENTS:
        return None
    try:
        parse_items(before)
    except Mismatch as mismatch:
        if mismatch.position >= len(before) and not expected.expects_statement(mismatch):
            return len(before), line, mismatch
    return None


def _goes_on(own: str, position: int, mismatch: Mismatch) -> bool:
    """Whether a mistake belongs to the transition before it in its line, so that what was read of it is not its whole.

    Without its guard it would shadow others, and a field would be taken for a named guard.
    """
    same_line = "\n" not in own[len(own[:position].rstrip()) : position]
    return same_line and not _GOES_ON.isdisjoint((*mismatch.words, *mismatch.tokens))


def _has_statements(own: str) -> bool:
    return own.startswith(("machine", "fragment"))


def _statement(own: str, position: int, is_due: bool) -> _Skip | None:
    """The statement around a mistake; `is_due`: a new one might begin right there."""
    if is_due:
        return _until_next(own, position, position)
    begins = _LINE_START.match(own, own.rfind("\n", 0, position) + 1)
    if begins is not None and begins.start("start") == position:
        return _skip_before(own, position, position)
    start = _last_start(own, position + 1)
    return None if start is None else _until_next(own, start, position)


def _skip_before(own: str, position: int, end: int) -> _Skip | None:
    start = _last_start(own, position)
    return None if start is None else _Skip(start, end)


def _last_start(own: str, before: int) -> int | None:
    starts = [match.start("word") for match in _START.finditer(own) if match.start("word") < before]
    return starts[-1] if starts else None


def _until_next(own: str, start: int, position: int) -> _Skip | None:
    """From `start` to the next statement of the same body behind `position`, or to the body's end."""
    depth = 0
    for mark in _STRUCTURE.finditer(own, start):
        if mark["start"] is not None:
            if depth <= 0 and mark.start("start") > position:
                return _Skip(start, mark.start("start"))
        elif mark["brace"] == "{":
            depth += 1
        elif mark["brace"] == "}":
            if depth == 0:
                return _Skip(start, mark.start())
            depth -= 1
    following = _LINE_START.search(own, position + 1)
    return None if following is None else _Skip(start, following.start("start"))
