"""`Program`: a definition made ready to run: guards as functions, and every look-up the engine asks for, memoised.

All is derived from the tables (design.md, "Tables, not closures") and kept for the life of the definition, so that
a step neither walks the tree nor reads an expression. It decides nothing about a running execution: it has no
context of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .definition import Assign, Call, Definition, Transition
from .errors import ExpressionError
from .event import RESERVED_KINDS
from .expressions import Predicate, Value, compile_predicate, compile_value

Setter = tuple[str, Value]
"""A context key and what computes its new value from (context, event data)."""


@dataclass(frozen=True, slots=True)
class Way:
    """One branch, ready to be taken: target, own assignments, and its test as a function or a label."""

    target: int
    test: Any
    sets: tuple[Setter, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One transition, ready to be asked. `safe`: every branch leads straight to a terminal that ends the execution."""

    source: int
    form: str
    guard: Predicate | None
    ways: tuple[Way, ...]
    sets: tuple[Setter, ...]
    selector: Call | None
    safe: bool


@dataclass(frozen=True, slots=True)
class RegionKinds:
    """What a region could ever take (language.md section 5.7): the kinds it handles or defers, and whether anything
    inside has an `on activity`."""

    kinds: frozenset[str]
    has_activity: bool


class Program:
    """A definition with its look-ups. States are indices; -1 is no state."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.states = definition.states
        self.paths = definition.paths
        self._candidates: dict[tuple[int, str], tuple[Rule, ...]] = {}
        self._rules: dict[int, tuple[tuple[tuple[str, ...], Rule], ...]] = {}
        self._guards: dict[str, Predicate] = {}

    # --- structure

    @cached_property
    def scope(self) -> tuple[int, ...]:
        """For each state the root of the execution that runs it: the innermost region around it, or 0."""
        scope: list[int] = []
        for index, state in enumerate(self.states):
            own = index == 0 or self.definition.is_region(index)
            scope.append(index if own else scope[state.parent])
        return tuple(scope)

    @cached_property
    def depth(self) -> tuple[int, ...]:
        depth: list[int] = []
        for index, state in enumerate(self.states):
            depth.append(depth[state.parent] + 1 if index else 0)
        return tuple(depth)

    def common(self, one: int, other: int) -> int:
        """The least common ancestor, which may be one of the two."""
        while one != other:
            if self.depth[one] >= self.depth[other]:
                one = self.states[one].parent
            else:
                other = self.states[other].parent
        return one

    def chain(self, outer: int, inner: int) -> list[int]:
        """The states from below `outer` down to `inner`; empty where they are the same."""
        levels: list[int] = []
        while inner != outer:
            levels.append(inner)
            inner = self.states[inner].parent
        levels.reverse()
        return levels

    def child(self, composite: int, name: str | None) -> int:
        """The index of the child of that name, or -1."""
        for index in self.definition.children[composite]:
            if self.states[index].name == name:
                return index
        return -1

    def has_transitions(self, index: int) -> bool:
        return bool(self.definition.own_transitions[index])

    def ends_execution(self, target: int) -> bool:
        """Whether the state is a terminal whose end is the end of its execution (language.md section 5.10)."""
        state = self.states[target]
        if state.kind != "leaf" or state.invoke or self.has_transitions(target):
            return False
        outer, root = state.parent, self.scope[target]
        if target == root:
            return True
        while outer != root:
            if self.has_transitions(outer):
                return False
            outer = self.states[outer].parent
        return True

    @cached_property
    def _region_kinds(self) -> dict[int, RegionKinds]:
        """For each region, bottom-up: one pass over the states, innermost last."""
        kinds: list[set[str]] = [set(state.defers) for state in self.states]
        active = [bool(state.on_activity) for state in self.states]
        for transition in self.definition.transitions:
            kinds[transition.source].update(transition.kinds)
        for index in range(len(self.states) - 1, 0, -1):
            outer = self.states[index].parent
            kinds[outer] |= kinds[index]
            active[outer] = active[outer] or active[index]
        regions = (index for index in range(1, len(self.states)) if self.definition.is_region(index))
        return {index: RegionKinds(frozenset(kinds[index] - RESERVED_KINDS), active[index]) for index in regions}

    def region_takes(self, region: int, kind: str, fork: int) -> bool:
        """Whether a live region could ever take an event kind that reaches its parent, waiting at `fork`."""
        known = self._region_kinds[region]
        return kind in known.kinds or (known.has_activity and not self.names(fork, kind))

    def names(self, index: int, kind: str) -> bool:
        """Whether the state or one around it, in its execution, has a transition on the kind or defers it."""
        return bool(self.candidates(index, kind)) or self.defers(index, kind)

    def defers(self, index: int, kind: str) -> bool:
        return any(kind in self.states[level].defers for level in self.outwards(index))

    def outwards(self, index: int) -> list[int]:
        """The state and those around it that its execution runs, innermost first."""
        levels, root = [index], self.scope[index]
        while index != root:
            index = self.states[index].parent
            levels.append(index)
        return levels

    # --- transitions

    def candidates(self, index: int, kind: str) -> tuple[Rule, ...]:
        """The transitions on a kind as they are looked at: the state's own in source order, then those further out."""
        found = self._candidates.get((index, kind))
        if found is None:
            found = tuple(rule for level in self.outwards(index) for kinds, rule in self._own(level) if kind in kinds)
            self._candidates[index, kind] = found
        return found

    def automatic(self, index: int) -> tuple[Rule, ...]:
        """The state's own automatic transitions, in source order."""
        found = self._candidates.get((index, ""))
        if found is None:
            found = self._candidates[index, ""] = tuple(rule for kinds, rule in self._own(index) if not kinds)
        return found

    def _own(self, index: int) -> tuple[tuple[tuple[str, ...], Rule], ...]:
        rules = self._rules.get(index)
        if rules is None:
            own = self.definition.own_transitions[index]
            rules = tuple((t.kinds, self._rule(t)) for t in own if self._stays_inside(t))
            self._rules[index] = rules
        return rules

    def _stays_inside(self, transition: Transition) -> bool:
        """Whether no branch leads into or out of a region: what the checker refuses cannot be carried out either."""
        scope = self.scope[transition.source]
        return all(self.scope[branch.target] == scope for branch in transition.branches)

    def _rule(self, transition: Transition) -> Rule:
        def way_test(test: Any) -> Any:
            return self._predicate(test) if transition.form == "choose" and test is not None else test

        return Rule(
            source=transition.source,
            form=transition.form,
            guard=None if transition.guard is None else self._predicate(transition.guard),
            ways=tuple(Way(b.target, way_test(b.test), self._setters(b.sets)) for b in transition.branches),
            sets=self._setters(transition.sets),
            selector=transition.selector,
            safe=all(self.ends_execution(branch.target) for branch in transition.branches),
        )

    def _setters(self, sets: tuple[Assign, ...]) -> tuple[Setter, ...]:
        return tuple((assign.key, compile_value(assign.value)) for assign in sets)

    def _predicate(self, expr: Any) -> Predicate:
        return compile_predicate(expr, self._guard)

    def _guard(self, name: str) -> Predicate:
        """A named guard of the tables, or one that the program has bound (it gets the context and the event's data)."""
        found = self._guards.get(name)
        if found is None:
            bound = self.definition.predicates.get(name)
            found = _checked(name, bound) if bound else self._predicate(self.definition.guards[name])
            self._guards[name] = found
        return found


def _checked(name: str, bound: Callable[..., Any]) -> Predicate:
    def predicate(context: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
        try:
            return bool(bound(context, data))
        except Exception as error:
            raise ExpressionError(f"the guard {name} raises {type(error).__name__}: {error}") from error

    return predicate
