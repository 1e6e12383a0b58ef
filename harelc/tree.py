"""The syntax tree of one `.stm` file: frozen nodes with spans (language.md sections 1 to 4).

`syntax.py` makes it, `imports.py` joins the trees of several files, `fragments.py` replaces each `use` by the state it
stands for, `resolve.py` looks names up. A node says what was written, not whether it is right. Names are decoded
(quoted and bare are equal); numbers of durations and versions stay as written, so that a check can judge them.
"""

from __future__ import annotations

from typing import NamedTuple

from .records import Record


class Span(NamedTuple):
    """Where something stands: the file as it was asked for, and code point offsets in its decoded text, end
    exclusive.
    """

    file: str
    start: int
    end: int


class Name(Record):
    """A name, decoded: whether it was written in quotes plays no part."""

    text: str
    span: Span


class Path(Record):
    """`A.B`: the first part is looked up from the body outwards, the rest steps down.

    `hops` is how many bodies further out the look-up begins: 0 as written; more where a fragment's `state` argument
    was put in, for arguments are looked up where the fragment is used.
    """

    parts: tuple[Name, ...]
    span: Span
    hops: int = 0

    def __str__(self) -> str:
        return ".".join(part.text for part in self.parts)


class Dotted(Record):
    """A dotted identifier such as `shop.payments.charge` or `ns.Retry`; one part where there is no dot."""

    text: str
    span: Span

    @property
    def is_dotted(self) -> bool:
        return "." in self.text


# --- values and predicates


class Literal(Record):
    """A JSON value: str, int, float, bool, None; a list is a tuple of such values."""

    value: object
    span: Span


class Ref(Record):
    """A reference. `scope` is `event`, `context`, or "" for a bare name: on the left of a comparison an event
    field, as a value possibly a fragment's `value` parameter, in `with` and `for … in` a context key or the
    fan-out's item."""

    scope: str
    name: Name
    span: Span


Operand = Literal | Ref


class Compare(Record):
    """`left op right` with op one of == != < <= > >= in."""

    left: Ref
    op: str
    right: Operand
    span: Span


class GuardRef(Record):
    """A bare name where a predicate is expected: a named guard, or a fragment's `guard` parameter. It is looked up
    in the scope of the file that its span names."""

    name: Name
    span: Span


class Not(Record):
    term: Predicate
    span: Span


class And(Record):
    terms: tuple[Predicate, ...]
    span: Span


class Or(Record):
    terms: tuple[Predicate, ...]
    span: Span


Predicate = Compare | GuardRef | Not | And | Or


# --- actions and assignments


class Input(Record):
    """`name: value` of an action; the value is a literal, or a bare `Ref` to a fragment's `value` parameter."""

    name: Name
    value: Operand
    span: Span


class Action(Record):
    """A handler name or dotted path with inputs; its span's file is the scope in which `bind` is looked up."""

    name: Dotted
    inputs: tuple[Input, ...]
    span: Span


class Assign(Record):
    """`context.key = left [op right]`."""

    key: Name
    left: Operand
    op: str | None
    right: Operand | None
    span: Span


# --- transitions


class Branch(Record):
    """`when P to T set …`, `"label" to T set …`, `else to T set …`, the target of `to` or of a join.

    `test` is a predicate (choose), a label as `Name` (select), `None` for `to`, the join's own target and every `else`.
    `span` begins at `when`, the label or `else`; for `to` and the join's own target it is the target's. `sets` are the
    branch's own: those of `to` stand in the transition, those behind a join's own target here.
    """

    target: Path
    test: Predicate | Name | None
    sets: tuple[Assign, ...]
    span: Span
    is_else: bool = False


class Transition(Record):
    """`from SOURCE …`. `form` is to, choose, select, join_all or join_any; no `kinds`: automatic.

    `branches` holds one for `to`; the join's own target first, then its `else`; each branch of choose and select in
    order.
    """

    source: Name
    form: str
    kinds: tuple[Name, ...]
    where: Predicate | None
    sets: tuple[Assign, ...]
    branches: tuple[Branch, ...]
    span: Span
    where_span: Span | None = None
    selector: Action | None = None
    returns: tuple[Name, ...] = ()
    doc: str = ""


# --- statements of a body


class State(Record):
    """`state`, `orthogonal` or `final` (`keyword`) with its body; `verdict` is the outcome of `final X verdict`."""

    keyword: str
    name: Name
    body: tuple[Statement, ...]
    span: Span
    verdict: Name | None = None
    doc: str = ""


class Initial(Record):
    target: Path
    span: Span


class Hook(Record):
    """`on enter|exit|activity ACTION` (`when`)."""

    when: str
    action: Action
    span: Span


class Timeout(Record):
    """`timeout 15m` (`raw`), `timeout context key` (`key`), or a fragment's value parameter (`parameter`).

    `value` is the literal that replaced a parameter. `raw` is the number as written, unit and sign included.
    """

    span: Span
    raw: str | None = None
    key: Name | None = None
    parameter: Name | None = None
    value: Literal | None = None


class Ttl(Record):
    """`ttl 30d`; fields as of `Timeout`."""

    span: Span
    raw: str | None = None
    parameter: Name | None = None
    value: Literal | None = None


class Outcome(Record):
    name: Name
    span: Span


class Carry(Record):
    names: tuple[Name, ...]
    span: Span


class Defer(Record):
    kinds: tuple[Name, ...]
    span: Span


class NoHistory(Record):
    span: Span


class CancelOnFailure(Record):
    span: Span


class FieldDecl(Record):
    """A field of an event, or a key of the context with its default. `type` is string, int, float, bool or any."""

    name: Name
    type: str
    optional: bool
    span: Span
    default: Literal | None = None


class Context(Record):
    fields: tuple[FieldDecl, ...]
    span: Span


class Invoke(Record):
    """`invoke NAME`, or `invoke { body }`, with `for item in items`; `items` is a bare or `context.` reference."""

    machine: Dotted | None
    body: tuple[Statement, ...] | None
    item: Name | None
    items: Ref | None
    span: Span


class WithEntry(Record):
    child: Name
    value: Operand
    span: Span


class With(Record):
    entries: tuple[WithEntry, ...]
    span: Span


class Argument(Record):
    """`name = value` of a `use`: a parenthesised predicate, a literal, or an `Action` (a bare or dotted name, with
    inputs).

    What a bare or plainly dotted name means (action, guard, state, value, event) is decided by the parameter's
    kind, and so is what a quoted text without dots means, which is a `Literal` here. A dotted path with a quoted
    part is a `Path`.
    """

    name: Name
    value: Predicate | Literal | Action | Path
    span: Span


class Use(Record):
    """`use ns.Retry(…) as Charging`; `name` is the fragment's own name where `as` is left out."""

    fragment: Dotted
    arguments: tuple[Argument, ...]
    name: Name
    span: Span
    doc: str = ""


Statement = (
    State
    | Initial
    | Hook
    | Timeout
    | Ttl
    | Outcome
    | Carry
    | Defer
    | NoHistory
    | CancelOnFailure
    | Context
    | Invoke
    | With
    | Use
    | Transition
)


# --- top level


class Import(Record):
    path: Name
    alias: Name | None
    span: Span


class Event(Record):
    name: Name
    fields: tuple[FieldDecl, ...]
    span: Span
    doc: str = ""


class Guard(Record):
    name: Name
    predicate: Predicate
    span: Span
    doc: str = ""


class BindEntry(Record):
    name: Name
    target: Dotted
    span: Span


class Bind(Record):
    entries: tuple[BindEntry, ...]
    span: Span


class Machine(Record):
    """`version` is the number as written, `version_span` its place. `broken`: a syntax error inside was skipped."""

    name: Name
    version: str | None
    body: tuple[Statement, ...]
    span: Span
    version_span: Span | None = None
    doc: str = ""
    broken: bool = False


class Parameter(Record):
    """`kind` as written: action, guard, state, value or event where it is right."""

    name: Name
    kind: Name
    span: Span


class Fragment(Record):
    name: Name
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    span: Span
    doc: str = ""
    broken: bool = False


Item = Import | Event | Guard | Bind | Machine | Fragment


class File(Record):
    """One parsed file. `broken`: a syntax error spoiled something outside machines and fragments."""

    name: str
    items: tuple[Item, ...]
    broken: bool = False
