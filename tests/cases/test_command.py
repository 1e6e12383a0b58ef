"""The command's output: readers that have had enough, full disks, terminals without colours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ENVIRONMENT = {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source that says more than a pipe holds."""
    name = "AnEventWithSuchALongNameThatAPipeIsSoonFull"
    events = "".join(f"event {name}{number} {{}}\n" for number in range(1_500))
    path = tmp_path_factory.mktemp("big") / "big.stm"
    path.write_text(f"{events}machine m {{ initial A  state A {{}}  final D success {{}}  from A to D on {name}1 }}\n")
    return path


@pytest.mark.parametrize("command", [["list"], ["check"], ["check", "--format", "json"], ["render"]], ids=" ".join)
def test_a_pipe_that_is_closed_early_ends_the_command_quietly(big: Path, command: list[str]) -> None:
    args = [sys.executable, "-m", "harelc", command[0], str(big), *command[1:]]
    environment = {**os.environ, **ENVIRONMENT}
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.readline()
        writer.stdout.close()
        errors = writer.stderr.read().decode()

    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors
    assert "\x1b[" not in errors


def test_a_full_disk_is_one_line(big: Path) -> None:
    with Path("/dev/full").open("w") as full:
        args = [sys.executable, "-m", "harelc", "list", str(big)]
        environment = {**os.environ, **ENVIRONMENT}
        done = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", env=environment)

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
