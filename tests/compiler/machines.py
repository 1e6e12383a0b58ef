"""Definitions written by hand, for tests of what is made of tables."""

from __future__ import annotations

from typing import Any

from harel.definition import Branch, Definition, EventType, Field, Row, State, Transition, row

DIGEST = "0" * 64


def state(name: str, parent: int = 0, kind: str = "leaf", **columns: Any) -> Row:
    return row(State(name, parent, kind, **columns))


def machine(initial: int = 1, **columns: Any) -> Row:
    return state("", -1, "machine", initial=initial, **columns)


def final(name: str, outcome: str, parent: int = 0) -> Row:
    return state(name, parent, outcome=outcome)


def to(source: int, kinds: str, target: int, **columns: Any) -> Row:
    return row(Transition(source, tuple(kinds.split()), "to", (Branch(target),), **columns))


def event(kind: str, *fields: Field) -> Row:
    return row(EventType(kind, fields))


def define(*states: Row, id: str = "order", **tables: Any) -> Definition:
    """A machine of the given states; row 0 is put before them."""
    return Definition(id=id, version=1, digest=DIGEST, states=(machine(), *states), **tables)


def order() -> Definition:
    """An order that is paid in time and delivered, or cancelled."""
    return define(
        state("AwaitingPayment", timeout=900),
        state("Paid"),
        final("Delivered", "success"),
        final("Cancelled", "cancelled"),
        transitions=(to(1, "PaymentAuthorized", 2), to(1, "Timeout", 4), to(2, "Deliver", 3)),
        events=(event("PaymentAuthorized", Field("amount", "int"), Field("note", "string", True)), event("Deliver")),
    )


def chain(length: int) -> Definition:
    """States in a row, each left on an event for the next."""
    names = [f"Step{number}" for number in range(length)]
    return define(
        *map(state, names),
        final("Done", "success"),
        transitions=tuple(to(number, "Go", number + 1) for number in range(1, length + 1)),
        events=(event("Go"),),
    )
