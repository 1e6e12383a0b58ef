"""Rules about how an execution ends: terminals, outcomes, `on Cancel`, `on Expired` (language.md section 5)."""

from __future__ import annotations

from collections.abc import Iterator

from .. import tree
from ..diagnostics import ERROR
from ..model import StateModel
from ..spelling import did_you_mean
from .facts import Facts
from .registry import Fault, rule


@rule("terminal_missing_outcome", ERROR)
def terminal_missing_outcome(facts: Facts) -> Iterator[Fault]:
    """A terminal that ends a machine or a region has no outcome (language 6).

    Whoever waits for the end, a join, a parent or an operator, needs the verdict. Write `final NAME outcome`, or
    `outcome NAME` in the state. A terminal inside a composite that goes on needs none.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          state Done {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }
    """
    if facts.has_lost_transitions:
        return
    for state in facts.states:
        at, node = state.index, state.node
        if not facts.is_second[at] and isinstance(node, tree.State) and _ends_silently(facts, state):
            what = "the machine" if facts.root[at] == 0 else f"the region `{facts.label(facts.root[at])}`"
            message = f"`{facts.label(at)}` ends {what} without an outcome"
            hint = f"write `final {node.name.text} success`, or add a transition that leads on"
            if facts.is_fork(at):
                hint = f"add `from {node.name.text} join all to … else to …`"
            yield Fault(node.name.span, message, hint, facts.notes(at))


@rule("outcome_on_nonterminal", ERROR)
def outcome_on_nonterminal(facts: Facts) -> Iterator[Fault]:
    """A state that goes on has an outcome, or is called `final` (language 6).

    The outcome is the verdict of a terminal; a state with transitions of its own, or that waits for an invoked
    machine, is none. Remove the outcome, or the transitions.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart { outcome success }
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }
    """
    for state in facts.states:
        node = state.node
        goes_on = bool(facts.own[state.index]) or facts.is_single_invoke(state.index)
        if state.kind != "leaf" or not goes_on or not isinstance(node, tree.State):
            continue
        places = [part.span for part in state.body if isinstance(part, tree.Outcome)]
        if node.keyword == "final":
            places = [node.name.span]
        for place in places:
            first = next(iter(facts.own[state.index]), None)
            notes = () if first is None else ((first.node.source.span, "it goes on here"),)
            message = f"`{facts.label(state.index)}` is no terminal: it goes on"
            yield Fault(place, message, "remove the outcome, or what leads on", (*notes, *facts.notes(state.index)))


@rule("cancel_target_not_terminal", ERROR)
def cancel_target_not_terminal(facts: Facts) -> Iterator[Fault]:
    """`on Cancel` leads to something that does not end the execution (language 5.10).

    A cancel must go straight to a terminal that ends the machine or region. Do the last things in the `on enter` of
    that terminal.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          state Refunding {}
          final Done success {}
          from Cart to Done on Go
          from Cart to Refunding on Cancel
          from Refunding to Done on Go
        }

    Right:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          final Refunded cancelled { on enter refund }
          from Cart to Done on Go
          from Cart to Refunded on Cancel
        }
    """
    yield from _not_terminal(facts, "Cancel")


@rule("expired_target_not_terminal", ERROR)
def expired_target_not_terminal(facts: Facts) -> Iterator[Fault]:
    """`on Expired` leads to something that does not end the execution (language 5.10).

    When the time to live has run out, a machine must go straight to a terminal that ends it. Do the last things in the
    `on enter` of that terminal.

    Wrong:

        event Ping {}
        machine session {
          ttl 60
          initial Active
          state Active {}
          state Warned {}
          final Closed expired {}
          from Active to Warned on Expired
          from Warned to Closed on Ping
        }

    Right:

        event Ping {}
        machine session {
          ttl 60
          initial Active
          state Active {}
          final Closed expired { on enter warn }
          from Active to Closed on Expired
          from Active to Active on Ping
        }
    """
    yield from _not_terminal(facts, "Expired")


def _not_terminal(facts: Facts, kind: str) -> Iterator[Fault]:
    for transition in facts.machine.transitions:
        for branch in transition.branches if kind in transition.kinds else ():
            target = branch.target
            if target is None or facts.crosses(transition, target) or facts.states[target].kind == "machine":
                continue
            if facts.is_terminal(target) and facts.ends_execution[target]:
                continue
            message = f"`on {kind}` leads to `{facts.label(target)}`, which does not end the execution"
            hint = "go straight to a terminal of the outermost body, and do the last things in its `on enter`"
            yield Fault(branch.node.target.span, message, hint, facts.notes(transition.home))


@rule("carry_unknown_field", ERROR)
def carry_unknown_field(facts: Facts) -> Iterator[Fault]:
    """A `carry` names a key that the machine's `context` does not declare (language 6).

    In a region any key may be carried: its context is its own, and its actions may add to it.

    Wrong:

        event Go {}
        machine payment {
          context { receipt: string = "" }
          initial Asking
          state Asking {}
          final Paid success { carry reciept }
          from Asking to Paid on Go
        }

    Right:

        event Go {}
        machine payment {
          context { receipt: string = "" }
          initial Asking
          state Asking {}
          final Paid success { carry receipt }
          from Asking to Paid on Go
        }
    """
    if facts.schema is None:
        return
    for state in facts.states:
        for part in state.body if facts.root[state.index] == 0 else ():
            for name in part.names if isinstance(part, tree.Carry) else ():
                if name.text not in facts.schema:
                    hint = did_you_mean(name.text, facts.schema) or f"add `{name.text}` to its `context`"
                    message = f"`{facts.machine.id}` declares no context key `{name.text}`"
                    yield Fault(name.span, message, hint, facts.notes(state.index))


def _ends_silently(facts: Facts, state: StateModel) -> bool:
    """Whether the state is a terminal that ends its execution, and neither it nor one around it declares an outcome.

    A fork that nothing leads on from is a terminal as well, once its children have ended (language 5.6). An outcome
    around the terminal has a finding of its own.
    """
    at = state.index
    is_region = state.kind == "orthogonal" and facts.root[at] == at  # no region can be orthogonal
    is_last = facts.is_terminal(at) or (facts.is_fork(at) and not facts.own[at] and not is_region)
    return is_last and facts.ends_execution[at] and not any(_has_outcome(facts, level) for level in facts.outwards(at))


def _has_outcome(facts: Facts, index: int) -> bool:
    state = facts.states[index]
    has_verdict = isinstance(state.node, tree.State) and state.node.verdict is not None
    return has_verdict or any(isinstance(part, tree.Outcome) for part in state.body)


MACHINE_RULES = (
    terminal_missing_outcome,
    outcome_on_nonterminal,
    cancel_target_not_terminal,
    expired_target_not_terminal,
    carry_unknown_field,
)
