"""Type checkers on programs that use a generated module: nothing to say about right ones, the line of every mistake in
wrong ones (build.md section 3).
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from .conftest import REPOSITORY, run

TYPED = Path(__file__).parent / "typed"
GOLDEN = REPOSITORY / "golden"
SEARCHED = [str(REPOSITORY / "runtime"), str(GOLDEN)]

Reported = dict[str, set[int]]
"""The lines that a type checker reports, by the file's name."""


@pytest.fixture(scope="module")
def mypy() -> Reported:
    """What `mypy --strict` reports; it keeps what it knows of the libraries in the repository's own cache."""
    cache = REPOSITORY / ".mypy_cache" / "integration"
    options = ["--strict", "--config-file=", "--python-version=3.11", f"--cache-dir={cache}", "--no-error-summary"]
    done = run(
        [sys.executable, "-m", "mypy", *options, "app.py", "mistakes.py"], TYPED, MYPYPATH=os.pathsep.join(SEARCHED)
    )
    assert done.status in (0, 1), done.out + done.err
    places = re.findall(r"^(.+?):(\d+): error:", done.out, re.MULTILINE)
    return _by_file((Path(file).name, int(line)) for file, line in places)


@pytest.fixture(scope="module")
def pyright(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """What pyright reports in its strict mode."""
    project = tmp_path_factory.mktemp("pyright")
    settings = {
        "include": [os.path.relpath(TYPED, project)],  # absolute paths are ignored
        "extraPaths": SEARCHED,
        "pythonVersion": "3.11",
        "typeCheckingMode": "strict",
    }
    (project / "pyrightconfig.json").write_text(json.dumps(settings))
    done = run([sys.executable, "-m", "pyright", "--outputjson", "--project", str(project)], TYPED)
    assert done.status in (0, 1), done.out + done.err
    report = json.loads(done.out)
    assert report["summary"]["filesAnalyzed"] == len(list(TYPED.glob("*.py")))
    found = [each for each in report["generalDiagnostics"] if each["severity"] == "error"]
    return _by_file((Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found)


def _by_file(places: Iterable[tuple[str, int]]) -> Reported:
    reported: Reported = {}
    for file, line in places:
        reported.setdefault(file, set()).add(line)
    return reported


def marked() -> list[str]:
    """The wrong lines, as they stand in the program."""
    lines = (TYPED / "mistakes.py").read_text().splitlines()
    return [line.strip() for line in lines if "# error" in line]


def told(reported: Reported) -> list[str]:
    lines = (TYPED / "mistakes.py").read_text().splitlines()
    return [lines[number - 1].strip() for number in sorted(reported.get("mistakes.py", ()))]


def test_the_program_uses_every_name_of_the_module() -> None:
    module, program = (ast.parse(file.read_text()) for file in (GOLDEN / "order.py", TYPED / "app.py"))
    names = set()
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    used = {
        node.attr
        for node in ast.walk(program)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "order"
    }

    assert {name for name in names if not name.startswith("_")} == used


def test_mypy_has_nothing_to_say_about_a_right_program(mypy: Reported) -> None:
    assert mypy.get("app.py", set()) == set()


def test_pyright_has_nothing_to_say_about_a_right_program(pyright: Reported) -> None:
    assert pyright.get("app.py", set()) == set()


def test_mypy_reports_every_mistake_at_its_line(mypy: Reported) -> None:
    assert len(marked()) >= 10
    assert told(mypy) == marked()


def test_pyright_reports_every_mistake_at_its_line(pyright: Reported) -> None:
    assert told(pyright) == marked()
