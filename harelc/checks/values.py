"""Types of values as far as a source declares them (language.md sections 2, 4 and 6).

A type is one of the declared names, `null` or `list`; `any` is what nothing is known of. Whether types fit is decided
here, where a value comes from in `facts.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import tree
from ..records import Record

NUMBERS = frozenset({"int", "float"})


class Type(Record):
    """What is known of a value: its type, whether it may be null, and whether it may be absent."""

    name: str
    nullable: bool
    may_lack: bool

    @property
    def is_known(self) -> bool:
        return self.name != "any"


UNKNOWN = Type("any", nullable=True, may_lack=True)


def declared(field: tree.FieldDecl) -> Type:
    """The type of a field or key where whoever reads it can rely on the declaration."""
    return Type(field.type, field.optional or field.type == "any", field.optional)


def of_literal(value: object) -> Type:
    """The type of a literal."""
    names = ((bool, "bool"), (int, "int"), (float, "float"), (str, "string"), (tuple, "list"))
    for kind, name in names:
        if isinstance(value, kind):
            return Type(name, nullable=False, may_lack=False)
    return Type("null", nullable=True, may_lack=False)


def joined(types: Iterable[Type]) -> Type:
    """What is known of a value that has one of several types: their common name, or nothing."""
    several = tuple(types)
    names = {one.name for one in several}
    if len(names) != 1:
        return UNKNOWN
    return Type(names.pop(), any(one.nullable for one in several), any(one.may_lack for one in several))


def can_be_equal(one: Type, other: Type) -> bool:
    """Whether values of two types may ever be equal; 1 equals 1.0, true is not 1, null equals null only."""
    if not one.is_known or not other.is_known or one.name == other.name:
        return True
    if one.name in NUMBERS and other.name in NUMBERS:
        return True
    return one.nullable and other.nullable


def why_no_order(one: Type, other: Type) -> str | None:
    """Why `<` between two types never holds, or `None` where it may."""
    for side in (one, other):
        if side.name in ("bool", "null", "list"):
            return f"{spoken(side)} has no order"
    if one.is_known and other.is_known and (one.name in NUMBERS) != (other.name in NUMBERS):
        return f"{spoken(one)} and {spoken(other)} cannot be compared"
    return None


def fits(value: Type, into: Type) -> bool:
    """Whether a value may be stored where `into` is declared: an int fits a float, not the other way."""
    if not value.is_known or not into.is_known or value.name == into.name:
        return True
    if value.name == "null":
        return into.nullable
    return value.name == "int" and into.name == "float"


def computed(op: str, left: Type, right: Type) -> Type:
    """The type of `left op right` on numbers."""
    name = "any"
    if op == "/" or "float" in (left.name, right.name):
        name = "float"
    elif left.name == right.name == "int":
        name = "int"
    return Type(name, nullable=False, may_lack=False)


def is_no_number(one: Type) -> bool:
    """Whether the operators refuse a value of this type."""
    return one.is_known and one.name not in NUMBERS


def spoken(one: Type) -> str:
    """A type as a message names it."""
    words = {"int": "an int", "any": "a value", "null": "null"}
    return words.get(one.name, f"a {one.name}")
