"""From the units of a file to its lines: indentation, one-line blocks, wrapping (edges.md, generated code and tools).

What is decided here depends on the lexemes, on which comments stand where, on empty lines, and on whether a block was
written in one line; the lines made keep each of these, so that they come out the same when they are read again.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import accumulate, pairwise
from typing import NamedTuple

from .format_lexemes import END, Lexeme, gaps
from .format_units import Block, Unit

WIDTH = 100
"""Columns of a line. Only what has no place to break is longer: one long string or name."""

STEP = 2
"""By how much a body is indented."""

_HANGING = 4


class _Order(NamedTuple):
    """How gladly a line is broken before a lexeme: the least is taken first."""

    depth: int
    rank: int


_CLAUSE, _OR, _AND, _LIST, _OPERATOR = range(5)
_FILLED = (_LIST, _OPERATOR)
"""At these as much goes on a line as fits; at all others each part gets a line of its own."""

_RANK_BEFORE = {"or": _OR, "and": _AND, "|": _LIST} | dict.fromkeys(
    ("==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/"), _OPERATOR
)
_NOTHING = Lexeme(END, "", 0, (), "", False, False)


class _Stretch(NamedTuple):
    """Lexemes from `first` up to `end`: where their first line begins, and those after it."""

    first: int
    end: int
    column: int
    hanging: int


class Layout:
    """The lines of a file. `clauses` are the lexemes before which a line that is too long is broken first."""

    def __init__(self, sequence: Sequence[Lexeme], units: Sequence[Unit], clauses: Set[int]) -> None:
        self._sequence = sequence
        self._gaps = gaps(sequence)
        self._widths = [0, *accumulate(len(g) + len(x.text) for g, x in zip(self._gaps, sequence, strict=True))]
        self._comments = [0, *accumulate(map(_is_cut_by_comment, [_NOTHING, *sequence], sequence))]
        self._depths = _depths(sequence)
        self._orders = _orders(sequence, self._depths, clauses)
        self.lines: list[str] = []
        self._units(units, 0)
        self._above(sequence[-1], 0, is_first=not units, keeps_blank=False)

    # --- units

    def _units(self, units: Sequence[Unit], indent: int) -> None:
        for number, unit in enumerate(units):
            self._above(self._sequence[unit.first], indent, is_first=number == 0, keeps_blank=True)
            flat = None if unit.block is None else self._flat(unit)
            if flat is not None and indent + len(flat) <= WIDTH:
                self._add(flat, indent, self._sequence[unit.end - 1].behind)
            elif unit.block is None:
                self._run(unit.first, unit.end, indent)
            else:
                self._run(unit.first, unit.block.open + 1, indent)
                self._units(unit.block.units, indent + STEP)
                close = self._sequence[unit.block.close]
                self._above(close, indent + STEP, is_first=not unit.block.units, keeps_blank=False)
                self._run(unit.block.close, unit.end, indent)

    def _above(self, lexeme: Lexeme, indent: int, *, is_first: bool, keeps_blank: bool) -> None:
        """The comments above a lexeme, and the empty lines; none opens or closes a block."""
        for comment in lexeme.above:
            if comment.blank and not is_first:
                self.lines.append("")
            self._add(comment.text, indent, "")
            is_first = False
        if lexeme.blank and keeps_blank and not is_first:
            self.lines.append("")

    def _add(self, text: str, indent: int, comment: str) -> None:
        self.lines.append(f"{' ' * indent}{text}{'  ' if comment else ''}{comment}")

    # --- one line

    def _flat(self, unit: Unit) -> str | None:
        """A unit in one line, if it was written so and may stay so."""
        if unit.block is None:
            return None if self._has_comments(unit.first, unit.end) else self._text(unit.first, unit.end)
        if not self._is_flat(unit.block) or self._has_comments(unit.first, unit.end):
            return None
        inside = [self._flat(inner) for inner in unit.block.units]
        texts = [text for text in inside if text is not None]
        if len(texts) < len(inside):
            return None
        head = self._text(unit.first, unit.block.open + 1)
        tail = self._text(unit.block.close, unit.end)
        return f"{head} {_listed(texts)} {tail}"

    def _is_flat(self, block: Block) -> bool:
        return block.one_line and not any(self._sequence[n].breaks for n in range(block.open + 1, block.close + 1))

    def _has_comments(self, first: int, end: int) -> bool:
        """Whether comments stand inside, neither above the first lexeme nor behind the last."""
        return self._comments[end] > self._comments[first + 1]

    def _text(self, first: int, end: int) -> str:
        parts = [self._sequence[first].text]
        for number in range(first + 1, end):
            parts += self._gaps[number], self._sequence[number].text
        return "".join(parts)

    # --- several lines

    def _run(self, first: int, end: int, indent: int) -> None:
        """Lexemes without a block, in as many lines as they need; the comments above the first are there already."""
        waiting = [_Stretch(first, end, indent, indent + _HANGING)]
        while waiting:
            stretch = waiting.pop()
            parts = [] if self._fits(stretch.first, stretch.end, stretch.column) else self._broken(stretch)
            if not parts:
                if stretch.first > first:
                    self._above(self._sequence[stretch.first], stretch.column, is_first=True, keeps_blank=False)
                text = self._text(stretch.first, stretch.end)
                self._add(text, stretch.column, self._sequence[stretch.end - 1].behind)
            waiting += reversed(parts)

    def _fits(self, first: int, end: int, column: int) -> bool:
        width = self._widths[end] - self._widths[first] - len(self._gaps[first])
        return column + width <= WIDTH and not self._has_comments(first, end)

    def _best(self, first: int, end: int) -> _Order | None:
        orders = (self._orders[number] for number in range(first + 1, end))
        return min((order for order in orders if order is not None), default=None)

    def _broken(self, stretch: _Stretch) -> list[_Stretch]:
        """A stretch in at least two parts; none if there is no place to break it."""
        first, end, column, hanging = stretch
        order = self._best(first, end)
        if order is not None and order.depth > self._depths[first]:
            opened, close = self._widest_brackets(first, end, order)
            inside = _Stretch(opened + 1, close, column + STEP, column + STEP)
            head, tail = _Stretch(first, opened + 1, column, hanging), _Stretch(close, end, column, hanging)
            return [head, inside, tail] if close < end else [head, inside]
        if order is None:
            cuts = [n for n in range(first + 1, end) if self._has_comments(n - 1, n + 1)]
        else:
            cuts = [n for n in range(first + 1, end) if self._orders[n] == order]
        if order is not None and order.rank in _FILLED:
            cuts = self._filled(stretch, [*cuts, end])
        if not cuts:
            return []
        further = hanging + STEP
        rest = (_Stretch(*part, hanging, further) for part in pairwise([*cuts, end]))
        return [_Stretch(first, cuts[0], column, hanging), *rest]

    def _widest_brackets(self, first: int, end: int, order: _Order) -> tuple[int, int]:
        """Of the brackets around places of this order those with most in them; the end where nothing closes them."""
        edges = [n for n in range(first, end) if self._depths[n] < order.depth]
        around = zip(edges, [*edges[1:], end], strict=True)
        return max(around, key=lambda pair: self._widths[pair[1]] - self._widths[pair[0] + 1])

    def _filled(self, stretch: _Stretch, cuts: Sequence[int]) -> list[int]:
        """Those of the cuts (the last is the end) that are left where as much as fits goes on a line."""
        chosen: list[int] = []
        start, column = stretch.first, stretch.column
        for cut, following in pairwise(cuts):
            if not self._fits(start, following, column):
                chosen.append(cut)
                start, column = cut, stretch.hanging
        return chosen


def _is_cut_by_comment(before: Lexeme, lexeme: Lexeme) -> bool:
    return bool(before.behind or lexeme.above)


def _depths(sequence: Sequence[Lexeme]) -> list[int]:
    """For each lexeme how many brackets are around it; a bracket is not inside itself."""
    found: list[int] = []
    depth = 0
    for lexeme in sequence:
        depth -= lexeme.text in (")", "]", "}")
        found.append(depth)
        depth += lexeme.text in ("(", "[", "{")
    return found


def _orders(sequence: Sequence[Lexeme], depths: Sequence[int], clauses: Set[int]) -> list[_Order | None]:
    """For each lexeme how gladly a line is broken before it; `None`: never."""
    ranks = (
        _CLAUSE if number in clauses else _LIST if before.text == "," else _RANK_BEFORE.get(lexeme.text)
        for number, (before, lexeme) in enumerate(zip([_NOTHING, *sequence], sequence, strict=False))
    )
    return [None if rank is None else _Order(depth, rank) for depth, rank in zip(depths, ranks, strict=True)]


def _listed(texts: Sequence[str]) -> str:
    """Units in one line: with two spaces between them, one behind a comma."""
    parts = [f"{text} " if text.endswith(",") else f"{text}  " for text in texts[:-1]]
    return "".join([*parts, *texts[-1:]])
