"""What every test may use: a project folder of its own, and the command run in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command, Result, environment
from hypothesis import settings

from harelc.cli import main

pytest_plugins = ["harelc.pytest_plugin"]

# On CI the generated cases are the same in every run; elsewhere each run looks at new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder marked as a project, and the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def harelc(project: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """`harelc(*arguments)` runs the command in the project, in this process."""

    def run(*arguments: str | Path) -> Result:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run


@pytest.fixture
def harelc_process(project: Path) -> Command:
    """`harelc_process(*arguments, input=…, LC_ALL=…)` runs the command in the project, in a process of its own."""

    def run(*arguments: str | Path, input: str = "", **variables: str) -> Result:
        command = [sys.executable, "-m", "harelc", *map(str, arguments)]
        env = environment(**variables)
        done = subprocess.run(command, input=input, env=env, capture_output=True, encoding="utf-8", check=False)
        return Result(done.returncode, done.stdout, done.stderr)

    return run
