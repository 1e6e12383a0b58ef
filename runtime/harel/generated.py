"""What generated modules need at run time, beside the tables (build.md section 3).

It knows neither engine nor store: an optional field that was left out of an event is told from one that is null, and a
handler whose inputs have another name in Python than in the source is called by the right names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final


class _Absent:
    """The type of `ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final[Any] = _Absent()
"""The default of an optional field: it was not given at all, whereas `None` is given and null."""


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given."""
    return {name: value for name, value in fields.items() if value is not ABSENT}


def renamed(handler: Callable[..., Any], names: Mapping[str, str]) -> Callable[..., Any]:
    """The handler, called with inputs by their names in the source; `names` holds the parameter for each that differs.

    An `async def` handler stays one.
    """

    def parameters(inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {names.get(name, name): value for name, value in inputs.items()}

    if inspect.iscoroutinefunction(handler):

        async def acall(stm: Any, event: Any, /, **inputs: Any) -> Any:
            return await handler(stm, event, **parameters(inputs))

        return acall

    def call(stm: Any, event: Any, /, **inputs: Any) -> Any:
        return handler(stm, event, **parameters(inputs))

    return call
