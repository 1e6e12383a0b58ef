"""The plain machine: one machine of one file, imports joined, fragments expanded, names looked up.

`resolve.py` makes it; the checks read it and `lower.py` writes tables from it. States and transitions are tuples in
source order and refer to one another by index, as the tables do; every part keeps the node it came from, for its span.
A name that could not be looked up is `None` here and has had its finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import tree
from .records import Record


class GuardModel(Record):
    """A named guard. `key` is unique in the machine: the guard's name, or `name@2`, … where files differ in one name.

    `refs` maps each name used inside to the key of the guard meant, or `None`.
    """

    key: str
    node: tree.Guard
    refs: Mapping[str, str | None]


class BranchModel(Record):
    """A branch and the index of its target, or `None`."""

    node: tree.Branch
    target: int | None


class TransitionModel(Record):
    """A transition: `source` and the body it stands in (`home`) are state indices. An unresolved source has no
    model.
    """

    index: int
    source: int
    home: int
    node: tree.Transition
    branches: tuple[BranchModel, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(kind.text for kind in self.node.kinds)

    @property
    def is_automatic(self) -> bool:
        return not self.node.kinds


class InvokeModel(Record):
    """What a leaf invokes. `machine` is the target's signature: another machine's, or of the inline machine `inline`.

    `machine` is `None` where the name was not found.
    """

    node: tree.Invoke
    machine: Signature | None
    inline: MachineModel | None = None


class Signature(Record):
    """What a parent needs to know of a machine it invokes: identity, context keys, and its declaration."""

    id: str
    version: int
    node: tree.Machine | tree.Invoke
    file: str
    context: tree.Context | None


class StateModel(Record):
    """A state. Index 0 is the machine: path "", no parent, its `node` the machine or the inline `invoke`.

    `kind` is machine, composite, orthogonal or leaf, as in the tables. `body` holds the statements with uses expanded.
    `uses` are the uses that expansion went through to get here, outermost first: the place to blame for what came
    out of a fragment. `initial` is the index of the child that `initial` names, or `None`.
    """

    index: int
    name: str
    path: str
    parent: int | None
    kind: str
    node: tree.State | tree.Machine | tree.Invoke
    body: tuple[tree.Statement, ...]
    children: tuple[int, ...]
    initial: int | None
    invoke: InvokeModel | None = None
    uses: tuple[tree.Use, ...] = ()

    def statements(self, *kinds: type) -> Iterator[tree.Statement]:
        """The body's statements of the given node types, in source order."""
        return (statement for statement in self.body if isinstance(statement, kinds))


class MachineModel(Record):
    """A whole machine. `events` are what its file sees, by name; `guards` those that the machine needs, by key.

    `scope_of_guard` maps (file, name) to a guard's key: the scope of a `GuardRef` is the file that its span names.
    `bind_of` maps (file, handler) to the dotted path, likewise.
    """

    id: str
    version: int
    file: str
    node: tree.Machine | tree.Invoke
    states: tuple[StateModel, ...]
    transitions: tuple[TransitionModel, ...]
    events: Mapping[str, tree.Event]
    guards: Mapping[str, GuardModel]
    scope_of_guard: Mapping[tuple[str, str], str]
    bind_of: Mapping[tuple[str, str], str]
    context: tree.Context | None
    inline: tuple[MachineModel, ...] = ()
    broken: bool = False

    def outwards(self, index: int) -> Iterator[StateModel]:
        """The state and its ancestors, innermost first, the machine last."""
        at: int | None = index
        while at is not None:
            yield self.states[at]
            at = self.states[at].parent


class Unit(Record):
    """One file as it was asked for, with everything it imports: what the rules about a whole file read.

    `imported` are the files behind each import line, the named file first, then what it imports, each once; a line
    behind which something was lost, to a syntax error or a failed import, is left out.
    `used` holds (kind, file, name) of every declaration that something in this file needs, directly or through another
    declaration that is needed; kind is event, guard, fragment, machine or bind.
    """

    file: tree.File
    machines: tuple[MachineModel, ...]
    imported: Mapping[tree.Import, tuple[tree.File, ...]]
    used: frozenset[tuple[str, str, str]]
