"""Lowering: from the plain machine to the tables (`harel.definition`), which are all that the runtime ever sees.

Names become indices, durations seconds, predicates trees of plain tuples. A machine is lowered only where every
name in it was found; what the rules find wrong beyond that does not hinder it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harel import definition as tables
from harel.definition import Definition, Expr, Rows, row

from . import tree
from .durations import seconds
from .model import BranchModel, MachineModel, StateModel, TransitionModel
from .versions import is_version


def lower(machine: MachineModel, digest: str, events: Rows, sources: tuple[tuple[str, str], ...] = ()) -> Definition:
    """The definition of a machine, inline machines included.

    Args:
        digest: of the machine, also that of the machines inside it.
        events: `event_rows` of the events that its file sees; all machines of a file share them.
        sources: (file name, text) of its file and all that this imports, for publishing.
    """
    return _Lowering(machine).definition(digest, events, sources)


def event_rows(events: Iterable[tree.Event]) -> Rows:
    """The table of declared events."""
    return tuple(row(_event(event)) for event in events)


def is_lowerable(machine: MachineModel) -> bool:
    """Whether every name that the tables need was found, and every number and beginning is there."""
    if machine.broken or any(isinstance(part, tree.Use) for state in machine.states for part in state.body):
        return False
    if isinstance(machine.node, tree.Machine) and not is_version(machine.node.version):
        return False
    delays = (part for state in machine.states for part in state.body if isinstance(part, (tree.Timeout, tree.Ttl)))
    if any(_is_literal(part) and _duration(part) is None for part in delays):
        return False
    written = sum(isinstance(part, tree.Transition) for state in machine.states for part in state.body)
    if written != len(machine.transitions):
        return False
    if any(branch.target is None for transition in machine.transitions for branch in transition.branches):
        return False
    for state in machine.states:
        if state.invoke is not None and state.invoke.machine is None:
            return False
        if state.kind in ("machine", "composite") and state.initial is None:
            return False
    return all(map(is_lowerable, machine.inline))


class _Lowering:
    def __init__(self, machine: MachineModel) -> None:
        self.machine = machine
        self.binds: dict[str, str] = {}

    def definition(self, digest: str, events: Rows, sources: tuple[tuple[str, str], ...]) -> Definition:
        machine = self.machine
        states = tuple(row(self._state(state)) for state in machine.states)
        transitions = tuple(row(self._transition(transition)) for transition in machine.transitions)
        guards = tuple((key, self._predicate(guard.node.predicate)) for key, guard in sorted(machine.guards.items()))
        return Definition(
            id=machine.id,
            version=machine.version,
            digest=digest,
            states=states,
            transitions=transitions,
            events=events,
            context=None if machine.context is None else _fields(machine.context.fields),
            ttl=self._ttl(),
            guards=guards,
            binds=tuple(sorted(self.binds.items())),
            docs=tuple(row(doc) for doc in self._docs()),
            inline=tuple(_Lowering(inner).definition(digest, events, ()) for inner in machine.inline),
            sources=sources,
        )

    # --- states

    def _state(self, state: StateModel) -> tables.State:
        hooks: dict[str, list[tables.Call]] = {"enter": [], "exit": [], "activity": []}
        defers: list[str] = []
        carry: list[str] = []
        node = state.node
        outcome = node.verdict.text if isinstance(node, tree.State) and node.verdict else None
        timeout: int | float | str | None = None
        for part in state.body:
            if isinstance(part, tree.Hook):
                hooks[part.when].append(self._call(part.action))
            elif isinstance(part, tree.Defer):
                defers += [kind.text for kind in part.kinds]
            elif isinstance(part, tree.Carry):
                carry += [name.text for name in part.names]
            elif isinstance(part, tree.Outcome):
                outcome = part.name.text
            elif isinstance(part, tree.Timeout):
                timeout = part.key.text if part.key else _duration(part)
        item = state.invoke.node.item.text if state.invoke and state.invoke.node.item else None
        return tables.State(
            name=state.name,
            parent=-1 if state.parent is None else state.parent,
            kind=state.kind,
            initial=-1 if state.initial is None else state.initial,
            outcome=outcome,
            timeout=timeout,
            on_enter=tuple(hooks["enter"]),
            on_exit=tuple(hooks["exit"]),
            on_activity=tuple(hooks["activity"]),
            defers=tuple(defers),
            carry=tuple(carry),
            passes=tuple(_passes(state, item)),
            invoke=_invoke(state),
            no_history=any(state.statements(tree.NoHistory)),
            cancel_on_failure=any(state.statements(tree.CancelOnFailure)),
        )

    def _call(self, action: tree.Action) -> tables.Call:
        """A handler by name, or by its path where a fragment's file binds the name otherwise than the machine's.

        What a fragment's file leaves open is bound by the machine's.
        """
        name = action.name.text
        own = self.machine.bind_of.get((self.machine.file, name))
        bound = self.machine.bind_of.get((action.span.file, name), own)
        if bound is not None and bound != own:
            name = bound
        elif own is not None:
            self.binds[name] = own
        inputs = tuple(
            (given.name.text, given.value.value) for given in action.inputs if isinstance(given.value, tree.Literal)
        )
        return tables.Call(name, inputs)

    def _ttl(self) -> int | float | None:
        """The seconds that a root lives; an inline machine never is one."""
        if isinstance(self.machine.node, tree.Invoke):
            return None
        return next((_duration(part) for part in self.machine.states[0].body if isinstance(part, tree.Ttl)), None)

    # --- transitions

    def _transition(self, transition: TransitionModel) -> tables.Transition:
        node = transition.node
        return tables.Transition(
            source=transition.source,
            kinds=transition.kinds,
            form=node.form.partition("_")[0],
            branches=tuple(self._branch(branch, node.form) for branch in transition.branches),
            guard=None if node.where is None else self._predicate(node.where),
            sets=_sets(node.sets),
            selector=None if node.selector is None else self._call(node.selector),
            returns=tuple(label.text for label in node.returns),
        )

    def _branch(self, branch: BranchModel, form: str) -> tables.Branch:
        node = branch.node
        test: object = None
        if form.startswith("join_"):
            test = None if node.is_else else form.removeprefix("join_")
        elif isinstance(node.test, tree.Name):
            test = node.test.text
        elif node.test is not None:
            test = self._predicate(node.test)
        return tables.Branch(-1 if branch.target is None else branch.target, test, _sets(node.sets))

    def _predicate(self, predicate: tree.Predicate) -> Expr:
        if isinstance(predicate, tree.Compare):
            return (predicate.op, _operand(predicate.left), _operand(predicate.right))
        if isinstance(predicate, tree.GuardRef):
            name = predicate.name.text
            return ("guard", self.machine.scope_of_guard.get((predicate.span.file, name), name))
        if isinstance(predicate, tree.Not):
            inner = self._predicate(predicate.term)
            return inner[1] if inner[0] == "not" else ("not", inner)
        word = "and" if isinstance(predicate, tree.And) else "or"
        terms: list[Expr] = []
        for term in map(self._predicate, predicate.terms):
            terms += term[1:] if term[0] == word else [term]
        return (word, *terms)

    # --- documentation

    def _docs(self) -> Iterator[tables.Doc]:
        machine = self.machine
        if isinstance(machine.node, tree.Machine) and machine.node.doc:
            yield tables.Doc("machine", machine.id, machine.node.doc)
        for state in machine.states[1:]:
            if isinstance(state.node, tree.State) and state.node.doc:
                yield tables.Doc("state", state.path, state.node.doc)
        for event in machine.events.values():
            if event.doc:
                yield tables.Doc("event", event.name.text, event.doc)
        for key, guard in sorted(machine.guards.items()):
            if guard.node.doc:
                yield tables.Doc("guard", key, guard.node.doc)
        for transition in machine.transitions:
            if transition.node.doc:
                yield tables.Doc("transition", str(transition.index), transition.node.doc)


def _is_literal(part: tree.Timeout | tree.Ttl) -> bool:
    return isinstance(part, tree.Ttl) or part.key is None


def _duration(part: tree.Timeout | tree.Ttl) -> int | float | None:
    """The seconds of a literal duration, `None` for one that is wrong, which a rule reports."""
    if part.value is None:
        return None if part.raw is None else seconds(part.raw)
    value = part.value.value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return seconds(str(value)) if is_number else None


def _operand(operand: tree.Operand) -> Expr:
    if isinstance(operand, tree.Literal):
        return ("lit", operand.value)
    return ("context" if operand.scope == "context" else "event", operand.name.text)


def _sets(sets: tuple[tree.Assign, ...]) -> tuple[tables.Assign, ...]:
    return tuple(tables.Assign(assign.key.text, _value(assign)) for assign in sets)


def _value(assign: tree.Assign) -> Expr:
    left = _operand(assign.left)
    return left if assign.op is None or assign.right is None else (assign.op, left, _operand(assign.right))


def _passes(state: StateModel, item: str | None) -> Iterator[tuple[str, Expr]]:
    """The `with` pairs: a bare name is the fan-out's item or a key of the context."""
    for part in state.body:
        for entry in part.entries if isinstance(part, tree.With) else ():
            value = entry.value
            if isinstance(value, tree.Literal):
                yield entry.child.text, ("lit", value.value)
            elif not value.scope and value.name.text == item:
                yield entry.child.text, ("item",)
            else:
                yield entry.child.text, ("context", value.name.text)


def _invoke(state: StateModel) -> tables.Invoke | None:
    if state.invoke is None or state.invoke.machine is None:
        return None
    node, target = state.invoke.node, state.invoke.machine
    item = node.item.text if node.item else None
    return tables.Invoke(target.id, target.version, item, node.items.name.text if node.items else None)


def _event(event: tree.Event) -> tables.EventType:
    return tables.EventType(event.name.text, tuple(map(_field, event.fields)))


def _fields(fields: tuple[tree.FieldDecl, ...]) -> Rows:
    return tuple(row(_field(field)) for field in fields)


def _field(field: tree.FieldDecl) -> tables.Field:
    default = () if field.default is None else (field.default.value,)
    return tables.Field(field.name.text, field.type, field.optional, default)
