"""Names: from a machine whose uses are expanded to the plain machine, every name looked up (language.md section 4).

States become a flat list, parents before children; transitions stand in source order. A name that means nothing has one
finding, with the nearest names as a hint, and is `None` in the plain machine; nothing is concluded from it later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from . import tree
from .diagnostics import Finding
from .fragments import cycles, expand, text_faults, uses_in
from .imports import Linked
from .model import (
    BranchModel,
    GuardModel,
    InvokeModel,
    MachineModel,
    Signature,
    StateModel,
    TransitionModel,
    Unit,
)
from .names import Names, guard_faults
from .records import Record
from .spelling import similar
from .versions import version
from .walk import guard_refs, predicates


class Resolved(Record):
    """The unit of the file that was asked for, and what was found on the way."""

    unit: Unit
    findings: tuple[Finding, ...]


def resolve(linked: Linked, program_guards: Iterable[str] = ()) -> Resolved:
    """Look up every name of the machines in the file that was asked for.

    Args:
        program_guards: names of guards that the program binds; they need no declaration.

    Findings: `unknown_state`, `initial_unresolved`, `selector_target_unresolved`, `unknown_event`, `unknown_guard`,
    `guard_cycle`, `unknown_machine`, `too_deep`, and those of the fragments.
    """
    file = linked.files[linked.entry]
    names = Names(linked.scopes, frozenset(program_guards))
    machines = []
    for item in file.items:
        if isinstance(item, tree.Machine):
            machines.append(_machine(item, linked, names))
    guards = [item for item in file.items if isinstance(item, tree.Guard)]
    guards += [guard.node for machine in machines for guard in machine.guards.values()]
    findings = [*cycles(file, linked.scopes), *guard_faults(guards, names)]
    for item in file.items:
        if isinstance(item, tree.Fragment):
            names.note_fragment(item)
            findings += () if item.broken else text_faults(item, linked.scopes)
    imported = {
        line: linked.behind(target)
        for line, target in linked.imports[linked.entry]
        if linked.scopes[target].is_complete
    }
    unit = Unit(file, tuple(machines), imported, frozenset(names.used))
    return Resolved(unit, (*names.findings, *findings))


def _machine(machine: tree.Machine, linked: Linked, names: Names) -> MachineModel:
    expanded = expand(machine.body, linked.scopes)
    names.findings += expanded.findings
    for use in uses_in(machine.body):
        names.note_use(use)
    builder = _Builder(machine.name.text, version(machine.version), machine, machine.span.file, expanded.uses, names)
    builder.build(expanded.body)
    return builder.finish(broken=machine.broken)


@dataclass(slots=True)
class _Body:
    """A state under construction: what `StateModel` holds, as it becomes known."""

    index: int
    name: str
    path: str
    parent: int | None
    kind: str
    node: tree.State | tree.Machine | tree.Invoke
    statements: tuple[tree.Statement, ...]
    uses: tuple[tree.Use, ...]
    children: dict[str, int] = field(default_factory=dict)
    all_children: list[int] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    initial: int | None = None
    invoke: InvokeModel | None = None


class _Builder:
    """Builds the plain machine of one machine or inline machine."""

    def __init__(
        self,
        id: str,
        version: int,
        node: tree.Machine | tree.Invoke,
        file: str,
        uses: Mapping[tree.Span, tree.Use],
        names: Names,
    ) -> None:
        self.id = id
        self.version = version
        self.node = node
        self.file = file
        self.uses = uses
        self.names = names
        self.states: list[_Body] = []
        self.transitions: list[TransitionModel] = []
        self.inline: list[MachineModel] = []
        self.context: tree.Context | None = None
        self.written: list[tuple[int, tree.Transition]] = []

    def build(self, body: tuple[tree.Statement, ...], chain: tuple[tree.Use, ...] = ()) -> None:
        self.context = _context(body)
        root = _Body(0, "", "", None, "machine", self.node, body, chain)
        self.states.append(root)
        self._walk(root)
        for state in self.states:
            self._initial(state)
            self._invoke(state)
        for home, transition in self.written:
            self._transition(home, transition)

    def _walk(self, body: _Body) -> None:
        """The states of a body and those inside them, in source order, and every transition as it is written."""
        for statement in body.statements:
            if isinstance(statement, (tree.Transition, tree.Defer, tree.Hook)):
                self.names.note(statement)
            if isinstance(statement, tree.Transition):
                self.written.append((body.index, statement))
            elif isinstance(statement, tree.Use):
                body.lost.add(statement.name.text)
            elif isinstance(statement, tree.State):
                self._walk_state(body, statement)

    def _walk_state(self, outer: _Body, node: tree.State) -> None:
        use = self.uses.get(node.span)
        chain = (*outer.uses, use) if use is not None else outer.uses
        path = f"{outer.path}.{node.name.text}" if outer.path else node.name.text
        inside = any(isinstance(part, (tree.State, tree.Use)) for part in node.body)
        kind = "orthogonal" if node.keyword == "orthogonal" else "composite" if inside else "leaf"
        state = _Body(len(self.states), node.name.text, path, outer.index, kind, node, node.body, chain)
        self.states.append(state)
        outer.children.setdefault(node.name.text, state.index)
        outer.all_children.append(state.index)
        self._walk(state)

    def _initial(self, state: _Body) -> None:
        written = next((part for part in state.statements if isinstance(part, tree.Initial)), None)
        if written is None:
            return
        name = str(written.target)
        found: int | None = None
        if len(written.target.parts) == 1:
            found = state.children.get(written.target.parts[0].text)
            if written.target.parts[0].text in state.lost:
                return
        if state.kind != "orthogonal":  # its regions begin all at once, whatever it says
            state.initial = found
        if found is None:
            hint = similar(name, state.children, "a state of this body with a similar name exists")
            message = f"`initial` names `{name}`, which is no state of this body"
            self.names.findings.append(Finding("initial_unresolved", written.target.span, message, hint))

    def _invoke(self, state: _Body) -> None:
        node = next((part for part in state.statements if isinstance(part, tree.Invoke)), None)
        if node is None or state.kind == "machine":
            return
        if node.machine is not None:
            found = self.names.machine(node.machine)
            state.invoke = InvokeModel(node, None if found is None else _signature(found))
            return
        id = f"{self.id}:{state.path}"
        inner = _Builder(id, self.version, node, self.file, self.uses, self.names)
        inner.build(node.body or (), state.uses)
        model = inner.finish(broken=False)
        self.inline.append(model)
        state.invoke = InvokeModel(node, Signature(id, self.version, node, self.file, inner.context), model)

    # --- transitions

    def _transition(self, home: int, node: tree.Transition) -> None:
        source = self._source(home, node.source)
        branches = tuple(BranchModel(part, self._target(home, node, part)) for part in node.branches)
        if source is None:
            return
        index = len(self.transitions)
        self.transitions.append(TransitionModel(index, source, home, node, branches))

    def _source(self, home: int, name: tree.Name) -> int | None:
        """A direct child of the body, or the body's own state; the machine's name is the machine itself."""
        body = self.states[home]
        if name.text in body.children:
            return body.children[name.text]
        own = body.name if home else self.id
        if name.text == own:
            return home
        if name.text not in body.lost:
            hint = similar(name.text, [*body.children, own], "a state of this body with a similar name exists")
            where = f"`{self._label(body)}`"
            message = f"no state `{name.text}` stands in {where}, where this transition begins"
            self.names.findings.append(Finding("unknown_state", name.span, message, hint or _FROM))
        return None

    def _target(self, home: int, node: tree.Transition, branch: tree.Branch) -> int | None:
        """The nearest state of the first name, from the body outwards; the rest steps down."""
        path = branch.target
        at: int | None = home
        for _ in range(path.hops):
            at = self.states[at].parent if at is not None else None
        visible: list[str] = []
        first = path.parts[0].text
        while at is not None:
            body = self.states[at]
            if first in body.children:
                return self._step_down(body.children[first], path, node)
            if first in body.lost:
                return None
            visible += body.children
            at = body.parent
        self._unknown_target(path, node, visible, self._label(self.states[home]))
        return None

    def _label(self, body: _Body) -> str:
        """A body as a message names it, the same for every use of a fragment."""
        use = self.uses.get(body.node.span)
        if use is not None:
            return use.fragment.text
        return body.name if body.uses else body.path or self.id

    def _step_down(self, found: int, path: tree.Path, node: tree.Transition) -> int | None:
        for part in path.parts[1:]:
            body = self.states[found]
            if part.text in body.lost:
                return None
            if part.text not in body.children:
                self._unknown_target(path, node, [f"{body.name}.{name}" for name in body.children], self._label(body))
                return None
            found = body.children[part.text]
        return found

    def _unknown_target(self, path: tree.Path, node: tree.Transition, visible: list[str], place: str) -> None:
        code = "selector_target_unresolved" if node.form in ("choose", "select") else "unknown_state"
        hint = self._deeper(path) or similar(str(path), visible, "a state with a similar name exists")
        message = f"no state `{path}` is visible from `{place}`"
        self.names.findings.append(Finding(code, path.span, message, hint or _TO))

    def _deeper(self, path: tree.Path) -> str | None:
        """Where a state of that very name stands inside of others."""
        name = path.parts[0].text
        paths = (f"{body.path}.{name}" for body in self.states if body.path and name in body.children)
        found = next(paths, None) if len(path.parts) == 1 else None
        return f"a state of that name stands further in: `{found}`" if found else None

    # --- the result

    def finish(self, *, broken: bool) -> MachineModel:
        guards, scope_of_guard = self._guards()
        return MachineModel(
            id=self.id,
            version=self.version,
            file=self.file,
            node=self.node,
            states=tuple(map(_state_model, self.states)),
            transitions=tuple(self.transitions),
            events=self.names.scopes[self.file].events,
            guards=guards,
            scope_of_guard=scope_of_guard,
            bind_of=self.names.bind_of,
            context=self.context,
            inline=tuple(self.inline),
            broken=broken,
        )

    def _key(self, guard: tree.Guard, numbers: Counter[str]) -> str:
        """The guard's name for the one that the machine's own file sees, so that the program can bind another to it."""
        name = guard.name.text
        if self.names.scopes[self.file].guards.get(name) is guard:
            return name
        numbers[name] += 1
        return f"{name}@{numbers[name] + 1}"

    def _guards(self) -> tuple[dict[str, GuardModel], dict[tuple[str, str], str]]:
        """The guards that the machine needs, each under a key of its own, and what each name means in each file."""
        keys: dict[int, str] = {}
        numbers: Counter[str] = Counter()
        found: list[tuple[str, tree.Guard]] = []
        meaning: dict[tuple[str, str], str] = {}
        waiting = [ref for t in self.transitions for p in predicates(t.node) for ref in guard_refs(p)][::-1]
        while waiting:
            ref = waiting.pop()
            guard = self.names.guard(ref)
            if guard is None:
                continue
            if id(guard) not in keys:
                key = self._key(guard, numbers)
                keys[id(guard)] = key
                found.append((key, guard))
                waiting += list(guard_refs(guard.predicate))[::-1]
            meaning[ref.span.file, ref.name.text] = keys[id(guard)]
        models = {}
        for key, guard in found:
            refs = {ref.name.text: meaning.get((ref.span.file, ref.name.text)) for ref in guard_refs(guard.predicate)}
            models[key] = GuardModel(key, guard, refs)
        return models, meaning


_FROM = "a transition begins at a state of the body it stands in, or at that body's own state"
_TO = "a target is looked up from the body outwards; `A.B` steps down"


def _signature(machine: tree.Machine) -> Signature:
    return Signature(machine.name.text, version(machine.version), machine, machine.span.file, _context(machine.body))


def _context(body: tuple[tree.Statement, ...]) -> tree.Context | None:
    """The schema that a machine's body declares; a second one is a finding of the rules."""
    return next((part for part in body if isinstance(part, tree.Context)), None)


def _state_model(state: _Body) -> StateModel:
    return StateModel(
        index=state.index,
        name=state.name,
        path=state.path,
        parent=state.parent,
        kind=state.kind,
        node=state.node,
        body=state.statements,
        children=tuple(state.all_children),
        initial=state.initial,
        invoke=state.invoke,
        uses=state.uses,
    )
