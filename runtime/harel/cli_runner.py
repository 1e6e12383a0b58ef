"""The runner behind the operator's commands: it has the machines that are to be had, and calls only what it may.

Machines come from `HAREL_DEFINITIONS` and `HAREL_DEFINITIONS_DIR`, then from the store's published copies (runtime.md
section 6). A handler that is not bound here, or whose module is not allowed, is not skipped: the step that needs it is
given up before its commit and left to a worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Any

from .aio import AsyncDurableRunner
from .definition import Definition, with_inline
from .environment import Settings
from .errors import DefinitionNotLoaded
from .execution import Execution
from .handlers import Handler, import_handler
from .published import AllowedModules, called_paths, read_document
from .stores.protocol import Store

log = logging.getLogger("harel")

Command = Callable[[AsyncDurableRunner], Coroutine[Any, Any, object]]


class NeedsWorker(BaseException):
    """A step needs a handler that this process has not got. No `Exception`: it must not pass for an action error, and
    so ends the call before the step is committed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Operator:
    """Gives commands to the executions of a store."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self._trace = settings.trace
        own = settings.load_definitions()
        self._allowed = AllowedModules(own, settings.action_modules)
        published = list(_published(store, {(machine.id, machine.version) for machine in own}))
        admitted = [machine for machine in published if self._is_allowed(machine)]
        self._paths = frozenset(path for machine in (*own, *admitted) for path in called_paths(machine))
        self._machines = [_with_refusals(machine) for machine in (*own, *published)]
        self._versions = {(machine.id, machine.version) for machine in self._machines}

    def knows(self, execution: Execution) -> bool:
        """Whether the machine version of an execution is here or published."""
        return (execution.definition_id.partition(":")[0], execution.definition_version) in self._versions

    def give(self, command: Command) -> str | None:
        """Carry out a command; the handler at which it was given up, if one is needed that is not here.

        What was committed until then stands, and the rest is in the store's outbox, for a worker.
        """

        async def carried_out() -> None:
            await command(AsyncDurableRunner(self.store, self._machines, resolver=self._resolve, trace=self._trace))

        try:
            asyncio.run(carried_out())
        except NeedsWorker as needed:
            return needed.name
        return None

    def _is_allowed(self, machine: Definition) -> bool:
        try:
            self._allowed.check(machine)
        except DefinitionNotLoaded:
            return False
        return True

    def _resolve(self, path: str) -> Handler:
        """The function at a dotted path, imported only where the path is allowed."""
        if path not in self._paths:
            return _refusal(path)
        return self._allowed.resolver(import_handler)(path)


def _published(store: Store, known: Collection[tuple[str, int]]) -> Iterator[Definition]:
    """The published machines but for the versions known; a damaged one is logged and left out."""
    for id, version, _ in store.list_definitions():
        text = None if (id, version) in known else store.load_definition(id, version)
        if text is None:
            continue
        try:
            yield read_document(text, id, version)
        except DefinitionNotLoaded as error:
            log.warning("%s", error)


def _with_refusals(machine: Definition) -> Definition:
    """The machine with every handler and guard that the program left open bound to a refusal."""
    machines = list(with_inline([machine]))
    actions = {name: _refusal(name) for each in machines for name in each.handlers if name not in each.actions}
    guards = {name: _refusal(name) for each in machines for name in each.open_guards if name not in each.predicates}
    return machine.bound(actions, guards)


def _refusal(name: str) -> Handler:
    def refuse(*_: object, **__: object) -> None:
        raise NeedsWorker(name)

    return refuse
