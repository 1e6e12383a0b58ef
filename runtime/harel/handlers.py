"""Handlers: from the name of an action to the function that is called (runtime.md section 3, language.md section 3).

A name is looked up in what the program has bound to the runner, then to the definition, then in the file's `bind`;
a dotted path is imported when it is first needed. What a program left open is refused when the runner is made.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from typing import Any

from .definition import Definition, with_inline
from .errors import ResolveError

Handler = Callable[..., Any]
Resolver = Callable[[str], Handler]


def import_handler(path: str) -> Handler:
    """The function at a dotted path: the longest importable module, then attributes.

    Raises:
        ResolveError: no such module or attribute, or it is not callable; names the path.
    """
    module_path, _, name = path.rpartition(".")
    try:
        found: Any = getattr(import_module(module_path), name)
    except (ImportError, AttributeError) as error:
        raise ResolveError(
            f"the action {path} cannot be imported: {error}; check the path and the installation"
        ) from error
    if not callable(found):
        raise ResolveError(f"the action {path} is a {type(found).__name__}, not a function")
    handler: Handler = found
    return handler


class Handlers:
    """The handlers of one runner."""

    def __init__(self, actions: Mapping[str, Handler] | None, resolver: Resolver | None) -> None:
        self._actions = dict(actions or {})
        self._resolver = resolver or import_handler
        self._restricted: dict[tuple[str, int, str], Resolver] = {}
        self._found: dict[tuple[str, int, str, str], Handler] = {}

    def find(self, definition: Definition, name: str) -> Handler:
        """The function for a handler name or dotted path. Raises `ResolveError`."""
        key = (definition.id, definition.version, definition.digest, name)
        handler = self._found.get(key)
        if handler is None:
            handler = self._found[key] = self._look_up(definition, name)
        return handler

    def _look_up(self, definition: Definition, name: str) -> Handler:
        bound = self.bound(definition, name)
        if bound is not None:
            return bound
        path = definition.binds.get(name, name)
        if "." not in path:
            raise ResolveError(
                f"machine {definition.id} calls {name}, which nothing binds: pass actions={{{name!r}: …}}"
            )
        key = (definition.id, definition.version, definition.digest)
        return self._restricted.get(key, self._resolver)(path)

    def admit(self, definition: Definition, restrict: Callable[[Resolver], Resolver]) -> None:
        """Take on a published machine, whose dotted paths resolve under a restriction, inline machines included.

        Raises:
            ResolveError: it calls a handler or guard that this program does not bind.
        """
        machines = list(with_inline([definition]))
        self.check(machines)
        for machine in machines:
            self._restricted[machine.id, machine.version, machine.digest] = restrict(self._resolver)

    def bound(self, definition: Definition, name: str) -> Handler | None:
        """What the program has bound to the name, if anything."""
        return self._actions.get(name) or definition.actions.get(name)

    def check(self, definitions: Collection[Definition]) -> None:
        """Refuse definitions with handlers that nothing binds.

        Raises:
            ResolveError: names all of them, by machine.
        """
        open_names = [
            f"{definition.id}: {name}"
            for definition in definitions
            for name in definition.handlers
            if self.bound(definition, name) is None
        ]
        open_names += [
            f"{definition.id}: guard {name}"
            for definition in definitions
            for name in definition.open_guards
            if name not in definition.predicates
        ]
        if open_names:
            raise ResolveError(
                f"no function is bound to {', '.join(open_names)}; pass them as actions={{…}}, "
                "use the generated module's bind(…), or bind them in the .stm file"
            )

    def check_sync(self, definitions: Iterable[Definition]) -> None:
        """Refuse `async def` handlers bound by the program. Raises `ResolveError`."""
        for definition in definitions:
            for call in definition.calls():
                handler = self.bound(definition, call.name)
                if handler is not None and inspect.iscoroutinefunction(handler):
                    raise ResolveError(
                        f"{call.name} of machine {definition.id} is async: use AsyncDurableRunner, or a plain function"
                    )
