"""The texts that all stores keep: round trips, refusals with the key path, and the limit of a backend."""

from __future__ import annotations

import json

import pytest

from harel.errors import ContextError, RecordTooLarge
from harel.execution import Execution
from harel.stores import encoding
from harel.testing.store_contract import a_batch, a_message, a_trace_row, an_order


def test_everything_that_is_kept_is_json_and_comes_back() -> None:
    texts = (
        encoding.execution_text(an_order()),
        encoding.message_text(a_message(1, amount=1.5, name="é")),
        encoding.batch_text(a_batch(1, items=[None])),
        encoding.trace_text(a_trace_row(1, total=2)),
    )
    for text in texts:
        json.loads(text)

    assert Execution.from_json(texts[0]) == an_order()
    assert encoding.read_message(texts[1]) == a_message(1, amount=1.5, name="é")
    assert encoding.read_batch(texts[2]) == a_batch(1, items=[None])
    assert encoding.read_trace_row(texts[3]) == a_trace_row(1, total=2)


def test_a_refusal_names_the_key_path() -> None:
    with pytest.raises(ContextError, match=r"items\[1\]\.price: set is not a JSON value"):
        encoding.execution_text(an_order(context={"items": [{}, {"price": {1}}]}))


def test_a_record_over_the_limit_is_refused_with_its_three_largest_keys() -> None:
    order = an_order(context={"a": "x" * 50, "photo": "é" * 400, "c": "x" * 30, "d": "x" * 40})
    text = encoding.execution_text(order)
    size = len(text.encode())
    encoding.check_size(order, text, size, "the table")

    with pytest.raises(RecordTooLarge) as refusal:
        encoding.check_size(order, text, size - 1, "the table")
    assert str(refusal.value) == (
        f"the record of execution 'order-1' has {size} bytes, the table takes {size - 1}; the largest context keys are "
        "'photo' (802 bytes), 'a' (52 bytes), 'd' (42 bytes): keep large values elsewhere and store a reference"
    )
