"""What a `use` becomes: parameters of every kind, uses inside uses, and limits (language.md 2 and 3, edges.md)."""

from __future__ import annotations

import time

import pytest

from harel import Definition

from .sources import MAIN, compiled, found, issues, pointed_at

EVENTS = "event Go { n: int }\nevent Stop {}\n"


def machine(text: str) -> Definition:
    """The only machine of a source without errors."""
    made = compiled(EVENTS + text)
    assert not made.has_errors, made.issues
    (definition,) = made.definitions.values()
    return definition


def arrows(definition: Definition) -> list[tuple[str, str]]:
    """Source and first target of each transition, as paths."""
    paths = definition.paths
    return [(paths[one.source], paths[one.branches[0].target]) for one in definition.transitions]


def order(uses: str, more: str = "") -> str:
    return f"machine order {{ initial First {uses} {more} final Done success {{}} }}\n"


# --- parameters


def test_a_state_argument_is_looked_up_where_the_fragment_is_used() -> None:
    fragment = """fragment Ask(out: state) {
      initial A  state A {}  state Done {}
      from A to out on Go
      from Done to out on Go
    }
    """

    assert arrows(machine(fragment + order("use Ask(out = Done) as First"))) == [
        ("First.A", "Done"),
        ("First.Done", "Done"),
    ]


@pytest.mark.parametrize("written", ["Next.Inner", 'Next."Inner"', '"Next"."Inner"'])
def test_a_state_argument_may_step_down(written: str) -> None:
    fragment = "fragment Ask(out: state) { initial A  state A {}  from A to out on Go }\n"
    following = "state Next { initial Inner  state Inner {}  from Inner to Done on Go }"

    assert arrows(machine(fragment + order(f"use Ask(out = {written}) as First", following)))[0] == (
        "First.A",
        "Next.Inner",
    )


def test_a_target_may_step_down_from_a_state_argument() -> None:
    fragment = "fragment Ask(out: state) { initial A  state A {}  from A to out.Inner on Go }\n"
    following = "state Next { initial Inner  state Inner {}  from Inner to Done on Go }"

    assert arrows(machine(fragment + order("use Ask(out = Next) as First", following)))[0] == ("First.A", "Next.Inner")


def test_a_value_stands_in_inputs_timeouts_assignments_and_comparisons() -> None:
    fragment = """fragment Ask(wait: value) {
      initial A
      state A { timeout wait  on enter note(after: wait) }
      from A to A on Timeout set context.k = wait
      from A to A on Go where n == wait
    }
    """
    made = machine(fragment + order("use Ask(wait = 90) as First", "context { k: int = 0 } from First to Done on Stop"))
    state = made.states[made.index["First.A"]]

    assert (state.timeout, state.on_enter[0].inputs) == (90, (("after", 90),))
    assert made.transitions[0].sets[0].value == ("lit", 90)
    assert made.transitions[1].guard == ("==", ("event", "n"), ("lit", 90))


@pytest.mark.parametrize(("written", "value"), [('"text"', "text"), ("null", None), ("[1, [true]]", (1, (True,)))])
def test_a_value_is_any_literal(written: str, value: object) -> None:
    fragment = (
        "fragment Ask(v: value) { initial A  state A { on enter note(v: v) }  from A to Done on Go  final Done x {} }\n"
    )
    made = machine(fragment + order(f"use Ask(v = {written}) as First", "from First to Done"))

    assert made.states[made.index["First.A"]].on_enter[0].inputs == (("v", value),)


def test_an_action_brings_inputs_and_the_fragments_own_win() -> None:
    fragment = "fragment Ask(work: action) { initial A  state A { on enter work(b: 3) }  from A to A on Go }\n"
    made = machine(fragment + order("use Ask(work = charge(a: 1, b: 2)) as First", "from First to Done on Stop"))

    assert made.states[made.index["First.A"]].on_enter == (("charge", (("a", 1), ("b", 3))),)


@pytest.mark.parametrize(
    ("argument", "expression"),
    [
        ("small", ("guard", "small")),
        ("(n > 1)", (">", ("event", "n"), ("lit", 1))),
        ("(small and n > 1)", ("and", ("guard", "small"), (">", ("event", "n"), ("lit", 1)))),
    ],
)
def test_a_guard_is_a_name_or_a_predicate_in_parentheses(argument: str, expression: object) -> None:
    fragment = "guard small = n < 5\nfragment Ask(ok: guard) { initial A  state A {}  from A to A on Go where ok }\n"
    made = machine(fragment + order(f"use Ask(ok = {argument}) as First", "from First to Done on Stop"))

    assert made.transitions[0].guard == expression


@pytest.mark.parametrize("written", ["Go", '"Go"'])
def test_an_event_stands_on_transitions_and_in_defer(written: str) -> None:
    fragment = """fragment Ask(go: event) {
      initial A  state A {}  state B { defer go }
      from A to B on go
      from B to A on Stop
    }
    """
    made = machine(fragment + order(f"use Ask(go = {written}) as First", "from First to Done on Stop"))

    assert made.transitions[0].kinds == ("Go",)
    assert made.states[made.index["First.B"]].defers == ("Go",)


# --- uses


def test_without_parameters_parentheses_are_optional_and_without_as_the_name_is_the_fragments() -> None:
    made = machine("""
      fragment Ask { initial A  state A {}  from A to A on Go }
      fragment Tell() { initial B  state B {}  from B to B on Go }
      machine order {
        initial Ask
        use Ask
        use Tell() as Told
        final Done success {}
        from Ask to Told on Stop
        from Told to Done on Stop
      }
    """)

    assert made.paths == ("", "Ask", "Ask.A", "Told", "Told.B", "Done")


def test_uses_inside_uses_hand_on_every_kind() -> None:
    fragments = """guard small = n < 5
    fragment Inner(out: state, ok: guard, work: action, go: event, wait: value) {
      initial A
      state A { on enter work  timeout wait }
      from A to out on go where ok
    }
    fragment Outer(out: state, ok: guard, work: action, go: event, wait: value) {
      initial W
      state W {
        initial X
        use Inner(out = out, ok = (ok and n > 1), work = work, go = go, wait = wait) as X
      }
    }
    """
    use = "use Outer(out = Done, ok = small, work = charge(a: 1), go = Go, wait = 7) as First"
    made = machine(fragments + order(use, "from First to Done on Timeout"))
    state = made.states[made.index["First.W.X.A"]]

    assert arrows(made)[0] == ("First.W.X.A", "Done")
    assert made.transitions[0].guard == ("and", ("guard", "small"), (">", ("event", "n"), ("lit", 1)))
    assert (state.timeout, state.on_enter) == (7, (("charge", (("a", 1),)),))


def test_a_fragments_own_text_sees_its_own_file_and_its_arguments_the_file_that_uses_it() -> None:
    library = """guard good = n > 100
    bind { note = lib.note }
    fragment Ask(ok: guard, work: action) {
      initial A
      state A { on enter note  on exit work }
      from A to A on Go where good
      from A to A on Go where ok
    }
    """
    main = f'import "lib.stm" as lib\n{EVENTS}guard good = n < 5\nbind {{ note = main.note }}\n' + order(
        "use lib.Ask(ok = good, work = note) as First", "from First to Done on Stop"
    )
    made = compiled({MAIN: main, "lib.stm": EVENTS + library}).definitions["order"]
    keys = [one.guard[1] for one in made.transitions if one.guard]
    state = made.states[made.index["First.A"]]

    assert [made.guards[key][2] for key in keys] == [("lit", 100), ("lit", 5)]
    called = [made.binds.get(call.name, call.name) for call in (*state.on_enter, *state.on_exit)]
    assert called == ["lib.note", "main.note"]


def test_the_states_documentation_is_the_uses_or_else_the_fragments() -> None:
    fragment = "## Asks.\nfragment Ask { initial A  state A {}  from A to A on Go }\n"
    rows = machine(
        fragment + "machine order {\n initial B\n use Ask as B\n ## The second.\n use Ask as C\n from B to C on Stop\n"
        " from C to D on Stop\n final D success {}\n}\n"
    ).docs

    assert [(doc.name, doc.text) for doc in rows if doc.subject == "state"] == [("B", "Asks."), ("C", "The second.")]


# --- findings


def test_a_fault_inside_a_fragment_is_reported_once_however_often_it_is_used() -> None:
    fragment = "fragment Ask {\n initial A\n state A {}\n from A to Gone on Go\n}\n"
    uses = "use Ask as First use Ask as Second from First to Second on Stop from Second to Done on Stop"

    assert found(EVENTS + fragment + order(uses)) == [("unknown_state", MAIN, 6)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ok = small", "the fragment `Ask` needs the argument `out`, which is not given"),
        ("out = Done, ok = small, other = 1", "the fragment `Ask` has no parameter `other`"),
        ("out = Done, ok = 7", "the argument `ok` of `Ask` is no guard"),
        ("out = 7, ok = small", "the argument `out` of `Ask` is no state"),
        ("out = (n == 1), ok = small", "the argument `out` of `Ask` is no state"),
    ],
)
def test_wrong_arguments_stand_at_the_use(arguments: str, message: str) -> None:
    fragment = """guard small = n < 5
    fragment Ask(out: state, ok: guard) { initial A  state A {}  from A to out on Go where ok }
    """
    text = EVENTS + fragment + order(f"use Ask({arguments}) as First", "from First to Done on Stop")
    (issue,) = [one for one in issues(text) if one.severity == "error"]

    assert (issue.code, pointed_at(text, issue), issue.message) == ("fragment_argument", "Ask", message)


def test_an_unknown_fragment_has_the_nearest_name_as_a_hint_and_nothing_follows() -> None:
    fragment = "fragment Retry { initial A  state A {}  from A to A on Go }\n"
    text = EVENTS + fragment + order("use Retri as First", "from First to Done on Stop  from First.A to Done on Go")
    issue = issues(EVENTS + fragment + order("use Retri as First", "from First to Done on Stop"))[-1]

    assert (issue.code, issue.hint) == ("unknown_fragment", "a fragment with a similar name exists: `Retry`")
    assert "unknown_state" not in [code for code, _, _ in found(text)]


def test_fragments_in_a_circle_are_reported_once_at_the_use_that_closes_it() -> None:
    fragments = "fragment F { initial A\n use G as A }\nfragment G { initial B\n use F as B }\n"
    codes = [
        one
        for one in found(EVENTS + fragments + order("use F as First", "from First to Done on Stop"))
        if one[0] != "unused_event"
    ]

    assert codes == [("fragment_cycle", MAIN, 6)]


# --- limits


def test_a_machine_that_would_be_too_large_is_refused_while_it_grows() -> None:
    fragments = "".join(
        f"fragment F{number} {{ initial A  use F{number + 1} as A  use F{number + 1} as B  from A to B on Go }}\n"
        for number in range(40)
    )
    text = (
        EVENTS
        + fragments
        + "fragment F40 { initial A  state A {} }\n"
        + order("use F0 as First", "from First to Done on Stop")
    )
    start = time.perf_counter()
    (issue,) = [one for one in issues(text) if one.code == "too_large"]
    seconds = time.perf_counter() - start

    assert pointed_at(text, issue) == "F0" and "100,000" in issue.message
    assert [note.message for note in issue.notes][:2] == ["`F1` is used here", "`F2` is used here"]
    assert seconds < 20


def test_predicates_that_double_at_each_use_are_refused_while_they_grow() -> None:
    fragments = "".join(
        f"fragment F{number}(g: guard) {{ initial A  use F{number + 1}(g = (g or g and n > 1)) as A }}\n"
        for number in range(40)
    )
    text = (
        EVENTS
        + fragments
        + "fragment F40(g: guard) { initial A  state A {}  from A to A on Go where g }\n"
        + order("use F0(g = (n == 1)) as First", "from First to Done on Stop")
    )
    codes = {code for code, _, _ in found(text)}

    assert codes & {"too_large", "too_deep"}


def nested_uses(levels: int) -> str:
    fragments = "".join(f"fragment F{at} {{ initial A  use F{at + 1} as A }}\n" for at in range(1, levels))
    last = f"fragment F{levels} {{ initial A  state A {{}}  from A to A on Go }}\n"
    return EVENTS + fragments + last + order("use F1 as First", "from First to Done on Stop")


def test_fragments_in_fragments_go_as_deep_as_states_do() -> None:
    assert not compiled(nested_uses(63)).has_errors
    assert [code for code, _, _ in found(nested_uses(64)) if code == "too_deep"] == ["too_deep"]
    assert [code for code, _, _ in found(nested_uses(200)) if code == "too_deep"] == ["too_deep"]
