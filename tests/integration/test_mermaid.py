"""Mermaid itself reads and draws every diagram of the repository, and shows every text in it (build.md section 3)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harelc.compiler import compile_text
from harelc.diagram import mermaid

from .browser import Drawing, draw

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("golden", "examples")
FILES = sorted(file.relative_to(REPOSITORY) for top in FOLDERS for file in (REPOSITORY / top).rglob("*.mmd"))
NAMES = [str(file) for file in FILES]

LONG = ("what the courier says " * 10)[:199] + "!"
ODD_KINDS = (
    'he said "no"',
    "a: b :: c",
    "a < b > c &lt; &amp; <br/> <b>bold</b>",
    "%% a comment %%{init: {}}%%",
    "A --> B --",
    "naïve, façade, über, Größe, Øl, żółć",
    "`code` **bold** _low_ ~tilde~ $$x$$",
    "1. one",
    "- item # heading",
    "end note; end; }",
    "#35; #quot; \\n",
    "a | b {c} [[d]] (e) ((f))",
    "direction LR",
    LONG,
)
ODD_STATES = (
    'he said "no"',
    "a < b > c &lt; <b>bold<b>",
    "%% a comment",
    "A --> B --",
    "Größe żółć",
    "`code` **bold** _low_",
    "[*]",
    "end note",
    "direction LR",
    "state",
    "- item # heading; }",
    "x" * 60 + " " + "y" * 60,
)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def value(kind: str) -> str:
    """What a guard compares with; with a second long text a label would be cut."""
    return quoted("short" if kind == LONG else kind)


def odd_machine() -> str:
    """The diagram of a machine with every odd text as a state's name, an event's kind, a value and a remark."""
    kinds = "".join(f"event {quoted(kind)} {{ reason: string }}\n" for kind in ODD_KINDS)
    states = "".join(f"  ## {kind}\n  state S{number} {{}}\n" for number, kind in enumerate(ODD_KINDS))
    states += "".join(f"  state {quoted(name)} {{ on enter say(text: {quoted(name)}) }}\n" for name in ODD_STATES)
    names = [*(f"S{number}" for number in range(len(ODD_KINDS))), *map(quoted, ODD_STATES)]
    arrows = "".join(
        f"  from {source} to {target} on {quoted(kind)} where reason == {value(kind)}\n"
        for source, target, kind in zip(names, [*names[1:], "Done"], [*ODD_KINDS, *ODD_KINDS], strict=False)
    )
    source = f"{kinds}machine odd {{\n  initial S0\n{states}  final Done ok {{}}\n{arrows}}}\n"
    compilation = compile_text(source)
    assert [issue.message for issue in compilation.issues if issue.is_error] == []
    return mermaid(compilation.definitions["odd"])


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawing]:
    """What the browser drew, by the file's name from the repository."""
    diagrams = {str(file): (REPOSITORY / file).read_text(encoding="utf-8") for file in FILES}
    diagrams |= {"odd": odd_machine(), "broken": "stateDiagram-v2\n    A --> B : a; b --> : \n    state {"}
    return draw(diagrams, tmp_path_factory.mktemp("profile"))


_LABEL = re.compile(r'state "(?P<name>.*)" as \w+|.*?: (?P<label>.*)|(?P<none>.*)')


def labels(diagram: str) -> list[str]:
    """The texts that a diagram is to show, as the reader sees them."""
    found = [_LABEL.fullmatch(line.strip()) for line in diagram.splitlines() if not line.startswith("%%")]
    texts = [match["name"] or match["label"] or "" for match in found if match]
    parts = [part for text in texts for part in text.split("<br/>") if part]
    return [re.sub(r"#(\d+);", lambda number: chr(int(number[1])), part) for part in parts]


def squeezed(text: str) -> str:
    """A text without white space: where lines break is the renderer's business."""
    return "".join(text.split())


def test_mermaid_refuses_what_is_no_diagram(drawn: dict[str, Drawing]) -> None:
    assert drawn["broken"].error is not None


def test_there_are_diagrams_in_both_folders() -> None:
    assert {file.parts[0] for file in FILES} == set(FOLDERS)


@pytest.mark.parametrize("name", NAMES)
def test_mermaid_draws_the_diagram_with_every_text_in_it(drawn: dict[str, Drawing], name: str) -> None:
    drawing = drawn[name]
    shown = squeezed(drawing.text)
    expected = labels((REPOSITORY / name).read_text(encoding="utf-8"))

    assert drawing.error is None
    assert [label for label in expected if squeezed(label) not in shown] == []


def test_odd_texts_are_shown_as_they_stand_in_the_source(drawn: dict[str, Drawing]) -> None:
    drawing = drawn["odd"]
    shown = squeezed(drawing.text)

    assert drawing.error is None
    assert [name for name in ODD_STATES if squeezed(name) not in shown] == []
    assert [kind for kind in ODD_KINDS if squeezed(f"{kind} [reason == {value(kind)}]") not in shown] == []
    assert [kind for kind in ODD_KINDS if shown.count(squeezed(kind)) < 2] == []  # at an arrow and in a note
