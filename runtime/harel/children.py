"""Which children an entry starts, and what they are given (language.md sections 5.7 and 5.8).

Pure functions from (program, execution, state) to `Spawn`s: a region for each child of an orthogonal state, one machine
for an invoke, one for each entry of a fan-out's list. The engine decides when; the relay creates them.
"""

from __future__ import annotations

from typing import Any

from .definition import Invoke
from .errors import ExpressionError
from .execution import Execution
from .program import Program
from .stores.protocol import Spawn
from .values import copy_json, from_literal


def started_by(program: Program, execution: Execution, level: int) -> list[Spawn]:
    """The children of an orthogonal or invoking state, in the execution's current generation.

    Raises:
        ExpressionError: a fan-out's list is something else.
    """
    invoke = program.states[level].invoke
    if invoke is None:
        return [_region(program, execution, region) for region in program.definition.children[level]]
    path = program.paths[level]
    if invoke.items is None:
        return [_invoked(program, execution, level, invoke, path, None)]
    items = execution.context.get(invoke.items)
    if items is not None and not isinstance(items, list):
        raise ExpressionError(f"context.{invoke.items} is no list but {type(items).__name__}: `for` needs a list")
    return [
        _invoked(program, execution, level, invoke, f"{path}:{number}", item)
        for number, item in enumerate(items or ())
    ]


def _region(program: Program, execution: Execution, region: int) -> Spawn:
    definition, key = program.definition, program.paths[region]
    context = _passed(program, execution, program.states[region].parent, None)
    return Spawn(_child_id(execution, key), key, definition.id, definition.version, key, context)


def _invoked(program: Program, execution: Execution, level: int, invoke: Invoke, key: str, item: Any) -> Spawn:
    context = _passed(program, execution, level, item)
    return Spawn(_child_id(execution, key), key, invoke.machine, invoke.version, "", context)


def _child_id(execution: Execution, key: str) -> str:
    """An id that no other child of the tree has: the parent's, the key, and which entry it was."""
    return f"{execution.id}/{key}/{execution.generation}"


def _passed(program: Program, execution: Execution, level: int, item: Any) -> dict[str, Any]:
    """What `with` hands down; keys that the parent lacks are left out (edges.md, Values)."""
    context, passed = execution.context, {}
    for key, operand in program.states[level].passes:
        if operand[0] == "item":
            passed[key] = copy_json(item)
        elif operand[0] == "lit":
            passed[key] = from_literal(operand[1])
        elif operand[1] in context:
            passed[key] = copy_json(context[operand[1]])
    return passed
