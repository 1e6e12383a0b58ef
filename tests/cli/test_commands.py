"""The commands beside `build`: what they print and how they end (build.md section 1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Command

ORDER = """\
import "lib.stm" as lib
event Checkout { amount: int }
event PaymentResult { status: string }
bind { charge = shop.payments.charge }
machine order version 3 {
  context { amount: int = 0 }
  initial Cart
  state Cart {}
  state AwaitingPayment { timeout 15m  on enter hold(kind: "card") }
  state Verdict {}
  final Paid success { on enter charge }
  final Abandoned abandoned {}
  from Cart to AwaitingPayment on Checkout set context.amount = event.amount
  from AwaitingPayment to Verdict on PaymentResult where lib.authorized or status == "x"
  from AwaitingPayment to Abandoned on Timeout
  from Verdict select judge returns {"yes", "no"} { "yes" to Paid  "no" to Abandoned }
}
"""


@pytest.fixture
def order(project: Path) -> Path:
    (project / "lib.stm").write_text('guard authorized = status == "authorized"\n')
    file = project / "order.stm"
    file.write_text(ORDER.replace("lib.authorized", "authorized"))
    return file


def test_list_names_every_declaration_in_order(order: Path, harelc: Command) -> None:
    listed = harelc("list", order)

    assert listed.status == 0
    assert listed.out.splitlines() == [
        'import "lib.stm" as lib',
        "event Checkout",
        "event PaymentResult",
        "bind charge = shop.payments.charge",
        "machine order version 3",
    ]


def test_list_shows_what_can_be_read_of_a_broken_file(order: Path, harelc: Command) -> None:
    order.write_text("event Go {}\nevent {\nguard g = x == 1\n")
    listed = harelc("list", order)

    assert listed.status == 1
    assert "event Go" in listed.out.splitlines()
    assert "error[syntax_error]" in listed.err


def test_hash_prints_machine_version_and_digest(order: Path, harelc: Command) -> None:
    name, version, digest = harelc("hash", order).out.split()

    assert (name, version, len(digest)) == ("order", "3", 64)
    order.write_text("# a remark\n" + order.read_text())
    assert harelc("hash", order).out.split()[2] == digest


@pytest.mark.parametrize(
    ("form", "beginning"), [("mermaid", "stateDiagram-v2"), ("plantuml", "@startuml"), ("dot", "digraph")]
)
def test_render_draws_the_only_machine(order: Path, harelc: Command, form: str, beginning: str) -> None:
    drawn = harelc("render", order, "--format", form)

    assert drawn.status == 0
    assert drawn.out.startswith(beginning)
    assert drawn.out == harelc("render", order, "order", "--format", form).out


def test_a_machine_that_is_not_there_is_named_with_the_nearest(order: Path, harelc: Command) -> None:
    drawn = harelc("render", order, "ordr")

    assert (drawn.status, drawn.out) == (2, "")
    assert drawn.err == "harelc: order.stm has no machine `ordr`; did you mean `order`?\n"


def test_check_says_that_nothing_was_found(order: Path, harelc: Command) -> None:
    assert harelc("check", order).out == "no findings in 1 file\n"
    assert harelc("check").out == "no findings in 2 files\n"


def test_check_prints_findings_with_their_lines_and_counts_them(order: Path, harelc: Command) -> None:
    order.write_text(order.read_text().replace("to Abandoned on Timeout", "to Abandonned on Timeout"))
    checked = harelc("check", "order.stm")

    assert checked.status == 1
    assert "--> order.stm:15:27" in checked.out
    assert "a state with a similar name exists: `Abandoned`" in checked.out
    assert checked.out.splitlines()[-1] == "1 error"


def test_check_in_json_prints_one_array_and_nothing_else(order: Path, harelc: Command) -> None:
    assert json.loads(harelc("check", order, "--format", "json").out) == []
    order.write_text(order.read_text().replace("to Abandoned on Timeout", "to Nowhere on Timeout"))
    (found,) = json.loads(harelc("check", order, "--format", "json").out)

    assert (found["code"], found["file"], found["line"], found["column"]) == ("unknown_state", "order.stm", 15, 27)


def test_strict_counts_warnings(order: Path, harelc: Command) -> None:
    order.write_text("event Never {}\n" + order.read_text())

    assert harelc("check", order).status == 0
    assert "warning[unused_event]" in harelc("check", order).out
    assert harelc("check", order, "--strict").status == 1


def test_a_syntax_error_in_one_file_does_not_hide_another(order: Path, harelc: Command) -> None:
    order.write_text(order.read_text().replace("to Abandoned on Timeout", "to Nowhere on Timeout"))
    (order.parent / "a.stm").write_text("event {\n")
    checked = harelc("check")

    assert "a.stm:1:" in checked.out
    assert "order.stm:15:27" in checked.out


@pytest.mark.parametrize("command", [["check"], ["list"], ["hash"], ["render"], ["run"]])
def test_a_dash_reads_standard_input(order: Path, harelc_process: Command, command: list[str]) -> None:
    told = harelc_process(*command, "-", input=order.read_text())

    assert (told.status, told.err) == (0, "")
    assert harelc_process(*command, "-", input="machine {").status == 1


def test_names_that_become_one_python_name_are_an_error_with_both_places(project: Path, harelc: Command) -> None:
    (project / "m.stm").write_text(
        'event "a b" {}\nevent a_b {}\n'
        'machine m { initial A  state A {}  final D success {}  from A to D on "a b" | a_b }\n'
    )
    checked = harelc("check", "m.stm")

    assert checked.status == 1
    assert "error[name_clash]" in checked.out
    assert "--> m.stm:2:7" in checked.out
    assert "m.stm:1:7" in checked.out
    assert harelc("build", "m.stm", "-o", "out").status == 1


def test_run_tells_each_step(order: Path, harelc: Command) -> None:
    told = harelc("run", order, "-e", 'Checkout:{"amount": 4200}', "-e", 'PaymentResult:{"status": "authorized"}')

    assert told.status == 0
    assert told.out.splitlines() == [
        "0 s  main  Start  - -> Cart  amount=0",
        "0 s  main  Checkout  Cart -> AwaitingPayment  (hold)  amount=4200",
        "0 s  main  PaymentResult  AwaitingPayment -> Paid  (judge, charge)  DONE  success",
    ]


def test_run_lets_time_pass(order: Path, harelc: Command) -> None:
    told = harelc("run", order, "-e", 'Checkout:{"amount": 1}', "--advance", "1000")

    assert told.out.splitlines()[-1] == "900 s  main  Timeout  AwaitingPayment -> Abandoned  DONE  abandoned"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-e", "Checkout:{"], "-e Checkout: not JSON"),
        (["-e", "Checkout:[1]"], "-e Checkout: a JSON object is needed"),
        (["-e", "Chekout"], "Checkout"),
        (["-e", 'Checkout:{"amount": true}'], "amount"),
        (["--seed", '{"amount": "x"}'], "amount"),
        (["--advance", "nan"], "--advance nan: a number of seconds, 0 or more"),
    ],
)
def test_run_refuses_what_the_machine_does_not_take(
    order: Path, harelc: Command, arguments: list[str], message: str
) -> None:
    told = harelc("run", order, *arguments)

    assert told.status == 2
    assert message in told.err
    assert len(told.err.splitlines()) == 1


def test_a_new_machine_checks_builds_and_runs(project: Path, harelc: Command) -> None:
    assert harelc("new", "machines/parcel.stm").status == 0
    assert harelc("check", "machines", "--strict").status == 0
    assert harelc("build", "machines").status == 0
    told = harelc("run", "machines/parcel.stm", "-e", "Submit", "-e", 'PaymentResult:{"status": "authorized"}')
    assert told.out.splitlines()[-1].endswith("DONE  success")


@pytest.mark.parametrize("name", ["order.stm", "order.txt"])
def test_new_overwrites_nothing_and_makes_sources_only(order: Path, harelc: Command, name: str) -> None:
    before = order.read_text()

    assert harelc("new", name).status == 2
    assert order.read_text() == before


def test_explain_shows_the_page_of_a_code(project: Path, harelc: Command) -> None:
    assert harelc("explain", "unknown_state").out.startswith("error[unknown_state]\n")
    told = harelc("explain", "unknown_stat")
    assert told.status == 2
    assert "`unknown_state`" in told.err
