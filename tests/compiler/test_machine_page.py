"""The page of a machine, pinned and safe against its source (build.md section 1, the setting `docs`).

`python -m pytest tests/compiler/test_machine_page.py --harelc-update` rewrites what is pinned.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harelc.compiler import compile_file, compile_text
from harelc.diagram import mermaid
from harelc.machine_page import machine_page
from harelc.markdown import code, prose
from harelc.pytest_plugin import Golden

GOLDEN = Path(__file__).parents[2] / "golden"


def rows(page: str, title: str) -> list[list[str]]:
    """The cells of a table of the page, without its heads."""
    table = page.partition(f"# {title}\n\n")[2].partition("\n\n")[0]
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines()[2:]]


def page_of(source: str) -> str:
    compilation = compile_text(source)
    assert [issue.message for issue in compilation.issues if issue.is_error] == []
    return machine_page(next(iter(compilation.definitions.values())))


@pytest.mark.parametrize("name", ["order", "checks"])
def test_the_page_is_as_pinned(name: str, harelc_golden: Golden) -> None:
    definition = compile_file(GOLDEN / f"{name}.stm").definitions[name]

    harelc_golden(GOLDEN / f"{name}.md", machine_page(definition))


def test_the_page_holds_the_diagram() -> None:
    definition = compile_file(GOLDEN / "order.stm").definitions["order"]

    assert f"```mermaid\n{mermaid(definition)}```\n" in machine_page(definition)


def test_tables_without_rows_are_left_out() -> None:
    page = page_of("event Go {}\nmachine order { initial A  state A {}  final B ok {}  from A to B on Go }")

    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == ["States", "Transitions", "Events"]


def test_a_timer_says_what_comes_of_it_and_an_event_who_waits_for_it() -> None:
    page = page_of(
        "event Go {}\nevent Later {}\nmachine order { ttl 60  initial A  defer Later"
        "  state A { timeout 5  initial B  state B { timeout 9 }  final C ok {}  from B to C on Go }"
        "  final D ok {}  from A to D on Timeout }"
    )

    assert rows(page, "Timers") == [
        [" `order` (ttl) ", " `60s` ", " (cancelled) "],
        [" `A` ", " `5s` ", " `D` "],
        [" `A.B` ", " `9s` ", " `D` "],
    ]
    assert rows(page, "Events") == [
        [" `Go` ", "  ", " `A.B` ", "  "],
        [" `Later` ", "  ", " `order` (deferred) ", "  "],
    ]


EVIL = "a | b `c` ``d`` \\\\ \\\\| <script> --> ``` # x \\n## y \\u001b[2J \\u202e $z$ ![i](j)"


def test_no_text_of_a_source_breaks_a_table_or_the_page() -> None:
    page = page_of(
        f"""
        ## | <b> ``` [x](y) --> $z$ \\ # {{{{ }}}}
        event Go {{ text: string }}

        ## ## Title | x
        ## ```
        ## - item
        ## 1. one
        machine order {{
          context {{ key: string = "{EVIL}" }}
          initial "a | `b` <c>"
          state "a | `b` <c>" {{ on enter say(text: "{EVIL}") }}
          final "```" "| | |" {{}}
          from "a | `b` <c>" to "```" on Go where text == "{EVIL}" set context.key = "{EVIL}"
        }}
        """
    )
    plain = re.sub(r"```mermaid\n.*?\n```\n", "", page, flags=re.DOTALL)

    assert all(character.isprintable() or character == "\n" for character in page)
    assert re.findall(r"^#+ .*$", plain, re.MULTILINE) == [
        *("# `order`", "## States", "## Transitions", "## Events", "## Context", "## Handlers")
    ]
    assert [len(rows(page, title)[0]) for title in ("States", "Transitions", "Events", "Context")] == [4, 6, 4, 3]
    assert "\n```" not in plain
    assert page.count("\n```") == 2


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("on hold", "`on hold`"),
        ("a|b", r"`a\|b`"),
        ("a`b", "``a`b``"),
        ("`", "`` ` ``"),
        ("a\\|b", "<code>a&#92;&#124;b</code>"),
        ("a\nb\x1b", r"`a\nb\x1b`"),
        ("", ""),
    ],
)
def test_code_stays_in_its_span(text: str, span: str) -> None:
    assert code(text) == span


@pytest.mark.parametrize(
    ("text", "paragraph"),
    [
        ("One order.\nIn cents.", "One order.<br>In cents."),
        ("# no title", r"\# no title"),
        ("- no item", r"\- no item"),
        ("1. no item", "1&#8288;. no item"),
        ("<b> & [x](y) | `z`", r"&#60;b&#62; &#38; \[x\](y) &#124; \`z\`"),
    ],
)
def test_prose_stays_prose(text: str, paragraph: str) -> None:
    assert prose(text) == paragraph
