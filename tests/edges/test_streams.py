"""Streams that were closed before a command began (`>&-`): taken as empty, never a traceback (build.md section 1)."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Result, environment

ORDER = "event Go {}\nmachine order { initial Cart  state Cart {}  final Paid success {}  from Cart to Paid on Go }\n"


def in_a_shell(command: str, folder: Path) -> Result:
    """How a command line ends whose redirections a shell makes."""
    done = subprocess.run(
        ["sh", "-c", f"{shlex.quote(sys.executable)} -m {command}"], cwd=folder, env=environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "command",
    [
        "harelc hash order.stm >&-",
        "harelc check order.stm >&- 2>&-",
        "harelc --help >&-",
        "harelc check - <&-",
        "harel hash order.stm >&-",
        "harel --help >&- 2>&-",
    ],
)
def test_a_closed_stream_takes_all_and_keeps_nothing(tmp_path: Path, command: str) -> None:
    (tmp_path / "order.stm").write_text(ORDER)

    ended = in_a_shell(command, tmp_path)

    assert (ended.status, ended.err) == (0, "")


def test_a_refusal_is_told_without_standard_output(tmp_path: Path) -> None:
    ended = in_a_shell("harelc hash order.stm >&-", tmp_path)

    assert ended == Result(2, "", "harelc: order.stm: there is no such file or folder\n")


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    (tmp_path / "order.stm").write_text(ORDER)
    in_a_shell("harelc build order.stm -o out", tmp_path)
    intended = (tmp_path / "out" / "order.py").read_bytes()
    ended = in_a_shell("harelc build order.stm -o out --force <&- >&- 2>&-", tmp_path)

    assert ended.status == 0
    assert (tmp_path / "out" / "order.py").read_bytes() == intended
