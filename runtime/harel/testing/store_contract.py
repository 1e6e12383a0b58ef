"""`StoreContract`: what every store promises, as tests that a backend's test class inherits (runtime.md section 5).

```
class TestSqliteStore(StoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda prefix="harel": SqliteStore(tmp_path / "orders.db", prefix=prefix)
```

It uses the methods of the protocol only, from threads and from several clients: it fits servers and files alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier
from typing import Any, Protocol, TypeVar

import pytest

from harel.errors import (
    ContextError,
    ExecutionAlreadyExists,
    ExecutionNotFound,
    StoreConflict,
)
from harel.execution import Armed, Child, Deferred, Execution, Status
from harel.stores.protocol import (
    DEDUPE_LIMIT,
    DEDUPE_WINDOW,
    Effects,
    Message,
    Processed,
    Spawn,
    SpawnBatch,
    Store,
    Timer,
    TraceRow,
)

T = TypeVar("T")

FOREVER = 1e12
"""A time after every timer of these tests, in epoch seconds."""

NOT_JSON = [{1, 2}, b"bytes", object(), float("nan"), float("inf"), "\ud800"]

ODD_IDS = [
    "a_b",
    "axb",
    "A_b",
    "a_",
    "a%",
    "ab%",
    "a*",
    "a?",
    "a[b]",
    "{a}",
    "é_1",
    "e_1",
    "😀",
    "\uffff",
    "0",
    "007",
    "7",
]
ODD_IDS += ["None", "a-b:c", "a'b", 'a"b', "a\\b", "$a", "x" * 200, "é" * 200]

PREFIXES = [
    "a_",
    "a",
    "A",
    "%",
    "_",
    "*",
    "a%",
    "{",
    "é",
    "00",
    "",
    "x" * 200,
    "\uffff",
    "\ud7ff",
    "\U0010ffff",
    "😀",
    "a\\",
]


class OpenStore(Protocol):
    """Opens another client of the test's database; the data of two prefixes are apart."""

    def __call__(self, prefix: str = "harel") -> Store: ...


def an_order(id: str = "order-1", version: int = 1, **changes: Any) -> Execution:
    """A record at a version, as a step would write it."""
    execution = Execution(id, "order", 1, "d" * 64, Status.RUNNING, "AwaitingPayment", version=version)
    return replace(execution, **changes)


def a_message(number: int, source: str = "order-1", target: str = "order-1", **data: Any) -> Message:
    return Message(f"{source}:1:{number}", source, target, "Paid", data, f"send:{source}:{number}")


def a_batch(number: int, parent: str = "order-1", **context: Any) -> SpawnBatch:
    spawns = tuple(
        Spawn(f"{parent}/Checks.{name}/1", f"Checks.{name}", "order", 1, f"Checks.{name}", context) for name in "AB"
    )
    return SpawnBatch(f"{parent}:1:{number}", parent, 1, spawns)


def a_trace_row(number: int, **context: Any) -> TraceRow:
    return TraceRow(
        event="Paid", event_id=f"e-{number}", path_from="AwaitingPayment", path_to="Paid", actions=["shop.pay"],
        assigned={"paid": number}, context=context, time=float(number),
    )  # fmt: skip


def consumed(number: int, at: float = 0.0) -> Effects:
    return Effects(processed=Processed(f"e-{number}", at, number))


class StoreContract:
    """Inherit it and define the fixture `open_store`.

    Attributes:
        big_value: how many characters a value has that the backend must take.
    """

    big_value = 1_000_000

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """The factory of clients; a backend's class defines it."""
        raise NotImplementedError("define the fixture `open_store`")

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Iterator[Store]:
        """A client of the test's database."""
        store = open_store()
        yield store
        store.close()

    def leftovers(self, store: Store) -> list[str]:
        """What the store holds; a backend's class looks at its tables or keys themselves."""
        return [
            *store.ids_with_prefix(""),
            *(timer.path for timer in store.due_timers(FOREVER)),
            *(message.id for message in store.pending_outbox()),
            *(batch.id for batch in store.pending_spawns()),
        ]

    # --- records

    def test_a_record_comes_back_as_it_was_written(self, store: Store) -> None:
        order = an_order(
            status=Status.SUSPENDED, outcome="rejected", error="ValueError: no",
            context={"total": 12.5, "tags": ["a", None]}, history={"Fulfilling": "Picking"},
            deferred=[Deferred("Paid", {"amount": 1}, "e-1", (3.0, 1))],
            children={"Checks.Fraud": Child("order-1/Checks.Fraud/1", "ended", {"outcome": "success"})},
            parent_id="root", root_id="root", key="Checks", region="Checks", priority=2, created_at=1.5, updated_at=2.5,
            finished_at=3.5, expires_at=4.5, timers={"Fulfilling.Picking": Armed(900.25, 7)}, armings=7, generation=3,
            seed_digest="abc", failed_event="e-1", resume_status=Status.RUNNING, processed_count=9,
        )  # fmt: skip
        store.create(order, Effects())

        assert store.load("order-1") == order
        assert store.load_step("order-1", "e-1").execution == order

    def test_a_commit_replaces_the_record(self, store: Store) -> None:
        store.create(an_order(), Effects())
        paid = an_order(version=2, active_path="Paid", status=Status.DONE)
        store.commit(paid, 1, Effects())

        assert store.load("order-1") == paid

    def test_an_unknown_id_is_named(self, store: Store) -> None:
        with pytest.raises(ExecutionNotFound, match="order-9"):
            store.load("order-9")
        with pytest.raises(ExecutionNotFound, match="order-9"):
            store.load_step("order-9", "e-1")
        with pytest.raises(ExecutionNotFound):
            store.load("an id that no database can hold: \ud800")

    def test_an_id_that_is_taken_is_refused_and_nothing_is_written(self, store: Store) -> None:
        store.create(an_order(), Effects())
        with pytest.raises(ExecutionAlreadyExists, match="order-1"):
            store.create(an_order(active_path="Other"), every_effect())

        assert store.load("order-1") == an_order()
        assert traces_of_effects(store) == NOTHING

    def test_an_old_version_loses_and_nothing_is_written(self, store: Store) -> None:
        store.create(an_order(), Effects())
        store.commit(an_order(version=2), 1, Effects())
        with pytest.raises(StoreConflict, match="order-1") as conflict:
            store.commit(an_order(version=2, active_path="Other"), 1, every_effect())

        assert conflict.value.expected_version == 1
        assert store.load("order-1") == an_order(version=2)
        assert traces_of_effects(store) == NOTHING

    def test_a_commit_to_a_record_that_is_gone_loses(self, store: Store) -> None:
        with pytest.raises(StoreConflict, match="order-1"):
            store.commit(an_order(version=2), 1, every_effect())

        assert store.ids_with_prefix("") == []
        assert traces_of_effects(store) == NOTHING

    def test_what_is_loaded_is_the_callers_own(self, store: Store) -> None:
        store.create(an_order(context={"tags": ["a"]}), Effects(emits=(a_message(1, tags=["a"]),)))
        for execution in (store.load("order-1"), store.load_step("order-1", "e").execution, *store.list_executions()):
            execution.context["tags"].append("mine")
        store.pending_outbox()[0].data["tags"].append("mine")

        assert store.load("order-1").context == {"tags": ["a"]}
        assert store.pending_outbox()[0].data == {"tags": ["a"]}

    def test_what_was_written_stays_the_callers_own(self, store: Store) -> None:
        tags = ["a"]
        effects = Effects(
            emits=(a_message(1, tags=tags),), spawns=(a_batch(1, tags=tags),), trace=a_trace_row(1, tags=tags)
        )
        store.create(an_order(context={"tags": tags}), effects)
        tags.append("later")

        assert store.load("order-1").context == {"tags": ["a"]}
        assert store.pending_outbox()[0].data == {"tags": ["a"]}
        assert store.pending_spawns()[0].spawns[0].context == {"tags": ["a"]}
        assert store.read_trace("order-1")[0]["context"] == {"tags": ["a"]}

    @pytest.mark.parametrize(
        "value",
        [
            "",
            "\0",
            "a\0b",
            "é😀\u2028\uffff",
            "\\\"'",
            10**999,
            -(2**63),
            2**64,
            0.1,
            1e308,
            5e-324,
            -0.0,
            True,
            None,
            [],
            {},
            [[{}]],
        ],
        ids=repr,
    )
    def test_a_value_is_kept_exactly(self, store: Store, value: Any) -> None:
        store.create(an_order(context={"value": value, "é😀": 1}), Effects(emits=(a_message(1, value=value),)))
        kept = store.load("order-1").context["value"]

        assert repr(kept) == repr(value)
        assert repr(store.pending_outbox()[0].data["value"]) == repr(value)

    def test_a_big_value_is_kept(self, store: Store) -> None:
        store.create(an_order(context={"text": "é" * (self.big_value // 2)}), Effects())
        store.commit(an_order(version=2, context={"text": "x" * self.big_value}), 1, Effects())

        assert store.load("order-1").context["text"] == "x" * self.big_value

    # --- all or nothing

    @pytest.mark.parametrize("value", NOT_JSON, ids=repr)
    def test_a_context_that_is_not_json_is_refused_and_nothing_is_written(self, store: Store, value: Any) -> None:
        with pytest.raises(ContextError, match=r"price"):
            store.create(an_order(context={"items": [{"price": value}]}), every_effect())
        assert self.leftovers(store) == []

        store.create(an_order(), Effects())
        with pytest.raises(ContextError, match=r"price"):
            store.commit(an_order(version=2, context={"items": [{"price": value}]}), 1, every_effect())
        assert store.load("order-1") == an_order()
        assert traces_of_effects(store) == NOTHING

    @pytest.mark.parametrize("value", NOT_JSON, ids=repr)
    @pytest.mark.parametrize("place", ["message", "batch", "trace"])
    def test_an_effect_that_is_not_json_leaves_nothing(self, store: Store, place: str, value: Any) -> None:
        spoilt = {
            "message": replace(every_effect(), emits=(a_message(1), a_message(2, price=value))),
            "batch": replace(every_effect(), spawns=(a_batch(1), a_batch(2, price=value))),
            "trace": replace(every_effect(), trace=a_trace_row(1, price=value)),
        }[place]
        store.create(an_order(), Effects())
        with pytest.raises(ContextError):
            store.commit(an_order(version=2), 1, spoilt)
        with pytest.raises(ContextError):
            store.create(an_order("order-2"), spoilt)

        assert store.load("order-1") == an_order()
        assert store.ids_with_prefix("") == ["order-1"]
        assert traces_of_effects(store) == NOTHING

    def test_everything_of_a_step_is_there_after_it(self, store: Store) -> None:
        store.create(an_order(), Effects())
        store.commit(an_order(version=2), 1, every_effect())

        assert traces_of_effects(store) == {
            "messages": ["order-1:1:1"], "batches": ["order-1:1:1"], "due": ["Paying"], "timers": ["Paying"],
            "processed": True, "trace": ["e-1"],
        }  # fmt: skip

    # --- races

    def test_of_many_writers_from_one_version_one_wins(self, open_store: OpenStore) -> None:
        writers = 4
        store = open_store()
        store.create(an_order(), Effects())

        def write(client: Store, writer: int) -> str:
            try:
                client.commit(an_order(version=2, active_path=f"W{writer}"), 1, Effects(emits=(a_message(writer),)))
            except StoreConflict:
                return "lost"
            return f"W{writer}"

        winners = [result for result in at_once(open_store, writers, write) if result != "lost"]

        assert len(winners) == 1
        assert store.load("order-1").active_path == winners[0]
        assert [message.id for message in store.pending_outbox()] == [f"order-1:1:{winners[0][1:]}"]
        store.close()

    def test_threads_that_retry_lose_no_update(self, store: Store) -> None:
        threads, rounds = 4, 5
        store.create(an_order(context={"count": 0}), Effects())

        def count(client: Store, _: int) -> None:
            done = 0
            while done < rounds:
                order = client.load_step("order-1", "e").execution
                order.context["count"] += 1
                order.version += 1
                with suppress(StoreConflict):
                    client.commit(order, order.version - 1, Effects())
                    done += 1

        at_once(lambda: store, threads, count)

        assert store.load("order-1").context == {"count": threads * rounds}
        assert store.load("order-1").version == 1 + threads * rounds

    def test_of_many_creators_of_one_id_one_wins(self, open_store: OpenStore) -> None:
        def create(client: Store, _: int) -> bool:
            try:
                client.create(an_order(), Effects())
            except ExecutionAlreadyExists:
                return False
            return True

        assert sorted(at_once(open_store, 4, create)) == [False, False, False, True]

    # --- outbox and spawns

    def test_messages_wait_in_the_order_they_were_committed(self, store: Store) -> None:
        store.create(an_order("b"), Effects(emits=(a_message(9, "b"), a_message(1, "b"))))
        store.create(an_order("a"), Effects(emits=(a_message(5, "a", "b", amount=1.5),)))
        pending = store.pending_outbox()

        assert [message.id for message in pending] == ["b:1:9", "b:1:1", "a:1:5"]
        assert pending[2] == Message("a:1:5", "a", "b", "Paid", {"amount": 1.5}, "send:a:5")

    def test_messages_come_in_pages(self, store: Store) -> None:
        store.create(an_order(), Effects(emits=tuple(a_message(number) for number in range(12))))
        seen: list[str] = []
        while page := store.pending_outbox(5, seen[-1] if seen else None):
            seen += [message.id for message in page]

        assert seen == [f"order-1:1:{number}" for number in range(12)]

    def test_after_a_message_that_is_gone_the_list_begins_again(self, store: Store) -> None:
        store.create(an_order(), Effects(emits=(a_message(1), a_message(2), a_message(3))))
        store.ack_outbox("order-1:1:2")

        assert [message.id for message in store.pending_outbox(after="order-1:1:2")] == ["order-1:1:1", "order-1:1:3"]

    def test_an_acknowledged_message_is_gone(self, store: Store) -> None:
        store.create(an_order(), Effects(emits=(a_message(1), a_message(2))))
        store.ack_outbox("order-1:1:1")
        store.ack_outbox("order-1:1:1")
        store.ack_outbox("never-there")

        assert [message.id for message in store.pending_outbox()] == ["order-1:1:2"]

    def test_a_step_acknowledges_what_it_consumed(self, store: Store) -> None:
        store.create(an_order(), Effects(emits=(a_message(1), a_message(2)), spawns=(a_batch(1), a_batch(2))))
        acks = Effects(acks=("order-1:1:2", "gone"), spawn_acks=("order-1:1:1", "gone"), emits=(a_message(3),))
        store.commit(an_order(version=2), 1, acks)

        assert [message.id for message in store.pending_outbox()] == ["order-1:1:1", "order-1:1:3"]
        assert [batch.id for batch in store.pending_spawns()] == ["order-1:1:2"]

    def test_a_child_is_created_with_the_end_of_its_batch(self, store: Store) -> None:
        store.create(an_order(), Effects(spawns=(a_batch(1),)))
        child = an_order("order-1/Checks.A/1", parent_id="order-1")
        store.create(child, Effects(spawn_acks=("order-1:1:1",)))

        assert store.pending_spawns() == []

    def test_batches_wait_in_order_and_come_in_pages(self, store: Store) -> None:
        batches = tuple(a_batch(number, amount=number, items=[None]) for number in (3, 1, 2))
        store.create(an_order(), Effects(spawns=batches))

        assert store.pending_spawns() == list(batches)
        assert store.pending_spawns(2) == list(batches[:2])
        assert store.pending_spawns(2, after=batches[1].id) == [batches[2]]

    def test_an_acknowledged_batch_is_gone(self, store: Store) -> None:
        store.create(an_order(), Effects(spawns=(a_batch(1), a_batch(2))))
        store.ack_spawn("order-1:1:1")
        store.ack_spawn("order-1:1:1")

        assert [batch.id for batch in store.pending_spawns()] == ["order-1:1:2"]

    def test_a_step_learns_that_something_waits(self, store: Store) -> None:
        store.create(an_order(), Effects())
        store.create(an_order("order-2"), Effects(emits=(a_message(1, "order-2"),)))
        assert store.load_step("order-1", "e").backlog
        store.ack_outbox("order-2:1:1")
        assert not store.load_step("order-1", "e").backlog
        store.commit(an_order("order-2", 2), 1, Effects(spawns=(a_batch(1, "order-2"),)))
        assert store.load_step("order-1", "e").backlog
        store.ack_spawn("order-2:1:1")
        assert not store.load_step("order-1", "e").backlog

    # --- timers

    def test_timers_are_due_in_order_inner_states_first_the_ttl_last(self, store: Store) -> None:
        arms = [
            ("b", "A", 5.0),
            ("b", "", 5.0),
            ("b", "A.B.C", 5.0),
            ("a", "A.B", 5.0),
            ("b", "A.B", 5.0),
            ("a", "Z", 4.5),
        ]
        for id in "ab":
            timers = tuple(Timer(id, path, due, 1) for owner, path, due in arms if owner == id)
            store.create(an_order(id), Effects(arms=timers))
        due = [(timer.execution_id, timer.path) for timer in store.due_timers(5.0)]

        assert due == [("a", "Z"), ("b", "A.B.C"), ("a", "A.B"), ("b", "A.B"), ("b", "A"), ("b", "")]
        assert store.due_timers(4.999) == [Timer("a", "Z", 4.5, 1)]
        assert store.due_timers(4.0) == []

    def test_due_timers_come_in_pages(self, store: Store) -> None:
        arms = tuple(
            Timer("order-1", path, float(number // 3), number) for number, path in enumerate(["A", "A.B", "", *"CDEFG"])
        )
        store.create(an_order(), Effects(arms=arms))
        seen: list[Timer] = []
        while page := store.due_timers(FOREVER, 3, seen[-1].position if seen else None):
            assert len(page) <= 3
            seen += page

        assert seen == sorted(arms, key=lambda timer: timer.position)

    def test_timers_of_an_execution_are_those_of_its_states(self, store: Store) -> None:
        arms = (Timer("order-1", "A", 9.5, 1), Timer("order-1", "A.B", 2.25, 2), Timer("order-1", "", 1.0, 0))
        store.create(an_order(), Effects(arms=arms))
        store.create(an_order("order-2"), Effects(arms=(Timer("order-2", "A", 1.0, 1),)))

        assert store.timers("order-1") == [arms[1], arms[0]]
        assert store.timers("order-9") == []

    def test_arming_again_replaces(self, store: Store) -> None:
        store.create(an_order(), Effects(arms=(Timer("order-1", "A", 5.0, 1),)))
        store.commit(an_order(version=2), 1, Effects(arms=(Timer("order-1", "A", 7.0, 2),)))

        assert store.due_timers(FOREVER) == store.timers("order-1") == [Timer("order-1", "A", 7.0, 2)]

    def test_a_cancelled_timer_is_gone_and_one_that_never_was_is_fine(self, store: Store) -> None:
        arms = (Timer("order-1", "A", 5.0, 1), Timer("order-1", "B", 5.0, 2), Timer("order-1", "", 5.0, 0))
        store.create(an_order(), Effects(arms=arms))
        store.commit(an_order(version=2), 1, Effects(cancels=("A", "", "Never")))

        assert store.due_timers(FOREVER) == store.timers("order-1") == [arms[1]]

    def test_a_state_that_is_left_and_entered_again_keeps_its_new_timer(self, store: Store) -> None:
        store.create(an_order(), Effects(arms=(Timer("order-1", "A", 5.0, 1),)))
        store.commit(an_order(version=2), 1, Effects(cancels=("A",), arms=(Timer("order-1", "A", 9.0, 2),)))

        assert store.due_timers(FOREVER) == [Timer("order-1", "A", 9.0, 2)]

    def test_held_timers_stay_armed_and_are_not_due(self, store: Store) -> None:
        arms = (Timer("order-1", "A", 5.0, 1), Timer("order-1", "", 5.0, 0))
        store.create(an_order(), Effects(arms=arms))
        store.create(an_order("order-2"), Effects(arms=(Timer("order-2", "A", 5.0, 1),)))
        store.commit(an_order(version=2), 1, Effects(arms=(Timer("order-1", "B", 5.0, 2),), hold=True))
        held = store.timers("order-1")
        while_held = store.due_timers(FOREVER)
        store.commit(an_order(version=3), 2, Effects(cancels=("A",)))
        store.commit(an_order(version=4), 3, Effects(hold=False))

        assert held == [arms[0], Timer("order-1", "B", 5.0, 2)]
        assert while_held == [Timer("order-2", "A", 5.0, 1)]
        assert [timer.execution_id for timer in store.due_timers(FOREVER)] == ["order-1", "order-2", "order-1"]

    @pytest.mark.parametrize("due", [0.0, -5.0, 0.1, 1_700_000_000.123456, 4e9])
    def test_a_due_time_is_kept_exactly(self, store: Store, due: float) -> None:
        store.create(an_order(), Effects(arms=(Timer("order-1", "A", due, 1),)))

        assert store.due_timers(due)[0].due == due

    # --- processed ids

    def test_a_processed_id_is_remembered_for_its_execution(self, store: Store) -> None:
        store.create(an_order(), consumed(1))
        store.create(an_order("order-2"), Effects())
        store.commit(an_order(version=2), 1, consumed(2))

        assert store.is_processed("order-1", "e-1")
        assert store.load_step("order-1", "e-2").processed
        assert not store.load_step("order-1", "e-3").processed
        assert not store.is_processed("order-2", "e-1")
        assert not store.is_processed("order-9", "e-1")

    def test_ids_older_than_the_window_are_forgotten_with_the_next(self, store: Store) -> None:
        store.create(an_order(), consumed(1, at=0.0))
        store.commit(an_order(version=2), 1, consumed(2, at=10.0))
        store.commit(an_order(version=3), 2, consumed(3, at=DEDUPE_WINDOW))
        at_the_edge = store.is_processed("order-1", "e-1")
        store.commit(an_order(version=4), 3, consumed(4, at=DEDUPE_WINDOW + 5.0))

        assert at_the_edge
        assert [store.is_processed("order-1", f"e-{number}") for number in (1, 2, 3, 4)] == [False, True, True, True]

    def test_all_ids_that_are_too_old_are_forgotten_at_once(self, store: Store) -> None:
        store.create(an_order(), consumed(1))
        for number in (2, 3, 4):
            store.commit(an_order(version=number), number - 1, consumed(number, at=float(number)))
        store.commit(an_order(version=5), 4, consumed(5, at=DEDUPE_WINDOW + 4.0))

        assert [store.is_processed("order-1", f"e-{number}") for number in range(1, 6)] == [False] * 3 + [True] * 2

    def test_more_ids_than_the_limit_are_forgotten(self, store: Store) -> None:
        store.create(an_order(), consumed(1))
        store.commit(an_order(version=2), 1, consumed(2))
        store.commit(an_order(version=3), 2, consumed(DEDUPE_LIMIT))
        at_the_limit = store.is_processed("order-1", "e-1")
        store.commit(an_order(version=4), 3, consumed(DEDUPE_LIMIT + 1))

        assert at_the_limit
        assert not store.is_processed("order-1", "e-1")
        assert store.is_processed("order-1", "e-2")

    def test_trimming_looks_at_one_execution_only(self, store: Store) -> None:
        store.create(an_order(), consumed(1))
        store.create(an_order("order-2"), consumed(1))
        store.commit(an_order("order-2", 2), 1, consumed(DEDUPE_LIMIT * 2, at=DEDUPE_WINDOW * 2))

        assert store.is_processed("order-1", "e-1")
        assert not store.is_processed("order-2", "e-1")

    def test_an_id_can_be_taken_out_again(self, store: Store) -> None:
        store.create(an_order(), consumed(1))
        store.commit(an_order(version=2), 1, consumed(2))
        store.commit(an_order(version=3), 2, Effects(forget="e-1"))
        store.commit(an_order(version=4), 3, Effects(forget="never-there"))

        assert not store.is_processed("order-1", "e-1")
        assert store.is_processed("order-1", "e-2")

    # --- trace

    def test_the_trace_is_kept_in_order_up_to_its_limit(self, store: Store) -> None:
        store.create(an_order(), Effects(trace=a_trace_row(1, total=1.5), trace_limit=3))
        for number in range(2, 6):
            store.commit(an_order(version=number), number - 1, Effects(trace=a_trace_row(number), trace_limit=3))
        store.commit(an_order(version=6), 5, Effects())
        store.commit(an_order(version=7), 6, Effects(trace=a_trace_row(7), trace_limit=3))

        assert store.read_trace("order-1") == [a_trace_row(4), a_trace_row(5), a_trace_row(7)]
        assert store.read_trace("order-9") == []

    def test_a_first_trace_row_has_all_its_parts(self, store: Store) -> None:
        store.create(an_order(), Effects(trace=a_trace_row(1, total=1.5, tags=["é"])))

        assert store.read_trace("order-1") == [a_trace_row(1, total=1.5, tags=["é"])]

    # --- lists

    def test_lists_are_by_id_and_come_in_pages(self, store: Store) -> None:
        for id in ("b", "a", "C", "é", "z", "10", "9"):
            store.create(an_order(id), Effects())
        pages, cursor = [], None
        while True:
            page = store.list_executions(limit=3, cursor=cursor)
            pages.append([execution.id for execution in page])
            cursor = page.cursor
            if cursor is None:
                break

        assert pages == [["10", "9", "C"], ["a", "b", "z"], ["é"]]
        assert store.list_executions(limit=7).cursor is None

    def test_lists_are_filtered(self, store: Store) -> None:
        store.create(an_order("a"), Effects())
        store.create(an_order("a/Checks/1", parent_id="a"), Effects())
        store.create(an_order("b", status=Status.DONE), Effects())
        store.create(an_order("c", definition_id="payment"), Effects())
        store.create(an_order("d", definition_id="payment", status=Status.DONE), Effects())

        def ids(*filters: Any, **more: Any) -> list[str]:
            return [execution.id for execution in store.list_executions(*filters, **more)]

        assert ids() == ["a", "b", "c", "d"]
        assert ids(roots_only=False) == ["a", "a/Checks/1", "b", "c", "d"]
        assert ids(Status.RUNNING) == ["a", "c"]
        assert ids(Status.RUNNING, roots_only=False) == ["a", "a/Checks/1", "c"]
        assert ids(definition_id="payment") == ["c", "d"]
        assert ids(Status.DONE, "payment") == ["d"]
        assert ids(Status.FAILED) == []

    def test_a_list_follows_the_status(self, store: Store) -> None:
        store.create(an_order(), Effects())
        store.commit(an_order(version=2, status=Status.FAILED), 1, Effects())

        assert [execution.id for execution in store.list_executions(Status.FAILED)] == ["order-1"]
        assert store.list_executions(Status.RUNNING).items == ()

    def test_a_filtered_list_comes_in_full_pages(self, store: Store) -> None:
        for number in range(10):
            status = Status.DONE if number % 2 else Status.RUNNING
            store.create(an_order(f"order-{number}", status=status), Effects())
        first = store.list_executions(Status.DONE, limit=3)
        second = store.list_executions(Status.DONE, limit=3, cursor=first.cursor)

        assert [execution.id for execution in first] == ["order-1", "order-3", "order-5"]
        assert [execution.id for execution in second] == ["order-7", "order-9"]
        assert second.cursor is None

    # --- ids

    def test_ids_are_found_by_prefix_byte_by_byte(self, store: Store) -> None:
        for id in ODD_IDS:
            store.create(an_order(id, parent_id=None if id < "a" else "root"), Effects())

        for prefix in PREFIXES:
            assert store.ids_with_prefix(prefix) == sorted(id for id in ODD_IDS if id.startswith(prefix)), prefix
        assert [execution.id for execution in store.list_executions(roots_only=False)] == sorted(ODD_IDS)

    @pytest.mark.parametrize("id", ODD_IDS, ids=ascii)
    def test_an_odd_id_works_everywhere(self, store: Store, id: str) -> None:
        store.create(an_order(id), every_effect(id))
        store.commit(an_order(id, 2), 1, Effects(cancels=("Paying",), forget="e-1"))
        store.create(an_order("other"), Effects())

        assert store.load(id).version == 2
        assert store.timers(id) == []
        assert not store.is_processed(id, "e-1")
        assert len(store.read_trace(id)) == 1
        store.purge([id])
        assert store.ids_with_prefix("") == ["other"]

    # --- prefixes

    def test_two_prefixes_live_side_by_side(self, open_store: OpenStore) -> None:
        ours, theirs = open_store("shop_a"), open_store("shop_a_b")
        ours.create(an_order(), every_effect())
        ours.publish_definition("order", 1, "d1", "{}")
        assert self.leftovers(theirs) == []
        assert theirs.list_definitions() == []
        theirs.create(an_order(active_path="Theirs"), Effects())
        assert not theirs.load_step("order-1", "e-1").processed
        theirs.purge(["order-1"])

        assert ours.load("order-1") == an_order()
        assert len(ours.due_timers(FOREVER)) == 1
        for store in (ours, theirs):
            store.close()

    @pytest.mark.parametrize("prefix", ["", "A", "1a", "a-b", "a b", "a;", "é", "a" * 31, 'a"', "a\n"], ids=ascii)
    def test_a_prefix_that_cannot_name_tables_is_refused(self, open_store: OpenStore, prefix: str) -> None:
        with pytest.raises(ValueError, match="prefix"):
            open_store(prefix)

    # --- purge

    def test_a_purge_leaves_nothing_behind(self, store: Store) -> None:
        tree = ["order-1", "order-1/Checks/1"]
        for id in tree:
            store.create(an_order(id), every_effect(id))
        store.commit(an_order(version=2), 1, Effects(hold=True))
        store.purge([*tree, "never-there"])

        assert self.leftovers(store) == []
        assert traces_of_effects(store) == NOTHING

    def test_a_purge_leaves_the_others_alone(self, store: Store) -> None:
        for id in ("order-1", "order-10", "order"):
            store.create(an_order(id), every_effect(id))
        store.create(
            an_order("order-2"), Effects(emits=(a_message(1, "order-2", "order-1"), a_message(2, "order-2", "order")))
        )
        store.purge(["order-1"])
        store.purge([])

        assert store.ids_with_prefix("") == ["order", "order-10", "order-2"]
        assert [message.id for message in store.pending_outbox()] == ["order-10:1:1", "order:1:1", "order-2:1:2"]
        assert [timer.execution_id for timer in store.due_timers(FOREVER)] == ["order", "order-10"]
        assert store.is_processed("order", "e-1")
        assert len(store.read_trace("order-10")) == 1

    def test_a_purged_id_can_be_used_again(self, store: Store) -> None:
        store.create(an_order(), every_effect())
        store.purge(["order-1"])
        store.create(an_order(), Effects())

        assert traces_of_effects(store) == NOTHING
        assert store.load_step("order-1", "e-1").backlog is False

    # --- definitions

    def test_a_definition_is_kept_once(self, store: Store) -> None:
        store.publish_definition("order", 2, "d2", '{"é":2}')
        store.publish_definition("order", 1, "d1", '{"a":1}')
        store.publish_definition("order", 1, "d1", '{"a": 1}')
        store.publish_definition("Invoice", 10, "d3", "{}")

        assert store.load_definition("order", 1) == '{"a":1}'
        assert store.load_definition("order", 2) == '{"é":2}'
        assert store.load_definition("order", 3) is None
        assert store.list_definitions() == [("Invoice", 10, "d3"), ("order", 1, "d1"), ("order", 2, "d2")]

    def test_a_published_version_never_changes(self, store: Store) -> None:
        store.publish_definition("order", 1, "d1", "{}")
        with pytest.raises(StoreConflict, match=r"version 1 of machine 'order'.*d1.*d2.*version 2"):
            store.publish_definition("order", 1, "d2", "[]")

        assert store.load_definition("order", 1) == "{}"

    def test_of_many_publishers_one_wins(self, open_store: OpenStore) -> None:
        def publish(client: Store, number: int) -> bool:
            try:
                client.publish_definition("order", 1, f"d{number}", f"{number}")
            except StoreConflict:
                return False
            return True

        assert sorted(at_once(open_store, 4, publish)) == [False, False, False, True]

    # --- clients

    def test_a_store_works_again_after_close(self, store: Store) -> None:
        store.create(an_order(), every_effect())
        store.close()
        store.close()

        assert store.load("order-1") == an_order()
        assert len(store.due_timers(FOREVER)) == 1

    def test_another_client_sees_everything(self, store: Store, open_store: OpenStore) -> None:
        store.create(an_order(), every_effect())
        store.publish_definition("order", 1, "d1", "{}")
        other = open_store()
        seen = traces_of_effects(other), other.load("order-1"), other.list_definitions()
        other.close()

        assert seen == (traces_of_effects(store), an_order(), [("order", 1, "d1")])


def every_effect(id: str = "order-1") -> Effects:
    """Effects with one of each kind."""
    return Effects(
        emits=(a_message(1, id, id),), spawns=(a_batch(1, id),), arms=(Timer(id, "Paying", 5.0, 1),),
        processed=Processed("e-1", 0.0, 1), trace=a_trace_row(1),
    )  # fmt: skip


def traces_of_effects(store: Store, id: str = "order-1") -> dict[str, Any]:
    """What is to be seen of `every_effect` in a store."""
    return {
        "messages": [message.id for message in store.pending_outbox()],
        "batches": [batch.id for batch in store.pending_spawns()],
        "due": [timer.path for timer in store.due_timers(FOREVER)],
        "timers": [timer.path for timer in store.timers(id)],
        "processed": store.is_processed(id, "e-1"),
        "trace": [row["event_id"] for row in store.read_trace(id)],
    }


NOTHING = {"messages": [], "batches": [], "due": [], "timers": [], "processed": False, "trace": []}


def at_once(open_client: Callable[[], Store], count: int, work: Callable[[Store, int], T]) -> list[T]:
    """The results of `work(client, number)`, each in its own thread and, where it can be had, with its own client."""
    clients = [open_client() for _ in range(count)]
    barrier = Barrier(count)

    def begin(number: int) -> T:
        barrier.wait(30)
        return work(clients[number], number)

    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(begin, range(count)))
    for client in clients:
        client.close()
    return results
