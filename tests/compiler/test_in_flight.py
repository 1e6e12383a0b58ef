"""How running executions would fare if a machine were changed in place (build.md section 1, runtime.md section 6)."""

from __future__ import annotations

import pytest

from harel.definition import Definition
from harel.execution import Execution, Status
from harelc.compiler import compile_text
from harelc.difference import compare, compare_machines
from harelc.in_flight import Judgement, Verdict, judge, place_running

ORDER = """
event Go {}
event Stop {}
machine order version 2 {
  initial Cart
  state Cart {}
  state Packing {
    initial Wrapping
    state Wrapping { timeout 15m }
    state Wrapped {}
    from Wrapping to Wrapped on Go | Timeout
  }
  orthogonal Checks {
    state Fraud { initial Asking  state Asking {}  final Clear success {}  from Asking to Clear on Go }
    state Stock { initial Counting  state Counting {}  final Found success {}  from Counting to Found on Go }
  }
  final Done success {}
  final Stopped stopped {}
  from Cart to Packing on Go
  from Packing to Checks
  from Packing to Stopped on Stop
  from Checks join all to Done else to Stopped
}
"""


def machine(source: str) -> Definition:
    compilation = compile_text(source)
    assert [issue.message for issue in compilation.issues if issue.is_error] == []
    return compilation.definitions["order"]


def judged(*replaced: tuple[str, str]) -> Judgement:
    edited = ORDER
    for old, new in replaced:
        assert old in edited
        edited = edited.replace(old, new)
    found = judge(compare(machine(ORDER), machine(edited)))
    assert found is not None
    return found


def verdicts(*replaced: tuple[str, str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The places that are not as they were: verdict and reasons by path."""
    standings = judged(*replaced).standings
    return {each.path: (each.verdict, each.reasons) for each in standings if each.verdict != Verdict.SAME}


def test_only_states_in_which_an_execution_may_rest_are_judged() -> None:
    assert [(each.path, each.region) for each in judged().standings] == [
        ("Cart", ""),
        ("Packing.Wrapping", ""),
        ("Checks", ""),
        ("Checks.Fraud.Asking", "Checks.Fraud"),
        ("Checks.Stock.Counting", "Checks.Stock"),
    ]


def test_a_state_that_is_gone_strands_what_rests_there() -> None:
    assert verdicts(("Cart", "Basket")) == {"Cart": ("stranded", ("the state is gone; is it `Basket` now?",))}
    assert verdicts(("Packing", "Boxing"))["Packing.Wrapping"] == (
        "stranded",
        ("the state is gone; is it `Boxing.Wrapping` now?",),
    )


def test_what_is_different_around_a_state_is_seen_in_it() -> None:
    assert verdicts(("timeout 15m", "timeout 1m"), ("on Stop", "on Go")) == {
        "Packing.Wrapping": (
            "changed",
            (
                "transition: no longer to Stopped on Stop (of `Packing` around it)",
                "transition: now to Stopped on Go (of `Packing` around it)",
                "timer: 900s, now 60s",
            ),
        )
    }


def test_what_happens_at_entry_only_is_not_seen_by_who_is_in() -> None:
    assert verdicts(("state Cart {}", "state Cart { on enter greet }")) == {}


def test_regions_come_and_go() -> None:
    weather = "state Weather { initial Asking  state Asking {}  final Fine success {}  from Asking to Fine on Stop }"
    stock = ORDER[ORDER.index("    state Stock") : ORDER.index("  }\n  final Done")]

    assert verdicts((stock, weather)) == {
        "Checks": (
            "changed",
            ("region `Stock` is gone, and its execution stranded", "region `Weather` was never started"),
        ),
        "Checks.Stock.Counting": ("stranded", ("the state is gone",)),
    }


def test_a_region_that_is_none_any_more_strands_its_execution() -> None:
    composite = ("orthogonal Checks {", "state Checks { initial Fraud")
    found = verdicts(composite, ("join all to Done else to Stopped", "to Done"))
    run_by = "the state is run by the machine itself now, not by the region"

    assert found == {
        "Checks": ("stranded", ("the state is a composite now, not orthogonal, and nobody enters it anew",)),
        "Checks.Fraud.Asking": ("stranded", (f"{run_by} `Checks.Fraud`",)),
        "Checks.Stock.Counting": ("stranded", (f"{run_by} `Checks.Stock`",)),
    }


def test_a_state_that_nothing_leads_out_of_any_more() -> None:
    closed = ("  from Cart to Packing on Go\n", "")
    outcome = ("state Cart {}", "state Cart { outcome bought }")

    assert verdicts(closed, outcome)["Cart"] == ("stranded", ("nothing leads on from it any more",))


def test_an_invoked_machine_that_changes() -> None:
    source = """
    event Go {{}}
    machine child version {version} {{ initial A  state A {{}}  final Done ok {{}}  from A to Done on Go }}
    machine order {{
      initial Paying  state Paying {{ invoke child }}  final Done ok {{}}
      from Paying to Done on Returned
    }}
    """
    found = judge(compare(machine(source.format(version=1)), machine(source.format(version=2))))

    assert found is not None
    assert [(each.path, each.reasons) for each in found.standings] == [
        ("Paying", ("invoke: child (version 1), now child (version 2)",))
    ]


def test_a_machine_written_inside_is_judged_by_itself() -> None:
    inline = "initial B  state B {}  final Done ok {}  from B to Done on Go"
    states = f"initial A  state A {{ invoke {{ {inline} }} }}  final Done ok {{}}  from A to Done on Returned"
    source = f"event Go {{}}\nmachine order {{ {states} }}"
    outer, inner = compare_machines([machine(source)], [machine(source.replace("B", "C"))])
    judgements = [judge(outer), judge(inner)]

    assert [[each.verdict for each in found.standings] for found in judgements if found] == [["same"], ["stranded"]]


@pytest.mark.parametrize(
    ("version", "bumped", "refused"), [("2", False, True), ("3", True, False), ("1", False, False)]
)
def test_a_bump_is_a_higher_version(version: str, bumped: bool, refused: bool) -> None:
    found = judged(("version 2", f"version {version}"), ("on Stop", "on Go"))

    assert (found.bumped, found.refused) == (bumped, refused)


def test_what_concerns_all_is_said_once() -> None:
    found = judged(("initial Cart", "ttl 60  context { n: int }  initial Cart"))

    assert found.everywhere == ("ttl: now 60s", "schema: any keys, now declared keys", "context n: now int")


def test_running_executions_are_counted_where_they_rest() -> None:
    found = compare(machine(ORDER), machine(ORDER.replace("Cart", "Basket")))
    fraud = "Checks.Fraud"
    executions = [
        Execution("o-1", "order", 2, status=Status.RUNNING, active_path="Cart"),
        Execution("o-2", "order", 2, status=Status.SUSPENDED, active_path="Cart"),
        Execution("o-3", "order", 2, status=Status.DONE, active_path="Cart"),
        Execution("o-4", "order", 1, status=Status.RUNNING, active_path="Cart"),
        Execution("o-5", "order", 2, status=Status.RUNNING, active_path="Checks"),
        Execution("o-5/Fraud", "order", 2, status=Status.RUNNING, active_path=f"{fraud}.Asking", region=fraud),
        Execution("o-6", "order", 2, status=Status.RUNNING, active_path="Nowhere"),
    ]

    assert [(each.standing.path, each.standing.verdict, each.ids) for each in place_running(found, executions)] == [
        ("Cart", "stranded", ("o-1", "o-2")),
        ("Checks", "same", ("o-5",)),
        ("Checks.Fraud.Asking", "same", ("o-5/Fraud",)),
        ("Nowhere", "stranded", ("o-6",)),
    ]
