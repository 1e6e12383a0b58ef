"""Links between the pages of the docs lead somewhere: to a file that is there, and to a heading in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_blocks import REPOSITORY

PAGES = sorted((REPOSITORY / "docs").glob("*.md"))


def _without_code(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", _without_code(page)):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page

        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


def test_the_index_names_every_page() -> None:
    index = (REPOSITORY / "docs" / "README.md").read_text(encoding="utf-8")

    assert [page.name for page in PAGES if page.name != "README.md" and f"]({page.name})" not in index] == []
