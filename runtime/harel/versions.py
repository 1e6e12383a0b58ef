"""Which definition runs an execution (runtime.md section 6): the machines a process has, by id, version and digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .definition import Definition, with_inline
from .errors import DefinitionChanged, DefinitionNotLoaded, DslError
from .execution import Execution
from .program import Program

Definitions = Mapping[str, Definition] | Mapping[tuple[str, int], Definition] | Iterable[Definition]


def definition_registry(definitions: Definitions) -> dict[tuple[str, int], Definition]:
    """The definitions by (id, version), inline machines included.

    Raises:
        DslError: one version of a machine is there twice with different content; names both digests.
    """
    registry: dict[tuple[str, int], Definition] = {}
    for definition in with_inline(as_iterable(definitions)):
        key = (definition.id, definition.version)
        known = registry.setdefault(key, definition)
        if known.digest != definition.digest:
            raise DslError(
                f"machine {definition.id} version {definition.version} is loaded twice with different content "
                f"(digests {known.digest[:12]}… and {definition.digest[:12]}…): give the newer one another version"
            )
        if definition.actions and not known.actions:
            registry[key] = definition
    return registry


def as_iterable(definitions: Definitions) -> Iterable[Definition]:
    """The definitions themselves, whether given as a mapping or one after the other."""
    return definitions.values() if isinstance(definitions, Mapping) else definitions


class Registry:
    """The machines of one runner, ready to run: its own, and published ones it has taken over."""

    def __init__(self, definitions: Definitions) -> None:
        self._own = definition_registry(definitions)
        self._programs: dict[tuple[str, int, str], Program] = {}
        self._latest: dict[str, int] = {}
        for id, version in self._own:
            self._latest[id] = max(version, self._latest.get(id, 0))

    def __iter__(self) -> Iterator[Definition]:
        return iter(self._own.values())

    def choose(self, id: str, version: int | None) -> Definition:
        """The program's own machine in the highest version, or in the one asked for.

        Raises:
            DefinitionNotLoaded: there is none; says what is loaded.
        """
        wanted = self._latest.get(id) if version is None else version
        found = None if wanted is None else self._own.get((id, wanted))
        if found is None:
            loaded = ", ".join(f"{name} version {number}" for name, number in sorted(self._own)) or "nothing"
            asked = id if version is None else f"{id} version {version}"
            raise DefinitionNotLoaded(f"machine {asked} is not loaded here; loaded: {loaded}")
        return found

    def own(self, id: str, version: int) -> Definition | None:
        """The program's own machine in that version, if it has it."""
        return self._own.get((id, version))

    def latest(self, id: str) -> Definition | None:
        """The program's own machine in its highest version, if it has any."""
        version = self._latest.get(id)
        return None if version is None else self._own[id, version]

    def program(self, definition: Definition) -> Program:
        """The definition ready to run, made once."""
        key = (definition.id, definition.version, definition.digest)
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = Program(definition)
        return program

    def adopt(self, definition: Definition) -> None:
        """Take over a published machine, with those written inside it."""
        for machine in with_inline([definition]):
            self.program(machine)

    def known(self, id: str, version: int, digest: str) -> Program | None:
        """What is here of that version with exactly that content: the program's own, or a published one taken over.

        An empty digest is that of a record from before versions: the program's own machine, whatever its content.
        """
        own = self._own.get((id, version))
        if own is not None and digest in ("", own.digest):
            return self.program(own)
        return self._programs.get((id, version, digest))


def changed(execution: Execution, loaded: Definition | None) -> DefinitionChanged:
    """The error where no copy of a machine has the content that an execution started on."""
    machine = f"machine {execution.definition_id} version {execution.definition_version}"
    here = f"{loaded.digest[:12]}… is loaded" if loaded else "another one is published"
    return DefinitionChanged(
        f"{machine} was edited: execution {execution.id!r} started on digest {execution.definition_digest[:12]}…, "
        f"{here}; restore it, or give the edited one another version and redrive"
    )


def check_position(program: Program, execution: Execution) -> None:
    """Refuse an execution that stands in a state its machine has not got.

    Raises:
        DefinitionChanged: names the state.
    """
    definition = program.definition
    for path in (execution.region, execution.active_path):
        if path not in definition.index:
            raise DefinitionChanged(
                f"machine {definition.id} version {definition.version} has no state {path!r}, "
                f"where execution {execution.id!r} stands; redrive it to a state it has"
            )
