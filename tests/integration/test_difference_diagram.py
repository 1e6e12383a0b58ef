"""Mermaid itself draws two machines in one diagram, with every text and in the colours meant (build.md section 1)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harel.definition import Definition
from harelc.compiler import compile_file, compile_text
from harelc.difference import Difference, compare
from harelc.difference_diagram import mermaid_difference
from harelc.words import name

from .browser import Drawing, draw

REPOSITORY = Path(__file__).parents[2]

ODD = (
    'he said "no"',
    "a: b :: c",
    "a < b > c &lt; &amp; <br/> <b>bold</b>",
    "%% a comment %%{init: {}}%%",
    "A --> B -- x-- |c| d",
    "`code` **bold** _low_ ~tilde~ $$x$$",
    "1. one",
    "- item # heading",
    "end",
    "#35; #quot; \\n",
    "subgraph x; end; }",
    "Größe żółć",
)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def state_name(text: str) -> str:
    """The text without what no name of a state may hold."""
    return re.sub(r"[.:/]", "", text)


def odd_machine(texts: tuple[str, ...], *, inner: str) -> Definition:
    """A machine whose kinds of events are these texts, and whose states nearly so, inside a composite."""
    kinds = "".join(f"event {quoted(text)} {{}}\n" for text in texts)
    names = [quoted(state_name(text)) for text in texts]
    states = "".join(f"state {name} {{}}\n" for name in names)
    arrows = "".join(
        f"from {name} to {target} on {quoted(text)}\n"
        for name, target, text in zip(names, [*names[1:], "Last"], texts, strict=True)
    )
    composite = f"state {inner} {{ initial {names[0]} {states} state Last {{}} {arrows} }}"
    source = f"{kinds}machine odd {{ initial {inner} {composite} final Done ok {{}} from {inner} to Done }}"
    compilation = compile_text(source)
    assert [issue.message for issue in compilation.issues if issue.is_error] == []
    return compilation.definitions["odd"]


def golden(name: str) -> Definition:
    return compile_file(REPOSITORY / "golden" / f"{name}.stm").definitions[name]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawing]:
    order, checks = golden("order"), golden("checks")
    odd = odd_machine(ODD, inner="Odd")
    differences = {
        "same": compare(order, order),
        "forks": compare(checks, checks),
        "other": compare(order, checks),
        "new": Difference(None, checks),
        "gone": Difference(order, None),
        "odd": compare(odd, odd_machine(ODD[::-1], inner="Even")),
    }
    texts = {name: mermaid_difference(difference) for name, difference in differences.items()}
    return draw(texts, tmp_path_factory.mktemp("profile"))


@pytest.mark.parametrize("name", ["same", "forks", "other", "new", "gone", "odd"])
def test_mermaid_draws_it(drawn: dict[str, Drawing], name: str) -> None:
    assert drawn[name].error is None


def colours(drawing: Drawing) -> set[str]:
    """The colours of arrows that are drawn."""
    paths = re.findall(r'<path [^>]*class="[^"]*flowchart-link[^>]*>', drawing.svg)
    return {colour for path in paths for colour in re.findall(r"stroke: ?(#[0-9a-f]{6})", path)}


def test_what_is_new_is_green_and_what_is_gone_red(drawn: dict[str, Drawing]) -> None:
    assert [colours(drawn[name]) for name in ("same", "new", "gone", "other")] == [
        set(),
        {"#1a7f37"},
        {"#cf222e"},
        {"#1a7f37", "#cf222e"},
    ]


def test_odd_texts_are_shown_as_they_stand_in_the_source(drawn: dict[str, Drawing]) -> None:
    shown = "".join(drawn["odd"].text.split())

    assert [text for text in ODD if "".join(f"on {name(text)}".split()) not in shown] == []
    assert [text for text in ODD if "".join(state_name(text).split()) not in shown] == []
