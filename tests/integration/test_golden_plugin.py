"""The pytest plugin as an installed package brings it: golden files, and the option that rewrites them (build.md 5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

TEST = """
from pathlib import Path

def test_the_diagram_is_as_pinned(harelc_golden):
    harelc_golden(Path("pinned") / "light.mmd", "stateDiagram-v2\\n    Red --> Grün\\n")
"""


@pytest.fixture
def pytester(python: Run, tmp_path: Path) -> Run:
    """`pytester(*options)` runs a test that pins one file, in a folder without a conftest."""
    (tmp_path / "test_light.py").write_text(TEST)
    return lambda *options: python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", *options)


def test_a_golden_file_that_is_not_there_is_written_once_when_told_to(pytester: Run, tmp_path: Path) -> None:
    pinned = tmp_path / "pinned" / "light.mmd"
    before, update = pytester(), pytester("--harelc-update")
    stamp = pinned.stat().st_mtime_ns
    again = pytester("--harelc-update")

    assert (before.status, update.status, again.status) == (1, 0, 0)
    assert "pinned/light.mmd does not exist; --harelc-update writes it" in before.out
    assert pinned.read_bytes().decode() == "stateDiagram-v2\n    Red --> Grün\n"
    assert pinned.stat().st_mtime_ns == stamp


def test_a_golden_file_that_differs_fails_with_the_difference_until_it_is_rewritten(
    pytester: Run, tmp_path: Path
) -> None:
    pinned = tmp_path / "pinned" / "light.mmd"
    pinned.parent.mkdir()
    pinned.write_text("stateDiagram-v2\n    Red --> Yellow\n")
    before, update = pytester(), pytester("--harelc-update")

    assert (before.status, update.status) == (1, 0)
    assert "-     Red --> Grün" in before.out
    assert "+     Red --> Yellow" in before.out
    assert "Grün" in pinned.read_text(encoding="utf-8")
