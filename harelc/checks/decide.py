"""Whether a predicate can ever hold, and whether several together always do, as far as the literals in it tell.

Each field takes every value that can make a difference: the literals it is compared with, something between them,
and, where its declaration allows, null and absence (edges.md: an absent field makes `==` and `!=` both false). What
compares two references, or is not known, may be either. So "never" and "always" are sure, everything else is "maybe";
where a predicate is too large to try, the answer is "maybe" too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor, prod

from .. import tree
from ..model import GuardModel, TransitionModel
from ..records import Record
from .facts import Facts
from .values import UNKNOWN, Type, can_be_equal, of_literal, why_no_order

_MOST_NODES = 200
_MOST_TRIALS = 50_000
"""Of one test under one choice of values."""


Value = object
_ABSENT = object()
_OTHER = object()
"""A value of a type that no literal has."""

Variable = tuple[str, str]
"""A scope (`event` or `context`) and a name."""


class Test(Record):
    """A field against a literal."""

    variable: Variable
    op: str
    value: Value


class Maybe(Record):
    """What may hold or not; equal keys hold together."""

    key: object


class All(Record):
    """`and`; without terms it always holds."""

    terms: tuple[Formula, ...]


class Some(Record):
    """`or`; without terms it never holds."""

    terms: tuple[Formula, ...]


class Negated(Record):
    term: Formula


Formula = Test | Maybe | All | Some | Negated
ALWAYS = All(())


class _TooLarge(Exception):
    """The formula has more nodes than are worth trying."""


class Reader:
    """Turns the predicates of one machine into formulas."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def taken(self, transition: TransitionModel) -> Formula:
        """When an event of its kinds is taken by the transition: its `where`, and of a `choose` that a branch holds."""
        node = transition.node
        where = ALWAYS if node.where is None else self.predicate(node.where)
        if node.form != "choose" or any(branch.is_else for branch in node.branches):
            return where
        return All((where, Some(tuple(self.branch(branch) for branch in node.branches))))

    def branch(self, branch: tree.Branch) -> Formula:
        """When a branch of a `choose` holds, as far as its own test goes."""
        if branch.test is None or isinstance(branch.test, tree.Name):
            return ALWAYS
        return self.predicate(branch.test)

    def predicate(self, predicate: tree.Predicate) -> Formula:
        try:
            return self._read(predicate, None, frozenset(), [_MOST_NODES])
        except _TooLarge:
            return Maybe(object())

    def _read(self, node: tree.Predicate, inside: GuardModel | None, path: frozenset[str], room: list[int]) -> Formula:
        room[0] -= 1
        if room[0] < 0 or len(path) > _MOST_NODES:
            raise _TooLarge
        if isinstance(node, tree.Compare):
            return self._compare(node)
        if isinstance(node, tree.Not):
            return Negated(self._read(node.term, inside, path, room))
        if isinstance(node, (tree.And, tree.Or)):
            terms = tuple(self._read(term, inside, path, room) for term in node.terms)
            return All(terms) if isinstance(node, tree.And) else Some(terms)
        guard = self._guard(node, inside)
        if guard is None or guard.key in path:
            return Maybe(object())
        return self._read(guard.node.predicate, guard, path | {guard.key}, room)

    def _guard(self, ref: tree.GuardRef, inside: GuardModel | None) -> GuardModel | None:
        if inside is None:
            return self._facts.guard(ref)
        key = inside.refs.get(ref.name.text)
        return None if key is None else self._facts.machine.guards.get(key)

    def _compare(self, compare: tree.Compare) -> Formula:
        variable = ("context" if compare.left.scope == "context" else "event", compare.left.name.text)
        if isinstance(compare.right, tree.Literal):
            return Test(variable, compare.op, compare.right.value)
        return Maybe((variable, compare.op, compare.right.scope, compare.right.name.text))


def can_hold(formula: Formula, type_of: Callable[[Variable], Type]) -> bool:
    """Whether some values make the formula hold; true where that is not sure."""
    literals: dict[Variable, list[Value]] = {}
    maybes: dict[object, None] = {}
    formula = _without_slips(formula, type_of)
    leaves = tuple(_leaves(formula))
    for leaf in leaves:
        if isinstance(leaf, Maybe):
            maybes[leaf.key] = None
        else:
            known = literals.setdefault(leaf.variable, [])
            known.extend(leaf.value if leaf.op == "in" and isinstance(leaf.value, tuple) else [leaf.value])
    names: list[object] = [*literals, *maybes]
    choices: list[Sequence[Value]] = [_representatives(known, type_of(name)) for name, known in literals.items()]
    choices += [(True, False)] * len(maybes)
    if prod(map(len, choices)) * len(leaves) > _MOST_TRIALS:
        return True
    return any(_holds(formula, dict(zip(names, values, strict=True))) for values in product(*choices))


def always_holds(formula: Formula, type_of: Callable[[Variable], Type]) -> bool:
    """Whether the formula surely holds; false where that is not sure."""
    return not can_hold(Negated(formula), type_of)


def given(formula: Formula, variable: Variable, value: Value) -> Formula:
    """The formula where one field is known to have a value."""
    if isinstance(formula, Test):
        if formula.variable != variable:
            return formula
        return ALWAYS if _compared(value, formula.op, formula.value) else Some(())
    if isinstance(formula, Negated):
        return Negated(given(formula.term, variable, value))
    if isinstance(formula, All):
        return All(tuple(given(term, variable, value) for term in formula.terms))
    if isinstance(formula, Some):
        return Some(tuple(given(term, variable, value) for term in formula.terms))
    return formula


def types_at(facts: Facts, index: int, kind: str | None) -> Callable[[Variable], Type]:
    """The types of fields and keys for an event of one kind, or none, at a state."""

    def type_of(variable: Variable) -> Type:
        scope, name = variable
        if scope == "context":
            return facts.key_type(index, name)
        return UNKNOWN if kind is None else facts.field_type((kind,), name) or UNKNOWN

    return type_of


def _without_slips(formula: Formula, type_of: Callable[[Variable], Type]) -> Formula:
    """The formula where a comparison between types that never match may hold: it has a finding of its own."""
    if isinstance(formula, Test):
        return Maybe(formula) if _is_slip(formula, type_of(formula.variable)) else formula
    if isinstance(formula, Negated):
        return Negated(_without_slips(formula.term, type_of))
    if isinstance(formula, All):
        return All(tuple(_without_slips(term, type_of) for term in formula.terms))
    if isinstance(formula, Some):
        return Some(tuple(_without_slips(term, type_of) for term in formula.terms))
    return formula


def _is_slip(test: Test, known: Type) -> bool:
    if test.op == "in":
        members = test.value if isinstance(test.value, tuple) else None
        return members is None or (bool(members) and not any(can_be_equal(known, of_literal(one)) for one in members))
    if test.op in ("==", "!="):
        return not can_be_equal(known, of_literal(test.value))
    return why_no_order(known, of_literal(test.value)) is not None


def _leaves(formula: Formula) -> Iterator[Test | Maybe]:
    waiting = [formula]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (All, Some)):
            waiting.extend(node.terms)
        elif isinstance(node, Negated):
            waiting.append(node.term)
        else:
            yield node


def _holds(formula: Formula, given: Mapping[object, Value]) -> bool:
    if isinstance(formula, Test):
        value = given[formula.variable]
        return value is not _ABSENT and _compared(value, formula.op, formula.value)
    if isinstance(formula, Maybe):
        return given[formula.key] is True
    if isinstance(formula, Negated):
        return not _holds(formula.term, given)
    if isinstance(formula, All):
        return all(_holds(term, given) for term in formula.terms)
    return any(_holds(term, given) for term in formula.terms)


# --- values as the language compares them (language.md section 4)


def _sort(value: Value) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float, Fraction)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "list" if isinstance(value, tuple) else "null" if value is None else "other"


def _equal(one: Value, other: Value) -> bool:
    if _sort(one) != _sort(other):
        return False
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one == other


def _compared(value: Value, op: str, literal: Value) -> bool:
    if op == "==":
        return _equal(value, literal)
    if op == "!=":
        return not _equal(value, literal)
    if op == "in":
        return isinstance(literal, tuple) and any(_equal(value, member) for member in literal)
    if isinstance(value, str) and isinstance(literal, str):
        return _ordered((value > literal) - (value < literal), op)
    one, other = _number(value), _number(literal)
    return one is not None and other is not None and _ordered((one > other) - (one < other), op)


def _ordered(sign: int, op: str) -> bool:
    return sign < 0 if op == "<" else sign <= 0 if op == "<=" else sign > 0 if op == ">" else sign >= 0


def _number(value: Value) -> Fraction | None:
    """A number, exactly; a bool is none."""
    is_number = isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
    return Fraction(value) if is_number and isinstance(value, (int, float, Fraction)) else None


def _representatives(literals: Iterable[Value], known: Type) -> Sequence[Value]:
    """Values of a type such that every value compares with the literals like one of them."""
    numbers: list[Fraction] = []
    strings: list[str] = []
    others: list[Value] = []
    for literal in literals:
        number = _number(literal)
        if number is not None:
            numbers.append(number)
        elif isinstance(literal, str):
            strings.append(literal)
        elif literal is not None and not isinstance(literal, bool):
            others.append(literal)
    values: list[Value] = []
    if known.name in ("int", "float", "any"):
        values += _whole_around(numbers) if known.name == "int" else _around(numbers)
    if known.name in ("string", "any"):
        values += _texts(strings)
    if known.name in ("bool", "any"):
        values += [True, False]
    if known.name in ("list", "any"):
        values += [*others, _OTHER]
    if known.nullable or known.name == "null":
        values.append(None)
    if known.may_lack:
        values.append(_ABSENT)
    return values


def _around(numbers: Iterable[Fraction]) -> Sequence[Value]:
    points = sorted(set(numbers))
    if not points:
        return [Fraction(0)]
    between = [(one + other) / 2 for one, other in pairwise(points)]
    return [points[0] - 1, *points, *between, points[-1] + 1]


def _whole_around(numbers: Iterable[Fraction]) -> Sequence[Value]:
    points = sorted(set(numbers))
    if not points:
        return [0]
    whole = {floor(points[0]) - 1, ceil(points[-1]) + 1}
    for point in points:
        whole |= {floor(point), ceil(point)}
    for one, other in pairwise(points):
        if floor(one) + 1 < other:
            whole.add(floor(one) + 1)
    return sorted(whole)


def _texts(strings: Iterable[str]) -> Sequence[Value]:
    points = sorted(set(strings))
    texts = dict.fromkeys(["", *points, *(f"{point}\0" for point in points)])
    return list(texts)
