"""The tokens of a text, comments among them, without any grammar (language.md section 1).

Every character but space, tab and line break belongs to exactly one token, whatever the text: what fits nothing is a
`sign`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<comment>(?:\#|//)[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<number>-?\d[\w.]*(?:(?<=[eE])[-+]\d+)?)
      | (?P<word>[^\W\d]\w*)
      | (?P<sign>==|!=|<=|>=|[^ \t\n])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """`kind` is comment, string, number, word or sign; `start` and `end` are offsets in the text."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """All tokens in order. A string that is not closed in its line is a `sign`, its quote, and what follows it."""
    return (Token(match.lastgroup or "", match[0], match.start(), match.end()) for match in _TOKEN.finditer(text))


def token_at(text: str, position: int) -> Token | None:
    """The first token at a position or behind it, or `None` at the end of the text."""
    match = _TOKEN.search(text, position)
    return None if match is None else Token(match.lastgroup or "", match[0], match.start(), match.end())
