"""Values and texts as Python source: read back, they are what they were."""

from __future__ import annotations

import ast

import pytest
from black import format_str
from black.mode import Mode
from hypothesis import given
from hypothesis import strategies as st

from harelc.pyliterals import DEEPEST, WIDTH, Name, Shallow, docstring, lines, literal

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=5).map(tuple), max_leaves=20)
DOCS = st.text(alphabet=st.sampled_from("ab \"'\\\t#\n{}%Nx0\x00\u2028é"), min_size=1)


@given(VALUES)
def test_a_literal_reads_back(value: object) -> None:
    assert repr(ast.literal_eval(literal(value))) == repr(value)


@given(VALUES)
def test_so_do_its_lines(value: object) -> None:
    assert repr(ast.literal_eval("\n".join(lines(value, 0, "")))) == repr(value)


def test_strings_have_double_quotes_where_nothing_needs_escaping() -> None:
    assert [literal(text) for text in ("a", "it's", 'say "hi"')] == ['"a"', '"it\'s"', "'say \"hi\"'"]


def test_a_long_row_is_broken_and_its_short_parts_share_lines() -> None:
    row = (
        "Fulfilling",
        0,
        "composite",
        -1,
        None,
        900,
        (("book_carrier", (("days", 3),)), ("order_picking", ())),
        ("x",),
    )

    assert list(lines(row, 4)) == [
        "    (",
        '        "Fulfilling", 0, "composite", -1, None, 900,',
        '        (("book_carrier", (("days", 3),)), ("order_picking", ())), ("x",),',
        "    ),",
    ]
    assert all(len(line) <= WIDTH for line in lines(tuple(range(200)), 4))


def test_what_is_nested_too_deep_gets_constants_of_its_own() -> None:
    value: tuple[object, ...] = (1,)
    for _ in range(2 * DEEPEST):
        value = ("not", value)
    shallow = Shallow()
    cut = shallow.cut((value, "beside"))
    names: dict[str, object] = {}
    for name, inner in shallow.constants:
        names[name] = eval(literal(inner), dict(names))

    assert [name for name, _ in shallow.constants] == ["_DEEP_1", "_DEEP_2"]
    assert all(isinstance(name, Name) for name, _ in shallow.constants)
    assert eval(literal(cut), dict(names)) == (value, "beside")


def _words(text: str) -> list[str]:
    """The lines, without the blanks around them and without blank lines."""
    return [line.strip() for line in text.split("\n") if line.strip()]


@given(DOCS)
@pytest.mark.parametrize("indent", [0, 4])
def test_a_docstring_keeps_its_lines_letter_by_letter_and_black_leaves_it_alone(indent: int, text: str) -> None:
    quoted = docstring(text, indent)
    source = f"{quoted}\n" if indent == 0 else f"class Paid:\n    {quoted}\n"
    documented = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Module | ast.ClassDef)][-1]
    found = ast.get_docstring(documented, clean=False) or ""

    assert _words(found) == _words(text)
    assert format_str(source, mode=Mode()) == source


@pytest.mark.parametrize("text", ['"', '"""', "\\", 'ends in a quote "', "a\n# mypy: ignore-errors", "\\N{BULLET}"])
def test_no_text_ends_a_docstring_or_speaks_to_a_tool(text: str) -> None:
    source = docstring(text, 0)

    assert ast.literal_eval(source).strip("\n") == text
    assert not any(line.startswith("#") for line in source.split("\n"))
