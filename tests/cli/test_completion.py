"""A shell asks the command itself which words may come next (README, Shell completion)."""

from __future__ import annotations

import pytest

from harelc import cli


def test_bash_gets_its_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_HARELC_COMPLETE", "bash_source")

    assert cli.main([]) == 0
    assert "complete -o nosort -F _harelc_completion harelc" in capsys.readouterr().out


def test_a_word_that_was_begun_is_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_HARELC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "harelc ch")
    monkeypatch.setenv("COMP_CWORD", "1")

    assert cli.main([]) == 0
    assert capsys.readouterr().out == "plain,check\n"
