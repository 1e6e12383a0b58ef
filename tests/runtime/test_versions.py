"""Which machine runs an execution, and what happens where none fits (runtime.md section 6)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from harel import (
    Definition,
    DefinitionChanged,
    DefinitionNotLoaded,
    DictStore,
    DslError,
    DurableRunner,
    Event,
    Execution,
    Status,
    definition_from_dsl,
    publish_definitions,
)
from harel.stores.protocol import Effects
from harel.versions import definition_registry

ORDER = """
event Pay {}
machine order version NUMBER {
  initial Cart
  state Cart { timeout 60 }
  state Paid {}
  STATES
  final Withdrawn cancelled {}
  from Cart to Paid on Pay
  from Cart to Paid on Timeout
  from Paid to Withdrawn on Cancel
}
"""

EDITED = "state Extra {}  from Paid to Extra on Pay"


def order(number: int = 1, states: str = "") -> Definition:
    return definition_from_dsl(ORDER.replace("NUMBER", str(number)).replace("STATES", states), "order")


def runner(store: DictStore, *definitions: Definition, now: float = 0.0, **options: Any) -> DurableRunner:
    return DurableRunner(store, definitions, clock=lambda: now, **options)


def pay(store: DictStore, *definitions: Definition, **options: Any) -> Execution:
    return runner(store, *definitions, **options).process("o-1", Event("Pay", id="p-1"))


@pytest.fixture
def store() -> DictStore:
    """A store with the order `o-1`, which rests in the cart, on version 1 as it was."""
    store = DictStore()
    runner(store, order()).create("order", execution_id="o-1")
    return store


def edited_record(store: DictStore, **changes: Any) -> None:
    """Write the record as another release, or a test, would have left it."""
    record = store.load("o-1")
    for name, value in changes.items():
        setattr(record, name, value)
    record.version += 1
    store.commit(record, record.version - 1, Effects())


# --- choosing


def test_an_execution_stays_on_its_version(store: DictStore) -> None:
    both = [order(1), order(2, EDITED)]
    newer = runner(store, *both).create("order")
    named = runner(store, *both).create("order", version=1)

    assert (newer.definition_version, named.definition_version) == (2, 1)
    assert pay(store, *both).definition_version == 1
    assert store.load("o-1").definition_digest == order(1).digest


def test_a_version_that_is_not_loaded_cannot_be_created(store: DictStore) -> None:
    with pytest.raises(DefinitionNotLoaded, match=r"order version 3 is not loaded here; loaded: order version 1"):
        runner(store, order()).create("order", version=3)


def test_one_version_with_two_contents_is_refused_everywhere() -> None:
    two = [order(1), order(1, EDITED)]
    with pytest.raises(DslError, match=f"{two[0].digest[:12]}.*{two[1].digest[:12]}"):
        definition_registry(two)
    with pytest.raises(DslError, match="another version"):
        runner(DictStore(), *two)

    assert list(definition_registry([order(1), order(1)])) == [("order", 1)]


# --- the content it started on


def test_an_edited_machine_gives_way_to_the_published_copy(store: DictStore, caplog: pytest.LogCaptureFixture) -> None:
    publish_definitions(store, [order()])
    with caplog.at_level(logging.WARNING, logger="harel"):
        paid = pay(store, order(1, EDITED))

    assert (paid.active_path, paid.definition_digest) == ("Paid", order().digest)
    assert "order version 1 was edited here" in caplog.text


def test_without_a_copy_of_it_the_execution_fails_and_says_how_to_go_on(store: DictStore) -> None:
    failed = pay(store, order(1, EDITED))

    assert (failed.status, failed.active_path) == (Status.FAILED, "Cart")
    assert (failed.error or "").startswith("DefinitionChanged: machine order version 1 was edited")
    for digest in (order().digest[:12], order(1, EDITED).digest[:12]):
        assert digest in (failed.error or "")
    assert store.is_processed("o-1", "p-1")
    assert store.due_timers(1e9) == []


def test_under_raise_the_caller_gets_the_error_with_the_dead_letter(store: DictStore) -> None:
    with pytest.raises(DefinitionChanged, match="was edited"):
        pay(store, order(1, EDITED), on_action_error="raise")

    assert store.load("o-1").status is Status.FAILED
    assert store.is_processed("o-1", "p-1")


def test_a_published_copy_of_other_content_does_not_count(store: DictStore) -> None:
    publish_definitions(store, [order(1, "state Third {}  from Paid to Third on Pay")])

    assert (pay(store, order(1, EDITED)).error or "").startswith("DefinitionChanged")


def test_redrive_takes_the_machine_that_is_loaded_from_then_on(store: DictStore) -> None:
    edited = order(1, EDITED)
    pay(store, edited)
    redriven = runner(store, edited).redrive("o-1", "Paid")

    assert (redriven.active_path, redriven.definition_digest) == ("Paid", edited.digest)
    assert runner(store, edited).process("o-1", Event("Pay", id="p-2")).active_path == "Extra"


def test_after_a_redrive_the_senders_retry_counts(store: DictStore) -> None:
    edited = order(1, EDITED)
    pay(store, edited)
    runner(store, edited).redrive("o-1", "Cart")

    assert pay(store, edited).active_path == "Paid"


@pytest.mark.parametrize("states", [(Status.SUSPENDED, Status.RUNNING), (Status.DONE, None), (Status.CANCELLED, None)])
def test_only_what_is_driven_is_checked(store: DictStore, states: tuple[Status, Status | None]) -> None:
    edited_record(store, status=states[0], resume_status=states[1])
    before = store.load("o-1")
    changed = runner(store, order(1, EDITED), now=1e6)
    changed.fire_due_timers()
    if states[1] is None:
        changed.process("o-1", Event("Pay"))

    assert store.load("o-1") == before


@pytest.mark.parametrize("command", ["cancel", "terminate"])
@pytest.mark.parametrize("machines", [[order(1, EDITED)], [order(2)], []], ids=["edited", "another", "none"])
def test_it_can_be_ended_without_its_machine(store: DictStore, command: str, machines: list[Definition]) -> None:
    assert getattr(runner(store, *machines), command)("o-1").status is Status.CANCELLED


# --- a version that is nowhere


def test_a_version_that_is_nowhere_leaves_the_execution_untouched(store: DictStore) -> None:
    before = store.load("o-1")
    with pytest.raises(DefinitionNotLoaded, match="order version 1 is not loaded here; loaded: order version 2"):
        pay(store, order(2))

    assert store.load("o-1") == before
    assert not store.is_processed("o-1", "p-1")


def test_its_timers_stay_armed_and_fire_where_it_is_loaded(store: DictStore) -> None:
    assert runner(store, order(2), now=60.0).fire_due_timers() == 0
    assert [timer.path for timer in store.due_timers(60.0)] == ["Cart"]

    assert runner(store, order(1), now=60.0).fire_due_timers() == 1
    assert store.load("o-1").active_path == "Paid"


def test_a_timer_that_cannot_be_delivered_does_not_hold_up_the_others(store: DictStore) -> None:
    runner(store, order(2), now=30.0).create("order", execution_id="o-2")

    assert runner(store, order(2), now=90.0).fire_due_timers() == 1
    assert store.load("o-2").active_path == "Paid"


# --- a state that is gone


def test_an_execution_in_a_state_that_is_gone_fails_and_names_it(store: DictStore) -> None:
    edited_record(store, active_path="Basket")
    failed = pay(store, order())

    assert failed.status is Status.FAILED
    assert "DefinitionChanged" in (failed.error or "") and "'Basket'" in (failed.error or "")
    assert runner(store, order()).redrive("o-1", "Paid").active_path == "Paid"


def test_a_history_that_leads_to_a_state_that_is_gone_is_forgotten() -> None:
    text = """
    event Out {}  event In {}
    machine order {
      initial Work
      state Work { initial A  state A {}  state B {}  from A to B on In }
      state Break {}
      from Work to Break on Out
      from Break to Work on In
    }
    """
    store, machine = DictStore(), definition_from_dsl(text, "order")
    runner(store, machine).create("order", execution_id="o-1")
    runner(store, machine).process("o-1", Event("Out"))
    edited_record(store, history={"Work": "Gone"})

    assert runner(store, machine).process("o-1", Event("In")).active_path == "Work.A"


# --- records from before versions


def test_a_record_without_version_fields_takes_the_first_version_1_that_runs_it(store: DictStore) -> None:
    old = Execution.from_json('{"status": "RUNNING", "id": "old", "definition_id": "order", "active_path": "Cart"}')
    old.version = 1
    store.create(old, Effects())
    paid = runner(store, order(2), order(1)).process("old", Event("Pay"))

    assert (paid.definition_version, paid.definition_digest) == (1, order(1).digest)
    later = runner(store, order(1, EDITED)).process("old", Event("Pay"))
    assert (later.error or "").startswith("DefinitionChanged")


def test_such_a_record_runs_on_a_published_version_1_too(store: DictStore) -> None:
    publish_definitions(store, [order(1)])
    old = Execution("old", "order", status=Status.RUNNING, active_path="Cart", version=1)
    store.create(old, Effects())

    assert runner(store, order(2)).process("old", Event("Pay")).definition_digest == order(1).digest


# --- children


PARENT = """
event Go {}
event Pay {}
machine shop version NUMBER {
  initial Open
  state Open {}
  state Paying { invoke order }
  orthogonal Checks { state A { initial X  state X {}  final Y success {}  from X to Y on Pay } }
  state Inline { invoke { initial Q  state Q {}  final R success {}  from Q to R on Pay } }
  final Done success {}
  from Open to TARGET on Go
  from Paying to Done on Returned
  from Inline to Done on Returned
  from Checks join all to Done else to Done
}
machine order version NUMBER { initial Asked  state Asked {}  final Fine success {}  from Asked to Fine on Pay }
"""


def shop(number: int, target: str) -> list[Definition]:
    text = PARENT.replace("NUMBER", str(number)).replace("TARGET", target)
    return [definition_from_dsl(text, name) for name in ("shop", "order")]


@pytest.mark.parametrize(("target", "child"), [("Paying", "order"), ("Checks", "shop"), ("Inline", "shop:Inline")])
def test_children_run_on_their_parents_version(target: str, child: str) -> None:
    store = DictStore()
    runner(store, *shop(1, target)).create("shop", execution_id="s-1")
    upgraded = runner(store, *shop(1, target), *shop(2, target))
    upgraded.process("s-1", Event("Go"))
    (started,) = [store.load(id) for id in store.ids_with_prefix("s-1/")]

    assert (started.definition_id, started.definition_version) == (child, 1)
    assert upgraded.process(started.id, Event("Pay")).outcome == "success"
    assert store.load("s-1").outcome == "success"


@pytest.mark.parametrize("target", ["Checks", "Inline"])
def test_they_run_on_its_published_copy_where_the_program_has_moved_on(target: str) -> None:
    store = DictStore()
    publish_definitions(store, shop(1, target))
    runner(store, *shop(1, target)).create("shop", execution_id="s-1")
    moved_on = runner(store, *shop(2, target))
    moved_on.process("s-1", Event("Go"))
    (child_id,) = store.ids_with_prefix("s-1/")
    moved_on.process(child_id, Event("Pay"))

    assert store.load("s-1").outcome == "success"


def test_a_child_whose_version_is_nowhere_waits_to_be_started() -> None:
    store = DictStore()
    parent, child = shop(1, "Paying")
    runner(store, parent).create("shop", execution_id="s-1")
    waiting = runner(store, parent).process("s-1", Event("Go"))
    assert (waiting.active_path, store.ids_with_prefix("s-1/")) == ("Paying", [])
    runner(store, parent, child).fire_due_timers()

    assert store.ids_with_prefix("s-1/") == ["s-1/Paying/1"]
