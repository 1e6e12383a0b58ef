"""textX's own commands on the installed compiler (build.md section 5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Result

from harelc.version import VERSION

from .conftest import Run

LIGHT = """event Go {}

machine light {
  initial Red
  state Red {}
  final Green success {}
  from Red to Green on Go
}
"""

TextX = Callable[..., Result]


@pytest.fixture
def textx(python: Run, tmp_path: Path) -> TextX:
    """`textx(*arguments)` runs the command beside a `light.stm`."""
    (tmp_path / "light.stm").write_text(LIGHT)
    return lambda *arguments: python("-c", "from textx.cli import textx; textx()", *arguments)


def test_textx_lists_the_language_and_its_generators(textx: TextX) -> None:
    languages, generators = textx("list-languages"), textx("list-generators")

    assert f"harel (*.stm) harelc[{VERSION}] State machines" in " ".join(languages.err.split())
    for target in ("harel-python", "PlantUML", "dot"):
        assert f"harel -> {target} harelc[{VERSION}]" in " ".join(generators.err.split())


def test_check_passes_a_sound_file(textx: TextX, tmp_path: Path) -> None:
    checked = textx("check", "light.stm")

    assert (checked.status, checked.err) == (0, f"{tmp_path / 'light.stm'}: OK.\n")


def test_check_prints_all_findings_of_a_broken_file(textx: TextX, tmp_path: Path) -> None:
    (tmp_path / "light.stm").write_text(LIGHT.replace("to Green on Go", "to Grean on Gone"))
    checked = textx("check", "light.stm")

    assert checked.status == 1
    assert checked.err.startswith("ERROR: light.stm:7:15: error[unknown_state]: no state `Grean`")
    assert "error[unknown_event]" in checked.err
    assert "7 |   from Red to Grean on Gone\n" in checked.err
    assert checked.err.endswith("\n2 errors\n")
    assert "Traceback" not in checked.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"machine light {", "error[syntax_error]"),
        (b"\xff\xfe\x00", "error[encoding_error]"),
        (b"machine light { initial A state A {} from A to B on Go }", "error[unknown_state]"),
    ],
    ids=["syntax", "encoding", "names"],
)
@pytest.mark.parametrize("command", [("check",), ("generate", "--target", "harel-python")], ids=["check", "generate"])
def test_no_broken_file_ends_in_a_traceback(
    textx: TextX, tmp_path: Path, command: tuple[str, ...], content: bytes, told: str
) -> None:
    (tmp_path / "light.stm").write_bytes(content)
    done = textx(*command, "light.stm")

    assert done.status == 1
    assert told in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "light.py").exists()


def test_a_file_that_is_not_there_is_named(textx: TextX) -> None:
    checked = textx("check", "gone.stm")

    assert (checked.status, checked.err) == (1, "ERROR: gone.stm: there is no such file or folder\n")


def test_warnings_are_printed_and_pass(textx: TextX, tmp_path: Path) -> None:
    (tmp_path / "light.stm").write_text(LIGHT.replace("state Red {}", "state Red { timeout 5s }"))
    checked = textx("check", "light.stm")

    assert checked.status == 0
    assert "warning[timeout_unhandled]" in checked.err


def test_generate_writes_what_build_writes(textx: TextX, python: Run, tmp_path: Path) -> None:
    generated = textx("generate", "light.stm", "--target", "harel-python", "-o", "out")
    built = python("-m", "harelc", "build", "light.stm", "-o", "built")

    assert (generated.status, built.status) == (0, 0)
    assert generated.err.endswith(f"{tmp_path / 'light.stm'}\n-> out/light.py\n-> out/light.mmd\n")
    for file in ("light.py", "light.mmd"):
        assert (tmp_path / "out" / file).read_bytes() == (tmp_path / "built" / file).read_bytes()


def test_generate_replaces_a_module_only_when_told_to(textx: TextX, tmp_path: Path) -> None:
    textx("generate", "light.stm", "--target", "harel-python")
    (tmp_path / "light.stm").write_text(LIGHT.replace("machine light", "machine light version 2"))
    kept = textx("generate", "light.stm", "--target", "harel-python")
    first = (tmp_path / "light.py").read_text()
    textx("generate", "light.stm", "--target", "harel-python", "--overwrite")

    assert "-- NOT overwriting: light.py\n" in kept.err
    assert "VERSION = 1" in first
    assert "VERSION = 2" in (tmp_path / "light.py").read_text()


def test_generate_never_replaces_what_somebody_wrote(textx: TextX, tmp_path: Path) -> None:
    (tmp_path / "light.py").write_text("MINE = True\n")
    generated = textx("generate", "light.stm", "--target", "harel-python", "--overwrite")

    assert generated.status == 1
    assert "light.py was not made by harelc" in generated.err
    assert (tmp_path / "light.py").read_text() == "MINE = True\n"


@pytest.mark.parametrize(
    ("target", "file", "start"), [("PlantUML", "light.puml", "@startuml"), ("dot", "light.dot", "digraph")]
)
def test_generate_draws_each_machine(textx: TextX, tmp_path: Path, target: str, file: str, start: str) -> None:
    generated = textx("generate", "light.stm", "--target", target, "-o", "drawn")

    assert generated.status == 0
    assert generated.err.endswith(f"{tmp_path / 'light.stm'}\n-> drawn/{file}\n")
    assert (tmp_path / "drawn" / file).read_text().startswith(start)
    assert "NOT overwriting" in textx("generate", "light.stm", "--target", target, "-o", "drawn").err


def test_a_program_gets_machines_from_texts_too(textx: TextX, python: Run) -> None:
    program = (
        "from textx import metamodel_for_language, TextXSyntaxError\n"
        "metamodel = metamodel_for_language('harel')\n"
        "print(*metamodel.model_from_str('machine m { initial A final A ok {} } # sound').definitions)\n"
        "try: metamodel.model_from_str('machine m {{')\n"
        "except TextXSyntaxError as error: print(error.filename, error.line, error.col)\n"
    )

    assert python("-c", program).out == "m\nmain.stm 1 12\n"
