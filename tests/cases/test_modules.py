"""Generated modules and diagrams: names that clash, text that tries to break out, bytes that stay the same."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from cases.support import CASES, Command, Completed, machine

from harel import DictStore, DurableRunner, Event

TypeCheck = Callable[..., Completed]


@pytest.fixture(scope="session")
def type_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all type checks, so that the standard library is read once."""
    return tmp_path_factory.mktemp("types")


@pytest.fixture
def type_check(type_cache: Path) -> TypeCheck:
    def type_check(*files: str, cwd: Path) -> Completed:
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(type_cache), *files]
        return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8")

    return type_check


def build(harelc_in: Command, case: str, folder: Path) -> None:
    built = harelc_in("build", str(CASES / case / "machine.stm"), "-o", str(folder), cwd=folder)
    assert built.returncode == 0, built.stderr


def test_names_that_python_or_the_module_uses_get_an_underscore(
    harelc_in: Command, type_check: TypeCheck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(harelc_in, "19-reserved-names", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = import_module("class_")
    event = module.Paid(class_="gold", from_="web", self_="you", id_="p-1", kind_=2, int=3, event_id="e-1")

    assert sorted(path.stem for path in tmp_path.glob("*.py") if path.stem != "__init__") == ["class_"]
    assert (event.kind, event.id) == ("Paid", "e-1")
    given = {name: event.data[name] for name in ("class", "from", "self", "id", "kind", "int")}
    assert given == {"class": "gold", "from": "web", "self": "you", "id": "p-1", "kind": 2, "int": 3}
    assert type_check("class_.py", cwd=tmp_path).returncode == 0
    subprocess.run([sys.executable, "-m", "black", "--check", "-q", str(tmp_path)], check=True)
    subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", "-q", str(tmp_path)], check=True)


USE = """import order

ctx: order.Context = {"on hold": True, "from": None, "x-y": 2, "__secret": None, "note": None}
flag: bool = ctx["on hold"]
wrong = ctx["on_hold"]
"""


def test_context_keys_that_are_no_names_are_typed_as_they_are(
    harelc_in: Command, type_check: TypeCheck, tmp_path: Path
) -> None:
    build(harelc_in, "20-context-keys-that-are-no-identifiers", tmp_path)
    (tmp_path / "use.py").write_text(USE)
    errors = [line for line in type_check("use.py", cwd=tmp_path).stdout.splitlines() if "error:" in line]

    assert len(errors) == 1
    assert errors[0].startswith("use.py:5: error:")
    assert "on_hold" in errors[0]


def test_and_are_written_as_they_are() -> None:
    definition = machine("20-context-keys-that-are-no-identifiers", "order")
    runner = DurableRunner(DictStore(), [definition], clock=lambda: 0.0)
    order = runner.process(runner.create("order").id, Event("Go"))

    assert order.context == {"on hold": False, "from": "web", "x-y": 2}


class TestTextThatTriesToBreakOut:
    """No text of a source becomes code."""

    @pytest.fixture
    def module(self, harelc_in: Command, tmp_path: Path) -> ast.Module:
        build(harelc_in, "21-text-that-tries-to-break-out", tmp_path)
        subprocess.run([sys.executable, "-c", "import order"], cwd=tmp_path, check=True)
        assert list(tmp_path.glob("pwned*")) == []
        return ast.parse((tmp_path / "order.py").read_text(encoding="utf-8"))

    def test_nothing_of_it_is_a_name(self, module: ast.Module) -> None:
        names = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}

        assert names.isdisjoint({"pwned", "__import__"})

    def test_every_doc_text_stands_in_a_docstring_letter_by_letter(self, module: ast.Module) -> None:
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docs = "\n".join(ast.get_docstring(node) or "" for node in ast.walk(module) if isinstance(node, documented))
        source = (CASES / "21-text-that-tries-to-break-out" / "machine.stm").read_text(encoding="utf-8")
        texts = [line.strip()[2:].strip() for line in source.splitlines() if line.strip().startswith("##")]

        assert len(texts) == 7
        assert [text for text in texts if text not in docs and text != "%% pwned"] == []


class TestDiagrams:
    """Every label can be drawn."""

    @pytest.fixture
    def render(self, harelc_in: Command) -> Callable[[str], str]:
        def render(form: str) -> str:
            drawn = harelc_in("render", "machine.stm", "end", "--format", form, cwd=CASES / "22-labels-in-diagrams")
            assert drawn.returncode == 0, drawn.stderr
            return drawn.stdout

        return render

    @pytest.mark.parametrize("form", ["mermaid", "plantuml", "dot"])
    def test_the_source_s_letters_are_in_it(self, render: Callable[[str], str], form: str) -> None:
        assert "Maß 十二" in render(form)

    def test_no_line_of_mermaid_begins_with_one_of_its_words_or_ends_early(self, render: Callable[[str], str]) -> None:
        text = render("mermaid")

        assert text.startswith("stateDiagram-v2")
        for line in text.splitlines():
            assert not line.strip().startswith(("end -->", "state -->", "note -->", "class -->", "fork -->"))
            assert ";" not in re.sub(r"[#&]#?\w+;", "", line)  # entity codes end in one, nothing else does


def test_the_same_source_gives_the_same_bytes_everywhere(harelc_in: Command, tmp_path: Path) -> None:
    surroundings = [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu"},
        {"PYTHONHASHSEED": "12345", "LC_ALL": "tr_TR.UTF-8", "PYTHONUTF8": "0", "HOME": str(tmp_path)},
    ]
    outputs = set()
    for number, env in enumerate(surroundings):
        project = tmp_path / f"p{number}" / ("deep" * number)
        (project / "machines").mkdir(parents=True)
        shutil.copy(CASES / "23-same-bytes-everywhere" / "machine.stm", project / "machines" / "order.stm")
        if number == 2:
            other = "event X {}\nmachine aaa { initial A  state A {}  final B done {}  from A to B on X }\n"
            (project / "machines" / "aaa.stm").write_text(other)
        path = str(project / "machines") if number == 1 else "machines"
        assert harelc_in("build", path, "-o", "out", cwd=project, env=env).returncode == 0
        outputs.add(((project / "out" / "order.py").read_bytes(), (project / "out" / "order.mmd").read_bytes()))

    assert len(outputs) == 1
    module, _ = outputs.pop()
    assert b"\r" not in module
    assert os.fsencode(tmp_path) not in module


RETURNED_AND_REPLACED = """
import order, refund
from harel import DictStore, DurableRunner
from harel.stores.protocol import all_executions

store = DictStore()
runner = DurableRunner(store, [order.DEFINITION, refund.DEFINITION], clock=lambda: 0.0)
first = runner.create("order")

def youngest():
    return max((execution.id for execution in all_executions(store)), key=len)

runner.process(first.id, order.Return())
runner.process(youngest(), refund.Replace())
replacement = youngest()
assert store.load(replacement).definition_id == "order"
assert store.load(first.id).active_path == "Refunding"
runner.process(replacement, order.Close())
assert store.load(first.id).outcome == "success"
"""


class TestMachinesThatInvokeEachOther:
    """In the sources nothing is circular, so neither is an import."""

    @pytest.fixture
    def folder(self, harelc_in: Command, tmp_path: Path) -> Path:
        build(harelc_in, "26-machines-that-invoke-each-other", tmp_path)
        return tmp_path

    @pytest.mark.parametrize(
        "line",
        [
            "import order",
            "import refund",
            "import order, refund",
            "import refund, order; order.DEFINITION; refund.DEFINITION",
        ],
    )
    def test_each_module_can_be_imported_first_or_alone(self, folder: Path, line: str) -> None:
        subprocess.run([sys.executable, "-c", line], cwd=folder, check=True)

    def test_the_type_checker_is_content(self, folder: Path, type_check: TypeCheck) -> None:
        checked = type_check("order.py", "refund.py", cwd=folder)

        assert checked.returncode == 0, checked.stdout

    def test_they_invoke_each_other_when_run(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-c", RETURNED_AND_REPLACED], cwd=folder, check=True)
