"""What two machines differ in by meaning (build.md section 1, `harelc diff`).

States are found again by their path, transitions by their source, their kinds and their form, in order. Comments,
layout, the order of declarations where none is meant, and names of guards that stand for the same play no part. Pure:
definitions in, a value out; how it is shown is `difference_report.py`'s subject.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harel.definition import Assign, Definition, EventType, Expr, Transition

from . import aspects, words


class Kind(StrEnum):
    """What became of a part."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes:
        subject: version, ttl, state, transition, timer, guard, context, event or binding.
        name: the path of the state or of the transition's source ("" for the machine itself), or the name declared.
        aspect: what of it, where that is one thing among others (`on enter`, `order`, a field of an event); else "".
        old, new: its text before and after, as in the source; `None` where it is not there.
    """

    subject: str
    name: str
    aspect: str
    old: str | None
    new: str | None

    @property
    def kind(self) -> Kind:
        if self.aspect or (self.old is not None and self.new is not None):
            return Kind.CHANGED
        return Kind.ADDED if self.old is None else Kind.REMOVED


@dataclass(frozen=True, slots=True)
class Rename:
    """A removed state and an added one with the same inside and the same transitions, by path."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One machine before and after; one of the two is `None` where the machine was added or removed."""

    old: Definition | None
    new: Definition | None
    changes: tuple[Change, ...] = ()
    renames: tuple[Rename, ...] = ()

    @property
    def machine(self) -> str:
        """The machine's name; an inline machine's is `MACHINE:PATH`."""
        return self._either.id

    @property
    def _either(self) -> Definition:
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def kind(self) -> Kind | None:
        """What became of the machine; `None` where it means what it meant."""
        if self.old is None:
            return Kind.ADDED
        if self.new is None:
            return Kind.REMOVED
        return Kind.CHANGED if self.changes else None

    @property
    def has_other_digest(self) -> bool:
        """Whether both sides are there and their digests differ, which they may though the meaning is the same."""
        return self.old is not None and self.new is not None and self.old.digest != self.new.digest


@dataclass(frozen=True, slots=True)
class Pair:
    """A transition before and after, by index; `None` where it is not there. `same`: it means what it meant."""

    old: int | None
    new: int | None
    same: bool = False


def compare_machines(old: Iterable[Definition], new: Iterable[Definition]) -> tuple[Difference, ...]:
    """The differences of two sets of machines, each followed by those of the machines written inside it.

    Machines are found again by name; of a name that has several versions equal versions belong together, and of the
    others the highest to the highest.
    """
    pairs = _paired(list(old), list(new))
    return tuple(difference for one, other in pairs for difference in _with_inline(one, other))


def compare(old: Definition, new: Definition) -> Difference:
    """What two machines differ in; the machines written inside them are not looked at."""
    return Difference(old, new, tuple(_changes(old, new)), tuple(_renames(old, new)))


def pair_transitions(old: Definition, new: Definition) -> tuple[Pair, ...]:
    """The transitions of two machines, those that belong together side by side, in the order of the states."""
    before, after = _Meaning(old), _Meaning(new)
    pairs: list[Pair] = []
    for path in _all(old.paths, new.paths):
        pairs += _Pairing(before, before.own(path), after, after.own(path)).pairs()
    return tuple(pairs)


# --- machines


def _with_inline(old: Definition | None, new: Definition | None) -> Iterator[Difference]:
    if old is None or new is None:
        yield Difference(old, new)
        return
    yield compare(old, new)
    before = {machine.id: machine for machine in old.inline}
    after = {machine.id: machine for machine in new.inline}
    for id in _all(before, after):
        yield from _with_inline(before.get(id), after.get(id))


def _paired(
    old: Sequence[Definition], new: Sequence[Definition]
) -> Iterator[tuple[Definition | None, Definition | None]]:
    for id in _all((machine.id for machine in old), (machine.id for machine in new)):
        before = {machine.version: machine for machine in old if machine.id == id}
        after = {machine.version: machine for machine in new if machine.id == id}
        for version in sorted(before.keys() & after.keys()):
            yield before.pop(version), after.pop(version)
        left, right = deque(sorted(before)), deque(sorted(after))
        while left and right:
            yield before[left.pop()], after[right.pop()]
        yield from ((before[version], None) for version in left)
        yield from ((None, after[version]) for version in right)


# --- parts


def _changes(old: Definition, new: Definition) -> Iterator[Change]:
    if ":" not in new.id:  # an inline machine has the version of the one it stands in
        yield from _change("version", "", str(old.version), str(new.version))
    yield from _change("ttl", "", _ttl(old), _ttl(new))
    yield from _states(old, new)
    yield from _transitions(old, new)
    for path in _all(old.paths, new.paths):
        yield from _change("timer", path, _at(aspects.timer, old, path), _at(aspects.timer, new, path))
    yield from _tables("guard", _guards(old), _guards(new))
    yield from _context(old, new)
    yield from _events(old, new)
    yield from _tables("binding", old.binds, new.binds)


def _change(subject: str, name: str, old: str | None, new: str | None, aspect: str = "") -> Iterator[Change]:
    if old != new:
        yield Change(subject, name, aspect, old, new)


def _tables(subject: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    for name in _all(old, new):
        yield from _change(subject, name, old.get(name), new.get(name))


def _at(read: Callable[[Definition, int], str | None], definition: Definition, path: str) -> str | None:
    index = definition.index.get(path)
    return None if index is None else read(definition, index)


def _ttl(definition: Definition) -> str | None:
    return None if definition.ttl is None else words.delay(definition.ttl)


def _guards(definition: Definition) -> Mapping[str, str]:
    """Guards by name as a user knows it; of two of one name, from different files, the second has its file with it."""
    found: dict[str, str] = {}
    for key, tree in definition.guards.items():
        name = key.partition("@")[0]
        found[key if name in found else name] = words.predicate(tree)
    return found


def _context(old: Definition, new: Definition) -> Iterator[Change]:
    before, after = old.context, new.context
    if (before is None) != (after is None):
        schema = ["any keys" if context is None else "declared keys" for context in (before, after)]
        yield Change("context", "", "schema", *schema)
    yield from _tables(
        "context",
        {key: aspects.field(field) for key, field in (before or {}).items()},
        {key: aspects.field(field) for key, field in (after or {}).items()},
    )


def _events(old: Definition, new: Definition) -> Iterator[Change]:
    for kind in _all(old.events, new.events):
        before, after = old.events.get(kind), new.events.get(kind)
        if before is None or after is None:
            texts = [None if event is None else _event(event) for event in (before, after)]
            yield Change("event", kind, "", *texts)
            continue
        fields = {field.name: aspects.field(field) for field in before.fields}
        others = {field.name: aspects.field(field) for field in after.fields}
        for name in _all(fields, others):
            yield from _change("event", kind, fields.get(name), others.get(name), aspect=name)


def _event(event: EventType) -> str:
    return f"{{ {aspects.fields(event)} }}" if event.fields else "{}"


# --- states


def _states(old: Definition, new: Definition) -> Iterator[Change]:
    for path in _all(old.paths, new.paths):
        before, after = old.index.get(path), new.index.get(path)
        if before is None:
            yield Change("state", path, "", None, _summary(new, new.index[path]))
        elif after is None:
            yield Change("state", path, "", _summary(old, before), None)
        else:
            yield from _aspects(path, aspects.state_aspects(old, before), aspects.state_aspects(new, after))
            yield from _region_order(path, old, before, new, after)


def _summary(definition: Definition, index: int) -> str:
    found = dict(aspects.state_aspects(definition, index))
    return ", ".join([found.pop("kind"), *(f"{aspect} {text}" for aspect, text in found.items())])


def _aspects(path: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    for aspect in _all(old, new):
        yield from _change("state", path, old.get(aspect), new.get(aspect), aspect)


def _region_order(path: str, old: Definition, before: int, new: Definition, after: int) -> Iterator[Change]:
    """Regions are started, and events broadcast to them, in their order."""
    if old.states[before].kind != "orthogonal" or new.states[after].kind != "orthogonal":
        return
    names = [old.states[child].name for child in old.children[before]]
    others = [new.states[child].name for child in new.children[after]]
    first = ", ".join(words.name(name) for name in names if name in others)
    then = ", ".join(words.name(name) for name in others if name in names)
    yield from _change("state", path, first, then, "order of regions")


# --- transitions


def _transitions(old: Definition, new: Definition) -> Iterator[Change]:
    pairs = pair_transitions(old, new)
    for pair in pairs:
        before = None if pair.old is None else old.transitions[pair.old]
        after = None if pair.new is None else new.transitions[pair.new]
        if pair.same:
            continue
        path = old.paths[before.source] if before else new.paths[after.source] if after else ""
        text = None if before is None else aspects.transition_text(old, before)
        other = None if after is None else aspects.transition_text(new, after)
        if text == other:
            other = f"{other}  (a guard in it means something else)"
        yield Change("transition", path, "", text, other)
    yield from _orders(old, new, [(pair.old, pair.new) for pair in pairs])


def _orders(old: Definition, new: Definition, pairs: Iterable[tuple[int | None, int | None]]) -> Iterator[Change]:
    """Where two transitions that both machines have are tried the other way round for some kind of event."""
    before: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for mine, theirs in pairs:
        if mine is not None and theirs is not None:
            transition = old.transitions[mine]
            for kind in frozenset(transition.kinds) & frozenset(new.transitions[theirs].kinds):
                before.setdefault((transition.source, kind), []).append((mine, theirs))
    found: dict[tuple[int, int], None] = {}
    for tried in before.values():
        after = sorted(tried, key=lambda pair: pair[1])
        first = next(((one[0], other[0]) for one, other in zip(tried, after, strict=True) if one != other), None)
        if first is not None:
            found[first] = None
    for one, other in sorted(found):
        path = old.paths[old.transitions[one].source]
        texts = (aspects.transition_text(old, old.transitions[index]) for index in (one, other))
        yield Change("transition", path, "order", *(f"first {text}" for text in texts))


class _Meaning:
    """What the transitions of one machine come to, whatever the names of its guards."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._own: dict[str, list[int]] = {}
        self._guards: dict[str, tuple[Expr, int]] = {}
        for index, transition in enumerate(definition.transitions):
            self._own.setdefault(definition.paths[transition.source], []).append(index)
        self._expanded_guards()

    def own(self, path: str) -> list[int]:
        """The indices of a state's transitions, in source order."""
        return self._own.get(path, [])

    def of(self, transition: Transition, within: str | None = None) -> Hashable:
        """A key that two transitions of one meaning share. Targets at or below `within` count by the way from there."""
        branches = [
            (self._target(branch.target, within), self._test(branch.test), _sets(branch.sets))
            for branch in transition.branches
        ]
        return (
            frozenset(transition.kinds),
            transition.form,
            repr(self._test(transition.guard)),
            _sets(transition.sets),
            words.call(transition.selector) if transition.selector else "",
            repr(branches if transition.form == "choose" else sorted(branches, key=repr)),
        )

    def _target(self, index: int, within: str | None) -> str:
        path = self.definition.paths[index]
        if within is not None and f"{path}.".startswith(f"{within}."):
            return f".{path[len(within) :]}"
        return path

    def _test(self, test: object) -> object:
        return self._expanded(test)[0] if isinstance(test, tuple) else test

    def _expanded(self, tree: Expr) -> tuple[Expr, int]:
        """A predicate with its guards written out, and its size."""
        kind = tree[0]
        if kind == "guard":
            return self._guards.get(str(tree[1]), (tree, 1))
        if kind not in ("and", "or", "not"):
            return tree, 1
        terms: list[Expr] = []
        total = 1
        for inner in tree[1:]:
            term, size = self._expanded(inner)
            total += size
            terms += term[1:] if kind == term[0] and kind != "not" else [term]
        if kind == "not" and terms[0][0] == "not":
            return tuple(terms[0][1]), total
        return (kind, *terms), total

    def _expanded_guards(self) -> None:
        """Each guard written out, those that it names before it; no recursion, for a chain of guards may be long.

        One that grows too large counts by a number in place of its text.
        """
        waiting = list(self.definition.guards)
        opened: set[str] = set()
        while waiting:
            key = waiting[-1]
            tree = self.definition.guards[key]
            named = [name for name in _named(tree) if name in self.definition.guards and name not in self._guards]
            if key not in self._guards and named and key not in opened:
                opened.add(key)
                waiting += named
                continue
            waiting.pop()
            if key not in self._guards:
                expanded, size = self._expanded(tree)
                self._guards[key] = (expanded, size) if size <= _LARGE else (("guard", hash(repr(expanded))), 1)


_LARGE = 200
"""From which size on a guard is not written out, so that guards of guards do not grow."""


def _named(tree: Expr) -> Iterator[str]:
    """The guards that a predicate names."""
    if tree[0] == "guard":
        yield str(tree[1])
    elif tree[0] in ("and", "or", "not"):
        for inner in tree[1:]:
            yield from _named(inner)


def _sets(sets: Iterable[Assign]) -> tuple[str, ...]:
    return tuple(sorted(map(words.assignment, sets)))


class _Pairing:
    """Finds the transitions of one source again: first what means the same, then what is most alike."""

    def __init__(self, before: _Meaning, old: Sequence[int], after: _Meaning, new: Sequence[int]) -> None:
        self._before, self._after = before, after
        self._old, self._new = old, new
        self._partner: dict[int, int] = {}
        self._same: set[int] = set()

    def pairs(self) -> Iterator[Pair]:
        """The pairs in the order of the old machine; what is only in the new one comes last."""
        self._match(lambda meaning, transition: [meaning.of(transition)])
        self._same = set(self._partner)
        self._match(lambda _, transition: [(frozenset(transition.kinds), transition.form)])
        self._match(lambda _, transition: [frozenset(transition.kinds)])
        self._match(lambda _, transition: list(transition.kinds))
        for index in self._old:
            yield Pair(index, self._partner.get(index), index in self._same)
        taken = set(self._partner.values())
        yield from (Pair(None, index) for index in self._new if index not in taken)

    def _match(self, keys: Callable[[_Meaning, Transition], Iterable[Hashable]]) -> None:
        """Pair what shares a key and has no partner yet, in order."""
        taken = set(self._partner.values())
        waiting: dict[Hashable, deque[int]] = {}
        for index in self._new:
            if index not in taken:
                for key in keys(self._after, self._after.definition.transitions[index]):
                    waiting.setdefault(key, deque()).append(index)
        for index in self._old:
            if index in self._partner:
                continue
            for key in keys(self._before, self._before.definition.transitions[index]):
                found = waiting.get(key, deque())
                while found and found[0] in taken:
                    found.popleft()
                if found:
                    self._partner[index] = found.popleft()
                    taken.add(self._partner[index])
                    break


# --- renames


def _renames(old: Definition, new: Definition) -> Iterator[Rename]:
    """Outermost removed and added states that only their name tells apart, where there is no doubt which is which."""
    before, after = _Shapes(old, new), _Shapes(new, old)
    for shape, paths in before.shapes.items():
        others = after.shapes.get(shape, [])
        if len(paths) == len(others) == 1 and not before.is_plain(paths[0]):
            yield Rename(paths[0], others[0])
            continue
        incoming = {path: before.incoming(path) for path in paths}
        matching = {path: after.incoming(path) for path in others}
        mine, theirs = Counter(incoming.values()), Counter(matching.values())
        for path, way in incoming.items():
            if way and mine[way] == theirs[way] == 1:
                yield Rename(path, next(other for other, found in matching.items() if found == way))


class _Shapes:
    """The states that one machine has and the other has not, by what they are but for their name."""

    def __init__(self, definition: Definition, other: Definition) -> None:
        self._definition = definition
        self._meaning = _Meaning(definition)
        self._incoming: dict[int, list[tuple[str, frozenset[str], str]]] = {}
        for transition in definition.transitions:
            key = (definition.paths[transition.source], frozenset(transition.kinds), transition.form)
            for branch in transition.branches:
                self._incoming.setdefault(branch.target, []).append(key)
        self.shapes: dict[Hashable, list[str]] = {}
        for index, path in enumerate(definition.paths):
            outer = definition.paths[definition.states[index].parent] if index else ""
            if path not in other.index and outer in other.index:
                self.shapes.setdefault((outer, self._shape(path)), []).append(path)

    def incoming(self, path: str) -> frozenset[tuple[str, frozenset[str], str]]:
        """What leads to a state from outside it."""
        found = self._incoming.get(self._definition.index[path], ())
        return frozenset(key for key in found if not f"{key[0]}.".startswith(f"{path}."))

    def is_plain(self, path: str) -> bool:
        """Whether a state has nothing by which to know it."""
        index = self._definition.index[path]
        plain = self._definition.states[index].kind == "leaf" and aspects.timer(self._definition, index) is None
        known = self._definition.own_transitions[index] or len(aspects.state_aspects(self._definition, index)) > 1
        return plain and not known

    def _shape(self, path: str) -> Hashable:
        found: list[Hashable] = []
        waiting = [self._definition.index[path]]
        while waiting:
            index = waiting.pop()
            inner = self._definition.paths[index]
            transitions = (self._definition.transitions[own] for own in self._meaning.own(inner))
            found.append(
                (
                    inner[len(path) :],
                    tuple(aspects.state_aspects(self._definition, index).items()),
                    aspects.timer(self._definition, index),
                    tuple(self._meaning.of(transition, path) for transition in transitions),
                )
            )
            waiting += reversed(self._definition.children[index])
        return tuple(found)


def _all(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """The names of both sides, each once, the old ones first."""
    return list(dict.fromkeys([*old, *new]))
