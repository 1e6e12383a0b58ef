"""Values: JSON and nothing else, one equality, and texts that are safe in an error (edges.md, Values)."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest

from harel import ContextError
from harel.values import NESTING_LIMIT, check_json, copy_json, error_text, escape_text, from_literal, same


class Level(IntEnum):
    HIGH = 3


class Name(str):
    pass


class Price(float):
    pass


class Items(list[Any]):
    pass


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


GOOD: list[Any] = [
    *(True, False, None, 0, -7, 2**70, 10**1000 - 1, 0.1, 5e-324, 1e308),
    *("", "a\u0000b", "\u2028", "\U0001f9fe", "Köln", [], {}, [None, True], {"": 1}, {"a b": [{"c": [1, 2.5]}]}),
    nested(NESTING_LIMIT - 1),
]

BAD: list[tuple[Any, str]] = [
    (Decimal("1.5"), "Decimal is not a JSON value"),
    (datetime(2026, 1, 1, tzinfo=UTC), "datetime is not a JSON value"),
    ({1}, "set is not a JSON value"),
    (b"x", "bytes is not a JSON value"),
    ((1, 2), "tuple is not a JSON value"),
    (float("nan"), "nan is not a JSON value"),
    (float("inf"), "inf is not a JSON value"),
    (float("-inf"), "-inf is not a JSON value"),
    ("\ud800", "the string has a lone surrogate, which is not a JSON value"),
    (Level.HIGH, "Level is not a JSON value"),
    (Name("x"), "Name is not a JSON value"),
    (Price(1.0), "Price is not a JSON value"),
    (Items(), "Items is not a JSON value"),
    (OrderedDict(), "OrderedDict is not a JSON value"),
    (10**1000, "the integer has more than 1,000 digits"),
    (-(10**1000), "the integer has more than 1,000 digits"),
    ({1: "a"}, "the key 1 is of type int; JSON keys are strings"),
    ({Name("k"): "a"}, "the key 'k' is of type Name; JSON keys are strings"),
    ({"\ud800": "a"}, r"the key \ud800 has a lone surrogate"),
]


@pytest.mark.parametrize("value", GOOD, ids=lambda value: f"{type(value).__name__}-{str(value)[:12]!r}")
def test_json_values_pass_and_are_copied_without_a_change(value: Any) -> None:
    check_json({"items": [value]} if value != GOOD[-1] else {"items": value})
    copy = copy_json(value)

    assert copy == value
    assert type(copy) is type(value)


@pytest.mark.parametrize(("value", "fault"), BAD, ids=[fault for _, fault in BAD])
def test_anything_else_is_refused_with_its_key_path(value: Any, fault: str) -> None:
    with pytest.raises(ContextError) as refused:
        check_json({"id": "o-1", "items": [{}, 1, {"price": value}]})

    assert str(refused.value) == f"items[2].price: {fault}"


def test_a_key_that_is_no_name_is_quoted_in_the_path() -> None:
    with pytest.raises(ContextError, match=r'^parcels\["a b"\]\.weight: Decimal is not'):
        check_json({"parcels": {"a b": {"weight": Decimal(1)}}})


def test_the_path_begins_where_the_caller_says() -> None:
    with pytest.raises(ContextError, match=r"^region_results\.Pick: set is not"):
        check_json({"Pick": {1}}, "region_results")


def test_a_value_by_itself_has_no_path() -> None:
    with pytest.raises(ContextError, match=r"^the value itself: set is not a JSON value$"):
        check_json({1})


def test_a_list_inside_itself_is_named_where_it_recurs() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})

    with pytest.raises(ContextError, match=r"^items\[1\]\.again: the list contains itself$"):
        check_json({"items": loop})
    with pytest.raises(ContextError, match="contains itself or is nested deeper than 200 levels"):
        copy_json(loop)


def test_one_list_in_two_places_is_no_loop() -> None:
    shared = [1]

    check_json({"a": shared, "b": [shared, shared]})


def test_values_nest_200_levels_and_no_deeper() -> None:
    check_json(nested(NESTING_LIMIT))

    with pytest.raises(ContextError, match=r"^items\[0\].*: nested deeper than 200 levels$"):
        check_json({"items": nested(NESTING_LIMIT)})


def test_a_copy_shares_no_list_and_no_object() -> None:
    context = {"tags": ["a", {"k": [1]}]}
    copy = copy_json(context)
    copy["tags"][1]["k"].append(2)
    copy["tags"].append("b")

    assert context == {"tags": ["a", {"k": [1]}]}


def test_a_literal_s_tuples_become_lists() -> None:
    assert from_literal((1, ("a", ()), None)) == [1, ["a", []], None]


EQUAL: list[tuple[Any, Any]] = [
    (1, 1),
    (1, 1.0),
    (2**70, float(2**70)),
    ("a", "a"),
    (True, True),
    (None, None),
    ([1, ["x", None]], [1.0, ["x", None]]),
    ({"a": [1]}, {"a": [1.0]}),
]

DIFFERENT: list[tuple[Any, Any]] = [
    (True, 1),
    (False, 0),
    (True, 1.0),
    (1, "1"),
    (None, 0),
    (None, False),
    (None, ""),
    ([True], [1]),
    ([1], [1, 2]),
    ([1], 1),
    ({"a": 1}, {"a": True}),
    ({"a": 1}, {"b": 1}),
    (2**53 + 1, float(2**53)),
    (Decimal(1), Decimal(1)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_values(one: Any, other: Any) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_values(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)


def test_comparing_loops_ends() -> None:
    one: list[Any] = []
    one.append(one)
    other: list[Any] = []
    other.append(other)

    assert not same(one, other)


def test_control_characters_and_surrogates_are_escaped_and_long_texts_cut() -> None:
    assert escape_text("a\nb\x00\x7f\u2028\ud800 ü\U0001f9fe") == "a\\nb\\x00\\x7f\\u2028\\ud800 ü\U0001f9fe"
    assert escape_text("x" * 2000) == "x" * 2000
    assert escape_text("x" * 2001) == "x" * 1999 + "…"
    assert len(escape_text("\n" * 5000)) == 2000


def test_the_text_of_an_exception() -> None:
    assert error_text(ValueError("declined\n")) == ("ValueError", "declined\\n")
    assert error_text(KeyError("order")) == ("KeyError", "'order'")
    assert error_text(RuntimeError()) == ("RuntimeError", "")


def test_an_exception_whose_text_raises_is_survived() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise OSError("no text")

    assert error_text(Mute()) == ("Mute", "(its str() raises OSError)")
