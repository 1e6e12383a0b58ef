"""`harelc diff`: its sides, formats and exit statuses (build.md section 1)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commands import Command

from harel import DurableRunner, Event, SqliteStore
from harelc.compiler import compile_text

ORDER = """\
event Go {}
machine order version 2 {
  initial Cart
  state Cart { timeout 15m }
  state Packing {}
  final Done success {}
  from Cart to Packing on Go
  from Cart to Done on Timeout
  from Packing to Done on Go
}
"""


@pytest.fixture
def order(project: Path) -> Path:
    """The folder `machines` with an order in it."""
    (project / "machines").mkdir()
    file = project / "machines" / "order.stm"
    file.write_text(ORDER)
    return file


@pytest.fixture
def edited(order: Path) -> Path:
    """The order in a file of its own, with another delay and another name for a state."""
    file = order.with_name("edited.stm")
    file.write_text(ORDER.replace("15m", "1m").replace("Packing", "Boxing"))
    return file


def test_what_means_the_same_ends_with_0(order: Path, harelc: Command) -> None:
    other = order.with_name("other.stm")
    other.write_text("# a remark\n" + ORDER.replace("15m", "900"))
    compared = harelc("diff", order, other)

    assert (compared.status, compared.out, compared.err) == (0, "no difference in meaning\n", "")


def test_another_digest_alone_is_said_and_no_difference(order: Path, harelc: Command) -> None:
    other = order.with_name("other.stm")
    last = "  from Packing to Done on Go\n"
    other.write_text(ORDER.replace(last, "").replace("  from Cart to Packing", f"{last}  from Cart to Packing"))
    plain = harelc("diff", order, other)
    in_flight = harelc("diff", order, other, "--in-flight")

    assert plain.status == 0
    assert "its digest differs" in plain.out
    assert in_flight.status == 1
    assert "version 2 was not bumped" in in_flight.out


def test_differences_end_with_1(edited: Path, order: Path, harelc: Command) -> None:
    compared = harelc("diff", order, edited)

    assert compared.status == 1
    assert compared.out.splitlines() == [
        "machine order  version 2",
        "  states",
        "    - Packing  leaf",
        "    + Boxing  leaf",
        "  transitions",
        "    ~ from Cart",
        "        - to Packing on Go",
        "        + to Boxing on Go",
        "    - from Packing  to Done on Go",
        "    + from Boxing  to Done on Go",
        "  timers",
        "    ~ Cart  900s -> 60s",
        "  renamed? Packing -> Boxing",
        "",
        "2 added, 2 removed, 2 changed in 1 machine",
    ]


def test_json_is_one_object_and_nothing_else(edited: Path, order: Path, harelc: Command) -> None:
    compared = harelc("diff", order, edited, "--json", "--in-flight")
    document = json.loads(compared.out)
    (machine,) = document["machines"]

    assert (compared.status, compared.err, document["different"]) == (1, "", True)
    assert (machine["machine"], machine["status"], machine["old"]["version"]) == ("order", "changed", 2)
    assert machine["renames"] == [{"old": "Packing", "new": "Boxing"}]
    assert machine["changes"][-1] == {
        "change": "changed", "subject": "timer", "name": "Cart", "aspect": None, "old": "900s", "new": "60s",
    }  # fmt: skip
    assert machine["in_flight"]["bumped"] is False
    assert [(state["path"], state["verdict"]) for state in machine["in_flight"]["states"]] == [
        ("Cart", "changed"),
        ("Packing", "stranded"),
    ]
    assert machine["in_flight"]["executions"] is None


def test_mermaid_draws_both(edited: Path, order: Path, harelc: Command) -> None:
    drawn = harelc("diff", order, edited, "--mermaid")

    assert drawn.status == 1
    assert drawn.out.startswith("flowchart TB\n")
    assert "classDef added fill:#dafbe1" in drawn.out
    assert "classDef removed fill:#ffebe9" in drawn.out


def test_a_bump_strands_nothing(order: Path, edited: Path, harelc: Command) -> None:
    edited.write_text(edited.read_text().replace("version 2", "version 3"))
    compared = harelc("diff", order, edited, "--in-flight")

    assert "version 2 was bumped to 3: nothing is stranded, what runs stays on 2" in compared.out
    assert "if it were changed in place:" in compared.out
    assert "      stranded  Packing" in compared.out


def test_standard_input_may_be_one_side(order: Path, harelc_process: Command) -> None:
    compared = harelc_process("diff", order, "-", input=ORDER.replace("15m", "1m"))

    assert compared.status == 1
    assert "    ~ Cart  900s -> 60s\n" in compared.out


def test_folders_are_compared_machine_by_machine(order: Path, project: Path, harelc: Command) -> None:
    (project / "new").mkdir()
    (project / "new" / "shop.stm").write_text(ORDER + ORDER.split("\n", 1)[1].replace("order", "refund"))
    compared = harelc("diff", "machines", "new")

    assert compared.status == 1
    assert compared.out.splitlines() == ["+ machine refund  version 2", "", "1 added in 1 machine"]
    assert harelc("diff", "machines", "new", "--machine", "order").status == 0


def test_machines_of_imported_files_count_too(project: Path, harelc: Command) -> None:
    for name, delay in (("a", "1m"), ("b", "2m")):
        (project / name).mkdir()
        (project / name / "lib.stm").write_text(ORDER.replace("15m", delay))
        (project / name / "main.stm").write_text(
            'import "lib.stm" as lib\n'
            "machine sale { initial A  state A { invoke lib.order }  final B ok {}  from A to B on Returned }\n"
        )
    compared = harelc("diff", "a/main.stm", "b/main.stm")

    assert "machine sale  version 1\n  it means what it meant; its digest differs" in compared.out
    assert "    ~ Cart  60s -> 120s\n" in compared.out


# --- git


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def committed(order: Path) -> Path:
    """The order in a repository, with an import, as `v1`; then changed on the disk."""
    guarded = ORDER.replace("Packing on Go", "Packing on Go where big").replace("Go {}", "Go { n: int }")
    order.write_text(f'import "lib.stm"\n{guarded}')
    order.with_name("lib.stm").write_text("guard big = n > 100\n")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "Sell")
    git("tag", "v1")
    order.with_name("lib.stm").write_text("guard big = n > 200\n")
    return order


@pytest.mark.parametrize("old", ["git:v1:machines/order.stm", "git:HEAD:machines", "git:main:./machines/order.stm"])
def test_a_revision_is_read_with_its_own_imports(committed: Path, harelc: Command, old: str) -> None:
    new = committed.parent if old.endswith("machines") else committed
    compared = harelc("diff", old, new)

    assert (compared.status, compared.err) == (1, "")
    assert "    ~ big  n > 100 -> n > 200\n" in compared.out


def test_a_path_counts_from_here_where_it_says_so(
    committed: Path, harelc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(committed.parent)

    assert harelc("diff", "git:v1:./order.stm", "git:v1:machines/order.stm").status == 0
    refused = harelc("diff", "git:v1:order.stm", "order.stm")
    hint = "a path counts from the root of the repository, or begins with ./"
    assert (refused.status, refused.err) == (2, f"harelc: revision v1 has no order.stm; {hint}\n")


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("git:v9:machines", "git has no revision 'v9' here"),
        ("git:v1:nowhere.stm", "revision v1 has no nowhere.stm"),
        ("git:v1:pyproject.toml/x", "revision v1 has no pyproject.toml/x"),
        ("git:v1", "write git:REV:PATH"),
        ("git::x", "write git:REV:PATH"),
        ("git:--all:x", "'--all' is no revision"),
        ("git:v1:../x", "leads out of the repository"),
        ("git:v1:/x", "write the path from the root of the repository"),
    ],
)
def test_what_git_has_not_is_wrong_use(committed: Path, harelc: Command, old: str, message: str) -> None:
    refused = harelc("diff", old, committed)

    assert (refused.status, refused.out) == (2, "")
    assert message in refused.err
    assert refused.err.count("\n") == 1


def test_without_git_or_a_repository_it_says_so(
    order: Path, harelc: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert "there is no git repository around" in harelc("diff", "git:HEAD:machines", order).err
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = harelc("diff", "git:HEAD:machines", order)

    assert refused.status == 2
    assert "`git` is not installed" in refused.err


def test_findings_in_a_revision_show_the_lines_of_the_revision(committed: Path, harelc: Command) -> None:
    committed.write_text(ORDER.replace("to Packing", "to Paking"))
    git("commit", "-q", "-a", "-m", "Misspell")
    committed.write_text("\n\n\n" + ORDER)
    compared = harelc("diff", "git:HEAD:machines/order.stm", committed)

    assert (compared.status, compared.out) == (2, "")
    assert "--> git:HEAD:machines/order.stm:7:16" in compared.err
    assert "  from Cart to Paking on Go" in compared.err


# --- a store


def test_running_executions_are_counted_and_the_stranded_ones_named(
    order: Path, edited: Path, harelc: Command, project: Path
) -> None:
    definition = compile_text(ORDER).definitions["order"]
    store = SqliteStore(project / "orders.db")
    runner = DurableRunner(store, [definition])
    for number in range(3):
        runner.create("order", execution_id=f"o-{number}")
    runner.process("o-1", Event("Go"))
    runner.process("o-2", Event("Go"))
    runner.process("o-2", Event("Go"))
    store.close()
    compared = harelc("diff", order, edited, "--in-flight", "--store", "sqlite:///orders.db")
    document = json.loads(harelc("diff", order, edited, "--in-flight", "--store", "orders.db", "--json").out)

    assert compared.status == 1
    assert "      changed   Cart  1 running\n" in compared.out
    assert "      stranded  Packing  1 running\n" in compared.out
    assert "    stranded executions: o-1\n" in compared.out
    executions = document["machines"][0]["in_flight"]["executions"]
    assert [(each["path"], each["running"], each["ids"]) for each in executions] == [
        ("Cart", 1, None),
        ("Packing", 1, ["o-1"]),
    ]


@pytest.mark.parametrize("url", ["sqlite:///nothing.db", "ftp://example", "sqlite:///:memory:"])
def test_a_store_that_cannot_be_read_is_wrong_use(order: Path, harelc: Command, project: Path, url: str) -> None:
    refused = harelc("diff", order, order, "--in-flight", "--store", url)

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith("harelc: ")
    assert not (project / "nothing.db").exists()


# --- wrong use


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["machines/order.stm"], "Missing argument 'NEW'"),
        (["nowhere.stm", "machines"], "nowhere.stm: there is no such file or folder"),
        (["-", "-"], "can be one side only"),
        (["machines", "machines", "--store", "x.db"], "--store goes with --in-flight"),
        (["machines", "machines", "--json", "--mermaid"], "do not go together"),
        (["machines", "machines", "--mermaid", "--in-flight"], "--in-flight goes with text or --json"),
        (["machines", "machines", "--machine", "ordre"], "neither side has a machine `ordre`; did you mean `order`?"),
        (["empty", "machines"], "there is no .stm file in empty"),
    ],
)
def test_wrong_use_ends_with_2(order: Path, harelc: Command, project: Path, arguments: list[str], message: str) -> None:
    (project / "empty").mkdir()
    refused = harelc("diff", *arguments)

    assert (refused.status, refused.out) == (2, "")
    assert message in refused.err


def test_a_diagram_shows_one_machine(order: Path, project: Path, harelc: Command) -> None:
    (project / "new").mkdir()
    (project / "new" / "shop.stm").write_text(ORDER.replace("order", "refund"))
    refused = harelc("diff", "machines", "new", "--mermaid")

    assert refused.status == 2
    assert "a diagram shows one machine, and here are `order`, `refund`: name one with --machine" in refused.err
    assert harelc("diff", "machines", "new", "--mermaid", "--machine", "refund").status == 1


def test_one_version_twice_with_other_content_cannot_be_compared(edited: Path, order: Path, harelc: Command) -> None:
    refused = harelc("diff", "machines", order)

    assert refused.status == 2
    both = "machines/edited.stm and, otherwise, by machines/order.stm"
    assert f"machine order version 2 is declared by {both}" in refused.err


def test_a_source_with_errors_is_reported_and_cannot_be_compared(order: Path, harelc: Command) -> None:
    broken = order.with_name("broken.stm")
    broken.write_text(ORDER.replace("to Packing", "to Paking"))
    refused = harelc("diff", order, broken)

    assert (refused.status, refused.out) == (2, "")
    assert "error[unknown_state]" in refused.err
