"""What stands in a machine's tables, in the words of the source: for diagrams, pages and comparisons.

The texts are on one line as long as the names in them are; who prints them escapes them.
"""

from __future__ import annotations

import json

from harel.definition import Assign, Call, Expr, Invoke


def name(text: str) -> str:
    """A name, quoted where it must be."""
    return text if text.isidentifier() else value(text)


def value(literal: object) -> str:
    """A literal in the source's spelling."""
    return json.dumps(literal, ensure_ascii=False)


def delay(seconds: float | str) -> str:
    """The delay of a timer or a ttl: seconds, or the key of the context that holds them."""
    return f"context {name(seconds)}" if isinstance(seconds, str) else f"{seconds}s"


def call(called: Call) -> str:
    """A call of a handler with its inputs."""
    inputs = ", ".join(f"{name(key)}: {value(given)}" for key, given in called.inputs)
    return f"{called.name}({inputs})" if inputs else called.name


def invocation(invoke: Invoke) -> str:
    """What a leaf starts; the inside of an inline machine is left out."""
    machine = "{ … }" if ":" in invoke.machine else invoke.machine
    return f"invoke {machine} for {invoke.item} in {invoke.items}" if invoke.items is not None else f"invoke {machine}"


def assignment(assign: Assign) -> str:
    """One assignment, without the word `context`."""
    tree = assign.value
    if tree[0] in ("+", "-", "*", "/"):
        return f"{name(assign.key)} = {operand(tree[1])} {tree[0]} {operand(tree[2])}"
    return f"{name(assign.key)} = {operand(tree)}"


def operand(tree: Expr) -> str:
    """What is read: a literal, a fan-out's item, a field of the event or a key of the context."""
    if tree[0] == "lit":
        return value(tree[1])
    return "item" if tree[0] == "item" else f"{tree[0]}.{name(tree[1])}"


def predicate(tree: Expr) -> str:
    """A guard's tree."""
    kind = tree[0]
    if kind == "guard":
        return name(str(tree[1]).partition("@")[0])
    if kind == "not":
        return f"not {_grouped(tree[1])}"
    if kind not in ("and", "or"):
        left = name(tree[1][1]) if tree[1][0] == "event" else operand(tree[1])
        return f"{left} {kind} {operand(tree[2])}"
    terms = []
    for term in tree[1:]:
        terms.append(_grouped(term))
    return f" {kind} ".join(terms)


def _grouped(tree: Expr) -> str:
    return f"({predicate(tree)})" if tree[0] in ("and", "or") else predicate(tree)
