"""How the command ends: statuses, streams and last words, never a traceback (build.md section 1)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import Command, Result, environment

from harelc import cli, console


def ending(error: BaseException, capsys: pytest.CaptureFixture[str]) -> Result:
    """How a command that raises the error ends."""

    def command() -> int:
        raise error

    status = console.run(command)
    captured = capsys.readouterr()
    return Result(status, captured.out, captured.err)


@pytest.mark.parametrize(
    ("error", "status", "last_words"),
    [
        (console.Refusal("order.stm exists already"), 2, "harelc: order.stm exists already\n"),
        (OSError(28, "No space left on device", "out/order.py"), 2, "harelc: out/order.py: No space left on device\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (ValueError("a\nb"), 2, "harelc: internal error: ValueError: a b (HARELC_DEBUG=1 shows where)\n"),
    ],
)
def test_every_ending_has_a_status_and_at_most_one_line(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, last_words: str
) -> None:
    assert ending(error, capsys) == Result(status, "", last_words)


def test_wrong_use_shows_the_usage(harelc: Command) -> None:
    ended = harelc("build", "--jobs", "0")

    assert ended.status == 2
    assert "Usage: harelc build" in ended.err


@pytest.mark.parametrize("options", [["--watch", "--check"], ["--poll"], ["--watch", "--diff"]])
def test_options_that_contradict_each_other_are_wrong_use(harelc: Command, options: list[str]) -> None:
    assert harelc("build", *options).status == 2


def test_every_command_has_help_with_an_example(harelc: Command) -> None:
    for name, command in cli.app.commands.items():
        shown = harelc(name, "--help")
        assert shown.status == 0
        assert f"  harelc {name} " in shown.out, name
        assert command.short_help


def test_the_module_is_the_command(harelc_process: Command) -> None:
    assert harelc_process("--version").out == f"harelc, version {cli.VERSION}\n"


def test_help_and_version_import_no_stage_of_the_compiler(project: Path) -> None:
    script = (
        "import sys, harelc.cli; harelc.cli.main(['--help']);"
        "print(sorted({'textx', 'jinja2', 'black', 'harel'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def many_events(project: Path) -> Path:
    """A source whose list is longer than any pipe's buffer."""
    file = project / "big.stm"
    events = "".join(f"event E{number} {{}}\n" for number in range(20_000))
    file.write_text(events + "machine m { initial A  state A {}  final D success {}  from A to D on E1 }\n")
    return file


def test_a_reader_that_leaves_ends_the_command_quietly(many_events: Path) -> None:
    command = [sys.executable, "-m", "harelc", "list", many_events]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        first = writer.stdout.readline()
        writer.stdout.close()
        last_words = writer.stderr.read()

    assert (first, last_words, writer.returncode) == (b"event E0\n", b"", 141)


def test_a_full_disk_is_one_line(many_events: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "harelc", "list", many_events], stdout=full, stderr=subprocess.PIPE, text=True,
            env=environment(), check=False,
        )  # fmt: skip

    assert (done.returncode, done.stderr) == (2, "harelc: No space left on device\n")


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert console.has_colour(sys.stdout)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not console.has_colour(sys.stdout)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not console.has_colour(sys.stdout)


def test_an_aborted_prompt_is_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(click.Abort(), capsys).status == 130
