"""What a generated module offers to programs and their type checkers: event classes, `Context`, `Actions` (build.md
section 3).

Everything is decided here, Python names and types included; `emit.py` and the template only lay it out. It reads a
definition's tables and knows no text of a source but through them.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping

from harel.definition import Call, Definition, Field, with_inline

from .pyliterals import DEEPEST, literal
from .pynames import ACTIONS_SCOPE, EVENT_SCOPE, INPUT_SCOPE, MODULE_SCOPE, python_names
from .records import Record

_TYPES: Mapping[str, str] = {"string": "str", "int": "int", "float": "float", "bool": "bool", "any": "Any"}
_NAMED_BY_KEYS = frozenset({*_TYPES.values(), "NotRequired"})
_LISTS_SHOWN = 8


class Parameter(Record):
    """A keyword-only parameter: its name in Python and in the source, its type, and whether it may be left out."""

    name: str
    source: str
    type: str
    optional: bool


class EventClass(Record):
    """The class of a declared event kind, and its documentation."""

    name: str
    kind: str
    doc: str
    parameters: tuple[Parameter, ...]

    @property
    def has_optional(self) -> bool:
        return any(parameter.optional for parameter in self.parameters)


class Method(Record):
    """A handler that the program binds: its name in Python and in the source, its inputs, where it is called."""

    name: str
    source: str
    doc: str
    parameters: tuple[Parameter, ...]

    @property
    def renamed(self) -> tuple[Parameter, ...]:
        """The inputs whose name in Python is another than in the source."""
        return tuple(parameter for parameter in self.parameters if parameter.name != parameter.source)


class Import(Record):
    """A function that the machine names by its dotted path, and the inputs of each different call, as arguments."""

    module: str
    attribute: str
    calls: tuple[str, ...]


class Key(Record):
    """A key of the context and its type; `absent`: it need not be there."""

    name: str
    type: str
    absent: bool


# --- events


def event_classes(definition: Definition) -> tuple[EventClass, ...]:
    """A class for each declared event.

    Raises:
        NameClash: two events, or two fields of one event, would be one Python name.
    """
    names = python_names(definition.events, MODULE_SCOPE, "events")
    docs = {doc.name: doc.text for doc in definition.docs if doc.subject == "event"}
    return tuple(
        EventClass(names[kind], kind, docs.get(kind) or f"The event `{kind}`.", _fields(kind, event.fields))
        for kind, event in definition.events.items()
    )


def _fields(kind: str, fields: tuple[Field, ...]) -> tuple[Parameter, ...]:
    names = python_names((field.name for field in fields), EVENT_SCOPE, f"fields of event {kind!r}")
    return tuple(Parameter(names[field.name], field.name, field_type(field), field.optional) for field in fields)


def field_type(field: Field) -> str:
    """The Python type of a field or a context key."""
    kind = _TYPES[field.type]
    return f"{kind} | None" if field.optional and kind != "Any" else kind


# --- the context


def context_keys(definition: Definition) -> tuple[Key, ...]:
    """The keys of the machine's schema: what has a default is there from the start."""
    fields = (definition.context or {}).values()
    return tuple(Key(field.name, field_type(field), field.optional and not field.default) for field in fields)


def fits_class(keys: Iterable[Key]) -> bool:
    """Whether the keys can be written as the body of a class: all are plain identifiers, none is renamed by the class
    and none hides a type that the body names.
    """
    return all(
        key.name.isascii()
        and key.name.isidentifier()
        and not keyword.iskeyword(key.name)
        and not key.name.startswith("__")
        and key.name not in _NAMED_BY_KEYS
        for key in keys
    )


# --- actions


def methods(definition: Definition) -> tuple[Method, ...]:
    """A method for each handler that `bind` leaves open, those of inline machines included.

    An input that some calls leave out is optional.

    Raises:
        NameClash: two handlers, or two inputs of one handler, would be one Python name.
    """
    calls: dict[str, list[Call]] = {}
    places: dict[str, list[str]] = {}
    for machine in with_inline([definition]):
        for call, place in _placed_calls(machine):
            if call.name in machine.handlers:
                calls.setdefault(call.name, []).append(call)
                places.setdefault(call.name, []).append(place)
    names = python_names(calls, ACTIONS_SCOPE, "handlers")
    return tuple(
        Method(names[handler], handler, _called(places[handler]), _inputs(handler, calls[handler])) for handler in calls
    )


def _placed_calls(machine: Definition) -> Iterator[tuple[Call, str]]:
    """Every call, with the words for where it stands."""
    for index, state in enumerate(machine.states):
        where = f"`{machine.paths[index] or machine.id}`"
        for call in state.on_enter:
            yield call, f"on entering {where}"
        for call in state.on_exit:
            yield call, f"on leaving {where}"
        for call in state.on_activity:
            yield call, f"as the activity of {where}"
    for transition in machine.transitions:
        if transition.selector:
            yield transition.selector, f"to select the way from `{machine.paths[transition.source] or machine.id}`"


_PLACES_SHOWN = 3


def _called(places: list[str]) -> str:
    different = list(dict.fromkeys(places))
    more = len(different) - _PLACES_SHOWN
    shown = [*different[:_PLACES_SHOWN], f"and in {more} more places"] if more > 0 else different
    return f"Called {', '.join(shown)}."


def _inputs(handler: str, calls: list[Call]) -> tuple[Parameter, ...]:
    types: dict[str, list[str]] = {}
    for call in calls:
        for name, value in call.inputs:
            types.setdefault(name, []).append(_value_type(value))
    names = python_names(types, INPUT_SCOPE, f"inputs of {handler}")
    return tuple(Parameter(names[name], name, _union(found), len(found) < len(calls)) for name, found in types.items())


def _value_type(value: object, room: int = _LISTS_SHOWN) -> str:
    """The type of a literal; lists that are nested deeper than anybody reads hold anything."""
    if not isinstance(value, tuple):
        return "None" if value is None else type(value).__name__
    if not value or not room:
        return "list[Any]"
    return f"list[{_union(_value_type(item, room - 1) for item in value)}]"


def _union(types: Iterable[str]) -> str:
    different = dict.fromkeys(types)
    return " | ".join(sorted(different, key=lambda kind: kind == "None"))


# --- functions named by their paths


_SPECIAL = frozenset({"__future__"})


def imports(definition: Definition) -> tuple[Import, ...]:
    """The functions that the machine, or one inside it, names by a dotted path or binds to one, with their calls.

    A path that Python cannot write as an import is left to the run time.
    """
    calls: dict[str, dict[str, None]] = {}
    for machine in with_inline([definition]):
        for call in machine.calls():
            path = machine.binds.get(call.name, call.name)
            if "." in path:
                calls.setdefault(path, {})[_arguments(call)] = None
    found = []
    for path, different in calls.items():
        module, _, attribute = path.rpartition(".")
        parts = path.split(".")
        if not any(keyword.iskeyword(part) for part in parts) and parts[0] not in _SPECIAL:
            found.append(Import(module, attribute, tuple(different)))
    return tuple(found)


def _arguments(call: Call) -> str:
    """The inputs of a call as arguments; those whose name is no identifier go in through a mapping."""
    plain, odd = [], []
    for name, value in call.inputs:
        text = _list_literal(value)
        if name.isidentifier() and name.isascii() and not keyword.iskeyword(name):
            plain.append(f"{name}={text}")
        else:
            odd.append(f"{literal(name)}: {text}")
    mapping = [f"**{{{', '.join(odd)}}}"] if odd else []
    return ", ".join(["stm", "event", *plain, *mapping])


def _list_literal(value: object, room: int = DEEPEST) -> str:
    """A literal as the handler gets it: tuples of the tables are lists. What is nested too deep is left out."""
    if not isinstance(value, tuple):
        return literal(value)
    if not room:
        return "[]"
    parts = []
    for item in value:
        parts.append(_list_literal(item, room - 1))
    return f"[{', '.join(parts)}]"
