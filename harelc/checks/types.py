"""Rules about the fields and keys a machine reads and writes, and their declared types (language.md sections 4 and 6).

What stands inside a named guard is reported at the `where` or `when` that uses the guard, once per use (edges.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import tree
from ..diagnostics import ERROR, WARNING
from ..model import TransitionModel
from ..records import Record
from ..spelling import did_you_mean
from ..walk import tests
from .facts import Facts, FileFacts, context_refs, event_refs
from .registry import Fault, rule
from .values import (
    UNKNOWN,
    Type,
    can_be_equal,
    computed,
    declared,
    fits,
    is_no_number,
    of_literal,
    spoken,
    why_no_order,
)
from .walk import assigns, file_bodies, predicates

_ORDER = frozenset({"<", "<=", ">", ">="})


class Reading(Record):
    """A comparison that a transition makes. `place` is where to report it if it stands in a named guard."""

    transition: TransitionModel
    compare: tree.Compare
    place: tree.Span | None
    notes: tuple[tuple[tree.Span, str], ...]

    def fault(self, span: tree.Span, message: str, hint: str | None = None) -> Fault:
        """A fault at `span`, or at the use of the guard with a note at `span`."""
        if self.place is None:
            return Fault(span, message, hint, self.notes)
        return Fault(self.place, message, hint, ((span, "it stands in this guard"), *self.notes))


def _readings(facts: Facts) -> Iterator[Reading]:
    for transition in facts.machine.transitions:
        notes = facts.notes(transition.home)
        for predicate, place in predicates(transition.node):
            for test in tests(predicate):
                if isinstance(test, tree.Compare):
                    yield Reading(transition, test, None, notes)
                    continue
                guard = facts.guard(test)
                for compare in facts.guard_tests(guard) if guard is not None else ():
                    yield Reading(transition, compare, place, notes)


def _assigned(facts: Facts) -> Iterator[tuple[TransitionModel, tree.Assign, tuple[tuple[tree.Span, str], ...]]]:
    for transition in facts.machine.transitions:
        for assign in assigns(transition.node):
            yield transition, assign, facts.notes(transition.home)


def _operands(assign: tree.Assign) -> Iterator[tree.Operand]:
    yield assign.left
    if assign.right is not None:
        yield assign.right


@rule("unknown_event_field", ERROR)
def unknown_event_field(facts: Facts) -> Iterator[Fault]:
    """A transition reads a field that none of its events declares (language 6).

    `Timeout` and `Expired` carry no fields, `Cancel` carries `reason`, `error` carries `type`, `message` and `child`,
    `Returned` may carry anything. A comparison with a field that never comes is always false, so this is a slip.

    Wrong:

        event Paid { amount: int }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid where ammount > 0
        }

    Right:

        event Paid { amount: int }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid where amount > 0
        }
    """
    for reading in _readings(facts):
        for ref in event_refs(reading.compare):
            wrong = _no_such_field(facts, reading.transition.kinds, ref.name.text)
            if wrong is not None:
                yield reading.fault(ref.span, *wrong)
    for transition, assign, notes in _assigned(facts):
        for operand in _operands(assign):
            if isinstance(operand, tree.Ref) and operand.scope == "event":
                wrong = _no_such_field(facts, transition.kinds, operand.name.text)
                if wrong is not None:
                    yield Fault(operand.span, *wrong, notes)


def _no_such_field(facts: Facts, kinds: tuple[str, ...], name: str) -> tuple[str, str | None] | None:
    """Message and hint, if no kind has the field."""
    if not kinds or facts.field_type(kinds, name) is not None:
        return None
    whose = f"`{kinds[0]}` has no field" if len(kinds) == 1 else f"none of {_listed(kinds)} has a field"
    known = [
        field.name.text for kind in kinds if kind in facts.machine.events for field in facts.machine.events[kind].fields
    ]
    return f"{whose} `{name}`", did_you_mean(name, known)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


@rule("event_ref_without_event", ERROR)
def event_ref_without_event(facts: Facts) -> Iterator[Fault]:
    """An automatic transition reads an event (language 6).

    An automatic transition has no `on`: it is taken when its state is done, and there is no event to read. Keep what
    you need in the context with `set` on the transition that has the event.

    Wrong:

        event Paid { amount: int }
        machine order {
          initial Cart
          state Cart {}
          state Checking {}
          final Done success {}
          final Refused failed {}
          from Cart to Checking on Paid
          from Checking choose { when event.amount > 0 to Done  else to Refused }
        }

    Right:

        event Paid { amount: int }
        machine order {
          context { amount: int = 0 }
          initial Cart
          state Cart {}
          state Checking {}
          final Done success {}
          final Refused failed {}
          from Cart to Checking on Paid set context.amount = event.amount
          from Checking choose { when context.amount > 0 to Done  else to Refused }
        }
    """
    hint = "an automatic transition reads `context.…` only; keep the value there with `set` while the event is at hand"
    for reading in _readings(facts):
        if reading.transition.is_automatic:
            for ref in event_refs(reading.compare):
                yield reading.fault(ref.span, f"there is no event here whose `{ref.name.text}` could be read", hint)
    for transition, assign, notes in _assigned(facts):
        if transition.is_automatic:
            for operand in _operands(assign):
                if isinstance(operand, tree.Ref) and operand.scope == "event":
                    message = f"there is no event here whose `{operand.name.text}` could be read"
                    yield Fault(operand.span, message, hint, notes)


@rule("unknown_context_field", ERROR)
def unknown_context_field(facts: Facts) -> Iterator[Fault]:
    """A context key is used that the machine's `context` does not declare (language 6).

    With a `context` block its keys are all there are. In a region the keys that the `with` of the orthogonal states
    around it passes are known too. Without a block any key may be used.

    Wrong:

        event Paid {}
        machine order {
          context { retries: int = 0 }
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid where context.retrys < 3
        }

    Right:

        event Paid {}
        machine order {
          context { retries: int = 0 }
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid where context.retries < 3
        }
    """
    if facts.schema is None:
        return
    for reading in _readings(facts):
        for ref in context_refs(reading.compare):
            if not facts.is_known_key(reading.transition.source, ref.name.text):
                yield reading.fault(ref.span, *_no_such_key(facts, reading.transition.source, ref.name.text))
    for transition, assign, notes in _assigned(facts):
        keys = [assign.key]
        keys += [o.name for o in _operands(assign) if isinstance(o, tree.Ref) and o.scope == "context"]
        for key in keys:
            if not facts.is_known_key(transition.source, key.text):
                yield Fault(key.span, *_no_such_key(facts, transition.source, key.text), notes)
    for state in facts.states:
        for part in state.body:
            used: tree.Name | None = None
            if isinstance(part, tree.Timeout):
                used = part.key
            elif isinstance(part, tree.Invoke) and part.items is not None and part.items.scope != "event":
                used = part.items.name
            if used is not None and not facts.is_known_key(state.index, used.text):
                yield Fault(used.span, *_no_such_key(facts, state.index, used.text), facts.notes(state.index))


def _no_such_key(facts: Facts, index: int, key: str) -> tuple[str, str]:
    """Message and hint."""
    known = [*(facts.schema or {}), *facts.passed[facts.root[index]]]
    near = did_you_mean(key, known)
    return f"`{facts.machine.id}` declares no context key `{key}`", near or f"add `{key}` to its `context`"


def _type_of(facts: Facts, transition: TransitionModel, operand: tree.Operand) -> Type:
    """What is known of an operand; nothing where a name has its own finding."""
    if isinstance(operand, tree.Literal):
        return of_literal(operand.value)
    if operand.scope == "context":
        return facts.key_type(transition.source, operand.name.text)
    if not transition.kinds:
        return UNKNOWN
    return facts.field_type(transition.kinds, operand.name.text) or UNKNOWN


@rule("op_type_mismatch", ERROR)
def op_type_mismatch(facts: Facts) -> Iterator[Fault]:
    """Values are ordered that have no order (language 4, 6).

    `< <= > >=` compare two numbers or two strings. Between a string and a number, or on a bool, they never hold.
    Fields of type `any` are not checked.

    Wrong:

        event Paid { ok: bool }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid where ok > false
        }

    Right:

        event Paid { ok: bool }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid where ok == true
        }
    """
    for reading in _readings(facts):
        compare = reading.compare
        if compare.op in _ORDER:
            left = _type_of(facts, reading.transition, compare.left)
            right = _type_of(facts, reading.transition, compare.right)
            why = why_no_order(left, right)
            if why is not None:
                hint = (
                    "compare with `==` or `!=`"
                    if "bool" in (left.name, right.name)
                    else "compare numbers, or text with text"
                )
                yield reading.fault(compare.span, f"`{compare.op}` never holds here: {why}", hint)


@rule("compare_type_mismatch", WARNING)
def compare_type_mismatch(facts: Facts) -> Iterator[Fault]:
    """Values are compared that are never equal (language 4, 6).

    A string never equals a number, and `true` is not 1. So `==` and `in` are always false here, and `!=` says no more
    than that the field is there.

    Wrong:

        event Paid { status: string }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid where status == 3
        }

    Right:

        event Paid { status: string }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid where status == "3"
        }
    """
    for reading in _readings(facts):
        compare = reading.compare
        left = _type_of(facts, reading.transition, compare.left)
        if compare.op == "in":
            why = _why_never_in(facts, reading, left)
        elif compare.op in ("==", "!="):
            right = _type_of(facts, reading.transition, compare.right)
            why = None if can_be_equal(left, right) else f"{spoken(left)} never equals {spoken(right)}"
        else:
            why = None
        if why is not None:
            always = "true where the field is there" if compare.op == "!=" else "false"
            yield reading.fault(compare.span, f"this is always {always}: {why}", "compare values of one type")


def _why_never_in(facts: Facts, reading: Reading, left: Type) -> str | None:
    right = reading.compare.right
    if isinstance(right, tree.Literal) and isinstance(right.value, tuple):
        members = [of_literal(member) for member in right.value]
        if members and not any(can_be_equal(left, member) for member in members):
            return f"{spoken(left)} equals none of the members"
        return None
    known = _type_of(facts, reading.transition, right)
    return f"{spoken(known)} is no list" if known.is_known and known.name != "list" else None


@rule("assign_type_mismatch", ERROR)
def assign_type_mismatch(facts: Facts) -> Iterator[Fault]:
    """A `set` breaks the declared type of a key (language 4, 6).

    An int fits a float, not the other way round; `/` gives a float; `+ - * /` work on numbers only, and a bool is none.

    Wrong:

        event Paid {}
        machine order {
          context { half: int = 0  total: int = 4 }
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid set context.half = context.total / 2
        }

    Right:

        event Paid {}
        machine order {
          context { half: float = 0.0  total: int = 4 }
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid set context.half = context.total / 2
        }
    """
    for transition, assign, notes in _assigned(facts):
        left = _type_of(facts, transition, assign.left)
        value = left
        if assign.op is not None and assign.right is not None:
            right = _type_of(facts, transition, assign.right)
            wrong = [(o, t) for o, t in ((assign.left, left), (assign.right, right)) if is_no_number(t)]
            for operand, type_ in wrong:
                hint = "`+ - * /` work on numbers only"
                yield Fault(operand.span, f"`{assign.op}` cannot be used on {spoken(type_)}", hint, notes)
            if wrong:
                continue
            value = computed(assign.op, left, right)
        field = (facts.schema or {}).get(assign.key.text)
        if field is not None and not fits(value, declared(field)):
            advice = "set a value of the declared type"
            if assign.op == "/":
                advice = "`/` gives a float; declare the key as float"
            reason = f"`{assign.key.text}` is declared as {_declared(field)}, and this is {spoken(value)}"
            yield Fault(assign.left.span, reason, advice, notes)


def _declared(field: tree.FieldDecl) -> str:
    return f"{field.type}{'?' if field.optional else ''}"


@rule("default_type_mismatch", ERROR)
def default_type_mismatch(source: FileFacts) -> Iterator[Fault]:
    """A default is not of the declared type (language 3, 6).

    A bool is no int, an int fits a float, and `null` needs an optional type.

    Wrong:

        event Paid {}
        machine order {
          context { retries: int = "none" }
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid
        }

    Right:

        event Paid {}
        machine order {
          context { retries: int = 0 }
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid
        }
    """
    for _, body in file_bodies(source.file):
        for part in body:
            for field in part.fields if isinstance(part, tree.Context) else ():
                if field.default is not None and not fits(of_literal(field.default.value), declared(field)):
                    got = spoken(of_literal(field.default.value))
                    message = (
                        f"the default of `{field.name.text}` is {got}, and the key is declared as {_declared(field)}"
                    )
                    yield Fault(field.default.span, message, "write a default of the declared type")


FILE_RULES = (default_type_mismatch,)
MACHINE_RULES = (
    unknown_event_field,
    event_ref_without_event,
    unknown_context_field,
    op_type_mismatch,
    compare_type_mismatch,
    assign_type_mismatch,
)
