"""Table prefixes and the end of a prefix of ids, which every store uses (edges.md, Values)."""

from __future__ import annotations

import pytest

from harel.stores.names import checked_prefix, end_of_prefix


@pytest.mark.parametrize("prefix", ["harel", "a", "a1_", "x" * 30])
def test_a_prefix_that_can_name_tables_is_taken(prefix: str) -> None:
    assert checked_prefix(prefix) == prefix


@pytest.mark.parametrize("prefix", ["", "A", "_a", "1a", "a-b", "a.b", "x" * 31, "a\n", "é"])
def test_another_prefix_is_refused_by_name(prefix: str) -> None:
    with pytest.raises(ValueError, match="cannot name tables"):
        checked_prefix(prefix)


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("a", "b"),
        ("a_", "a`"),
        ("a\uffff", "a\U00010000"),
        ("a\ud7ff", "a\ue000"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff", None),
        ("", None),
    ],
    ids=ascii,
)
def test_the_end_of_a_prefix_is_the_next_text_in_byte_order(prefix: str, end: str | None) -> None:
    assert end_of_prefix(prefix) == end
