"""Published machines: what a store keeps of a version, and what a process may run of it (runtime.md section 6).

A published document is data from outside. It names functions, and only those in modules that this process allows
are ever imported; its tables are checked before they are run; nothing of it is evaluated. `machines.py` decides
when one is used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .definition import Definition, check_format
from .errors import DefinitionNotLoaded, DslError, ResolveError
from .handlers import Handler
from .stores.protocol import Store
from .tables import check_tables


def publish_definitions(store: Store, definitions: Iterable[Definition]) -> None:
    """Keep each machine version in the store, with its tables and sources; one that is there already is left alone.

    Raises:
        DefinitionConflict: the store has the version with another digest; names both. Those before it are published.
    """
    for definition in definitions:
        if ":" not in definition.id:  # an inline machine is part of the one it stands in
            store.publish_definition(definition.id, definition.version, definition.digest, document(definition))


def document(definition: Definition) -> str:
    """The JSON text that is published: tables, sources, and a checksum over the tables."""
    data = definition.to_data()
    sources = [list(source) for source in definition.sources]
    return json.dumps({"definition": data, "checksum": _checksum(data), "sources": sources}, ensure_ascii=False)


def _checksum(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_document(text: str, id: str, version: int) -> Definition:
    """The definition of a published document, its tables checked.

    Raises:
        DefinitionNotLoaded: it is damaged, is of another machine or version, or is in a newer format; says so.
    """
    what = f"the published copy of machine {id} version {version}"
    try:
        stored = json.loads(text)
        data = stored["definition"]
        if stored["checksum"] != _checksum(data):
            raise ValueError("its checksum does not fit its tables")
        check_format(data["format"], what)
        check_tables(data)
        definition = Definition.from_data(data)
        if (definition.id, definition.version) != (id, version):
            raise ValueError(f"it is of machine {definition.id} version {definition.version}")
    except DslError as error:
        raise DefinitionNotLoaded(str(error)) from error
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DefinitionNotLoaded(
            f"{what} is damaged: {error}; publish the version again under a new number"
        ) from error
    return definition


class AllowedModules:
    """The modules whose functions a published machine may call.

    Args:
        own: the definitions of the program; what they call is allowed, path by path and module by module.
        extra: further modules; each allows the modules under it.
    """

    def __init__(self, own: Iterable[Definition], extra: Iterable[str]) -> None:
        self._paths = frozenset(path for definition in own for path in called_paths(definition))
        self._modules = frozenset(path.rpartition(".")[0] for path in self._paths)
        self._extra = tuple(module for module in (name.strip() for name in extra) if module)

    def allows_module(self, module: str) -> bool:
        """Whether the module is one that the program's machines call, or one of the further modules or under it."""
        return module in self._modules or any(f"{module}.".startswith(f"{extra}.") for extra in self._extra)

    def check(self, definition: Definition) -> None:
        """Refuse a machine that calls anything else. Nothing is imported.

        Raises:
            DefinitionNotLoaded: names the action and what to do.
        """
        for path in called_paths(definition):
            parts = path.split(".")
            plain = all(part.isidentifier() and not part.startswith("__") for part in parts)
            if not plain or not (path in self._paths or self.allows_module(".".join(parts[:-1]))):
                raise DefinitionNotLoaded(
                    f"machine {definition.id} version {definition.version} is published and calls {path!r}, "
                    "whose module this process does not allow: add it to action_modules= or HAREL_ACTION_MODULES"
                )

    def resolver(self, resolve: Callable[[str], Handler]) -> Callable[[str], Handler]:
        """The resolver for a published machine's paths: what an allowed module merely imported is not its function."""

        def resolved(path: str) -> Handler:
            handler = resolve(path)
            home = getattr(handler, "__module__", None)
            if path not in self._paths and not (isinstance(home, str) and self.allows_module(home)):
                raise ResolveError(f"the action {path} is a function of {home}, which this process does not allow")
            return handler

        return resolved


def called_paths(definition: Definition) -> Iterator[str]:
    """The dotted paths that a machine and its inline machines call, through `bind` or directly."""
    for call in definition.calls():
        path = definition.binds.get(call.name, call.name)
        if "." in path:
            yield path
    for machine in definition.inline:
        yield from called_paths(machine)
