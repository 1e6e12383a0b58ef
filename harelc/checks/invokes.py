"""Rules about invoked machines and what is passed to children (language.md section 5.8, edges.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import tree
from ..diagnostics import ERROR, WARNING
from ..model import InvokeModel, MachineModel
from ..spelling import did_you_mean
from .decide import Reader, Some, always_holds, given, types_at
from .facts import Facts, FileFacts
from .registry import Fault, rule
from .walk import bodies

Key = tuple[str, str]
"""A machine's file and id."""


@rule("invoke_automatic_exit", ERROR)
def invoke_automatic_exit(facts: Facts) -> Iterator[Fault]:
    """A state that invokes one machine is left by a transition without an event (language 5.8).

    The state waits until the machine has ended, and then gets `Returned`. An automatic transition would not know how it
    ended. Write `on Returned`. (A fan-out is left automatically or by a `join`.)

    Wrong:

        machine order {
          initial Paying
          state Paying { invoke payment }
          final Done success {}
          from Paying to Done
        }
        machine payment {
          initial Paid
          final Paid success {}
        }

    Right:

        machine order {
          initial Paying
          state Paying { invoke payment }
          final Done success {}
          from Paying to Done on Returned
        }
        machine payment {
          initial Paid
          final Paid success {}
        }
    """
    for transition in facts.machine.transitions:
        is_join = transition.node.form in ("join_all", "join_any")
        is_leaf = facts.states[transition.source].kind == "leaf"  # for others the `invoke` itself is the mistake
        if transition.is_automatic and not is_join and is_leaf and facts.is_single_invoke(transition.source):
            message = f"`{facts.label(transition.source)}` waits for a machine, and this transition has no event"
            yield Fault(transition.node.source.span, message, "add `on Returned`", facts.notes(transition.home))


@rule("invoke_cycle", ERROR)
def invoke_cycle(source: FileFacts) -> Iterator[Fault]:
    """A machine's start invokes the machine itself (language 6).

    Before any event or timer, starting it starts another one of it, and so on without end. Let an event stand between
    the start and the `invoke`.

    Wrong:

        machine order {
          initial Again
          state Again { invoke order }
          final Done success {}
          from Again to Done on Returned
        }

    Right:

        event More {}
        event Close {}
        machine order {
          initial Open
          state Open {}
          state Again { invoke order }
          final Done success {}
          from Open to Again on More
          from Open to Done on Close
          from Again to Done on Returned
        }
    """
    machines: dict[Key, Facts] = {}
    for facts in source.machines:
        machines.setdefault((facts.machine.file, facts.machine.id), facts)
    starts = {key: tuple(_started(facts)) for key, facts in machines.items()}
    for me, facts in machines.items():
        if isinstance(facts.machine.node, tree.Machine):
            for index, key, invoke in starts[me]:
                if _leads_back(me, key, starts):
                    notes = facts.notes(index)
                    message = (
                        f"starting `{facts.machine.id}` invokes `{facts.machine.id}` again before anything else happens"
                    )
                    yield Fault(invoke.span, message, "let an event or a timer stand before the `invoke`", notes)


def _started(facts: Facts) -> Iterator[tuple[int, Key, tree.Invoke]]:
    """The machines that starting this one surely starts: the state, the machine and the `invoke`."""
    waiting: list[int | None] = [0]
    seen: set[int] = set()
    while waiting:
        index = waiting.pop()
        while index is not None and facts.entry[index] not in seen:
            index = facts.entry[index]
            seen.add(index)
            state = facts.states[index]
            if state.kind == "orthogonal":
                waiting.extend(state.children)
            elif state.invoke is not None and not facts.is_fan_out(index):
                machine = state.invoke.machine
                if machine is not None:
                    yield index, (machine.file, machine.id), state.invoke.node
            _, index = facts.onward(index)


def _leads_back(me: Key, first: Key, starts: Mapping[Key, tuple[tuple[int, Key, tree.Invoke], ...]]) -> bool:
    waiting, seen = [first], {first}
    while waiting:
        at = waiting.pop()
        if at == me:
            return True
        for _, following, _ in starts.get(at, ()):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return False


@rule("with_unknown_field", ERROR)
def with_unknown_field(facts: Facts) -> Iterator[Fault]:
    """A `with` names a key that the child, or the parent, does not have (language 6).

    On the left stand keys of the invoked machine's `context`, on the right keys of the parent's (or the item of a
    fan-out). A machine without a `context` block takes any key.

    Wrong:

        machine order {
          context { total: int = 0 }
          initial Paying
          state Paying { invoke payment with { amuont: total } }
          final Done success {}
          from Paying to Done on Returned
        }
        machine payment {
          context { amount: int = 0 }
          initial Paid
          final Paid success {}
        }

    Right:

        machine order {
          context { total: int = 0 }
          initial Paying
          state Paying { invoke payment with { amount: total } }
          final Done success {}
          from Paying to Done on Returned
        }
        machine payment {
          context { amount: int = 0 }
          initial Paid
          final Paid success {}
        }
    """
    for state in facts.states:
        entries = [entry for part in state.body if isinstance(part, tree.With) for entry in part.entries]
        if not entries:
            continue
        item = state.invoke.node.item if state.invoke is not None else None
        takes = _keys_of_child(state.invoke)
        notes = facts.notes(state.index)
        for entry in entries:
            child, value = entry.child, entry.value
            if takes is not None and child.text not in takes:
                hint = did_you_mean(child.text, takes) or "add it to that machine's `context`"
                yield Fault(child.span, f"the invoked machine declares no context key `{child.text}`", hint, notes)
            if isinstance(value, tree.Literal) or (
                item is not None and not value.scope and value.name.text == item.text
            ):
                continue
            if value.scope == "event":
                hint = "keep the value in the context with `set` on the transition that has the event"
                yield Fault(value.span, "`with` passes values of the context; there is no event here", hint, notes)
            elif not facts.is_known_key(state.index, value.name.text):
                known = [*(facts.schema or {}), *facts.passed[facts.root[state.index]]]
                hint = did_you_mean(value.name.text, known) or f"add it to the `context` of `{facts.machine.id}`"
                message = f"`{facts.machine.id}` declares no context key `{value.name.text}`"
                yield Fault(value.span, message, hint, notes)


def _keys_of_child(invoke: InvokeModel | None) -> frozenset[str] | None:
    """The keys that an invoked machine declares; `None` where any may be passed."""
    if invoke is None or invoke.machine is None or invoke.machine.context is None:
        return None
    return frozenset(field.name.text for field in invoke.machine.context.fields)


@rule("returned_without_invoke", WARNING)
def returned_without_invoke(facts: Facts) -> Iterator[Fault]:
    """A transition is on `Returned` where no single machine is invoked (language 5.8, 6).

    `Returned` comes to a state that invokes one machine, and to those around it. A fan-out and an orthogonal state
    are left by a `join` or automatically.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          final Odd failed {}
          from Cart to Done on Go
          from Cart to Odd on Returned
        }

    Right:

        machine order {
          initial Paying
          state Paying { invoke payment }
          final Done success {}
          from Paying to Done on Returned
        }
        machine payment {
          initial Paid
          final Paid success {}
        }
    """
    if facts.has_lost_transitions:
        return
    waits = facts.inwards_any(state.index for state in facts.states if facts.is_single_invoke(state.index))
    for transition in facts.machine.transitions:
        for kind in transition.node.kinds:
            if kind.text == "Returned" and not waits[transition.source]:
                message = f"`Returned` never comes: `{facts.label(transition.source)}` waits for no invoked machine"
                hint = (
                    "leave a fan-out by a `join`"
                    if facts.is_fan_out(transition.source)
                    else "remove it, or add an `invoke`"
                )
                yield Fault(kind.span, message, hint, facts.notes(transition.home))


@rule("returned_incomplete", WARNING)
def returned_incomplete(source: FileFacts) -> Iterator[Fault]:
    """Some outcome of an invoked machine is taken by no transition (edges, Trees).

    When the machine ends with that outcome its `Returned` is consumed, and the parent rests where it is. The
    transitions on `Returned` of the invoking state and of those around it should cover each outcome that the machine
    declares; a last one without `where` covers the rest.

    Wrong:

        event Pay {}
        event Refuse {}
        machine order {
          initial Paying
          state Paying { invoke payment }
          final Done success {}
          from Paying to Done on Returned where outcome == "success"
        }
        machine payment {
          initial Asking
          state Asking {}
          final Paid success {}
          final Refused refused {}
          from Asking to Paid on Pay
          from Asking to Refused on Refuse
        }

    Right:

        event Pay {}
        event Refuse {}
        machine order {
          initial Paying
          state Paying { invoke payment }
          final Done success {}
          final Dropped cancelled {}
          from Paying to Done on Returned where outcome == "success"
          from Paying to Dropped on Returned
        }
        machine payment {
          initial Asking
          state Asking {}
          final Paid success {}
          final Refused refused {}
          from Asking to Paid on Pay
          from Asking to Refused on Refuse
        }
    """
    models = {(facts.machine.file, facts.machine.id): facts.machine for facts in source.machines}
    for facts in source.machines:
        if facts.has_lost_transitions:
            continue
        for state in facts.states:
            invoke = state.invoke
            has_other_fault = state.kind != "leaf" or any(t.is_automatic for t in facts.own[state.index])
            if invoke is None or invoke.machine is None or facts.is_fan_out(state.index) or has_other_fault:
                continue
            missing = _uncovered(facts, state.index, _outcomes(invoke, models))
            if missing:
                node = state.node
                place = node.name.span if isinstance(node, tree.State) else node.span
                which = ", ".join(f"`{outcome}`" for outcome in missing)
                message = f"no transition of `{facts.label(state.index)}` is taken when its machine ends with {which}"
                hint = f"add `from {state.name} to … on Returned`, here or at a state around it"
                yield Fault(place, message, hint, facts.notes(state.index))


def _outcomes(invoke: InvokeModel, models: Mapping[Key, MachineModel]) -> tuple[str, ...]:
    """The outcomes that the terminals of an invoked machine declare; those of its regions are the regions' own.

    Of a machine in an imported file only those are known that no fragment brings in.
    """
    signature = invoke.machine
    model = invoke.inline if signature is None else models.get((signature.file, signature.id), invoke.inline)
    found: dict[str, None] = {}
    if model is not None:
        facts = Facts(model)
        for state in model.states:
            if facts.root[state.index] == 0:
                verdict = state.node.verdict if isinstance(state.node, tree.State) else None
                found.update(dict.fromkeys(_declared(verdict, state.body)))
    elif signature is not None and isinstance(signature.node, tree.Machine):
        forks: set[tree.Span] = set()
        for owner, body in bodies(signature.node):
            if owner.span in forks or isinstance(owner, tree.Invoke):
                forks |= {part.span for part in body if isinstance(part, (tree.State, tree.Invoke))}
                continue
            if isinstance(owner, tree.State) and owner.keyword == "orthogonal":
                forks |= {part.span for part in body if isinstance(part, tree.State)}
            found.update(dict.fromkeys(_declared(owner.verdict if isinstance(owner, tree.State) else None, body)))
    return tuple(found)


def _declared(verdict: tree.Name | None, body: tuple[tree.Statement, ...]) -> Iterator[str]:
    if verdict is not None:
        yield verdict.text
    yield from (part.name.text for part in body if isinstance(part, tree.Outcome))


def _uncovered(facts: Facts, index: int, outcomes: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the outcomes for which it is not sure that a `Returned` at the state is taken."""
    reader = Reader(facts)
    ways = []
    for level in facts.outwards(index):
        for transition in facts.own[level]:
            if "Returned" in transition.kinds:
                if not facts.understands(transition):
                    return ()
                ways.append(reader.taken(transition))
    some = Some(tuple(ways))
    type_of = types_at(facts, index, "Returned")
    return tuple(o for o in outcomes if not always_holds(given(some, ("event", "outcome"), o), type_of))


FILE_RULES = (invoke_cycle, returned_incomplete)
MACHINE_RULES = (invoke_automatic_exit, with_unknown_field, returned_without_invoke)
