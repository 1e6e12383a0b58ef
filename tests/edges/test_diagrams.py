"""A diagram that nobody could read drops details in a fixed order (edges.md, generated code and tools)."""

from __future__ import annotations

from harel import definition_from_dsl, render


def ring(states: int, kinds: int) -> str:
    """The diagram of a machine whose states lead round in a ring, each by several guarded events."""
    events = [f"E{number}" for number in range(kinds)]
    body = [f"state S{number} {{}}" for number in range(states)]
    body += [
        f"from S{number} to S{(number + 1) % states} on {event} where context.n == {number}"
        for number in range(states)
        for event in events
    ]
    declared = [f"event {event} {{}}" for event in events]
    return render(
        definition_from_dsl("\n".join([*declared, "machine device { context { n: int = 0 } initial S0", *body, "}"]))
    )


def arrows(diagram: str) -> list[str]:
    """The arrows between states."""
    return [line.strip() for line in diagram.splitlines() if "-->" in line and "[*]" not in line]


def test_up_to_500_arrows_show_everything() -> None:
    shown = arrows(ring(states=49, kinds=10))

    assert len(shown) == 490
    assert shown[0] == "S0 --> S1 : E0 [context.n == 0]"


def test_above_that_there_is_one_arrow_for_each_pair_of_states_with_the_kinds_of_events() -> None:
    shown = arrows(ring(states=100, kinds=6))

    assert len(shown) == 100
    assert "[" not in shown[0]
    assert all(f"E{number}" in shown[0] for number in range(6))
