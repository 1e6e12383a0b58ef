"""What a caller of `DurableRunner` can rely on (runtime.md sections 3 and 4; edges.md, Races and interruptions)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from harel import (
    ContextError,
    DefinitionNotLoaded,
    DictStore,
    DslError,
    DurableRunner,
    Event,
    EventError,
    Execution,
    ExecutionAlreadyExists,
    ExecutionNotFound,
    ExecutionSuspended,
    PurgeRefused,
    ResolveError,
    Status,
    StoreConflict,
    StoreUnavailable,
    definition_from_dsl,
)
from harel.queue import ExecutionQueue
from harel.stores.protocol import Effects, Loaded, all_executions

ORDER = """
event Pay { amount: int }
event Ship {}
event Nudge {}

machine order {
  context { paid: int = 0 }
  initial Cart
  state Cart {}
  state Paid { on enter charge }
  final Shipped success {}
  final Withdrawn cancelled {}

  from Cart to Paid on Pay set context.paid = event.amount
  from Paid to Shipped on Ship
  from Paid to Withdrawn on Cancel
}
"""


class Till:
    """Handlers that remember how they were called, and do what a test asks for."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.then: Any = lambda stm: None

    def charge(self, stm: Any, event: Event) -> None:
        self.keys.append(stm.idempotency_key)
        self.then(stm)


@pytest.fixture
def till() -> Till:
    return Till()


@pytest.fixture
def store() -> DictStore:
    return DictStore()


def start(store: Any, till: Till, source: str = ORDER, **options: Any) -> DurableRunner:
    handlers = {"charge": till.charge}
    definition = definition_from_dsl(source, "order", actions=handlers)
    return DurableRunner(store, [definition], clock=lambda: 0.0, **options)


# --- starting


def test_an_id_that_is_taken_runs_no_action(store: DictStore, till: Till) -> None:
    source = ORDER.replace("state Cart {}", "state Cart { on enter charge }")
    runner = start(store, till, source)
    runner.create("order", execution_id="o-1")

    with pytest.raises(ExecutionAlreadyExists, match="o-1"):
        runner.create("order", execution_id="o-1")

    assert len(till.keys) == 1


def test_exist_ok_returns_what_was_started_with_the_same_context(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    first = runner.create("order", {"paid": 1}, execution_id="o-1")

    assert runner.create("order", {"paid": 1}, execution_id="o-1", exist_ok=True) == first
    with pytest.raises(ExecutionAlreadyExists):
        runner.create("order", {"paid": 2}, execution_id="o-1", exist_ok=True)


def test_a_machine_that_is_not_loaded_is_named_with_what_is(store: DictStore, till: Till) -> None:
    with pytest.raises(DefinitionNotLoaded, match="machine claim is not loaded here; loaded: order version 1"):
        start(store, till).create("claim")
    with pytest.raises(DefinitionNotLoaded, match="order version 7"):
        start(store, till).create("order", version=7)


def test_a_context_that_breaks_the_schema_starts_nothing(store: DictStore, till: Till) -> None:
    with pytest.raises(ContextError, match="paid"):
        start(store, till).create("order", {"paid": "much"})

    assert store.ids_with_prefix("") == []


def test_the_highest_version_is_started_and_an_older_one_by_name(store: DictStore, till: Till) -> None:
    handlers = {"charge": till.charge}
    versions = [
        definition_from_dsl(ORDER.replace("machine order", f"machine order version {number}"), actions=handlers)
        for number in (1, 3, 2)
    ]
    runner = DurableRunner(store, versions, clock=lambda: 0.0)

    assert runner.create("order").definition_version == 3
    assert runner.create("order", version=2).definition_version == 2


def test_one_version_with_two_contents_is_refused(store: DictStore, till: Till) -> None:
    handlers = {"charge": till.charge}
    one = definition_from_dsl(ORDER, actions=handlers)
    other = definition_from_dsl(ORDER.replace("Shipped success", "Shipped done"), actions=handlers)

    with pytest.raises(DslError, match="order version 1 is loaded twice"):
        DurableRunner(store, [one, other])


# --- handlers


def test_an_unbound_handler_is_refused_with_all_names() -> None:
    source = ORDER.replace("state Cart {}", "state Cart { on enter reserve }")

    with pytest.raises(DslError, match=r"(?s)charge.*reserve|reserve.*charge"):
        definition_from_dsl(source)


def test_an_async_handler_is_refused_by_the_sync_runner(store: DictStore) -> None:
    async def charge(stm: Any, event: Event) -> None: ...

    definition = definition_from_dsl(ORDER, actions={"charge": charge})
    with pytest.raises(ResolveError, match="charge of machine order is async"):
        DurableRunner(store, [definition])


def test_a_handler_that_returns_an_awaitable_is_an_error_not_ignored(store: DictStore, till: Till) -> None:
    async def later() -> None: ...

    definition = definition_from_dsl(ORDER, actions={"charge": lambda stm, event: later()})
    runner = DurableRunner(store, [definition], clock=lambda: 0.0)
    failed = runner.process(runner.create("order").id, Event("Pay", {"amount": 1}))

    assert failed.status is Status.FAILED
    assert "returned a coroutine" in (failed.error or "")


# --- events


def test_what_an_event_breaks_is_refused_before_anything_runs(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    order = runner.create("order")
    wrong = [
        (Event("Payed", {"amount": 1}), "Pay"),
        (Event("Pay"), "amount"),
        (Event("Pay", {"amount": True}), "amount"),
        (Event("Pay", {"amount": 1, "tags": {1, 2}}), "tags: set is not a JSON value"),
        (Event("Cancel"), "cancel"),
        (Event("Pay", {"amount": 1}, id="start"), "start"),
        (Event("Pay", {"amount": 1}, id="timeout:Cart:1"), "timeout:"),
    ]
    for event, word in wrong:
        with pytest.raises(EventError, match=word):
            runner.process(order.id, event)

    assert store.load(order.id) == order


def test_the_same_id_takes_effect_once(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    order = runner.create("order")
    once = runner.process(order.id, Event("Pay", {"amount": 5}, id="p-1"))
    again = runner.process(order.id, Event("Pay", {"amount": 7}, id="p-1"))

    assert again == once
    assert till.keys == [f"{order.id}:p-1:0:charge"]


def test_an_unknown_execution_is_named(store: DictStore, till: Till) -> None:
    with pytest.raises(ExecutionNotFound, match="o-9"):
        start(store, till).process("o-9", Event("Ship"))
    with pytest.raises(KeyError):
        start(store, till).cancel("o-9")


def test_a_suspended_execution_takes_nothing_and_the_event_can_be_sent_again(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    order = runner.create("order")
    runner.suspend(order.id)
    pay = Event("Pay", {"amount": 1}, id="p-1")

    with pytest.raises(ExecutionSuspended, match=order.id):
        runner.process(order.id, pay)
    runner.resume(order.id)

    assert runner.process(order.id, pay).active_path == "Paid"


def test_keys_of_an_id_with_colons_cannot_coincide(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    runner.create("order", execution_id="a:b%")
    runner.process("a:b%", Event("Pay", {"amount": 1}, id="e"))

    assert till.keys == ["a%3Ab%25:e:0:charge"]


# --- actions that fail


def test_raise_gives_the_exception_to_the_caller_and_commits_nothing(store: DictStore, till: Till) -> None:
    runner = start(store, till, on_action_error="raise")
    order = runner.create("order")
    failure = ValueError("declined")

    def decline(stm: Any) -> None:
        stm.execution_ctx["paid"] = 99
        raise failure

    till.then = decline
    with pytest.raises(ValueError, match="declined") as caught:
        runner.process(order.id, Event("Pay", {"amount": 1}, id="p-1"))
    till.then = lambda stm: None

    assert caught.value is failure
    assert store.load(order.id) == order
    assert runner.process(order.id, Event("Pay", {"amount": 1}, id="p-1")).active_path == "Paid"
    assert len(set(till.keys)) == 1


def test_a_context_that_is_not_json_is_a_dead_letter_that_the_senders_retry_mends(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    order = runner.create("order")
    till.then = lambda stm: stm.execution_ctx.update(items=[{"price": {1, 2}}])
    failed = runner.process(order.id, Event("Pay", {"amount": 1}, id="p-1"))

    assert failed.status is Status.FAILED
    assert "items[0].price" in (failed.error or "")
    assert (failed.active_path, failed.context) == (order.active_path, order.context)

    till.then = lambda stm: None
    runner.redrive(order.id, "Cart")
    paid = runner.process(order.id, Event("Pay", {"amount": 1}, id="p-1"))
    assert (paid.active_path, paid.context) == ("Paid", {"paid": 1})
    assert len(set(till.keys)) == 1


def test_a_context_that_breaks_the_schema_is_one_too(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    order = runner.create("order")
    till.then = lambda stm: stm.execution_ctx.update(paid="all")
    failed = runner.process(order.id, Event("Pay", {"amount": 1}))

    assert (failed.status, failed.context) == (Status.FAILED, {"paid": 0})
    assert "paid" in (failed.error or "")


def test_an_error_text_is_cut_and_made_harmless(store: DictStore, till: Till) -> None:
    runner = start(store, till)

    def fail(stm: Any) -> None:
        raise ValueError("\ud800\x00" + "x" * 5_000)

    till.then = fail
    failed = runner.process(runner.create("order").id, Event("Pay", {"amount": 1}))

    assert failed.error is not None
    assert len(failed.error) < 2_100
    assert "\x00" not in failed.error
    assert "\ud800" not in failed.error


# --- sending from an action


def test_an_action_sends_its_own_execution_an_event_for_after_the_step(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    till.then = lambda stm: stm.send("Ship")

    order = runner.process(runner.create("order").id, Event("Pay", {"amount": 1}))

    assert (order.active_path, order.outcome) == ("Shipped", "success")


def test_an_action_sends_another_execution_an_event_once(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    other = runner.process(runner.create("order").id, Event("Pay", {"amount": 1}))
    till.then = lambda stm: stm.send("Ship", to=other.id)
    runner.process(runner.create("order").id, Event("Pay", {"amount": 1}))

    assert store.load(other.id).outcome == "success"
    assert store.pending_outbox() == []


def test_ids_of_answers_to_answers_stay_short(store: DictStore, till: Till) -> None:
    source = """
    event Ping {}
    machine order {
      context { left: int = 50 }
      initial A
      state A {}
      state B { on enter charge }
      from A to B on Ping set context.left = context.left - 1
      from B to A
    }
    """
    runner = start(store, till, source)
    till.then = lambda stm: stm.send("Ping") if stm.execution_ctx["left"] else None
    order = runner.process(runner.create("order").id, Event("Ping"))

    assert order.context["left"] == 0
    assert len(set(till.keys)) == 50
    assert max(map(len, till.keys)) < 250


def test_a_send_that_cannot_be_right_is_an_action_error(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    for send in (
        lambda stm: stm.send("Payed"),
        lambda stm: stm.send("Cancel"),
        lambda stm: stm.send("Nudge", {"a": {1}}),
    ):
        till.then = send
        failed = runner.process(runner.create("order").id, Event("Pay", {"amount": 1}))
        assert failed.status is Status.FAILED
        assert (failed.error or "").startswith("EventError")


# --- races


class Racing(DictStore):
    """Before some commits, another writer is faster: it counts up the record's version."""

    def __init__(self, races: int) -> None:
        super().__init__()
        self.races = races

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        if self.races:
            self.races -= 1
            rival = self.load(execution.id)
            rival.version += 1
            super().commit(rival, rival.version - 1, Effects())
        super().commit(execution, expected_version, effects)


def test_a_lost_race_is_tried_again_with_the_same_keys(till: Till) -> None:
    runner = start(Racing(races=3), till)

    order = runner.process(runner.create("order").id, Event("Pay", {"amount": 1}, id="p"))

    assert order.active_path == "Paid"
    assert till.keys == [f"{order.id}:p:0:charge"] * 4


def test_who_keeps_losing_gets_a_conflict_and_has_changed_nothing(till: Till) -> None:
    store = Racing(races=4)
    runner = start(store, till)
    order = runner.create("order")

    with pytest.raises(StoreConflict, match=order.id):
        runner.process(order.id, Event("Pay", {"amount": 1}))

    assert store.load(order.id).active_path == "Cart"


def test_commands_try_again_too(till: Till) -> None:
    store = Racing(races=2)
    runner = start(store, till)

    assert runner.terminate(runner.create("order").id).status is Status.CANCELLED


def test_calls_for_one_execution_queue_up_in_one_process(store: DictStore, till: Till) -> None:
    source = """
    event Add {}
    machine order {
      context { n: int = 0 }
      initial A
      state A {}
      from A to A on Add set context.n = context.n + 1
    }
    """
    runner = start(store, till, source)
    order = runner.create("order")
    threads = [threading.Thread(target=runner.process, args=(order.id, Event("Add"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert store.load(order.id).context["n"] == 20


def test_the_queue_has_a_bound_and_names_the_cause() -> None:
    queue = ExecutionQueue(wait_limit=0.01)
    with queue.turn("o-1"), pytest.raises(StoreConflict, match=r"o-1.*calls of this process"), queue.turn("o-1"):
        pass
    with queue.turn("o-1"):
        pass


# --- commands


def test_cancel_takes_the_machines_own_way_out_where_it_leads_to_an_end(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    in_cart, paid = runner.create("order"), runner.create("order")
    runner.process(paid.id, Event("Pay", {"amount": 1}))

    assert runner.cancel(paid.id, "changed my mind").active_path == "Withdrawn"
    assert runner.cancel(in_cart.id).status is Status.CANCELLED
    assert runner.cancel(in_cart.id).status is Status.CANCELLED


TREE = """
event Go {}
event Stop {}
machine order {
  initial Checks
  orthogonal Checks {
    state A { initial Wait  state Wait { timeout 60 }  final Ok success {}  from Wait to Ok on Go | Timeout }
  }
  final Done success {}
  from Checks to Done
}
"""


@pytest.mark.parametrize("loaded", ["another machine", "the machine, edited"])
@pytest.mark.parametrize("command", ["cancel", "terminate"])
def test_ending_a_tree_reaches_its_children_without_the_machine(
    store: DictStore, till: Till, loaded: str, command: str
) -> None:
    order = start(store, till, TREE).create("order")
    source = TREE.replace("timeout 60", "timeout 61") if "edited" in loaded else TREE.replace("order", "claim")
    operator = DurableRunner(store, [definition_from_dsl(source)], clock=lambda: 0.0)
    getattr(operator, command)(order.id)

    assert [store.load(id).status for id in store.ids_with_prefix(order.id)] == [Status.CANCELLED, Status.CANCELLED]
    assert store.due_timers(1_000.0) == []
    assert store.pending_outbox() == []
    operator.purge(order.id)


def test_an_action_may_end_its_own_child_whose_answer_waits_for_the_step_to_be_over(
    store: DictStore, till: Till
) -> None:
    source = """
    event Hurry {}
    event Ok {}
    machine order {
      initial Paying
      state Paying { invoke payment  on activity charge }
      final Paid success {}
      from Paying to Paid on Returned
    }
    machine payment { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Ok }
    """
    machines = [definition_from_dsl(source, name, actions={"charge": till.charge}) for name in ("order", "payment")]
    runner = DurableRunner(store, machines, clock=lambda: 0.0)
    order = runner.create("order")
    till.then = lambda stm: runner.process(f"{order.id}/Paying/1", Event("Ok"))

    waits = runner.process(order.id, Event("Hurry"))
    assert (waits.status, waits.active_path) == (Status.RUNNING, "Paying")
    runner.fire_due_timers()
    assert store.load(order.id).outcome == "success"


@pytest.mark.parametrize("child", ["fails", "ends"])
def test_a_machine_that_starts_children_without_end_becomes_a_dead_letter(
    store: DictStore, till: Till, child: str
) -> None:
    source = """
    event Go {}
    machine order {
      initial Cart
      state Cart {}
      state Paying { invoke payment }
      state Again {}
      from Cart to Paying on Go
      from Paying to Again on Returned | error
      from Again to Paying
    }
    machine payment { initial Fine  final Fine success { on enter charge } }
    """
    machines = [definition_from_dsl(source, name, actions={"charge": till.charge}) for name in ("order", "payment")]
    runner = DurableRunner(store, machines, clock=lambda: 0.0)

    def decline(stm: Any) -> None:
        raise ValueError("declined")

    till.then = decline if child == "fails" else lambda stm: None
    order = runner.process(runner.create("order").id, Event("Go"))

    assert (order.status, order.active_path) == (Status.FAILED, "Paying")
    assert "SettlingLimit: one call started the children of 'Paying' more than 1000 times" in (order.error or "")
    assert (store.pending_spawns(), store.pending_outbox()) == ([], [])
    assert runner.redrive(order.id, "Cart").status is Status.RUNNING


class MixedUp(DictStore):
    """A connection on which answers come to the wrong question."""

    answers: str | None = None
    closed = 0

    def load_step(self, execution_id: str, event_id: str) -> Loaded:
        return super().load_step(self.answers or execution_id, event_id)

    def close(self) -> None:
        self.closed += 1


def test_the_record_of_another_execution_is_never_worked_on(till: Till) -> None:
    store = MixedUp()
    runner = start(store, till)
    one, other = runner.create("order", execution_id="one"), runner.create("order", execution_id="other")
    store.answers = "other"

    with pytest.raises(StoreUnavailable, match="record of 'other' when asked for 'one'"):
        runner.process("one", Event("Pay", {"amount": 1}))

    assert store.closed == 1
    assert (store.load("one"), store.load("other")) == (one, other)


def test_leaving_a_fork_leaves_dead_letters_at_every_depth(store: DictStore, till: Till) -> None:
    source = """
    event Break {}
    event Stop {}
    machine order {
      initial Outer
      orthogonal Outer {
        state L {
          initial Inner
          orthogonal Inner {
            state P { initial A  state A {}  final X success { on enter charge }  from A to X on Break }
            state Q { initial A  state A {}  final X success {}  from A to X on Break }
          }
          final Fine success {}
          from Inner to Fine
        }
      }
      final Done success {}
      final Stopped cancelled {}
      from Outer to Done
      from Outer to Stopped on Stop
    }
    """
    runner = start(store, till, source)
    order = runner.create("order")

    def decline(stm: Any) -> None:
        raise ValueError("declined")

    till.then = decline
    runner.process(order.id, Event("Break"))
    runner.process(order.id, Event("Stop"))

    ended = {execution.key: execution.status.name for execution in all_executions(store)}
    assert ended == {
        None: "DONE",
        "Outer.L": "CANCELLED",
        "Outer.L.Inner.P": "FAILED",
        "Outer.L.Inner.Q": "DONE",
    }


class Stopped(BaseException):
    """The process is gone."""


class DiesAfterCreating(DictStore):
    """Stops the process once, right after the record of that id was created."""

    def __init__(self, suffix: str) -> None:
        super().__init__()
        self.suffix: str | None = suffix

    def create(self, execution: Execution, effects: Effects) -> None:
        super().create(execution, effects)
        if self.suffix is not None and execution.id.endswith(self.suffix):
            self.suffix = None
            raise Stopped


def test_a_child_that_was_started_before_a_crash_does_not_start_again(till: Till) -> None:
    source = """
    event Go {}
    machine order {
      initial Checks
      orthogonal Checks {
        state A { on enter charge  initial Wait  state Wait {}  final Ok success {}  from Wait to Ok on Go }
        state B { on enter charge  initial Wait  state Wait {}  final Ok success {}  from Wait to Ok on Go }
      }
      final Done success {}
      from Checks to Done
    }
    """
    store = DiesAfterCreating("Checks.A/1")
    with pytest.raises(Stopped):
        start(store, till, source).create("order", execution_id="o-1")

    start(store, till, source).fire_due_timers()

    assert till.keys == ["o-1/Checks.A/1:start:0:charge", "o-1/Checks.B/1:start:0:charge"]
    assert store.pending_spawns() == []


def test_results_of_an_earlier_fan_out_are_not_taken_for_those_of_an_empty_one(store: DictStore, till: Till) -> None:
    source = """
    event Ship { parcels: any }
    machine order {
      context { parcels: any = [] }
      initial Wait
      state Wait {}
      state Shipping { invoke parcel for p in parcels with { sku: p } }
      from Wait to Shipping on Ship set context.parcels = event.parcels
      from Shipping to Wait
    }
    machine parcel { context { sku: any = "" }  initial Sent  final Sent success {} }
    """
    machines = [definition_from_dsl(source, name) for name in ("order", "parcel")]
    runner = DurableRunner(store, machines, clock=lambda: 0.0)
    order = runner.create("order")
    assert runner.process(order.id, Event("Ship", {"parcels": [1]})).context["region_results"] == {
        "Shipping:0": {"outcome": "success"}
    }
    assert "region_results" not in runner.process(order.id, Event("Ship", {"parcels": []})).context


def test_a_purge_takes_finished_trees_only(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    order = runner.create("order")
    kept: list[Execution] = []

    with pytest.raises(PurgeRefused, match="is RUNNING"):
        runner.purge(order.id, kept.append)
    done = runner.terminate(order.id)
    runner.purge(order.id, kept.append)

    assert kept == [done]
    assert store.ids_with_prefix("") == []


# --- the trace


def test_a_trace_row_tells_what_a_step_did(store: DictStore, till: Till) -> None:
    runner = start(store, till, trace=True)
    till.then = lambda stm: stm.execution_ctx.update(receipt="r-1")
    order = runner.create("order")
    runner.process(order.id, Event("Pay", {"amount": 5}, id="p"))
    rows = store.read_trace(order.id)

    assert [row["event"] for row in rows] == ["Start", "Pay"]
    assert rows[1] == {
        "event": "Pay",
        "event_id": "p",
        "path_from": "Cart",
        "path_to": "Paid",
        "actions": ["charge"],
        "assigned": {"paid": 5},
        "context": {"paid": 5, "receipt": "r-1"},
        "time": 0.0,
    }


def test_a_trace_row_tells_one_from_true(store: DictStore, till: Till) -> None:
    runner = start(store, till, trace=True)
    order = runner.create("order", {"flag": 1})
    till.then = lambda stm: stm.execution_ctx.update(flag=True)
    runner.process(order.id, Event("Pay", {"amount": 0}))

    assert store.read_trace(order.id)[-1]["context"] == {"flag": True}


def test_no_trace_is_written_unless_asked_for(store: DictStore, till: Till) -> None:
    runner = start(store, till)
    order = runner.create("order")

    assert store.read_trace(order.id) == []
