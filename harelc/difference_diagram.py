"""Two machines in one Mermaid flowchart: what was added green, what was removed red, what was changed amber.

A flowchart, for Mermaid colours no arrow of a state diagram. So that colour is not all there is, new arrows are thick,
removed ones dotted, and their words begin with `+` and `-`. A composite is a box that holds a node with its name:
arrows to and from it end there, for Mermaid lays out no arrow between a box and its own inside. A diagram that Mermaid
would refuse is drawn with less: only what differs, then without words, then as much of it as there is room for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from harel.definition import Definition, Transition

from . import aspects
from .chart import MOST_ARROWS
from .diagram import MERMAID_LIMIT
from .diagram_mermaid import escape
from .difference import Change, Difference, pair_transitions

_LONGEST = 300
_INDENT = "    "


class _Mark(StrEnum):
    """The class of a node or an arrow; what stayed as it was has none."""

    SAME = ""
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


_STYLES = {
    _Mark.ADDED: "fill:#dafbe1,stroke:#1a7f37,stroke-width:2px,color:#0f5323",
    _Mark.REMOVED: "fill:#ffebe9,stroke:#cf222e,stroke-width:2px,stroke-dasharray:4,color:#82071e",
    _Mark.CHANGED: "fill:#fff8c5,stroke:#9a6700,stroke-width:2px,color:#4d2d00",
}
_STROKES = {
    _Mark.ADDED: "stroke:#1a7f37,color:#1a7f37",
    _Mark.REMOVED: "stroke:#cf222e,color:#cf222e",
}
_ARROWS = {_Mark.SAME: "-->", _Mark.ADDED: "==>", _Mark.REMOVED: "-.->"}
_SIGNS = {_Mark.SAME: "", _Mark.ADDED: "+ ", _Mark.REMOVED: "- "}


class _Detail(IntEnum):
    """How much is shown: all, only what differs, or that without words."""

    ALL = 0
    DIFFERENT = 1
    BARE = 2


@dataclass(frozen=True, slots=True)
class _Arrow:
    """Between two states by path."""

    source: str
    target: str
    label: str
    mark: _Mark


def mermaid_difference(difference: Difference) -> str:
    """The two machines as one Mermaid text, with a line end at its end; of a machine that was added or removed, all."""
    union = _Union(difference)
    for detail in _Detail:
        arrows = [arrow for arrow in union.arrows if arrow.mark or detail is _Detail.ALL]
        text = union.text(detail, arrows)
        if len(arrows) <= MOST_ARROWS and len(text) <= MERMAID_LIMIT:
            return text
    arrows = arrows[:MOST_ARROWS]
    while len(text := union.text(_Detail.BARE, arrows, complete=False)) > MERMAID_LIMIT and arrows:
        arrows = arrows[: len(arrows) // 2]
    return text


class _Union:
    """The states and arrows of both machines, marked."""

    def __init__(self, difference: Difference) -> None:
        self._difference = difference
        self._old, self._new = difference.old, difference.new
        olds = {} if self._old is None else self._old.index
        news = {} if self._new is None else self._new.index
        self._marks = {path: _mark(path in olds, path in news) for path in dict.fromkeys([*news, *olds])}
        self._changes: dict[str, list[Change]] = {}
        for change in difference.changes:
            if change.subject in ("state", "timer") and self._marks.get(change.name) is _Mark.SAME:
                self._changes.setdefault(change.name, []).append(change)
        for path in self._changes:
            self._marks[path] = _Mark.CHANGED
        self._inside: dict[str, list[str]] = {}
        for path in self._marks:
            if path:
                self._inside.setdefault(path.rpartition(".")[0], []).append(path)
        self._ids = {path: f"s{number}" for number, path in enumerate(self._marks)}
        self.arrows = tuple(self._arrows())

    def text(self, detail: _Detail, arrows: Sequence[_Arrow], *, complete: bool = True) -> str:
        """The diagram with these arrows; of a diagram that is not complete it says so."""
        drawn = self._drawn(detail, arrows, complete)
        lines = ["flowchart TB"]
        if not complete:
            lines.append(f'{_INDENT}more["… and more that differs"]')
        lines += (f"{_INDENT}{line}" for line in self._nodes("", detail, drawn))
        for arrow in arrows:
            shown = bool(arrow.label) and detail < _Detail.BARE
            words = f'|"{escape(_cut(f"{_SIGNS[arrow.mark]}{arrow.label}"))}"|' if shown else ""
            lines.append(f"{_INDENT}{self._ids[arrow.source]} {_ARROWS[arrow.mark]}{words} {self._ids[arrow.target]}")
        lines += (f"{_INDENT}{line}" for line in self._styles(arrows, drawn))
        return "\n".join(lines) + "\n"

    # --- what there is

    def _arrows(self) -> Iterator[_Arrow]:
        """The arrow to each initial state, and one for every branch of every transition."""
        for path in self._marks:
            yield from self._beginnings(path)
        if self._old is None or self._new is None:
            mark = _Mark.ADDED if self._old is None else _Mark.REMOVED
            machine = self._new or self._old
            assert machine is not None
            for transition in machine.transitions:
                yield from _branches(machine, transition, mark)
            return
        for pair in pair_transitions(self._old, self._new):
            gone, come = [], []
            if pair.old is not None:
                gone = list(_branches(self._old, self._old.transitions[pair.old], _Mark.REMOVED))
            if pair.new is not None:
                come = list(_branches(self._new, self._new.transitions[pair.new], _Mark.ADDED))
            yield from _kept(come) if pair.same else _parted(gone, come)

    def _beginnings(self, path: str) -> Iterator[_Arrow]:
        old, new = (_initial(machine, path) for machine in (self._old, self._new))
        if old is not None and old == new:
            yield _Arrow(path, old, "", _Mark.SAME)
            return
        if old is not None:
            yield _Arrow(path, old, "initial", _Mark.REMOVED)
        if new is not None:
            yield _Arrow(path, new, "initial", _Mark.ADDED)

    def _drawn(self, detail: _Detail, arrows: Sequence[_Arrow], complete: bool) -> frozenset[str]:
        """The paths of the states that are drawn: with those around them."""
        if detail is _Detail.ALL:
            return frozenset(self._marks)
        ends = {path for arrow in arrows for path in (arrow.source, arrow.target)}
        marked = {path for path, mark in self._marks.items() if mark} if complete else set()
        return frozenset(outer for path in ends | marked for outer in _outwards(path))

    # --- lines

    def _nodes(self, path: str, detail: _Detail, drawn: frozenset[str]) -> Iterator[str]:
        """The node of a state, and around it, where it has an inside, a box with that."""
        inner = [child for child in self._inside.get(path, ()) if child in drawn]
        label = self._label(path, detail)
        if not path:
            yield f'{self._ids[path]}(["{label}"])'
            for child in inner:
                yield from self._nodes(child, detail, drawn)
        elif inner:
            yield f'subgraph box{self._ids[path]}[" "]'
            yield f'{_INDENT}{self._ids[path]}(["{label}"])'
            for child in inner:
                yield from (f"{_INDENT}{line}" for line in self._nodes(child, detail, drawn))
            yield "end"
        else:
            yield f'{self._ids[path]}("{label}")'

    def _label(self, path: str, detail: _Detail) -> str:
        name = path.rpartition(".")[2] or self._difference.machine
        lines = [f"{_SIGNS.get(self._marks[path], '')}{name}"]
        if detail < _Detail.BARE:
            for change in self._changes.get(path, ()):
                what = change.aspect or change.subject
                lines += [f"- {what} {change.old}"] if change.old is not None else []
                lines += [f"+ {what} {change.new}"] if change.new is not None else []
        return "<br/>".join(escape(_cut(line)) for line in lines)

    def _styles(self, arrows: Sequence[_Arrow], drawn: frozenset[str]) -> Iterator[str]:
        for mark, style in _STYLES.items():
            ids = [id for path, id in self._ids.items() if path in drawn and self._marks[path] is mark]
            boxes = [f"box{self._ids[path]}" for path in self._ids if self._is_box(path, mark, drawn)]
            if ids:
                yield f"classDef {mark} {style}"
                yield f"class {','.join([*ids, *boxes])} {mark}"
        for mark, stroke in _STROKES.items():
            numbers = [str(number) for number, arrow in enumerate(arrows) if arrow.mark is mark]
            if numbers:
                yield f"linkStyle {','.join(numbers)} {stroke}"

    def _is_box(self, path: str, mark: _Mark, drawn: frozenset[str]) -> bool:
        """Whether a state of that mark is drawn as a box; that of a changed one stays white, for its inside stands."""
        inner = any(child in drawn for child in self._inside.get(path, ()))
        return bool(path) and path in drawn and self._marks[path] is mark and mark is not _Mark.CHANGED and inner


def _mark(is_old: bool, is_new: bool) -> _Mark:
    if is_old and is_new:
        return _Mark.SAME
    return _Mark.REMOVED if is_old else _Mark.ADDED


def _initial(machine: Definition | None, path: str) -> str | None:
    index = -1 if machine is None else machine.index.get(path, -1)
    if machine is None or index < 0 or machine.states[index].initial < 0:
        return None
    return machine.paths[machine.states[index].initial]


def _branches(machine: Definition, transition: Transition, mark: _Mark) -> Iterator[_Arrow]:
    trigger = aspects.trigger(transition)
    for branch in transition.branches:
        parts = (trigger, aspects.branch_test(transition, branch), aspects.assignments(branch.sets))
        label = " ".join(filter(None, parts))
        yield _Arrow(machine.paths[transition.source], machine.paths[branch.target], label, mark)


def _kept(arrows: Iterable[_Arrow]) -> Iterator[_Arrow]:
    yield from (replace(arrow, mark=_Mark.SAME) for arrow in arrows)


def _parted(gone: Sequence[_Arrow], come: Sequence[_Arrow]) -> Iterator[_Arrow]:
    """What a changed transition lost and won; ways that it has kept stand once, unless nothing tells the two apart."""
    before, after = list(_kept(gone)), list(_kept(come))
    both = [arrow for arrow in before if arrow in after] if before != after else []
    yield from both
    yield from (arrow for arrow, plain in zip(gone, before, strict=True) if plain not in both)
    yield from (arrow for arrow, plain in zip(come, after, strict=True) if plain not in both)


def _outwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
