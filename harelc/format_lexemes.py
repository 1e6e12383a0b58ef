"""The formatter's view of a text: its tokens, each with the comments that belong to it (language.md section 1).

A comment behind a token, in the same line, belongs to that token; one alone in its line belongs to the next token.
Which white space stands between two tokens of one line is decided here, by the tokens alone. Knows nothing of the
syntax tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .tokens import Token, tokens

END = "end"


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment alone in its line; `blank`: an empty line stands above it."""

    text: str
    blank: bool


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token that is no comment, or (kind `END`, no text) the end of the text.

    `above` are the comments alone in their lines before it, `behind` the one in its own line. `breaks`: it does not
    stand in the line of what comes before it, comments included; `blank`: an empty line stands between the two.
    """

    kind: str
    text: str
    start: int
    above: tuple[Comment, ...]
    behind: str
    breaks: bool
    blank: bool


def lexemes(text: str) -> list[Lexeme]:
    """The tokens of a text without syntax errors, the end last. Line ends are `\\n` only."""
    found: list[Lexeme] = []
    pieces = list(tokens(text))
    above: list[Comment] = []
    end = 0
    for number, piece in enumerate(pieces):
        lines = text.count("\n", end, piece.start)
        end = piece.end
        if piece.kind != "comment":
            for part in _parts(piece, found):
                breaks = lines > 0 and part.start == piece.start
                behind = _behind(text, pieces, number) if part.end == piece.end else ""
                found.append(Lexeme(part.kind, part.text, part.start, tuple(above), behind, breaks, lines > 1))
                above.clear()
        elif lines or not found or above:
            above.append(Comment(_stripped(piece), lines > 1))
    blank = text.count("\n", end) > 1
    return [*found, Lexeme(END, "", len(text), tuple(above), "", True, blank)]


def _behind(text: str, pieces: Sequence[Token], number: int) -> str:
    """The comment in the line of a token, behind it."""
    if number + 1 == len(pieces):
        return ""
    token, piece = pieces[number], pieces[number + 1]
    same_line = piece.kind == "comment" and "\n" not in text[token.end : piece.start]
    return _stripped(piece) if same_line else ""


def _stripped(comment: Token) -> str:
    return comment.text.rstrip(" \t")


def _parts(token: Token, before: Sequence[Lexeme]) -> Iterator[Token]:
    """A token; where `-3` stands behind an operand, the operator and the number (edges.md, values)."""
    if token.kind == "number" and token.text[0] == "-" and _is_operand(before):
        yield Token("sign", "-", token.start, token.start + 1)
        yield Token("number", token.text[1:], token.start + 1, token.end)
    else:
        yield token


def _is_operand(before: Sequence[Lexeme]) -> bool:
    """Whether the last lexeme is one: a value, or a word behind `=` or `.`, unlike in `timeout -3`."""
    if not before:
        return False
    if before[-1].kind == "word":
        return len(before) > 1 and before[-2].text in ("=", ".")
    return before[-1].kind in ("number", "string")


# --- white space within a line


def gaps(sequence: Sequence[Lexeme]) -> list[str]:
    """For each lexeme what stands between it and the one before in the same line: a space or nothing."""
    return ["", *(_gap(sequence, number) for number in range(1, len(sequence)))] if sequence else []


def _gap(sequence: Sequence[Lexeme], number: int) -> str:
    before, lexeme = sequence[number - 1], sequence[number]
    if lexeme.kind in ("sign", END):
        if lexeme.text in _TIGHT_BEFORE:
            return ""
        if lexeme.text == "(" and before.kind == "word" and _is_call(sequence, number):
            return ""
    return "" if before.kind == "sign" and before.text in _TIGHT_BEHIND else " "


_TIGHT_BEFORE = frozenset(",)]}.:?")
_TIGHT_BEHIND = frozenset("([{.")


def _is_call(sequence: Sequence[Lexeme], number: int) -> bool:
    """Whether a parenthesis opens inputs, arguments or parameters, and no part of a predicate."""
    inside = [lexeme.text for lexeme in sequence[number + 1 : number + 3]]
    return inside[:1] == [")"] or inside[1:] in ([":"], ["="])
