"""What the rules ask of a file and of each machine in it, worked out once and on first use.

Every index here costs one pass over the machine, so that the rules stay linear in its size. Nothing is reported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from harel.event import RESERVED_KINDS

from .. import tree
from ..kinds import DELIVERED
from ..model import GuardModel, MachineModel, StateModel, TransitionModel, Unit
from ..walk import tests
from .values import UNKNOWN, Type, declared, joined, of_literal
from .walk import predicates

_CARRIED: Mapping[str, Mapping[str, Type]] = {
    "Timeout": {},
    "Expired": {},
    "Cancel": {"reason": UNKNOWN},
    "error": {
        "type": Type("string", nullable=False, may_lack=False),
        "message": Type("string", nullable=False, may_lack=False),
        "child": Type("string", nullable=False, may_lack=True),
    },
}
"""The fields of the engine's own events (language.md section 6); `Returned` may carry anything."""


class FileFacts:
    """One file as it was asked for. `machines` are the facts of its machines, inline ones behind their outer ones."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.file = unit.file
        self.machines = tuple(Facts(machine) for machine in _with_inline(unit.machines))


def _with_inline(machines: Iterable[MachineModel]) -> Iterator[MachineModel]:
    waiting = list(machines)[::-1]
    while waiting:
        machine = waiting.pop()
        yield machine
        waiting.extend(reversed(machine.inline))


class Facts:
    """Look-ups over one plain machine."""

    def __init__(self, machine: MachineModel) -> None:
        self.machine = machine
        self._field_types: dict[tuple[tuple[str, ...], str], Type | None] = {}
        self._guard_tests: dict[str, tuple[tree.Compare, ...]] = {}

    # --- structure

    @cached_property
    def states(self) -> Sequence[StateModel]:
        """The states by index."""
        return self.machine.states

    @cached_property
    def is_second(self) -> Sequence[bool]:
        """For each state whether it, or one around it, has the name of an earlier one in its body: no name means it."""
        second: list[bool] = []
        names: set[tuple[int | None, str]] = set()
        for state in self.states:
            name = (state.parent, state.name)
            second.append(name in names or (state.parent is not None and second[state.parent]))
            names.add(name)
        return second

    @cached_property
    def own(self) -> Sequence[Sequence[TransitionModel]]:
        """The transitions whose source is each state, in source order."""
        own: list[list[TransitionModel]] = [[] for _ in self.states]
        for transition in self.machine.transitions:
            own[transition.source].append(transition)
        return own

    @cached_property
    def root(self) -> Sequence[int]:
        """For each state the root of the execution that runs it: the innermost region around it, or 0."""
        root: list[int] = []
        for state in self.states:
            is_root = state.parent is None or self.states[state.parent].kind == "orthogonal"
            root.append(state.index if is_root or state.parent is None else root[state.parent])
        return root

    def outwards(self, index: int) -> Iterator[int]:
        """The state and those around it that its execution runs, innermost first."""
        root = self.root[index]
        while index != root:
            yield index
            index = self.states[index].parent or 0
        yield root

    def inwards_any(self, marked: Iterable[int]) -> Sequence[bool]:
        """For each state whether it, or a state inside it that the same execution runs, is marked."""
        has = [False] * len(self.states)
        for index in marked:
            has[index] = True
        for state in reversed(self.states):
            if has[state.index] and state.parent is not None and self.root[state.index] != state.index:
                has[state.parent] = True
        return has

    def is_fan_out(self, index: int) -> bool:
        invoke = self.states[index].invoke
        return invoke is not None and invoke.node.item is not None

    def is_single_invoke(self, index: int) -> bool:
        invoke = self.states[index].invoke
        return invoke is not None and invoke.node.item is None

    def is_fork(self, index: int) -> bool:
        """Whether the state is left by a join: an orthogonal state or a fan-out."""
        return self.states[index].kind == "orthogonal" or self.is_fan_out(index)

    def is_terminal(self, index: int) -> bool:
        """Whether the way ends at this leaf: nothing leads on and nothing is waited for."""
        state = self.states[index]
        return state.kind == "leaf" and state.invoke is None and not self.own[index]

    @cached_property
    def ends_execution(self) -> Sequence[bool]:
        """For each state whether its end is the end of its execution: nothing around it leads on (language 5.6)."""
        ends: list[bool] = []
        for state in self.states:
            at = state.index
            if at == self.root[at]:
                ends.append(True)
            else:
                outer = state.parent or 0
                ends.append(ends[outer] and (outer == self.root[at] or not self.own[outer]))
        return ends

    def crosses(self, transition: TransitionModel, target: int) -> bool:
        """Whether source and target are run by different executions."""
        return self.root[transition.source] != self.root[target]

    @cached_property
    def entry(self) -> Sequence[int]:
        """Where entering each state comes to a stop: at its initial leaf, or at an orthogonal state on the way."""
        entry = [state.index for state in self.states]
        for state in reversed(self.states):
            if state.kind in ("machine", "composite") and state.initial is not None:
                entry[state.index] = entry[state.initial]
        return entry

    def onward(self, index: int) -> tuple[TransitionModel | None, int | None]:
        """Where settling surely goes on from a state that is done: the transition taken, and the state settled next.

        No state: it rests, waits for children, or decides by a `choose` or `select`. No transition, but a state: a
        terminal, whose composite is settled next.
        """
        state, own = self.states[index], self.own[index]
        if state.kind == "machine" or state.kind == "orthogonal" or state.invoke is not None:
            return None, None
        first = next((t for t in own if t.is_automatic), None)
        if first is not None:
            target = first.branches[0].target if first.node.form == "to" else None
            if first.node.where is not None or target is None or self.crosses(first, target):
                return None, None
            return first, self.entry[target]
        if own or index == self.root[index] or state.parent == self.root[index]:
            return None, None
        return None, state.parent

    def label(self, index: int) -> str:
        """The state as a message names it: its path, from the used fragment's inside on if it came out of one."""
        state = self.states[index]
        if not state.path:
            return self.machine.id
        return state.name if state.uses else state.path

    def notes(self, index: int) -> tuple[tuple[tree.Span, str], ...]:
        """For what came out of a fragment: the outermost place that uses it."""
        return tuple((use.name.span, "the fragment is used here") for use in self.states[index].uses[:1])

    # --- what is missing, so that nothing is concluded from it

    @cached_property
    def has_lost_transitions(self) -> bool:
        """Whether some transition could not be placed, so that its absence means nothing."""
        machine = self.machine
        if machine.broken:
            return True
        written = sum(isinstance(part, tree.Transition) for state in self.states for part in state.body)
        unexpanded = any(isinstance(part, tree.Use) for state in self.states for part in state.body)
        return unexpanded or written != len(machine.transitions)

    @cached_property
    def has_lost_targets(self) -> bool:
        """Whether some target or `initial` was not found, so that what it should have reached is unknown."""
        lost = any(branch.target is None for t in self.machine.transitions for branch in t.branches)
        return lost or any(state.kind in ("machine", "composite") and state.initial is None for state in self.states)

    def is_known_kind(self, kind: str) -> bool:
        return kind in self.machine.events or kind in DELIVERED

    def understands(self, transition: TransitionModel) -> bool:
        """Whether all that the transition's kinds and predicates name was found, so that a conclusion about when it is
        taken does not follow from another finding.
        """
        compares: list[tree.Compare] = []
        for predicate, _ in predicates(transition.node):
            for test in tests(predicate):
                if isinstance(test, tree.Compare):
                    compares.append(test)
                    continue
                guard = self.guard(test)
                if guard is None:
                    return False
                compares.extend(self.guard_tests(guard))
        keys = (ref.name.text for compare in compares for ref in context_refs(compare))
        fields = (ref.name.text for compare in compares for ref in event_refs(compare))
        return (
            all(map(self.is_known_kind, transition.kinds))
            and all(self.is_known_key(transition.source, key) for key in keys)
            and all(self.field_type(transition.kinds, name) is not None for name in fields)
        )

    # --- types

    @cached_property
    def schema(self) -> Mapping[str, tree.FieldDecl] | None:
        """The declared context keys, or `None` where the machine has no schema and any key may be used."""
        if self.machine.context is None:
            return None
        return {field.name.text: field for field in self.machine.context.fields}

    @cached_property
    def passed(self) -> Mapping[int, Mapping[str, Type]]:
        """For each region the keys that the `with` of the forks around it pass down, inner ones over outer ones."""
        passed: dict[int, Mapping[str, Type]] = {0: {}}
        for state in self.states:
            at = state.index
            if state.parent is None or self.root[at] != at:
                continue
            fork = self.states[state.parent]
            entries = (e for part in fork.body if isinstance(part, tree.With) for e in part.entries)
            own = {entry.child.text: self._passed_type(entry.value, fork.index, passed) for entry in entries}
            passed[at] = {**passed[self.root[fork.index]], **own}
        return passed

    def _passed_type(self, value: tree.Operand, fork: int, passed: Mapping[int, Mapping[str, Type]]) -> Type:
        if isinstance(value, tree.Literal):
            return of_literal(value.value)
        if value.scope == "event":
            return UNKNOWN
        return self._key_type(passed[self.root[fork]], self.root[fork], value.name.text)

    def key_type(self, index: int, key: str) -> Type:
        """What is known of a context key where the state runs; a region has what `with` passes, and what it wrote."""
        return self._key_type(self.passed[self.root[index]], self.root[index], key)

    def _key_type(self, passed: Mapping[str, Type], root: int, key: str) -> Type:
        if key in passed:
            return passed[key]
        field = (self.schema or {}).get(key)
        if field is None:
            return UNKNOWN
        known = declared(field)
        return known if root == 0 else Type(known.name, known.nullable, may_lack=True)

    def is_known_key(self, index: int, key: str) -> bool:
        """Whether a context key may be used where the state runs: any, unless a schema lists them."""
        return self.schema is None or key in self.schema or key in self.passed[self.root[index]]

    def field_type(self, kinds: tuple[str, ...], name: str) -> Type | None:
        """What is known of an event's field on a transition of these kinds; `None` if no kind has it."""
        asked = (kinds, name)
        if asked not in self._field_types:
            found = [self._field_of(kind, name) for kind in kinds]
            some = [one for one in found if one is not None]
            lacking = len(some) < len(found)
            known = joined(some) if some else None
            if known is not None and lacking:
                known = Type(known.name, known.nullable, may_lack=True)
            self._field_types[asked] = known
        return self._field_types[asked]

    def _field_of(self, kind: str, name: str) -> Type | None:
        if kind in _CARRIED:
            return _CARRIED[kind].get(name)
        event = self.machine.events.get(kind)
        if kind in RESERVED_KINDS or event is None:
            return UNKNOWN
        for field in event.fields:
            if field.name.text == name:
                return declared(field)
        return None

    # --- guards

    def guard(self, ref: tree.GuardRef) -> GuardModel | None:
        """The named guard that a bare name in a transition means, or `None` where there is none."""
        key = self.machine.scope_of_guard.get((ref.span.file, ref.name.text))
        return None if key is None else self.machine.guards.get(key)

    def guard_tests(self, guard: GuardModel) -> tuple[tree.Compare, ...]:
        """All comparisons inside a named guard, through the guards it names, each once."""
        if guard.key not in self._guard_tests:
            found: dict[tree.Span, tree.Compare] = {}
            seen, waiting = {guard.key}, [guard]
            while waiting:
                at = waiting.pop()
                for test in tests(at.node.predicate):
                    if isinstance(test, tree.Compare):
                        found.setdefault(test.span, test)
                        continue
                    key = at.refs.get(test.name.text)
                    if key is not None and key in self.machine.guards and key not in seen:
                        seen.add(key)
                        waiting.append(self.machine.guards[key])
            self._guard_tests[guard.key] = tuple(found.values())
        return self._guard_tests[guard.key]


def event_refs(compare: tree.Compare) -> Iterator[tree.Ref]:
    """The references of a comparison that read the event; a bare name on the left does."""
    for side in (compare.left, compare.right):
        if isinstance(side, tree.Ref) and side.scope != "context":
            yield side


def context_refs(compare: tree.Compare) -> Iterator[tree.Ref]:
    """The references of a comparison that read the context."""
    for side in (compare.left, compare.right):
        if isinstance(side, tree.Ref) and side.scope == "context":
            yield side
