"""Which definition runs an execution (runtime.md section 6): the machines a process has loaded, by id and version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .definition import Definition
from .errors import DefinitionChanged, DefinitionNotLoaded, DslError
from .execution import Execution
from .program import Program

Definitions = Mapping[str, Definition] | Iterable[Definition]


def definition_registry(definitions: Definitions) -> dict[tuple[str, int], Definition]:
    """The definitions by (id, version), inline machines included.

    Raises:
        DslError: one version of a machine is there twice with different content; names both digests.
    """
    registry: dict[tuple[str, int], Definition] = {}
    for definition in _with_inline(definitions.values() if isinstance(definitions, Mapping) else definitions):
        known = registry.setdefault((definition.id, definition.version), definition)
        if known.digest != definition.digest:
            raise DslError(
                f"machine {definition.id} version {definition.version} is loaded twice with different content "
                f"(digests {known.digest[:12]}… and {definition.digest[:12]}…): give the newer one another version"
            )
        if definition.actions and not known.actions:
            registry[definition.id, definition.version] = definition
    return registry


def _with_inline(definitions: Iterable[Definition]) -> Iterator[Definition]:
    for definition in definitions:
        yield definition
        yield from _with_inline(definition.inline)


class Registry:
    """The machines of one runner, ready to run."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definition_registry(definitions)
        self._programs: dict[tuple[str, int], Program] = {}
        self._latest: dict[str, int] = {}
        for id, version in self._definitions:
            self._latest[id] = max(version, self._latest.get(id, 0))

    def __iter__(self) -> Iterator[Definition]:
        return iter(self._definitions.values())

    def choose(self, id: str, version: int | None) -> Definition:
        """The highest version loaded, or the one asked for.

        Raises:
            DefinitionNotLoaded: there is none; says what is loaded.
        """
        wanted = self._latest.get(id) if version is None else version
        found = None if wanted is None else self._definitions.get((id, wanted))
        if found is None:
            loaded = ", ".join(f"{name} version {number}" for name, number in sorted(self._definitions)) or "nothing"
            asked = id if version is None else f"{id} version {version}"
            raise DefinitionNotLoaded(f"machine {asked} is not loaded here; loaded: {loaded}")
        return found

    def program(self, definition: Definition) -> Program:
        """The definition ready to run, made once."""
        key = (definition.id, definition.version)
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = Program(definition)
        return program

    def running(self, execution: Execution) -> Program:
        """The program that runs an execution: its own version, with the content it started on.

        Raises:
            DefinitionNotLoaded: this process has not got the version.
            DefinitionChanged: the version was edited, or the execution stands in a state that is gone.
        """
        definition = self.choose(execution.definition_id, execution.definition_version)
        machine = f"machine {definition.id} version {definition.version}"
        if definition.digest != execution.definition_digest:
            raise DefinitionChanged(
                f"{machine} was edited: execution {execution.id!r} started on digest "
                f"{execution.definition_digest[:12]}…, {definition.digest[:12]}… is loaded; restore it, or give the edited one another version and redrive"
            )
        program = self.program(definition)
        for path in (execution.region, execution.active_path):
            if path not in definition.index:
                raise DefinitionChanged(
                    f"{machine} has no state {path!r}, where execution {execution.id!r} stands; "
                    "redrive it to a state it has"
                )
        return program
