"""The one place that speaks to textX: text in, parse tree or the place of the first mistake out.

The grammar (grammar/stm.tx) is loaded when first needed and kept for the process. The textX model is never built: the
parse tree has a place for every token, and is cheaper. Knows neither comments nor the syntax tree (language.md, all
sections).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Protocol, cast

_FRAMES = 20_000
"""Frames that the deepest accepted text needs, with room to spare; deeper ones are refused beforehand."""

_TURN = RLock()
"""Whose turn it is to have the process's recursion limit: the one thing here that all threads share."""

END = "EOF"
"""The rule name of the end of the text."""


class _Rule(Protocol):
    _attr_name: str


class Node(Protocol):
    """A node of the parse tree: a token with a value (`is_token`), or a rule with parts."""

    rule_name: str
    position: int
    value: str
    rule: _Rule

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Node]: ...

    def __getitem__(self, index: int) -> Node: ...


class Mismatch(Exception):
    """The text does not fit the grammar: how far it could be read, and what would have fitted there.

    `words` are keywords and signs, `tokens` the names of token rules, with `END` for the end of the text; both in the
    order in which the grammar tries them.
    """

    def __init__(self, position: int, words: tuple[str, ...], tokens: tuple[str, ...]) -> None:
        super().__init__(position, words, tokens)
        self.position = position
        self.words = words
        self.tokens = tokens


def parse_items(text: str) -> list[Node]:
    """The declarations of a text without comments. Raises `Mismatch`."""
    mismatch = None
    try:
        root = _blueprint().clone().parse(text)
    except _textx().TextXSyntaxError as error:
        mismatch = _mismatch(cast(_Miss, error.__cause__))
    if mismatch is not None:
        raise mismatch
    if root[0].rule_name == END:
        return []
    return [item[0] for item in root[0][0]]


@contextmanager
def room_to_parse() -> Iterator[None]:
    """Deep recursion, and no garbage collection meanwhile: it would walk the millions of nodes again and again.

    Both belong to the whole process, so threads take turns.
    """
    with _TURN:
        limit, collecting = sys.getrecursionlimit(), gc.isenabled()
        sys.setrecursionlimit(max(limit, _FRAMES))
        gc.disable()
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)
            if collecting:
                gc.enable()


def is_token(node: Node) -> bool:
    return not isinstance(node, list)


def end_of(node: Node) -> int:
    """The offset behind a node's last token."""
    while not is_token(node):
        node = node[len(node) - 1]
    return node.position + len(node.value)


class Parts:
    """The attributes of a rule's node, by name, without keywords and separators."""

    __slots__ = ("_attributes",)

    def __init__(self, node: Node) -> None:
        self._attributes: dict[str, Node] = {
            part.rule._attr_name: part for part in node if part.rule_name.startswith("__asgn")
        }

    def one(self, name: str) -> Node:
        return self._attributes[name][0]

    def maybe(self, name: str) -> Node | None:
        part = self._attributes.get(name)
        return None if part is None else part[0]

    def many(self, name: str) -> list[Node]:
        return [part for part in self._attributes.get(name, ()) if part.rule_name != "sep"]


class _MatchRule(Protocol):
    rule_name: str
    name: str
    to_match: str


class _Miss(Protocol):
    position: int
    rules: list[_MatchRule]


class _Parser(Protocol):
    def parse(self, text: str) -> Node: ...

    def clone(self) -> _Parser: ...


class _Metamodel(Protocol):
    _parser_blueprint: _Parser


class _TextX(Protocol):
    """What is used of textX, which carries no types of its own."""

    TextXSyntaxError: type[Exception]

    def metamodel_from_file(self, file_name: str, *, autokwd: bool, memoization: bool) -> _Metamodel: ...


def _mismatch(miss: _Miss) -> Mismatch:
    tokens = dict.fromkeys(rule.rule_name or rule.name for rule in miss.rules if not _is_word(rule))
    words = dict.fromkeys(rule.to_match for rule in miss.rules if _is_word(rule))
    return Mismatch(miss.position, tuple(words), tuple(tokens))


def _is_word(rule: _MatchRule) -> bool:
    return rule.rule_name == "sep" or (not rule.rule_name and rule.name != END)


@cache
def _blueprint() -> _Parser:
    grammar = Path(__file__).parent / "grammar" / "stm.tx"
    return _textx().metamodel_from_file(str(grammar), autokwd=True, memoization=False)._parser_blueprint


def _textx() -> _TextX:
    return cast(_TextX, import_module("textx"))
