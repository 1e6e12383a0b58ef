"""The command `harel`: what an operator types, and what comes of it (build.md section 1, runtime.md section 8)."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harel import (
    Definition,
    DurableRunner,
    Event,
    Execution,
    JsonlArchive,
    SqliteStore,
    Status,
    definition_from_dsl,
    publish_definitions,
)
from harel.cli import main
from harel.stores.protocol import Effects
from harel.testing import FakeClock

ORDER = """
event Checkout {}
event Pay {}

machine order version 2 {
  ttl 7d
  initial Cart
  state Cart {}
  orthogonal Checks {
    state Fraud { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Pay }
  }
  state Paying {
    defer Checkout
    timeout 900
    on enter charge
  }
  final Paid success {}
  final Withdrawn withdrawn { on enter refund }

  from Cart to Paying on Pay
  from Cart to Checks on Checkout
  from Checks join all to Paid
  from Paying to Paid on Timeout
  from Paying to Withdrawn on Cancel
}
"""


@dataclass(frozen=True)
class Result:
    """How the command ended: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Harel = Callable[..., Result]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An SQLite file that the command finds in its environment; nothing else is set there."""
    for name in [name for name in os.environ if name.startswith("HAREL_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "orders.db"
    monkeypatch.setenv("HAREL_STORE_URL", f"sqlite:///{path}")
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def store(database: Path) -> SqliteStore:
    return SqliteStore(database)


@pytest.fixture(scope="module")
def machine() -> Definition:
    return definition_from_dsl(ORDER, actions={"charge": print, "refund": print})  # published without them


class Shop:
    """The order service: it runs the handlers, and remembers which."""

    def __init__(self, store: SqliteStore, machine: Definition) -> None:
        self.ran: list[str] = []
        self.fails = False
        actions = {"charge": self.charge, "refund": lambda stm, event: self.ran.append("refund")}
        clock = FakeClock(1_767_603_600.0)
        self.runner = DurableRunner(store, [machine], actions=actions, clock=clock, trace=True)

    def charge(self, stm: Any, event: Event) -> None:
        self.ran.append("charge")
        if self.fails:
            raise ValueError("card \x1b[31mrefused")

    def order(self, id: str, *kinds: str, context: dict[str, Any] | None = None) -> Execution:
        order = self.runner.create("order", context, execution_id=id)
        for kind in kinds:
            order = self.runner.process(id, Event(kind, id=f"{kind}-1"))
        return order


@pytest.fixture
def shop(store: SqliteStore, machine: Definition) -> Shop:
    return Shop(store, machine)


@pytest.fixture
def harel(database: Path, capsys: pytest.CaptureFixture[str]) -> Harel:
    """`harel(*arguments)` runs the command in this process, without a terminal."""

    def run(*arguments: str | Path) -> Result:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run


class Terminal(io.StringIO):
    """Standard input with somebody at it."""

    def isatty(self) -> bool:
        return True


# --- list


def test_list_shows_roots_by_id(harel: Harel, shop: Shop) -> None:
    shop.order("o-2", "Checkout")
    shop.order("o-1", "Pay")

    assert harel("list") == Result(
        0,
        "ID   MACHINE  VERSION  STATUS   PATH    OUTCOME  UPDATED\n"
        "o-1  order    2        RUNNING  Paying  -        2026-01-05 09:00:00Z\n"
        "o-2  order    2        RUNNING  Checks  -        2026-01-05 09:00:00Z\n",
        "",
    )


def test_list_filters_by_status_machine_and_level(harel: Harel, shop: Shop) -> None:
    shop.order("o-1", "Checkout")
    shop.order("o-2")
    shop.runner.terminate("o-2")

    assert [line.split()[0] for line in harel("list", "--status", "cancelled").lines[1:]] == ["o-2"]
    assert len(harel("list", "--all").lines) == 4
    assert harel("list", "--machine", "parcel") == Result(0, "", "harel: no execution is like that\n")


def test_list_goes_on_where_the_last_page_ended(harel: Harel, shop: Shop) -> None:
    for number in range(5):
        shop.order(f"o-{number}")
    first = harel("list", "--limit", "2")
    assert [line.split()[0] for line in first.lines[1:]] == ["o-0", "o-1"]
    assert first.err == "harel: there are more; the next page: --after o-1\n"

    last = harel("list", "--limit", "4", "--after", "o-1")
    assert [line.split()[0] for line in last.lines[1:]] == ["o-2", "o-3", "o-4"]
    assert last.err == ""


def test_list_as_json_holds_the_records_and_the_next_page(harel: Harel, shop: Shop) -> None:
    shop.order("o-1", context={"note": "é"})
    shop.order("o-2")
    page = json.loads(harel("list", "--json", "--limit", "1").out)

    assert page["next"] == "o-1"
    assert [(one["id"], one["status"], one["context"]) for one in page["executions"]] == [
        ("o-1", "RUNNING", {"note": "é"})
    ]


def test_list_finds_those_whose_machine_version_is_nowhere(
    harel: Harel, shop: Shop, store: SqliteStore, machine: Definition
) -> None:
    shop.order("o-1")
    shop.order("o-2")
    shop.runner.terminate("o-2")
    assert [line.split()[0] for line in harel("list", "--needs-version").lines[1:]] == ["o-1"]

    publish_definitions(store, [machine])
    assert harel("list", "--needs-version").out == ""


# --- show


def test_show_prints_everything_about_an_execution(harel: Harel, shop: Shop, machine: Definition) -> None:
    shop.order("o-1", "Pay", "Checkout", context={"total": 5})
    shown = harel("show", "o-1")

    assert shown.status == 0
    assert shown.out == f"""\
id       o-1
machine  order version 2
digest   {machine.digest}
status   RUNNING
path     Paying
steps    3
created  2026-01-05 09:00:00Z
updated  2026-01-05 09:00:00Z
expires  2026-01-12 09:00:00Z
context  {{"total": 5}}

timers
PATH    DUE
Paying  2026-01-05 09:15:00Z

deferred
EVENT     ID          DATA
Checkout  Checkout-1  {{}}

trace
TIME                  EVENT     FROM    TO      ACTIONS  CHANGED
2026-01-05 09:00:00Z  Start     -       Cart    -        {{"total": 5}}
2026-01-05 09:00:00Z  Pay       Cart    Paying  charge   {{}}
2026-01-05 09:00:00Z  Checkout  Paying  Paying  -        {{}}
"""


def test_show_lists_children(harel: Harel, shop: Shop) -> None:
    shop.order("o-1", "Checkout")
    child = shop.runner.store.load("o-1").children["Checks.Fraud"].id

    assert f"children\nKEY           ID{' ' * (len(child) - 2)}  STATE    OUTCOME\n" in harel("show", "o-1").out
    assert harel("show", child).lines[0] == f"id       {child}"


def test_show_as_json_is_one_object(harel: Harel, shop: Shop) -> None:
    shop.order("o-1", "Pay")
    shown = json.loads(harel("show", "o-1", "--json").out)

    assert (shown["id"], shown["active_path"], shown["version"]) == ("o-1", "Paying", 2)
    assert shown["timers"] == [{"path": "Paying", "due": 1_767_604_500.0}]
    assert [row["event"] for row in shown["trace"]] == ["Start", "Pay"]


def test_no_text_of_an_execution_can_steer_the_terminal(harel: Harel, shop: Shop) -> None:
    shop.fails = True
    shop.order("o-1", "Pay", context={"note": "\x1b[2J"})
    shown = harel("show", "o-1")

    assert "\x1b" not in shown.out
    assert "error    ValueError: card \\x1b[31mrefused" in shown.lines


# --- ids


def test_the_beginning_of_an_id_is_enough(harel: Harel, shop: Shop) -> None:
    shop.order("order-17", "Checkout")
    shop.order("parcel-1")

    assert harel("show", "ord").lines[0] == "id       order-17"


def test_an_id_that_is_the_beginning_of_others_is_itself(harel: Harel, shop: Shop) -> None:
    shop.order("o-1")
    shop.order("o-11")

    assert harel("show", "o-1").lines[0] == "id       o-1"


def test_several_ids_that_begin_so_are_listed(harel: Harel, shop: Shop) -> None:
    for number in range(5):
        shop.order(f"o-{number}")

    assert harel("show", "o-") == Result(
        2, "", "harel: `o-` is the beginning of 5 ids: o-0, o-1, o-2 and 2 more; type more of it\n"
    )


def test_an_id_that_is_not_there_brings_those_like_it(harel: Harel, shop: Shop) -> None:
    shop.runner.fire_due_timers()  # the file is there, and empty
    missing = "harel: no execution has the id `ordre-17`, and none begins so; the store has no executions\n"
    assert harel("show", "ordre-17") == Result(2, "", missing)
    for id in ("order-17", "order-18", "parcel-1"):
        shop.order(id)

    found = "harel: no execution has the id `ordre-17`, and none begins so; there is order-17, order-18\n"
    assert harel("suspend", "ordre-17") == Result(2, "", found)


def test_of_several_ids_with_one_wrong_nothing_is_done(harel: Harel, shop: Shop, store: SqliteStore) -> None:
    shop.order("o-1")

    assert harel("suspend", "o-1", "x").status == 2
    assert store.load("o-1").status is Status.RUNNING


# --- suspend, resume


def test_suspend_and_resume_reach_the_children(harel: Harel, shop: Shop, store: SqliteStore) -> None:
    shop.order("o-1", "Checkout")
    assert harel("suspend", "o-1").lines[1].split()[:5] == ["o-1", "order", "2", "SUSPENDED", "Checks"]
    assert {store.load(id).status for id in store.ids_with_prefix("o-1")} == {Status.SUSPENDED}

    assert harel("resume", "o-1", "--json").status == 0
    assert {store.load(id).status for id in store.ids_with_prefix("o-1")} == {Status.RUNNING}


def test_a_command_out_of_season_says_so(harel: Harel, shop: Shop) -> None:
    shop.order("o-1")

    assert harel("resume", "o-1").err == "harel: o-1 is RUNNING: there was nothing to do\n"


# --- cancel, terminate


@pytest.mark.parametrize("command", ["cancel", "terminate"])
def test_without_a_terminal_nothing_ends_without_yes(
    harel: Harel, shop: Shop, store: SqliteStore, command: str
) -> None:
    shop.order("o-1")
    refused = harel(command, "o-1")

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"harel: {command.title()} o-1 (order, RUNNING in Cart)?")
    assert refused.err.endswith("Nothing was done: there is no terminal to answer at; pass --yes\n")
    assert store.load("o-1").status is Status.RUNNING


@pytest.mark.parametrize(("answer", "status", "ends"), [("y\n", 0, True), ("n\n", 1, False), ("", 1, False)])
def test_at_a_terminal_the_answer_decides(
    harel: Harel, shop: Shop, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, ends: bool
) -> None:
    shop.order("o-1")
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    ended = harel("terminate", "o-1")

    assert ended.status == status
    assert "Terminate o-1 (order, RUNNING in Cart)? None of the machine's handlers will run. [y/N]" in ended.err
    assert (store.load("o-1").status is Status.CANCELLED) is ends


def test_cancel_of_an_unknown_machine_ends_it_where_it_stands_and_says_so(
    harel: Harel, shop: Shop, store: SqliteStore
) -> None:
    shop.order("o-1", "Pay")
    ended = harel("cancel", "o-1", "--yes", "--reason", "fraud")

    assert ended.status == 0
    assert ended.err == (
        "harel: o-1: machine order version 2 is neither loaded here nor published, so the execution is ended where it "
        "stands, without its `on Cancel`\n"
    )
    assert (store.load("o-1").status, store.load("o-1").active_path) == (Status.CANCELLED, "Paying")


def test_cancel_of_a_published_machine_is_finished_by_a_worker_where_the_handlers_are_not_here(
    harel: Harel, shop: Shop, store: SqliteStore, machine: Definition
) -> None:
    publish_definitions(store, [machine])
    shop.order("o-1", "Pay")
    asked = harel("cancel", "o-1", "--yes")
    assert asked.status == 0
    assert asked.err == "harel: o-1: what follows runs refund, which is not to be had here; a worker does it\n"
    assert store.load("o-1").status is Status.CANCELLING

    shop.runner.fire_due_timers()
    assert (store.load("o-1").status, store.load("o-1").outcome) == (Status.DONE, "withdrawn")
    assert shop.ran == ["charge", "refund"]


BOUND = """
import pathlib

from harel import Definition, definition_from_dsl

def charge(stm, event): pass
async def refund(stm, event):
    pathlib.Path("refunded").write_text(str(event.data["reason"]))

machine = definition_from_dsl({source!r}, actions={{"charge": charge, "refund": refund}})
"""


def test_cancel_runs_the_handlers_that_the_environment_names(
    harel: Harel, shop: Shop, store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_machines_1.py").write_text(BOUND.format(source=ORDER))
    monkeypatch.setenv("HAREL_DEFINITIONS", "shop_machines_1")
    monkeypatch.syspath_prepend(tmp_path)
    shop.order("o-1", "Pay")
    ended = harel("cancel", "o-1", "--yes", "--reason", "fraud")

    assert (ended.status, ended.err) == (0, "")
    assert ended.lines[1].split()[3:6] == ["DONE", "Withdrawn", "withdrawn"]
    assert (tmp_path / "refunded").read_text() == "fraud"


PUBLISHED = """
event Pay {}

machine parcel {
  initial Waiting
  state Waiting {}
  state Again {}
  state Elsewhere {}
  state Going { on enter shop_actions_1.go }
  state Joining { on enter shop_actions_1.join }

  from Waiting to Going on Pay
  from Again to Going
  from Elsewhere to Joining
  from Going to Waiting on Pay
  from Joining to Waiting on Pay
}
"""

ACTIONS = """
import pathlib
from os.path import join

pathlib.Path("imported").touch()

def go(stm, event):
    pathlib.Path("gone").touch()
"""


@pytest.fixture
def dead_parcel(store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    """A store with the dead letter p-1 of a published machine, whose actions are in a module of the current folder."""
    parcel = definition_from_dsl(PUBLISHED)
    publish_definitions(store, [parcel])
    runner = DurableRunner(store, [parcel], resolver=lambda path: len)  # `len(stm, event)` raises
    runner.create("parcel", execution_id="p-1")
    assert runner.process("p-1", Event("Pay")).status is Status.FAILED
    (tmp_path / "shop_actions_1.py").write_text(ACTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop_actions_1", raising=False)
    return store


def test_redrive_runs_no_action_of_a_published_machine_that_is_not_allowed(
    harel: Harel, dead_parcel: SqliteStore
) -> None:
    before = dead_parcel.load("p-1")
    refused = harel("redrive", "p-1", "Again")

    assert refused == Result(
        2,
        "",
        "harel: p-1: going on from Again runs shop_actions_1.go, which is not to be had here; nothing was changed. "
        "Set HAREL_DEFINITIONS or HAREL_ACTION_MODULES as the workers have it\n",
    )
    assert dead_parcel.load("p-1") == before
    assert not Path("imported").exists()


def test_redrive_runs_the_actions_of_a_module_that_is_allowed(
    harel: Harel, dead_parcel: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAREL_ACTION_MODULES", "shop_actions_1")

    assert harel("redrive", "p-1", "Again").lines[1].split()[3:5] == ["RUNNING", "Going"]
    assert Path("gone").exists()


def test_what_an_allowed_module_merely_imported_is_not_run(
    harel: Harel, dead_parcel: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAREL_ACTION_MODULES", "shop_actions_1")
    refused = harel("redrive", "p-1", "Elsewhere")

    assert refused.status == 2
    assert refused.err.startswith("harel: the action shop_actions_1.join is a function of posixpath, which this")
    assert dead_parcel.load("p-1").status is Status.FAILED


def test_terminate_ends_a_tree_without_its_machine(harel: Harel, shop: Shop, store: SqliteStore) -> None:
    shop.order("o-1", "Checkout")
    harel("terminate", "o-1", "-y")
    shop.runner.fire_due_timers()

    assert {store.load(id).status for id in store.ids_with_prefix("o-1")} == {Status.CANCELLED}


# --- redrive


def test_redrive_puts_a_dead_letter_back_on_a_published_machine(
    harel: Harel, shop: Shop, store: SqliteStore, machine: Definition
) -> None:
    publish_definitions(store, [machine])
    shop.fails = True
    shop.order("o-1", "Pay")
    driven = harel("redrive", "o-1", "Paying")

    assert (driven.status, driven.err) == (0, "")
    assert driven.lines[1].split()[3:5] == ["RUNNING", "Paying"]
    assert [timer.path for timer in store.timers("o-1")] == ["Paying"]


@pytest.mark.parametrize(
    ("id", "path", "message"),
    [
        ("failed", "Nowhere", "machine order version 2 has no state 'Nowhere'"),
        ("failed", "Checks", "'Checks' of machine order is no leaf but orthogonal: name a leaf"),
        ("live", "Cart", "execution 'live' is RUNNING: only a FAILED one can be redriven"),
    ],
)
def test_redrive_to_where_it_cannot_go_is_one_line(
    harel: Harel, shop: Shop, store: SqliteStore, machine: Definition, id: str, path: str, message: str
) -> None:
    publish_definitions(store, [machine])
    shop.order("live")
    shop.fails = True
    shop.order("failed", "Pay")

    assert harel("redrive", id, path) == Result(2, "", f"harel: {message}\n")


def test_redrive_without_the_machine_says_where_it_is_looked_for(harel: Harel, shop: Shop) -> None:
    shop.fails = True
    shop.order("o-1", "Pay")

    assert harel("redrive", "o-1", "Paying") == Result(
        2,
        "",
        "harel: machine order version 2 is not loaded here; loaded: nothing; set HAREL_DEFINITIONS, or publish it\n",
    )


# --- purge


def test_purge_by_age_asks_archives_and_deletes(harel: Harel, shop: Shop, store: SqliteStore, tmp_path: Path) -> None:
    shop.order("ended", "Checkout", "Pay")
    shop.order("live")
    assert harel("purge", "--older-than", "2w", "--dry-run") == Result(0, "would purge ended\n", "")

    asked = harel("purge", "--older-than", "2w")
    assert asked.status == 2
    assert "Delete 1 execution for good, 2 records with all below?" in asked.err

    done = harel("purge", "--older-than", "2w", "--archive", tmp_path / "ended.jsonl", "--yes")
    assert done == Result(0, "purged ended\n", "")
    assert store.ids_with_prefix("") == ["live"]
    assert [kept.outcome for kept in JsonlArchive(tmp_path / "ended.jsonl").read()] == ["success", "success"]
    assert harel("purge", "--older-than", "2w", "--yes") == Result(0, "nothing to purge\n", "")


def test_purge_by_name_keeps_what_has_not_ended(harel: Harel, shop: Shop, store: SqliteStore) -> None:
    shop.order("ended", "Checkout", "Pay")
    shop.order("live")
    done = harel("purge", "ended", "live", "--yes")

    assert done.status == 1
    assert done.out == (
        "purged ended\n"
        "kept live: execution 'live' is not finished: 'live' is RUNNING; end it first (cancel or terminate)\n"
    )
    assert store.ids_with_prefix("") == ["live"]


def test_purge_as_json(harel: Harel, store: SqliteStore) -> None:
    store.create(Execution("o-1", "order", 1, status=Status.DONE, version=1, finished_at=1.0), Effects())
    store.create(Execution("o-1/a/1", "order", 1, status=Status.FAILED, version=1, parent_id="o-1"), Effects())
    store.create(Execution("o-2", "order", 1, status=Status.CANCELLED, version=1, finished_at=1.0), Effects())
    done = harel("purge", "--older-than", "1d", "--yes", "--json")

    assert json.loads(done.out) == {
        "purged": ["o-2"],
        "executions": 1,
        "kept": [
            {
                "id": "o-1",
                "reason": "execution 'o-1' is not finished: 'o-1/a/1' is FAILED; end it first (cancel or terminate)",
            }
        ],
        "dry_run": False,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["purge"], "name executions, or say --older-than 30d; see harel purge --help"),
        (["purge", "o-1", "--older-than", "1d"], "name executions, or say --older-than 30d; see harel purge --help"),
        (["purge", "o-1", "--limit", "1"], "--status and --limit go with --older-than; see harel purge --help"),
        (
            ["purge", "--older-than", "soon"],
            "argument --older-than: 'soon' is no length of time; write seconds, or 45s, 15m, 12h, 7d, 2w; "
            "see harel purge --help",
        ),
        (
            ["list", "--limit", "0"],
            "argument --limit: '0' is not a whole number, at least 1; see harel list --help",
        ),
        (
            ["list", "--status", "gone"],
            "argument --status: 'gone' is no status; it is one of PENDING, RUNNING, SUSPENDED, CANCELLING, DONE, "
            "CANCELLED, FAILED; see harel list --help",
        ),
        (["show"], "the following arguments are required: ID; see harel show --help"),
        (
            ["purge", "--older-than", "1d", "--status", "FAILED", "--yes"],
            "statuses are FAILED; only roots that are DONE or CANCELLED can be purged",
        ),
    ],
)
def test_wrong_use_is_one_line(harel: Harel, store: SqliteStore, arguments: list[str], message: str) -> None:
    store.list_executions()

    assert harel(*arguments) == Result(2, "", f"harel: {message}\n")


# --- the environment


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("HAREL_STORE_BACKEND", "oracle", "HAREL_STORE_BACKEND is 'oracle'; the backends are "),
        ("HAREL_STORE_URL", "ftp://app:s3cret@db/shop", "no store backend reads ftp://app:***@db/shop; the backends"),
        ("HAREL_STORE_URL", "sqlite:///:memory:", "sqlite:///:memory: is no file: a command needs one that others see"),
        ("HAREL_STORE_URL", ":memory:", ":memory: is no file: a command needs one that others see"),
        ("HAREL_STORE_URL", "sqlite://orders.db", "sqlite://orders.db has a host: write three slashes"),
        ("HAREL_PREFIX", "Shop", "HAREL_PREFIX is 'Shop'; it names tables: use 1 to 30 of a-z, 0-9 and _"),
        ("HAREL_CREATE_SCHEMA", "maybe", "HAREL_CREATE_SCHEMA is 'maybe'; it is 1 or 0"),
        ("HAREL_TRACE", "often", "HAREL_TRACE is 'often'; it is 1 or 0"),
        ("HAREL_TRACE_MAX", "-1", "HAREL_TRACE_MAX is '-1'; it is a whole number, at least 1"),
        ("HAREL_CONCURRENCY", "many", "HAREL_CONCURRENCY is 'many'; it is a whole number, at least 1"),
        ("HAREL_DEFINITIONS_DIR", "no/such", "HAREL_DEFINITIONS_DIR is 'no/such', which is no folder"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(
    harel: Harel, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    refused = harel("list")

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"harel: {message}")
    assert refused.err.count("\n") == 1
    assert "s3cret" not in refused.err


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ("no_such_machines", "which cannot be imported: ModuleNotFoundError: No module named 'no_such_machines'"),
        ("json", "which holds no machine; name a module made by harelc"),
    ],
)
def test_a_module_without_machines_is_one_line(
    harel: Harel, shop: Shop, monkeypatch: pytest.MonkeyPatch, modules: str, message: str
) -> None:
    shop.order("o-1")
    monkeypatch.setenv("HAREL_DEFINITIONS", modules)

    assert harel("suspend", "o-1") == Result(2, "", f"harel: HAREL_DEFINITIONS names '{modules}', {message}\n")


def test_without_a_store_the_command_says_how_to_name_one(harel: Harel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAREL_STORE_URL")

    assert harel("list") == Result(
        2, "", "harel: no store is named: set HAREL_STORE_URL, or pass --store sqlite:///orders.db\n"
    )


def test_a_file_that_is_not_there_is_not_created(harel: Harel, database: Path) -> None:
    refused = harel("list")

    assert refused.status == 2
    assert refused.err.startswith(f"harel: SQLite store '{database}' does not exist")
    assert not database.exists()


@pytest.mark.parametrize("form", ["sqlite:///{}", "{}"])
def test_the_command_line_wins_over_the_environment(
    harel: Harel, shop: Shop, database: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    shop.order("o-1")
    monkeypatch.setenv("HAREL_STORE_BACKEND", "oracle")
    monkeypatch.setenv("HAREL_STORE_URL", "oracle://db")

    assert harel("list", "--store", form.format(database)).lines[1].split()[0] == "o-1"
    assert harel("list", "--store", form.format(database.name)).lines[1].split()[0] == "o-1"


def test_a_prefix_leads_to_other_tables(harel: Harel, database: Path, machine: Definition) -> None:
    Shop(SqliteStore(database, prefix="eu"), machine).order("o-eu")

    assert harel("list", "--prefix", "eu").lines[1].split()[0] == "o-eu"
    assert "has no tables with the prefix 'us'" in harel("list", "--prefix", "us").err


# --- sources


def test_publish_keeps_machines_and_creates_the_file(harel: Harel, database: Path, machine: Definition) -> None:
    Path("order.stm").write_text(ORDER)
    assert harel("publish", "order.stm") == Result(0, f"order 2 {machine.digest} published\n", "")
    assert SqliteStore(database).list_definitions() == [("order", 2, machine.digest)]

    assert harel("publish", ".") == Result(0, f"order 2 {machine.digest} there already\n", "")


def test_publish_of_an_edited_version_names_both_digests_and_the_remedy(harel: Harel, machine: Definition) -> None:
    Path("order.stm").write_text(ORDER)
    harel("publish", "order.stm")
    Path("order.stm").write_text(ORDER.replace("900", "901"))
    refused = harel("publish", "order.stm")

    assert refused.status == 1
    assert machine.digest in refused.err
    assert "`version 3`" in refused.err


def test_publish_without_anything_to_publish(harel: Harel) -> None:
    assert harel("publish") == Result(
        2, "", "harel: nothing to publish: name sources or folders, or set HAREL_DEFINITIONS or HAREL_DEFINITIONS_DIR\n"
    )


def test_publish_takes_the_machines_of_the_environment(
    harel: Harel, store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_machines_2.py").write_text(BOUND.format(source=ORDER))
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "parcel.stm").write_text(PUBLISHED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HAREL_DEFINITIONS", "shop_machines_2")
    monkeypatch.setenv("HAREL_DEFINITIONS_DIR", "sources")

    assert [(one["machine"], one["published"]) for one in json.loads(harel("publish", "--json").out)] == [
        ("order", True),
        ("parcel", True),
    ]
    assert [(id, version) for id, version, _ in store.list_definitions()] == [("order", 2), ("parcel", 1)]


def test_publish_of_a_source_with_mistakes_prints_the_findings_and_publishes_nothing(
    harel: Harel, database: Path
) -> None:
    Path("order.stm").write_text(ORDER.replace("to Paying on Pay", "to Payng on Pay"))
    refused = harel("publish", "order.stm")

    assert refused.status == 1
    assert "error[unknown_state]: no state `Payng`" in refused.err
    assert "--> order.stm:20:16" in refused.err
    assert not database.exists()


def test_create_schema_can_be_forbidden(harel: Harel, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("order.stm").write_text(ORDER)
    monkeypatch.setenv("HAREL_CREATE_SCHEMA", "0")

    assert harel("publish", "order.stm").status == 2
    assert not database.exists()


def test_a_source_may_come_from_standard_input(
    harel: Harel, machine: Definition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def typed(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    typed(ORDER)
    assert harel("hash", "-").out == f"order 2 {machine.digest}\n"

    typed(ORDER.replace("to Paying on Pay", "to Payng on Pay"))
    assert harel("validate", "-").status == 1


def test_hash_prints_machine_version_and_digest(harel: Harel, machine: Definition) -> None:
    Path("order.stm").write_text(ORDER)

    assert harel("hash", "order.stm") == Result(0, f"order 2 {machine.digest}\n", "")
    assert json.loads(harel("hash", "order.stm", "--json").out) == [
        {"machine": "order", "version": 2, "digest": machine.digest}
    ]


def test_validate_prints_findings_and_exits_1(harel: Harel) -> None:
    Path("order.stm").write_text(ORDER.replace("to Paying on Pay", "to Payng on Pay"))
    found = harel("validate", "order.stm")

    assert found.status == 1
    assert "unknown_state" in found.out
    assert "order.stm:20:16" in found.out
    assert json.loads(harel("validate", "order.stm", "--json").out)[0]["code"] == "unknown_state"


def test_validate_of_a_sound_file_is_silent(harel: Harel) -> None:
    Path("order.stm").write_text(ORDER)

    assert harel("validate", "order.stm") == Result(0, "", "")


@pytest.mark.parametrize("command", ["validate", "hash", "publish"])
def test_a_source_that_is_not_there_is_one_line(harel: Harel, command: str) -> None:
    refused = harel(command, "no.stm")

    assert refused.status == 2
    assert refused.err == "harel: no.stm: No such file or directory\n"


# --- schema, help


def test_schema_prints_the_sql_with_the_prefix(harel: Harel) -> None:
    printed = harel("schema", "sqlite", "--prefix", "eu")

    assert printed.status == 0
    assert "CREATE TABLE IF NOT EXISTS eu_" in printed.out
    assert harel("schema").status == 0
    assert json.loads(harel("schema", "--json").out)["dialect"] == "sqlite"
    assert harel("schema", "oracle").err.startswith("harel: no SQL schema is known for 'oracle'; known are ")


def test_help_names_every_command(harel: Harel) -> None:
    words = harel("--help").out.split()
    for command in (
        *("list", "show", "suspend", "resume", "cancel", "terminate", "redrive", "purge"),
        *("publish", "validate", "hash", "schema"),
    ):
        assert command in words
        assert harel(command, "--help").out.startswith(f"usage: harel {command}")


def test_without_a_command_the_help_is_an_error(harel: Harel) -> None:
    told = harel()

    assert (told.status, told.out) == (2, "")
    assert "usage: harel" in told.err


# --- the process


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(
        [sys.executable, "-m", "harel", *arguments], stderr=subprocess.PIPE, text=True, env=environment, **options
    )


def test_a_reader_that_has_had_enough_ends_it_quietly(shop: Shop) -> None:
    for number in range(50):
        shop.order(f"o-{number}", context={"text": "x" * 5_000})
    with start("list", "--json", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()

        assert process.stderr.read() == ""
    assert process.returncode in (0, 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_one_line(shop: Shop) -> None:
    shop.order("o-1")
    with Path("/dev/full").open("w") as full, start("list", stdout=full) as process:
        assert process.stderr is not None
        assert process.stderr.read() == "harel: No space left on device\n"
    assert process.returncode == 2


def test_a_pipe_gets_no_colours_and_utf8(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    shop.order("é😀")
    with start("list", stdout=subprocess.PIPE, encoding="utf-8") as process:
        out, _ = process.communicate()

    assert "\x1b" not in out
    assert "é😀" in out


def test_a_terminal_gets_colours_unless_it_wants_none(
    shop: Shop, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.order("o-1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True)
    main(["list"])
    assert "\x1b[36mRUNNING\x1b[0m" in capsys.readouterr().out

    monkeypatch.setenv("NO_COLOR", "1")
    main(["list"])
    assert "\x1b" not in capsys.readouterr().out


def test_ctrl_c_ends_it_with_130(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting(Terminal):
        def readline(self, *_: Any) -> str:
            signal.raise_signal(signal.SIGINT)
            return ""

    shop.order("o-1")
    monkeypatch.setattr(sys, "stdin", Interrupting())

    assert main(["terminate", "o-1"]) == 130


def test_the_command_leaves_the_log_of_the_program_alone(harel: Harel, shop: Shop) -> None:
    shop.order("o-1")
    before = (logging.getLogger("harel").handlers[:], logging.getLogger("harel").propagate)
    harel("list")

    assert (logging.getLogger("harel").handlers, logging.getLogger("harel").propagate) == before


def test_the_command_imports_neither_compiler_nor_servers(database: Path, shop: Shop) -> None:
    shop.order("o-1")
    code = (
        "import sys; from harel.cli import main; main(['list']); "
        "print([name for name in ('harelc', 'textx', 'jinja2', 'redis', 'psycopg', 'click') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
