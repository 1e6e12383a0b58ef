"""Data: what is refused before anything runs, what is refused at the commit, and what nobody else may share."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest
from cases.support import Start

from harel import ContextError, Event, EventError, Status, Stm
from harel.stores.protocol import Store
from harel.testing import FakeClock


class TestNobodyElsesList:
    """Executions are plain data of their own."""

    @pytest.fixture
    def actions(self) -> dict[str, Any]:
        def spoil(stm: Stm, event: Event) -> None:
            stm.execution_ctx["tags"].extend(event.data["names"])
            event.data["names"].clear()

        return {"spoil": spoil}

    def test_a_default_is_copied(self, start: Start, store: Store, actions: dict[str, Any]) -> None:
        runner = start("10-shared-default", "order", actions=actions)
        first = runner.create("order")
        runner.process(first.id, Event("Open"))
        runner.process(first.id, Event("Tag", {"names": ["a"]}))

        assert store.load(first.id).context["tags"] == ["a"]
        assert runner.create("order").context["tags"] == []

    def test_a_seed_is_copied(self, start: Start, store: Store, actions: dict[str, Any]) -> None:
        runner = start("10-shared-default", "order", actions=actions)
        mine = {"extra": {"k": [1]}}
        order = runner.create("order", mine)
        mine["extra"]["k"].append(2)

        assert store.load(order.id).context["extra"] == {"k": [1]}

    def test_an_event_that_waits_is_a_copy(self, start: Start, store: Store, actions: dict[str, Any]) -> None:
        runner = start("10-shared-default", "order", actions=actions)
        order = runner.create("order")
        data = {"names": ["a"]}
        runner.process(order.id, Event("Tag", data))  # deferred
        data["names"].append("b")
        opened = runner.process(order.id, Event("Open"))

        assert opened.context["tags"] == ["a"]
        assert data == {"names": ["a", "b"]}

    def test_what_is_returned_and_what_is_loaded_are_copies(
        self, start: Start, store: Store, actions: dict[str, Any]
    ) -> None:
        runner = start("10-shared-default", "order", actions=actions)
        order = runner.create("order")
        order.context["tags"].append("mine only")
        store.load(order.id).context["tags"].append("read, not written")

        assert store.load(order.id).context["tags"] == []


class Level(IntEnum):
    HIGH = 3


LOOP: list[Any] = []
LOOP.append(LOOP)

NOT_JSON: list[Any] = [
    *(datetime(2026, 1, 1, tzinfo=UTC), Decimal("1.5"), {1}, b"x", (1, 2), {1: "a"}, float("nan"), float("inf")),
    *("\ud800", Level.HIGH, object(), LOOP),
]
JSON: list[Any] = [
    *(2**70, -(2**70), 0.1, 5e-324, 1e308, "a\u0000b", "\u2028", "\U0001f9fe", [], {}, [None, True], {"": 1}),
]


def leaving(value: Any) -> dict[str, Any]:
    def leave(stm: Stm, event: Event) -> None:
        stm.execution_ctx["items"] = [{"ok": 1}, {"price": value}]

    return {"leave": leave}


class TestValuesThatAreNotJson:
    """An action leaves something in the context: the same answer on every store."""

    @pytest.mark.parametrize("value", NOT_JSON, ids=lambda value: f"{type(value).__name__}")
    def test_the_caller_gets_the_key_path_and_the_record_is_as_it_was(
        self, start: Start, store: Store, value: Any
    ) -> None:
        actions = leaving(value)
        runner = start("11-values-that-are-not-json", "order", actions=actions, on_action_error="raise")
        order = runner.create("order")
        before = store.load(order.id).to_json()

        with pytest.raises(ContextError, match=r"^items\[1\]\.price"):
            runner.process(order.id, Event("Put", id="put-1"))
        assert store.load(order.id).to_json() == before
        assert not store.is_processed(order.id, "put-1")

    @pytest.mark.parametrize("value", NOT_JSON, ids=lambda value: f"{type(value).__name__}")
    def test_or_the_execution_fails_with_the_context_as_before(self, start: Start, store: Store, value: Any) -> None:
        runner = start("11-values-that-are-not-json", "order", actions=leaving(value))
        order = runner.create("order")
        runner.process(order.id, Event("Put", id="put-1"))
        order = store.load(order.id)

        assert (order.status, order.active_path, order.context) == (Status.FAILED, "A", {})
        assert str(order.error).startswith("ContextError: items[1].price")
        assert store.is_processed(order.id, "put-1")

    @pytest.mark.parametrize("value", JSON, ids=repr)
    def test_what_is_json_comes_back_as_it_was(self, start: Start, store: Store, value: Any) -> None:
        runner = start("11-values-that-are-not-json", "order", actions=leaving(value))
        order = runner.create("order")
        runner.process(order.id, Event("Put"))
        back = store.load(order.id).context["items"][1]["price"]

        assert back == value
        assert type(back) is type(value)


class TestEvents:
    """A known event at the wrong moment is normal; a wrong event is the sender's mistake."""

    @pytest.fixture
    def actions(self) -> dict[str, Any]:
        def look(stm: Stm, event: Event) -> None:
            stm.execution_ctx["looked"] += 1

        return {"look": look}

    def test_one_that_comes_too_early_is_ignored_but_a_sign_of_life(
        self, start: Start, store: Store, clock: FakeClock, actions: dict[str, Any]
    ) -> None:
        runner = start("32-event-nobody-handles", "order", actions=actions, trace=True)
        order = runner.create("order")  # its ttl is 100
        clock.now = 90
        order = runner.process(order.id, Event("Ship"))
        clock.now = 150

        assert (order.active_path, order.context["looked"]) == ("Waiting", 1)
        assert [row["event"] for row in store.read_trace(order.id)] == ["Start", "Ship"]
        assert runner.fire_due_timers() == 0
        clock.now = 190
        assert runner.fire_due_timers() == 1

    @pytest.mark.parametrize(
        "wrong",
        [
            Event("Payed", {"amount": 1}),
            Event("Paid"),
            Event("Paid", {"amount": "1"}),
            Event("Paid", {"amount": True}),
            Event("Paid", {"amount": None}),
            Event("Paid", {"amount": 1, "note": 5}),
            Event("Paid", {"amount": 1, "extra": {1}}),
            Event("Paid", {"amount": 1, "extra": LOOP}),
            Event("Timeout"),
            Event("Returned", {"outcome": "success"}),
        ],
        ids=lambda event: f"{event.kind}-{str(event.data)[:30]}",
    )
    def test_a_wrong_one_is_refused_before_anything_runs(
        self, start: Start, store: Store, actions: dict[str, Any], wrong: Event
    ) -> None:
        runner = start("32-event-nobody-handles", "order", actions=actions)
        order = runner.create("order")
        before = store.load(order.id).to_json()

        with pytest.raises(EventError, match=wrong.kind):
            runner.process(order.id, wrong)
        assert store.load(order.id).to_json() == before

    def test_extra_fields_and_nulls_for_optional_ones_are_no_fault(
        self, start: Start, store: Store, actions: dict[str, Any]
    ) -> None:
        runner = start("32-event-nobody-handles", "order", actions=actions)
        order = runner.create("order")

        assert (
            runner.process(order.id, Event("Paid", {"amount": 1, "note": None, "color": "red"})).active_path == "Paid"
        )

    def test_one_for_an_execution_that_has_ended_is_ignored(
        self, start: Start, store: Store, actions: dict[str, Any]
    ) -> None:
        runner = start("32-event-nobody-handles", "order", actions=actions)
        order = runner.create("order")
        runner.process(order.id, Event("Paid", {"amount": 1}))
        shipped = runner.process(order.id, Event("Ship"))
        again = runner.process(order.id, Event("Ship"))

        assert (shipped.status, shipped.outcome) == (Status.DONE, "success")
        assert again.to_json() == shipped.to_json()


IDS = ["a_b", "axb", "A_b", "a_", "a%", "ab%", "a*", "{a}", "é_1", "e_1", "0", "007", "7", "None", "a-b:c", "x" * 200]
PREFIXES = ["a_", "a", "A", "%", "_", "a%", "{", "é", "00", "", "x" * 200]


class TestOddIds:
    """Ids that look like patterns are plain characters."""

    def test_a_prefix_finds_what_begins_with_it(self, start: Start, store: Store) -> None:
        runner = start("37-ids-and-prefixes", "order")

        assert [runner.create("order", execution_id=id).id for id in IDS] == IDS
        for prefix in PREFIXES:
            expected = sorted((id for id in IDS if id.startswith(prefix)), key=str.encode)
            assert store.ids_with_prefix(prefix) == expected, prefix

    def test_a_purge_takes_one_and_no_other(self, start: Start, store: Store) -> None:
        runner = start("37-ids-and-prefixes", "order")
        for id in IDS:
            runner.create("order", execution_id=id)
        runner.process("a_", Event("Go"))
        runner.purge("a_")

        assert set(store.ids_with_prefix("")) == set(IDS) - {"a_"}

    @pytest.mark.parametrize("bad", ["", " ", "a b", "a/b", "a\nb", "a\x00", "x" * 201], ids=ascii)
    def test_ids_with_white_space_slashes_or_too_many_characters_are_refused(
        self, start: Start, store: Store, bad: str
    ) -> None:
        with pytest.raises(ValueError, match="execution id"):
            start("37-ids-and-prefixes", "order").create("order", execution_id=bad)
        assert store.ids_with_prefix("") == []
