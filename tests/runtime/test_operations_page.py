"""Every Python block of `docs/operations.md` runs, and its example file is the one that the page names."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
PAGE = (REPOSITORY / "docs" / "operations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^## ([^\n]+)$(?:(?!^## ).)*?^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_a_block_runs_as_it_stands(title: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    exec(compile(code, f"docs/operations.md, {title}", "exec"), {"__name__": "operations"})


def test_no_block_is_left_out() -> None:
    assert len(BLOCKS) == PAGE.count("```python") == 4


def test_every_file_that_the_page_names_is_there() -> None:
    for name in set(re.findall(r"examples/\w+\.\w+", PAGE)):
        assert (REPOSITORY / name).is_file(), name
