"""Fragments: each `use` becomes the composite state it stands for (language.md sections 2 and 3; edges.md, Trees).

From tree to tree: parameters are replaced, uses inside fragments are expanded in turn, and everything keeps the
span it was written with, whose file is the scope its names are looked up in. A `use` that cannot be expanded stays
where it is, and has had its finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from . import tree
from .diagnostics import Finding
from .parameters import KINDS, delay_faults, faults
from .records import Record
from .scopes import Scope
from .spelling import did_you_mean, similar
from .walk import statements

SIZE_LIMIT = 100_000
"""How many states, transitions and used fragments a machine has at most after expansion (edges.md, Values)."""

LEVEL_LIMIT = 64
"""How deep states nest at most, also after expansion."""

NESTING_LIMIT = 200
"""How deep a predicate nests at most, also with others put into it."""

Value = tree.Action | tree.Predicate | tree.Path | tree.Literal | tree.Name
"""What an argument is once its parameter's kind is known: in the order action, guard, state, value, event."""

Bindings = Mapping[str, tuple[str, Value]]
"""Parameter names with kind and value."""


class Expanded(Record):
    """A body with its uses expanded. `uses` finds the `use` that a state came from, by the state's span."""

    body: tuple[tree.Statement, ...]
    uses: Mapping[tree.Span, tree.Use]
    findings: tuple[Finding, ...]


def expand(body: tuple[tree.Statement, ...], scopes: Mapping[str, Scope]) -> Expanded:
    """The body of a machine with every use replaced.

    Findings: `unknown_fragment`, `fragment_argument`, `too_large`, `too_deep`, and those of the used fragments' text;
    `fragment_cycle` is `cycles`' subject. A body that outgrows a limit comes back as it was written.
    """
    expansion = _Expansion(scopes)
    try:
        expanded = expansion.body(body, _Place({}))
    except (_TooLarge, _TooDeep) as reached:
        return Expanded(body, {}, (reached.finding,))
    return Expanded(expanded, expansion.uses, tuple(expansion.findings))


class _TooLarge(Exception):
    def __init__(self, chain: tuple[tree.Use, ...]) -> None:
        way = " uses ".join(use.fragment.text for use in chain[:8])
        message = f"the machine has more than {SIZE_LIMIT:,} states, transitions and used fragments: {way}"
        hint = "use fewer fragments inside fragments, or make some of them machines and `invoke` them"
        self.finding = Finding("too_large", chain[0].fragment.span, message, hint, _way(chain))


class _TooDeep(Exception):
    def __init__(self, what: str, chain: tuple[tree.Use, ...]) -> None:
        message = f"{what} once the fragments are put in"
        self.finding = Finding("too_deep", chain[0].fragment.span, message, "make some of them machines", _way(chain))


def _way(chain: tuple[tree.Use, ...]) -> tuple[tuple[tree.Span, str], ...]:
    """The uses behind the first one, as notes."""
    return tuple((use.fragment.span, f"`{use.fragment.text}` is used here") for use in chain[1:8])


class _Place(Record):
    """A body that is being expanded.

    `bound` are the parameters of its text, `depth` counts the bodies from that text's own down to this one,
    `level` those of the whole machine, `chain` are the uses that led here, outermost first, and `open` the ids of
    their fragments.
    """

    bound: Bindings
    depth: int = 1
    level: int = 1
    chain: tuple[tree.Use, ...] = ()
    open: frozenset[int] = frozenset()

    def inside(self) -> _Place:
        return replace(self, depth=self.depth + 1, level=self.level + 1)


class _Expansion:
    def __init__(self, scopes: Mapping[str, Scope]) -> None:
        self._scopes = scopes
        self._size = 0
        self._extents: dict[int, tuple[tree.Predicate, int, int]] = {}
        self._faults: dict[int, tuple[Finding, ...]] = {}
        self.uses: dict[tree.Span, tree.Use] = {}
        self.findings: list[Finding] = []

    def body(self, body: tuple[tree.Statement, ...], place: _Place) -> tuple[tree.Statement, ...]:
        return tuple(self._statement(statement, place) for statement in body)

    def _statement(self, statement: tree.Statement, place: _Place) -> tree.Statement:
        if isinstance(statement, (tree.State, tree.Transition, tree.Use)) and place.chain:
            self._count(1, place.chain)
        if isinstance(statement, tree.State):
            return replace(statement, body=self.body(statement.body, place.inside()))
        if isinstance(statement, tree.Invoke) and statement.body is not None:
            return replace(statement, body=self.body(statement.body, place.inside()))
        if isinstance(statement, tree.Use):
            use = _bound_use(statement, place.bound, place.depth) if place.bound else statement
            return self._use(use, statement, place)
        if isinstance(statement, (tree.Timeout, tree.Ttl)) and statement.parameter is not None and not place.chain:
            self.findings += delay_faults(statement, {})
        return _bound(statement, place.bound, place.depth) if place.bound else statement

    def _count(self, more: int, chain: tuple[tree.Use, ...]) -> None:
        self._size += more
        if self._size > SIZE_LIMIT:
            raise _TooLarge(chain)

    def _use(self, use: tree.Use, written: tree.Use, place: _Place) -> tree.Statement:
        found = self._scopes[use.fragment.span.file].fragments
        fragment = found.get(use.fragment.text)
        if fragment is None:
            if self._scopes[use.fragment.span.file].is_complete:
                self.findings.append(_unknown(use, found))
            return use
        if id(fragment) in place.open:
            return use
        chain = (*place.chain, written)
        own = {name: kind for name, (kind, _) in place.bound.items()}
        wrong = [*self._faults_of(fragment), *_argument_faults(written, fragment, own)]
        self.findings += wrong
        if wrong or fragment.broken:
            return use
        if place.level >= LEVEL_LIMIT:
            raise _TooDeep(f"states nest deeper than {LEVEL_LIMIT} levels", chain)
        bound = self._arguments(use, fragment, chain)
        self.uses[written.span] = written
        body = self.body(fragment.body, _Place(bound, 1, place.level + 1, chain, place.open | {id(fragment)}))
        return tree.State("state", use.name, body, use.span, doc=use.doc or fragment.doc)

    def _faults_of(self, fragment: tree.Fragment) -> tuple[Finding, ...]:
        """What is wrong with the fragment's text, looked for once however often it is used."""
        if id(fragment) not in self._faults:
            self._faults[id(fragment)] = () if fragment.broken else tuple(faults(fragment))
        return self._faults[id(fragment)]

    def _arguments(self, use: tree.Use, fragment: tree.Fragment, chain: tuple[tree.Use, ...]) -> Bindings:
        """What each parameter stands for; a predicate is measured, for it may hold others many times."""
        given = {argument.name.text: argument.value for argument in use.arguments}
        bound: dict[str, tuple[str, Value]] = {}
        for parameter in fragment.parameters:
            value = _as(parameter.kind.text, given[parameter.name.text])
            if value is None:
                continue
            bound[parameter.name.text] = (parameter.kind.text, value)
            if isinstance(value, tree.Predicate):
                size, depth = self._extent(value)
                if size > SIZE_LIMIT:
                    raise _TooLarge(chain)
                if depth > NESTING_LIMIT:
                    raise _TooDeep(f"a predicate nests deeper than {NESTING_LIMIT} levels", chain)
        return bound

    def _extent(self, predicate: tree.Predicate) -> tuple[int, int]:
        """How many tests a predicate has and how deep it is; a part that occurs many times is looked at once."""
        waiting = [predicate]
        while waiting:
            node = waiting[-1]
            inner = _terms(node)
            missing = [term for term in inner if id(term) not in self._extents]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            known = [self._extents[id(term)] for term in inner]
            size = sum(one for _, one, _ in known) if inner else 1
            depth = 1 + max(one for _, _, one in known) if inner else 0
            self._extents[id(node)] = (node, size, depth)
        return self._extents[id(predicate)][1:]


def _terms(predicate: tree.Predicate) -> tuple[tree.Predicate, ...]:
    if isinstance(predicate, tree.Not):
        return (predicate.term,)
    return predicate.terms if isinstance(predicate, (tree.And, tree.Or)) else ()


def cycles(file: tree.File, scopes: Mapping[str, Scope]) -> Iterator[Finding]:
    """Fragments of a file that use themselves, through others or at once; at the use that closes the circle."""
    state: dict[int, str] = {}
    for fragment in file.items:
        if isinstance(fragment, tree.Fragment):
            yield from _circles(fragment, scopes, state)


def _circles(start: tree.Fragment, scopes: Mapping[str, Scope], state: dict[int, str]) -> Iterator[Finding]:
    """One depth-first walk, without recursion; `state` says which fragments are on the way and which are done."""
    way: list[tuple[tree.Fragment, Iterator[tree.Use]]] = []

    def enter(fragment: tree.Fragment) -> None:
        state[id(fragment)] = "open"
        way.append((fragment, uses_in(fragment.body)))

    if id(start) not in state:
        enter(start)
    while way:
        fragment, waiting = way[-1]
        use = next(waiting, None)
        if use is None:
            state[id(fragment)] = "done"
            way.pop()
            continue
        target = scopes[use.fragment.span.file].fragments.get(use.fragment.text)
        if target is None or state.get(id(target)) == "done":
            continue
        if state.get(id(target)) == "open":
            names = [open_one.name.text for open_one, _ in way]
            circle = " uses ".join([*names[names.index(target.name.text) :], target.name.text])
            message = f"the fragment `{target.name.text}` uses itself: {circle}"
            hint = "an `invoke` of a machine can come back to itself, a `use` cannot"
            yield Finding("fragment_cycle", use.fragment.span, message, hint)
        else:
            enter(target)


def uses_in(body: tuple[tree.Statement, ...]) -> Iterator[tree.Use]:
    """Every use written in a body, at any depth, in source order."""
    return (statement for statement in statements(body) if isinstance(statement, tree.Use))


# --- a fragment's own text


def text_faults(fragment: tree.Fragment, scopes: Mapping[str, Scope]) -> Iterator[Finding]:
    """What is wrong with a fragment's text, whoever uses it, the uses in it included."""
    yield from faults(fragment)
    own = {parameter.name.text: parameter.kind.text for parameter in fragment.parameters}
    for use in uses_in(fragment.body):
        scope = scopes[use.fragment.span.file]
        target = scope.fragments.get(use.fragment.text)
        if target is not None:
            yield from _argument_faults(use, target, own)
        elif scope.is_complete:
            yield _unknown(use, scope.fragments)


# --- arguments


def _unknown(use: tree.Use, known: Iterable[str]) -> Finding:
    name = use.fragment.text
    hint = similar(name, known, "a fragment with a similar name exists") or "declare it, or import the file that does"
    return Finding("unknown_fragment", use.fragment.span, f"no fragment `{name}` is visible here", hint)


def _argument_faults(use: tree.Use, fragment: tree.Fragment, own: Mapping[str, str]) -> Iterator[Finding]:
    """Arguments that are missing, unknown or of the wrong kind; all stand at the use.

    `own` are the parameters of the text the use stands in, by kind: one that is handed on keeps its kind.
    """
    place = use.fragment.span
    name = fragment.name.text
    kinds = {parameter.name.text: parameter.kind.text for parameter in fragment.parameters}
    given = {argument.name.text for argument in use.arguments}
    for argument in use.arguments:
        key = argument.name.text
        if key not in kinds:
            hint = did_you_mean(key, kinds, most=1) or f"it takes {_listed(list(kinds))}"
            yield Finding("fragment_argument", place, f"the fragment `{name}` has no parameter `{key}`", hint)
        elif kinds[key] in KINDS and not _fits(kinds[key], argument.value, own):
            message = f"the argument `{key}` of `{name}` is no {kinds[key]}"
            yield Finding("fragment_argument", place, message, _WANTED[kinds[key]])
    for parameter in fragment.parameters:
        key = parameter.name.text
        if key not in given and parameter.kind.text in KINDS:
            message = f"the fragment `{name}` needs the argument `{key}`, which is not given"
            yield Finding("fragment_argument", place, message, _WANTED[parameter.kind.text])


_WANTED = {
    "action": "an action is a handler's name or a dotted path, with inputs where it takes some",
    "guard": "a guard is a named guard, or a predicate in parentheses",
    "state": "a state is the name of a state of the body where the fragment is used",
    "value": "a value is a string, a number, true, false, null or a list of these",
    "event": "an event is the name of a declared event",
}


def _fits(kind: str, value: tree.Predicate | tree.Literal | tree.Action | tree.Path, own: Mapping[str, str]) -> bool:
    if isinstance(value, tree.Action) and value.name.text in own:
        return own[value.name.text] == kind and (kind == "action" or not value.inputs)
    return _as(kind, value) is not None


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _as(kind: str, value: tree.Predicate | tree.Literal | tree.Action | tree.Path) -> Value | None:
    """An argument as its parameter's kind takes it, or `None` where it cannot be one."""
    if kind == "action":
        return value if isinstance(value, tree.Action) else None
    if kind == "value":
        return value if isinstance(value, tree.Literal) else None
    if kind == "guard":
        bare = _bare(value)
        if bare is not None:
            return tree.GuardRef(bare, bare.span)
        return value if isinstance(value, tree.Predicate) else None
    if kind == "event":
        return _bare(value) or _text(value)
    return _path(value)


def _bare(value: object) -> tree.Name | None:
    """An argument that is a bare name."""
    if isinstance(value, tree.Action) and not value.inputs and not value.name.is_dotted:
        return tree.Name(value.name.text, value.name.span)
    return None


def _text(value: object) -> tree.Name | None:
    """An argument that is a quoted name."""
    if isinstance(value, tree.Literal) and isinstance(value.value, str):
        return tree.Name(value.value, value.span)
    return None


def _path(value: object) -> tree.Path | None:
    if isinstance(value, tree.Path):
        return value
    if isinstance(value, tree.Action) and not value.inputs:
        parts = value.name.text.split(".")
        return tree.Path(tuple(tree.Name(part, value.name.span) for part in parts), value.name.span)
    quoted = _text(value)
    return tree.Path((quoted,), quoted.span) if quoted else None


# --- replacing parameters


def _parameter(bound: Bindings, kind: str, name: str) -> Value | None:
    """The value of a parameter of that name and kind."""
    found = bound.get(name)
    return found[1] if found is not None and found[0] == kind else None


def _bound(statement: tree.Statement, bound: Bindings, depth: int) -> tree.Statement:
    if isinstance(statement, tree.Transition):
        return _bound_transition(statement, bound, depth)
    if isinstance(statement, tree.Hook):
        return replace(statement, action=_bound_action(statement.action, bound))
    if isinstance(statement, (tree.Timeout, tree.Ttl)):
        value = _parameter(bound, "value", statement.parameter.text) if statement.parameter else None
        return replace(statement, parameter=None, value=value) if isinstance(value, tree.Literal) else statement
    if isinstance(statement, tree.Defer):
        return replace(statement, kinds=_bound_kinds(statement.kinds, bound))
    if isinstance(statement, tree.With):
        entries = tuple(replace(entry, value=_bound_operand(entry.value, bound)) for entry in statement.entries)
        return replace(statement, entries=entries)
    return statement


def _bound_transition(transition: tree.Transition, bound: Bindings, depth: int) -> tree.Transition:
    def branch(part: tree.Branch) -> tree.Branch:
        test = part.test
        return replace(
            part,
            target=_bound_path(part.target, bound, depth),
            test=test if test is None or isinstance(test, tree.Name) else _bound_predicate(test, bound),
            sets=_bound_sets(part.sets, bound),
        )

    return replace(
        transition,
        kinds=_bound_kinds(transition.kinds, bound),
        where=None if transition.where is None else _bound_predicate(transition.where, bound),
        sets=_bound_sets(transition.sets, bound),
        branches=tuple(map(branch, transition.branches)),
        selector=None if transition.selector is None else _bound_action(transition.selector, bound),
    )


def _bound_kinds(kinds: tuple[tree.Name, ...], bound: Bindings) -> tuple[tree.Name, ...]:
    def kind(name: tree.Name) -> tree.Name:
        value = _parameter(bound, "event", name.text)
        return value if isinstance(value, tree.Name) else name

    return tuple(map(kind, kinds))


def _bound_path(path: tree.Path, bound: Bindings, depth: int) -> tree.Path:
    """A `state` parameter as the first part of a target: the look-up begins where the fragment is used."""
    value = _parameter(bound, "state", path.parts[0].text)
    if not isinstance(value, tree.Path):
        return path
    return tree.Path((*value.parts, *path.parts[1:]), value.span, value.hops + depth)


def _bound_action(action: tree.Action, bound: Bindings) -> tree.Action:
    inputs = tuple(replace(given, value=_bound_operand(given.value, bound)) for given in action.inputs)
    value = _parameter(bound, "action", action.name.text)
    if not isinstance(value, tree.Action):
        return replace(action, inputs=inputs) if inputs else action
    own = {given.name.text for given in inputs}
    return replace(value, inputs=(*(given for given in value.inputs if given.name.text not in own), *inputs))


def _bound_operand(operand: tree.Operand, bound: Bindings) -> tree.Operand:
    if isinstance(operand, tree.Ref) and not operand.scope:
        value = _parameter(bound, "value", operand.name.text)
        return value if isinstance(value, tree.Literal) else operand
    return operand


def _bound_sets(sets: tuple[tree.Assign, ...], bound: Bindings) -> tuple[tree.Assign, ...]:
    return tuple(
        replace(
            assign,
            left=_bound_operand(assign.left, bound),
            right=None if assign.right is None else _bound_operand(assign.right, bound),
        )
        for assign in sets
    )


def _bound_predicate(predicate: tree.Predicate, bound: Bindings) -> tree.Predicate:
    if isinstance(predicate, tree.Compare):
        return replace(predicate, right=_bound_operand(predicate.right, bound))
    if isinstance(predicate, tree.GuardRef):
        value = _parameter(bound, "guard", predicate.name.text)
        return value if isinstance(value, tree.Predicate) else predicate
    if isinstance(predicate, tree.Not):
        return replace(predicate, term=_bound_predicate(predicate.term, bound))
    return replace(predicate, terms=tuple(_bound_predicate(term, bound) for term in predicate.terms))


def _bound_use(use: tree.Use, bound: Bindings, depth: int) -> tree.Use:
    """A use inside a fragment, the outer parameters in its arguments replaced, whatever the kind of the inner one."""

    def argument(given: tree.Argument) -> tree.Argument:
        value = given.value
        if isinstance(value, tree.Predicate):
            return replace(given, value=_bound_predicate(value, bound))
        if isinstance(value, tree.Path):
            return replace(given, value=_bound_path(value, bound, depth))
        name = _bare(value)
        outer = bound.get(name.text) if name else None
        if outer is not None:
            return replace(given, value=_passed_on(outer, depth))
        return replace(given, value=_bound_action(value, bound)) if isinstance(value, tree.Action) else given

    return replace(use, arguments=tuple(map(argument, use.arguments)))


def _passed_on(outer: tuple[str, Value], depth: int) -> tree.Predicate | tree.Literal | tree.Action | tree.Path:
    """An outer parameter handed on: as it would have been written where the outer fragment is used."""
    value = outer[1]
    if isinstance(value, tree.Name):
        return tree.Literal(value.text, value.span)
    return replace(value, hops=value.hops + depth) if isinstance(value, tree.Path) else value
