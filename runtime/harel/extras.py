"""Client libraries that the runtime does not depend on: imported when a backend needs one (runtime.md, first lines).

Each backend is an extra of the distribution; one that is missing is an error that says how to install it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRAS = {"redis": "redis", "psycopg": "postgres"}
"""The extra of `harel-runtime` that brings each library."""


def library(name: str) -> Any:
    """The client library of that name.

    Raises:
        ModuleNotFoundError: it is not installed; says the pip line.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        extra = EXTRAS[name]
        message = f"the {extra} backend needs the library {name!r}: pip install 'harel-runtime[{extra}]'"
        raise ModuleNotFoundError(message, name=name) from error
