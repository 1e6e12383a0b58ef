"""The examples of a page are really run: a wrong one fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_blocks import Block, Section

MACHINE = "machine order {\n  initial Sold\n  final Sold success {}\n}\n"


def section(*blocks: Block) -> Section:
    return Section("page.md", "A section", blocks)


def test_a_block_sees_the_machine_above_it(tmp_path: Path) -> None:
    right = section(Block("stm", (), MACHINE, 2), Block("python", (), "assert 'Sold' in source\n", 9))

    right.run(None, tmp_path)


def test_a_wrong_claim_fails(tmp_path: Path) -> None:
    wrong = section(Block("stm", (), MACHINE, 2), Block("python", (), "assert 'Cart' in source\n", 9))

    with pytest.raises(AssertionError):
        wrong.run(None, tmp_path)


def test_a_machine_with_a_finding_fails_unless_the_page_names_its_code(tmp_path: Path) -> None:
    text = MACHINE.replace("initial Sold", "initial Sould")

    section(Block("stm", ("initial_unresolved",), text, 2)).run(None, tmp_path)
    with pytest.raises(AssertionError, match=r"page\.md:2: the checker finds \['initial_unresolved'\]"):
        section(Block("stm", (), text, 2)).run(None, tmp_path)
    with pytest.raises(AssertionError, match=r"the checker finds \[\]"):
        section(Block("stm", ("initial_unresolved",), MACHINE, 2)).run(None, tmp_path)


def test_a_named_file_is_there_to_be_imported(tmp_path: Path) -> None:
    main = 'import "lib.stm"\nmachine shop {\n  initial S\n  state S { invoke order }\n  final F success {}\n' + (
        "  from S to F on Returned\n}\n"
    )

    section(Block("stm", ("lib.stm",), MACHINE, 2), Block("stm", (), main, 9)).run(None, tmp_path)
