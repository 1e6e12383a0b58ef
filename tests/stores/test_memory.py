"""`DictStore` keeps the contract, stays small, and finishes a write that Ctrl-C cut short."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from harel.stores import memory
from harel.stores.memory import DictStore
from harel.stores.names import checked_prefix
from harel.stores.protocol import DEDUPE_LIMIT, Effects, Processed, Store, Timer
from harel.testing import StoreContract
from harel.testing.store_contract import a_message, a_trace_row, an_order, every_effect, traces_of_effects

PARTS = ("_entries", "_ids", "_due", "_outbox", "_spawns")


class TestDictStore(StoreContract):
    @pytest.fixture
    def open_store(self) -> Callable[..., DictStore]:
        stores: dict[str, DictStore] = {}
        return lambda prefix="harel": stores.setdefault(checked_prefix(prefix), DictStore())

    def leftovers(self, store: Store) -> list[str]:
        return [part for part in PARTS if len(getattr(store, part))]


def size(store: DictStore) -> int:
    return sum(len(pickle.dumps(getattr(store, part))) for part in PARTS)


def test_an_execution_that_never_ends_does_not_grow() -> None:
    store = DictStore()
    store.create(an_order(), Effects())
    sizes = []
    for number in range(1, DEDUPE_LIMIT + 2_001):
        effects = Effects(
            processed=Processed(f"e-{number}", float(number), number),
            arms=(Timer("order-1", "A", float(number), number),),
            emits=(a_message(number),),
            acks=(f"order-1:1:{number - 1}",),
            trace=a_trace_row(number),
        )
        store.commit(an_order(version=number + 1), number, effects)
        if number in (DEDUPE_LIMIT, DEDUPE_LIMIT + 2_000):
            sizes.append(size(store))

    assert sizes[1] - sizes[0] < 5_000
    assert not store.is_processed("order-1", "e-2000")
    assert store.is_processed("order-1", "e-2001")


def test_a_write_that_is_interrupted_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts = [KeyboardInterrupt()]
    put = memory._Queue.put

    def interrupted(queue: memory._Queue, id: str, text: str) -> None:
        put(queue, id, text)
        if interrupts:
            raise interrupts.pop()

    monkeypatch.setattr(memory._Queue, "put", interrupted)
    store = DictStore()
    with pytest.raises(KeyboardInterrupt):
        store.create(an_order(), every_effect())

    assert store.load("order-1") == an_order()
    assert traces_of_effects(store) == {
        "messages": ["order-1:1:1"], "batches": ["order-1:1:1"], "due": ["Paying"], "timers": ["Paying"],
        "processed": True, "trace": ["e-1"],
    }  # fmt: skip
