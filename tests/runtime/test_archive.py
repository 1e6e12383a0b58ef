"""Purging what has ended, archived first (runtime.md section 3; edges.md, Meaning)."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

from harel import (
    Definition,
    DictStore,
    DurableRunner,
    Event,
    Execution,
    JsonlArchive,
    PurgeRefused,
    Status,
    definition_from_dsl,
    purge_finished,
)
from harel.purging import Kept, PurgeReport, purge_named
from harel.stores.protocol import Effects
from harel.testing import FakeClock

DAY = 24 * 3600.0

ORDER = """
event Checkout {}
event Stocked {}
event Pay {}

machine order {
  initial Cart
  state Cart {}
  orthogonal Checks {
    state Stock { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Stocked }
  }
  state Paying { on enter charge }
  final Paid success {}

  from Cart to Checks on Checkout
  from Checks join all to Paying
  from Paying to Paid on Pay
}
"""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(100 * DAY)


@pytest.fixture
def store() -> DictStore:
    return DictStore()


@pytest.fixture(scope="module")
def machine() -> Definition:
    return definition_from_dsl(ORDER, actions={"charge": lambda stm, event: None})


@pytest.fixture
def runner(store: DictStore, clock: FakeClock, machine: Definition) -> DurableRunner:
    return DurableRunner(store, [machine], clock=clock)


def an_order_that_is_paid(runner: DurableRunner, id: str) -> None:
    runner.create("order", {"customer": "Ada"}, execution_id=id)
    for kind in ("Checkout", "Stocked", "Pay"):
        runner.process(id, Event(kind))


def ids(store: DictStore) -> list[str]:
    return [id for id in store.ids_with_prefix("") if "/" not in id]


def test_what_ended_long_ago_goes_and_everything_else_stays(
    runner: DurableRunner, store: DictStore, clock: FakeClock
) -> None:
    an_order_that_is_paid(runner, "old")
    runner.create("order", execution_id="old-and-live")
    clock.advance(31 * DAY)
    an_order_that_is_paid(runner, "young")
    report = purge_finished(store, older_than=30 * DAY, clock=clock)

    assert report == PurgeReport(purged=("old",), executions=2)
    assert store.ids_with_prefix("old") == ["old-and-live"]
    assert ids(store) == ["old-and-live", "young"]


def test_the_age_counts_from_the_end_of_the_root(runner: DurableRunner, store: DictStore, clock: FakeClock) -> None:
    an_order_that_is_paid(runner, "o-1")
    clock.advance(10.0)

    assert purge_finished(store, older_than=10.5, clock=clock).purged == ()
    assert purge_finished(store, older_than=10.0, clock=clock).purged == ("o-1",)


def test_a_tree_with_a_member_that_has_not_ended_is_left_and_reported(store: DictStore, clock: FakeClock) -> None:
    for id, status in (("a", Status.RUNNING), ("b", Status.FAILED), ("c", Status.DONE)):
        store.create(Execution(id, "order", 1, status=Status.DONE, version=1, finished_at=1.0), Effects())
        child = Execution(f"{id}/Checks/1", "order", 1, status=status, version=1, parent_id=id, root_id=id)
        store.create(child, Effects())
    report = purge_finished(store, older_than=DAY, clock=clock)

    assert report.purged == ("c",)
    assert report.kept == (
        Kept("a", "execution 'a' is not finished: 'a/Checks/1' is RUNNING; end it first (cancel or terminate)"),
        Kept("b", "execution 'b' is not finished: 'b/Checks/1' is FAILED; end it first (cancel or terminate)"),
    )
    assert store.ids_with_prefix("") == ["a", "a/Checks/1", "b", "b/Checks/1"]


def test_only_the_statuses_asked_for_go(runner: DurableRunner, store: DictStore, clock: FakeClock) -> None:
    an_order_that_is_paid(runner, "paid")
    runner.create("order", execution_id="ended")
    runner.terminate("ended")
    assert purge_finished(store, older_than=0, statuses=["CANCELLED"], clock=clock).purged == ("ended",)
    assert purge_finished(store, older_than=0, statuses=[Status.DONE], clock=clock).purged == ("paid",)


def test_a_limit_counts_trees_and_the_next_call_goes_on(
    runner: DurableRunner, store: DictStore, clock: FakeClock
) -> None:
    for number in range(5):
        an_order_that_is_paid(runner, f"o-{number}")
    assert purge_finished(store, older_than=0, limit=2, clock=clock).purged == ("o-0", "o-1")
    assert purge_finished(store, older_than=0, limit=9, clock=clock).purged == ("o-2", "o-3", "o-4")
    assert store.ids_with_prefix("") == []


def test_more_than_a_page_is_purged_in_one_call(store: DictStore, clock: FakeClock) -> None:
    for number in range(250):
        store.create(Execution(f"o-{number}", "order", 1, status=Status.DONE, version=1, finished_at=1.0), Effects())

    assert purge_finished(store, older_than=0, clock=clock).executions == 250
    assert store.ids_with_prefix("") == []


def test_a_dry_run_only_says_what_would_go(
    runner: DurableRunner, store: DictStore, clock: FakeClock, tmp_path: Path
) -> None:
    an_order_that_is_paid(runner, "o-1")
    archive = JsonlArchive(tmp_path / "ended.jsonl")
    report = purge_finished(store, older_than=0, archive=archive, dry_run=True, clock=clock)

    assert report == PurgeReport(purged=("o-1",), executions=2, dry_run=True)
    assert ids(store) == ["o-1"]
    assert not archive.path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"older_than": -1}, "older_than is -1; it is a number of seconds, 0 or more"),
        ({"older_than": 0, "limit": 0}, "limit is 0; it is a whole number, at least 1"),
        ({"older_than": 0, "statuses": ["FAILED"]}, "statuses are FAILED; only roots that are DONE or CANCELLED"),
        ({"older_than": 0, "statuses": ["GONE"]}, "statuses are 'GONE'; only roots that are DONE or CANCELLED can be"),
        ({"older_than": 0, "statuses": []}, "statuses are none; only roots that are DONE or CANCELLED can be purged"),
    ],
)
def test_an_argument_that_makes_no_sense_deletes_nothing(
    store: DictStore, arguments: dict[str, object], message: str
) -> None:
    store.create(Execution("o-1", "order", 1, status=Status.DONE, version=1, finished_at=1.0), Effects())
    with pytest.raises(ValueError, match=message):
        purge_finished(store, **arguments)

    assert ids(store) == ["o-1"]


def test_roots_can_be_purged_by_name(runner: DurableRunner, store: DictStore) -> None:
    an_order_that_is_paid(runner, "o-1")
    runner.create("order", execution_id="o-2")
    report = purge_named(store, ["o-1", "o-2", "never-was"])

    assert (report.purged, [kept.id for kept in report.kept]) == (("o-1",), ["o-2"])


def test_a_runner_refuses_to_purge_what_it_would_have_to_tear_apart(runner: DurableRunner, store: DictStore) -> None:
    runner.create("order", execution_id="o-1")
    runner.process("o-1", Event("Checkout"))
    child = next(iter(store.load("o-1").children.values())).id
    with pytest.raises(PurgeRefused, match="belongs to 'o-1': purge that one"):
        runner.purge(child)
    with pytest.raises(PurgeRefused, match="'o-1' is RUNNING"):
        runner.purge("o-1")

    assert store.ids_with_prefix("") == ["o-1", child]


# --- archives


def test_every_execution_of_a_tree_is_archived_before_it_is_deleted(
    runner: DurableRunner, store: DictStore, clock: FakeClock, tmp_path: Path
) -> None:
    an_order_that_is_paid(runner, "o-1")
    tree = [store.load(id) for id in store.ids_with_prefix("o-1")]
    archive = JsonlArchive(tmp_path / "ended.jsonl")
    purge_finished(store, older_than=0, archive=archive, clock=clock)

    assert list(archive.read()) == tree
    lines = archive.path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["o-1", tree[1].id]


def test_an_archive_that_cannot_be_written_deletes_nothing(
    runner: DurableRunner, store: DictStore, clock: FakeClock, tmp_path: Path
) -> None:
    an_order_that_is_paid(runner, "o-1")
    with pytest.raises(FileNotFoundError):
        purge_finished(store, older_than=0, archive=JsonlArchive(tmp_path / "no" / "ended.jsonl"), clock=clock)

    assert ids(store) == ["o-1"]


def test_any_function_of_an_execution_is_an_archive(runner: DurableRunner, store: DictStore) -> None:
    an_order_that_is_paid(runner, "o-1")
    kept: list[Execution] = []
    runner.purge("o-1", archive=kept.append)

    assert [execution.definition_id for execution in kept] == ["order", "order"]
    assert ids(store) == []


def test_a_line_is_on_the_disk_before_write_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_size), sync(file)))
    archive = JsonlArchive(tmp_path / "ended.jsonl")
    archive.write(Execution("o-1", "order"))

    assert archive.path.stat().st_size in synced


def test_an_archive_grows_over_processes_and_keeps_odd_texts(tmp_path: Path) -> None:
    first = Execution("o-1", "order", context={"note": "line\nbreak é😀", "items": [1, 2.5, None]})
    second = Execution("o-2", "order")
    JsonlArchive(tmp_path / "ended.jsonl").write(first)
    JsonlArchive(str(tmp_path / "ended.jsonl")).write(second)

    assert list(JsonlArchive(tmp_path / "ended.jsonl").read()) == [first, second]


def test_a_line_cut_short_by_a_crash_swallows_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    archive = JsonlArchive(tmp_path / "ended.jsonl")
    archive.write(Execution("o-1", "order"))
    with archive.path.open("ab") as file:
        file.write(b'{"status":"DONE","id":"o-2","cont')
    archive.write(Execution("o-3", "order"))
    with caplog.at_level(logging.WARNING, logger="harel"):
        kept = [execution.id for execution in archive.read()]

    assert kept == ["o-1", "o-3"]
    assert "ended.jsonl:2: not an archived execution" in caplog.text


def test_an_archive_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert list(JsonlArchive(tmp_path / "ended.jsonl").read()) == []
