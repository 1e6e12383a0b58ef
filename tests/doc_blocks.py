"""The runnable blocks of a page of the docs: which they are, and how the tests run them.

A section of a page is the text under one heading. Its blocks run in order, in one namespace:

- the prelude, the first `python` block of the page, runs before the blocks of every section;
- a `stm` block becomes `source`; words after `stm` name the file it stands for (`lib.stm`, for others to import) or
  the codes that the checker finds in it: without codes it must find nothing;
- a `python` block is executed, and asserts what the page says.

`folder` is an empty folder with the section's named files. Other blocks are not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harel import validate

REPOSITORY = Path(__file__).parent.parent

_HEADING = re.compile(r"^#{1,6} (.+)$")
_FENCE = re.compile(r"^```(.*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: the language, the words after it, its text, and the line of the page where the text begins."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name of the file that a `stm` block stands for, if it has one."""
        return next((word for word in self.words if word.endswith(".stm")), None)

    @property
    def codes(self) -> list[str]:
        """The findings that a `stm` block is to have."""
        return sorted(word for word in self.words if not word.endswith(".stm"))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and the blocks below it up to the next one."""

    page: str
    title: str
    blocks: tuple[Block, ...]

    def __str__(self) -> str:
        return self.title

    def run(self, prelude: Block | None, folder: Path) -> None:
        """Run the blocks in order; what a block asserts, or the checker finds, fails the test at the page's line."""
        names: dict[str, object] = {"__name__": "page", "folder": folder}
        if prelude is not None and prelude not in self.blocks:
            self._execute(prelude, names)
        for block in self.blocks:
            if block.language == "python":
                self._execute(block, names)
            elif block.file is not None:
                (folder / block.file).write_text(block.text, encoding="utf-8")
            else:
                found = sorted(issue.code for issue in validate(block.text, base_path=folder))
                assert found == block.codes, f"{self.page}:{block.line}: the checker finds {found}"
                names["source"] = block.text

    def _execute(self, block: Block, names: dict[str, object]) -> None:
        code = "\n" * (block.line - 1) + block.text
        exec(compile(code, str(REPOSITORY / "docs" / self.page), "exec"), names)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the docs, cut into sections. Only sections with runnable blocks are kept."""

    text: str
    sections: tuple[Section, ...]
    prelude: Block | None


def read_page(name: str) -> Page:
    """The page `docs/NAME`. Its prelude is its first `python` block where that asserts nothing."""
    text = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
    sections = tuple(_sections(name, text))
    first = next((b for section in sections for b in section.blocks if b.language == "python"), None)
    return Page(text, sections, first if first is not None and "assert " not in first.text else None)


def _sections(page: str, text: str) -> Iterator[Section]:
    title, blocks, opened = "", list[Block](), None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is not None:
            if line == "```":
                language, *words = opened or [""]
                if language in ("python", "stm"):
                    blocks.append(Block(language, tuple(words), "\n".join(lines) + "\n", number - len(lines)))
                opened = None
            else:
                lines.append(line)
        elif fence:
            opened, lines = fence[1].split(), []
        elif heading := _HEADING.match(line):
            if blocks:
                yield Section(page, title, tuple(blocks))
            title, blocks = heading[1], []
    if blocks:
        yield Section(page, title, tuple(blocks))
