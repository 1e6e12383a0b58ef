"""`harelc fmt`: which files it rewrites, what it keeps of them, what it says and how it ends (build.md 1, edges.md)."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from commands import Command

UGLY = "event   Go{}\nmachine order{initial A\nfinal A success}\n"
NEAT = "event Go {}\nmachine order {\n  initial A\n  final A success\n}\n"
BROKEN = "machine order {\n"


def test_files_named_and_found_in_folders_are_rewritten(project: Path, harelc: Command) -> None:
    (project / "machines" / ".hidden").mkdir(parents=True)
    for name in ("machines/order.stm", "machines/.hidden/order.stm", "device.stm"):
        (project / name).write_text(UGLY)
    (project / "machines" / "payment.stm").write_text(NEAT)

    result = harelc("fmt", "machines", "device.stm")

    assert result.status == 0
    assert result.out == "formatted  machines/order.stm\nformatted  device.stm\n2 formatted, 1 unchanged\n"
    assert (project / "machines" / "order.stm").read_text() == NEAT
    assert (project / "device.stm").read_text() == NEAT
    assert (project / "machines" / ".hidden" / "order.stm").read_text() == UGLY


def test_a_file_that_is_as_it_should_be_is_not_touched(project: Path, harelc: Command) -> None:
    file = project / "order.stm"
    file.write_text(NEAT)
    before = file.stat()

    assert harelc("fmt", "order.stm").out == "0 formatted, 1 unchanged\n"
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_check_names_what_would_change_and_writes_nothing(project: Path, harelc: Command) -> None:
    (project / "order.stm").write_text(UGLY)
    (project / "payment.stm").write_text(NEAT)

    result = harelc("fmt", "--check", ".")

    assert result.status == 1
    assert result.out == "would change  order.stm\n1 would change, 1 unchanged; run `harelc fmt`\n"
    assert (project / "order.stm").read_text() == UGLY
    assert harelc("fmt", "--check", "payment.stm").status == 0


def test_diff_shows_what_would_change_and_writes_nothing(project: Path, harelc: Command) -> None:
    (project / "order.stm").write_text("event Go {}\nevent   Stop {}")

    result = harelc("fmt", "--diff", "order.stm")

    assert result.status == 1
    assert result.out == (
        "--- order.stm\n+++ order.stm\n@@ -1,2 +1,2 @@\n event Go {}\n"
        "-event   Stop {}\n\\ No newline at end of file\n+event Stop {}\n"
    )
    assert (project / "order.stm").read_text() == "event Go {}\nevent   Stop {}"


def test_a_file_with_syntax_errors_is_reported_and_left_alone(project: Path, harelc: Command) -> None:
    (project / "broken.stm").write_text(BROKEN)
    (project / "latin.stm").write_bytes("# größer\n".encode("latin-1"))
    (project / "order.stm").write_text(UGLY)

    result = harelc("fmt", ".")

    assert result.status == 1
    assert "error[syntax_error]: expected a statement or `}`" in result.err
    assert " --> broken.stm:1:16" in result.err
    assert "error[encoding_error]: `latin.stm` is not UTF-8" in result.err
    assert result.out == "formatted  order.stm\n1 formatted, 0 unchanged, 2 with errors\n"
    assert (project / "broken.stm").read_text() == BROKEN
    assert harelc("fmt", "--check", "broken.stm").status == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"event  Go{}\r\nevent Stop {}\r\n", b"event Go {}\r\nevent Stop {}\r\n"),
        (b"event  Go{}\revent Stop {}\r", b"event Go {}\revent Stop {}\r"),
        (b"event  Go{}\r\n\r\nevent Stop {}\n", b"event Go {}\r\n\r\nevent Stop {}\r\n"),
        (b"event  Go{}\r\n\nevent Stop {}\n", b"event Go {}\n\nevent Stop {}\n"),
        (b"event  Go{}\r\nevent Stop {}\n", b"event Go {}\nevent Stop {}\n"),
        (b"\xef\xbb\xbfevent  Go{}\r\n", b"\xef\xbb\xbfevent Go {}\r\n"),
        (b"event  Go{}", b"event Go {}\n"),
        (b"# a remark  \r\nevent Go {}\r\n", b"# a remark\r\nevent Go {}\r\n"),
    ],
    ids=["windows", "old-mac", "mostly-windows", "mostly-unix", "as-many", "mark", "none", "comment"],
)
def test_line_ends_and_the_mark_stay(project: Path, harelc: Command, before: bytes, after: bytes) -> None:
    (project / "order.stm").write_bytes(before)

    assert harelc("fmt", "order.stm").status == 0
    assert (project / "order.stm").read_bytes() == after
    assert harelc("fmt", "order.stm").out == "0 formatted, 1 unchanged\n"


def test_check_does_not_count_a_difference_in_line_ends_only(project: Path, harelc: Command) -> None:
    (project / "order.stm").write_bytes(b"event Go {}\r\nevent Stop {}\n")

    assert harelc("fmt", "--check", "order.stm").status == 0
    assert harelc("fmt", "--diff", "order.stm").out == ""


def test_permissions_and_links_stay(project: Path, harelc: Command) -> None:
    (project / "order.stm").write_text(UGLY)
    (project / "order.stm").chmod(0o640)
    (project / "link.stm").symlink_to("order.stm")

    assert harelc("fmt", "link.stm").status == 0
    assert (project / "link.stm").is_symlink()
    assert (project / "order.stm").read_text() == NEAT
    assert stat.S_IMODE((project / "order.stm").stat().st_mode) == 0o640


def test_a_write_that_fails_leaves_the_file_as_it_was(
    project: Path, harelc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    (project / "order.stm").write_text(UGLY)
    monkeypatch.setattr(Path, "replace", fail)
    result = harelc("fmt", "order.stm")

    assert result.status == 2
    assert "No space left on device" in result.err
    assert (project / "order.stm").read_text() == UGLY
    assert {path.name for path in project.iterdir()} == {"order.stm", "pyproject.toml"}


def test_standard_input_goes_to_standard_output(harelc_process: Command) -> None:
    assert harelc_process("fmt", "-", input=UGLY).out == NEAT
    assert harelc_process("fmt", "-", input=NEAT).status == 0
    assert harelc_process("fmt", "--check", "-", input=NEAT).status == 0

    checked = harelc_process("fmt", "--check", "-", input=UGLY)
    assert (checked.status, checked.out) == (1, "would change  <stdin>\n")

    broken = harelc_process("fmt", "-", input=BROKEN)
    assert (broken.status, broken.out) == (1, "")
    assert " --> <stdin>:1:16" in broken.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'PATH...'"),
        (("nowhere.stm",), "nowhere.stm: there is no such file or folder"),
        (("empty",), "there is no .stm file in empty"),
        (("-", "empty"), "`-` is standard input and stands alone"),
    ],
)
def test_wrong_use(project: Path, harelc: Command, arguments: tuple[str, ...], message: str) -> None:
    (project / "empty").mkdir()

    result = harelc("fmt", *arguments)

    assert result.status == 2
    assert message in result.err
