"""What happens on a machine that lacks a program which the tests ask: skipped at home, failed in CI."""

from __future__ import annotations

from pathlib import Path

import pytest

from .tools import program


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No program is found, the package manager neither."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    return monkeypatch


def test_at_home_the_test_is_skipped(nothing_installed: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.skip.Exception, match="there is no chromium"):
        program("chromium", package="chromium")


def test_in_ci_the_test_fails(nothing_installed: pytest.MonkeyPatch) -> None:
    nothing_installed.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="there is no chromium"):
        program("chromium", package="chromium")
