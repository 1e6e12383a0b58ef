"""From bytes to text: decoding, line ends, comments, documentation (language.md section 1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harelc import reading
from harelc.reading import Unreadable, blank_comments, read_source, source_from_bytes


def test_a_byte_order_mark_and_any_line_ends_give_the_same_text() -> None:
    plain = source_from_bytes(b"event Go {}\nevent Stop {}\n", "a.stm")
    windows = source_from_bytes(b"\xef\xbb\xbfevent Go {}\r\nevent Stop {}\r\n", "a.stm")
    old_mac = source_from_bytes(b"event Go {}\revent Stop {}\r", "a.stm")

    assert plain.text == windows.text == old_mac.text == "event Go {}\nevent Stop {}\n"


def test_bytes_that_are_not_utf8_are_reported_at_their_line_and_column() -> None:
    with pytest.raises(Unreadable) as caught:
        source_from_bytes("event Go {}\r\n# größer\r\n".encode("latin-1"), "a.stm")

    finding = caught.value.finding
    assert finding.code == "encoding_error"
    assert finding.message == "`a.stm` is not UTF-8: byte 0xf6 in line 2"
    assert caught.value.source.place(finding.span.start) == (2, 5)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_called_by_its_name(encoding: str) -> None:
    with pytest.raises(Unreadable, match=r"`a.stm` is UTF-16, not UTF-8"):
        source_from_bytes("event Go {}".encode(encoding), "a.stm")


def test_a_file_is_known_by_the_name_it_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "order.stm").write_bytes(b"event Go {}")

    assert read_source(tmp_path / "order.stm", "machines/order.stm").name == "machines/order.stm"


def test_a_missing_file_and_a_directory_say_so(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"`lib.stm` cannot be read: there is no such file"):
        read_source(tmp_path / "lib.stm", "lib.stm")
    with pytest.raises(Unreadable, match=r"`here` cannot be read: it is a directory"):
        read_source(tmp_path, "here")
    with pytest.raises(Unreadable, match="no file can have this name"):
        read_source(tmp_path / "a\0.stm", "odd")


def test_comments_become_spaces_and_strings_stay() -> None:
    text = 'a # one\n"# no // comment" // two\n"open # three\n'

    assert blank_comments(text) == 'a      \n"# no // comment"       \n"open        \n'


def test_documentation_belongs_to_the_first_token_below_it() -> None:
    text = (
        "## Paid by card.\n##   Indented.\nevent Paid {}\n\n"
        "## Lost.\n\nevent Lost {}  ## not a run\n"
        "  ## Inner.\n  state A {}\n"
    )

    assert reading.docs(text) == {
        text.index("event Paid"): "Paid by card.\n  Indented.",
        text.index("state A"): "Inner.",
    }


def test_documentation_above_an_ordinary_comment_belongs_to_nothing() -> None:
    assert reading.docs("## About this file.\n# A remark.\nevent Go {}\n") == {}
