"""Look-ups of declared names: events, guards, machines, fragments and handlers (language.md sections 2 and 4).

A name is looked up in the scope of the file it is written in; one that means nothing has one finding, with the nearest
names as a hint. States are `resolve.py`'s subject.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from harel.event import RESERVED_KINDS

from . import tree
from .diagnostics import Finding
from .kinds import DELIVERED
from .scopes import Scope
from .spelling import similar
from .walk import guard_refs, predicates, statements

Key = tuple[str, str, str]
"""(kind or code, file, name) of a declaration that is used, or is not there."""


class Names:
    """Look-ups by the scope of the file a name is written in; remembers what was used and what was not found."""

    def __init__(
        self, scopes: Mapping[str, Scope], program_guards: frozenset[str], parameters: frozenset[str] = frozenset()
    ) -> None:
        """`parameters` are those of the fragment whose text is looked at: they are no declarations."""
        self.scopes = scopes
        self.program_guards = program_guards
        self.parameters = parameters
        self.bind_of = {
            (file, name): entry.target.text for file, scope in scopes.items() for name, entry in scope.binds.items()
        }
        self.used: set[Key] = set()
        self.findings: list[Finding] = []
        self._hints: dict[Key, str] = {}

    def event(self, name: tree.Name, delivered: frozenset[str]) -> None:
        """A kind on a transition, or in `defer`."""
        events = self.scopes[name.span.file].events
        found = events.get(name.text)
        if name.text in self.parameters:
            return
        if found is not None:
            self.used.add(("event", found.span.file, found.name.text))
        elif name.text not in delivered and name.text not in RESERVED_KINDS:
            self._unknown("unknown_event", "event", name.text, name.span, [*events, *sorted(delivered)])

    def guard(self, ref: tree.GuardRef) -> tree.Guard | None:
        """A guard named in a predicate; `None` also for one that the program binds."""
        guards = self.scopes[ref.span.file].guards
        found = guards.get(ref.name.text)
        if ref.name.text in self.parameters:
            return None
        if found is not None:
            self.used.add(("guard", found.span.file, found.name.text))
        elif ref.name.text not in self.program_guards:
            self._unknown("unknown_guard", "guard", ref.name.text, ref.name.span, [*guards, *self.program_guards])
        return found

    def machine(self, name: tree.Dotted) -> tree.Machine | None:
        machines = self.scopes[name.span.file].machines
        found = machines.get(name.text)
        if found is not None:
            self.used.add(("machine", found.span.file, found.name.text))
        else:
            self._unknown("unknown_machine", "machine", name.text, name.span, machines)
        return found

    def handler(self, action: tree.Action) -> None:
        found = self.scopes[action.span.file].binds.get(action.name.text)
        if found is not None and action.name.text not in self.parameters:
            self.used.add(("bind", found.span.file, found.name.text))

    def note_fragment(self, fragment: tree.Fragment) -> None:
        """What a fragment's text names is looked up and counts as used, whether the fragment is used or not."""
        parameters = frozenset(parameter.name.text for parameter in fragment.parameters)
        names = Names(self.scopes, self.program_guards, parameters)
        for statement in statements(fragment.body):
            names.note(statement)
        self.used |= names.used
        self.findings += () if fragment.broken else names.findings

    def note(self, statement: tree.Statement) -> None:
        """Remember the declarations that a statement names."""
        if isinstance(statement, tree.Transition):
            for kind in statement.kinds:
                self.event(kind, DELIVERED)
            for predicate in predicates(statement):
                for ref in guard_refs(predicate):
                    self.guard(ref)
            if statement.selector is not None:
                self.handler(statement.selector)
        elif isinstance(statement, tree.Defer):
            for kind in statement.kinds:
                self.event(kind, frozenset())
        elif isinstance(statement, tree.Hook):
            self.handler(statement.action)
        elif isinstance(statement, tree.Invoke) and statement.machine is not None:
            self.machine(statement.machine)
        elif isinstance(statement, tree.Use):
            self.note_use(statement)

    def note_use(self, use: tree.Use) -> None:
        found = self.scopes[use.fragment.span.file].fragments.get(use.fragment.text)
        if found is not None:
            self.used.add(("fragment", found.span.file, found.name.text))
        scope = self.scopes[use.span.file]
        for argument in use.arguments:
            value = argument.value
            if isinstance(value, tree.Predicate):
                for ref in guard_refs(value):
                    guard = scope.guards.get(ref.name.text)
                    if guard is not None and ref.name.text not in self.parameters:
                        self.used.add(("guard", guard.span.file, guard.name.text))
            elif isinstance(value, (tree.Action, tree.Literal)):
                text = value.name.text if isinstance(value, tree.Action) else str(value.value)
                self._note_argument(text, scope)

    def _note_argument(self, text: str, scope: Scope) -> None:
        """A bare argument may be an event, a guard or a handler: naming it is using it."""
        for kind, known in (("event", scope.events), ("guard", scope.guards), ("bind", scope.binds)):
            found = known.get(text)
            if found is not None and text not in self.parameters:
                self.used.add((kind, found.span.file, found.name.text))

    def _unknown(self, code: str, noun: str, name: str, span: tree.Span, known: Iterable[str]) -> None:
        """Report a name, unless what declares it may have been lost to another finding."""
        if not self.scopes[span.file].is_complete:
            return
        article = "an" if noun[0] in "aeiou" else "a"
        key = (code, span.file, name)
        if key not in self._hints:  # one misspelt name may stand in thousands of places
            hint = similar(name, known, f"{article} {noun} with a similar name exists")
            self._hints[key] = hint or _DECLARE[code]
        self.findings.append(Finding(code, span, f"no {noun} `{name}` is declared here", self._hints[key]))


_DECLARE = {
    "unknown_event": "declare it: `event NAME { … }`",
    "unknown_guard": "declare it: `guard NAME = …`",
    "unknown_machine": "declare it in this file, or reach it through an import and its alias",
}


# --- guards


def guard_faults(guards: Iterable[tree.Guard], names: Names) -> Iterator[Finding]:
    """Unknown names inside guards, and circles, each at the reference that closes it."""
    state: dict[int, str] = {}
    for guard in guards:
        yield from _guard_circles(guard, names, state)


def _guard_circles(start: tree.Guard, names: Names, state: dict[int, str]) -> Iterator[Finding]:
    way: list[tuple[tree.Guard, Iterator[tree.GuardRef]]] = []
    if id(start) not in state:
        state[id(start)] = "open"
        way.append((start, guard_refs(start.predicate)))
    while way:
        guard, refs = way[-1]
        ref = next(refs, None)
        if ref is None:
            state[id(guard)] = "done"
            way.pop()
            continue
        target = names.guard(ref)
        if target is None or state.get(id(target)) == "done":
            continue
        if state.get(id(target)) == "open":
            first = next(number for number, (open_one, _) in enumerate(way) if open_one is target)
            shown = " needs ".join([*(open_one.name.text for open_one, _ in way[first:]), target.name.text])
            yield Finding("guard_cycle", ref.name.span, f"the guard `{target.name.text}` needs itself: {shown}")
        else:
            state[id(target)] = "open"
            way.append((target, guard_refs(target.predicate)))
