"""Every example of `docs/stores.md` runs, and its table has every store there is."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from doc_blocks import Section, read_page

import harel

PAGE = read_page("stores.md")


@pytest.mark.parametrize("section", PAGE.sections, ids=str)
def test_the_examples_of_a_section_run_as_they_stand(
    section: Section, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    section.run(PAGE.prelude, tmp_path)


def test_no_block_of_the_page_is_left_out() -> None:
    assert sum(len(section.blocks) for section in PAGE.sections) == PAGE.text.count("\n```python")


def test_every_section_about_a_store_is_named_in_the_table() -> None:
    sections = re.findall(r"^## (\w+Store)$", PAGE.text, re.MULTILINE)

    assert re.findall(r"^\| \[`(\w+)`\]", PAGE.text, re.MULTILINE) == sections
    assert set(sections) <= set(harel.__all__)
