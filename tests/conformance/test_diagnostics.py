"""What the checker must find and where it must stay silent, case by case: `diagnostics/*.json` (language.md 6)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from harelc.compiler import compile_source
from harelc.diagnostics import Finding, Source
from harelc.reading import Unreadable
from harelc.tree import Span

Case = Mapping[str, Any]
Found = tuple[str, str, str, int]
"""Code, severity, the file's name without its folder, line."""

CASES: Mapping[str, Case] = {
    f"{file.stem}/{case['name']}": case
    for file in sorted((Path(__file__).parent / "diagnostics").glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))
}
BEHAVIOUR: Mapping[str, Case] = {
    f"{file.stem}/{case['name']}": case
    for file in sorted((Path(__file__).parent / "behaviour").glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))
    if not case.get("invalid")
}


def findings(case: Case) -> set[Found]:
    """All that is found in a case's `main.stm` and what it imports."""
    texts = {name: "\n".join(lines) + "\n" for name, lines in case["files"].items()}

    def load(name: str) -> Source:
        if name not in texts:
            raise Unreadable(Finding("import_not_found", Span(name, 0, 0), name), Source(name, ""))
        return Source(name, texts[name])

    issues = compile_source(Source("main.stm", texts["main.stm"]), load).issues
    return {(issue.code, issue.severity, PurePosixPath(issue.file).name, issue.line) for issue in issues}


@pytest.mark.parametrize("name", CASES)
def test_the_findings_are_those_of_the_case(name: str) -> None:
    case = CASES[name]
    expected = {(one["code"], one["severity"], one["file"], one["line"]) for one in case["expect"]}
    found = findings(case)

    assert expected <= found
    if case.get("exactly"):
        assert found == expected


@pytest.mark.parametrize("name", BEHAVIOUR)
def test_a_machine_that_runs_has_no_errors(name: str) -> None:
    assert [one for one in findings(BEHAVIOUR[name]) if one[1] == "error"] == []
