"""What the rules conclude and what they leave alone: what may hold, what is reached, what follows (language.md 5, 6).

The plain examples of each rule are its own (`test_rule_examples.py`); here are the cases that need thought.
"""

from __future__ import annotations

import pytest

from harelc.compiler import compile_text
from harelc.durations import seconds


def found(text: str) -> list[tuple[str, int]]:
    """Code and line of each finding."""
    return [(issue.code, issue.line) for issue in compile_text(text).issues]


# --- automatic choices: complete, or not


def choice(schema: str, branches: str) -> list[tuple[str, int]]:
    """What is found about an automatic `choose` with these branches in line 6."""
    return found(f"""machine order {{
  {schema}
  initial Checking
  state Checking {{}}
  final Done success {{}}
  from Checking choose {{ {branches} }}
}}""")


HANGS = [("choose_can_hang", 6)]


def test_a_comparison_and_its_opposite_are_complete_where_the_key_is_surely_there() -> None:
    branches = "when context.n == 1 to Done  when context.n != 1 to Done"

    assert choice("context { n: int = 0 }", branches) == []
    assert choice("context { n: int? }", branches) == HANGS
    assert choice("", branches) == HANGS


def test_not_covers_an_absent_key() -> None:
    branches = "when context.n == 1 to Done  when not context.n == 1 to Done"

    assert choice("context { n: int? }", branches) == []
    assert choice("", branches) == []


def test_an_order_and_its_opposite_need_a_number() -> None:
    branches = "when context.n < 3 to Done  when context.n >= 3 to Done"

    assert choice("context { n: float = 0 }", branches) == []
    assert choice("context { n: any = 0 }", branches) == HANGS


def test_between_whole_numbers_there_is_nothing() -> None:
    branches = "when context.n <= 3 to Done  when context.n >= 4 to Done"

    assert choice("context { n: int = 0 }", branches) == []
    assert choice("context { n: float = 0.0 }", branches) == HANGS


def test_a_bool_has_two_values() -> None:
    branches = "when context.ok == true to Done  when context.ok in [false] to Done"

    assert choice("context { ok: bool = false }", branches) == []
    assert choice("context { ok: bool? }", branches) == HANGS


def test_text_is_compared_by_order_too() -> None:
    branches = 'when context.s < "m" to Done  when context.s == "m" to Done  when context.s > "m" to Done'

    assert choice('context { s: string = "" }', branches) == []


def test_what_compares_two_keys_may_be_false_both_ways() -> None:
    branches = "when context.a == context.b to Done  when context.a != context.b to Done"

    assert choice("context { a: int?  b: int? }", branches) == HANGS


def test_a_misspelt_key_does_not_make_a_choice_hang_as_well() -> None:
    branches = "when context.okk == true to Done  when context.ok == false to Done"

    assert choice("context { ok: bool = false }", branches) == [("unknown_context_field", 6)]


def test_completeness_is_seen_through_named_guards() -> None:
    text = """guard large = context.n > 9
guard small = not large
machine order {
  context { n: int = 0 }
  initial Checking
  state Checking {}
  final Done success {}
  from Checking choose { when large to Done  when small to Done }
}"""

    assert found(text) == []


def test_a_region_may_lack_what_is_not_passed_to_it() -> None:
    text = """machine order {
  context { n: int = 0 }
  initial Both
  orthogonal Both {
    %s
    state Stock {
      initial Checking
      state Checking {}
      final Fine success {}
      from Checking choose { when context.n == 1 to Fine  when context.n != 1 to Fine }
    }
  }
  final Done success {}
  from Both to Done
}"""

    assert found(text % "with { n: n }") == []
    assert found(text % "") == [("choose_can_hang", 10)]


# --- which transitions can be taken


def guarded(*guards: str) -> list[tuple[str, int]]:
    """What is found about transitions with these guards, one a line from line 5 on."""
    lines = "\n".join(f"  from Cart to Done on Paid {guard}" for guard in guards)
    return found(f"""event Paid {{ amount: int  note: string? }}
machine order {{ initial Cart
  state Cart {{}}
  final Done success {{}}
{lines}
}}""")


def test_complete_guards_hide_what_stands_below() -> None:
    assert guarded("where amount > 3", "where amount <= 3", "") == [("shadowed_transition", 7)]
    assert guarded("where amount > 3", "where amount < 3", "") == []


def test_a_narrower_guard_below_a_wider_one_is_hidden() -> None:
    assert guarded("where amount > 3", "where amount > 5") == [("shadowed_transition", 6)]
    assert guarded("where amount > 5", "where amount > 3") == []


def test_an_optional_field_may_be_absent_so_its_opposites_hide_nothing() -> None:
    assert guarded('where note == "x"', 'where note != "x"', "") == []
    assert guarded('where note == "x"', 'where not note == "x"', "") == [("shadowed_transition", 7)]


def test_a_wrong_comparison_hides_nothing() -> None:
    assert guarded('where amount == "x"', "") == [("compare_type_mismatch", 5)]


def test_many_guards_cost_little() -> None:
    assert guarded(*(f"where amount == {number}" for number in range(50)), "", "") == [("shadowed_transition", 56)]


def test_a_handler_that_contradicts_itself_handles_no_timeout() -> None:
    text = """machine order {
  context { n: int = 0 }
  initial Cart
  state Cart { timeout 5 }
  final Done success {}
  from Cart to Done on Timeout where context.n > 3 and context.n < 2
  from Cart to Done on Cancel
}"""

    assert found(text) == [("timeout_unhandled", 4)]


# --- what is reached


def test_a_composite_that_never_ends_is_not_left_automatically() -> None:
    text = """event Go {}
machine order {
  initial Work
  state Work {
    initial A
    state A {}
    state B {}
    from A to B on Go
    from B to A on Go%s
  }
  final Done success {}
  from Work to Done
}"""

    assert found(text % "") == [("unreachable", 11)]
    assert found(text % "\n    final C success {}  from B to C on Cancel") == [("cancel_target_not_terminal", 10)]


def test_only_the_outermost_unreachable_state_is_reported() -> None:
    text = """event Go {}
machine order {
  initial Cart
  state Cart {}
  state Lost { initial A  state A {}  final B success {}  from A to B on Go }
  final Done success {}
  from Cart to Done on Go
  from Lost to Done
}"""

    assert found(text) == [("unreachable", 5)]


def test_a_jump_inside_does_not_pass_the_initial_state() -> None:
    text = """event Go {}
machine order {
  initial Cart
  state Cart {}
  state Work { initial A  state A {}  state B {}  from A to B on Go  from B to B on Go }
  final Done success {}
  from Cart to Work.B on Go
  from Work to Done on Cancel
}"""

    assert found(text) == [("unreachable", 5)]


def test_nothing_is_unreachable_because_of_a_misspelt_target_or_source() -> None:
    text = """event Go {}
machine order {
  initial Cart
  state Cart {}
  state Paying {}
  final Done success {}
  from Cart to Payin on Go
  from Paying to Done on Go
}"""

    assert found(text) == [("unknown_state", 7)]
    assert found(text.replace("Payin ", "Paying ").replace("from Paying", "from Payin")) == [("unknown_state", 8)]


def test_what_a_warning_says_never_comes_still_counts_as_a_way() -> None:
    text = """event Go {}
machine order {
  initial Cart
  state Cart {}
  final Done success {}
  final Odd failed {}
  from Cart to Done on Go
  from Cart to Odd on Returned
}"""

    assert found(text) == [("returned_without_invoke", 8)]


# --- circles


def test_a_circle_through_the_end_of_a_composite() -> None:
    text = """machine order {
  initial Work
  state Work { initial A  state A {}  state B {}  from A to B }
  final Done success {}
  from Work to Work
}"""

    assert ("automatic_cycle", 5) in found(text)


def test_a_state_that_leaves_for_itself_is_a_circle() -> None:
    text = """machine order {
  initial A
  state A {}
  from A to A
}"""

    assert found(text) == [("automatic_cycle", 4)]


def test_a_circle_is_reported_once_at_its_last_transition() -> None:
    text = """machine order {
  initial A
  state A {}
  state B {}
  state C {}
  from C to A
  from A to B
  from B to C
}"""

    assert found(text) == [("automatic_cycle", 8)]


def test_waiting_for_children_breaks_a_circle() -> None:
    text = """machine order {
  initial A
  state A {}
  orthogonal B { state R { outcome success } }
  from A to B
  from B to A
}"""

    assert found(text) == []


def test_two_machines_that_start_each_other_at_once() -> None:
    text = """machine order {
  initial Paying
  state Paying { invoke payment }
  final Done success {}
  from Paying to Done on Returned
}
machine payment {
  initial First
  state First {}
  state Again { invoke order }
  final Paid success {}
  from First to Again
  from Again to Paid on Returned
}"""

    assert found(text) == [("invoke_cycle", 3), ("invoke_cycle", 10)]


def test_a_fan_out_may_be_empty_so_it_is_no_circle() -> None:
    text = """machine node {
  context { inner: any = [] }
  initial Walk
  state Walk { invoke node for one in inner with { inner: one } }
  final Done success {}
  from Walk to Done
}"""

    assert found(text) == []


# --- endings


def test_a_terminal_of_a_composite_that_rests_needs_no_outcome() -> None:
    text = """event Go {}
machine order {
  initial Work
  state Work { initial A  state A {} }
  final Done success {}
  from Work to Done on Go
}"""

    assert found(text) == []


def test_cancel_may_leave_a_region_only_by_its_own_terminal() -> None:
    text = """event Go {}
machine order {
  initial Both
  orthogonal Both {
    state L {
      initial A
      state A {}
      state Sub { initial X  final X success {} }
      final B success {}
      final Gone cancelled {}
      from A to Sub on Go
      from Sub to B
      from A to Gone on Cancel
      from Sub to Sub.X on Cancel
    }
  }
  final Done success {}
  from Both to Done
}"""

    assert found(text) == [("cancel_target_not_terminal", 14)]


def test_both_reserved_kinds_have_their_own_code() -> None:
    text = """event Go {}
machine order {
  ttl 5
  initial A
  state A {}
  state B {}
  final C success {}
  from A to B on Cancel | Expired
  from B to C on Go
}"""

    assert found(text) == [("cancel_target_not_terminal", 8), ("expired_target_not_terminal", 8)]


# --- children


def test_a_return_is_covered_by_its_outcomes_one_by_one() -> None:
    text = """event Pay {}
event Refuse {}
machine order {
  initial Paying
  state Paying { invoke payment }
  final Done success {}
  from Paying to Done on Returned where outcome == "success" or outcome == "refused"%s
}
machine payment {
  initial Asking
  state Asking {}
  final Paid success {}
  final Refused refused {}
  final Late late {}
  from Asking to Paid on Pay
  from Asking to Refused on Refuse
  from Asking to Late on Cancel
}"""

    assert found(text % "") == [("returned_incomplete", 5)]
    assert found(text % '  from Paying to Done on Returned where outcome in ["late"]') == []


def test_a_composite_that_invokes_has_one_finding_whatever_leaves_it() -> None:
    text = """machine order {
  initial Work
  state Work { invoke payment  initial A  final A success {} }
  final Done success {}
  from Work to Done
}
machine payment {
  initial Paid
  final Paid success {}
}"""

    assert found(text) == [("invoke_on_composite", 3)]


def test_an_inline_machine_is_checked_like_any_other() -> None:
    text = """event Pay { amount: int }
machine order {
  initial Paying
  state Paying {
    invoke {
      context { total: int = 0 }
      ttl 0
      initial Asking
      state Asking { timeout 5 }
      final Paid success {}
      from Asking to Paid on Pay where amont > 0 set context.totl = 1
    }
  }
  final Done success {}
  from Paying to Done on Returned
}"""

    assert found(text) == [
        ("ttl_not_positive", 7),
        ("ttl_without_effect", 7),
        ("timeout_unhandled", 9),
        ("unknown_event_field", 11),
        ("unknown_context_field", 11),
    ]


# --- fragments and guards


def test_a_fault_in_a_guard_stands_at_each_where_that_uses_it() -> None:
    text = """event Paid { amount: int }
event Moved {}
guard large = amount > 10
machine order {
  initial A
  state A {}
  final B success {}
  from A to B on Paid where large
  from A to B on Moved
    where large
}"""
    issues = compile_text(text).issues

    assert [(issue.code, issue.line) for issue in issues] == [("unknown_event_field", 10)]
    assert [note.line for note in issues[0].notes] == [3]


def test_a_fault_in_a_fragment_is_reported_once_however_often_it_is_used() -> None:
    text = """event Paid { amount: int }
fragment Ask {
  initial A
  state A { timeout 5 }
  final B success {}
  from A to B on Paid where amont > 0
}
machine order {
  initial One
  use Ask as One
  use Ask as Two
  final Done success {}
  from One to Two
  from Two to Done
}"""

    assert found(text) == [("timeout_unhandled", 4), ("unknown_event_field", 6)]


def test_a_value_that_becomes_a_timeout_is_judged_where_it_is_given() -> None:
    text = """fragment Wait(long: value) {
  initial A
  state A { timeout long }
  final B success {}
  from A to B on Timeout
}
machine order {
  initial One
  use Wait(long = "soon") as One
  final Done success {}
  from One to Done
}"""

    assert found(text) == [("timeout_invalid", 9)]


def test_a_timeout_reads_a_number_from_the_context() -> None:
    text = """machine order {
  context { wait: %s }
  initial A
  state A { timeout context wait }
  final B success {}
  from A to B on Timeout
}"""

    assert found(text % "float = 2") == []
    assert found(text % 'string = "2"') == [("timeout_invalid", 4)]


# --- several findings


def test_the_second_of_two_states_with_one_name_has_no_further_finding() -> None:
    text = """event Go {}
machine order {
  initial Cart
  state Cart {}
  state Cart { timeout 5  initial A  state A {} }
  final Done success {}
  from Cart to Done on Go
}"""

    assert found(text) == [("duplicate_declaration", 5)]


def test_nothing_is_concluded_from_what_a_syntax_error_hides() -> None:
    text = """event Go {}
event Paid {}
machine order {
  initial Cart
  state Cart { timeout 5 }
  final Done success {}
  form Cart to Done on Go | Paid | Timeout
}"""

    assert found(text) == [("syntax_error", 7)]


def test_a_state_that_a_syntax_error_hides_is_not_unknown_as_well() -> None:
    text = """event Go {}
machine order {
  initial Cart
  stat Cart {}
  final Done success {}
  from Cart to Done on Go
}"""

    assert found(text) == [("syntax_error", 4)]


def test_what_a_lost_import_or_declaration_may_have_brought_is_not_unknown_as_well() -> None:
    text = """%s
machine order {
  initial Cart
  use lib.Ask as Cart
  final Done success {}
  from Cart to Done on Paid where large
}"""

    assert found(text % 'import "lib.stm" as lib') == [("import_not_found", 1)]
    assert found(text % "event Paid { amount int }") == [("syntax_error", 1)]


def test_a_reserved_kind_is_not_unknown_as_well() -> None:
    text = """machine order {
  initial Cart
  state Cart { defer Timeout }
  final Done success {}
  from Cart to Done on Finished
}"""

    assert found(text) == [("reserved_event", 3), ("reserved_event", 5)]


def test_an_outcome_at_the_wrong_level_is_one_finding() -> None:
    text = """event Go {}
machine order {
  initial Cart
  state Cart {}
  final Done success { initial A  state A {} }
  from Cart to Done on Go
}"""

    assert found(text) == [("outcome_on_composite", 5)]


def test_a_fork_that_ends_a_machine_says_nothing_about_how() -> None:
    text = """machine order {
  initial Both
  orthogonal Both { state R { outcome success } }
}"""

    assert found(text) == [("terminal_missing_outcome", 3)]


def test_two_machines_of_one_name_are_one_finding() -> None:
    text = """machine order {
  initial Done
  final Done success {}
}
machine order {
  initial Done
  final Done success {}
}"""

    assert found(text) == [("duplicate_declaration", 5)]


@pytest.mark.parametrize(
    ("statement", "line_2"),
    [
        ("event Go { a: int  a: string }", True),
        ("machine m { initial A  final A success {}  context { n: int = 0  n: int = 1 } }", True),
        ("machine m { initial A  state A { timeout 5  timeout 6 }  final B success {}  from A to B on Timeout }", True),
        (
            "machine m { initial A  state A {}  final B ok  from A to B on Cancel set context.n = 1, context.n = 2 }",
            True,
        ),
        ("machine m { initial A  final A success { on enter pay(sum: 1, sum: 2) } }", True),
        ("machine m { initial A  final A success { carry x, x } }", True),
        ("machine m { initial A  final A success { outcome failed } }", True),
        (
            "machine m { initial A  state A {}  final B ok {}  from A to B on Cancel  from A to B on Cancel | error }",
            False,
        ),
    ],
)
def test_twice_the_same_inside_one_thing(statement: str, line_2: bool) -> None:
    codes = {code for code, line in found(f"\n{statement}") if line == 2}

    assert ("duplicate_declaration" in codes) is line_2


# --- durations


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("45", 45),
        ("15m", 900),
        ("1.5h", 5400),
        ("0.5s", 0.5),
        ("1e3", 1000),
        ("2w", 1_209_600),
        ("0", None),
        ("-5s", None),
        ("0.5", None),
        ("5y", None),
        ("1e400d", None),
        ("36500d", 3_153_600_000),
        ("36501d", None),
    ],
)
def test_seconds_of_a_duration(raw: str, expected: float | None) -> None:
    assert seconds(raw) == expected
