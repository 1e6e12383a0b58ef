"""Where a file's declarations begin and end, found by brackets and first words alone (language.md section 2, edges.md).

Gives each declaration to the parser by itself, so that a lost brace of one does not spoil the next, and finds what is
nested too deeply before the parser gets there. Reads text without comments; knows nothing of what stands inside a
declaration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_LEVELS = 64
"""Levels of states within one another."""

MAX_BRACKETS = 200
"""Parentheses and lists within one another; braces of any kind, too."""

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NAME = rf"(?:\s+[A-Za-z_]\w*|\s*{_STRING})"
_LANDMARK = re.compile(
    rf"""(?P<string>{_STRING})
       | (?P<head>\b(?: import\s*{_STRING}
                      | event{_NAME}\s*(?=\{{)
                      | guard\s+\w+\s*(?==(?!=))
                      | bind\s*(?=\{{)
                      | machine{_NAME}\s*(?:version\s*-?\d[\w.]*\s*)?(?=\{{)
                      | fragment\s+\w+\s*(?=[({{])))
       | (?P<state>\b(?:state|orthogonal|final){_NAME}{_NAME}?\s*\{{)
       | (?P<open>[({{\[])
       | (?P<close>[)}}\]])""",
    re.VERBOSE,
)
_CLOSED_BY = {")": "(", "]": "[", "}": "{"}


class TooDeep(NamedTuple):
    """The bracket that goes one level too far, and the way out."""

    position: int
    message: str
    hint: str


class Declaration(NamedTuple):
    """A stretch of text that holds one declaration, or (`loose`) something between declarations that is none.

    `unclosed` are the positions of the brackets that nothing closes, outermost first.
    """

    start: int
    end: int
    loose: bool
    unclosed: tuple[int, ...]
    too_deep: TooDeep | None


@dataclass
class _Open:
    """The brackets open at one point of the scan."""

    brackets: list[tuple[str, int, bool]] = field(default_factory=list)
    levels: int = 0
    braces: int = 0
    rounds: int = 0

    def push(self, bracket: str, position: int, is_state: bool) -> None:
        self.brackets.append((bracket, position, is_state))
        self._count(bracket, is_state, 1)

    def close(self, bracket: str) -> None:
        """Closes the nearest fitting bracket; a brace closes forgotten parentheses, too."""
        if bracket == "}" and self.braces:
            while self._pop() != "{":
                pass
        elif self.brackets and self.brackets[-1][0] == _CLOSED_BY[bracket]:
            self._pop()

    def excess(self, position: int) -> TooDeep | None:
        """What is wrong once the bracket at the position is open."""
        if self.levels > MAX_LEVELS:
            hint = "make the inner states a machine of their own and `invoke` it"
            return TooDeep(position, f"more than {MAX_LEVELS} levels of states", hint)
        if self.rounds > MAX_BRACKETS:
            hint = "give a part of the predicate a name with `guard`"
            return TooDeep(position, f"more than {MAX_BRACKETS} parentheses and lists within one another", hint)
        if self.braces > MAX_BRACKETS:
            hint = "is there a `{` that should be a `}`?"
            return TooDeep(position, f"more than {MAX_BRACKETS} braces within one another", hint)
        return None

    def _pop(self) -> str:
        bracket, _, is_state = self.brackets.pop()
        self._count(bracket, is_state, -1)
        return bracket

    def _count(self, bracket: str, is_state: bool, by: int) -> None:
        self.levels += by * is_state
        self.braces += by * (bracket == "{")
        self.rounds += by * (bracket != "{")


def declarations(text: str) -> list[Declaration]:
    """The declarations of a text without comments, in order.

    A declaration's first words begin one outside all brackets, and also inside of some at the beginning of a line that
    is indented no further than the declaration around it: there a closing bracket was forgotten.
    """
    found: list[Declaration] = []
    start, loose, opened, too_deep = 0, True, _Open(), None
    indent_of_current = 0

    def finish(end: int) -> None:
        if text[start:end].strip(" \t\n"):
            found.append(Declaration(start, end, loose, tuple(at for _, at, _ in opened.brackets), too_deep))

    for mark in _LANDMARK.finditer(text):
        kind, position = mark.lastgroup, mark.start()
        if kind == "head":
            indent = _indent(text, position)
            if not opened.brackets or (indent is not None and indent <= indent_of_current):
                finish(position)
                indent_of_current = indent or 0
                start, loose, opened, too_deep = position, False, _Open(), None
        elif kind == "close":
            ends = mark[0] == "}" and opened.braces == 1
            opened.close(mark[0])
            if ends:
                finish(mark.end())
                start, loose, opened, too_deep = mark.end(), True, _Open(), None
        elif kind != "string":
            opened.push(mark[0][-1], mark.end() - 1, kind == "state")
            too_deep = too_deep or opened.excess(mark.end() - 1)
    finish(len(text))
    return found


def _indent(text: str, position: int) -> int | None:
    """How far a line is indented, if its first token stands at the position."""
    before = text[text.rfind("\n", 0, position) + 1 : position]
    return None if before.strip() else len(before)
