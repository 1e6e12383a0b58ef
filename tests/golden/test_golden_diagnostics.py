"""What a user reads: `golden/diagnostics/CODE/main.stm` and its imports give the text in `expected.txt` (build.md 2).

Messages are reviewed like code. `--harelc-update` accepts new ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harelc import explain, report
from harelc.clashes import name_clashes
from harelc.compiler import bound_check, compile_file

GOLDEN = Path(__file__).parents[2] / "golden" / "diagnostics"
FOLDERS = sorted(path for path in GOLDEN.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_findings_read_as_reviewed(folder: Path, request: pytest.FixtureRequest) -> None:
    code, main, expected = folder.name, folder / "main.stm", folder / "expected.txt"
    compiled = compile_file(main, rules=bound_check) if code == "unbound_handler" else compile_file(main)
    issues = (*compiled.issues, *name_clashes(compiled))
    text = report.text(issues, compiled.sources, color=False)
    if request.config.getoption("--harelc-update", default=False):
        expected.write_text(text, encoding="utf-8", newline="\n")

    assert text == expected.read_text(encoding="utf-8")
    assert f"[{code}]" in text


def test_every_code_has_its_text() -> None:
    with_example = {page.code for page in explain.pages() if page.wrong is not None}

    assert with_example <= {folder.name for folder in FOLDERS}
