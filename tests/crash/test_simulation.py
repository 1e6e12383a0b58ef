"""Every scenario ends like its calm run, wherever it is cut short (runtime.md section 4, design.md "Crash simulation
first").

Everything the store holds at the end is compared, field by field, with nothing left out: records (with version,
times and counters), armed timers, the due index, traces, consumed event ids, the outbox, published versions; and the
effects of actions, by their idempotency keys. The clock stands still between steps and every id is fixed, so that
nothing may differ.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harel
from harel import AsyncDurableRunner
from harel.jobs import StoreCall
from harel.testing.crash import check_crashes, check_random_crashes, in_files, parse_points, points_of, run

from .races import RACES
from .scenarios import ALL, SMALL, scenario

ENDS = {
    "plain": ("DONE", "Noted"),
    "timers": ("RUNNING", "Late"),
    "born-forked": ("DONE", "Paid"),
    "errors": ("DONE", "Out"),
    "dead-letter": ("RUNNING", "Sending"),
    "failed-commit": ("RUNNING", "Sending"),
    "ttl": ("CANCELLED", "Checks"),
    "ttl-handled": ("DONE", "Gone"),
    "suspend": ("RUNNING", "Waiting.Reminded"),
    "fork": ("DONE", "Paid"),
    "fork-times-out": ("DONE", "Failed"),
    "fan-out": ("DONE", "Shipped"),
    "nested": ("DONE", "Done"),
    "child-error": ("DONE", "Bad"),
    "cancel": ("DONE", "Off"),
    "cancel-forced": ("CANCELLED", "Checks"),
    "suspend-tree": ("RUNNING", "Checks"),
    "deferred": ("DONE", "Done"),
    "called-off": ("DONE", "Bad"),
    "again": ("DONE", "Fine"),
    "redrive-child": ("DONE", "Fine"),
    "publish": ("DONE", "Done"),
}
"""Where the calm run leaves the order; the scenarios that purge it are not here."""


@pytest.mark.parametrize("name", ALL)
def test_the_calm_run_is_the_one_that_is_meant(name: str) -> None:
    end = run(scenario(name)).end
    order: Any = end.get("execution o-1")

    assert (order and (order["status"], order["active_path"])) == ENDS.get(name)
    assert (end["outbox"], end["children to start"]) == ([], [])


@pytest.mark.parametrize("name", ALL)
def test_any_crash_ends_like_the_calm_run(name: str) -> None:
    check_crashes(scenario(name))


@pytest.mark.parametrize("name", SMALL)
def test_any_two_crashes_end_like_the_calm_run(name: str) -> None:
    check_crashes(scenario(name), together=2, moments=("before", "after"))


@pytest.mark.parametrize("name", ALL)
def test_many_crashes_at_random_end_like_the_calm_run(name: str) -> None:
    check_random_crashes(scenario(name), runs=40, seed=7)


@pytest.mark.parametrize("name", ALL)
def test_an_sqlite_file_survives_them_too(name: str, tmp_path: Path) -> None:
    check_random_crashes(replace(scenario(name), database=in_files(tmp_path)), runs=4, seed=11)


@pytest.mark.parametrize("name", ["plain", "fork", "cancel"])
def test_any_crash_on_an_sqlite_file_ends_like_the_calm_run(name: str, tmp_path: Path) -> None:
    check_crashes(replace(scenario(name), database=in_files(tmp_path)), moments=("after",))


@pytest.mark.parametrize("name", ["plain", "timers", "born-forked", "dead-letter"])
def test_any_crash_under_asyncio_ends_like_the_calm_run(name: str) -> None:
    asynchronous = replace(scenario(name), runner=AsyncDurableRunner)

    assert run(asynchronous).end == run(scenario(name)).end
    check_crashes(asynchronous, moments=("after", "lost"))


# --- nothing that the engine calls is left out


def store_calls() -> Iterator[tuple[str, int, str]]:
    """Each place in the package where a job asks for a call of the store: module, line, method."""
    for path in sorted(Path(harel.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "StoreCall":
                method = node.args[0]
                assert isinstance(method, ast.Constant), f"{path.name}:{node.lineno} names its method in place"
                yield path.name, node.lineno, str(method.value)


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, int]]:
    """The places that have asked for a call of the store, by module and line."""
    places: set[tuple[str, int]] = set()
    made = StoreCall.__init__

    def remember(request: StoreCall, method: str, args: tuple[Any, ...]) -> None:
        caller = sys._getframe(1)
        places.add((Path(caller.f_code.co_filename).name, caller.f_lineno))
        made(request, method, args)

    monkeypatch.setattr(StoreCall, "__init__", remember)
    return places


def test_the_scenarios_and_races_reach_every_call_of_the_store(reached: set[tuple[str, int]]) -> None:
    for race in RACES:
        race()
    for name in ALL:
        for point in points_of(run(scenario(name)), moments=("lost", "after") if name in SMALL else ("after",)):
            run(scenario(name), [point])
    missed = [f"{module}:{line} {method}" for module, line, method in store_calls() if (module, line) not in reached]

    assert missed == []


def test_there_are_calls_to_reach() -> None:
    methods = {method for _, _, method in store_calls()}

    assert {"load", "load_step", "create", "commit", "pending_outbox", "pending_spawns", "due_timers"} <= methods
    assert methods <= {name for name, _ in inspect.getmembers(harel.DictStore, inspect.isfunction)}


# --- points


def test_points_are_read_as_they_are_written() -> None:
    points = parse_points("after 7, lost 12")

    assert ", ".join(map(str, points)) == "after 7, lost 12"
    assert parse_points("") == ()
    for wrong in ("after", "after x", "later 7", "7"):
        with pytest.raises(ValueError, match="no crash point"):
            parse_points(wrong)


def test_a_run_tells_which_of_its_points_were_met() -> None:
    calm = run(scenario("plain"))
    crashed = run(scenario("plain"), parse_points("before 1, after 999"))

    assert [str(point) for point in crashed.met] == ["before 1"]
    assert crashed.calls[1:] == calm.calls
