"""Random valid machines, as hypothesis strategies: hierarchy, regions, guards, choices, timers, deferred events,
errors.

Machines are generated, not strings: every name that is used is declared, every state without a way out is a `final`
with an outcome, automatic transitions only lead forwards, so that what comes out has no finding above a warning.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

KINDS = ("Go", "Stop", "Tick", "Note")
ACTIONS = ("note", "count", "sometimes")
GUARDS = ("n > 2", "n == 1 or n == 3", "not n < 2", "context.total >= 2", "context.total < 5 and n != 4", "busy")


@dataclass(frozen=True)
class Machine:
    """A source and what may be sent to it."""

    text: str
    kinds: tuple[str, ...] = KINDS


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """A machine called `order` with its events, a guard and a context."""
    lines = [f"event {kind} {{ n: int }}" for kind in KINDS]
    lines += ["guard busy = context.total > 1", "machine order {", "  context { total: int = 0 }"]
    if draw(st.booleans()):
        lines.append(f"  ttl {draw(st.integers(50, 400))}")
    if draw(st.booleans()):
        lines.append("  defer Note")
    lines += draw(bodies("S", depth=0, indent="  "))
    return Machine("\n".join([*lines, "}"]))


@st.composite
def bodies(draw: st.DrawFn, prefix: str, depth: int, indent: str) -> list[str]:
    """The inside of a machine or composite: children, an initial one, and the transitions between them."""
    count = draw(st.integers(2, 4 if depth == 0 else 3))
    names = [f"{prefix}{number}" for number in range(count)]
    lines, forks = [f"{indent}initial {names[0]}"], set()
    transitions: list[str] = []
    for number, name in enumerate(names):
        is_last = number == count - 1
        shape = "final" if is_last else draw(st.sampled_from(_SHAPES if depth < 2 else ("leaf",)))
        if shape == "orthogonal":
            forks.add(name)
        lines += draw(states(name, shape, depth, indent))
        if not is_last:
            transitions += draw(ways_out(names, number, shape))
    return lines + [f"{indent}{transition}" for transition in transitions]


_SHAPES = ("leaf", "leaf", "leaf", "composite", "orthogonal")


@st.composite
def states(draw: st.DrawFn, name: str, shape: str, depth: int, indent: str) -> list[str]:
    """One state with its hooks, its timer and its inside."""
    inner = indent + "  "
    if shape == "final":
        outcome = draw(st.sampled_from(("success", "failed", "partial")))
        return [f"{indent}final {name} {outcome} {{ {draw(hooks())} }}"]
    if shape == "orthogonal":
        regions = [draw(regions_of(f"{name}R{number}", depth, inner)) for number in range(draw(st.integers(1, 3)))]
        option = draw(st.sampled_from(("", "cancel_on_failure")))
        passed = f"{inner}with {{ total: total }}"
        return [f"{indent}orthogonal {name} {{ {option}", passed, *(line for r in regions for line in r), f"{indent}}}"]
    timeout = draw(st.sampled_from(("", "", "timeout 30", "timeout 45")))
    head = (
        f"{indent}state {name} {{ {timeout} {draw(hooks())} {draw(st.sampled_from(('', 'defer Tick', 'no history')))}"
    )
    if shape == "leaf":
        return [head.replace("no history", "") + " }"]
    return [head, *draw(bodies(f"{name}_", depth + 1, inner)), f"{indent}}}"]


@st.composite
def regions_of(draw: st.DrawFn, name: str, depth: int, indent: str) -> list[str]:
    """A region that comes to an end."""
    return [f"{indent}state {name} {{", *draw(bodies(f"{name}_", depth + 1, indent + "  ")), f"{indent}}}"]


@st.composite
def hooks(draw: st.DrawFn) -> str:
    """Some `on enter` and `on exit` lines; `sometimes` raises, `note` and `count` do not."""
    enter = draw(st.sampled_from(("", "", *(f"on enter {action}" for action in ACTIONS))))
    leave = draw(st.sampled_from(("", "", "on exit note", "on exit count")))
    return f"{enter} {leave}".strip()


@st.composite
def ways_out(draw: st.DrawFn, names: list[str], number: int, shape: str) -> list[str]:
    """What leaves a state: always something, and never an automatic way back."""
    source, later = names[number], names[number + 1 :]
    found: list[str] = []
    if shape == "orthogonal" and draw(st.booleans()):
        mode = draw(st.sampled_from(("all", "any")))
        found.append(f"from {source} join {mode} to {later[0]} else to {later[-1]}")
    elif shape in ("composite", "orthogonal"):
        found.append(f"from {source} to {draw(st.sampled_from(later))}")
    elif draw(st.integers(0, 4)) == 0:
        limit = draw(st.integers(0, 3))
        found.append(f"from {source} choose {{ when context.total > {limit} to {later[0]} else to {later[-1]} }}")
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True)):
        target = draw(st.sampled_from(names))
        where = draw(st.sampled_from(("", "", *(f" where {guard}" for guard in GUARDS))))
        sets = draw(st.sampled_from(("", " set context.total = context.total + 1", " set context.total = event.n")))
        found.append(f"from {source} to {target} on {kind}{where}{sets}")
    if draw(st.booleans()):
        found.append(f"from {source} to {draw(st.sampled_from(names))} on Timeout")
    if draw(st.booleans()):
        found.append(f"from {source} to {later[-1]} on error")
    return found


steps = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from(KINDS), st.integers(0, 5)),
        st.tuples(st.just("advance"), st.just(""), st.sampled_from((10, 30, 60))),
        st.tuples(st.just("cancel"), st.just(""), st.just(0)),
        st.tuples(st.just("suspend"), st.just(""), st.just(0)),
        st.tuples(st.just("resume"), st.just(""), st.just(0)),
    ),
    min_size=3,
    max_size=12,
)
"""What happens to an execution: (send, kind, n), (advance, , seconds) or a command."""
