"""`harelc build`: what is compiled, written, left alone and removed (build.md sections 1, 3 and 4, edges.md)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command, environment

from harelc import build, outputs

MACHINE = """\
event Go {{ amount: int }}
machine {name} {{
  initial A
  state A {{}}
  final Done success {{}}
  from A to Done on Go where {guard}
}}
"""


def machine(name: str, guard: str = "amount > 1") -> str:
    return MACHINE.format(name=name, guard=guard)


def write(folder: Path, **sources: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        (folder / f"{name}.stm").write_text(text, encoding="utf-8", newline="")


def listing(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def stamps(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}


@pytest.fixture
def shop(project: Path) -> Path:
    """A project with an order, which imports a guard of a guard, and a device that imports nothing."""
    write(project / "machines", order='import "lib.stm"\n' + machine("order", "huge"), device=machine("device"))
    write(project / "machines", lib='import "base.stm"\nguard huge = big and amount > 1000\n')
    write(project / "machines", base="guard big = amount > 100\n")
    (project / "pyproject.toml").write_text('[tool.harelc]\nsources = ["machines"]\noutput = "out"\n')
    return project


# --- what a build makes


def test_a_build_makes_a_module_and_a_diagram_of_each_machine(shop: Path, harelc: Command) -> None:
    built = harelc("build")

    assert built.status == 0
    assert built.out.startswith("2 machines, 2 written, 0 fresh, ")
    assert listing(shop / "out") == ["device.mmd", "device.py", "order.mmd", "order.py"]
    assert outputs.origin((shop / "out" / "order.py").read_text()) == "machines/order.stm"
    assert outputs.origin((shop / "out" / "order.mmd").read_text()) == "machines/order.stm"


def test_diagrams_may_be_switched_off_later(shop: Path, harelc: Command) -> None:
    harelc("build")
    (shop / "pyproject.toml").write_text(
        '[tool.harelc]\nsources = ["machines"]\noutput = "out"\ndiagrams = false\n'
    )

    assert harelc("build").status == 0
    assert listing(shop / "out") == ["device.py", "order.py"]


def test_names_with_spaces_and_accents_are_fine(project: Path, harelc: Command) -> None:
    write(project / "commandes payées", **{"un été": machine("order")})

    assert harelc("build", "commandes payées", "-o", "généré ici").status == 0
    assert outputs.origin((project / "généré ici" / "order.py").read_text("utf-8")) == "commandes payées/un été.stm"


def test_the_bytes_do_not_depend_on_where_and_how(tmp_path: Path) -> None:
    made = set()
    for number, (inside, where, variables) in enumerate([
        (".", "machines", {"PYTHONHASHSEED": "0"}),
        ("machines", "{root}/machines", {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu"}),
        ("..", "{root}/machines/order.stm", {"PYTHONHASHSEED": "2", "PYTHONUTF8": "0", "HOME": str(tmp_path)}),
    ]):  # fmt: skip
        root = tmp_path / f"p{number}" / "project"
        write(root / "machines", order=machine("order"))
        command = [sys.executable, "-m", "harelc", "build", where.format(root=root), "-o", root / "out"]
        subprocess.run(command, cwd=root / inside, env=environment(**variables), check=True, capture_output=True)
        made.add(((root / "out" / "order.py").read_bytes(), (root / "out" / "order.mmd").read_bytes()))

    assert len(made) == 1
    assert str(tmp_path).encode() not in made.pop()[0]


def test_several_processes_make_the_same_as_one(project: Path, harelc: Command) -> None:
    write(project / "machines", **{f"m{number}": machine(f"m{number}") for number in range(6)})

    assert harelc("build", "machines", "-o", "one", "--jobs", "1").status == 0
    assert harelc("build", "machines", "-o", "many", "--jobs", "3").status == 0
    assert [file.read_bytes() for file in sorted((project / "one").iterdir())] == [
        file.read_bytes() for file in sorted((project / "many").iterdir())
    ]


# --- what is stale


def test_a_build_with_nothing_to_do_writes_nothing_and_loads_no_compiler(shop: Path, harelc: Command) -> None:
    harelc("build")
    before = stamps(shop / "out")
    script = (
        "import sys, harelc.cli; harelc.cli.main(['build']);"
        "print(sorted({'textx', 'jinja2', 'black', 'harelc.compiler', 'harelc.tree'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert done[0].startswith("2 machines, 0 written, 2 fresh, ")
    assert done[1] == "[]"
    assert stamps(shop / "out") == before


def test_an_imports_import_makes_stale_what_depends_on_it_and_nothing_else(shop: Path, harelc: Command) -> None:
    harelc("build")
    first, before = (shop / "out" / "order.py").read_text(), stamps(shop / "out")
    base = shop / "machines" / "base.stm"
    old = base.read_text()

    base.write_text(old.replace("100", "200"))
    checked = harelc("build", "--check")
    assert (checked.status, checked.out) == (1, (
        "stale  out/order.py  machines/base.stm changed\n1 of 2 modules is stale; run `harelc build`\n"
    ))  # fmt: skip
    assert harelc("build").out.startswith("2 machines, 1 written, 1 fresh, ")
    assert (shop / "out" / "order.py").read_text() != first

    base.write_text(old)
    os.utime(base, (1, 1))
    harelc("build")
    assert (shop / "out" / "order.py").read_text() == first
    assert stamps(shop / "out")["device.py"] == before["device.py"]


def test_only_what_changed_is_compiled(shop: Path, harelc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from harelc import translate

    harelc("build")
    compiled = []
    real = translate.translate
    monkeypatch.setattr(translate, "translate", lambda job: compiled.append(job.source.name) or real(job))
    (shop / "machines" / "device.stm").write_text(machine("device", "amount > 2"))
    harelc("build")

    assert compiled == ["device.stm"]


def test_a_remark_makes_nothing_stale(shop: Path, harelc: Command) -> None:
    harelc("build")
    before = stamps(shop / "out")
    source = shop / "machines" / "device.stm"
    source.write_text("# a remark\n" + source.read_text())

    assert harelc("build", "--check").out == "2 modules up to date\n"
    harelc("build")
    assert stamps(shop / "out") == before


@pytest.mark.parametrize("file", ["order.py", "order.mmd"])
def test_an_edited_or_deleted_output_is_made_again(shop: Path, harelc: Command, file: str) -> None:
    harelc("build")
    output = shop / "out" / file
    good = output.read_text()

    output.write_text(good + "\n")
    assert f"stale  out/{file}  edited by hand\n" in harelc("build", "--check").out
    harelc("build")
    assert output.read_text() == good

    output.unlink()
    assert f"stale  out/{file}  is missing\n" in harelc("build", "--check").out
    harelc("build")
    assert output.read_text() == good


def test_line_ends_do_not_count(shop: Path, harelc: Command) -> None:
    harelc("build")
    order, source = shop / "out" / "order.py", shop / "machines" / "order.stm"
    order.write_bytes(order.read_bytes().replace(b"\n", b"\r\n"))
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes().replace(b"\n", b"\r\n"))

    assert harelc("build", "--check").status == 0
    assert harelc("build").out.startswith("2 machines, 0 written, 2 fresh, ")
    assert b"\r\n" in order.read_bytes()


def test_another_compiler_or_template_makes_everything_stale(
    shop: Path, harelc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harelc import translate

    harelc("build")
    compiled = []
    real = translate.translate
    monkeypatch.setattr(translate, "translate", lambda job: compiled.append(job.source.name) or real(job))
    monkeypatch.setattr(build, "fingerprint", lambda: "another")

    assert harelc("build", "--jobs", "1").out.startswith("2 machines, 0 written, 2 fresh, ")
    assert sorted(compiled) == ["base.stm", "device.stm", "lib.stm", "order.stm"]


def test_force_compiles_everything_and_writes_only_what_differs(
    shop: Path, harelc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harelc import translate

    harelc("build")
    before = stamps(shop / "out")
    compiled = []
    real = translate.translate
    monkeypatch.setattr(translate, "translate", lambda job: compiled.append(job.source.name) or real(job))

    assert harelc("build", "--force", "--jobs", "1").out.startswith("2 machines, 0 written, 2 fresh, ")
    assert len(compiled) == 4
    assert stamps(shop / "out") == before


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "null", '{"format": 99}', '{"format": 1, "entries": [{"source": 3}]}', "[" * 100_000]
)
def test_a_damaged_cache_is_no_cache(shop: Path, harelc: Command, damage: str) -> None:
    harelc("build")
    (shop / ".harelc-cache" / "build.json").write_text(damage)

    assert harelc("build", "--check").status == 0
    (shop / "machines" / "base.stm").write_text("guard big = amount > 7\n")
    assert "stale  out/order.py  differs from what machines/order.stm makes\n" in harelc("build", "--check").out
    assert harelc("build").out.startswith("2 machines, 1 written, 1 fresh, ")


def test_the_cache_may_be_deleted_and_is_ignored_by_git(shop: Path, harelc: Command) -> None:
    harelc("build")
    cache = shop / ".harelc-cache"
    assert (cache / ".gitignore").read_text() == "*\n"
    for file in cache.iterdir():
        file.unlink()
    cache.rmdir()

    assert harelc("build").out.startswith("2 machines, 0 written, 2 fresh, ")


def test_warnings_are_told_again_though_nothing_is_compiled(project: Path, harelc: Command) -> None:
    write(project, order="event Never {}\n" + machine("order"))
    first = harelc("build", "order.stm", "-o", "out")

    assert "warning[unused_event]" in first.err
    assert harelc("build", "order.stm", "-o", "out").err == first.err


# --- --check and --diff


def test_check_writes_nothing(shop: Path, harelc: Command) -> None:
    checked = harelc("build", "--check")

    assert checked.status == 1
    assert checked.out.splitlines()[-1] == "2 of 2 modules are stale; run `harelc build`"
    assert listing(shop) == ["machines", "pyproject.toml"]


def test_diff_shows_what_would_change(shop: Path, harelc: Command) -> None:
    harelc("build")
    (shop / "machines" / "device.stm").write_text(machine("device", "amount > 77"))
    shown = harelc("build", "--diff")

    assert shown.status == 1
    assert shown.out.startswith("--- out/device.")
    assert "+++ out/device.py\n" in shown.out
    assert [line for line in shown.out.splitlines() if line.startswith("+") and "77" in line]
    assert "77" not in (shop / "out" / "device.py").read_text()


# --- what is refused, what stays


def test_a_hand_written_file_in_the_way_is_never_touched(shop: Path, harelc: Command) -> None:
    own = shop / "out" / "order.py"
    own.parent.mkdir()
    own.write_text("mine = True\n")
    for arguments in (["build"], ["build", "--force"], ["build", "--check"]):
        built = harelc(*arguments)
        assert built.status == 1
        assert "harelc: out/order.py was not made by harelc: move it, or choose another output\n" in built.err
        assert own.read_text() == "mine = True\n"

    assert (shop / "out" / "device.py").exists()


def test_a_machine_whose_module_is_in_the_way_is_neither_written_nor_fresh(shop: Path, harelc: Command) -> None:
    (shop / "out").mkdir()
    (shop / "out" / "order.py").write_text("mine = True\n")

    assert harelc("build").out.startswith("2 machines, 1 written, 0 fresh, ")
    assert harelc("build").out.startswith("2 machines, 0 written, 1 fresh, ")


def test_a_broken_source_leaves_the_last_good_output_and_the_others_are_built(shop: Path, harelc: Command) -> None:
    harelc("build")
    good = (shop / "out" / "order.py").read_text()
    (shop / "machines" / "order.stm").write_text(machine("order", "nonsense ="))
    (shop / "machines" / "device.stm").write_text(machine("device", "amount > 9"))
    built = harelc("build")

    assert built.status == 1
    assert "machines/order.stm:6:" in built.err
    assert ", 1 written, 0 fresh, 1 source with errors, " in built.out
    assert (shop / "out" / "order.py").read_text() == good
    assert harelc("build", "--check").status == 1


def test_two_machines_of_one_file_name_are_an_error_with_both_places(project: Path, harelc: Command) -> None:
    write(project / "machines", a=machine("order"), b=machine("Order"))
    built = harelc("build", "machines", "-o", "out")

    assert built.status == 1
    assert "--> machines/b.stm:2:9" in built.err
    assert "machines/a.stm:2:9" in built.err
    assert listing(project / "out") == ["order.mmd", "order.py"]


def test_a_module_whose_machine_is_gone_is_removed(shop: Path, harelc: Command) -> None:
    harelc("build")
    (shop / "machines" / "device.stm").write_text(machine("gadget"))

    checked = harelc("build", "--check")
    assert "stale  out/device.py   machines/device.stm no longer makes it\n" in checked.out
    assert harelc("build").out.startswith("2 machines, 1 written, 1 fresh, 1 removed, ")
    assert listing(shop / "out") == ["gadget.mmd", "gadget.py", "order.mmd", "order.py"]


@pytest.mark.parametrize("cached", [True, False])
def test_a_module_whose_source_is_gone_is_removed(shop: Path, harelc: Command, cached: bool) -> None:
    harelc("build")
    if not cached:
        (shop / ".harelc-cache" / "build.json").unlink()
    (shop / "machines" / "device.stm").unlink()

    assert "stale  out/device.py   machines/device.stm is gone\n" in harelc("build", "--check").out
    assert harelc("build").out.startswith("1 machine, 0 written, 1 fresh, 1 removed, ")
    assert listing(shop / "out") == ["order.mmd", "order.py"]


def test_what_the_build_was_not_asked_about_stays(shop: Path, harelc: Command) -> None:
    harelc("build")
    write(shop / "elsewhere", parcel=machine("parcel"))
    harelc("build", "elsewhere", "-o", "out")
    (shop / "out" / "mine.py").write_text("mine = True\n")
    (shop / "machines" / "device.stm").unlink()

    assert harelc("build", "machines/order.stm", "-o", "out").status == 0
    assert harelc("build", "elsewhere", "-o", "out").status == 0
    assert "device.py" in listing(shop / "out")
    assert harelc("build").status == 0
    assert {"mine.py", "parcel.py", "order.py"} <= set(listing(shop / "out"))
    assert "device.py" not in listing(shop / "out")


def test_nothing_is_removed_while_the_source_has_errors(shop: Path, harelc: Command) -> None:
    harelc("build")
    (shop / "machines" / "device.stm").write_text("machine gadget {")

    assert harelc("build").status == 1
    assert "device.py" in listing(shop / "out")


@pytest.mark.parametrize("arguments", [["nowhere"], ["empty", "-o", "out"], ["machines", "-o", "pyproject.toml"]])
def test_wrong_paths_exit_2_and_remove_nothing(shop: Path, harelc: Command, arguments: list[str]) -> None:
    harelc("build")
    (shop / "empty").mkdir()
    before = stamps(shop / "out")
    built = harelc("build", *arguments)

    assert built.status == 2
    assert len(built.err.splitlines()) == 1
    assert stamps(shop / "out") == before


# --- interruptions and neighbours


@pytest.mark.parametrize(
    ("failure", "status", "last_words"),
    [
        (OSError(28, "No space left on device"), 2, "harelc: {file}: No space left on device\n"),
        (OSError(30, "Read-only file system"), 2, "harelc: {file}: Read-only file system\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_a_build_that_cannot_go_on_leaves_whole_files(
    shop: Path, harelc: Command, monkeypatch: pytest.MonkeyPatch, failure: BaseException, status: int, last_words: str
) -> None:
    harelc("build")
    good = (shop / "out" / "order.py").read_text()
    (shop / "machines" / "base.stm").write_text("guard big = amount > 7\n")

    def fail(self: Path, target: Path) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fail)
        built = harelc("build")

    assert (built.status, built.err) == (status, last_words.format(file=shop / "out" / "order.py"))
    assert (shop / "out" / "order.py").read_text() == good
    assert listing(shop / "out") == ["device.mmd", "device.py", "order.mmd", "order.py"]
    assert harelc("build").out.startswith("2 machines, 1 written, 1 fresh, ")


def test_builds_of_one_tree_at_once_do_not_disturb_one_another(project: Path, harelc: Command) -> None:
    write(project / "machines", **{f"m{number}": machine(f"m{number}") for number in range(8)})
    command = [sys.executable, "-m", "harelc", "build", "machines", "-o", "out"]
    builds = [subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) for _ in range(3)]

    assert [each.wait() for each in builds] == [0, 0, 0]
    assert len(listing(project / "out")) == 16
    assert harelc("build", "--check", "machines", "-o", "out").status == 0
    assert harelc("build", "--check", "--force", "machines", "-o", "out").status == 0


def test_watching_builds_once_and_then_after_each_change(shop: Path) -> None:
    command = [sys.executable, "-m", "harelc", "build", "--watch"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watcher:
        assert watcher.stdout is not None
        assert watcher.stderr is not None
        first = watcher.stdout.readline()
        (shop / "machines" / "device.stm").write_text(machine("device", "amount > 5"))
        second = watcher.stdout.readline()
        (shop / "machines" / "device.stm").write_text("machine device {")
        broken = watcher.stdout.readline()
        watcher.send_signal(2)
        last_words = watcher.stderr.read()

    assert first.startswith(b"2 machines, 2 written, 0 fresh, ")
    assert second.startswith(b"2 machines, 1 written, 1 fresh, ")
    assert b"1 source with errors" in broken
    assert watcher.returncode == 130
    assert b"Traceback" not in last_words
    assert b"machines/device.stm:1:" in last_words
