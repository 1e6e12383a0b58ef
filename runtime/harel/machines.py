"""Which machine runs what, asked of the store where this process has not got it (runtime.md section 6).

The program's own machines come first, then published ones, allowed and bound as far as the program can. Jobs
throughout.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from .definition import Definition
from .errors import DefinitionNotLoaded, ResolveError
from .execution import Execution
from .handlers import Handlers
from .jobs import Job, StoreCall
from .program import Program
from .published import AllowedModules, read_document
from .stores.protocol import Spawn
from .versions import Registry, changed, check_position

log = logging.getLogger("harel")


class Machines:
    """The machines of one runner, and those its store keeps."""

    def __init__(
        self,
        registry: Registry,
        handlers: Handlers,
        allowed: AllowedModules,
        guards: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.registry = registry
        self.handlers = handlers
        self._allowed = allowed
        self._guards = guards

    def running(self, execution: Execution) -> Job[Program]:
        """The machine that runs an execution: its version with the content it started on, own or published.

        Raises:
            DefinitionNotLoaded: the version is nowhere, or may not or cannot be run here.
            DefinitionChanged: no copy has that content, or the execution stands in a state that is gone.
        """
        id, version, digest = execution.definition_id, execution.definition_version, execution.definition_digest
        found = self.registry.known(id, version, digest)
        if found is None:
            found = yield from self._published(id, version, digest)
        if found is None:
            raise changed(execution, self.registry.own(id, version))
        execution.definition_digest = found.definition.digest
        check_position(found, execution)
        return found

    def _published(self, id: str, version: int, digest: str | None) -> Job[Program | None]:
        """The published copy of a version with that content (none given: any), taken over; `None` where there is no
        such.
        """
        owner = id.partition(":")[0]
        own = self.registry.own(id, version)
        text: str | None = yield StoreCall("load_definition", (owner, version))
        if text is None:
            if own is None:
                self.registry.choose(id, version)
            return None
        definition = read_document(text, owner, version)
        if digest and definition.digest != digest:
            return None
        self.registry.adopt(self._admitted(definition))
        if own is not None:
            log.warning(
                "machine %s version %s was edited here: the published copy runs what started on it", id, version
            )
        return self.registry.known(id, version, definition.digest)

    def _admitted(self, definition: Definition) -> Definition:
        """A published machine, allowed and bound as far as this program can. Raises `DefinitionNotLoaded`."""
        self._allowed.check(definition)
        model = self.registry.latest(definition.id)
        bound = definition.bound(model.actions, model.predicates) if model else definition
        bound = bound.bound(None, self._guards)
        try:
            self.handlers.admit(bound, self._allowed.resolver)
        except ResolveError as error:
            raise DefinitionNotLoaded(f"the published copy cannot run here: {error}") from error
        return bound

    def of_child(self, parent: Execution, spawn: Spawn) -> Job[Definition]:
        """The machine of a child: the parent's own content for a region or an inline machine, else the version
        named.
        """
        id, version = spawn.definition_id, spawn.definition_version
        digest = parent.definition_digest if spawn.region or ":" in id else None
        own = self.registry.own(id, version)
        if digest is None and own is not None:
            return own
        found = self.registry.known(id, version, digest) if digest else None
        if found is None:
            found = yield from self._published(id, version, digest)
        if found is None:
            raise DefinitionNotLoaded(
                f"machine {id} version {version}, which {parent.id!r} started on, is not loaded here"
            )
        return found.definition
