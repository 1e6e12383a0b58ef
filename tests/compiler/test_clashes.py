"""Names that would be one in Python: the finding stands where the user can change something."""

from __future__ import annotations

from pathlib import Path

import pytest

from harel.issue import Issue
from harelc.clashes import name_clashes
from harelc.compiler import compile_file

ORDER = """machine order {
  initial Cart
  state Cart {}
  final Done success {}
  from Cart to Done on "Order Paid" | Order_Paid
}
"""


def clash(folder: Path, main: str, library: str = "", other: str = "") -> tuple[Issue, list[tuple[str, int, int]]]:
    """The one clash of `main.stm`, and the places of its notes."""
    for name, text in (("main.stm", main), ("lib.stm", library), ("other.stm", other)):
        (folder / name).write_text(text, encoding="utf-8")
    (issue,) = name_clashes(compile_file(folder / "main.stm"))
    return issue, [(note.file, note.line, note.column) for note in issue.notes]


def test_of_two_events_in_one_file_the_second_is_to_be_renamed(tmp_path: Path) -> None:
    issue, notes = clash(tmp_path, 'event "Order Paid" {}\nevent Order_Paid {}\n' + ORDER)

    assert (issue.code, issue.file, issue.line, issue.column) == ("name_clash", "main.stm", 2, 7)
    assert notes == [("main.stm", 1, 7)]


@pytest.mark.parametrize(
    ("own", "imported"),
    [('event "Order Paid" {}', "event Order_Paid {}"), ("event Order_Paid {}", 'event "Order Paid" {}')],
)
def test_of_an_imported_event_and_one_of_the_file_the_own_one_is_to_be_renamed(
    tmp_path: Path, own: str, imported: str
) -> None:
    quiet = ORDER.replace(" | Order_Paid", "") if "Order_Paid" in imported else ORDER.replace('"Order Paid" | ', "")
    issue, notes = clash(tmp_path, f'import "lib.stm"\n\n{own}\n{quiet}', f"\n{imported}\n")

    assert (issue.file, issue.line, issue.column) == ("main.stm", 3, 7)
    assert notes == [("lib.stm", 2, 7)]


def test_of_two_imported_events_the_import_of_the_second_is_named_with_both_places(tmp_path: Path) -> None:
    machine = ORDER.replace('"Order Paid" | Order_Paid', "Go")
    main = 'import "lib.stm"\nimport "other.stm"\nevent Go {}\n' + machine

    issue, notes = clash(tmp_path, main, 'event "Order Paid" {}\n', "\nevent Order_Paid {}\n")

    assert (issue.file, issue.line, issue.column) == ("main.stm", 2, 8)
    assert notes == [("lib.stm", 1, 7), ("other.stm", 2, 7)]
