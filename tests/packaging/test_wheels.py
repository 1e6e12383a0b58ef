"""Two distributions that install for real: what is in the wheels, and what an empty environment can do with them."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping, Sequence
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from harel.version import VERSION as RUNTIME_VERSION
from harelc.version import VERSION

REPOSITORY = Path(__file__).parent.parent.parent

USE = """
import importlib.util
from harel import DictStore, DurableRunner, Event
import order

class Actions:
    def __getattr__(self, name):
        return lambda stm, event, **inputs: None

runner = DurableRunner(DictStore(), [order.bind(Actions())], clock=lambda: 0.0)
runner.create("order", execution_id="o-1")
runner.process("o-1", order.Checkout(amount=4200))
runner.process("o-1", order.CancelOrder())
print(runner.store.load("o-1").outcome)
print([name for name in ("textx", "jinja2", "black", "click", "harelc") if importlib.util.find_spec(name)])
"""


def run(command: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Standard output of a command that must succeed; no environment of this process's tests reaches it."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    parts = [str(part) for part in command]
    done = subprocess.run(parts, cwd=cwd, env={**clean, **(env or {})}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both wheels, built from the checkout."""
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run([*pip, "--wheel-dir", folder, ".", "./runtime"], REPOSITORY)
    return folder


def contents(wheels: Path, name: str) -> tuple[set[str], Message, str]:
    """The files of a wheel, its metadata, its entry points."""
    (wheel,) = wheels.glob(f"{name}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
        info = next(file.split("/")[0] for file in files if file.split("/")[0].endswith(".dist-info"))
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        entry_points = f"{info}/entry_points.txt"
        points = archive.read(entry_points).decode() if entry_points in files else ""
    return files, metadata, points


def environment(folder: Path, wheels: Path, requirement: str, *options: str) -> Path:
    """The bin folder of a new virtual environment with nothing but the requirement in it."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--find-links", wheels]
    run([*pip, *options, requirement], folder)
    return folder / "bin"


def test_the_compilers_wheel_has_templates_grammar_types_and_the_command(wheels: Path) -> None:
    files, metadata, entry_points = contents(wheels, "harelc")

    templates = {f"harelc/templates/{file.name}" for file in (REPOSITORY / "templates").iterdir()}
    assert templates and templates <= files
    assert {"harelc/grammar/stm.tx", "harelc/py.typed", "harelc/cli.py"} <= files
    assert "harelc = harelc.cli:main" in entry_points
    assert (metadata["Version"], metadata["License-Expression"]) == (VERSION, "MIT")
    assert any(file.endswith("licenses/LICENSE") for file in files)
    assert all(file.startswith(("harelc/", f"harelc-{VERSION}.dist-info/")) for file in files)


def test_the_runtimes_wheel_is_typed_and_requires_nothing(wheels: Path) -> None:
    files, metadata, _ = contents(wheels, "harel_runtime")

    assert {"harel/__init__.py", "harel/py.typed", "harel/stores/sqlite.sql"} <= files
    assert (metadata["Version"], metadata["License-Expression"]) == (RUNTIME_VERSION, "MIT")
    assert any(file.endswith("licenses/LICENSE") for file in files)
    required = metadata.get_all("Requires-Dist") or []
    assert [requirement for requirement in required if "extra ==" not in requirement] == []


def test_the_runtime_alone_runs_a_generated_module(wheels: Path, tmp_path: Path) -> None:
    run(
        [sys.executable, "-m", "harelc", "build", REPOSITORY / "examples" / "order.stm", "-o", tmp_path / "made"],
        tmp_path,
        {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "runtime")])},
    )
    programs = environment(tmp_path / "env", wheels, "harel-runtime", "--no-index")

    told = run([programs / "python", "-c", USE], tmp_path / "made")

    assert told.splitlines() == ["cancelled", "[]"]


def test_the_compiler_brings_the_runtime_and_works_outside_the_checkout(wheels: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "env", wheels, "harelc")

    assert run([programs / "harelc", "--version"], tmp_path) == f"harelc, version {VERSION}\n"
    run([programs / "harelc", "new", "order.stm"], tmp_path)
    assert run([programs / "harelc", "build", "order.stm"], tmp_path).startswith("1 machine, 1 written, 0 fresh, ")
    assert run([programs / "python", "-c", "import order; print(order.DEFINITION.id)"], tmp_path) == "order\n"
