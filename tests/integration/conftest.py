"""The compiler and the runtime installed for real, and commands run with them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Result

REPOSITORY = Path(__file__).parents[2]

Run = Callable[..., Result]


def run(command: list[str], cwd: Path, **variables: str) -> Result:
    """How a command ended."""
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False)
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both distributions, built from the checkout and installed with their entry points."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-compile", "--target", str(folder)]
    done = run([sys.executable, "-m", "pip", "install", *options, ".", "./runtime"], REPOSITORY)
    assert done.status == 0, done.out + done.err
    return folder


@pytest.fixture
def python(site: Path, tmp_path: Path) -> Run:
    """`python(*arguments, cwd=…)` runs Python with what is installed, outside the checkout."""

    def call(*arguments: str | Path, cwd: Path = tmp_path) -> Result:
        return run([sys.executable, *map(str, arguments)], cwd, PYTHONPATH=str(site))

    return call
