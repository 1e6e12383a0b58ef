"""Expressions: the trees of `definition.py` turned into functions, once, when a definition is made ready to run.

Language.md section 4: what a comparison means, and what the right side of a `set` and a delay from the context compute.
Every function takes the context and the event's data. It knows nothing of states, transitions or executions.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from .definition import Expr
from .errors import ContextError, ExpressionError
from .values import DIGITS_LIMIT, copy_json, from_literal, same

Data = Mapping[str, Any]
Predicate = Callable[[Data, Data], bool]
"""Whether something holds, of (context, event data)."""

Value = Callable[[Data, Data], Any]
"""What a right side computes, of (context, event data); raises `ExpressionError`."""

DELAY_LIMIT = 100 * 365 * 24 * 3600
"""The longest delay, in seconds: 100 years (edges.md, Values)."""

_INT_BOUND = 10**DIGITS_LIMIT


class Absent:
    """What reading a field that is not there gives; present-and-null is not absent."""


# --- predicates


_TRUE, _FALSE, _FOLLOWING = -1, -2, -3
_Jumps = list[tuple[Predicate, int, int]]


def compile_predicate(expr: Expr, guard_of: Callable[[str], Predicate]) -> Predicate:
    """The function of a predicate's tree; `guard_of` finds a named guard.

    The function never raises of its own: a comparison whose field is absent on either side, or whose values cannot be
    compared, is false. A guard that the program has bound may raise.
    """
    jumps = _jumps(expr, guard_of)
    start = len(jumps) - 1

    def predicate(context: Data, data: Data) -> bool:
        at = start
        while at >= 0:
            test, if_true, if_false = jumps[at]
            at = if_true if test(context, data) else if_false
        return at == _TRUE

    is_one_test = len(jumps) == 1 and jumps[0][1] == _TRUE
    return jumps[0][0] if is_one_test else predicate


def _jumps(expr: Expr, guard_of: Callable[[str], Predicate]) -> _Jumps:
    """The tests of a tree, last one first, each with where to go on from its two results.

    Jumps instead of functions within functions, so that neither depth nor length of a predicate meets Python's
    recursion limit, and `and` and `or` cost nothing. A term is placed after those behind it, so what follows it is
    known.
    """
    jumps: _Jumps = []
    waiting = [(expr, _TRUE, _FALSE)]
    while waiting:
        (word, *terms), if_true, if_false = waiting.pop()
        following = len(jumps) - 1
        if_true = following if if_true == _FOLLOWING else if_true
        if_false = following if if_false == _FOLLOWING else if_false
        if word == "not":
            waiting.append((terms[0], if_false, if_true))
        elif word == "and":
            waiting += [*((term, _FOLLOWING, if_false) for term in terms[:-1]), (terms[-1], if_true, if_false)]
        elif word == "or":
            waiting += [*((term, if_true, _FOLLOWING) for term in terms[:-1]), (terms[-1], if_true, if_false)]
        else:
            test = guard_of(terms[0]) if word == "guard" else _comparison(terms[0], terms[1], _COMPARED[word])
            jumps.append((test, if_true, if_false))
    return jumps


def _comparison(left: Expr, right: Expr, holds: Callable[[Any, Any], bool]) -> Predicate:
    read_left, read_right = _reader(left), _reader(right)

    def comparison(context: Data, data: Data) -> bool:
        one, other = read_left(context, data), read_right(context, data)
        return one is not Absent and other is not Absent and holds(one, other)

    return comparison


def _differs(one: Any, other: Any) -> bool:
    return not same(one, other)


def _is_in(one: Any, other: Any) -> bool:
    return type(other) is list and any(same(one, item) for item in other)


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    """An order among numbers and among strings (by code point); false between anything else."""

    def ordered(one: Any, other: Any) -> bool:
        alike = (_is_number(one) and _is_number(other)) or (type(one) is str and type(other) is str)
        return alike and bool(compare(one, other))

    return ordered


_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": same,
    "!=": _differs,
    "in": _is_in,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}


# --- operands


def _reader(operand: Expr) -> Value:
    """What reads an operand: a value that is not copied, or `Absent`."""
    if operand[0] == "lit":
        literal = from_literal(operand[1])
        return lambda context, data: literal
    name = operand[1]
    if operand[0] == "event":
        return lambda context, data: data.get(name, Absent)
    return lambda context, data: context.get(name, Absent)


def _named(operand: Expr) -> str:
    """The operand as the source spells it, for an error."""
    return f"{operand[1]!r}" if operand[0] == "lit" else f"{operand[0]}.{operand[1]}"


# --- values


def compile_value(expr: Expr) -> Value:
    """The function of a `set`'s right side: an operand, or one of `+ - * /` over two numbers.

    Lists and objects are copied, so that no two keys share one. The function raises `ExpressionError`, naming the field
    or key, where a field is absent, an operand no number, a divisor zero, or a result too large.
    """
    if expr[0] in _ARITHMETIC:
        return _arithmetic(expr[0], expr[1], expr[2])
    if expr[0] == "lit":
        literal = expr[1]
        return lambda context, data: from_literal(literal)
    return _reference(expr)


def _reference(operand: Expr) -> Value:
    read, name = _reader(operand), _named(operand)

    def reference(context: Data, data: Data) -> Any:
        value = read(context, data)
        if value is Absent:
            raise ExpressionError(f"{name} is absent")
        try:
            return copy_json(value)
        except ContextError as error:
            raise ExpressionError(f"{name}: {error}") from error

    return reference


def _arithmetic(sign: str, left: Expr, right: Expr) -> Value:
    read_left, read_right = _reader(left), _reader(right)
    compute = _ARITHMETIC[sign]

    def arithmetic(context: Data, data: Data) -> int | float:
        one, other = read_left(context, data), read_right(context, data)
        for value, operand in ((one, left), (other, right)):
            if not _is_number(value):
                raise ExpressionError(f"{_named(operand)} {_not_a_number(value)}, and `{sign}` takes numbers")
        written = f"{_named(left)} {sign} {_named(right)}"
        try:
            result: int | float = compute(one, other)
        except ZeroDivisionError as error:
            raise ExpressionError(f"{written} divides by zero") from error
        except OverflowError as error:
            raise ExpressionError(f"{written} is too large for a number") from error
        if not (-_INT_BOUND < result < _INT_BOUND if type(result) is int else math.isfinite(result)):
            raise ExpressionError(f"{written} is too large for a number")
        return result

    return arithmetic


_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _is_number(value: Any) -> bool:
    """Numbers are `int` and `float`; a boolean is none."""
    return type(value) is int or type(value) is float


_KINDS: Mapping[type, str] = {
    bool: "is a boolean",
    str: "is a string",
    list: "is a list",
    dict: "is an object",
    type(None): "is null",
}


def _not_a_number(value: Any) -> str:
    if value is Absent:
        return "is absent"
    return _KINDS.get(type(value)) or f"is of type {type(value).__name__}"


# --- delays


def delay_of(context: Data, key: str) -> float:
    """The seconds of `timeout context KEY`; zero, which is due at once, for zero or less (edges.md, Values).

    Raises:
        ExpressionError: the key is absent, or its value is no finite number up to `DELAY_LIMIT`.
    """
    value = context.get(key, Absent)
    if not _is_number(value):
        raise ExpressionError(f"context.{key} {_not_a_number(value)}, and a timeout needs a number of seconds")
    if not value <= DELAY_LIMIT or value == -math.inf:
        limit = f"{DELAY_LIMIT} (100 years)"
        raise ExpressionError(f"context.{key} is no delay: a timeout is a finite number of seconds up to {limit}")
    return float(max(value, 0))
