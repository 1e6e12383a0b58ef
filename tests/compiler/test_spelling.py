"""Misspelt names and what they may have meant, in the same words wherever they stand."""

from __future__ import annotations

import pytest

from harelc.spelling import did_you_mean, is_near, near, similar

STATES = ("AwaitingPayment", "Paid", "paid", "Shipped")


def test_the_most_alike_name_comes_first_and_case_makes_no_difference() -> None:
    assert near("PIAD", STATES) == ["Paid"]
    assert near("shiped", STATES, most=1) == ["Shipped"]
    assert near("Refunded", ["Shipped", "Refund", "Refounded"]) == ["Refounded", "Refund"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("amuont", "did you mean `amount`?"), ("item", "did you mean `items` or `item_id`?"), ("currency", None)],
)
def test_a_hint_names_what_is_near_or_is_none(name: str, hint: str | None) -> None:
    assert did_you_mean(name, ["amount", "items", "item_id"]) == hint


def test_of_very_many_names_only_the_first_are_compared() -> None:
    many = [f"n{number}" for number in range(2_000)]

    assert did_you_mean("amuont", [*many, "amount"]) is None
    assert did_you_mean("amuont", ["amount", *many]) == "did you mean `amount`?"


def test_the_nearest_name_follows_the_words_that_say_what_it_is() -> None:
    assert similar("Payd", STATES, "a state with a similar name exists") == "a state with a similar name exists: `Paid`"
    assert similar("Lost", STATES, "a state with a similar name exists") is None


def test_two_names_may_be_one_misspelt() -> None:
    assert is_near("Payd", "Paid")
    assert not is_near("Paid", "Shipped")
