"""Rules about orthogonal states and joins (language.md sections 4 and 5.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harel.event import RESERVED_KINDS

from .. import tree
from ..diagnostics import ERROR, WARNING
from .facts import Facts
from .registry import Fault, rule


@rule("join_without_fork", ERROR)
def join_without_fork(facts: Facts) -> Iterator[Fault]:
    """A `join` leaves a state that starts no children (language 4, 6).

    `join all` and `join any` sum up the outcomes of the regions of an orthogonal state, or of the instances of a
    fan-out (`invoke … for … in …`). Leave any other state by `to`, `choose` or `select`.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          state Work {}
          final Done success {}
          final Refused failed {}
          from Cart to Work on Go
          from Work join all to Done else to Refused
        }

    Right:

        event Go {}
        machine order {
          initial Work
          orthogonal Work {
            state Stock { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Go }
          }
          final Done success {}
          final Refused failed {}
          from Work join all to Done else to Refused
        }
    """
    for transition in facts.machine.transitions:
        if transition.node.form in ("join_all", "join_any") and not facts.is_fork(transition.source):
            message = (
                f"`{facts.label(transition.source)}` is neither an orthogonal state nor a fan-out: nothing to join"
            )
            yield Fault(transition.node.source.span, message, "write `to`, or `choose`", facts.notes(transition.home))


@rule("fork_event_shadowed", WARNING)
def fork_event_shadowed(facts: Facts) -> Iterator[Fault]:
    """A transition of an orthogonal state is on an event that its regions take (language 5.7).

    An event that some live region could ever handle or defer goes to the regions, and the orthogonal state does not
    look at it. So this transition is not taken while regions run. Use another event for leaving.

    Wrong:

        event Go {}
        machine order {
          initial Checks
          orthogonal Checks {
            state Stock { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Go }
          }
          final Done success {}
          final Stopped cancelled {}
          from Checks to Done
          from Checks to Stopped on Go
        }

    Right:

        event Go {}
        event Stop {}
        machine order {
          initial Checks
          orthogonal Checks {
            state Stock { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Go }
          }
          final Done success {}
          final Stopped cancelled {}
          from Checks to Done
          from Checks to Stopped on Stop
        }
    """
    named = _named_in_regions(facts)
    for fork, kinds in named.items():
        for transition in facts.own[fork]:
            for kind in transition.node.kinds:
                if kind.text in kinds:
                    message = (
                        f"`{kind.text}` goes to the regions of `{facts.label(fork)}`, and this transition is not taken"
                    )
                    notes = ((kinds[kind.text], "a region names it here"), *facts.notes(transition.home))
                    yield Fault(kind.span, message, "use another event for leaving", notes)
                    break


def _named_in_regions(facts: Facts) -> Mapping[int, Mapping[str, tree.Span]]:
    """For each orthogonal state the domain events that its regions handle or defer, with one place each."""
    forks: list[int | None] = []
    for state in facts.states:
        if state.parent is None:
            forks.append(None)
        else:
            forks.append(state.parent if facts.states[state.parent].kind == "orthogonal" else forks[state.parent])
    named: dict[int, dict[str, tree.Span]] = {}
    for index, kind in _named(facts):
        fork = forks[index]
        while fork is not None and kind.text not in RESERVED_KINDS:
            named.setdefault(fork, {}).setdefault(kind.text, kind.span)
            fork = forks[fork]
    return named


def _named(facts: Facts) -> Iterator[tuple[int, tree.Name]]:
    """Each kind that a state's transitions or its `defer` name."""
    for transition in facts.machine.transitions:
        yield from ((transition.source, kind) for kind in transition.node.kinds)
    for state in facts.states:
        for part in state.body:
            if isinstance(part, tree.Defer):
                yield from ((state.index, kind) for kind in part.kinds)


MACHINE_RULES = (join_without_fork, fork_event_shadowed)
