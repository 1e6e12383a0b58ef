"""Which files a command is about, and by what name they are known (build.md section 3, edges.md)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from harelc.console import Refusal
from harelc.project import find_project, find_sources, plan


def touch(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("event Go {}\n")


def names(paths: Iterable[Path], folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in paths]


def test_folders_are_searched_in_order_and_files_taken_once(tmp_path: Path) -> None:
    touch(tmp_path / "b.stm", tmp_path / "a" / "z.stm", tmp_path / "a" / "notes.txt")

    found = find_sources([tmp_path / "b.stm", tmp_path])

    assert names(found, tmp_path) == ["b.stm", "a/z.stm"]


def test_hidden_folders_and_virtual_environments_are_passed_over_unless_named(tmp_path: Path) -> None:
    touch(tmp_path / ".git" / "x.stm", tmp_path / "env" / "pyvenv.cfg", tmp_path / "env" / "lib" / "y.stm")
    touch(tmp_path / "order.stm")

    assert names(find_sources([tmp_path]), tmp_path) == ["order.stm"]
    assert names(find_sources([tmp_path / ".git"]), tmp_path) == [".git/x.stm"]
    assert names(find_sources([tmp_path / "env"]), tmp_path) == ["env/lib/y.stm"]


def test_a_link_that_leads_back_ends(tmp_path: Path) -> None:
    touch(tmp_path / "machines" / "order.stm")
    (tmp_path / "machines" / "again").symlink_to(tmp_path / "machines")

    assert names(find_sources([tmp_path / "machines"]), tmp_path) == ["machines/order.stm"]


def test_a_linked_folder_is_followed_once(tmp_path: Path) -> None:
    touch(tmp_path / "shared" / "bank.stm", tmp_path / "machines" / "order.stm")
    (tmp_path / "machines" / "shared").symlink_to(tmp_path / "shared")

    assert names(find_sources([tmp_path / "machines"]), tmp_path) == ["machines/order.stm", "machines/shared/bank.stm"]


def test_paths_may_have_spaces_and_accents(tmp_path: Path) -> None:
    touch(tmp_path / "commandes payées" / "été.stm")

    assert names(find_sources([tmp_path]), tmp_path) == ["commandes payées/été.stm"]


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"nowhere: there is no such file or folder"):
        find_sources([tmp_path / "nowhere"])


def test_a_link_to_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    with pytest.raises(Refusal, match=r"loop: Too many levels of symbolic links"):
        find_sources([tmp_path / "loop"])


def test_the_nearest_pyproject_marks_the_project(tmp_path: Path) -> None:
    touch(tmp_path / "pyproject.toml", tmp_path / "shop" / "machines" / "order.stm")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "shop" / "pyproject.toml").write_text("")

    project = find_project(tmp_path / "shop" / "machines")

    assert project.root == tmp_path / "shop"
    assert project.name_of(tmp_path / "shop" / "machines" / "order.stm") == "machines/order.stm"


def test_a_table_wins_over_a_nearer_file_without_one(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.harelc]\nsources = ["shop"]\n')
    (tmp_path / "shop" / "pyproject.toml").write_text("")

    assert find_project(tmp_path / "shop").root == tmp_path


def test_without_a_mark_a_source_is_known_by_its_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path / "deep" / "machines" / "order.stm")
    monkeypatch.chdir(tmp_path / "deep")

    here = plan([Path("machines")], Path("out"))
    monkeypatch.chdir("/")
    elsewhere = plan([tmp_path / "deep" / "machines" / "order.stm"], tmp_path / "deep" / "out")

    assert [job.name for job in (*here.jobs, *elsewhere.jobs)] == ["order.stm", "order.stm"]


def test_settings_say_what_to_build_and_the_command_line_wins(project: Path) -> None:
    touch(project / "machines" / "order.stm", project / "other" / "device.stm")
    (project / "pyproject.toml").write_text('[tool.harelc]\nsources = ["machines"]\noutput = "out"\ndiagrams = false\n')

    def outputs(*paths: str, output: str | None = None) -> list[tuple[str, str]]:
        jobs = plan([Path(path) for path in paths], Path(output) if output else None).jobs
        return [(job.name, job.output.relative_to(project).as_posix()) for job in jobs]

    assert outputs() == [("machines/order.stm", "out")]
    assert outputs("machines/order.stm") == [("machines/order.stm", "out")]
    assert outputs("machines", output="gen") == [("machines/order.stm", "gen")]
    assert outputs("other") == [("other/device.stm", "out")]


def test_without_an_output_modules_go_beside_their_sources(project: Path) -> None:
    touch(project / "machines" / "pay" / "bank.stm")

    (job,) = plan([Path("machines")], None).jobs

    assert job.output == project / "machines" / "pay"


@pytest.mark.parametrize("paths", [[], [Path("empty")]])
def test_nothing_to_build_is_said(project: Path, paths: list[Path]) -> None:
    (project / "empty").mkdir()

    with pytest.raises(Refusal, match=r"give a path, or set `sources`|there is no \.stm file in empty"):
        plan(paths, None)
