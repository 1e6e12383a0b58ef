"""Syntax errors: what they say, where they stand, and what is read in spite of them (build.md section 2)."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from harelc import tree
from harelc.diagnostics import Source, issues
from harelc.syntax import parse

CONFORMANCE = Path(__file__).parent.parent / "conformance"

ORDER = """\
event Go {{}}
machine order {{
  initial Waiting
  state Waiting {{}}
{}
  final Done success {{}}
  from Waiting to Done on Go
}}
machine refund {{ initial Open  final Open success {{}} }}
"""


def found(text: str) -> list[str]:
    """`line:column message` of each finding, with the hint in parentheses."""
    source = Source("order.stm", text)
    _, findings = parse(source)
    return [
        f"{issue.line}:{issue.column} {issue.message}" + (f" ({issue.hint})" if issue.hint else "")
        for issue in issues(findings, {source.name: source})
    ]


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("  form Waiting to Done", "5:3 expected a statement or `}`, found `form` (did you mean `from`?)"),
        (
            "  from Waiting too Done",
            "5:16 expected `to`, `choose`, `select` or `join`, found `too` (did you mean `to`?)",
        ),
        ("  on entry work", "5:6 expected `enter`, `exit` or `activity`, found `entry` (did you mean `enter`?)"),
        (
            "  context { n: integer }",
            "5:16 expected a type (`string`, `int`, `float`, `bool` or `any`), found `integer` (did you mean `int`?)",
        ),
        (
            "  from Waiting to Done on Go where n = 1",
            "5:38 expected a comparison, `and`, `or`, `set`, a statement or `}`, found `=` (`==` compares)",
        ),
        ('  state "on hold {}', "5:9 this string is never closed"),
        ("  from A join most to B", "5:15 expected `all` or `any`, found `most`"),
        ("  no histroy", "5:6 expected `history`, found `histroy` (did you mean `history`?)"),
        (
            "  from A to B on 'Go'",
            "5:18 expected a name, found `'` (texts and quoted names stand in double quotes)",
        ),
        (
            "  use Retry(ok = status == 1)",
            "5:25 expected `(`, `,` or `)`, found `==` (a predicate as an argument stands in parentheses)",
        ),
        ("  from A to B on\u00a0Go", "5:17 expected a name, found the character U+00A0"),
        ("  from A to B on \0", "5:18 expected a name, found the character U+0000"),
        ("  event Late {}", "5:3 expected a statement or `}`, found `event` (`event` stands outside of machines)"),
    ],
)
def test_a_mistake_is_told_in_the_users_words(line: str, finding: str) -> None:
    assert found(ORDER.format(line)) == [finding]


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("  from Waiting to Done on", "5:26 expected a name, found the end of the line"),
        ("  initial", "5:10 expected a state, found the end of the line"),
        ("  timeout", "5:10 expected a number, a name or `context`, found the end of the line"),
        ("  from A to B set context.n =", "5:30 expected a value or `[`, found the end of the line"),
    ],
)
def test_a_line_that_ends_too_early_is_blamed_not_the_next(line: str, finding: str) -> None:
    assert found(ORDER.format(line)) == [finding]


def test_several_mistakes_are_found_in_one_run() -> None:
    text = ORDER.format("  form A to B\n  from A too B\n  state Paid { on entry pay }\n  timeout\n")

    assert [finding.split(" ")[0] for finding in found(text)] == ["5:3", "6:10", "7:19", "8:10"]


def test_a_lost_brace_does_not_spoil_the_next_machine() -> None:
    source = Source("order.stm", ORDER.format("  state Paid {"))
    file, findings = parse(source)

    assert [(finding.code, source.place(finding.span.start)) for finding in findings] == [("syntax_error", (9, 1))]
    assert findings[0].notes[0][1] == "this is never closed"
    machines = [item for item in file.items if isinstance(item, tree.Machine)]
    assert [(machine.name.text, machine.broken) for machine in machines] == [("order", True), ("refund", False)]
    assert not file.broken


def test_a_brace_too_many_is_one_finding() -> None:
    assert found(ORDER.format("  }")) == [
        "6:3 expected a declaration (`import`, `event`, `guard`, `bind`, `machine` or `fragment`), found `final` "
        "(statements stand inside a machine: is there a `}` too many above?)"
    ]


def test_a_text_that_ends_too_early_is_blamed_at_its_end() -> None:
    assert found("machine order {\n  state Paid {}\n\n") == [
        "2:16 expected a statement or `}`, found the end of the file"
    ]


def test_a_mistake_outside_of_machines_breaks_the_file_only() -> None:
    file, findings = parse(Source("order.stm", "evnt Go {}\nmachine order { initial A }\n"))

    assert findings[0].hint == "did you mean `event`?"
    assert file.broken
    machines = [item for item in file.items if isinstance(item, tree.Machine)]
    assert [(machine.name.text, machine.broken) for machine in machines] == [("order", False)]


def test_a_broken_machine_keeps_its_other_statements() -> None:
    file, _ = parse(Source("order.stm", ORDER.format("  from Waiting too Done")))
    machine = file.items[1]

    assert isinstance(machine, tree.Machine)
    assert [type(statement).__name__ for statement in machine.body] == ["Initial", "State", "State", "Transition"]


def test_what_looks_like_a_declaration_inside_of_one_is_read_as_what_it_is() -> None:
    file, findings = parse(Source("a.stm", "guard one = machine\nbind {}\nevent bind {}\n"))

    assert findings == ()
    assert [type(item).__name__ for item in file.items] == ["Guard", "Bind", "Event"]


def conformance_sources() -> list[str]:
    files = sorted(CONFORMANCE.glob("*/*.json"))
    cases = [case for file in files for case in json.loads(file.read_text(encoding="utf-8"))]
    return ["\n".join(lines) for case in cases for lines in case["files"].values()]


def test_any_one_token_mutation_gives_findings_inside_the_file_and_never_a_traceback() -> None:
    chance = random.Random(20)
    sources = conformance_sources()
    words = ["from", "state", "{", "}", "(", ")", '"', "on", "==", "#", "é", "\0", "12m", "with", "machine", "not", "["]
    for _ in range(400):
        text = chance.choice(sources)
        token = chance.choice(list(re.finditer(r'"[^"\n]*"|\w+|[^\s\w]', text)))
        word = chance.choice(words)
        instead = chance.choice(["", f"{token[0]} {token[0]}", word, f"{token[0]} {word}"])
        mutant = text[: token.start()] + instead + text[token.end() :]
        file, findings = parse(Source("m.stm", mutant))

        assert all(0 <= finding.span.start <= finding.span.end <= len(mutant) for finding in findings), mutant
        is_marked = file.broken or any(getattr(item, "broken", False) for item in file.items)
        assert bool(findings) == is_marked, mutant
