"""What the formatter puts on lines of their own: declarations, statements, fields, branches (language.md 2 to 4).

From the syntax tree to stretches of lexemes. Knows nothing of columns and white space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from . import tree
from .format_lexemes import Lexeme


@dataclass(frozen=True, slots=True)
class Block:
    """Braces, by the numbers of their lexemes, and what stands between them.

    `one_line`: it may stay in one line where it was written so; a body that holds states or transitions may not.
    """

    open: int
    close: int
    units: tuple[Unit, ...]
    one_line: bool


@dataclass(frozen=True, slots=True)
class Unit:
    """One declaration, statement, field or branch: the lexemes from `first` up to, not including, `end`.

    A comma behind it, and the empty `{}`, are part of it.
    """

    first: int
    end: int
    block: Block | None


class _Outline(NamedTuple):
    """A node of the tree that gets a line: where it begins, and what is inside its braces, `None` without any."""

    start: int
    inside: tuple[_Outline, ...] | None
    one_line: bool


_LONELY = (tree.State, tree.Transition, tree.Initial, tree.Use)


class Units:
    """The units of a file, and the lexemes at which a long transition is broken first (`on`, `where`, `set`, …)."""

    def __init__(self, file: tree.File, sequence: Sequence[Lexeme]) -> None:
        self._sequence = sequence
        self._number_at = {lexeme.start: number for number, lexeme in enumerate(sequence)}
        self._partner = dict(_pairs(sequence))
        self.clauses: set[int] = set()
        self.all = self._units(tuple(map(self._item, file.items)), len(sequence) - 1)

    # --- outlines: which nodes get lines

    def _item(self, item: tree.Item) -> _Outline:
        match item:
            case tree.Event():
                return _Outline(item.span.start, _leaves(field.span for field in item.fields), True)
            case tree.Bind():
                return _Outline(item.span.start, _leaves(entry.span for entry in item.entries), True)
            case tree.Machine() | tree.Fragment():
                return _Outline(item.span.start, self._body(item.body), False)
        return _Outline(item.span.start, None, True)

    def _body(self, body: Sequence[tree.Statement]) -> tuple[_Outline, ...]:
        outlines: list[_Outline] = []
        before: tree.Statement | None = None
        for statement in body:
            outline = self._statement(statement)
            if isinstance(statement, tree.With) and self._continues(statement, before):
                outlines[-1] = _Outline(outlines[-1].start, outline.inside, True)
            else:
                outlines.append(outline)
            before = statement
        return tuple(outlines)

    def _continues(self, statement: tree.With, before: tree.Statement | None) -> bool:
        """Whether it stands in the line of the `invoke` that it belongs to, where it stays."""
        first = self._sequence[self._number_at[statement.span.start]]
        return isinstance(before, tree.Invoke) and before.body is None and not first.breaks

    def _statement(self, statement: tree.Statement) -> _Outline:
        start = statement.span.start
        match statement:
            case tree.State() | tree.Invoke() if statement.body is not None:
                return _Outline(start, self._body(statement.body), not any(map(_is_lonely, statement.body)))
            case tree.Context():
                return _Outline(start, _leaves(field.span for field in statement.fields), True)
            case tree.With():
                return _Outline(start, _leaves(entry.span for entry in statement.entries), True)
            case tree.Transition():
                return self._transition(statement)
        return _Outline(start, None, True)

    def _transition(self, transition: tree.Transition) -> _Outline:
        if transition.returns:
            self._clause(transition.returns[0].span.start, back=2)
        if transition.kinds:
            self._clause(transition.kinds[0].span.start, back=1)
        if transition.where_span:
            self._clause(transition.where_span.start)
        self._set(transition.sets)
        for branch in transition.branches:
            self._set(branch.sets)
            if transition.form in ("join_all", "join_any"):
                self._clause(branch.span.start, back=0 if branch.is_else else 1)
            elif transition.form != "to":
                self._clause(branch.target.span.start, back=1)
        inside = _leaves(b.span for b in transition.branches) if transition.form in ("choose", "select") else None
        return _Outline(transition.span.start, inside, True)

    def _set(self, assigns: Sequence[tree.Assign]) -> None:
        if assigns:
            self._clause(assigns[0].span.start, back=1)

    def _clause(self, start: int, back: int = 0) -> None:
        self.clauses.add(self._number_at[start] - back)

    # --- from outlines to lexemes

    def _units(self, outlines: Sequence[_Outline], end: int) -> tuple[Unit, ...]:
        starts = [self._number_at[outline.start] for outline in outlines]
        return tuple(
            Unit(first, following, self._block(outline, first, following))
            for outline, (first, following) in zip(outlines, pairwise([*starts, end]), strict=True)
        )

    def _block(self, outline: _Outline, first: int, end: int) -> Block | None:
        """The last braces of a unit; `None` where there are none, or nothing is in them, not even a comment."""
        if outline.inside is None:
            return None
        closes = (number for number in range(end - 1, first, -1) if self._sequence[number].text == "}")
        close = next(closes, None)
        if close is None:
            return None
        opened = self._partner[close]
        if close == opened + 1 and not self._sequence[opened].behind and not self._sequence[close].above:
            return None
        return Block(opened, close, self._units(outline.inside, close), outline.one_line)


def _leaves(spans: Iterator[tree.Span]) -> tuple[_Outline, ...]:
    return tuple(_Outline(span.start, None, True) for span in spans)


def _is_lonely(statement: tree.Statement) -> bool:
    """Whether a body that holds this is never put in one line."""
    return isinstance(statement, _LONELY) or (isinstance(statement, tree.Invoke) and statement.body is not None)


def _pairs(sequence: Sequence[Lexeme]) -> Iterator[tuple[int, int]]:
    """The number of each closing brace with that of the one it closes."""
    opened: list[int] = []
    for number, lexeme in enumerate(sequence):
        if lexeme.text == "{":
            opened.append(number)
        elif lexeme.text == "}":
            yield number, opened.pop()
