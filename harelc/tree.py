"""The syntax tree of one `.stm` file: frozen nodes with spans (language.md sections 1 to 4).

`syntax.py` makes it, `imports.py` joins the trees of several files, `fragments.py` replaces each `use` by the state it
stands for, `resolve.py` looks names up. A node says what was written, not whether it is right. Names are decoded
(quoted and bare are equal); numbers of durations and versions stay as written, so that a check can judge them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Span(NamedTuple):
    """Where something stands: the file as it was asked for, and code point offsets in its decoded text, end
    exclusive.
    """

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name, decoded. `quoted` tells how it was written; it plays no part in equality."""

    text: str
    span: Span
    quoted: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Path:
    """`A.B`: the first part is looked up from the body outwards, the rest steps down.

    `hops` is how many bodies further out the look-up begins: 0 as written; more where a fragment's `state` argument
    was put in, for arguments are looked up where the fragment is used.
    """

    parts: tuple[Name, ...]
    span: Span
    hops: int = 0

    def __str__(self) -> str:
        return ".".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Dotted:
    """A dotted identifier such as `shop.payments.charge` or `ns.Retry`; one part where there is no dot."""

    text: str
    span: Span

    @property
    def is_dotted(self) -> bool:
        return "." in self.text


# --- values and predicates


@dataclass(frozen=True, slots=True)
class Literal:
    """A JSON value: str, int, float, bool, None; a list is a tuple of such values."""

    value: object
    span: Span


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference. `scope` is `event`, `context`, or "" for a bare name: on the left of a comparison an event
    field, as a value possibly a fragment's `value` parameter, in `with` and `for … in` a context key or the
    fan-out's item."""

    scope: str
    name: Name
    span: Span


Operand = Literal | Ref


@dataclass(frozen=True, slots=True)
class Compare:
    """`left op right` with op one of == != < <= > >= in."""

    left: Ref
    op: str
    right: Operand
    span: Span


@dataclass(frozen=True, slots=True)
class GuardRef:
    """A bare name where a predicate is expected: a named guard, or a fragment's `guard` parameter. It is looked up
    in the scope of the file that its span names."""

    name: Name
    span: Span


@dataclass(frozen=True, slots=True)
class Not:
    term: Predicate
    span: Span


@dataclass(frozen=True, slots=True)
class And:
    terms: tuple[Predicate, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Or:
    terms: tuple[Predicate, ...]
    span: Span


Predicate = Compare | GuardRef | Not | And | Or


# --- actions and assignments


@dataclass(frozen=True, slots=True)
class Input:
    """`name: value` of an action; the value is a literal, or a bare `Ref` to a fragment's `value` parameter."""

    name: Name
    value: Operand
    span: Span


@dataclass(frozen=True, slots=True)
class Action:
    """A handler name or dotted path with inputs; its span's file is the scope in which `bind` is looked up."""

    name: Dotted
    inputs: tuple[Input, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Assign:
    """`context.key = left [op right]`."""

    key: Name
    left: Operand
    op: str | None
    right: Operand | None
    span: Span


# --- transitions


@dataclass(frozen=True, slots=True)
class Branch:
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


@dataclass(frozen=True, slots=True)
class Transition:
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


@dataclass(frozen=True, slots=True)
class State:
    """`state`, `orthogonal` or `final` (`keyword`) with its body; `verdict` is the outcome of `final X verdict`."""

    keyword: str
    name: Name
    body: tuple[Statement, ...]
    span: Span
    verdict: Name | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Initial:
    target: Path
    span: Span


@dataclass(frozen=True, slots=True)
class Hook:
    """`on enter|exit|activity ACTION` (`when`)."""

    when: str
    action: Action
    span: Span


@dataclass(frozen=True, slots=True)
class Timeout:
    """`timeout 15m` (`raw`), `timeout context key` (`key`), or a fragment's value parameter (`parameter`).

    `value` is the literal that replaced a parameter. `raw` is the number as written, unit and sign included.
    """

    span: Span
    raw: str | None = None
    key: Name | None = None
    parameter: Name | None = None
    value: Literal | None = None


@dataclass(frozen=True, slots=True)
class Ttl:
    """`ttl 30d`; fields as of `Timeout`."""

    span: Span
    raw: str | None = None
    parameter: Name | None = None
    value: Literal | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    name: Name
    span: Span


@dataclass(frozen=True, slots=True)
class Carry:
    names: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Defer:
    kinds: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class NoHistory:
    span: Span


@dataclass(frozen=True, slots=True)
class CancelOnFailure:
    span: Span


@dataclass(frozen=True, slots=True)
class FieldDecl:
    """A field of an event, or a key of the context with its default. `type` is string, int, float, bool or any."""

    name: Name
    type: str
    optional: bool
    span: Span
    type_span: Span
    default: Literal | None = None


@dataclass(frozen=True, slots=True)
class Context:
    fields: tuple[FieldDecl, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Invoke:
    """`invoke NAME`, or `invoke { body }`, with `for item in items`; `items` is a bare or `context.` reference."""

    machine: Dotted | None
    body: tuple[Statement, ...] | None
    item: Name | None
    items: Ref | None
    span: Span


@dataclass(frozen=True, slots=True)
class WithEntry:
    child: Name
    value: Operand
    span: Span


@dataclass(frozen=True, slots=True)
class With:
    entries: tuple[WithEntry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Argument:
    """`name = value` of a `use`: a parenthesised predicate, a literal, or an `Action` (a bare or dotted name, with
    inputs).

    What a bare or plainly dotted name means (action, guard, state, value, event) is decided by the parameter's
    kind, and so is what a quoted text without dots means, which is a `Literal` here. A dotted path with a quoted
    part is a `Path`.
    """

    name: Name
    value: Predicate | Literal | Action | Path
    span: Span


@dataclass(frozen=True, slots=True)
class Use:
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


@dataclass(frozen=True, slots=True)
class Import:
    path: Name
    alias: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class Event:
    name: Name
    fields: tuple[FieldDecl, ...]
    span: Span
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    name: Name
    predicate: Predicate
    span: Span
    doc: str = ""


@dataclass(frozen=True, slots=True)
class BindEntry:
    name: Name
    target: Dotted
    span: Span


@dataclass(frozen=True, slots=True)
class Bind:
    entries: tuple[BindEntry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Machine:
    """`version` is the number as written, `version_span` its place. `broken`: a syntax error inside was skipped."""

    name: Name
    version: str | None
    body: tuple[Statement, ...]
    span: Span
    version_span: Span | None = None
    doc: str = ""
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`kind` as written: action, guard, state, value or event where it is right."""

    name: Name
    kind: Name
    span: Span


@dataclass(frozen=True, slots=True)
class Fragment:
    name: Name
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    span: Span
    doc: str = ""
    broken: bool = False


Item = Import | Event | Guard | Bind | Machine | Fragment


@dataclass(frozen=True, slots=True)
class File:
    """One parsed file. `broken`: a syntax error spoiled something outside machines and fragments."""

    name: str
    items: tuple[Item, ...]
    broken: bool = False
