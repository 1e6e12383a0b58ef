"""Diagrams: what they show, and that no text of a source gets out of its label."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harel.definition import Assign, Branch, Call, Definition, Doc, Invoke, Transition, row
from harelc.chart import MOST_ARROWS
from harelc.diagram import dot, mermaid, plantuml
from harelc.diagram_dot import escape as dot_escape
from harelc.diagram_mermaid import escape as mermaid_escape
from harelc.diagram_plantuml import escape as plantuml_escape

from .machines import chain, define, final, machine, order, state, to

TEXTS = st.text(min_size=1, max_size=200) | st.sampled_from(
    [
        "a; b",
        "--> [*]",
        "%% x",
        "#59;",
        "direction LR",
        'say "hi"',
        "<<fork>>",
        "[[fork]]",
        "end note",
        "}",
        "\\",
        "a: b",
    ]
)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_a_simple_machine_in_mermaid() -> None:
    assert mermaid(order()).splitlines() == [
        "stateDiagram-v2",
        "    [*] --> AwaitingPayment",
        "    AwaitingPayment --> Paid : PaymentAuthorized",
        "    AwaitingPayment --> Cancelled : Timeout (900s)",
        "    Paid --> Delivered : Deliver",
        "    Delivered --> [*]",
        "    Cancelled --> [*]",
    ]


def test_the_same_in_plantuml_with_its_outcomes() -> None:
    text = lines(plantuml(order()))

    assert text[:2] == ["@startuml", "title order"]
    assert text[-1] == "@enduml"
    assert "AwaitingPayment --> Cancelled : Timeout (900s)" in text
    assert "Delivered --> [*] : success" in text


def test_the_same_for_graphviz() -> None:
    text = lines(dot(order()))

    assert text[0] == 'digraph "order" {'
    assert 's1 [label="AwaitingPayment"];' in text
    assert 's1 -> s4 [label="Timeout (900s)"];' in text
    assert 's3 -> end0 [label="success"];' in text


# --- what is shown


def fulfilling() -> Definition:
    """A composite with an own way out, and a state of the same name inside and outside."""
    return define(
        state("Fulfilling", kind="composite", initial=2, on_enter=(Call("book", (("days", 3),)),), no_history=True),
        state("Picking", 1, defers=("Paid",)),
        state("Open", 1, timeout="backoff"),
        state("Open"),
        final("Lost", "lost"),
        transitions=(to(2, "Packed", 3), to(3, "Signed", 4), to(1, "Cancel", 5), to(4, "Lost", 5)),
    )


def test_a_composite_holds_its_own_arrows_and_no_others() -> None:
    assert lines(mermaid(fulfilling())) == [
        "stateDiagram-v2",
        "[*] --> Fulfilling",
        'state "Fulfilling (on enter book(days#58; 3), no history)" as Fulfilling',
        "state Fulfilling {",
        "[*] --> Picking",
        'state "Picking" as Picking',
        "Picking : defer Paid",
        'state "Open" as s1',
        "s1 : timeout context backoff",
        "Picking --> s1 : Packed",
        "}",
        'state "Open" as s2',
        "Fulfilling --> Lost : Cancel",
        "s2 --> Lost : Lost",
        "Lost --> [*]",
        "s1 --> s2 : Signed",
    ]


def test_regions_are_parted_and_joined() -> None:
    checks = define(
        state("Checks", kind="orthogonal", cancel_on_failure=True),
        state("Fraud", 1, kind="composite", initial=3),
        state("Asking", 2),
        final("Clear", "success", 2),
        final("Stock", "success", 1),
        final("Ready", "success"),
        final("Refused", "refused"),
        transitions=(
            to(3, "Scored", 4),
            row(Transition(1, (), "join", (Branch(6, "all"), Branch(7)))),
        ),
    )

    assert lines(mermaid(checks)) == [
        "stateDiagram-v2",
        "[*] --> Checks",
        'state "Checks (cancel_on_failure)" as Checks',
        "state Checks {",
        "state Fraud {",
        "[*] --> Asking",
        "Asking --> Clear : Scored",
        "Clear --> [*]",
        "}",
        "--",
        "Stock",
        "}",
        "Checks --> Ready : join all",
        "Checks --> Refused : [else]",
        "Ready --> [*]",
        "Refused --> [*]",
    ]


def test_a_choice_is_a_point_of_its_own() -> None:
    big = (">", ("event", "amount"), ("lit", 100))
    guarded = define(
        state("Cart"),
        final("Review", "review"),
        final("Paid", "success"),
        transitions=(
            row(
                Transition(
                    1,
                    ("Pay",),
                    "choose",
                    (Branch(2, big, (Assign("n", ("+", ("context", "n"), ("lit", 1))),)), Branch(3)),
                    guard=(
                        "and",
                        ("guard", "open@2"),
                        ("not", ("or", big, ("==", ("context", "on hold"), ("lit", True)))),
                    ),
                )
            ),
            row(Transition(1, ("Ask",), "select", (Branch(2, "x y"), Branch(3)), selector=Call("pick", (("k", 1),)))),
        ),
    )

    assert lines(mermaid(guarded))[1:] == [
        "[*] --> Cart",
        "state choice1 <<choice>>",
        "state choice2 <<choice>>",
        "Cart --> choice1 : Pay [open and not (amount #62; 100 or context.#34;on hold#34; == true)]",
        "choice1 --> Review : [amount #62; 100] / n = context.n + 1",
        "choice1 --> Paid : [else]",
        "Cart --> choice2 : Ask select pick(k#58; 1)",
        "choice2 --> Review : #34;x y#34;",
        "choice2 --> Paid : [else]",
        "Review --> [*]",
        "Paid --> [*]",
    ]


def test_the_machine_has_a_box_where_it_has_ways_or_hooks_of_its_own() -> None:
    tables = (machine(on_enter=(Call("hello"),)), state("Open"), final("Done", "success"))
    own = Definition(id="order", version=1, digest="0" * 64, states=tables, transitions=(to(0, "Cancel", 2),), ttl=60)

    assert lines(mermaid(own))[1:5] == ['state "order" as s1', "s1 : ttl 60s", "s1 : on enter hello", "[*] --> Open"]
    assert "s1 --> Done : Cancel" in lines(mermaid(own))


def test_invoked_machines_are_named() -> None:
    ship = define(
        state("Shipping", invoke=Invoke("ship.parcel", 1, "item", "parcels")),
        state("Paying", invoke=Invoke("order:Paying", 1)),
        final("Done", "success"),
        transitions=(to(1, "", 2), to(2, "Returned", 3)),
    )

    assert "Shipping : invoke ship.parcel for item in parcels" in lines(mermaid(ship))
    assert "Paying : invoke #123; … #125;" in lines(mermaid(ship))


DOCUMENTED = define(
    state("Open"),
    final("Done", "success"),
    transitions=(to(1, "Go", 2),),
    docs=(
        row(Doc("machine", "order", "end note\ndirection LR")),
        row(Doc("state", "Open", "waits; long\n%% } --> x")),
        row(Doc("transition", "0", 'says "go"')),
    ),
)


def test_documentation_is_noted_and_stays_in_its_note() -> None:
    assert lines(mermaid(DOCUMENTED))[1] == "accDescr: end note #100;irection LR"
    assert lines(mermaid(DOCUMENTED))[-1] == (
        "note right of Open : waits#59; long<br/>#37;#37; #125; #45;#45;#62; x<br/>Go#58; says #34;go#34;"
    )
    assert "caption end note\\ndirection LR" in lines(plantuml(DOCUMENTED))
    assert lines(dot(DOCUMENTED))[4] == 's1 [label="Open\\nwaits; long\\n%% } --> x\\nGo: says \\"go\\""];'


# --- ids and labels


@pytest.mark.parametrize("name", ["end", "State", "note", "class", "fork", "direction", "style", "default", "x_start"])
def test_words_of_the_language_get_ids_made_up(name: str) -> None:
    text = lines(mermaid(define(state(name), final("Done", "success"), transitions=(to(1, "Go", 2),))))

    assert text[1:4] == ["[*] --> s1", f'state "{name}" as s1', "s1 --> Done : Go"]


def test_an_id_made_up_is_no_other_states_name() -> None:
    text = lines(mermaid(define(state("end"), final("s1", "success"), transitions=(to(1, "Go", 2),))))

    assert 'state "end" as s2' in text
    assert "s2 --> s1 : Go" in text


@given(TEXTS)
def test_a_label_in_mermaid_has_nothing_that_ends_it_and_reads_back(text: str) -> None:
    escaped = mermaid_escape(text)

    assert re.search(r"[;%#\"<>{}:\n\r-]|direction\s|\[\[|\]\]", re.sub(r"#\d+;", "", escaped)) is None
    assert re.sub(r"#(\d+);", lambda found: chr(int(found[1])), escaped) == text


@given(TEXTS)
def test_a_label_in_plantuml_has_nothing_that_ends_it_and_reads_back(text: str) -> None:
    escaped = plantuml_escape(text)

    assert re.search(r"[;%#\"<>{}:\n\r\\'/*~!$-]|__|\[\[|\]\]", re.sub(r"<U\+[0-9A-F]+>", "", escaped)) is None
    assert re.sub(r"<U\+([0-9A-F]+)>", lambda found: chr(int(found[1], 16)), escaped) == text


@given(TEXTS)
def test_a_label_for_graphviz_has_no_bare_quote(text: str) -> None:
    escaped = dot_escape(text)

    assert re.fullmatch(r'(?:[^"\\\n\r]|\\[\\"n])*', escaped) is not None


@given(TEXTS)
def test_no_name_makes_a_line(name: str) -> None:
    odd = define(state(name), final("Done", "success"), transitions=(to(1, "Go", 2),), id="m")
    plain = define(state("direction"), final("Done", "success"), transitions=(to(1, "Go", 2),), id="m")

    assert len(plantuml(odd).split("\n")) == len(plantuml(plain).split("\n"))
    assert len(dot(odd).split("\n")) == len(dot(plain).split("\n"))


# --- size


def test_a_large_diagram_has_one_arrow_per_pair_and_the_kinds_of_events() -> None:
    guard = ("==", ("event", "n"), ("lit", 1))
    twice = [row(Transition(1, (kind,), "to", (Branch(2),), guard=guard)) for kind in ("A", "B")] * MOST_ARROWS
    large = define(
        state("Open", on_enter=(Call("hello"),)),
        final("Done", "success"),
        transitions=tuple(twice),
    )

    assert lines(mermaid(large)) == ["stateDiagram-v2", "[*] --> Open", "Open --> Done : A | B", "Done --> [*]"]


def test_a_larger_one_has_no_words() -> None:
    text = lines(mermaid(chain(MOST_ARROWS)))

    assert text[:3] == ["stateDiagram-v2", "[*] --> Step0", "Step0 --> Step1"]
    assert len(text) == MOST_ARROWS + 3


def test_a_label_is_cut_at_300_characters() -> None:
    long = ("or", *[("==", ("event", "n"), ("lit", number)) for number in range(2000)])
    text = mermaid(define(state("Open"), final("Done", "success"), transitions=(to(1, "Go", 2, guard=long),)))

    assert max(map(len, lines(text))) < 330
    assert "…" in text
