"""A definition as a chart: nodes, blocks and arrows with their words, in no diagram language yet (build.md section 3).

A diagram of more than 500 arrows cannot be read, and some tools refuse it: it drops details in a fixed order. Texts
here are as in the source; each language escapes them itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from harel.definition import Assign, Branch, Definition, State, Transition

from . import words

ENDS = -1
"""The point where a block begins or ends: `[*]`."""

MOST_ARROWS = 500
_LONGEST_LABEL = 300


class Detail(IntEnum):
    """How much a chart shows. `KINDS`: one arrow per pair of states, with the kinds of events only; `BARE`: without
    words.
    """

    FULL = 0
    KINDS = 1
    BARE = 2


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one point to another: the index of a state (0: the machine as a whole), of a choice, or `ENDS`."""

    source: int
    target: int
    label: str


@dataclass(frozen=True, slots=True)
class Node:
    """A state: what it does, one line each, and its documentation with that of its transitions, in lines."""

    index: int
    name: str
    kind: str
    details: tuple[str, ...]
    outcome: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """The inside of a composite or of the machine, or one region's part of an orthogonal state.

    Attributes:
        nodes: the states in it, in source order. choices: the points of its choices, in source order.
        arrows: in the order begin, transitions, ends.
    """

    nodes: tuple[Node, ...]
    choices: tuple[int, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A machine's chart. `machine` is its own node, `boxed` whether that has anything to show.

    `blocks` holds the parts of each composite and orthogonal state by its index, the machine's by 0: one part, or one
    per region.
    """

    machine: Node
    boxed: bool
    blocks: Mapping[int, tuple[Block, ...]]

    def nodes(self) -> Iterator[Node]:
        """Every state's node."""
        for parts in self.blocks.values():
            for block in parts:
                yield from block.nodes

    @property
    def arrows(self) -> int:
        """How many arrows there are."""
        return sum(len(block.arrows) for parts in self.blocks.values() for block in parts)


def charts_of(definition: Definition) -> Iterator[Chart]:
    """The charts that may be shown, the most detailed first: those of at most `MOST_ARROWS` arrows, and the barest."""
    for detail in Detail:
        chart = _Drawing(definition, detail).chart()
        if chart.arrows <= MOST_ARROWS or detail == max(Detail):
            yield chart


class _Drawing:
    """One chart in the making."""

    def __init__(self, definition: Definition, detail: Detail) -> None:
        self._definition = definition
        self._states = definition.states
        self._detail = detail
        self._arrows: dict[tuple[int, int], list[Arrow]] = {}
        self._choices: dict[tuple[int, int], list[int]] = {}
        self._next_choice = len(self._states)

    def chart(self) -> Chart:
        states = self._states
        for state in states:
            if state.initial >= 0:
                self._arrows.setdefault(self._inside(state.initial), []).append(Arrow(ENDS, state.initial, ""))
        for transition in self._definition.transitions:
            self._draw(transition)
        completes = self._completing()
        for index in range(1, len(states)):
            if completes[index] and not self._definition.is_region(index):
                self._arrows.setdefault(self._inside(index), []).append(Arrow(index, ENDS, states[index].outcome or ""))
        nodes = self._nodes()
        around = [index for index, children in enumerate(self._definition.children) if children]
        blocks = {index: tuple(self._parts(index, nodes)) for index in around}
        boxed = bool(self._definition.own_transitions[0] or nodes[0].details) or not blocks
        return Chart(nodes[0], boxed, blocks)

    def _parts(self, index: int, nodes: list[Node]) -> Iterator[Block]:
        children = self._definition.children[index]
        if self._states[index].kind == "orthogonal":
            for child in children:
                yield self._block((index, child), (nodes[child],))
        else:
            yield self._block((index, 0), tuple(nodes[child] for child in children))

    def _block(self, key: tuple[int, int], nodes: tuple[Node, ...]) -> Block:
        arrows = self._arrows.get(key, [])
        if self._detail > Detail.FULL:
            arrows = _merged(arrows, words=self._detail < Detail.BARE)
        return Block(nodes, tuple(self._choices.get(key, ())), tuple(arrows))

    # --- where an arrow stands

    def _inside(self, child: int) -> tuple[int, int]:
        """The block that a state stands in: the state around it, and of an orthogonal one the region."""
        parent = self._states[child].parent
        return (parent, child) if self._states[parent].kind == "orthogonal" else (parent, 0)

    def _home(self, source: int, targets: list[int]) -> tuple[int, int]:
        """The innermost block with both ends of an arrow in it, at whatever depth."""
        around = self._around(source)
        for target in targets:
            outer = set(self._around(target))
            around = [index for index in around if index in outer]
        home = around[0]
        if self._states[home].kind != "orthogonal":
            return home, 0
        region = source
        while self._states[region].parent != home:
            region = self._states[region].parent
        return home, region

    def _around(self, index: int) -> list[int]:
        """The states around a state, innermost first; around the machine's own node is the machine."""
        return list(self._definition.outwards(self._states[index].parent)) if index else [0]

    # --- transitions

    def _draw(self, transition: Transition) -> None:
        source, branches = transition.source, transition.branches
        home = self._home(source, [branch.target for branch in branches])
        arrows = self._arrows.setdefault(home, [])
        if self._detail > Detail.FULL:
            arrows += (Arrow(source, branch.target, self._kinds(transition)) for branch in branches)
        elif transition.form in ("choose", "select"):
            choice = self._next_choice
            self._next_choice += 1
            self._choices.setdefault(home, []).append(choice)
            arrows.append(Arrow(source, choice, _cut(self._trigger(transition))))
            arrows += (Arrow(choice, branch.target, _cut(_branch_label(transition, branch))) for branch in branches)
        else:
            for branch in branches:
                label = (self._trigger(transition), _branch_label(transition, branch))
                arrows.append(Arrow(source, branch.target, _cut(" ".join(filter(None, label)))))

    def _kinds(self, transition: Transition) -> str:
        """The kinds, with the delay where the source's own timer is meant."""
        timeout = self._states[transition.source].timeout
        delay = f" ({words.delay(timeout)})" if timeout is not None else ""
        return " | ".join(f"{kind}{delay}" if kind == "Timeout" else kind for kind in transition.kinds)

    def _trigger(self, transition: Transition) -> str:
        parts = [self._kinds(transition)]
        if transition.guard is not None:
            parts.append(f"[{words.predicate(transition.guard)}]")
        if transition.selector is not None:
            parts.append(f"select {words.call(transition.selector)}")
        parts.append(_sets(transition.sets))
        return " ".join(filter(None, parts))

    def _completing(self) -> list[bool]:
        """For each state whether the run may end there: what has no way on of its own, and an inside that ends."""
        completing = []
        for index, state in enumerate(self._states):
            waits = state.invoke is not None and state.invoke.items is None
            completing.append(not self._definition.own_transitions[index] and not waits)
        for index in range(len(self._states) - 1, 0, -1):
            if self._states[index].kind == "composite":
                inner = any(completing[child] for child in self._definition.children[index])
                completing[index] = completing[index] and inner
        return completing

    # --- nodes

    def _nodes(self) -> list[Node]:
        notes: dict[int, list[str]] = {}
        if self._detail == Detail.FULL:
            for doc in self._definition.docs:
                if doc.subject in ("machine", "state"):
                    index = self._definition.index[doc.name] if doc.subject == "state" else 0
                    notes.setdefault(index, []).extend(doc.text.split("\n"))
            for doc in self._definition.docs:
                if doc.subject == "transition":
                    transition = self._definition.transitions[int(doc.name)]
                    first, *rest = doc.text.split("\n")
                    on = self._kinds(transition)
                    notes.setdefault(transition.source, []).extend([f"{on}: {first}" if on else first, *rest])
        return [
            Node(
                index,
                state.name or self._definition.id,
                state.kind,
                tuple(self._details(index)) if self._detail == Detail.FULL else (),
                state.outcome,
                tuple(notes.get(index, ())),
            )
            for index, state in enumerate(self._states)
        ]

    def _details(self, index: int) -> Iterator[str]:
        state = self._states[index]
        if index == 0 and self._definition.ttl is not None:
            yield f"ttl {words.delay(self._definition.ttl)}"
        for when, calls in (("enter", state.on_enter), ("exit", state.on_exit), ("activity", state.on_activity)):
            for call in calls:
                yield _cut(f"on {when} {words.call(call)}")
        own = self._definition.own_transitions[index]
        if state.timeout is not None and not any("Timeout" in transition.kinds for transition in own):
            yield f"timeout {words.delay(state.timeout)}"
        if state.invoke is not None:
            yield words.invocation(state.invoke)
        yield from _words(state)


def _merged(arrows: list[Arrow], *, words: bool) -> list[Arrow]:
    """One arrow per pair of points, with the labels of all where words are wanted."""
    labels: dict[tuple[int, int], dict[str, None]] = {}
    for arrow in arrows:
        labels.setdefault((arrow.source, arrow.target), {})[arrow.label] = None
    return [
        Arrow(source, target, _cut(" | ".join(filter(None, found))) if words or target == ENDS else "")
        for (source, target), found in labels.items()
    ]


# --- words


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def _words(state: State) -> Iterator[str]:
    if state.defers:
        yield _cut(f"defer {', '.join(state.defers)}")
    if state.carry:
        yield _cut(f"carry {', '.join(state.carry)}")
    if state.no_history:
        yield "no history"
    if state.cancel_on_failure:
        yield "cancel_on_failure"


def _branch_label(transition: Transition, branch: Branch) -> str:
    if transition.form == "to":
        test = ""
    elif branch.test is None:
        test = "[else]"
    elif transition.form == "choose":
        test = f"[{words.predicate(branch.test)}]"
    elif transition.form == "select":
        test = words.value(branch.test)
    else:
        test = f"join {branch.test}"
    return " ".join(filter(None, (test, _sets(branch.sets))))


def _sets(sets: tuple[Assign, ...]) -> str:
    if not sets:
        return ""
    return "/ " + ", ".join(map(words.assignment, sets))
