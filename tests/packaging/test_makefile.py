"""The README's two commands and what CI calls are the same things."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harel.version import VERSION as RUNTIME_VERSION
from harelc.version import VERSION as COMPILER_VERSION

REPOSITORY = Path(__file__).parent.parent.parent


def test_ci_runs_the_readmes_test_command() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text()

    assert "make test" in (REPOSITORY / "README.md").read_text()
    assert script.rstrip().endswith("exec make test")
    assert (REPOSITORY / ".ci" / "run").stat().st_mode & 0o111


def test_the_demo_builds_the_examples_and_runs_the_orders() -> None:
    command = ["make", "--no-print-directory", "--dry-run", "--always-make", "demo"]
    planned = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.splitlines()

    assert planned[-2:] == [".venv/bin/harelc build examples", ".venv/bin/python examples/order_demo.py"]


def test_both_distributions_have_one_version() -> None:
    assert COMPILER_VERSION == RUNTIME_VERSION
