"""Tables from outside: whether they have the shape that `definition.py` gives them, and hang together (runtime.md
section 6).

A published document is data that anybody with access to the store may have written. Everything that the engine takes
for granted is looked at here once, so that no table can lead it astray. It looks at JSON data and runs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from .expressions import DELAY_LIMIT

Check = Callable[[Any, str], None]
"""Raises `ValueError` for a value that does not fit; the text says where it stands."""


def check_tables(data: Any) -> None:
    """Refuse data that `Definition.to_data` cannot have written.

    Raises:
        ValueError: names the part that is wrong.
    """
    _machine(data, "the machine")


# --- shapes


def _fail(where: str, value: Any, wanted: str) -> None:
    raise ValueError(f"{where} is {value!r:.60}, not {wanted}")


def _text(value: Any, where: str) -> None:
    if type(value) is not str:
        _fail(where, value, "a string")


def _flag(value: Any, where: str) -> None:
    if type(value) is not bool:
        _fail(where, value, "true or false")


def _index(value: Any, where: str) -> None:
    if type(value) is not int or value < -1:
        _fail(where, value, "an index")


def _version(value: Any, where: str) -> None:
    if type(value) is not int or value < 1:
        _fail(where, value, "a version")


def _seconds(value: Any, where: str) -> None:
    if type(value) not in (int, float) or not 0 < value <= DELAY_LIMIT:
        _fail(where, value, "a number of seconds")


def _delay(value: Any, where: str) -> None:
    if type(value) is not str:
        _seconds(value, where)


def _literal(value: Any, where: str) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if type(item) is list:
            waiting += item
        elif not (item is None or type(item) in (str, bool, int) or (type(item) is float and math.isfinite(item))):
            _fail(where, item, "a literal")


def _one_of(*words: str) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) is not str or value not in words:
            _fail(where, value, f"one of {', '.join(words)}")

    return check


def _maybe(check: Check) -> Check:
    def maybe(value: Any, where: str) -> None:
        if value is not None:
            check(value, where)

    return maybe


def _list(check: Check, most: int | None = None) -> Check:
    def each(value: Any, where: str) -> None:
        if type(value) is not list or (most is not None and len(value) > most):
            _fail(where, value, "a list" if most is None else f"a list of at most {most}")
        for number, item in enumerate(value):
            check(item, f"{where}[{number}]")

    return each


def _row(required: int, **columns: Check) -> Check:
    """A list with the columns in order; those after the first `required` may be left out from the end."""

    def row(value: Any, where: str) -> None:
        if type(value) is not list or not required <= len(value) <= len(columns):
            _fail(where, value, f"a row of {', '.join(columns)}")
        for item, (name, check) in zip(value, columns.items(), strict=False):
            check(item, f"{where}.{name}")

    return row


# --- expressions


def _operand(*words: str) -> Check:
    shapes = {
        "lit": _row(2, word=_text, value=_literal),
        "event": _row(2, word=_text, field=_text),
        "context": _row(2, word=_text, key=_text),
        "item": _row(1, word=_text),
    }
    return _tree({word: shapes[word] for word in words})


def _tree(shapes: Mapping[str, Check]) -> Check:
    def tree(value: Any, where: str) -> None:
        word = value[0] if type(value) is list and value else None
        if type(word) is not str or word not in shapes:
            _fail(where, value, f"an expression of {', '.join(shapes)}")
        shapes[str(word)](value, where)

    return tree


_READ = _operand("lit", "event", "context")
_PASSED = _operand("lit", "context", "item")
_BINARY = _row(3, word=_text, left=_READ, right=_READ)
_VALUE = _tree({**dict.fromkeys("+-*/", _BINARY), **dict.fromkeys(("lit", "event", "context"), _READ)})
_COMPARED = dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), _BINARY)
_TEST = _tree({**_COMPARED, "guard": _row(2, word=_text, name=_text)})


def _predicate(value: Any, where: str) -> None:
    for test in _tests(value, where):
        _TEST(test, where)


def _tests(value: Any, where: str) -> list[Any]:
    """The comparisons and guards of a predicate, without recursion: it may be long and deep."""
    tests, waiting = [], [value]
    while waiting:
        term = waiting.pop()
        word = term[0] if type(term) is list and len(term) > 1 else None
        if word in ("and", "or") or (word == "not" and len(term) == 2):
            waiting += term[1:]
        else:
            tests.append(term)
    return tests


# --- rows

_CALL = _row(1, name=_text, inputs=_list(_row(2, name=_text, value=_literal)))
_SETS = _list(_row(2, key=_text, value=_VALUE))
_TYPE = _one_of("string", "int", "float", "bool", "any")
_FIELDS = _list(_row(2, name=_text, type=_TYPE, optional=_flag, default=_list(_literal, 1)))
_INVOKE = _row(2, machine=_text, version=_version, item=_maybe(_text), items=_maybe(_text))
_STATES = _list(
    _row(
        3, name=_text, parent=_index, kind=_one_of("machine", "composite", "orthogonal", "leaf"), initial=_index,
        outcome=_maybe(_text), timeout=_maybe(_delay), on_enter=_list(_CALL), on_exit=_list(_CALL),
        on_activity=_list(_CALL), defers=_list(_text), carry=_list(_text),
        passes=_list(_row(2, key=_text, value=_PASSED)), invoke=_maybe(_INVOKE), no_history=_flag,
        cancel_on_failure=_flag,
    )
)  # fmt: skip
_TESTS: Mapping[str, Check] = {
    "to": _maybe(_one_of()),
    "choose": _maybe(_predicate),
    "select": _maybe(_text),
    "join": _maybe(_one_of("all", "any")),
}


def _transition(value: Any, where: str) -> None:
    form = value[2] if type(value) is list and len(value) > 2 else None
    _one_of(*_TESTS)(form, f"{where}.form")
    branch = _row(1, target=_index, test=_TESTS[str(form)], sets=_SETS)
    row = _row(
        4, source=_index, kinds=_list(_text), form=_text, branches=_list(branch), guard=_maybe(_predicate), sets=_SETS,
        selector=_maybe(_CALL), returns=_list(_text),
    )  # fmt: skip
    row(value, where)
    has_selector = len(value) > 6 and value[6] is not None
    if not value[3] or (form == "to" and len(value[3]) > 1) or has_selector is (form != "select"):
        raise ValueError(f"{where} has the wrong branches or selector for {form!r}")


_PARTS: Mapping[str, Check] = {
    "format": _version,
    "id": _text,
    "version": _version,
    "digest": _text,
    "ttl": _maybe(_seconds),
    "states": _STATES,
    "transitions": _list(_transition),
    "events": _list(_row(1, kind=_text, fields=_FIELDS)),
    "context": _maybe(_FIELDS),
    "guards": _list(_row(2, name=_text, value=_predicate)),
    "binds": _list(_row(2, name=_text, path=_text)),
    "docs": _list(_row(3, subject=_text, name=_text, text=_text)),
}


# --- how they hang together


def _machine(data: Any, where: str) -> None:
    if type(data) is not dict:
        _fail(where, data, "an object")
    for part, check in _PARTS.items():
        if part not in data:
            raise ValueError(f"{where} has no {part}")
        check(data[part], part)
    _states_hang_together(data["states"])
    _transitions_lead_somewhere(data["transitions"], len(data["states"]))
    _guards_end(dict(data["guards"]))
    inline = data.get("inline")
    _list(_machine)(inline, "inline")
    for machine in inline or ():
        if not machine["id"].startswith(f"{data['id']}:"):
            raise ValueError(f"the machine {machine['id']!r} does not stand in {data['id']!r}")


def _states_hang_together(states: list[list[Any]]) -> None:
    if not states or states[0][:3] != ["", -1, "machine"]:
        raise ValueError("the first state is not the machine")
    names = set()
    for index, (name, parent, kind, *rest) in enumerate(states[1:], 1):
        if not 0 <= parent < index or kind == "machine":
            raise ValueError(f"state {index} is a {kind} with the parent {parent}")
        if not name or "." in name or (parent, name) in names:
            raise ValueError(f"state {index} has the name {name!r}, which is empty, has a dot or is taken")
        names.add((parent, name))
        outer = states[parent][2]
        if outer == "leaf" or (outer == "orthogonal" and kind == "orthogonal"):
            raise ValueError(f"state {index} is a {kind} in a {outer}")
        if len(rest) > 9 and rest[9] is not None and kind != "leaf":
            raise ValueError(f"state {index} invokes a machine and is a {kind}")
    for index, state in enumerate(states):
        initial = state[3] if len(state) > 3 else -1
        if initial >= 0 and (initial >= len(states) or states[initial][1] != index):
            raise ValueError(f"state {index} has the initial {initial}")


def _transitions_lead_somewhere(transitions: list[list[Any]], count: int) -> None:
    for number, (source, _, _, branches, *_) in enumerate(transitions):
        if not 0 <= source < count or any(not 0 < branch[0] < count for branch in branches):
            raise ValueError(f"transition {number} leads nowhere")


def _guards_end(guards: Mapping[str, Any]) -> None:
    """No guard asks itself, directly or through others."""
    asks = {
        name: [test[1] for test in _tests(tree, name) if test[0] == "guard" and test[1] in guards]
        for name, tree in guards.items()
    }
    while asks:
        ended = [name for name, asked in asks.items() if not any(other in asks for other in asked)]
        if not ended:
            raise ValueError(f"the guards {', '.join(asks)} ask one another in a circle")
        for name in ended:
            del asks[name]
