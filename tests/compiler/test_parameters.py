"""A fragment's own text: it is checked whoever uses it, and its parameters keep their kinds (language.md section 2)."""

from __future__ import annotations

import pytest

from harelc.compiler import Compilation, compile_text

EVENTS = "event Go { n: int }\n"
USE = """
machine payment {
  initial Charging
  use Retry(work = charge, ok = (n == 1), out = Late, wait = 5, go = Go) as Charging
  final Paid success {}
  final Late failed {}
  from Charging to Paid
}
"""


def retry(body: str) -> str:
    """A fragment with a parameter of each kind."""
    return f"{EVENTS}fragment Retry(work: action, ok: guard, out: state, wait: value, go: event) {{\n{body}\n}}\n"


def errors(text: str) -> list[tuple[str, int]]:
    """Code and line of every error."""
    return [(issue.code, issue.line) for issue in compile_text(text).issues if issue.is_error]


FINE = """initial Try
  state Try { on enter work(k: wait)  timeout wait }
  final Good success {}
  from Try to Good on go where ok and n > wait set context.last = wait
  from Try to out on Timeout"""


def test_each_kind_of_parameter_is_put_in() -> None:
    payment = compile_text(retry(FINE) + USE).definitions["payment"]
    trying = payment.states[payment.index["Charging.Try"]]
    paid, late = payment.own_transitions[payment.index["Charging.Try"]]

    assert (trying.on_enter[0].name, trying.on_enter[0].inputs, trying.timeout) == ("charge", (("k", 5),), 5)
    assert paid.kinds == ("Go",)
    assert paid.guard == ("and", ("==", ("event", "n"), ("lit", 1)), (">", ("event", "n"), ("lit", 5)))
    assert paid.sets[0].value == ("lit", 5)
    assert late.branches[0].target == payment.index["Late"]


@pytest.mark.parametrize(
    "statement",
    [
        "state Try { on enter go }",
        "state Try { on enter note(text: out) }",
        "state Try { defer wait }",
        "from Try to Good on ok",
        "from Try to Good on go where wait",
        "from Try to Good on go where n > work",
        "from Try to Good on go set context.last = work",
        "from Try to go on Timeout",
        "from Try select ok on go { else to Good }",
    ],
)
def test_a_parameter_where_another_kind_is_needed(statement: str) -> None:
    body = f"initial Try\nstate Try {{}}\nfinal Good success {{}}\n{statement}"

    assert ("fragment_argument", 6) in errors(retry(body))
    assert ("fragment_argument", 6) in errors(retry(body) + USE)


def test_a_parameter_of_no_kind_stands_at_the_kind() -> None:
    found = compile_text(EVENTS + "fragment Ask(go: evnt) {\n  initial A\n  state A {}\n}\n").issues

    assert [(issue.code, issue.line, issue.column, issue.hint) for issue in found] == [
        ("syntax_error", 2, 18, "did you mean `event`?")
    ]


def test_a_parameter_handed_on_keeps_its_kind() -> None:
    inner = "fragment Inner(out: state) { initial A  state A {}  from A to out on Timeout }\n"

    assert errors(retry("initial X\nuse Inner(out = out) as X") + inner) == []
    assert errors(retry("initial X\nuse Inner(out = go) as X") + inner) == [("fragment_argument", 4)]


@pytest.mark.parametrize(("word", "code"), [("timeout", "timeout_invalid"), ("ttl", "ttl_not_positive")])
def test_a_delay_that_is_no_parameter(word: str, code: str) -> None:
    inside = f"initial A\n {word} soon\n state A {{}}\n final B success {{}}\n from A to B on Go"
    machine = f"{EVENTS}machine order {{\n {inside}\n}}"

    assert (code, 4) in errors(machine)


def test_a_library_is_checked_though_nothing_uses_it() -> None:
    library = """fragment Ask {
  initial A
  state A { invoke bank }
  use Step as B
  from A to B on Gone where rich
}
"""

    assert errors(library) == [
        ("unknown_machine", 3),
        ("unknown_fragment", 4),
        ("unknown_event", 5),
        ("unknown_guard", 5),
    ]


def test_a_fault_in_a_fragment_is_told_once_for_all_its_uses() -> None:
    text = EVENTS + "fragment Ask {\n  initial A\n  state A {}\n  from A to Nowhere on Go\n}\n"
    text += (
        "machine claim { initial One  use Ask as One  use Ask as Two  from One to Two on Go  from Two to One on Go }"
    )

    assert errors(text) == [("unknown_state", 5)]


# --- what grows


def grown(levels: int, fragment: str, last: str, use: str) -> Compilation:
    """Fragments that use one another, each the next one, and a machine that uses the first."""
    text = EVENTS + "".join(fragment.format(i, i + 1) + "\n" for i in range(levels)) + last.format(levels)
    return compile_text(text + f"machine m {{ initial X\n{use}\nfinal D success {{}}\nfrom X to D on Go }}")


def test_fragments_that_double_are_stopped_at_the_outermost_use() -> None:
    doubling = "fragment F{0} {{ initial A  use F{1} as A  use F{1} as B  from A to B on Go }}"
    found = grown(40, doubling, "fragment F{0} {{ initial A  state A {{}} }}\n", "use F0 as X")
    (issue,) = (issue for issue in found.issues if issue.is_error)

    assert (issue.code, issue.line) == ("too_large", 44)
    assert [note.line for note in issue.notes[:2]] == [2, 3]
    assert found.definitions == {}


def test_predicates_that_double_are_stopped() -> None:
    doubling = "fragment F{0}(g: guard) {{ initial A  use F{1}(g = (g and g)) as A }}"
    last = "fragment F{0}(g: guard) {{ initial A  state A {{}}  final B success {{}}  from A to B on Go where g }}\n"
    found = grown(25, doubling, last, "use F0(g = (n == 1)) as X")

    assert [issue.code for issue in found.issues if issue.is_error] == ["too_large"]


def test_fragments_too_deep_in_one_another_are_one_finding() -> None:
    chain = "fragment F{0} {{ initial A  use F{1} as A }}"
    found = grown(80, chain, "fragment F{0} {{ initial A  state A {{}} }}\n", "use F0 as X")

    assert [issue.code for issue in found.issues if issue.is_error] == ["too_deep"]
