"""Values: what may stand in a context or an event, how two of them are equal, and how text gets into an error.

JSON values only: `str`, `bool`, `int`, finite `float`, `None`, `list` and `dict` with string keys, of exactly these
types (edges.md, "Values, names, sizes"). Nothing is converted in silence. It knows neither machines nor executions.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from .errors import ContextError

NESTING_LIMIT = 200
"""How many lists and objects may stand inside one another."""

DIGITS_LIMIT = 1_000
"""How many digits an integer may have; such integers are kept exactly."""

TEXT_LIMIT = 2_000
"""How many characters of an error text are kept."""

_PATH_LIMIT = 300
_NAME_LIMIT = 200
_INT_BOUND = 10**DIGITS_LIMIT
_ATOMS = frozenset({str, int, float, bool, type(None)})
_MIXED_NUMBERS = frozenset({(int, float), (float, int)})
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def copy_json(value: Any) -> Any:
    """A deep copy of a JSON value: lists and objects are new, everything else is shared.

    Raises:
        ContextError: lists or objects contain themselves, or are nested too deep to be copied.
    """
    try:
        return _copied(value)
    except RecursionError:
        raise ContextError(f"the value contains itself or is nested deeper than {NESTING_LIMIT} levels") from None


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: item if type(item) in _ATOMS else _copied(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _ATOMS else _copied(item) for item in value]
    return value


def from_literal(value: Any) -> Any:
    """The JSON value of a literal in a table, where a list is a tuple; lists are new."""
    return [from_literal(item) for item in value] if isinstance(value, tuple) else value


def check_json(value: Any, path: str = "") -> None:
    """Refuse what JSON does not know; `path` is where the value stands, "" for a whole context or an event's data.

    Raises:
        ContextError: names the key path of the first such value: `items[2].price: Decimal is not a JSON value`.
    """
    if not _is_json(value, NESTING_LIMIT):
        raise ContextError(_fault(value, path, {}) or f"{_shown(path)}: not a JSON value")


def _is_json(value: Any, room: int) -> bool:
    """Whether all is well: the way that every step goes, so it builds no path. `room` is how many levels may follow."""
    kind = type(value)
    if kind is str:
        return _is_text(value)
    if kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_INT_BOUND < value < _INT_BOUND)
    if kind is float:
        return math.isfinite(value)
    if kind is dict:
        if not room:
            return False
        return all(type(key) is str and _is_text(key) and _is_json(item, room - 1) for key, item in value.items())
    return kind is list and room > 0 and all(_is_json(item, room - 1) for item in value)


def _is_text(text: str) -> bool:
    """Whether a string has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fault(value: Any, path: str, around: dict[int, str]) -> str | None:
    """What is wrong with a value, with its path, or `None`. `around` has the containers it stands in, by `id`."""
    if type(value) is not dict and type(value) is not list:
        fault = _fault_of_atom(value)
        return f"{_shown(path)}: {fault}" if fault else None
    what = "list" if type(value) is list else "object"
    if id(value) in around:
        return f"{_shown(path)}: the {what} contains itself"
    if len(around) == NESTING_LIMIT:
        return f"{_shown(path)}: nested deeper than {NESTING_LIMIT} levels"
    around = {**around, id(value): path}
    if isinstance(value, list):
        faults = (_fault(item, f"{path}[{number}]", around) for number, item in enumerate(value))
    else:
        faults = (_fault_of_key(key, path) or _fault(item, _joined(path, key), around) for key, item in value.items())
    return next(filter(None, faults), None)


def _fault_of_key(key: Any, path: str) -> str | None:
    if type(key) is not str:
        key_type, shown = _name(key), escape_text(_repr(key), 80)
        return f"{_shown(path)}: the key {shown} is of type {key_type}; JSON keys are strings"
    return None if _is_text(key) else f"{_shown(path)}: the key {escape_text(key, 80)} has a lone surrogate"


def _fault_of_atom(value: Any) -> str | None:
    kind = type(value)
    if kind not in _ATOMS:
        return f"{_name(value)} is not a JSON value"
    if kind is int and not -_INT_BOUND < value < _INT_BOUND:
        return f"the integer has more than {DIGITS_LIMIT:,} digits"
    if kind is float and not math.isfinite(value):
        return f"{value} is not a JSON value"
    if kind is str and not _is_text(value):
        return "the string has a lone surrogate, which is not a JSON value"
    return None


def _joined(path: str, key: str) -> str:
    if not key.isidentifier():
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def _shown(path: str) -> str:
    return escape_text(path, _PATH_LIMIT) or "the value itself"


def _name(value: Any) -> str:
    return escape_text(type(value).__name__, _NAME_LIMIT)


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return "…"


def same(one: Any, other: Any) -> bool:
    """The language's equality (language.md section 4): true is not 1, `1 == 1.0`, null equals only null.

    Lists are equal element by element, objects key by key. Values that are no JSON equal nothing.
    """
    return _same(one, other, NESTING_LIMIT)


def _same(one: Any, other: Any, room: int) -> bool:
    kind, other_kind = type(one), type(other)
    if kind is not other_kind:
        return (kind, other_kind) in _MIXED_NUMBERS and bool(one == other)
    if kind in _ATOMS:
        return bool(one == other)
    if (kind is not list and kind is not dict) or not room or len(one) != len(other):
        return False
    if kind is list:
        return all(_same(mine, its, room - 1) for mine, its in zip(one, other, strict=True))
    return all(key in other and _same(item, other[key], room - 1) for key, item in one.items())


def escape_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """A text as it may stand in an error: at most `limit` characters, control characters and surrogates escaped."""
    escaped = _UNPRINTABLE.sub(_escape, text[: limit + 1])
    return escaped if len(escaped) <= limit else f"{escaped[: limit - 1]}…"


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def error_text(exception: BaseException) -> tuple[str, str]:
    """The type and the message of an exception, escaped and cut; one whose `str()` raises is survived."""
    try:
        message = str(exception)
    except Exception as broken:
        message = f"(its str() raises {type(broken).__name__})"
    return _name(exception), escape_text(message)
