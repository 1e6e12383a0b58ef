"""Rules about where transitions lead and which of them can be taken (language.md sections 4 to 6, edges.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import tree
from ..diagnostics import ERROR, WARNING
from ..model import TransitionModel
from .decide import ALWAYS, All, Formula, Negated, Reader, Some, always_holds, can_hold, types_at
from .facts import Facts, FileFacts
from .registry import Fault, rule
from .walk import file_transitions

_MOST_EARLIER = 12
"""How many earlier guards of one state and kind are looked at together, so that the cost stays linear."""


@rule("guarded_automatic", ERROR)
def guarded_automatic(source: FileFacts) -> Iterator[Fault]:
    """An automatic transition has a `where` (edges, Meaning).

    An automatic transition is the one way on when its state is done; were its guard false, the machine would stop there
    for good. Say both ways with a `choose`.

    Wrong:

        machine order {
          context { n: int = 0 }
          initial Checking
          state Checking {}
          final Done success {}
          from Checking to Done where context.n > 3
        }

    Right:

        machine order {
          context { n: int = 0 }
          initial Checking
          state Checking {}
          final Done success {}
          final Refused failed {}
          from Checking choose { when context.n > 3 to Done  else to Refused }
        }
    """
    for node in file_transitions(source.file):
        if not node.kinds and node.where is not None:
            place = node.where_span or node.where.span
            hint = f"write `from {node.source.text} choose {{ when … to …  else to … }}`, or add `on EVENT`"
            yield Fault(place, "an automatic transition takes no `where`", hint)


@rule("nondeterministic_automatic", ERROR)
def nondeterministic_automatic(facts: Facts) -> Iterator[Fault]:
    """A state has a second automatic transition (language 6).

    The first one is always taken, so the second never is. Decide with one `choose`, or put the second on an event.

    Wrong:

        machine order {
          initial A
          state A {}
          final B success {}
          final C failed {}
          from A to B
          from A to C
        }

    Right:

        machine order {
          context { n: int = 0 }
          initial A
          state A {}
          final B success {}
          final C failed {}
          from A choose { when context.n > 3 to B  else to C }
        }
    """
    for own in facts.own:
        automatic = [t for t in own if t.is_automatic and t.node.where is None]
        for second in automatic[1:]:
            notes = ((automatic[0].node.source.span, "the first one stands here"), *facts.notes(second.home))
            message = f"second automatic transition of `{facts.label(second.source)}`"
            yield Fault(second.node.source.span, message, "decide with one `choose`, or add `on EVENT`", notes)


@rule("automatic_cycle", ERROR)
def automatic_cycle(facts: Facts) -> Iterator[Fault]:
    """Automatic transitions lead round in a circle (edges, Meaning).

    Every step of the circle is taken at once and without a condition, so the machine never rests. Let an event, a
    timer or a `choose` stand between. The finding stands at the transition that closes the circle in source order.

    Wrong:

        machine order {
          initial A
          state A {}
          state B {}
          from A to B
          from B to A
        }

    Right:

        machine order {
          initial A
          state A {}
          state B { timeout 60 }
          from A to B
          from B to A on Timeout
        }
    """
    follow = [facts.onward(state.index) for state in facts.states]
    done = [False] * len(follow)
    for start in range(len(follow)):
        walk: dict[int, TransitionModel | None] = {}
        at: int | None = start
        while at is not None and not done[at] and at not in walk:
            step, to = follow[at]
            walk[at] = step
            at = to
        if at is not None and at in walk:
            states = list(walk)
            circle = states[states.index(at) :]
            steps = [step for step in (walk[state] for state in circle) if step is not None]
            last = max(steps, key=lambda step: step.index)
            round_ = " → ".join(f"`{facts.label(state)}`" for state in [*circle, at])
            hint = "put an event, a timer or a `choose` between"
            notes = facts.notes(last.home)
            yield Fault(
                last.node.branches[0].target.span, f"these states leave at once, in a circle: {round_}", hint, notes
            )
        for state in walk:
            done[state] = True


@rule("crosses_region", ERROR)
def crosses_region(facts: Facts) -> Iterator[Fault]:
    """A transition leads into or out of a region (edges, Meaning).

    Each region of an orthogonal state is an execution of its own, so no transition can go from one to another. Leave
    by the region's outcome and a `join`, or by an event that the orthogonal state itself handles. A region begins at
    its `initial`.

    Wrong:

        event Go {}
        event Stop {}
        machine order {
          initial Checks
          orthogonal Checks {
            state Stock {
              initial Ask
              state Ask {}
              final Fine success {}
              from Ask to Fine on Go
              from Ask to Stopped on Stop
            }
          }
          final Done success {}
          final Stopped cancelled {}
          from Checks to Done
        }

    Right:

        event Go {}
        event Stop {}
        machine order {
          initial Checks
          orthogonal Checks {
            state Stock {
              initial Ask
              state Ask {}
              final Fine success {}
              from Ask to Fine on Go
            }
          }
          final Done success {}
          final Stopped cancelled {}
          from Checks to Done
          from Checks to Stopped on Stop
        }
    """
    for transition in facts.machine.transitions:
        for branch in transition.branches:
            if branch.target is None or not facts.crosses(transition, branch.target):
                continue
            inner = facts.root[transition.source]
            is_leaving = inner != 0 and not _is_inside(facts, facts.root[branch.target], inner)
            source, target = facts.label(transition.source), facts.label(branch.target)
            if is_leaving:
                message = f"`{target}` is outside the region `{facts.label(inner)}`, which `{source}` belongs to"
                hint = "end the region and leave by a `join`, or let the orthogonal state handle the event"
            else:
                message = f"`{target}` is inside the region `{facts.label(facts.root[branch.target])}`"
                hint = "go to the orthogonal state; a region always begins at its `initial`"
            yield Fault(branch.node.target.span, message, hint, facts.notes(transition.home))


def _is_inside(facts: Facts, root: int, outer: int) -> bool:
    """Whether one execution's root lies within another's."""
    at: int | None = root
    while at is not None and at != outer:
        at = facts.states[at].parent
    return at is not None


@rule("selector_phantom_branch", ERROR)
def selector_phantom_branch(source: FileFacts) -> Iterator[Fault]:
    """A branch of a `select` has a label that `returns` does not list (language 4, 6).

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          final Refused failed {}
          from Cart select decide returns {"yes", "no"} on Go { "yes" to Done  "no" to Refused  "maybe" to Refused }
        }

    Right:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          final Refused failed {}
          from Cart select decide returns {"yes", "no"} on Go { "yes" to Done  "no" to Refused }
        }
    """
    for node in file_transitions(source.file):
        labels = {label.text for label in node.returns}
        for branch in node.branches if labels else ():
            if isinstance(branch.test, tree.Name) and branch.test.text not in labels:
                message = f"`{branch.test.text}` is not among the labels that `returns` lists"
                yield Fault(branch.test.span, message, "add it to `returns`, or remove the branch")


@rule("selector_non_exhaustive", ERROR)
def selector_non_exhaustive(source: FileFacts) -> Iterator[Fault]:
    """A `select` has neither a branch for each label that `returns` lists, nor an `else` (language 4, 6).

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart select decide returns {"yes", "no"} on Go { "yes" to Done }
        }

    Right:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart select decide returns {"yes", "no"} on Go { "yes" to Done  else to Cart }
        }
    """
    for node in file_transitions(source.file):
        labels = {branch.test.text for branch in node.branches if isinstance(branch.test, tree.Name)}
        missing = [label for label in node.returns if label.text not in labels]
        if missing and not any(branch.is_else for branch in node.branches):
            names = ", ".join(f"`{label.text}`" for label in missing)
            yield Fault(missing[0].span, f"no branch for {names}", "add the branch, or an `else`")


@rule("choose_can_hang", ERROR)
def choose_can_hang(facts: Facts) -> Iterator[Fault]:
    """An automatic `choose` may find no branch (language 6).

    Without an `else`, and with branches that are not literally complete, the machine stops here when none of them
    holds. `x == 1` and `x != 1` are complete only where `x` is surely there: both are false for an absent field.

    Wrong:

        machine order {
          context { total: int = 0 }
          initial Checking
          state Checking {}
          final Done success {}
          final Refused failed {}
          from Checking choose { when context.total > 10 to Done  when context.total < 5 to Refused }
        }

    Right:

        machine order {
          context { total: int = 0 }
          initial Checking
          state Checking {}
          final Done success {}
          final Refused failed {}
          from Checking choose { when context.total > 10 to Done  when context.total <= 10 to Refused }
        }
    """
    reader = Reader(facts)
    for transition in facts.machine.transitions:
        node = transition.node
        if node.kinds or node.form != "choose" or any(branch.is_else for branch in node.branches):
            continue
        if not facts.understands(transition):
            continue
        some = Some(tuple(reader.branch(branch) for branch in node.branches))
        if not always_holds(some, types_at(facts, transition.source, None)):
            message = f"no branch may hold, and then nothing leads on from `{facts.label(transition.source)}`"
            yield Fault(node.source.span, message, "add `else to …`", facts.notes(transition.home))


@rule("shadowed_transition", WARNING)
def shadowed_transition(facts: Facts) -> Iterator[Fault]:
    """A transition can never be taken, because earlier ones of the same state always are (language 5.2, 6).

    The transitions of one state are tried in source order. For every kind of this one, what stands above takes all
    that this one would take. Put the special case first.

    Wrong:

        event Go { amount: int }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          final Big success {}
          from Cart to Done on Go
          from Cart to Big on Go where amount > 100
        }

    Right:

        event Go { amount: int }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          final Big success {}
          from Cart to Big on Go where amount > 100
          from Cart to Done on Go
        }
    """
    reader = Reader(facts)
    for own in facts.own:
        earlier: dict[str, list[tuple[TransitionModel, Formula]]] = {}
        for transition in own:
            if not transition.kinds or _crosses_anywhere(facts, transition) or not facts.understands(transition):
                continue
            taken = reader.taken(transition)
            if all(kind in earlier for kind in transition.kinds):
                by = _shadow(facts, taken, transition, earlier)
                if by is not None:
                    notes = ((by.node.source.span, "this one is taken before"), *facts.notes(transition.home))
                    message = f"never taken: earlier transitions of `{facts.label(transition.source)}` take it all"
                    yield Fault(transition.node.source.span, message, "move it up, or remove it", notes)
                    continue
            for kind in transition.kinds:
                before = earlier.setdefault(kind, [])
                is_closed = bool(before) and before[-1][1] == ALWAYS
                if not is_closed and (len(before) < _MOST_EARLIER or taken == ALWAYS):
                    before.append((transition, taken))


def _shadow(
    facts: Facts,
    mine: Formula,
    transition: TransitionModel,
    earlier: dict[str, list[tuple[TransitionModel, Formula]]],
) -> TransitionModel | None:
    """A transition that hides this one, if earlier ones take all that it would take, of every kind."""
    could_be_taken = False
    for kind in transition.kinds:
        type_of = types_at(facts, transition.source, kind)
        could_be_taken = could_be_taken or can_hold(mine, type_of)
        left = All((mine, *(Negated(formula) for _, formula in earlier[kind])))
        if can_hold(left, type_of):
            return None
    return earlier[transition.kinds[0]][-1][0] if could_be_taken else None


def _crosses_anywhere(facts: Facts, transition: TransitionModel) -> bool:
    return any(b.target is not None and facts.crosses(transition, b.target) for b in transition.branches)


@rule("unreachable", WARNING)
def unreachable(facts: Facts) -> Iterator[Fault]:
    """No way leads to a state (language 6).

    Neither an `initial` nor any transition that can be taken enters it. A guard that contradicts itself is never
    taken, and a composite whose inside never ends is not left automatically.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          state Lost {}
          final Done success {}
          from Cart to Done on Go
          from Lost to Done on Go
        }

    Right:

        event Go {}
        event Lose {}
        machine order {
          initial Cart
          state Cart {}
          state Lost {}
          final Done success {}
          from Cart to Done on Go
          from Cart to Lost on Lose
          from Lost to Done on Go
        }
    """
    if facts.has_lost_transitions or facts.has_lost_targets:
        return
    reached = _reached(facts)
    for state in facts.states:
        is_lost = not reached[state.index] and not facts.is_second[state.index]
        if is_lost and state.parent is not None and reached[state.parent]:
            node = state.node
            place = node.name.span if isinstance(node, tree.State) else node.span
            hint = "add a transition to it, or remove it"
            yield Fault(place, f"nothing leads to `{facts.label(state.index)}`", hint, facts.notes(state.index))


def _reached(facts: Facts) -> Sequence[bool]:
    """For each state whether it can ever be active."""
    targets = _Targets(facts)
    active, entered, ended = ([False] * len(facts.states) for _ in range(3))
    waiting = [0]

    def end(index: int) -> None:
        """The state has come to its end: the composite around it is settled next, and may go on by itself."""
        while not ended[index]:
            ended[index] = True
            waiting.extend(targets.automatic(index))
            if facts.own[index] or facts.is_single_invoke(index) or index == facts.root[index]:
                return
            index = facts.states[index].parent or 0

    while waiting:
        index = waiting.pop()
        for level in facts.machine.outwards(index):
            if active[level.index]:
                break
            active[level.index] = True
            waiting.extend(targets.on_events(level.index))
            if level.kind == "orthogonal":
                waiting += (level.index, *level.children)
        state = facts.states[index]
        if entered[index]:
            continue
        entered[index] = True
        if state.initial is not None:
            waiting.append(state.initial)
        elif state.kind in ("leaf", "orthogonal"):
            end(index)
    return active


class _Targets:
    """Where the transitions of a state can lead, as far as their guards can ever hold."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._reader = Reader(facts)

    def automatic(self, index: int) -> Iterator[int]:
        """By transitions without an event."""
        for transition in self._facts.own[index]:
            if transition.is_automatic:
                yield from self._of(transition, (None,))

    def on_events(self, index: int) -> Iterator[int]:
        """By transitions on events."""
        for transition in self._facts.own[index]:
            yield from self._of(transition, transition.kinds)

    def _of(self, transition: TransitionModel, kinds: Sequence[str | None]) -> Iterator[int]:
        taken = self._reader.taken(transition)
        for branch in transition.branches:
            formula = All((taken, self._reader.branch(branch.node)))
            sure = formula == All((ALWAYS, ALWAYS))
            types = (types_at(self._facts, transition.source, kind) for kind in kinds)
            if branch.target is not None and any(sure or can_hold(formula, type_of) for type_of in types):
                yield branch.target


FILE_RULES = (guarded_automatic, selector_phantom_branch, selector_non_exhaustive)
MACHINE_RULES = (
    nondeterministic_automatic,
    automatic_cycle,
    crosses_region,
    choose_can_hang,
    shadowed_transition,
    unreachable,
)
