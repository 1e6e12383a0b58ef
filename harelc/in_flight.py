"""What running executions of a machine would meet if it were changed in place, without a new version.

By rule an execution runs to its end on the version and the content it started on (runtime.md section 6). This says what
that rule spares it: whether the state it rests in is still there, and what would be different there. Pure: it judges
definitions and records that others have read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter

from harel.definition import Definition
from harel.execution import Execution, Status

from . import aspects, words
from .difference import Change, Difference


class Verdict(StrEnum):
    """How an execution would fare."""

    STRANDED = "stranded"
    CHANGED = "changed"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Standing:
    """A place where an execution may rest: the state's path, the region whose execution that is ("": the machine's
    own), the verdict and why.
    """

    path: str
    region: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts on one machine.

    Attributes:
        bumped: whether the new machine has a higher version, so that nothing of this comes to pass.
        refused: whether the version stands and the digest does not: a runner then refuses to drive what runs.
        standings: for each state of the old machine in which an execution may rest.
        everywhere: what else is different, wherever an execution rests.
    """

    bumped: bool
    refused: bool
    standings: tuple[Standing, ...]
    everywhere: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """The running executions at one place, by id."""

    standing: Standing
    ids: tuple[str, ...]


RUNNING = frozenset({Status.PENDING, Status.RUNNING, Status.SUSPENDED, Status.CANCELLING})


def judge(difference: Difference) -> Judgement | None:
    """The verdicts on the old machine; `None` where there was none."""
    old, new = difference.old, difference.new
    if old is None:
        return None
    resting = [index for index in range(1, len(old.states)) if _may_rest(old, index)]
    stand = _Judge(difference).stand
    return Judgement(
        bumped=new is not None and new.version > old.version,
        refused=new is not None and new.version == old.version and new.digest != old.digest,
        standings=tuple(stand(old.paths[index], region_of(old, index)) for index in resting),
        everywhere=tuple(_described(change) for change in difference.changes if change.subject in _EVERYWHERE),
    )


def place_running(difference: Difference, executions: Iterable[Execution]) -> tuple[Running, ...]:
    """The running executions of the old machine's version by place, in the order of its states."""
    old = difference.old
    if old is None:
        return ()
    found: dict[tuple[str, str], list[str]] = {}
    for execution in executions:
        version = (execution.definition_id, execution.definition_version)
        if version == (old.id, old.version) and execution.status in RUNNING:
            found.setdefault((execution.active_path, execution.region), []).append(execution.id)
    last = len(old.states)
    places = sorted(found, key=lambda place: (old.index.get(place[0], last), *place))
    stand = _Judge(difference).stand
    return tuple(Running(stand(*place), tuple(found[place])) for place in places)


def region_of(definition: Definition, index: int) -> str:
    """The region whose execution runs the state; "" for the machine's own."""
    return next((definition.paths[at] for at in definition.outwards(index) if definition.is_region(at)), "")


# --- where an execution may rest


def _may_rest(definition: Definition, index: int) -> bool:
    """Whether an execution may stay in a state: it waits for children, or has ways on of its own and none that is taken
    at once.
    """
    state = definition.states[index]
    if state.kind == "orthogonal" or state.invoke is not None:
        return True
    own = definition.own_transitions[index]
    return bool(own) and all(transition.kinds for transition in own)


class _Judge:
    """Gives the verdicts on one machine."""

    def __init__(self, difference: Difference) -> None:
        self._old, self._new, self._renames = difference.old, difference.new, difference.renames
        self._changes: dict[str, list[tuple[int, Change]]] = {}
        for number, change in enumerate(difference.changes):
            if change.subject in _OF_STATES and change.aspect not in _AT_ENTRY:
                self._changes.setdefault(change.name, []).append((number, change))

    def stand(self, path: str, region: str) -> Standing:
        """The verdict on an execution of a region ("": the machine's own) at a path that the old machine may have."""
        if self._old is None or self._new is None:
            return Standing(path, region, Verdict.STRANDED, ("the machine is gone",))
        stranded = tuple(self._stranding(self._old, self._new, path, region))
        if stranded:
            return Standing(path, region, Verdict.STRANDED, stranded)
        changed = tuple(self._differences(self._old, self._new, path))
        return Standing(path, region, Verdict.CHANGED if changed else Verdict.SAME, changed)

    def _stranding(self, old: Definition, new: Definition, path: str, region: str) -> Iterator[str]:
        if path not in new.index:
            renames = [rename for rename in self._renames if f"{path}.".startswith(f"{rename.old}.")]
            names = [aspects.way(f"{rename.new}{path[len(rename.old) :]}") for rename in renames]
            yield f"the state is gone; is it `{names[0]}` now?" if names else "the state is gone"
            return
        after = new.index[path]
        if region_of(new, after) != region:
            yield f"the state is run by {_run_by(region_of(new, after))} now, not by {_run_by(region)}"
        if path not in old.index:
            return
        kind, other = old.states[old.index[path]].kind, new.states[after].kind
        if kind != other:
            yield f"the state is {_KINDS[other]} now, not {_KINDS[kind]}, and nobody enters it anew"
        elif not _leads_on(new, after) and _leads_on(old, old.index[path]):
            yield "nothing leads on from it any more"

    def _differences(self, old: Definition, new: Definition, path: str) -> Iterator[str]:
        if path not in old.index:
            return
        at = {old.paths[level] for level in _levels(old, old.index[path])}
        at |= {new.paths[level] for level in _levels(new, new.index[path])}
        for _, change in sorted((found for name in at for found in self._changes.get(name, ())), key=itemgetter(0)):
            around = "" if change.name == path else f" (of `{aspects.place(old, change.name)}` around it)"
            yield f"{_described(change)}{around}"
        yield from _regions(old, new, path)


def _run_by(region: str) -> str:
    return f"the region `{aspects.way(region)}`" if region else "the machine itself"


_KINDS = {"machine": "the machine", "composite": "a composite", "orthogonal": "orthogonal", "leaf": "a leaf"}


def _leads_on(definition: Definition, index: int) -> bool:
    """Whether children of the state, or a transition of it or around it, up to where its execution begins, lead on."""
    state = definition.states[index]
    if state.kind == "orthogonal" or state.invoke is not None:
        return True
    return any(definition.own_transitions[level] for level in _levels(definition, index))


def _levels(definition: Definition, index: int) -> Iterator[int]:
    """The state and those around it, up to where its execution begins."""
    for level in definition.outwards(index):
        yield level
        if definition.is_region(level):
            return


_OF_STATES = frozenset({"state", "transition", "timer"})
_EVERYWHERE = frozenset({"ttl", "context", "event", "guard", "binding"})
_AT_ENTRY = frozenset({"on enter", "initial", "with", "order of regions"})
"""What counts only when a state is entered, which has happened."""


def _regions(old: Definition, new: Definition, path: str) -> Iterator[str]:
    names = [old.states[child].name for child in old.children[old.index[path]]]
    others = [new.states[child].name for child in new.children[new.index[path]]]
    if old.states[old.index[path]].kind == "orthogonal":
        yield from (f"region `{name}` is gone, and its execution stranded" for name in names if name not in others)
        yield from (f"region `{name}` was never started" for name in others if name not in names)


def _described(change: Change) -> str:
    subject = change.aspect or change.subject
    if change.subject in _EVERYWHERE and change.name:
        subject = f"{change.subject} {words.name(change.name)}{f' {change.aspect}' if change.aspect else ''}"
    if change.old is None:
        return f"{subject}: now {change.new}"
    return f"{subject}: no longer {change.old}" if change.new is None else f"{subject}: {change.old}, now {change.new}"
