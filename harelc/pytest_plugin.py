"""The pytest plugin: files that hold what a test is to get, and the option that rewrites them (build.md section 5).

It knows text and files, not machines.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Golden = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--harelc-update`."""
    group = parser.getgroup("harelc")
    group.addoption(
        "--harelc-update",
        action="store_true",
        help="Rewrite the golden files with what the tests get, where it differs.",
    )


@pytest.fixture
def harelc_golden(request: pytest.FixtureRequest) -> Golden:
    """`harelc_golden(path, text)` asserts that a file holds a text, or writes it there under `--harelc-update`."""
    update: bool = request.config.getoption("--harelc-update")

    def golden(path: Path, text: str) -> None:
        pinned = path.read_text(encoding="utf-8") if path.exists() else None
        if update and pinned != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return

        assert pinned is not None, f"{path} does not exist; --harelc-update writes it"
        assert pinned == text, f"{path} has another text; --harelc-update accepts the new one"

    return golden
