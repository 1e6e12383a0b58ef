"""`Definition`: one machine, compiled to tables (design.md, "Tables, not closures").

The tables are nested tuples of plain values, so that a generated module states them as literals, JSON carries them
unchanged, and two definitions are equal when their tables are. A row leaves out trailing fields that have their
default. The row types below give the columns their names; `Definition` reads rows into them lazily, and derives
look-ups on first use. No behaviour is here: what a table *means* is `engine.py`'s subject.

Expressions are small trees (language.md section 4):

    ("or", x, y, …)  ("and", x, y, …)  ("not", x)  ("guard", name)
    ("==", left, right)  and so for  != < <= > >= in
    operands:  ("event", field)  ("context", key)  ("item",)  ("lit", value)      a list value is a tuple
    the right side of a `set`:  an operand, or  ("+", left, right)  and so for  - * /
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from .errors import DslError
from .version import VERSION

TABLES_FORMAT = 1
"""The format of the tables that this runtime reads and this compiler writes."""

Row = tuple[object, ...]
Rows = tuple[Row, ...]
Expr = tuple[Any, ...]
"""An expression tree; its leaves are values from the source."""


class Call(NamedTuple):
    """A call of a handler: its name (or dotted path) and its inputs in source order."""

    name: str
    inputs: tuple[tuple[str, Any], ...] = ()


class Assign(NamedTuple):
    """`context.key = value`."""

    key: str
    value: Expr


class Branch(NamedTuple):
    """One way out of a transition: the index of the target, what chooses it, and its own assignments.

    `test` is `None` (always, or `else`), an expression tree (`choose`), a label (`select`), `"all"` or `"any"`
    (`join`).
    """

    target: int
    test: Any = None
    sets: tuple[Assign, ...] = ()


class Transition(NamedTuple):
    """One transition, in source order. No `kinds`: automatic. `form` is `to`, `choose`, `select` or `join`."""

    source: int
    kinds: tuple[str, ...]
    form: str
    branches: tuple[Branch, ...]
    guard: Expr | None = None
    sets: tuple[Assign, ...] = ()
    selector: Call | None = None
    returns: tuple[str, ...] = ()


class Invoke(NamedTuple):
    """The machine a leaf starts, in the version its parent was compiled against; `item` and `items` for a fan-out.

    An inline machine has the id `MACHINE:PATH` and is found in `Definition.inline`. `items` is a context key.
    """

    machine: str
    version: int
    item: str | None = None
    items: str | None = None


class State(NamedTuple):
    """One state. Row 0 is the machine itself (`kind` "machine", name ""); parents come before their children.

    `kind` is `machine`, `composite`, `orthogonal` or `leaf`; a child of an `orthogonal` is a region. `initial` is
    the index of the initial child or -1. `timeout` is seconds, or the context key (a `str`) that holds them.
    `passes` are the `with` pairs: (child's key, operand).
    """

    name: str
    parent: int
    kind: str
    initial: int = -1
    outcome: str | None = None
    timeout: int | float | str | None = None
    on_enter: tuple[Call, ...] = ()
    on_exit: tuple[Call, ...] = ()
    on_activity: tuple[Call, ...] = ()
    defers: tuple[str, ...] = ()
    carry: tuple[str, ...] = ()
    passes: tuple[tuple[str, Expr], ...] = ()
    invoke: Invoke | None = None
    no_history: bool = False
    cancel_on_failure: bool = False


class Field(NamedTuple):
    """A field of an event or a key of the context. `type` is string, int, float, bool or any.

    `default` is empty or holds the one default value.
    """

    name: str
    type: str
    optional: bool = False
    default: tuple[object, ...] = ()


class EventType(NamedTuple):
    """A declared event kind and its fields."""

    kind: str
    fields: tuple[Field, ...] = ()


class Doc(NamedTuple):
    """A documentation text: of a `machine`, `state` (by path), `event`, `guard` or `transition` (by index)."""

    subject: str
    name: str
    text: str


_ROW_TYPES = (Call, Assign, Branch, Transition, Invoke, State, Field, EventType, Doc)


def row(value: Call | Assign | Branch | Transition | Invoke | State | Field | EventType | Doc) -> Row:
    """The table row of a typed value: plain tuples throughout, trailing defaults left out."""
    defaults = value._field_defaults
    names = value._fields
    end = len(names)
    while end and names[end - 1] in defaults and _same(value[end - 1], defaults[names[end - 1]]):
        end -= 1
    return tuple(plain(item) for item in value[:end])


def _same(value: object, default: object) -> bool:
    """Equal and of one type, so that `0` is not taken for `False`."""
    return type(value) is type(default) and value == default


def plain(value: Any) -> Any:
    """Typed rows and lists inside a value become plain tuples; everything else stays."""
    if isinstance(value, _ROW_TYPES):
        return row(value)
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    return value


class Definition:
    """A compiled machine: identity, tables, and the handlers a program has bound to it.

    Two definitions are equal when identity and tables are; bound handlers and sources do not count.

    Args:
        id: the machine's name; an inline machine's is `MACHINE:PATH`.
        version: the machine's version, from 1.
        digest: hexadecimal SHA-256 of what the machine means (runtime.md section 6).
        states, transitions, events, context, guards, binds, docs: rows of the types above; `guards` holds
            (name, expression), `binds` (handler, dotted path). `context` is `None` where the machine has no schema.
        ttl: seconds, or `None`.
        inline: the machines written inside `invoke { … }`.
        actions, predicates: handlers and guards bound by the program.
        sources: (file name, text) of the machine's file and its imports, for publishing.
    """

    def __init__(
        self,
        *,
        id: str,
        version: int,
        digest: str,
        states: Rows,
        transitions: Rows = (),
        events: Rows = (),
        context: Rows | None = None,
        ttl: int | float | None = None,
        guards: Rows = (),
        binds: Rows = (),
        docs: Rows = (),
        inline: tuple[Definition, ...] = (),
        actions: Mapping[str, Callable[..., Any]] | None = None,
        predicates: Mapping[str, Callable[..., Any]] | None = None,
        sources: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.id = id
        self.version = version
        self.digest = digest
        self.ttl = ttl
        self.inline = inline
        self.sources = sources
        self.actions: Mapping[str, Callable[..., Any]] = dict(actions or {})
        self.predicates: Mapping[str, Callable[..., Any]] = dict(predicates or {})
        self._states = states
        self._transitions = transitions
        self._events = events
        self._context = context
        self._guards = guards
        self._binds = binds
        self._docs = docs

    # --- rows, read into their types on first use

    @cached_property
    def states(self) -> tuple[State, ...]:
        return tuple(_read_state(row) for row in self._states)

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        return tuple(_read_transition(row) for row in self._transitions)

    @cached_property
    def events(self) -> Mapping[str, EventType]:
        kinds = (EventType._make(_padded(row, EventType)) for row in self._events)
        return {kind.kind: EventType(kind.kind, _read_fields(kind.fields)) for kind in kinds}

    @cached_property
    def context(self) -> Mapping[str, Field] | None:
        if self._context is None:
            return None
        return {field.name: field for field in _read_fields(self._context)}

    @cached_property
    def guards(self) -> Mapping[str, Expr]:
        return {str(name): _expr(tree) for name, tree in self._guards}

    @cached_property
    def binds(self) -> Mapping[str, str]:
        return {str(name): str(path) for name, path in self._binds}

    @cached_property
    def docs(self) -> tuple[Doc, ...]:
        return tuple(Doc(str(a), str(b), str(c)) for a, b, c in self._docs)

    # --- derived look-ups

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The path of each state, by index; the machine's is ""."""
        paths: list[str] = []
        for state in self.states:
            outer = paths[state.parent] if paths else ""
            paths.append(f"{outer}.{state.name}" if outer else state.name)
        return tuple(paths)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The index of each path."""
        return {path: index for index, path in enumerate(self.paths)}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each state, in source order."""
        children: list[list[int]] = [[] for _ in self.states]
        for index, state in enumerate(self.states):
            if index:
                children[state.parent].append(index)
        return tuple(map(tuple, children))

    @cached_property
    def own_transitions(self) -> tuple[tuple[Transition, ...], ...]:
        """The transitions whose source is each state, in source order."""
        own: list[list[Transition]] = [[] for _ in self.states]
        for transition in self.transitions:
            own[transition.source].append(transition)
        return tuple(map(tuple, own))

    def outwards(self, index: int) -> Iterator[int]:
        """The state and its ancestors, innermost first, the machine last."""
        while index >= 0:
            yield index
            index = self.states[index].parent

    def is_region(self, index: int) -> bool:
        """Whether the state is a region, which an execution of its own runs."""
        parent = self.states[index].parent
        return parent >= 0 and self.states[parent].kind == "orthogonal"

    @cached_property
    def handlers(self) -> tuple[str, ...]:
        """The handlers called by name that `bind` leaves open, in order of first use; dotted paths are not among
        them.
        """
        names = dict.fromkeys(
            call.name for call in self.calls() if "." not in call.name and call.name not in self.binds
        )
        return tuple(names)

    @cached_property
    def open_guards(self) -> tuple[str, ...]:
        """The guards named in predicates that the tables do not hold: the program binds them."""
        trees: list[Any] = [*self.guards.values()]
        for transition in self.transitions:
            trees += [transition.guard, *(branch.test for branch in transition.branches)]
        names: dict[str, None] = {}
        while trees:
            tree = trees.pop()
            if not isinstance(tree, tuple):
                continue
            if tree[0] == "guard":
                names[tree[1]] = None
            elif tree[0] in ("and", "or", "not"):
                trees += tree[1:]
        return tuple(name for name in names if name not in self.guards)

    def calls(self) -> Iterator[Call]:
        """Every call the machine can make, in the order of its tables; inline machines are not included."""
        for state in self.states:
            yield from (*state.on_enter, *state.on_exit, *state.on_activity)
        for transition in self.transitions:
            if transition.selector:
                yield transition.selector

    # --- identity, binding and JSON

    def _key(self) -> tuple[object, ...]:
        return (
            *(self.id, self.version, self.digest, self.ttl, self._states, self._transitions, self._events),
            *(self._context, self._guards, self._binds, self._docs, self.inline),
        )

    def __eq__(self, other: object) -> bool:
        # `repr` tells 1 from True and 1.0, which `==` on tuples does not
        if not isinstance(other, Definition):
            return NotImplemented
        return self.digest == other.digest and repr(self._key()) == repr(other._key())

    def __hash__(self) -> int:
        return hash((self.id, self.version, self.digest))

    def __repr__(self) -> str:
        return f"Definition(id={self.id!r}, version={self.version}, digest={self.digest[:12]!r}…)"

    def bound(
        self,
        actions: Mapping[str, Callable[..., Any]] | None = None,
        predicates: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Definition:
        """The same machine with handlers bound over those it has, inline machines included."""
        return self._rebuilt(
            actions={**self.actions, **(actions or {})},
            predicates={**self.predicates, **(predicates or {})},
            inline=tuple(machine.bound(actions, predicates) for machine in self.inline),
        )

    def _rebuilt(self, **changes: Any) -> Definition:
        parts: dict[str, Any] = {
            **{name: getattr(self, name) for name in ("id", "version", "digest", "ttl", "inline")},
            **{name: getattr(self, name) for name in ("actions", "predicates", "sources")},
            **{name: getattr(self, f"_{name}") for name in TABLES},
        }
        return Definition(**{**parts, **changes})

    def to_data(self) -> dict[str, Any]:
        """The definition as JSON data: identity and tables, neither handlers nor sources."""
        tables = {name: getattr(self, f"_{name}") for name in TABLES}
        return {
            "format": TABLES_FORMAT, "id": self.id, "version": self.version, "digest": self.digest,
            "ttl": self.ttl, **tables, "inline": [machine.to_data() for machine in self.inline],
        }

    def to_json(self) -> str:
        """The definition as JSON text; `from_json` reads it back to an equal definition."""
        return json.dumps(self.to_data(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Definition:
        """The definition of `to_json`'s text.

        Raises:
            DslError: the tables are of a newer format than this runtime knows.
        """
        return cls.from_data(json.loads(text))

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Definition:
        """The definition of `to_data`'s value; errors as of `from_json`."""
        check_format(data["format"], f"the stored definition of {data['id']!r}")
        tables = {name: _tuples(data[name]) for name in TABLES}
        inline = tuple(cls.from_data(machine) for machine in data["inline"])
        return cls(
            id=data["id"], version=data["version"], digest=data["digest"], ttl=data["ttl"], inline=inline, **tables
        )


def with_inline(definitions: Iterable[Definition]) -> Iterator[Definition]:
    """Each definition, followed by the machines written inside it, at every depth."""
    for definition in definitions:
        yield definition
        yield from with_inline(definition.inline)


TABLES = ("states", "transitions", "events", "context", "guards", "binds", "docs")
"""The names of the tables, as attributes and in JSON, in the order in which they are written."""


def check_format(tables_format: int, what: str) -> None:
    """Refuse tables of a newer format (build.md section 3).

    Raises:
        DslError: the format is not this runtime's; the message says what to install.
    """
    if tables_format != TABLES_FORMAT:
        newer = tables_format > TABLES_FORMAT
        remedy = "install a newer harel-runtime" if newer else "rebuild it with the harelc of this release"
        raise DslError(
            f"{what} has tables of format {tables_format}, and harel-runtime {VERSION} reads format {TABLES_FORMAT}: "
            f"{remedy}"
        )


def _tuples(value: Any) -> Any:
    """JSON lists as tuples, at every depth."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _padded(row: Row, kind: Any) -> tuple[Any, ...]:
    """The row with the defaults of the fields it leaves out."""
    missing = kind._fields[len(row) :]
    return (*row, *(kind._field_defaults[name] for name in missing))


def _expr(tree: Any) -> Expr:
    return tuple(tree)


def _read_calls(rows: tuple[Any, ...]) -> tuple[Call, ...]:
    return tuple(Call._make(_padded(row, Call)) for row in rows)


def _read_sets(rows: tuple[Any, ...]) -> tuple[Assign, ...]:
    return tuple(Assign._make(row) for row in rows)


def _read_fields(rows: tuple[Any, ...]) -> tuple[Field, ...]:
    return tuple(Field._make(_padded(row, Field)) for row in rows)


def _read_state(row: Row) -> State:
    state = State._make(_padded(row, State))
    return state._replace(
        on_enter=_read_calls(state.on_enter),
        on_exit=_read_calls(state.on_exit),
        on_activity=_read_calls(state.on_activity),
        invoke=Invoke._make(_padded(state.invoke, Invoke)) if state.invoke else None,
    )


def _read_branch(row: Row) -> Branch:
    branch = Branch._make(_padded(row, Branch))
    return branch._replace(sets=_read_sets(branch.sets))


def _read_transition(row: Row) -> Transition:
    transition = Transition._make(_padded(row, Transition))
    selector = transition.selector
    return transition._replace(
        branches=tuple(map(_read_branch, transition.branches)),
        sets=_read_sets(transition.sets),
        selector=Call._make(_padded(selector, Call)) if selector else None,
    )
