"""The build hooks (build.md section 5): sample projects become wheels, and programs run what is in them."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from .conftest import Run

PROJECTS = Path(__file__).parent / "projects"

USE = """
from harel import DictStore, DurableRunner
from shop_{project}.machines import order

runner = DurableRunner(DictStore(), [order.DEFINITION], clock=lambda: 0.0)
runner.create("order", execution_id="o-1")
runner.process("o-1", order.Checkout(amount=4200))
runner.process("o-1", order.PaymentResult(status="authorized"))
print(order.VERSION, runner.store.load("o-1").outcome, order.__file__)
"""

each_project = pytest.mark.parametrize("name", ["hatch", "setuptools"])


def copied(name: str, folder: Path) -> Path:
    """A sample project of its own."""
    return Path(shutil.copytree(PROJECTS / name, folder / name))


def wheel_files(folder: Path) -> set[str]:
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {file for file in archive.namelist() if ".dist-info/" not in file}


def expected(name: str) -> set[str]:
    return {f"shop_{name}/__init__.py", f"shop_{name}/machines/order.py", f"shop_{name}/machines/order.mmd"}


@each_project
def test_a_wheel_has_the_machines_although_git_ignores_them(name: str, tmp_path: Path, python: Run) -> None:
    project = copied(name, tmp_path)
    built = python("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path / "out", project)
    assert built.status == 0, built.out + built.err
    assert wheel_files(tmp_path / "out") == expected(name)
    with zipfile.ZipFile(next((tmp_path / "out").glob("*.whl"))) as archive:
        archive.extractall(tmp_path / "installed")

    used = python("-c", USE.format(project=name), cwd=tmp_path / "installed")

    made = tmp_path / "installed" / f"shop_{name}" / "machines" / "order.py"
    assert (used.out, used.err) == (f"2 success {made}\n", "")


@each_project
def test_a_wheel_can_be_built_from_the_sdist_alone(name: str, tmp_path: Path, python: Run) -> None:
    project = copied(name, tmp_path)
    built = python("-m", "build", "--no-isolation", "--outdir", tmp_path / "out", project)
    assert built.status == 0, built.out + built.err
    (sdist,) = (tmp_path / "out").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {Path(*Path(file).parts[1:]).as_posix() for file in archive.getnames()}

    assert {"machines/order.stm", "machines/lib/payments.stm", "pyproject.toml"} <= packed
    assert wheel_files(tmp_path / "out") == expected(name)  # `build` makes it from the unpacked sdist


def test_an_sdist_of_a_whole_project_is_without_the_cache(tmp_path: Path, python: Run) -> None:
    project = copied("hatch", tmp_path)
    (project / ".gitignore").unlink()
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace('[tool.hatch.build.targets.sdist]\nonly-include = ["src"]\n', ""))
    built = python("-m", "build", "--no-isolation", "--sdist", "--outdir", tmp_path / "out", project)
    assert built.status == 0, built.out + built.err
    with tarfile.open(next((tmp_path / "out").glob("*.tar.gz"))) as archive:
        packed = {Path(file).parts[1] for file in archive.getnames()}

    assert (project / ".harelc-cache").exists()
    assert packed == {"PKG-INFO", "machines", "pyproject.toml", "src"}


def test_setuptools_packs_a_package_that_the_settings_do_not_list(tmp_path: Path, python: Run) -> None:
    project = copied("setuptools", tmp_path)
    with (project / "pyproject.toml").open("a") as settings:
        settings.write('\n[tool.setuptools]\npackages = ["shop_setuptools"]\npackage-dir = {"" = "src"}\n')
    built = python("-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "out", project)

    assert built.status == 0, built.out + built.err
    assert wheel_files(tmp_path / "out") == expected("setuptools")


def test_setuptools_refuses_an_output_beside_the_packages(tmp_path: Path, python: Run) -> None:
    project = copied("setuptools", tmp_path)
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace("src/shop_setuptools/machines", "made"))
    with settings.open("a") as more:
        more.write('\n[tool.setuptools]\npackages = ["shop_setuptools"]\npackage-dir = {"" = "src"}\n')
    built = python("-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "out", project)

    assert built.status == 1
    assert "harelc: made is no package below src: choose another output" in built.out + built.err


@each_project
def test_an_editable_install_finds_the_machines_in_the_sources(name: str, tmp_path: Path, python: Run) -> None:
    project = copied(name, tmp_path)
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--target", tmp_path / "installed"]
    installed = python("-m", "pip", "install", *options, "--editable", project)

    assert installed.status == 0, installed.out + installed.err
    assert (project / "src" / f"shop_{name}" / "machines" / "order.py").exists()


@each_project
def test_a_mistake_ends_the_build_with_the_finding(name: str, tmp_path: Path, python: Run) -> None:
    project = copied(name, tmp_path)
    source = project / "machines" / "order.stm"
    source.write_text(source.read_text().replace("to Paid on", "to Payed on"))
    built = python("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path / "out", project)

    told = built.out + built.err
    assert built.status == 1
    assert "error[unknown_state]: no state `Payed`" in told
    assert "--> machines/order.stm:13:" in told
    assert "Traceback" not in told
    assert not (project / "src" / f"shop_{name}" / "machines").exists()


@each_project
def test_a_project_that_does_not_say_what_to_build_is_told_so(name: str, tmp_path: Path, python: Run) -> None:
    project = copied(name, tmp_path)
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().partition("[tool.harelc]")[0])
    built = python("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path / "out", project)

    assert built.status == 1
    assert "nothing says what to build" in built.out + built.err


@each_project
def test_a_module_somebody_wrote_by_hand_is_left_alone(name: str, tmp_path: Path, python: Run) -> None:
    project = copied(name, tmp_path)
    by_hand = project / "src" / f"shop_{name}" / "machines" / "order.py"
    by_hand.parent.mkdir()
    by_hand.write_text("MINE = True\n")
    built = python("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path / "out", project)

    assert built.status == 1
    assert f"src/shop_{name}/machines/order.py was not made by harelc" in built.out + built.err
    assert by_hand.read_text() == "MINE = True\n"
