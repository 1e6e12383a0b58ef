"""Rules about `timeout` and `ttl` (language.md sections 1, 5.5 and 5.10, edges.md)."""

from __future__ import annotations

from collections.abc import Iterator

from .. import tree
from ..diagnostics import ERROR, WARNING
from ..durations import seconds
from .decide import Reader, can_hold, types_at
from .facts import Facts, FileFacts
from .registry import Fault, rule
from .values import is_no_number, spoken
from .walk import file_bodies

_DURATION = "write whole seconds, or a number with a unit: `45s 15m 12h 7d 2w`, more than zero and at most 100 years"


@rule("timeout_invalid", ERROR)
def timeout_invalid(source: FileFacts) -> Iterator[Fault]:
    """A `timeout` is no duration (language 1).

    A duration is a whole number of seconds, or a number with a unit (`s m h d w`); it is more than zero and at most
    100 years. `timeout context KEY` reads a number of seconds, so the key is no text and no bool.

    Wrong:

        machine order {
          initial Cart
          state Cart { timeout 0s }
          final Late expired {}
          from Cart to Late on Timeout
        }

    Right:

        machine order {
          initial Cart
          state Cart { timeout 15m }
          final Late expired {}
          from Cart to Late on Timeout
        }
    """
    for _, body in file_bodies(source.file):
        for part in body:
            if isinstance(part, tree.Timeout) and part.raw is not None and seconds(part.raw) is None:
                yield Fault(part.span, f"`timeout {part.raw}` is no duration", _DURATION)
    for facts in source.machines:
        for state in facts.states:
            for part in state.body:
                if isinstance(part, tree.Timeout):
                    yield from _given_timeout(facts, state.index, part)


def _given_timeout(facts: Facts, index: int, timeout: tree.Timeout) -> Iterator[Fault]:
    """Faults of a timeout that is a fragment's argument or a context key."""
    if timeout.value is not None:
        value = timeout.value.value
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or seconds(str(value)) is None:
            notes = ((timeout.span, "it becomes this timeout"),)
            yield Fault(timeout.value.span, "this value becomes a timeout, and is no duration", _DURATION, notes)
    elif timeout.key is not None and facts.is_known_key(index, timeout.key.text):
        known = facts.key_type(index, timeout.key.text)
        if is_no_number(known):
            message = f"`{timeout.key.text}` is {spoken(known)}, not a number of seconds"
            yield Fault(timeout.key.span, message, "name a key of type int or float", facts.notes(index))


@rule("ttl_not_positive", ERROR)
def ttl_not_positive(source: FileFacts) -> Iterator[Fault]:
    """A `ttl` is no duration, or not more than zero (language 1).

    A duration is a whole number of seconds, or a number with a unit (`s m h d w`); it is more than zero and at most
    100 years.

    Wrong:

        machine session {
          ttl 0
          initial Active
          final Active success {}
        }

    Right:

        machine session {
          ttl 30d
          initial Active
          final Active success {}
        }
    """
    for _, body in file_bodies(source.file):
        for part in body:
            if isinstance(part, tree.Ttl) and part.raw is not None and seconds(part.raw) is None:
                yield Fault(part.span, f"`ttl {part.raw}` is no time to live", _DURATION)


@rule("timeout_unhandled", WARNING)
def timeout_unhandled(facts: Facts) -> Iterator[Fault]:
    """A timer is armed and nobody listens (language 5.5).

    When it is due, the transitions on `Timeout` of the state itself and of those around it are looked at, not those
    inside it; in a region, up to the region. Nothing else happens.

    Wrong:

        event Paid {}
        machine order {
          initial AwaitingPayment
          state AwaitingPayment { timeout 15m }
          final Done success {}
          from AwaitingPayment to Done on Paid
        }

    Right:

        event Paid {}
        machine order {
          initial AwaitingPayment
          state AwaitingPayment { timeout 15m }
          final Done success {}
          final Late expired {}
          from AwaitingPayment to Done on Paid
          from AwaitingPayment to Late on Timeout
        }
    """
    if facts.has_lost_transitions:
        return
    reader = Reader(facts)
    handled: list[bool] = []
    for state in facts.states:
        own = (t for t in facts.own[state.index] if "Timeout" in t.kinds)
        listens = any(can_hold(reader.taken(t), types_at(facts, state.index, "Timeout")) for t in own)
        is_root = facts.root[state.index] == state.index
        handled.append(listens or (not is_root and state.parent is not None and handled[state.parent]))
        if not handled[state.index] and state.parent is not None and not facts.is_second[state.index]:
            for part in state.body:
                if isinstance(part, tree.Timeout):
                    message = f"nothing handles the timeout of `{facts.label(state.index)}`"
                    hint = f"add `from {state.name} to … on Timeout`, here or in an enclosing state"
                    yield Fault(part.span, message, hint, facts.notes(state.index))


@rule("expired_without_ttl", WARNING)
def expired_without_ttl(facts: Facts) -> Iterator[Fault]:
    """A transition is on `Expired`, and the machine has no `ttl` (language 5.10, 6).

    `Expired` comes when the machine's time to live has run out. For one state use `timeout` and `on Timeout`.

    Wrong:

        event Ping {}
        machine session {
          initial Active
          state Active {}
          final Done success {}
          final Closed expired {}
          from Active to Done on Ping
          from Active to Closed on Expired
        }

    Right:

        event Ping {}
        machine session {
          ttl 30d
          initial Active
          state Active {}
          final Done success {}
          final Closed expired {}
          from Active to Done on Ping
          from Active to Closed on Expired
        }
    """
    if facts.machine.broken or any(isinstance(part, tree.Ttl) for state in facts.states for part in state.body):
        return
    for transition in facts.machine.transitions:
        for kind in transition.node.kinds:
            if kind.text == "Expired":
                message = f"`Expired` never comes: `{facts.machine.id}` has no `ttl`"
                is_inline = isinstance(facts.machine.node, tree.Invoke)
                hint = "only roots expire: write `timeout` at a state" if is_inline else "add `ttl 30d` to the machine"
                yield Fault(kind.span, message, hint, facts.notes(transition.home))


@rule("ttl_without_effect", WARNING)
def ttl_without_effect(source: FileFacts) -> Iterator[Fault]:
    """An inline machine has a `ttl` (edges, Trees).

    Only executions that nobody started expire, and an inline machine always has a parent. Put the `ttl` at the outer
    machine, or a `timeout` at the state that invokes.

    Wrong:

        machine order {
          initial Paying
          state Paying {
            invoke {
              ttl 60
              initial Paid
              final Paid success {}
            }
          }
          final Done success {}
          from Paying to Done on Returned
        }

    Right:

        machine order {
          ttl 60
          initial Paying
          state Paying {
            invoke {
              initial Paid
              final Paid success {}
            }
          }
          final Done success {}
          from Paying to Done on Returned
        }
    """
    for owner, body in file_bodies(source.file):
        if isinstance(owner, tree.Invoke):
            for part in body:
                if isinstance(part, tree.Ttl):
                    hint = "put it at the outer machine, or a `timeout` at the state that invokes"
                    yield Fault(part.span, "an inline machine never expires: only roots do", hint)


FILE_RULES = (timeout_invalid, ttl_not_positive, ttl_without_effect)
MACHINE_RULES = (timeout_unhandled, expired_without_ttl)
