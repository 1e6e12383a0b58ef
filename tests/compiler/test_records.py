"""Records behave as frozen dataclasses do, for programs and for `dataclasses` itself."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace

import pytest

from harelc.records import Record


class Payment(Record):
    amount: int
    currency: str = "EUR"
    note: str = field(default="", compare=False)


class Refund(Record):
    amount: int
    currency: str = "EUR"
    note: str = ""


def test_values_come_in_order_or_by_name_and_the_rest_has_its_default() -> None:
    assert Payment(5) == Payment(amount=5) == Payment(5, "EUR") == Payment(5, currency="EUR")
    assert repr(Payment(5, note="late")) == "Payment(amount=5, currency='EUR', note='late')"


def test_records_are_equal_by_what_is_compared_and_only_within_a_class() -> None:
    assert Payment(5, note="late") == Payment(5)
    assert hash(Payment(5, note="late")) == hash(Payment(5))
    assert Payment(5) != Payment(6)
    assert Payment(5) != Refund(5)
    assert Refund(5, note="late") != Refund(5)


def test_a_record_cannot_be_changed() -> None:
    payment = Payment(5)

    with pytest.raises(FrozenInstanceError):
        payment.__setattr__("amount", 6)
    with pytest.raises(FrozenInstanceError):
        payment.__delattr__("amount")
    assert not hasattr(payment, "__dict__")


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, "EUR", "", 4), {}), ((1,), {"amount": 2}), ((1,), {"colour": "red"}), ((), {"note": ""})],
)
def test_what_a_dataclass_would_not_take_is_refused(values: tuple[object, ...], named: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="Payment"):
        type.__call__(Payment, *values, **named)


def test_dataclass_functions_work_on_records() -> None:
    assert is_dataclass(Payment)
    assert [each.name for each in fields(Payment(5))] == ["amount", "currency", "note"]
    assert replace(Payment(5, note="late"), amount=6) == Payment(6)
    assert replace(Payment(5, note="late"), amount=6).note == "late"


def test_records_are_copied_pickled_and_matched() -> None:
    payment = Payment(5, "USD", "late")

    assert repr(pickle.loads(pickle.dumps(payment))) == repr(copy.deepcopy(payment)) == repr(payment)
    match payment:
        case Payment(amount, currency):
            assert (amount, currency) == (5, "USD")
