"""What is wrong with a fragment's own text, whoever uses it: mostly its parameters (language.md section 2, edges.md).

It is read as written, so that a library is checked though nothing uses it. Other names are `resolve.py`'s subject, and
whether an argument fits is that of `fragments.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import tree
from .diagnostics import Finding
from .durations import seconds
from .spelling import did_you_mean
from .walk import statements

KINDS = ("action", "guard", "state", "value", "event")

_DURATION = "write whole seconds, or a number with a unit: `45s 15m 12h 7d 2w`, more than zero and at most 100 years"

Place = tuple[tree.Name | tree.Dotted, str]
"""A name, and the kind of parameter that may stand there."""


def faults(fragment: tree.Fragment) -> Iterator[Finding]:
    """The faults of a fragment: parameters of no kind, or named where another kind is needed; delays that are none."""
    kinds = {parameter.name.text: parameter.kind.text for parameter in fragment.parameters}
    for parameter in fragment.parameters:
        if parameter.kind.text not in KINDS:
            message = f"expected `action`, `guard`, `state`, `value` or `event`, found `{parameter.kind.text}`"
            hint = did_you_mean(parameter.kind.text, KINDS, most=1)
            yield Finding("syntax_error", parameter.kind.span, message, hint)
    for part in statements(fragment.body):
        if isinstance(part, tree.Timeout | tree.Ttl):
            yield from delay_faults(part, kinds)
        for name, wanted in _places(part):
            kind = kinds.get(name.text)
            if kind is not None and kind in KINDS and kind != wanted:
                message = f"`{name.text}` is the fragment's {kind}, and {_a(wanted)} is needed here"
                yield Finding("fragment_argument", name.span, message, "rename the parameter, or change its kind")


def delay_faults(part: tree.Timeout | tree.Ttl, kinds: Mapping[str, str]) -> Iterator[Finding]:
    """What is wrong with a `timeout` or `ttl` as it is written; `kinds` are those of the parameters around it."""
    word, code = ("timeout", "timeout_invalid") if isinstance(part, tree.Timeout) else ("ttl", "ttl_not_positive")
    if part.parameter is not None and kinds.get(part.parameter.text) != "value":
        message = f"`{part.parameter.text}` is no value parameter of a fragment"
        more = ", or `timeout context KEY`" if word == "timeout" else ""
        yield Finding(code, part.span, message, f"write a duration such as `{word} 15m`{more}")
    elif part.raw is not None and seconds(part.raw) is None:
        what = "no duration" if word == "timeout" else "no time to live"
        yield Finding(code, part.span, f"`{word} {part.raw}` is {what}", _DURATION)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ae" else f"a {kind}"


def _places(part: tree.Statement) -> Iterator[Place]:
    """Every name in a statement that may be a parameter, with the kind that fits there."""
    match part:
        case tree.Hook():
            yield from _of_action(part.action)
        case tree.Defer():
            yield from ((kind, "event") for kind in part.kinds)
        case tree.Transition():
            yield from ((kind, "event") for kind in part.kinds)
            if part.selector is not None:
                yield from _of_action(part.selector)
            if part.where is not None:
                yield from _of_predicate(part.where)
            yield from _of_sets(part.sets)
            for branch in part.branches:
                yield branch.target.parts[0], "state"
                if branch.test is not None and not isinstance(branch.test, tree.Name):
                    yield from _of_predicate(branch.test)
                yield from _of_sets(branch.sets)


def _of_action(action: tree.Action) -> Iterator[Place]:
    yield action.name, "action"
    for given in action.inputs:
        yield from _of_value(given.value)


def _of_value(value: tree.Operand | None) -> Iterator[Place]:
    if isinstance(value, tree.Ref) and not value.scope:
        yield value.name, "value"


def _of_sets(sets: tuple[tree.Assign, ...]) -> Iterator[Place]:
    for assign in sets:
        yield from _of_value(assign.left)
        yield from _of_value(assign.right)


def _of_predicate(predicate: tree.Predicate) -> Iterator[Place]:
    waiting = [predicate]
    while waiting:
        match waiting.pop():
            case tree.Compare() as compare:
                yield from _of_value(compare.right)
            case tree.GuardRef() as ref:
                yield ref.name, "guard"
            case tree.Not() as negated:
                waiting.append(negated.term)
            case tree.And() | tree.Or() as group:
                waiting.extend(reversed(group.terms))
