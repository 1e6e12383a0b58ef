"""Sources: digests that stay, names, line ends, imports, deep and long input, machines that cannot work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Protocol

import pytest
from cases.support import CASES, Command, text_of


def test_automatic_transitions_that_chase_each_other_are_an_error(harelc_in: Command) -> None:
    checked = harelc_in("check", "machine.stm", cwd=CASES / "07-automatic-cycle")

    assert checked.returncode == 1
    assert "automatic_cycle" in checked.stdout + checked.stderr


def test_a_cycle_that_depends_on_data_is_for_run_time(harelc_in: Command) -> None:
    assert harelc_in("check", "data.stm", cwd=CASES / "07-automatic-cycle").returncode == 0


def test_crossing_a_region_is_an_error_at_both_targets(harelc_in: Command) -> None:
    checked = harelc_in("check", "machine.stm", "--format", "json", cwd=CASES / "35-crossing-a-region")
    errors = [finding for finding in json.loads(checked.stdout) if finding["severity"] == "error"]

    assert checked.returncode == 1
    assert [(finding["code"], finding["line"]) for finding in errors] == [
        ("crosses_region", 14),
        ("crosses_region", 20),
    ]
    assert all(finding["hint"] for finding in errors)


class Digest(Protocol):
    """The digest of the machine `order` in a text."""

    def __call__(self, text: str, name: str = "machine.stm", encoding: str = "utf-8") -> str: ...


class TestDigest:
    """An execution runs on the digest it started with, so that a digest must not move without reason."""

    SOURCE = text_of("16-digest-stays")
    OTHER_MACHINE = "machine other { initial A  state A { timeout 5 }  final B success {}  from A to B on Timeout }"

    @pytest.fixture
    def digest(self, harelc_in: Command, tmp_path: Path) -> Digest:
        def digest(text: str, name: str = "machine.stm", encoding: str = "utf-8") -> str:
            (tmp_path / name).write_bytes(text.encode(encoding))
            lines = [line.split() for line in harelc_in("hash", name, cwd=tmp_path).stdout.splitlines()]
            return next(value for machine, _, value in lines if machine == "order")

        return digest

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(SOURCE.replace("event Dropped", "# a remark\n## a doc line\nevent Dropped"), id="comments"),
            pytest.param(" ".join(SOURCE.split()), id="layout"),
            pytest.param(SOURCE.replace("\n", "\r\n"), id="line-ends"),
            pytest.param(SOURCE.replace("initial Waiting", 'initial "Waiting"'), id="quoted"),
            pytest.param(SOURCE.replace("timeout 900", "timeout 15m"), id="unit"),
            pytest.param(SOURCE + OTHER_MACHINE, id="another-machine"),
        ],
    )
    def test_it_stays(self, digest: Digest, text: str) -> None:
        assert digest(text) == digest(self.SOURCE)

    def test_it_stays_under_another_name_and_with_a_byte_order_mark(self, digest: Digest) -> None:
        base = digest(self.SOURCE)

        assert digest(self.SOURCE, "renamed.stm") == base
        assert digest(self.SOURCE, encoding="utf-8-sig") == base

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("version 3", "version 4"),
            (">= 100", ">= 101"),
            ("amount: int", "amount: float"),
            ("timeout 900", "timeout 901"),
            ("Late failed", "Late refused"),
            ("Timeout | Dropped", "Dropped"),
        ],
    )
    def test_it_moves(self, digest: Digest, old: str, new: str) -> None:
        assert digest(self.SOURCE.replace(old, new)) != digest(self.SOURCE)


class TestNames:
    """A quoted name holds anything but what paths and keys are made of."""

    TEMPLATE = 'event Go {}\nmachine m {\n initial "N"\n state "N" {}\n final D success {}\n from "N" to D on Go\n}\n'

    @pytest.mark.parametrize("name", ["a.b", "a/b", "a:b", "a\\nb", "a\\u0000b", "", " a", "a ", "x" * 129], ids=ascii)
    def test_separators_and_control_characters_are_refused(self, harelc_in: Command, tmp_path: Path, name: str) -> None:
        (tmp_path / "m.stm").write_text(self.TEMPLATE.replace('"N"', f'"{name}"'), encoding="utf-8")
        checked = harelc_in("check", ".", cwd=tmp_path)

        assert checked.returncode == 1
        assert "bad_name" in checked.stdout + checked.stderr
        assert "Traceback" not in checked.stderr

    def test_two_states_with_one_path_cannot_be_written(self, harelc_in: Command) -> None:
        checked = harelc_in("check", "machine.stm", cwd=CASES / "18-names-with-separators")

        assert checked.returncode == 1
        assert "bad_name" in checked.stdout + checked.stderr

    def test_all_else_is_fine_and_no_comment_begins_in_a_string(self, harelc_in: Command) -> None:
        checked = harelc_in("check", "fine.stm", cwd=CASES / "18-names-with-separators")

        assert (checked.returncode, checked.stderr) == (0, "")


class TestLineEnds:
    """The same file with other line ends is the same source."""

    TEXT = text_of("24-windows-line-ends")
    FILES: ClassVar[Mapping[str, bytes]] = {
        "lf": TEXT.encode(),
        "crlf": TEXT.replace("\n", "\r\n").encode(),
        "mixed": TEXT.replace("\n", "\r\n", 3).encode(),
        "bom": TEXT.encode("utf-8-sig"),
    }

    def test_the_module_is_the_same(self, harelc_in: Command, tmp_path: Path) -> None:
        modules = set()
        for name, data in self.FILES.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "order.stm").write_bytes(data)
            assert harelc_in("build", ".", "-o", "out", cwd=tmp_path / name).returncode == 0
            modules.add((tmp_path / name / "out" / "order.py").read_bytes())

        assert len(modules) == 1
        assert b"\r" not in modules.pop()

    @pytest.mark.parametrize(("name", "ends"), [("lf", b"\n"), ("crlf", b"\r\n"), ("mixed", b"\n"), ("bom", b"\n")])
    def test_the_formatter_keeps_the_more_frequent_kind(
        self, harelc_in: Command, tmp_path: Path, name: str, ends: bytes
    ) -> None:
        source = tmp_path / "order.stm"
        source.write_bytes(self.FILES[name])
        harelc_in("fmt", "order.stm", cwd=tmp_path)
        lines = source.read_bytes().splitlines(keepends=True)

        assert {line[len(line.rstrip()) :] for line in lines} == {ends}
        assert harelc_in("fmt", "--check", "order.stm", cwd=tmp_path).returncode == 0

    def test_findings_stand_at_the_same_line_and_column(self, harelc_in: Command, tmp_path: Path) -> None:
        wrong = self.TEXT.replace("to Done on Go", "to Dome on Go")
        places = set()
        for ends in ("\n", "\r\n"):
            (tmp_path / "order.stm").write_bytes(wrong.replace("\n", ends).encode())
            findings = json.loads(harelc_in("check", "order.stm", "--format", "json", cwd=tmp_path).stdout)
            places.add(tuple((found["code"], found["line"], found["column"]) for found in findings))

        assert len(places) == 1
        assert ("unknown_state", 8, 13) in places.pop()

    def test_a_checkout_that_turned_the_module_into_crlf_is_not_stale(self, harelc_in: Command, tmp_path: Path) -> None:
        (tmp_path / "order.stm").write_bytes(self.FILES["lf"])
        harelc_in("build", ".", "-o", "out", cwd=tmp_path)
        module = tmp_path / "out" / "order.py"
        module.write_bytes(module.read_bytes().replace(b"\n", b"\r\n"))

        assert harelc_in("build", "--check", ".", "-o", "out", cwd=tmp_path).returncode == 0


class TestImports:
    """Contents decide what is stale, through all imports."""

    @pytest.fixture
    def project(self, harelc_in: Command, tmp_path: Path) -> Path:
        for file in (CASES / "25-an-import-changes").glob("*.stm"):
            shutil.copy(file, tmp_path)
        assert harelc_in("build", ".", "-o", "out", cwd=tmp_path).returncode == 0
        return tmp_path

    def test_a_change_in_an_import_s_import_makes_only_what_needs_it_stale(
        self, harelc_in: Command, project: Path
    ) -> None:
        order, other, base = project / "out" / "order.py", project / "out" / "other.py", project / "base.stm"
        first, untouched = order.read_bytes(), other.stat().st_mtime_ns
        base.write_text(base.read_text().replace("100", "200"))
        checked = harelc_in("build", "--check", ".", "-o", "out", cwd=project)

        assert checked.returncode == 1
        assert "order.py" in checked.stdout + checked.stderr
        assert "other.py" not in checked.stdout + checked.stderr
        assert harelc_in("build", ".", "-o", "out", cwd=project).returncode == 0
        assert order.read_bytes() != first
        assert other.stat().st_mtime_ns == untouched

    def test_an_old_text_with_an_old_time_stamp_is_noticed(self, harelc_in: Command, project: Path) -> None:
        order, other, base = project / "out" / "order.py", project / "out" / "other.py", project / "base.stm"
        first, untouched, old = order.read_bytes(), other.stat().st_mtime_ns, base.read_text()
        base.write_text(old.replace("100", "200"))
        harelc_in("build", ".", "-o", "out", cwd=project)
        base.write_text(old)
        os.utime(base, (1, 1))
        harelc_in("build", ".", "-o", "out", cwd=project)

        assert order.read_bytes() == first
        assert other.stat().st_mtime_ns == untouched


HEAD = "event Go { n: int }\nmachine m {\n initial A\n state A {}\n final D success {}\n"


def guarded(predicate: str) -> str:
    return f"{HEAD} from A to D on Go where {predicate}\n}}\n"


def nested(depth: int) -> str:
    levels = "".join(f"state S{i} {{ initial S{i + 1}\n" for i in range(depth))
    return f"machine m {{\n initial S0\n{levels}state S{depth} {{ outcome success }}{'}' * depth}\n}}\n"


def parentheses(depth: int) -> str:
    return guarded("(" * depth + "n == 1" + ")" * depth)


def lists(depth: int) -> str:
    return guarded("n in " + "[" * depth + "]" * depth)


def side_by_side(count: int) -> str:
    return (
        f"{HEAD} from A to D on Go\n"
        + "".join(f" state W{i} {{}}\n from W{i} to D on Go\n" for i in range(count))
        + "}\n"
    )


class TestDeepAndLong:
    """What a machine can sensibly hold works, up to Python reading the module; beyond is one finding with a place."""

    @pytest.mark.parametrize(
        "source",
        [
            pytest.param(guarded(" or ".join(f"n == {i}" for i in range(2000))), id="2000-or"),
            pytest.param(guarded("n in [" + ", ".join(map(str, range(10_000))) + "]"), id="10000-items"),
            pytest.param(guarded("not " * 100 + "n == 1"), id="100-not"),
            pytest.param(parentheses(199), id="199-parentheses"),
            pytest.param(lists(199), id="199-lists"),
            pytest.param(nested(62), id="63-levels"),
            pytest.param(side_by_side(1000), id="1000-states"),
        ],
    )
    def test_it_builds_and_its_module_is_read(self, harelc_in: Command, tmp_path: Path, source: str) -> None:
        (tmp_path / "m.stm").write_text(source)
        built = harelc_in("build", "m.stm", "-o", "out", cwd=tmp_path)

        assert built.returncode == 0
        assert "error" not in built.stderr
        program = (
            "import m; from harel import *; runner = DurableRunner(DictStore(), [m.DEFINITION]); runner.create('m')"
        )
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path / "out", check=True)

    @pytest.mark.parametrize(
        "source",
        [
            pytest.param(parentheses(202), id="202-parentheses"),
            pytest.param(parentheses(5000), id="5000-parentheses"),
            pytest.param(lists(3000), id="3000-lists"),
            pytest.param(nested(70), id="71-levels"),
            pytest.param(nested(2000), id="2001-levels"),
            pytest.param("machine m " + "{" * 10_000, id="10000-braces"),
        ],
    )
    def test_it_is_refused_with_a_place(self, harelc_in: Command, tmp_path: Path, source: str) -> None:
        (tmp_path / "m.stm").write_text(source)
        checked = harelc_in("check", "m.stm", "--format", "json", cwd=tmp_path)
        findings = json.loads(checked.stdout)

        assert checked.returncode == 1
        assert "Traceback" not in checked.stderr
        assert {finding["code"] for finding in findings} <= {"too_deep", "syntax_error"}
        assert all(finding["line"] >= 1 for finding in findings)

    def test_thousands_of_nots_give_a_result_or_a_finding(self, harelc_in: Command, tmp_path: Path) -> None:
        (tmp_path / "m.stm").write_text(guarded("not " * 5000 + "n == 1"))
        built = harelc_in("build", "m.stm", "-o", "out", cwd=tmp_path)

        assert built.returncode in (0, 1)
        assert "Traceback" not in built.stderr
