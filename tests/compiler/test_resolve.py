"""Names of states: where a transition begins and what it may lead to (language.md section 4)."""

from __future__ import annotations

import pytest

from harel import Definition

from .sources import compiled, found, issues, pointed_at

EVENTS = "event Go { n: int }\nevent Stop {}\n"


def machine(body: str, before: str = "") -> Definition:
    made = compiled(f"{EVENTS}{before}machine order {{ {body} }}\n")
    assert not made.has_errors, made.issues
    return made.definitions["order"]


def arrows(definition: Definition) -> list[tuple[str, str, str]]:
    """Source, kinds and first target of each transition, in the order in which they are tried."""
    paths = definition.paths
    return [(paths[one.source], "|".join(one.kinds), paths[one.branches[0].target]) for one in definition.transitions]


def test_a_target_is_the_nearest_state_of_that_name_outwards() -> None:
    made = machine("""
      initial A
      state A {
        initial B
        state B {
          initial C  state C {}  state D {}
          from C to D on Go
          from C to E on Stop
          from D to F on Go
        }
        state D {}  state E {}
        from B to D on Go
        from D to E on Go
        from E to F on Go
      }
      state D {}
      final F success {}
      from A to D on Stop
      from D to F on Go
    """)

    assert arrows(made) == [
        ("A.B.C", "Go", "A.B.D"),
        ("A.B.C", "Stop", "A.E"),
        ("A.B.D", "Go", "F"),
        ("A.B", "Go", "A.D"),
        ("A.D", "Go", "A.E"),
        ("A.E", "Go", "F"),
        ("A", "Stop", "D"),
        ("D", "Go", "F"),
    ]


def test_a_dotted_target_steps_down_from_the_first_name() -> None:
    made = machine("""
      initial A  state A {}  state B { initial C  state C { initial D  state D {} } }  final F success {}
      from A to B.C.D on Go  from B to F on Stop
    """)

    assert arrows(made)[0] == ("A", "Go", "B.C.D")


def test_a_transition_of_the_bodys_own_state_keeps_its_place_in_the_source() -> None:
    made = machine("""
      initial A
      from A to F on Go where n == 1
      state A { from A to F on Go where n == 2 }
      from A to F on Go where n == 3
      final F success {}
    """)
    limits = [one.guard[2][1] for one in made.own_transitions[made.index["A"]] if one.guard]

    assert limits == [1, 2, 3]


def test_the_machine_itself_may_be_a_source() -> None:
    made = machine("initial A  state A {}  final F success {}  from A to F on Go  from order to F on Stop")

    assert arrows(made) == [("A", "Go", "F"), ("", "Stop", "F")]


def test_quoted_and_bare_are_one_name() -> None:
    made = machine("""initial "A"  state A {}  state "on hold" {}  final F success {}
        from "A" to "on hold" on "Go"
        from "on hold" to "F" on Stop""")

    assert arrows(made) == [("A", "Go", "on hold"), ("on hold", "Stop", "F")]


WORDS = (
    "state on context error set with from to initial final where choose select join all any else when use defer carry"
)


@pytest.mark.parametrize("word", WORDS.split())
def test_keywords_are_names_in_quotes_everywhere(word: str) -> None:
    made = machine(f'initial "{word}"  state "{word}" {{}}  final F success {{}}  from "{word}" to F on Go')

    assert arrows(made) == [(word, "Go", "F")]


@pytest.mark.parametrize("word", ["state", "on", "context", "error", "set", "with"])
def test_keywords_are_names_without_quotes_too(word: str) -> None:
    made = machine(f"initial {word}  state {word} {{}}  final F success {{}}  from {word} to F on Go")

    assert arrows(made) == [(word, "Go", "F")]


@pytest.mark.parametrize(
    ("transition", "code", "name", "hint"),
    [
        ("from A to Payd on Go", "unknown_state", "Payd", "`Paid`"),
        ("from Aa to Paid on Go", "unknown_state", "Aa", "`A`"),
        ("from A to Paid.Inn on Go", "unknown_state", "Paid.Inn", "`Paid.In`"),
        ("from A choose on Go { when n == 1 to Payd else to Paid }", "selector_target_unresolved", "Payd", "`Paid`"),
        (
            'from A select pick returns {"x"} on Go { "x" to Payd else to Paid }',
            "selector_target_unresolved",
            "Payd",
            "`Paid`",
        ),
    ],
)
def test_a_name_that_is_not_found_stands_at_the_name_with_the_nearest_one(
    transition: str, code: str, name: str, hint: str
) -> None:
    body = "initial A  state A {}  state Paid { initial In  final In done {} }  from Paid to F  final F success {}"
    text = f"{EVENTS}machine order {{ {body}\n {transition}\n from A to Paid on Stop }}\n"
    (issue,) = [one for one in issues(text) if one.severity == "error"]

    assert (issue.code, pointed_at(text, issue)) == (code, name)
    assert hint in (issue.hint or "")


def test_an_unresolved_target_of_a_join_is_an_unknown_state() -> None:
    body = "initial A  orthogonal A { state R { initial X final X success {} } }  final F success {}"
    text = f"{EVENTS}machine order {{ {body}\n from A join all to F else to G }}\n"

    assert [code for code, _, _ in found(text) if code.startswith(("unknown", "selector"))] == ["unknown_state"]


def test_an_initial_that_names_no_child_stands_at_the_name() -> None:
    text = f"{EVENTS}machine order {{ initial Cat  state Cart {{}}  final F success {{}}  from Cart to F on Go }}\n"
    (issue,) = [one for one in issues(text) if one.severity == "error"]

    assert (issue.code, pointed_at(text, issue), issue.hint) == (
        "initial_unresolved",
        "Cat",
        "a state of this body with a similar name exists: `Cart`",
    )


# --- guards


def test_each_reference_that_closes_a_circle_of_guards_is_reported_once() -> None:
    text = (
        "event Go {}\nguard a = b\nguard b = not c\nguard c = a or b\nmachine order { initial A  state A {}\n"
        "final F success {}  from A to F on Go where a }\n"
    )

    assert [code for code, _, _ in found(text)] == ["guard_cycle", "guard_cycle"]


def test_a_long_chain_of_guards_is_only_long() -> None:
    guards = "".join(f"guard g{number} = g{number + 1}\n" for number in range(2_000)) + "guard g2000 = n > 1\n"
    body = "initial A  state A {}  final F success {}  from A to F on Go where g0"
    made = compiled(f"event Go {{ n: int }}\n{guards}machine order {{ {body} }}\n")

    assert made.issues == ()
    assert len(made.definitions["order"].guards) == 2_001


def test_two_guards_of_one_name_in_two_files_are_two() -> None:
    files = {
        "main.stm": 'import "l.stm"\nguard good = n > 1\nmachine order { initial A  state A {}  final F success {}\n'
        "from A to F on Go where good and fine }\n",
        "l.stm": "event Go { n: int }\nguard good = n > 2\nguard fine = good\n",
    }
    made = compiled(files).definitions["order"]

    assert made.guards == {
        "fine": ("guard", "good@2"),
        "good": (">", ("event", "n"), ("lit", 1)),
        "good@2": (">", ("event", "n"), ("lit", 2)),
    }


def test_a_guard_that_the_program_binds_needs_no_declaration() -> None:
    body = "initial A  state A {}  final F success {}  from A to F on Go | Stop where ready"
    text = f"{EVENTS}machine order {{ {body} }}\n"

    assert [issue.code for issue in compiled(text).issues] == ["unknown_guard"]
    assert compiled(text, guards=("ready",)).issues == ()
    assert compiled(text, guards=("ready",)).definitions["order"].open_guards == ("ready",)


# --- inline machines


def test_an_inline_machine_is_a_machine_of_its_own_inside_the_other() -> None:
    made = machine("""
      context { parcels: any = [] }
      initial A
      state A {
        invoke for parcel in parcels {
          context { parcel: any? }
          initial X  state X { invoke { initial Y  final Y success {} } }  final Z success {}
          from X to Z on Returned
        }
        with { parcel: parcel }
      }
      final F success {}  from A join all to F else to F  from A to F on Stop | Go
    """)
    (inner,) = made.inline
    (innermost,) = inner.inline
    state = made.states[1]

    assert (inner.id, innermost.id) == ("order:A", "order:A:X")
    assert state.invoke is not None and state.invoke.items == "parcels"
    assert state.passes == (("parcel", ("item",)),)
    assert inner.paths == ("", "X", "Z") and innermost.paths == ("", "Y")
    assert list(inner.context or {}) == ["parcel"]


def test_a_misspelt_name_is_found_whatever_its_case() -> None:
    made = issues(f"{EVENTS}machine order {{ initial A  state A {{}}  final F success  from a to f on GO }}")

    assert [(issue.code, issue.hint) for issue in made if issue.is_error] == [
        ("unknown_state", "a state of this body with a similar name exists: `A`"),
        ("unknown_state", "a state with a similar name exists: `F`"),
        ("unknown_event", "an event with a similar name exists: `Go`"),
    ]


def test_a_target_that_stands_further_in_is_shown_with_its_way() -> None:
    inner = "state C { initial D  state D { initial X  state X {}  final Y }  final E  from D to E }"
    (issue,) = issues(
        f"{EVENTS}machine order {{ initial A  state A {{}}  {inner}  final F success"
        "  from C to F  from A to X on Go|Stop }"
    )

    assert (issue.code, issue.hint) == ("unknown_state", "a state of that name stands further in: `C.D.X`")
