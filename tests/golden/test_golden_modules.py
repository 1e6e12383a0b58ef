"""Pinned modules and diagrams: what the compiler makes of every construct of the language, reviewed like code.

`python -m pytest tests/golden --harelc-update` rewrites them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from harel import Definition, definition_from_dsl_file
from harelc.compiler import compile_file
from harelc.diagram import dot, mermaid, plantuml
from harelc.emit import emit_module
from harelc.pynames import module_name
from harelc.pytest_plugin import Golden

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "golden"
SOURCES = sorted(path.name for path in GOLDEN.glob("*.stm"))
DRAWN_IN_ALL_LANGUAGES = ("order", "checks", "class")


@cache
def machines(source: str) -> dict[str, Definition]:
    """The machines of a golden source."""
    compilation = compile_file(GOLDEN / source)
    assert compilation.issues == ()
    return dict(compilation.definitions)


MACHINES = [(source, name) for source in SOURCES for name in machines(source)]
MODULES = [f"{module_name(name)}.py" for _, name in MACHINES]

each_machine = pytest.mark.parametrize(("source", "name"), MACHINES, ids=[name for _, name in MACHINES])


def imported(name: str) -> Any:
    """The pinned module of a machine."""
    spec = spec_from_file_location(f"golden_{name}", GOLDEN / f"{module_name(name)}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each_machine
def test_the_module_is_as_pinned(source: str, name: str, harelc_golden: Golden) -> None:
    harelc_golden(GOLDEN / f"{module_name(name)}.py", emit_module(machines(source)[name], source_name=source))


@each_machine
def test_the_diagrams_are_as_pinned(source: str, name: str, harelc_golden: Golden) -> None:
    definition = machines(source)[name]
    harelc_golden(GOLDEN / f"{module_name(name)}.mmd", mermaid(definition))
    if name in DRAWN_IN_ALL_LANGUAGES:
        harelc_golden(GOLDEN / f"{module_name(name)}.puml", plantuml(definition))
        harelc_golden(GOLDEN / f"{module_name(name)}.dot", dot(definition))


@each_machine
def test_the_module_means_what_the_source_means(source: str, name: str) -> None:
    module = imported(name)
    from_text = machines(source)[name]

    assert from_text == module.DEFINITION
    assert Definition.from_json(module.DEFINITION.to_json()) == from_text
    assert (name, from_text.version, from_text.digest) == (module.NAME, module.VERSION, module.DIGEST)
    assert mermaid(from_text) == module.DIAGRAM


def test_text_and_module_agree_also_through_the_runtimes_own_door() -> None:
    assert definition_from_dsl_file(GOLDEN / "mutual.stm", "refund") == imported("refund").DEFINITION


def test_no_pinned_file_is_left_over() -> None:
    stems = {module_name(name) for _, name in MACHINES}

    assert {path.stem for suffix in (".py", ".mmd", ".puml", ".dot") for path in GOLDEN.glob(f"*{suffix}")} == stems


# --- tools


def run(*command: str) -> str:
    """A tool's output, in the golden folder; the test fails where the tool does."""
    environment = {**os.environ, "MYPYPATH": str(ROOT / "runtime")}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=GOLDEN, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_mypy_has_nothing_to_say_in_its_strict_mode(tmp_path: Path) -> None:
    output = run("mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", *MODULES)

    assert output == f"Success: no issues found in {len(MODULES)} source files\n"


def test_pyright_has_nothing_to_say(tmp_path: Path) -> None:
    included = os.path.relpath(GOLDEN, tmp_path)  # an absolute path would be ignored
    settings = {"include": [included], "extraPaths": [str(ROOT / "runtime"), str(GOLDEN)], "pythonVersion": "3.11"}
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps(settings))
    summary = json.loads(run("pyright", "--outputjson", "--project", str(project)))["summary"]

    assert summary["filesAnalyzed"] >= len(MODULES)
    assert (summary["errorCount"], summary["warningCount"]) == (0, 0)


def test_ruff_and_black_have_nothing_to_say() -> None:
    run("ruff", "check", "--isolated", "--no-cache", "--extend-select", "I", "--target-version", "py311", *MODULES)
    run("black", "--check", "--quiet", "--config", os.devnull, *MODULES)


USES = """
import order
from harel import Event, Stm


class Shop:
    def announce(self, stm: Stm, event: Event, *, text: str, urgent: bool) -> None: ...
    def close(self, stm: Stm, event: Event) -> None: ...
    def remind(self, stm: Stm, event: Event, *, after: int) -> None: ...
    async def hold_amount(self, stm: Stm, event: Event) -> None: ...
    def wait(self, stm: Stm, event: Event, *, base: int, into: str) -> None: ...
    def grade(self, stm: Stm, event: Event, *, scale: float) -> str:
        return "good"


class Half:
    def close(self, stm: Stm, event: Event) -> None: ...


order.bind(Shop())
order.bind(Half())
order.PaymentResult(status="authorized", score=0.5, event_id="p-1")
order.PaymentResult(status="authorized", score=None)
order.PaymentResult(status=1)
order.PaymentResult("authorized")
order.CancelOrder()
path: order.State = "Fulfilling.Picking"
path = "Fulfilling.Packing"
outcome: order.Outcome = "abandoned"
kind: order.EventKind = "Checkout"


def total(context: order.Context) -> int:
    return context["amount"]


def wrong(context: order.Context) -> int:
    return context["amuont"]
"""


def test_the_type_checker_sees_how_a_program_uses_a_module(tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text(USES, encoding="utf-8")
    path = os.pathsep.join([str(ROOT / "runtime"), str(GOLDEN)])
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "uses.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    numbers = dict.fromkeys(int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line)
    lines = USES.splitlines()

    assert [lines[number - 1].strip() for number in numbers] == [
        "order.bind(Half())",
        "order.PaymentResult(status=1)",
        'order.PaymentResult("authorized")',
        'path = "Fulfilling.Packing"',
        'return context["amuont"]',
    ]
