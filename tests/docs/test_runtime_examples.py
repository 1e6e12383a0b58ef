"""Every example of `docs/runtime.md` runs, section by section, and its table has every error of the package."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from doc_blocks import Section, read_page

import harel

PAGE = read_page("runtime.md")


@pytest.mark.parametrize("section", PAGE.sections, ids=str)
def test_the_examples_of_a_section_run_as_they_stand(
    section: Section, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    section.run(PAGE.prelude, tmp_path)


def test_no_block_of_the_page_is_left_out() -> None:
    assert sum(len(section.blocks) for section in PAGE.sections) == PAGE.text.count("\n```python")


def test_the_table_of_errors_has_every_public_error() -> None:
    public = {name for name in harel.__all__ if isinstance(getattr(harel, name), type)}
    errors = {name for name in public if issubclass(getattr(harel, name), harel.HarelError)} - {"HarelError"}

    assert set(re.findall(r"^\| `(\w+)` \| .+ \| .* \|$", PAGE.text, re.MULTILINE)) >= errors
