"""Graphviz itself reads and lays out every `.dot` file of the repository (build.md section 1, `render`)."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from .conftest import REPOSITORY, run
from .tools import program

FILES = sorted(file.relative_to(REPOSITORY) for file in (REPOSITORY / "golden").glob("*.dot"))

_SIGNS = {"n": "\n", "l": "\n", "r": "\n"}
"""What a letter behind a backslash means in a label; other signs mean themselves."""


@pytest.fixture(scope="module")
def dot() -> str:
    return program("dot", package="graphviz")


@pytest.mark.parametrize("file", FILES, ids=str)
def test_graphviz_draws_the_diagram_with_every_text_in_it(dot: str, file: Path) -> None:
    drawn = run([dot, "-Tsvg", str(file)], REPOSITORY)
    shown = "".join(unescape(re.sub(r"<[^>]*>", "", drawn.out)).split())
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', (REPOSITORY / file).read_text(encoding="utf-8"))
    texts = [unescape(re.sub(r"\\(.)", lambda sign: _SIGNS.get(sign[1], sign[1]), label)) for label in labels]

    assert (drawn.status, drawn.err) == (0, "")
    assert [line for text in texts for line in text.splitlines() if "".join(line.split()) not in shown] == []


def test_graphviz_refuses_what_is_no_diagram(dot: str, tmp_path: Path) -> None:
    (tmp_path / "broken.dot").write_text('digraph { a -> "b }')

    assert run([dot, "-Tsvg", "broken.dot"], tmp_path).status != 0
