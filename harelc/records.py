"""`Record`: what `@dataclass(frozen=True, slots=True)` makes, made cheaply (build.md section 4).

For a dataclass half a dozen methods are compiled whenever its module is imported; for the many small classes of the
compiler that was a sixth of the time that checking one file takes. Records share their methods instead. In all else
they are dataclasses: `fields` and `replace` work on them, and type checkers see what they see of dataclasses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, FrozenInstanceError, field, make_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, dataclass_transform


class _Fields:
    """The fields of a record class, for `dataclasses.fields` and `replace`; worked out when first asked for."""

    def __get__(self, record: object, kind: type[Record]) -> dict[str, Field[Any]]:
        return _fields(kind)


@cache
def _fields(kind: type[Record]) -> dict[str, Field[Any]]:
    """As a dataclass has them, but that their types and defaults are left out."""
    names = kind.__match_args__
    made = make_dataclass(kind.__name__, names, namespace={"__doc__": ""}, init=False, repr=False, eq=False)
    fields: dict[str, Field[Any]] = vars(made)["__dataclass_fields__"]
    return fields


class _RecordType(type):
    """Takes the annotations of a class for its fields, and the values beside them for their defaults."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _RecordType:
        names = tuple(namespace.get("__annotations__", ())) if bases else ()
        given = {each: namespace.pop(each) for each in names if each in namespace}
        return super().__new__(
            mcs, name, bases, {**namespace, "__slots__": names, "__match_args__": names, "_given": given}
        )


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record(metaclass=_RecordType):
    """A class of frozen values: its annotated names are its fields, in order; those with defaults come last.

    Of `field` it knows `default` and `compare`. A record class has no other below it.
    """

    __match_args__: ClassVar[tuple[str, ...]]
    __dataclass_fields__: ClassVar[_Fields] = _Fields()
    _given: ClassVar[Mapping[str, Any]]
    _defaults: ClassVar[tuple[Any, ...]]
    """Those of the last fields."""
    _setters: ClassVar[tuple[Any, ...]]
    _key: ClassVar[attrgetter[Any]]
    """What a record is compared by."""

    def __init_subclass__(cls) -> None:
        given, names = cls._given, cls.__match_args__
        unlike = [each for each, value in given.items() if isinstance(value, Field) and not value.compare]
        cls._defaults = tuple(value.default if isinstance(value, Field) else value for value in given.values())
        cls._setters = tuple(cls.__dict__[each].__set__ for each in names)
        cls._key = attrgetter(*(each for each in names if each not in unlike))

    def __init__(self, *values: Any, **named: Any) -> None:
        setters = self._setters
        if named or len(values) != len(setters):
            values = _completed(type(self), values, named)
        for setter, value in zip(setters, values, strict=True):
            setter(self, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._key(self) == self._key(other))

    def __hash__(self) -> int:
        return hash(self._key(self))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({values})"

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __reduce__(self) -> tuple[type[Record], tuple[object, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)


def _completed(kind: type[Record], values: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """A value for each field: those given in order, those given by name, the defaults.

    Raises:
        TypeError: as of any call.
    """
    names, defaults = kind.__match_args__, kind._defaults
    missing = len(names) - len(values)
    if not named and 0 < missing <= len(defaults):
        return (*values, *defaults[-missing:])
    own = {**dict(zip(names[-len(defaults) :], defaults, strict=False)), **dict(zip(names, values, strict=False))}
    own |= named
    if missing < 0 or len(own) != len(names) or any(name in named for name in names[: len(values)]):
        raise TypeError(f"{kind.__name__}({', '.join(names)}) takes no {len(values)} values and {', '.join(named)}")
    return tuple(own[name] for name in names)
