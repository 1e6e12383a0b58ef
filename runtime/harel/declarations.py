"""Declarations: whether an event, an id or a context is what a machine declares (runtime.md section 3, edges.md).

Everything here is asked before anything runs, or before a step is committed, and either is silent or raises one clear
error. It knows definitions and values, not executions, stores or transitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .definition import Definition, Field
from .errors import ContextError, EventError
from .event import RESERVED_KINDS
from .values import check_json, copy_json, escape_text, from_literal

RESERVED_ID = "start"
RESERVED_ID_PREFIXES = ("timeout:", "expired:", "returned:", "send:", "redrive:")
"""How the ids begin that the runtime gives to what it sends itself (edges.md, Meaning)."""

EVENT_ID_LIMIT = 500
"""How many bytes an event's id may have in UTF-8, so that every store can index it."""

EXECUTION_ID_LIMIT = 200
"""How many characters an execution's id may have."""

_NAMES_SHOWN = 10

_DELIVERED_BY: Mapping[str, str] = {
    "Start": "create() starts an execution",
    "Finished": "the runtime delivers it when a child ends",
    "Timeout": "fire_due_timers() delivers it when a timer is due",
    "Cancel": "use cancel(id, reason)",
    "Reset": "use redrive(id, target_path)",
    "SetState": "use redrive(id, target_path)",
    "Returned": "the runtime delivers it when an invoked machine ends",
    "error": "the runtime delivers it when an action raises or a child fails",
    "Expired": "fire_due_timers() delivers it when the ttl runs out",
}


# --- types


def fits(type_name: str, optional: bool, value: Any) -> bool:
    """Whether a value is of a declared type: a bool is no int, an int is a float, null fits `any` and an optional."""
    if value is None:
        return optional or type_name == "any"
    kind = type(value)
    if type_name == "string":
        return kind is str
    if type_name == "int":
        return kind is int
    if type_name == "float":
        return kind is float or kind is int
    if type_name == "bool":
        return kind is bool
    return True


def _declared(field: Field) -> str:
    return f"{field.type}{'?' if field.optional else ''}"


_TYPE_NAMES: Mapping[type, str] = {str: "string", dict: "object", type(None): "null"}


def _found(value: Any) -> str:
    """The type of a value in the language's words."""
    return _TYPE_NAMES.get(type(value)) or escape_text(type(value).__name__, 80)


# --- events


def check_event(definition: Definition, kind: str, data: Mapping[str, Any]) -> None:
    """Refuse an event that the machine's files do not declare, or whose data breaks its declaration or is not JSON.

    Fields beyond the declaration are accepted. An optional field may be absent or null.

    Raises:
        EventError: names the kind, the field and what is expected; nearest kinds where the kind is unknown.
    """
    if type(kind) is not str:
        raise EventError(f"the kind of an event is a string, not {_found(kind)}")
    if kind in RESERVED_KINDS:
        raise EventError(f"event {kind} is reserved and cannot be sent: {_DELIVERED_BY[kind]}")
    declared = definition.events.get(kind)
    if declared is None:
        raise EventError(_unknown(definition, kind))
    for field in declared.fields:
        if field.name not in data:
            if not field.optional:
                raise EventError(f"event {kind} lacks the field {_quoted(field.name)}, declared {_declared(field)}")
        elif not fits(field.type, field.optional, data[field.name]):
            raise EventError(
                f"event {kind}: the field {_quoted(field.name)} is declared {_declared(field)} "
                f"and was given {_found(data[field.name])}"
            )
    try:
        check_json(data)
    except ContextError as error:
        raise EventError(f"event {kind}: {error}") from error


def _unknown(definition: Definition, kind: str) -> str:
    from difflib import get_close_matches  # slow to import, and seldom wanted

    kinds = list(definition.events)
    near = get_close_matches(kind, kinds, n=3, cutoff=0.6)
    message = f"event {_quoted(kind)} is not declared by machine {definition.id}"
    if near:
        return f"{message}; did you mean {' or '.join(near)}?"
    if not kinds:
        return f"{message}, whose files declare no event; add `event {escape_text(kind, 80)} {{}}`"
    more = ", …" if len(kinds) > _NAMES_SHOWN else ""
    return f"{message}; declared are {', '.join(kinds[:_NAMES_SHOWN])}{more}"


def _quoted(name: str) -> str:
    return f"'{escape_text(name, 80)}'"


# --- ids


def check_event_id(id: str) -> None:
    """Refuse an event id that the runtime itself could give, or that a store cannot keep (edges.md, Values).

    Raises:
        EventError: says what an id looks like.
    """
    if type(id) is not str or not id:
        raise EventError("the id of an event is a string that is not empty; leave it out to have one made")
    shown = _quoted(id)
    if id == RESERVED_ID or id.startswith(RESERVED_ID_PREFIXES):
        reserved = ", ".join(RESERVED_ID_PREFIXES)
        raise EventError(
            f"the event id {shown} is reserved: an id is neither {RESERVED_ID!r} nor begins with {reserved}; "
            "put a prefix of your own in front"
        )
    if escape_text(id, len(id)) != id:
        raise EventError(f"the event id {shown} has control characters or lone surrogates; take them out")
    size = len(id.encode())
    if size > EVENT_ID_LIMIT:
        limit = f"the limit of {EVENT_ID_LIMIT}"
        raise EventError(f"the event id {shown} has {size} bytes, over {limit}; send a hash of it instead")


def check_execution_id(id: str) -> None:
    """Refuse an execution id that is not 1 to 200 printable characters without white space and `/`.

    Raises:
        ValueError: says what is wrong with it.
    """
    if type(id) is not str:
        raise ValueError(f"an execution id is a string, not {_found(id)}")
    if not 1 <= len(id) <= EXECUTION_ID_LIMIT:
        raise ValueError(f"an execution id has 1 to {EXECUTION_ID_LIMIT} characters, and {_quoted(id)} has {len(id)}")
    if not id.isprintable() or " " in id or "/" in id:
        raise ValueError(
            f"the execution id {_quoted(id)} holds white space, `/` or characters that cannot be printed; use others, "
            "such as `-` and `:`"
        )


# --- contexts


def seed_context(definition: Definition, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The context an execution starts with: what is given, over copies of the schema's defaults.

    Keys that the schema does not name are accepted. An optional key without a default stays absent.

    Raises:
        ContextError: a required key is missing, a value has another type than declared, or is not JSON.
    """
    context = dict(given or {})
    check_json(context)
    defaults = {
        name: from_literal(field.default[0])
        for name, field in (definition.context or {}).items()
        if field.default and name not in context
    }
    seeded: dict[str, Any] = {**defaults, **copy_json(context)}
    check_schema(definition, seeded)
    return seeded


def check_schema(definition: Definition, context: Mapping[str, Any]) -> None:
    """Refuse a context that breaks the machine's schema: a key that is missing and not optional, or of another type.

    Raises:
        ContextError: names the key, its declared type and what was found.
    """
    for name, field in (definition.context or {}).items():
        if name not in context and not field.optional:
            raise ContextError(
                f"{escape_text(name, 80)}: missing from the context, and declared {_declared(field)} "
                f"by machine {definition.id}"
            )
    check_types(definition, context)


def check_types(definition: Definition, context: Mapping[str, Any]) -> None:
    """Refuse keys of another type than the machine's schema declares: all that is asked of a region's context, which
    holds only what `with` passes down (language.md section 5.7).

    Raises:
        ContextError: names the key, its declared type and what was found.
    """
    for name, field in (definition.context or {}).items():
        if name in context and not fits(field.type, field.optional, context[name]):
            raise ContextError(
                f"{escape_text(name, 80)}: declared {_declared(field)} by machine {definition.id}, "
                f"and is {_found(context[name])}"
            )
