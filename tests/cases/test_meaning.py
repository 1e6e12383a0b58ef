"""What machines mean where users have stumbled: lookup, history, regions, moves, comparisons, assignments."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from cases.support import Start, text_of

from harel import DurableRunner, Event, Status, Stm, definition_from_dsl
from harel.stores.protocol import Store, all_executions
from harel.testing import FakeClock


def test_history_survives_new_processes_level_by_level(start: Start, store: Store) -> None:
    visit = start("02-history-over-restart", "checkout").create("checkout")

    def send(kind: str) -> str:
        return start("02-history-over-restart", "checkout").process(visit.id, Event(kind)).active_path

    assert visit.active_path == "Form.Address.Street"
    assert send("Next") == "Form.Address.Zip"
    assert send("Help") == "Asking"
    assert send("Back") == "Form.Address.Zip"
    assert send("Next") == "Form.Payment"
    assert send("Help") == "Asking"
    assert send("Back") == "Form.Payment"
    assert send("Next") == "Thanks"  # Sent is a terminal: the form ran to its end
    assert send("Again") == "Form.Address.Zip"  # the form has forgotten, the address was left at Zip


def test_one_event_reaches_both_regions_at_different_depths(start: Start, store: Store) -> None:
    runner = start("03-broadcast-at-different-depths", "order")
    order = runner.process(runner.create("order").id, Event("Go"))

    assert (order.status, order.active_path, order.outcome) == (Status.DONE, "Done", "success")


@pytest.mark.parametrize(
    ("kind", "data", "path"), [("Go", {"n": 11}, "Fast"), ("Go", {"n": 5}, "Medium"), ("Stop", {}, "Slow")]
)
def test_the_inner_state_wins_and_then_the_first_written(
    start: Start, kind: str, data: dict[str, Any], path: str
) -> None:
    runner = start("04-order-of-guards", "order")

    assert runner.process(runner.create("order").id, Event(kind, data)).active_path == path


class TestBackToWhereItStarted:
    """A self-transition of a leaf touches nothing; one of an enclosing state restarts its inside."""

    @pytest.fixture
    def log(self) -> list[str]:
        return []

    @pytest.fixture
    def actions(self, log: list[str]) -> dict[str, Any]:
        return {"note": lambda stm, event, text: log.append(text)}

    def test_of_the_leaf_runs_no_hook_and_lets_the_timer_run(
        self, start: Start, store: Store, clock: FakeClock, log: list[str], actions: dict[str, Any]
    ) -> None:
        runner = start("05-self-transitions", "job", actions=actions)
        job = runner.create("job")  # Busy is due at 60
        clock.now = 59
        job = runner.process(job.id, Event("Ping"))

        assert job.context["n"] == 1
        assert log == ["enter Work", "enter Busy"]
        clock.now = 60
        assert runner.fire_due_timers() == 1
        assert store.load(job.id).active_path == "Late"

    def test_of_the_enclosing_state_restarts_the_inside_and_keeps_its_own_timer(
        self, start: Start, store: Store, clock: FakeClock, log: list[str], actions: dict[str, Any]
    ) -> None:
        runner = start("05-self-transitions", "job", actions=actions)
        job = runner.create("job")  # Work is due at 100
        clock.now = 59
        job = runner.process(job.id, Event("Again"))

        assert job.active_path == "Work.Busy"
        assert log == ["enter Work", "enter Busy", "exit Busy", "enter Busy"]
        assert [(timer.path, timer.due) for timer in store.timers(job.id)] == [("Work", 100), ("Work.Busy", 119)]
        clock.now = 99
        assert runner.fire_due_timers() == 0
        clock.now = 100
        assert runner.fire_due_timers() == 1
        assert store.load(job.id).active_path == "Over"


def test_a_step_that_never_settles_is_a_dead_letter_that_names_the_states(start: Start, store: Store) -> None:
    source = text_of("07-automatic-cycle", "data.stm")
    runner = DurableRunner(store, [definition_from_dsl(source, "swing")], clock=lambda: 0.0)
    swing = runner.create("swing")
    runner.process(swing.id, Event("Go"))
    swing = store.load(swing.id)

    assert swing.status is Status.FAILED
    assert swing.error == "SettlingLimit: one step took more than 1000 transitions, going round A, B"
    assert (swing.active_path, swing.context) == ("Rest", {"n": 0})


def test_a_choice_sees_what_the_entry_action_wrote(start: Start) -> None:
    def put(stm: Stm, event: Event, key: str, value: Any) -> None:
        stm.execution_ctx[key] = value

    runner = start("08-choose-after-entry", "order", actions={"put": put})
    order = runner.create("order")

    assert (order.active_path, order.context["n"]) == ("Collect", 1)
    assert [runner.process(order.id, Event("Add")).active_path for _ in range(3)] == ["Collect", "Collect", "Full"]


@pytest.mark.parametrize("kinds", list(permutations(["L", "R1", "R2"])), ids="-".join)
def test_a_fork_inside_a_region_joins_first_and_once_in_any_order(
    start: Start, store: Store, kinds: tuple[str, ...]
) -> None:
    def count(stm: Stm, event: Event) -> None:
        stm.execution_ctx["joined"] += 1

    order = start("33-nested-regions-join", "order", actions={"count": count}).create("order")
    for kind in kinds:
        assert store.load(order.id).active_path == "Outer"
        start("33-nested-regions-join", "order", actions={"count": count}).process(order.id, Event(kind))
    order = store.load(order.id)

    assert (order.active_path, order.context["joined"]) == ("Joined", 1)
    assert order.context["region_results"] == {
        "Outer.Left": {"outcome": "success"},
        "Outer.Right": {"outcome": "success"},
    }


class TestRedriveWithOpenRegions:
    """An operator cannot put a tree on rails that another branch still needs; trying changes nothing."""

    @pytest.mark.parametrize(
        ("child", "path", "fault"),
        [
            (None, "Review", "is RUNNING: only a FAILED one can be redriven"),
            ("Checks.B", "Review", "is RUNNING: only a FAILED one can be redriven"),
            (None, "Checks.B.Wait", "is RUNNING: only a FAILED one can be redriven"),
            (None, "Nowhere", "is RUNNING: only a FAILED one can be redriven"),
        ],
    )
    def test_a_live_one_is_refused(self, start: Start, store: Store, child: str | None, path: str, fault: str) -> None:
        runner = start("17-redrive-with-open-regions", "order")
        order = runner.create("order")
        runner.process(order.id, Event("One"))
        ids = {execution.key: execution.id for execution in all_executions(store)}
        before = {execution.id: execution.to_json() for execution in all_executions(store)}

        with pytest.raises(ValueError, match=fault):
            runner.redrive(ids[child], path)
        assert {execution.id: execution.to_json() for execution in all_executions(store)} == before
        runner.process(order.id, Event("Two"))
        assert store.load(order.id).outcome == "success"


class TestCrossingARegion:
    """What the checker refuses cannot be carried out either: the machine behaves as if it were not written."""

    def test_into_a_region_from_outside(self, start: Start, store: Store) -> None:
        runner = start("35-crossing-a-region", "order")
        order = runner.process(runner.create("order").id, Event("Go"))

        assert (order.status, order.active_path) == (Status.RUNNING, "Start")

    def test_out_of_a_region_from_inside(self, store: Store) -> None:
        source = text_of("35-crossing-a-region")
        straight = source.replace("from Start to Checks.X.Second on Go", "from Start to Checks on Go")
        runner = DurableRunner(store, [definition_from_dsl(straight, "order")], clock=lambda: 0.0)
        order = runner.create("order")
        runner.process(order.id, Event("Go"))
        order = runner.process(order.id, Event("Stop"))

        assert (order.status, order.active_path) == (Status.RUNNING, "Checks")
        assert {e.key: e.active_path for e in all_executions(store) if e.parent_id} == {
            "Checks.X": "Checks.X.First",
            "Checks.Y": "Checks.Y.One",
        }


# what `v` is, and which of  v == 1   v != 1   v == true   v in [1, "x"]   v > 0   not v == 1  hold
COMPARISONS: list[tuple[dict[str, Any], tuple[bool, ...]]] = [
    ({"v": True}, (False, True, True, False, False, True)),
    ({"v": 1}, (True, False, False, True, True, False)),
    ({"v": 1.0}, (True, False, False, True, True, False)),
    ({"v": "1"}, (False, True, False, False, False, True)),
    ({"v": "x"}, (False, True, False, True, False, True)),
    ({"v": 0}, (False, True, False, False, False, True)),
    ({"v": [1]}, (False, True, False, False, False, True)),
    ({"v": None}, (False, True, False, False, False, True)),
    ({}, (False, False, False, False, False, True)),
]


@pytest.mark.parametrize(("data", "expected"), COMPARISONS, ids=[str(data) for data, _ in COMPARISONS])
@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_true_is_not_one(start: Start, data: dict[str, Any], expected: tuple[bool, ...]) -> None:
    runner = start("39-true-is-not-one", "order")
    order = runner.create("order")
    for _ in range(6):
        order = runner.process(order.id, Event("Ask", data))

    assert order.active_path == "Rest"
    assert tuple(order.context[key] for key in ("eq1", "ne1", "eqtrue", "in1", "gt0", "noteq1")) == expected


def test_right_sides_see_the_start_and_are_written_between_exit_and_entry(start: Start) -> None:
    def bump(stm: Stm, event: Event) -> None:
        stm.execution_ctx["n"] += 100

    def copy(stm: Stm, event: Event) -> None:
        stm.execution_ctx["seen"] = stm.execution_ctx["n"]

    runner = start("40-set-sees-the-start", "order", actions={"bump": bump, "copy": copy})
    order = runner.process(runner.create("order").id, Event("Go"))

    assert (order.active_path, order.context) == ("B", {"n": 11, "seen": 11, "twice": 20})
