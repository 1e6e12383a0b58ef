"""Python names for the names of a source, decided once (build.md section 3).

A quoted name can hold any text, Python has keywords, and a generated module has names of its own: what would clash gets
a trailing `_`, and two names of one scope that would still be one are refused. Nothing here knows machines or text
layout.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping

_LOOKS_LIKE_DIGITS = frozenset({"l", "O", "I"})
"""Names that linters refuse, for they are taken for 1 and 0."""

_TYPES = frozenset({"bool", "float", "int", "list", "object", "str"})
_IMPORTED = frozenset(
    {"ABSENT", "Any", "Definition", "Event", "Literal", "Never", "NotRequired", "Protocol", "Rows", "Stm"}
    | {"TYPE_CHECKING", "TypedDict", "annotations", "check_format", "present", "renamed"}
)
_DECLARED = frozenset(
    {"Actions", "Context", "DEFINITION", "DIAGRAM", "DIGEST", "EventKind", "NAME", "Outcome", "SOURCE_NAME", "State"}
    | {"TABLES_FORMAT", "VERSION", "bind"}
)
_PRIVATE = re.compile(r"_(STATES|TRANSITIONS|EVENTS|CONTEXT|GUARDS|BINDS|DOCS|INLINE|DEEP|check)(_.*)?")

MODULE_SCOPE = _TYPES | _IMPORTED | _DECLARED | {"dict", "super"}
"""What an event class may not be called: what the module defines, imports or uses."""

EVENT_SCOPE = frozenset({"data", "event_id", "id", "kind", "present", "self", "super"})
"""What a parameter of an event class may not be called: what its body uses, and the attributes of every event."""

ACTIONS_SCOPE = _TYPES | {"Any", "Event", "Stm", "_abc_impl", "_is_protocol", "_is_runtime_protocol"}
"""What a method of `Actions` may not be called: the types that the methods after it name."""

INPUT_SCOPE = frozenset({"event", "self", "stm"})
"""What an input of a handler may not be called: the other parameters."""

_FILE_SCOPE = frozenset({"harel", "typing"})
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


class NameClash(ValueError):
    """Two names of a source become one Python name.

    Attributes:
        what: what the names name, in the plural. first, second: the names as the source has them.
        python: the name that both would get.
    """

    def __init__(self, what: str, first: str, second: str, python: str) -> None:
        self.what = what
        self.first = first
        self.second = second
        self.python = python
        super().__init__(f"the {what} {first!r} and {second!r} would both be called {python!r} in Python: rename one")


def python_name(text: str, taken: Collection[str] = ()) -> str:
    """The Python name for a name of a source, other than those taken.

    Python reads identifiers in the form NFKC, so they are written in it. What cannot stand in one becomes `_`. Two
    leading underscores become one, for classes rename such names.
    """
    normal = unicodedata.normalize("NFKC", text)
    name = re.sub(r"[^\w]+", "_", normal)
    name = "".join(char if f"_{char}".isidentifier() else "_" for char in name)
    if not name.isidentifier():
        name = f"_{name}"
    if name.startswith("__"):
        rest = name.lstrip("_")
        return f"_{rest}_" if rest else "_"
    if keyword.iskeyword(name) or name in taken or name in _LOOKS_LIKE_DIGITS or _PRIVATE.fullmatch(name):
        return f"{name}_"
    return name


def python_names(texts: Iterable[str], taken: Collection[str], what: str) -> Mapping[str, str]:
    """The Python name for each name of one scope.

    Raises:
        NameClash: two different names would be one; `what` says what they name, in the plural.
    """
    names: dict[str, str] = {}
    first: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        names[text] = name = python_name(text, taken)
        other = first.setdefault(name, text)
        if other != text:
            raise NameClash(what, other, text, name)
    return names


def module_name(machine: str) -> str:
    """The file name of a machine's module, without `.py`, on every system."""
    name = python_name(machine, _FILE_SCOPE)
    return f"{name}_" if _DEVICES.fullmatch(name) else name
