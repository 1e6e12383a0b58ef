"""Declarations: events, ids and contexts are judged before anything runs (runtime.md section 3, edges.md "Events")."""

from __future__ import annotations

from typing import Any

import pytest

from harel import ContextError, Definition, EventError
from harel.declarations import (
    check_event,
    check_event_id,
    check_execution_id,
    check_schema,
    check_types,
    fits,
    seed_context,
)

ORDER = Definition(
    id="order",
    version=1,
    digest="d",
    states=(("", -1, "machine", 1), ("Waiting", 0, "leaf")),
    events=(
        ("Paid", (("amount", "int"), ("note", "string", True), ("tax", "float", True), ("raw", "any", True))),
        ("Ship",),
        ("Answer", (("yes", "bool"), ("payload", "any"))),
    ),
    context=(
        ("total", "int"),
        ("retries", "int", False, (0,)),
        ("tags", "any", False, (("new", ("a",)),)),
        ("note", "string", True),
        ("rate", "float", True, (0.5,)),
    ),
)

WITHOUT_SCHEMA = Definition(id="free", version=1, digest="d", states=(("", -1, "machine"),))


@pytest.mark.parametrize(
    ("type_name", "fitting", "others"),
    [
        ("string", ["", "a"], [1, True, None, []]),
        ("int", [0, 10**40], [1.0, True, "1", None]),
        ("float", [1, 1.5], [True, "1", None]),
        ("bool", [True, False], [0, "true", None]),
        ("any", [1, True, "a", None, [], {}], []),
    ],
)
def test_types(type_name: str, fitting: list[Any], others: list[Any]) -> None:
    assert [value for value in fitting if not fits(type_name, False, value)] == []
    assert [value for value in others if fits(type_name, False, value)] == []
    assert fits(type_name, True, None)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("Paid", {"amount": 1}),
        ("Paid", {"amount": 1, "note": None, "tax": None}),
        ("Paid", {"amount": 1, "note": "cash", "tax": 2, "raw": [1]}),
        ("Paid", {"amount": 1, "color": "red"}),
        ("Ship", {}),
        ("Answer", {"yes": True, "payload": None}),
    ],
)
def test_events_as_declared_pass(kind: str, data: dict[str, Any]) -> None:
    check_event(ORDER, kind, data)


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("Payd", {}, "event 'Payd' is not declared by machine order; did you mean Paid?"),
        ("X", {}, "event 'X' is not declared by machine order; declared are Paid, Ship, Answer"),
        ("Paid", {}, "event Paid lacks the field 'amount', declared int"),
        ("Paid", {"amount": "1"}, "event Paid: the field 'amount' is declared int and was given string"),
        ("Paid", {"amount": True}, "event Paid: the field 'amount' is declared int and was given bool"),
        ("Paid", {"amount": 1.0}, "event Paid: the field 'amount' is declared int and was given float"),
        ("Paid", {"amount": None}, "event Paid: the field 'amount' is declared int and was given null"),
        ("Paid", {"amount": 1, "note": 5}, "event Paid: the field 'note' is declared string? and was given int"),
        ("Answer", {"yes": True}, "event Answer lacks the field 'payload', declared any"),
        ("Paid", {"amount": 1, "raw": [{"a": {1}}]}, "event Paid: raw[0].a: set is not a JSON value"),
        ("Paid", {"amount": 1, "extra": float("nan")}, "event Paid: extra: nan is not a JSON value"),
        (
            "Timeout",
            {},
            "event Timeout is reserved and cannot be sent: fire_due_timers() delivers it when a timer is due",
        ),
        ("Cancel", {}, "event Cancel is reserved and cannot be sent: use cancel(id, reason)"),
        ("SetState", {}, "event SetState is reserved and cannot be sent: use redrive(id, target_path)"),
        (5, {}, "the kind of an event is a string, not int"),
    ],
)
def test_a_wrong_event_is_refused_with_what_helps(kind: Any, data: dict[str, Any], message: str) -> None:
    with pytest.raises(EventError) as refused:
        check_event(ORDER, kind, data)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    "kind", ["Start", "Finished", "Timeout", "Cancel", "Reset", "SetState", "Returned", "error", "Expired"]
)
def test_every_reserved_kind_says_what_to_do(kind: str) -> None:
    with pytest.raises(EventError, match=f"^event {kind} is reserved and cannot be sent: "):
        check_event(ORDER, kind, {})


def test_a_machine_whose_files_declare_no_event_says_so() -> None:
    with pytest.raises(EventError, match=r"whose files declare no event; add `event Ship \{\}`$"):
        check_event(WITHOUT_SCHEMA, "Ship", {})


@pytest.mark.parametrize("id", ["e1", "starting", "paid:order-1:3", "0", "timeouts", "Start", "ü", "a b"])
def test_event_ids(id: str) -> None:
    check_event_id(id)


@pytest.mark.parametrize(
    ("id", "fault"),
    [
        ("start", "is reserved"),
        ("timeout:Waiting:1", "is reserved"),
        ("expired:9", "is reserved"),
        ("returned:x", "is reserved"),
        ("send:x:1", "is reserved"),
        ("redrive:2", "is reserved"),
        ("", "is a string that is not empty"),
        (7, "is a string that is not empty"),
        ("a\nb", "has control characters"),
        ("\ud800", "lone surrogates"),
        ("x" * 501, "has 501 bytes, over the limit of 500"),
        ("ü" * 251, "has 502 bytes, over the limit of 500"),
    ],
)
def test_event_ids_that_are_refused(id: Any, fault: str) -> None:
    with pytest.raises(EventError, match=fault):
        check_event_id(id)


@pytest.mark.parametrize("id", ["o", "order-1", "a:b.c%d*?[_", "Ω", "x" * 200])
def test_execution_ids(id: str) -> None:
    check_execution_id(id)


@pytest.mark.parametrize("id", ["", "x" * 201, "a b", "a\tb", "a/b", "a\x00", "\ud800", "a\u00a0b", "a\u2028", 7, None])
def test_execution_ids_that_are_refused(id: Any) -> None:
    with pytest.raises(ValueError, match="execution id"):
        check_execution_id(id)


def test_a_context_starts_with_what_is_given_over_the_defaults() -> None:
    context = seed_context(ORDER, {"total": 5, "retries": 2, "extra": {"k": 1}})

    assert context == {"total": 5, "retries": 2, "tags": ["new", ["a"]], "rate": 0.5, "extra": {"k": 1}}


def test_nothing_is_shared_with_the_caller_or_the_tables() -> None:
    given = {"total": 5, "extra": [1]}
    first = seed_context(ORDER, given)
    first["tags"].append("mine")
    first["extra"].append(2)

    assert given["extra"] == [1]
    assert seed_context(ORDER, given)["tags"] == ["new", ["a"]]


def test_a_null_for_an_optional_key_stays_null() -> None:
    assert seed_context(ORDER, {"total": 1, "rate": None, "note": None})["rate"] is None


def test_without_a_schema_any_json_object_is_a_context() -> None:
    assert seed_context(WITHOUT_SCHEMA, None) == {}
    assert seed_context(WITHOUT_SCHEMA, {"a": [1]}) == {"a": [1]}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "total: missing from the context, and declared int by machine order"),
        ({"total": "5"}, "total: declared int by machine order, and is string"),
        ({"total": True}, "total: declared int by machine order, and is bool"),
        ({"total": 5, "retries": None}, "retries: declared int by machine order, and is null"),
        ({"total": 5, "note": 1}, "note: declared string? by machine order, and is int"),
        ({"total": 5, "items": [(1,)]}, "items[0]: tuple is not a JSON value"),
        ({"total": 5, 1: 2}, "the value itself: the key 1 is of type int; JSON keys are strings"),
    ],
)
def test_a_seed_that_breaks_the_schema_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ContextError) as refused:
        seed_context(ORDER, given)

    assert str(refused.value) == message


def test_a_commit_asks_for_every_required_key_and_a_region_only_for_types() -> None:
    region = {"retries": 3}

    with pytest.raises(ContextError, match=r"^total: missing"):
        check_schema(ORDER, region)
    check_types(ORDER, region)
    with pytest.raises(ContextError, match=r"^retries: declared int"):
        check_types(ORDER, {"retries": "3"})
