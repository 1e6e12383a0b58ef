"""The hooks in `.pre-commit-hooks.yaml`, run by pre-commit itself (build.md section 5).

pre-commit would install the compiler into an environment of its own, from a network; here the installed one is taken.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from commands import Result

from .conftest import REPOSITORY, run

MANIFEST = REPOSITORY / ".pre-commit-hooks.yaml"
HOOKS = {hook["id"]: hook for hook in yaml.safe_load(MANIFEST.read_text())}

LIGHT = """event Go {}

machine light {
  initial Red

  state Red {}
  final Green success {}

  from Red to Green on Go
}
"""
SETTINGS = '[tool.harelc]\nsources = ["."]\n'

PreCommit = Callable[..., Result]


@pytest.fixture
def pre_commit(site: Path, tmp_path: Path) -> PreCommit:
    """`pre_commit(hook)` runs a hook on every file of a repository with a `light.stm`; `folder` is where that is."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "light.stm").write_text(LIGHT)
    (repository / "pyproject.toml").write_text(SETTINGS)
    (repository / "notes.txt").write_text("machine {{{ no source at all\n")
    hooks = [{**hook, "language": "unsupported", "additional_dependencies": []} for hook in HOOKS.values()]
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    (repository / ".pre-commit-config.yaml").write_text(json.dumps(config))
    variables = {
        "PATH": os.pathsep.join([str(site / "bin"), os.environ["PATH"]]),
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": str(site),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    run(["git", "init", "--quiet"], repository, **variables)

    def call(hook: str) -> Result:
        run(["git", "add", "--all"], repository, **variables)
        command = [sys.executable, "-m", "pre_commit", "run", hook, "--all-files", "--verbose", "--color=never"]
        return run(command, repository, **variables)

    return call


@pytest.fixture
def folder(pre_commit: PreCommit, tmp_path: Path) -> Path:
    """The repository that the hooks run in."""
    return tmp_path / "repository"


def test_pre_commit_accepts_the_manifest(tmp_path: Path) -> None:
    checked = run([sys.executable, "-m", "pre_commit", "validate-manifest", str(MANIFEST)], tmp_path)

    assert (checked.status, checked.out + checked.err) == (0, "")
    assert {name: hook["entry"] for name, hook in HOOKS.items()} == {
        "harelc-check": "harelc check",
        "harelc-fmt": "harelc fmt",
        "harelc-build": "harelc build --check",
    }
    assert all(hook["additional_dependencies"] == ["./runtime"] for hook in HOOKS.values())
    assert (REPOSITORY / "runtime" / "pyproject.toml").exists()


def test_check_is_given_the_sources_and_nothing_else(pre_commit: PreCommit) -> None:
    checked = pre_commit("harelc-check")

    assert (checked.status, "no findings in 1 file" in checked.out) == (0, True)


def test_check_stops_a_commit_with_a_mistake(pre_commit: PreCommit, folder: Path) -> None:
    (folder / "light.stm").write_text(LIGHT.replace("to Green", "to Grean"))
    checked = pre_commit("harelc-check")

    assert checked.status == 1
    assert "error[unknown_state]: no state `Grean`" in checked.out
    assert "--> light.stm:9:15" in checked.out


def test_fmt_lays_out_and_stops_the_commit_once(pre_commit: PreCommit, folder: Path) -> None:
    (folder / "light.stm").write_text(LIGHT.replace("  state Red", "      state Red"))
    first = pre_commit("harelc-fmt")
    second = pre_commit("harelc-fmt")

    assert (first.status, second.status) == (1, 0)
    assert "formatted  light.stm" in first.out
    assert (folder / "light.stm").read_text() == LIGHT


def test_build_stops_a_commit_with_stale_modules(pre_commit: PreCommit, folder: Path) -> None:
    stale = pre_commit("harelc-build")
    run([sys.executable, "-m", "harelc", "build"], folder, PYTHONPATH=f"{REPOSITORY}:{REPOSITORY / 'runtime'}")
    fresh = pre_commit("harelc-build")

    assert stale.status == 1
    assert "stale  light.py" in stale.out
    assert fresh.status == 0
    assert "1 module up to date" in fresh.out
