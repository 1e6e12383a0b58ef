"""What `harelc diff` finds: differences in meaning, and nothing else (build.md section 1)."""

from __future__ import annotations

import pytest

from harel.definition import Definition
from harelc.compiler import compile_text
from harelc.difference import Change, Difference, Kind, Rename, compare, compare_machines
from harelc.difference_diagram import mermaid_difference
from harelc.difference_report import Told, as_json, text

ORDER = """
event Checkout { amount: int }
event Paid { status: string }
event Packed {}
guard rich = amount > 100
bind { charge = shop.payments.charge }
machine order version 2 {
  ttl 30d
  context { amount: int = 0  note: string? }
  initial Cart
  state Cart {}
  state AwaitingPayment { timeout 15m  on enter hold }
  state Packing {
    initial Wrapping
    state Wrapping {}
    state Wrapped {}
    from Wrapping to Wrapped on Packed
  }
  final Delivered success { on enter charge }
  final Abandoned abandoned {}
  from Cart to AwaitingPayment on Checkout where rich set context.amount = event.amount
  from AwaitingPayment to Packing on Paid where status == "ok"
  from AwaitingPayment to Abandoned on Paid
  from AwaitingPayment to Abandoned on Timeout
  from Packing to Delivered
}
"""


def machine(source: str, name: str = "order") -> Definition:
    """The machine of a source that may be built."""
    compilation = compile_text(source)
    assert [issue.message for issue in compilation.issues if issue.is_error] == []
    return compilation.definitions[name]


def difference(*replaced: tuple[str, str]) -> Difference:
    """What the order differs in after texts of its source were replaced."""
    edited = ORDER
    for old, new in replaced:
        assert old in edited
        edited = edited.replace(old, new)
    return compare(machine(ORDER), machine(edited))


def changes(*replaced: tuple[str, str]) -> list[tuple[str, str, str, str | None, str | None]]:
    found = difference(*replaced).changes
    return [(change.subject, change.name, change.aspect, change.old, change.new) for change in found]


# --- what is no difference


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("machine order", "# a remark\n## Documentation.\nmachine order"),
        ("timeout 15m", "timeout 900"),
        ("state Cart {}", 'state "Cart" { }'),
        ("ttl 30d\n  context", "context"),  # and below it stands again, elsewhere
        ("on Checkout where rich", "on Checkout where amount > 100"),
        ("guard rich = amount > 100", "guard rich = not (not (amount > 100))"),
        ("amount: int = 0  note: string?", "note: string?  amount: int = 0"),
    ],
)
def test_what_means_the_same_is_no_difference(old: str, new: str) -> None:
    edited = ORDER.replace(old, new)
    edited = edited.replace("initial Cart", "initial Cart  ttl 30d") if "ttl" in old else edited
    found = compare(machine(ORDER), machine(edited))

    assert [change for change in found.changes if change.subject != "guard"] == []


def test_another_order_of_states_or_of_transitions_of_different_states_is_no_difference() -> None:
    moved = ORDER.replace("  state Cart {}\n", "").replace("  final Abandoned", "  state Cart {}\n  final Abandoned")
    found = compare(machine(ORDER), machine(moved))

    assert (found.kind, found.changes, found.has_other_digest) == (None, (), True)


# --- each part


def test_a_version_and_a_ttl() -> None:
    assert changes(("version 2", "version 3"), ("ttl 30d", "ttl 60")) == [
        ("version", "", "", "2", "3"),
        ("ttl", "", "", "2592000s", "60s"),
    ]


def test_a_state_and_what_leads_to_it() -> None:
    assert changes(
        ("  final Abandoned", "  state Reviewing { on exit close }\n  final Abandoned"),
        (
            "  from Packing to",
            "  from Reviewing to Packing on Packed\n  from Cart to Reviewing on Paid\n  from Packing to",
        ),
    ) == [
        ("state", "Reviewing", "", None, "leaf, on exit close"),
        ("transition", "Cart", "", None, "to Reviewing on Paid"),
        ("transition", "Reviewing", "", None, "to Packing on Packed"),
    ]


def test_what_a_state_does() -> None:
    charged = ("on enter charge", "on enter charge(card: true)  carry amount")
    assert changes(charged, ("on enter hold", "defer Packed")) == [
        ("state", "AwaitingPayment", "on enter", "hold", None),
        ("state", "AwaitingPayment", "defer", None, "Packed"),
        ("state", "Delivered", "on enter", "charge", "charge(card: true)"),
        ("state", "Delivered", "carry", None, "amount"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (" set context.amount = event.amount", "", "to AwaitingPayment on Checkout where rich"),
        ("where rich", "where not rich or amount == 7",
         "to AwaitingPayment on Checkout where not rich or amount == 7 set context.amount = event.amount"),
        ("AwaitingPayment on Checkout where rich", "Packing.Wrapped on Checkout where rich",
         "to Packing.Wrapped on Checkout where rich set context.amount = event.amount"),
        ("on Checkout where rich set context.amount = event.amount", "on Checkout | Packed",
         "to AwaitingPayment on Checkout | Packed"),
    ],
)  # fmt: skip
def test_a_transition_is_found_again_and_shown_as_in_the_source(old: str, new: str, expected: str) -> None:
    before = "to AwaitingPayment on Checkout where rich set context.amount = event.amount"
    transitions = [change for change in changes((old, new)) if change[0] == "transition"]

    assert transitions == [("transition", "Cart", "", before, expected)]


def test_a_guard_that_means_something_else_changes_the_transitions_that_use_it() -> None:
    text = "to AwaitingPayment on Checkout where rich set context.amount = event.amount"

    assert changes(("amount > 100", "amount > 200")) == [
        ("transition", "Cart", "", text, f"{text}  (a guard in it means something else)"),
        ("guard", "rich", "", "amount > 100", "amount > 200"),
    ]


def test_the_order_of_transitions_counts_where_they_compete() -> None:
    first, second = (
        '  from AwaitingPayment to Packing on Paid where status == "ok"\n',
        "  from AwaitingPayment to Abandoned on Paid\n",
    )
    assert changes((first + second, second + first)) == [
        (
            *("transition", "AwaitingPayment", "order"),
            'first to Packing on Paid where status == "ok"',
            "first to Abandoned on Paid",
        )
    ]
    third = "  from AwaitingPayment to Abandoned on Timeout\n"
    assert changes((second + third, third + second)) == []


def test_timers_context_events_and_bindings() -> None:
    assert changes(
        ("timeout 15m  on", "on"),
        ("state Cart {}", "state Cart { timeout context amount }"),
        ("amount: int = 0", "amount: float = 0.5"),
        ("note: string?", "who: any"),
        ("{ amount: int }", "{ amount: int?  coupon: string }"),
        ("event Packed {}", "event Packed {}\nevent Lost {}"),
        ("shop.payments.charge", "shop.bank.charge"),
        ("from AwaitingPayment to Abandoned on Timeout", "from Cart to Abandoned on Timeout"),
    ) == [
        ("transition", "Cart", "", None, "to Abandoned on Timeout"),
        ("transition", "AwaitingPayment", "", "to Abandoned on Timeout", None),
        ("timer", "Cart", "", None, "context amount"),
        ("timer", "AwaitingPayment", "", "900s", None),
        ("context", "amount", "", "int = 0", "float = 0.5"),
        ("context", "note", "", "string?", None),
        ("context", "who", "", None, "any"),
        ("event", "Checkout", "amount", "int", "int?"),
        ("event", "Checkout", "coupon", None, "string"),
        ("event", "Lost", "", None, "{}"),
        ("binding", "charge", "", "shop.payments.charge", "shop.bank.charge"),
    ]


FORKS = """
event Go {{}}
machine child {{ initial A  state A {{}}  final Done ok {{}}  from A to Done on Go }}
machine order {{
  context {{ items: any = [] }}
  initial Checks
  orthogonal Checks {{ {regions} }}
  state Verdict {{}}
  state Paying {{ {invoke} }}
  final Done ok {{}}
  from Checks join all to Verdict else to Done
  from Verdict {verdict}
  from Paying {back}
}}
"""
STOCK = "state Stock { initial S  state S {}  final Ok success {}  from S to Ok on Go }"
FRAUD = STOCK.replace("Stock", "Fraud")


def forks(
    regions: str = f"{STOCK} {FRAUD}",
    invoke: str = "invoke child",
    verdict: str = 'select judge returns {"a", "b"} on Go { "a" to Paying  "b" to Done }',
    back: str = "to Done on Returned",
) -> Definition:
    return machine(FORKS.format(regions=regions, invoke=invoke, verdict=verdict, back=back))


def test_regions_joins_selectors_and_invokes() -> None:
    before = forks()
    after = forks(
        regions=f"cancel_on_failure {FRAUD} {STOCK}",
        verdict='select judge(k: 1) returns {"a", "b"} on Go { "b" to Done  "a" to Paying }',
        invoke="invoke child for item in items",
        back="join any to Done else to Verdict",
    )

    assert [(change.name, change.aspect, change.old, change.new) for change in compare(before, after).changes] == [
        ("Checks", "on failure", None, "cancel the others"),
        ("Checks", "order of regions", "Stock, Fraud", "Fraud, Stock"),
        ("Paying", "invoke", "child (version 1)", "child for item in items (version 1)"),
        ("Verdict", "", 'select judge on Go { "a" to Paying  "b" to Done }',
         'select judge(k: 1) on Go { "b" to Done  "a" to Paying }'),
        ("Paying", "", "to Done on Returned", None),
        ("Paying", "", None, "join any to Done else to Verdict"),
    ]  # fmt: skip


# --- renames


def test_a_state_with_the_same_inside_under_another_name_is_suggested_as_renamed() -> None:
    assert difference(("Packing", "Boxing")).renames == (Rename("Packing", "Boxing"),)
    assert difference(("Wrapped", "Boxed")).renames == (Rename("Packing.Wrapped", "Packing.Boxed"),)


def test_a_state_with_another_inside_is_not_the_old_one() -> None:
    assert difference(("Packing", "Boxing"), ("state Wrapped {}", "state Wrapped { on enter seal }")).renames == ()


TWINS = """
event Go {}
machine order {
  initial A
  state A {}
  state B { on enter x }
  state C { on enter x }
  final Done ok {}
  from A to B on Go
  from B to Done on Go
  from C to Done on Go
}
"""


def test_of_states_that_are_alike_only_what_leads_to_them_tells_which_is_which() -> None:
    renamed = TWINS.replace("B", "D").replace("C {", "E {").replace("C to", "E to")

    assert compare(machine(TWINS), machine(renamed)).renames == (Rename("B", "D"),)


# --- machines


def test_machines_are_found_again_by_name_and_the_highest_versions_belong_together() -> None:
    one, two, three = (machine(ORDER.replace("version 2", f"version {number}")) for number in (1, 2, 3))
    refund = machine(ORDER.replace("machine order", "machine refund"), "refund")

    found = compare_machines([one, two, refund], [two, three])

    assert [(each.machine, each.old and each.old.version, each.new and each.new.version) for each in found] == [
        ("order", 2, 2),
        ("order", 1, 3),
        ("refund", 2, None),
    ]
    assert [each.kind for each in found] == [None, Kind.CHANGED, Kind.REMOVED]


def test_machines_written_inside_are_compared_too() -> None:
    inline = "initial B  state B {}  final C ok {}  from B to C on Go"
    states = f"initial A  state A {{ invoke {{ {inline} }} }}  final Done ok {{}}  from A to Done on Returned"
    source = f"event Go {{}}\nmachine order {{ {states} }}"
    outer, inner = compare_machines([machine(source)], [machine(source.replace("final C ok", "final C bad"))])

    assert (outer.machine, outer.kind) == ("order", None)
    assert (inner.machine, inner.changes) == ("order:A", (Change("state", "C", "outcome", "ok", "bad"),))


def test_a_long_chain_of_guards_is_only_long() -> None:
    guards = "guard g0 = amount > 1\n" + "".join(f"guard g{n} = g{n - 1} or not g{n - 1}\n" for n in range(1, 2000))
    source = ORDER.replace("where rich", "where g1999").replace("guard rich = amount > 100", guards)
    found = compare(machine(source), machine(source.replace("amount > 1\n", "amount > 2\n")))

    assert [change.subject for change in found.changes] == ["transition", "guard"]


# --- as text, JSON and diagram


def told(*replaced: tuple[str, str]) -> list[Told]:
    return [Told(difference(*replaced))]


def test_the_text_marks_what_came_and_what_went() -> None:
    assert text(told(("timeout 15m", "timeout 1m"), ('status == "ok"', 'status == "yes"')), color=False) == """\
machine order  version 2
  transitions
    ~ from AwaitingPayment
        - to Packing on Paid where status == "ok"
        + to Packing on Paid where status == "yes"
  timers
    ~ AwaitingPayment  900s -> 60s

2 changed in 1 machine
"""  # fmt: skip


def test_nothing_from_a_source_reaches_a_terminal_raw() -> None:
    evil = '"\\u001b[2J\\u009b31m\\u202e|`"'
    shown = text(told(('status == "ok"', f"status == {evil}")), color=False)

    assert all(character.isprintable() or character == "\n" for character in shown)
    assert "\\u202e" in shown


def test_the_diagram_is_green_where_it_is_new_and_red_where_it_is_gone() -> None:
    lost = ("final Abandoned", "final Lost lost {}\n  final Abandoned")
    drawn = mermaid_difference(difference(("on Timeout", "on Packed"), lost))
    lines = [line.strip() for line in drawn.splitlines()]

    assert lines[0] == "flowchart TB"
    assert 's7("#43; Lost")' in lines
    assert 's2 ==>|"#43; on Packed"| s8' in lines
    assert 's2 -.->|"#45; on Timeout"| s8' in lines
    assert 's2 -->|"on Paid"| s8' in lines
    assert "class s7 added" in lines
    assert "linkStyle 6 stroke:#1a7f37,color:#1a7f37" in lines
    assert "linkStyle 5 stroke:#cf222e,color:#cf222e" in lines


def test_no_text_of_a_source_breaks_out_of_the_diagram() -> None:
    evil = 'a"] --> x[\\n%%{init}%% <script> ` |'
    kind = '"' + evil.replace('"', '\\"') + '"'
    drawn = mermaid_difference(difference(('status == "ok"', f"status == {kind}")))

    assert not {'"] -->', "<script>", "`", "%%"} & {part for part in ('"] -->', "<script>", "`", "%%") if part in drawn}


def test_a_diagram_that_mermaid_would_refuse_shows_what_differs_only() -> None:
    states = "".join(f"  state S{number} {{}}\n" for number in range(600))
    arrows = "".join(f"  from S{number} to S{(number + 1) % 600} on Go\n" for number in range(600))
    source = f"event Go {{}}\nevent Stop {{}}\nmachine order {{ initial S0\n{states}{arrows}}}"
    old, new = machine(source), machine(source.replace("from S7 to S8 on Go", "from S7 to S8 on Stop"))
    one = mermaid_difference(compare(old, new))
    all_ = mermaid_difference(compare(old, machine(source.replace("on Go", "on Stop"))))

    assert [line.strip() for line in one.splitlines() if ">|" in line] == [
        's8 -.->|"#45; on Go"| s9',
        's8 ==>|"#43; on Stop"| s9',
    ]
    assert len(all_) < 50_000
    assert sum("==>" in line or "-.->" in line for line in all_.splitlines()) == 500
    assert "and more that differs" in all_


def test_json_says_the_same() -> None:
    shown = as_json(told(("timeout 15m", "timeout 1m")))

    assert '"different": true' in shown
    assert '"subject": "timer"' in shown
