"""What `harelc check` prints for machines, held against what they take: the schema of SARIF, GitHub's way of reading
workflow commands (build.md section 2).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from commands import REPOSITORY, Command
from jsonschema import Draft4Validator

from .tools import node_modules

DIAGNOSTICS = REPOSITORY / "golden" / "diagnostics"
HOSTILE = "50% off, really: %0A::error.stm"
"""A file's name that would be a second command if it were not escaped."""

NOT_HERE = {"import_outside", "unbound_handler"}
"""Findings that a check of the whole repository does not have: about a project's border, and about one program."""


@pytest.fixture(scope="module")
def schema() -> Draft4Validator:
    """The schema of SARIF 2.1.0, as a package of Microsoft's ships it."""
    (file,) = (node_modules() / "@microsoft" / "jest-sarif" / "lib" / "schemas").glob("sarif-2.1.0*.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    Draft4Validator.check_schema(content)
    return Draft4Validator(content)


@pytest.fixture
def findings(project: Path, harelc: Command) -> list[dict[str, Any]]:
    """The findings of a file with a hostile name, which the current folder then holds."""
    (project / HOSTILE).write_text("machine m { initial A state A {} from A to B on Go }\n")
    found = json.loads(harelc("check", "--format", "json").out)
    assert isinstance(found, list) and len(found) > 1
    return found


def mistakes(schema: Draft4Validator, log: str) -> list[str]:
    """Where and why a log breaks the schema."""
    errors = schema.iter_errors(json.loads(log))
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in errors]


def test_the_schema_refuses_what_is_no_log(schema: Draft4Validator) -> None:
    assert mistakes(schema, '{"version": "2.1.0", "runs": [{"results": []}]}') == [
        "runs/0: 'tool' is a required property"
    ]


def test_every_finding_there_is_fits_the_schema(schema: Draft4Validator, harelc: Command) -> None:
    log = harelc("check", DIAGNOSTICS, "--format", "sarif").out
    codes = {result["ruleId"] for result in json.loads(log)["runs"][0]["results"]}

    assert codes >= {folder.name for folder in DIAGNOSTICS.iterdir()} - NOT_HERE
    assert mistakes(schema, log) == []


def test_no_findings_are_a_log_too(schema: Draft4Validator, project: Path, harelc: Command) -> None:
    (project / "fine.stm").write_text("machine m { initial A final A ok {} }\n")
    log = harelc("check", "--format", "sarif").out

    assert mistakes(schema, log) == []
    assert json.loads(log)["runs"][0]["results"] == []


def test_a_log_names_files_by_addresses(
    schema: Draft4Validator, findings: list[dict[str, Any]], harelc: Command
) -> None:
    log = harelc("check", "--format", "sarif").out
    places = [result["locations"][0]["physicalLocation"] for result in json.loads(log)["runs"][0]["results"]]
    addresses = {place["artifactLocation"]["uri"] for place in places}

    assert mistakes(schema, log) == []
    assert [unquote(address) for address in addresses] == [HOSTILE]
    assert not any(sign in address for address in addresses for sign in " :,")
    assert [place["region"]["startColumn"] for place in places] == [finding["column"] for finding in findings]


# --- GitHub


def read_command(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as GitHub's runner reads it: its name, its properties, its text."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    name, _, properties = head.partition(" ")
    pairs = (pair.split("=", 1) for pair in properties.split(","))
    return name, {key: _plain(value, (":", ",")) for key, value in pairs}, _plain(data, ())


def _plain(text: str, further: tuple[str, ...]) -> str:
    for sign in ("\r", "\n", *further, "%"):
        text = text.replace(f"%{ord(sign):02X}", sign)
    return text


def test_github_reads_back_every_finding_from_a_line_of_its_own(
    findings: list[dict[str, Any]], harelc: Command
) -> None:
    checked = harelc("check", "--format", "github")
    commands = [read_command(line) for line in checked.out.splitlines()]

    assert checked.status == 1
    assert [(name, place["file"], place["title"]) for name, place, _ in commands] == [
        (finding["severity"], HOSTILE, finding["code"]) for finding in findings
    ]
    assert [(place["line"], place["col"], place["endLine"], place["endColumn"]) for _, place, _ in commands] == [
        tuple(str(finding[key]) for key in ("line", "column", "end_line", "end_column")) for finding in findings
    ]
    assert [text for _, _, text in commands] == [
        finding["message"] + (f"\nhelp: {finding['hint']}" if finding["hint"] else "") for finding in findings
    ]
