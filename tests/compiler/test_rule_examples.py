"""Every page of `harelc explain` keeps its word: the wrong example gives exactly that finding, the right one none."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from harelc import explain
from harelc.checks import PAGES
from harelc.clashes import name_clashes
from harelc.compiler import Compilation, bound_check, compile_source
from harelc.diagnostics import Finding, Source
from harelc.explain import Explanation, Files
from harelc.reading import Unreadable
from harelc.tree import Span

WITHOUT_EXAMPLE = {"encoding_error", "too_deep", "unreadable_file"}
"""No short text can show these."""

EXPLAINED = [page for page in explain.pages() if page.code not in WITHOUT_EXAMPLE]
SOURCES = Path(explain.__file__).parent


def compiled(files: Files, code: str) -> Compilation:
    """The example compiled; the rule about unbound handlers only holds where it is asked for."""

    def load(name: str) -> Source:
        if name not in files:
            raise Unreadable(Finding("import_not_found", Span(name, 0, 0), name), Source(name, ""))
        return Source(name, files[name])

    source = Source("main.stm", files["main.stm"])
    if code == "unbound_handler":
        return compile_source(source, load, rules=bound_check)
    return compile_source(source, load)


@pytest.mark.parametrize("page", EXPLAINED, ids=lambda page: page.code)
def test_the_wrong_example_gives_exactly_this_finding(page: Explanation) -> None:
    assert page.wrong is not None
    compilation = compiled(page.wrong, page.code)
    issues = (*compilation.issues, *name_clashes(compilation))

    assert [(issue.code, issue.severity) for issue in issues] == [(page.code, page.severity)]


@pytest.mark.parametrize("page", EXPLAINED, ids=lambda page: page.code)
def test_the_right_example_gives_no_finding(page: Explanation) -> None:
    assert page.right is not None
    compilation = compiled(page.right, page.code)

    assert (*compilation.issues, *name_clashes(compilation)) == ()
    assert compilation.definitions


def test_each_code_has_one_page() -> None:
    codes = [page.code for page in PAGES]

    assert sorted(set(codes)) == sorted(codes)


def named(value: ast.expr, pattern: str = r"[a-z]+(_[a-z]+)*") -> set[str]:
    """The texts in an expression that look like codes."""
    texts = {node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if re.fullmatch(pattern, text)}


def codes_in(module: ast.Module) -> set[str]:
    """The codes that a module may report: what goes to `Finding`, or to whatever is called `code`."""
    takers = {"Finding": 0}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args if argument.arg != "self"]
            takers |= {node.name: names.index("code")} if "code" in names else {}
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if len(node.args) > takers.get(name, 99):
                found |= named(node.args[takers[name]])
            for given in node.keywords:
                found |= named(given.value) if given.arg == "code" else set()
        elif isinstance(node, ast.Assign):
            targets = {
                one.id.lower() for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)
            }
            found |= named(node.value, r"[a-z]+(_[a-z]+)+") if "code" in targets else set()
    return found


def test_every_code_that_is_reported_anywhere_has_a_page() -> None:
    reported = {
        code for path in SOURCES.rglob("*.py") for code in codes_in(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert {"unknown_state", "name_clash", "ttl_not_positive", "import_outside", "unknown_machine"} <= reported
    assert reported - {page.code for page in PAGES} == set()


def test_a_page_begins_with_its_code_and_says_what_is_wrong() -> None:
    assert explain.page("missing_initial").startswith(
        "error[missing_initial]\n\nA body with states does not say where it begins (language 3, 6).\n"
    )


def test_an_unknown_code_names_the_nearest_ones() -> None:
    with pytest.raises(explain.UnknownCode, match="did you mean `unknown_state`"):
        explain.page("unknown_stat")


def test_the_reference_in_the_docs_is_up_to_date() -> None:
    written = SOURCES.parent / "docs" / "diagnostics.md"

    text = written.read_text(encoding="utf-8")

    assert text == explain.reference(), "run: python -m harelc.explain > docs/diagnostics.md"
