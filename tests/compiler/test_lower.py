"""From the plain machine to tables: every construct has its row (harel/definition.py; language.md sections 2 to 4)."""

from __future__ import annotations

import pytest

from harel import Definition
from harel.definition import Assign, Branch, Call, Doc, Field, State, Transition

from .sources import MAIN, compiled

EVENTS = "event Go { n: int }\nevent Stop {}\n"


def machine(body: str, before: str = "") -> Definition:
    made = compiled(f"{EVENTS}{before}machine order {{ {body} }}\n")
    assert not made.has_errors, made.issues
    return made.definitions["order"]


def guard(predicate: str) -> object:
    """The expression of a `where` with this predicate; `small` and `big` are named guards."""
    named = "guard small = n < 3\nguard big = n > 9\n"
    body = (
        f"initial A  state A {{}}  final F success {{}}  from A to F on Go where {predicate}  from A to F on Stop | Go"
    )
    return machine(body, named).transitions[0].guard


N = ("event", "n")


# --- predicates


@pytest.mark.parametrize(
    ("written", "expression"),
    [
        ("n == 1", ("==", N, ("lit", 1))),
        ("event.n != context.k", ("!=", N, ("context", "k"))),
        ("n in [1, 2]", ("in", N, ("lit", (1, 2)))),
        ("small", ("guard", "small")),
        ("not small", ("not", ("guard", "small"))),
        ("not not small", ("guard", "small")),
        ("small and big and n == 1", ("and", ("guard", "small"), ("guard", "big"), ("==", N, ("lit", 1)))),
        ("(small and big) and n == 1", ("and", ("guard", "small"), ("guard", "big"), ("==", N, ("lit", 1)))),
        ("small or (big or n == 1)", ("or", ("guard", "small"), ("guard", "big"), ("==", N, ("lit", 1)))),
        ("small or big and n == 1", ("or", ("guard", "small"), ("and", ("guard", "big"), ("==", N, ("lit", 1))))),
        ("not small and big", ("and", ("not", ("guard", "small")), ("guard", "big"))),
    ],
)
def test_a_predicate_is_a_flat_tree(written: str, expression: object) -> None:
    assert guard(written) == expression


def test_a_guard_is_kept_by_name_with_what_it_needs_and_nothing_else() -> None:
    before = "guard a = b or n == 1\nguard b = n == 2\nguard unused = n == 3\n"
    made = machine("initial A  state A {}  final F success {}  from A to F on Go where a  from A to F on Stop", before)

    assert made.guards == {
        "a": ("or", ("guard", "b"), ("==", N, ("lit", 1))),
        "b": ("==", N, ("lit", 2)),
    }


def test_depth_and_length_are_no_matter() -> None:
    assert guard("(" * 200 + "n == 1" + ")" * 200) == ("==", N, ("lit", 1))
    assert guard("not (" * 200 + "n == 1" + ")" * 200) == ("==", N, ("lit", 1))
    assert guard(" or ".join(f"n == {number}" for number in range(2_000))) == (
        "or",
        *(("==", N, ("lit", number)) for number in range(2_000)),
    )
    assert guard(f"n in [{', '.join(map(str, range(10_000)))}]") == ("in", N, ("lit", tuple(range(10_000))))


# --- states


def state(body: str, name: str = "A") -> State:
    made = machine(f"context {{ k: int = 0 }} initial A  {body}  final F success {{}}")
    return made.states[made.index[name]]


@pytest.mark.parametrize(
    ("written", "timeout"),
    [("900", 900), ("15m", 900), ("0.5s", 0.5), ("1h", 3600), ("context k", "k")],
)
def test_a_timeout_is_seconds_or_a_key(written: str, timeout: object) -> None:
    made = state(f"state A {{ timeout {written} }} from A to F on Go | Timeout").timeout

    assert (made, type(made)) == (timeout, type(timeout))


def test_hooks_run_in_source_order_with_their_inputs() -> None:
    body = """state A {
      on enter first  on exit last(n: -1)  on enter second(into: "k", rest: [1, null])  on activity shop.orders.tick
    } from A to F on Go"""
    made = state(body)

    assert made.on_enter == (Call("first"), Call("second", (("into", "k"), ("rest", (1, None)))))
    assert made.on_exit == (Call("last", (("n", -1),)),)
    assert made.on_activity == (Call("shop.orders.tick"),)


def test_outcomes_are_one_column_however_they_are_written() -> None:
    made = machine("""initial A  state A {}  final B "paid late" {}  state C { outcome lost  carry k }
        from A to B on Go  from A to C on Stop""")

    assert [one.outcome for one in made.states] == [None, None, "paid late", "lost"]
    assert made.states[3].carry == ("k",)


def test_the_machine_itself_is_row_0() -> None:
    made = machine(
        "ttl 30d  defer Stop  carry k  on enter begin  on exit end  context { k: int = 0 }  initial A"
        "  final A success {}  from order to A on Expired"
    )

    assert (made.ttl, made.states[0].kind, made.states[0].name, made.states[0].initial) == (2_592_000, "machine", "", 1)
    assert (made.states[0].defers, made.states[0].carry) == (("Stop",), ("k",))
    assert (made.states[0].on_enter, made.states[0].on_exit) == ((Call("begin"),), (Call("end"),))


def test_regions_their_with_and_their_flags() -> None:
    made = machine("""
      context { order: string = "" }
      initial Checks
      orthogonal Checks {
        cancel_on_failure
        with { id: order  source: "shop" }
        state Stock { no history  initial S  final S success {} }
        state Fraud { initial T  final T success {} }
      }
      final F success {}  final G failed {}
      from Checks join all to F else to G
    """)
    fork = made.states[made.index["Checks"]]

    assert (fork.kind, fork.cancel_on_failure, fork.initial) == ("orthogonal", True, -1)
    assert fork.passes == (("id", ("context", "order")), ("source", ("lit", "shop")))
    assert [made.is_region(made.index[f"Checks.{name}"]) for name in ("Stock", "Fraud", "Stock.S")] == [
        True,
        True,
        False,
    ]
    assert made.states[made.index["Checks.Stock"]].no_history
    assert made.transitions[0].branches == (Branch(made.index["F"], "all"), Branch(made.index["G"]))


def test_an_invoked_machine_is_named_with_its_version() -> None:
    library = "machine parcel version 4 { context { parcel: any? } initial X  final X success {} }\n"
    main = f"""import "lib.stm" as ship
    {EVENTS}machine order {{
      context {{ parcels: any = []  id: string = "" }}
      initial A
      state A {{ invoke ship.parcel for item in parcels  with {{ parcel: item }} }}
      final F success {{}}
      from A join any to F else to F
    }}
    """
    made = compiled({MAIN: main, "lib.stm": library}).definitions["order"]
    invoke = made.states[1].invoke

    assert invoke == ("parcel", 4, "item", "parcels")
    assert made.states[1].passes == (("parcel", ("item",)),)


# --- transitions


def transition(written: str) -> Transition:
    schema = "context { k: float = 0.0  s: string?  n: int? }"
    body = f"{schema} initial A  state A {{}}  state B {{}}  final F success {{}}"
    return machine(f"{body}  {written}  from A to B on Stop  from B to F on Go").transitions[0]


def test_assignments_are_expressions() -> None:
    made = transition("from A to B on Go set context.k = context.k / 2, context.s = null, context.n = event.n").sets

    assert made == (
        Assign("k", ("/", ("context", "k"), ("lit", 2))),
        Assign("s", ("lit", None)),
        Assign("n", N),
    )


def test_a_choice_tries_its_branches_in_order_each_with_its_own_assignments() -> None:
    made = transition("from A choose on Go { when n == 1 to B set context.k = 1.5  else to F }")

    assert (made.form, made.kinds) == ("choose", ("Go",))
    assert made.branches == (
        Branch(2, ("==", N, ("lit", 1)), (Assign("k", ("lit", 1.5)),)),
        Branch(3, None, ()),
    )


def test_a_selector_has_labels() -> None:
    made = transition('from A select pick(k: 1) returns {"x", "on hold"} on Go { "x" to B  "on hold" to F }')

    assert (made.form, made.selector, made.returns) == ("select", Call("pick", (("k", 1),)), ("x", "on hold"))
    assert [branch.test for branch in made.branches] == ["x", "on hold"]


# --- what a file sees


def test_events_context_and_bindings() -> None:
    made = machine(
        'context { total: float = 1.5  note: string?  tags: any = ["a", [1]]  "on hold": bool = false }'
        " initial A  state A { on enter charge }  final F success {}  from A to F on Go | Stop",
        "bind { charge = shop.payments.charge  unused = shop.payments.void }\n",
    )

    assert made.events["Go"].fields == (Field("n", "int"),)
    assert list(made.context or {}) == ["total", "note", "tags", "on hold"]
    assert (made.context or {})["tags"] == Field("tags", "any", False, (("a", (1,)),))
    assert made.binds == {"charge": "shop.payments.charge"} and made.handlers == ()


def test_one_handler_bound_differently_by_two_files_is_called_by_its_path_in_one() -> None:
    library = "bind { note = lib.note }\nfragment Ask { initial A  state A { on enter note }  from A to A on Go }\n"
    main = f'import "lib.stm" as lib\n{EVENTS}bind {{ note = main.note }}\n' + (
        "machine order { initial B  state B { on enter note }  use lib.Ask as C  final F success {}"
        "  from B to C on Go  from C to F on Stop }"
    )
    made = compiled({MAIN: main, "lib.stm": EVENTS + library}).definitions["order"]

    assert [made.binds.get(call.name, call.name) for call in made.calls()] == ["main.note", "lib.note"]


def test_documentation_has_rows_of_its_own_and_comments_have_none() -> None:
    made = compiled("""
# no documentation
## A payment came in.
event Go { n: int }
## Few.
guard small = n < 3
## An order.
## It has two lines.
machine order {
  initial A
  ## Waits.
  state A {}
  final F success {}
  ## Pays.
  from A to F on Go where small
}
""").definitions["order"]

    assert set(made.docs) == {
        Doc("machine", "order", "An order.\nIt has two lines."),
        Doc("state", "A", "Waits."),
        Doc("event", "Go", "A payment came in."),
        Doc("guard", "small", "Few."),
        Doc("transition", "0", "Pays."),
    }


def test_tables_survive_json() -> None:
    made = machine(
        "initial A  state A { timeout 0.5s }  final F success {}  from A to F on Go | Stop | Timeout where n in [[2]]"
    )

    assert Definition.from_json(made.to_json()) == made
