"""What only follows from a syntax error has no finding of its own (language.md section 6)."""

from __future__ import annotations

from harelc.compiler import compile_text

TEXT = """fragment Wait(delay: value, out: state) {
  initial Waiting
  state Waiting { timeout delay }
  from Waiting to out on Timeout
}
machine order {
  initial Pause
  use Wait(delay = %s, out = Done) as Pause
  final Done success {}
}"""


def codes(text: str) -> list[tuple[str, int, int]]:
    return [(issue.code, issue.line, issue.column) for issue in compile_text(text).issues]


def test_a_value_that_cannot_be_read_is_not_judged_as_well() -> None:
    assert codes(TEXT % "900") == []
    assert codes(TEXT % "15m") == [("syntax_error", 8, 20)]


def test_a_value_that_can_be_read_is_judged() -> None:
    assert codes(TEXT % '"soon"') == [("timeout_invalid", 8, 20)]
