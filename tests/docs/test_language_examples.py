"""Every example of `docs/language.md` is checked and run, section by section."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_blocks import Section, read_page

PAGE = read_page("language.md")


@pytest.mark.parametrize("section", PAGE.sections, ids=str)
def test_the_examples_of_a_section_run_as_they_stand(section: Section, tmp_path: Path) -> None:
    section.run(PAGE.prelude, tmp_path)


def test_every_machine_of_the_page_is_in_a_section_that_runs() -> None:
    fences = PAGE.text.count("\n```stm") + PAGE.text.count("\n```python")

    assert sum(len(section.blocks) for section in PAGE.sections) == fences
