"""Expressions: trees become functions of (context, event data) (language.md section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harel import ExpressionError
from harel.expressions import DELAY_LIMIT, Predicate, compile_predicate, compile_value, delay_of

V = ("event", "v")


def no_guard(name: str) -> Predicate:
    raise AssertionError(f"no guard {name} is expected")


def holds(expr: tuple[Any, ...], data: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> bool:
    return compile_predicate(expr, no_guard)(context or {}, data)


def value(expr: tuple[Any, ...], data: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> Any:
    return compile_value(expr)(context or {}, data)


# v, then which of  v == 1   v != 1   v == true   v in [1, "x"]   v > 0   not v == 1  hold
COMPARISONS: list[tuple[dict[str, Any], tuple[bool, ...]]] = [
    ({"v": True}, (False, True, True, False, False, True)),
    ({"v": 1}, (True, False, False, True, True, False)),
    ({"v": 1.0}, (True, False, False, True, True, False)),
    ({"v": "1"}, (False, True, False, False, False, True)),
    ({"v": "x"}, (False, True, False, True, False, True)),
    ({"v": 0}, (False, True, False, False, False, True)),
    ({"v": [1]}, (False, True, False, False, False, True)),
    ({"v": None}, (False, True, False, False, False, True)),
    ({"v": {}}, (False, True, False, False, False, True)),
    ({"v": Decimal(1)}, (False, True, False, False, False, True)),
    ({}, (False, False, False, False, False, True)),
]


@pytest.mark.parametrize(("data", "expected"), COMPARISONS, ids=[str(data) for data, _ in COMPARISONS])
def test_comparisons_of_every_kind_of_value(data: dict[str, Any], expected: tuple[bool, ...]) -> None:
    one = ("lit", 1)
    guards = [
        *[("==", V, one), ("!=", V, one), ("==", V, ("lit", True))],
        *[("in", V, ("lit", (1, "x"))), (">", V, ("lit", 0)), ("not", ("==", V, one))],
    ]

    assert tuple(holds(guard, data) for guard in guards) == expected


@pytest.mark.parametrize(
    ("one", "other", "true_operators"),
    [
        (1, 2, {"<", "<=", "!="}),
        (2, 2.0, {"<=", ">=", "=="}),
        (2.5, 2, {">", ">=", "!="}),
        (10**400, 1.5, {">", ">=", "!="}),
        ("abc", "abd", {"<", "<=", "!="}),
        ("10", "9", {"<", "<=", "!="}),
        ("Z", "a", {"<", "<=", "!="}),
        ("3", 3, {"!="}),
        (True, False, {"!="}),
        ([1], [2], {"!="}),
        (None, None, {"=="}),
        (None, 1, {"!="}),
    ],
)
def test_order_is_for_numbers_among_themselves_and_text_among_itself(
    one: Any, other: Any, true_operators: set[str]
) -> None:
    operators = ("==", "!=", "<", "<=", ">", ">=")
    data = {"v": one, "w": other}

    assert {sign for sign in operators if holds((sign, V, ("event", "w")), data)} == true_operators


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">=", "in"])
def test_an_absent_field_on_either_side_makes_every_comparison_false(sign: str) -> None:
    assert not holds((sign, ("context", "gone"), V), {"v": [1]})
    assert not holds((sign, V, ("context", "gone")), {"v": 1})
    assert holds(("not", (sign, V, ("context", "gone"))), {"v": 1})


def test_null_is_present_and_equal_only_to_null() -> None:
    null = ("lit", None)

    assert holds(("==", V, null), {"v": None})
    assert not holds(("==", V, null), {})
    assert not holds(("==", V, null), {"v": 0})
    assert holds(("!=", V, null), {"v": False})


@pytest.mark.parametrize("haystack", [5, "abc", {"a": 1}, None])
def test_in_needs_a_list_on_the_right(haystack: Any) -> None:
    assert not holds(("in", V, ("context", "known")), {"v": "a"}, {"known": haystack})


def test_in_compares_like_equality() -> None:
    assert holds(("in", V, ("context", "known")), {"v": [1, "a"]}, {"known": [[1.0, "a"]]})
    assert not holds(("in", V, ("lit", (1, (1,)))), {"v": True})


def test_and_or_not_compose() -> None:
    a, b, c = ((("==", ("event", name), ("lit", True))) for name in "abc")
    loose = ("or", ("not", a), ("and", b, c))

    assert holds(loose, {"a": False, "b": False, "c": False})
    assert holds(loose, {"a": True, "b": True, "c": True})
    assert not holds(loose, {"a": True, "b": True, "c": False})
    assert holds(("not", ("not", a)), {"a": True})
    assert not holds(("not", ("not", ("not", a))), {"a": True})


def test_a_named_guard_is_found_once_by_its_name() -> None:
    asked: list[str] = []

    def guard_of(name: str) -> Predicate:
        asked.append(name)
        return lambda context, data: data["amount"] > context["limit"]

    predicate = compile_predicate(("not", ("guard", "large")), guard_of)

    assert predicate({"limit": 10}, {"amount": 5})
    assert not predicate({"limit": 10}, {"amount": 50})
    assert asked == ["large"]


@pytest.mark.parametrize(("word", "expected"), [("and", False), ("or", True)])
def test_chains_of_thousands_of_terms(word: str, expected: bool) -> None:
    terms = [("==", V, ("lit", number)) for number in range(2_000)]

    assert holds((word, *terms), {"v": 1_999}) is expected


def test_deep_nesting() -> None:
    expr: tuple[Any, ...] = ("==", V, ("lit", 1))
    for _ in range(200):
        expr = ("and", ("or", expr, ("==", V, ("lit", 2))), ("!=", V, ("lit", 3)))
    many_nots = expr
    for _ in range(10_000):
        many_nots = ("not", many_nots)

    assert holds(expr, {"v": 1})
    assert holds(many_nots, {"v": 2})
    assert not holds(many_nots, {"v": 3})


TESTS = st.sampled_from([("==", ("event", name), ("lit", True)) for name in "abc"])
TREES: st.SearchStrategy[tuple[Any, ...]] = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.lists(inner, min_size=2, max_size=4).map(lambda terms: ("and", *terms)),
        st.lists(inner, min_size=2, max_size=4).map(lambda terms: ("or", *terms)),
    ),
)


def plainly(expr: tuple[Any, ...], data: Mapping[str, Any]) -> bool:
    """What a tree says, read off it term by term."""
    word, *terms = expr
    if word == "not":
        return not plainly(terms[0], data)
    if word in ("and", "or"):
        return (all if word == "and" else any)(plainly(term, data) for term in terms)
    return bool(data[terms[0][1]])


@given(TREES, st.fixed_dictionaries({name: st.booleans() for name in "abc"}))
def test_any_tree_says_what_its_terms_say(expr: tuple[Any, ...], data: dict[str, bool]) -> None:
    assert holds(expr, data) is plainly(expr, data)


@pytest.mark.parametrize(
    ("sign", "one", "other", "expected"),
    [
        ("+", 7, 2, 9),
        ("-", 7, 2, 5),
        ("*", 7, 2, 14),
        ("/", 7, 2, 3.5),
        ("/", 6, 2, 3.0),
        ("+", 1, 0.5, 1.5),
        ("*", 10**300, 10**300, 10**600),
    ],
)
def test_arithmetic_keeps_ints_and_division_gives_a_float(sign: str, one: Any, other: Any, expected: Any) -> None:
    result = value((sign, ("event", "x"), ("context", "y")), {"x": one}, {"y": other})

    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("expr", "data", "message"),
    [
        (("event", "user"), {}, "event.user is absent"),
        (("context", "n"), {}, "context.n is absent"),
        (("+", ("context", "n"), ("lit", 1)), {}, "context.n is absent, and `+` takes numbers"),
        (("*", V, ("lit", 2)), {"v": "heavy"}, "event.v is a string, and `*` takes numbers"),
        (("+", ("lit", 1), V), {"v": True}, "event.v is a boolean, and `+` takes numbers"),
        (("-", V, ("lit", 1)), {"v": None}, "event.v is null, and `-` takes numbers"),
        (("-", V, ("lit", 1)), {"v": [1]}, "event.v is a list, and `-` takes numbers"),
        (("/", V, ("lit", 1)), {"v": {}}, "event.v is an object, and `/` takes numbers"),
        (("+", V, ("lit", 1)), {"v": Decimal(1)}, "event.v is of type Decimal, and `+` takes numbers"),
        (("+", V, ("lit", "a")), {"v": 1}, "'a' is a string, and `+` takes numbers"),
        (("/", V, ("lit", 0)), {"v": 7}, "event.v / 0 divides by zero"),
        (("/", V, ("lit", 0.0)), {"v": 7}, "event.v / 0.0 divides by zero"),
        (("*", V, ("lit", 10.0)), {"v": 1e308}, "event.v * 10.0 is too large for a number"),
        (("+", V, ("lit", 0.5)), {"v": 10**400}, "event.v + 0.5 is too large for a number"),
        (("/", V, ("lit", 3)), {"v": 10**400}, "event.v / 3 is too large for a number"),
        (("*", V, V), {"v": 10**600}, "event.v * event.v is too large for a number"),
    ],
)
def test_what_cannot_be_computed_names_the_field_and_the_fault(
    expr: tuple[Any, ...], data: dict[str, Any], message: str
) -> None:
    with pytest.raises(ExpressionError) as refused:
        value(expr, data)

    assert str(refused.value) == message


def test_a_value_that_contains_itself_cannot_be_assigned() -> None:
    loop: list[Any] = []
    loop.append(loop)

    with pytest.raises(ExpressionError, match=r"^context\.loop: the value contains itself"):
        value(("context", "loop"), {}, {"loop": loop})


def test_assigned_lists_are_copies() -> None:
    names = ["a", {"k": [1]}]
    assigned = value(V, {"v": names})
    assigned[1]["k"].append(2)
    literal = compile_value(("lit", (1, ("a",))))
    literal({}, {})[1].append("b")

    assert names == ["a", {"k": [1]}]
    assert literal({}, {}) == [1, ["a"]]


@pytest.mark.parametrize("literal", [None, True, 3, -0.5, "paid"])
def test_a_literal_is_itself(literal: Any) -> None:
    assert value(("lit", literal), {}) is literal


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(5, 5.0), (0.25, 0.25), (0, 0.0), (-3, 0.0), (-(10**400), 0.0), (DELAY_LIMIT, float(DELAY_LIMIT))],
)
def test_a_delay_is_a_number_of_seconds_and_zero_or_less_is_due_at_once(seconds: Any, expected: float) -> None:
    delay = delay_of({"backoff": seconds}, "backoff")

    assert delay == expected
    assert type(delay) is float


@pytest.mark.parametrize(
    ("context", "fault"),
    [
        ({}, "context.backoff is absent, and a timeout needs a number of seconds"),
        ({"backoff": True}, "context.backoff is a boolean, and"),
        ({"backoff": "5"}, "context.backoff is a string, and"),
        ({"backoff": None}, "context.backoff is null, and"),
        ({"backoff": float("nan")}, "context.backoff is no delay: a timeout is a finite number of seconds up to 31"),
        ({"backoff": float("inf")}, "context.backoff is no delay"),
        ({"backoff": float("-inf")}, "context.backoff is no delay"),
        ({"backoff": DELAY_LIMIT + 1}, "context.backoff is no delay"),
        ({"backoff": 10**400}, "context.backoff is no delay"),
    ],
)
def test_anything_else_is_no_delay(context: dict[str, Any], fault: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        delay_of(context, "backoff")

    assert str(refused.value).startswith(fault)
