"""`Definition`: equal tables are equal machines, whatever way they came (design.md, "Tables, not closures")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harel import Definition, DslError
from harel.definition import TABLES_FORMAT, Assign, Branch, Call, Doc, Field, Invoke, State, Transition, row

INLINE = Definition(id="order:Ship", version=1, digest="d2", states=(("", -1, "machine", 1), ("Out", 0, "leaf")))

STATES = (
    ("", -1, "machine", 1),
    ("Cart", 0, "leaf", -1, None, 900, (("note", (("text", "in"),)), ("shop.hooks.log",))),
    ("Checks", 0, "orthogonal"),
    ("Stock", 2, "composite", 4),
    ("Count", 3, "leaf"),
    ("Fraud", 2, "leaf"),
    ("Ship", 0, "leaf", -1, None, None, (), (), (), (), (), (("parcel", ("item",)),), ("order:Ship", 1, "p", "ps")),
    ("Done", 0, "leaf", -1, "success", None, (("charge",),)),
)

TRANSITIONS = (
    (
        1,
        ("Paid",),
        "to",
        ((2,),),
        (">", ("event", "amount"), ("lit", 0)),
        (("n", ("+", ("context", "n"), ("lit", 1))),),
    ),
    (2, (), "join", ((6, "all"), (7,))),
    (
        1,
        ("Ask",),
        "select",
        ((6, "x", (("who", ("lit", (1, "a"))),)), (7,)),
        None,
        (),
        ("pick", (("k", 1),)),
        ("x", "y"),
    ),
)


def order(**changes: Any) -> Definition:
    parts: dict[str, Any] = {
        "id": "order",
        "version": 2,
        "digest": "d1",
        "states": STATES,
        "transitions": TRANSITIONS,
        "ttl": 3600,
        "events": (("Paid", (("amount", "int"), ("note", "string", True))), ("Ask",)),
        "context": (("n", "int", False, (0,)), ("who", "any", True)),
        "guards": (("large", (">", ("event", "amount"), ("lit", 9))),),
        "binds": (("charge", "shop.pay.charge"),),
        "docs": (("machine", "", "An order."),),
        "inline": (INLINE,),
    }
    return Definition(**{**parts, **changes})


def test_rows_are_read_into_their_types() -> None:
    machine = order()

    assert machine.states[1] == State(
        "Cart", 0, "leaf", timeout=900, on_enter=(Call("note", (("text", "in"),)), Call("shop.hooks.log"))
    )
    assert machine.states[6].invoke == Invoke("order:Ship", 1, "p", "ps")
    assert machine.states[6].passes == (("parcel", ("item",)),)
    assert machine.transitions[0].sets == (Assign("n", ("+", ("context", "n"), ("lit", 1))),)
    assert machine.transitions[1] == Transition(2, (), "join", (Branch(6, "all"), Branch(7)))
    assert machine.transitions[2].selector == Call("pick", (("k", 1),))
    assert machine.transitions[2].branches[0].sets == (Assign("who", ("lit", (1, "a"))),)
    assert machine.events["Paid"].fields == (Field("amount", "int"), Field("note", "string", True))
    assert machine.context == {"n": Field("n", "int", False, (0,)), "who": Field("who", "any", True)}
    assert machine.guards == {"large": (">", ("event", "amount"), ("lit", 9))}
    assert machine.docs == (Doc("machine", "", "An order."),)


def test_a_typed_value_and_its_row_are_the_same() -> None:
    machine = order()

    assert tuple(map(row, machine.states)) == STATES
    assert tuple(map(row, machine.transitions)) == TRANSITIONS
    assert row(Field("n", "int", False, (False,))) == ("n", "int", False, (False,))


def test_look_ups() -> None:
    machine = order()

    assert machine.paths == (
        *("", "Cart", "Checks", "Checks.Stock", "Checks.Stock.Count", "Checks.Fraud", "Ship", "Done"),
    )
    assert machine.index["Checks.Stock.Count"] == 4
    assert machine.children[0] == (1, 2, 6, 7)
    assert machine.children[2] == (3, 5)
    assert [transition.form for transition in machine.own_transitions[1]] == ["to", "select"]
    assert list(machine.outwards(4)) == [4, 3, 2, 0]
    assert [machine.paths[index] for index in range(8) if machine.is_region(index)] == ["Checks.Stock", "Checks.Fraud"]


def test_what_is_left_to_bind_are_names_that_are_no_paths_and_not_bound_in_the_file() -> None:
    assert order().handlers == ("note", "pick")


def test_json_gives_an_equal_definition_back() -> None:
    machine = order()
    back = Definition.from_json(machine.to_json())

    assert back == machine
    assert back.transitions == machine.transitions
    assert back.inline == (INLINE,)
    assert back.to_json() == machine.to_json()


def test_a_machine_without_a_schema_is_not_one_with_an_empty_schema() -> None:
    assert Definition.from_json(order(context=None).to_json()).context is None
    assert Definition.from_json(order(context=()).to_json()).context == {}
    assert order(context=None) != order(context=())


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "claim"},
        {"version": 3},
        {"digest": "other"},
        {"ttl": 3600.0},
        {"ttl": None},
        {"states": STATES[:-1]},
        {"transitions": ()},
        {"context": (("n", "int", False, (False,)), ("who", "any", True))},
        {"guards": ()},
        {"docs": ()},
        {"inline": ()},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_every_part_counts_for_equality(changes: dict[str, object]) -> None:
    assert order(**changes) != order()


def test_handlers_and_sources_do_not_count_for_equality() -> None:
    assert order().bound({"note": print}) == order(sources=(("order.stm", "…"),))
    assert hash(order().bound({"note": print})) == hash(order())


def test_binding_goes_over_what_was_bound_and_reaches_inline_machines() -> None:
    first = order().bound({"note": print, "pick": len})
    second = first.bound({"note": repr})

    assert second.actions == {"note": repr, "pick": len}
    assert second.inline[0].actions == {"note": repr, "pick": len}
    assert first.actions == {"note": print, "pick": len}


@pytest.mark.parametrize(
    ("tables_format", "remedy"),
    [(TABLES_FORMAT + 1, "install a newer harel-runtime"), (TABLES_FORMAT - 1, "rebuild it with the harelc")],
)
def test_tables_of_another_format_say_what_to_install(tables_format: int, remedy: str) -> None:
    stored = json.dumps({**json.loads(order().to_json()), "format": tables_format})

    with pytest.raises(
        DslError, match=f"the stored definition of 'order' has tables of format {tables_format}.*{remedy}"
    ):
        Definition.from_json(stored)
