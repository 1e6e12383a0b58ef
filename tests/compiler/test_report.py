"""How issues are printed (build.md sections 1 and 2, edges.md)."""

from __future__ import annotations

import json

from harel.issue import Issue, Note
from harelc import report
from harelc.diagnostics import Source

ORDER = Source("machines/order.stm", "machine order {\n" + "\n" * 12 + "  from Waiting to Payed on Authorized\n}\n")
PAYED = Issue(
    "machines/order.stm", 14, 19, 14, 24, "unknown_state", "error",
    "no state `Payed` is visible from `order`", "a state with a similar name exists: `Paid`",
)  # fmt: skip
UNUSED = Issue("machines/order.stm", 1, 9, 1, 14, "unused_event", "warning", "nothing handles it")


def shown(line: str, column: int, end: int) -> list[str]:
    """The line and the mark below it, as printed for a place in it."""
    issue = Issue("a.stm", 1, column, 1, end, "syntax_error", "error", "odd")
    lines = report.text([issue], {"a.stm": Source("a.stm", line)}, color=False).split("\n")
    return [lines[3].removeprefix("1 | "), lines[4].removeprefix("  | ")]


def test_an_issue_shows_its_line_with_a_mark_and_help() -> None:
    text = report.text([PAYED], {ORDER.name: ORDER}, color=False)

    assert text == (
        "error[unknown_state]: no state `Payed` is visible from `order`\n"
        "  --> machines/order.stm:14:19\n"
        "   |\n"
        "14 |   from Waiting to Payed on Authorized\n"
        "   |                   ^^^^^\n"
        "   = help: a state with a similar name exists: `Paid`\n"
        "\n"
        "1 error\n"
    )


def test_the_last_line_counts_errors_and_warnings() -> None:
    sources = {ORDER.name: ORDER}

    assert report.text([PAYED, PAYED, UNUSED], sources, color=False).endswith("\n2 errors, 1 warning\n")
    assert report.text([UNUSED, UNUSED], sources, color=False).endswith("\n2 warnings\n")
    assert report.text([], sources, color=False) == ""


def test_a_note_names_its_place() -> None:
    issue = Issue(
        "a.stm", 2, 7, 2, 9, "duplicate_declaration", "error", "`Go` is declared twice", None,
        (Note("lib.stm", 1, 7, "first declared here"),),
    )  # fmt: skip

    assert "  = note: lib.stm:1:7: first declared here\n" in report.text([issue], {}, color=False)


def test_colour_comes_only_when_asked_for() -> None:
    assert "\x1b" not in report.text([PAYED, UNUSED], {ORDER.name: ORDER}, color=False)
    assert report.text([PAYED], {}, color=True).startswith("\x1b[1;31merror[unknown_state]\x1b[0m")
    assert report.text([UNUSED], {}, color=True).startswith("\x1b[1;33mwarning[unused_event]\x1b[0m")


def test_the_mark_stands_under_its_place_behind_tabs_and_wide_characters() -> None:
    assert shown("\tform A", 2, 6) == ["    form A", "    ^^^^"]
    assert shown('from "日本" too A', 11, 14) == ['from "日本" too A', "            ^^^"]


def test_control_characters_of_a_source_are_shown_escaped() -> None:
    assert shown("a \x1b[31m b", 9, 10) == [r"a \x1b[31m b", "           ^"]
    assert shown("a \u202e b", 5, 6) == [r"a \u202e b", "         ^"]


def test_control_characters_of_a_message_are_shown_escaped() -> None:
    issue = Issue("a.stm", 1, 1, 1, 2, "unknown_state", "error", "no state `a\n\x1b[2J`")

    assert report.text([issue], {}, color=False).startswith("error[unknown_state]: no state `a\\n\\x1b[2J`\n")


def test_a_place_without_width_gets_one_mark() -> None:
    assert shown("from A to", 10, 10) == ["from A to", "         ^"]


def test_of_a_very_long_line_the_part_around_the_place_is_shown() -> None:
    line, mark = shown("[" + "1, " * 5_000 + "x]", 15_002, 15_003)

    assert line.startswith("…")
    assert line.endswith(" 1, x]")
    assert line[mark.index("^")] == "x"


def test_json_is_one_array_with_every_key() -> None:
    assert json.loads(report.as_json([PAYED, UNUSED]))[1] == {
        "code": "unused_event",
        "severity": "warning",
        "file": "machines/order.stm",
        "line": 1,
        "column": 9,
        "end_line": 1,
        "end_column": 14,
        "message": "nothing handles it",
        "hint": None,
    }
    assert json.loads(report.as_json([])) == []


def test_a_github_annotation_is_one_line_with_its_signs_escaped() -> None:
    issue = Issue("a,b:c.stm", 1, 2, 3, 4, "syntax_error", "error", "100 %\nodd", "try: again")

    assert report.github([issue]) == (
        "::error file=a%2Cb%3Ac.stm,line=1,endLine=3,col=2,endColumn=4,title=syntax_error"
        "::100 %25%0Aodd%0Ahelp: try: again\n"
    )


def test_sarif_names_rule_level_and_region() -> None:
    note = Note("lib.stm", 3, 1, "first here")
    issue = Issue("my machines/a.stm", 2, 7, 2, 9, "syntax_error", "error", "odd", "so", (note,))
    log = json.loads(report.sarif([UNUSED, issue]))

    assert log["version"] == "2.1.0"
    run = log["runs"][0]
    assert run["tool"]["driver"]["rules"] == [{"id": "syntax_error"}, {"id": "unused_event"}]
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("unused_event", 1, "warning")
    assert second["message"] == {"text": "odd\nhelp: so"}
    assert second["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "my%20machines/a.stm"},
                "region": {"startLine": 2, "startColumn": 7, "endLine": 2, "endColumn": 9},
            }
        }
    ]
    assert second["relatedLocations"][0]["message"] == {"text": "first here"}
