"""The formatter: white space between tokens and nothing else, the same in the second run (edges.md, generated code)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from property.machines import Machine, machines

from harelc.compiler import compile_source
from harelc.diagnostics import Finding, Source
from harelc.format import Unformattable, format_source
from harelc.parsing import room_to_parse
from harelc.reading import Unreadable
from harelc.syntax import parse
from harelc.tokens import Token, tokens
from harelc.tree import Span

REPOSITORY = Path(__file__).parent.parent.parent
GOLDEN = sorted((REPOSITORY / "golden" / "format").glob("*.before.stm"))


def formatted(text: str) -> str:
    return format_source(Source("order.stm", text))


# --- golden pairs


@pytest.mark.parametrize("before", GOLDEN, ids=lambda path: path.name.removesuffix(".before.stm"))
def test_a_source_comes_out_as_written_down(before: Path) -> None:
    after = before.with_name(before.name.replace(".before.stm", ".stm")).read_text(encoding="utf-8")

    assert formatted(before.read_text(encoding="utf-8")) == after
    assert formatted(after) == after


# --- what is kept


def code(text: str) -> list[str]:
    """The tokens but the comments; a sign before a number counts by itself."""
    found = (token.text for token in tokens(text) if token.kind != "comment")
    return [part for token in found for part in (re.findall(r"^-(?=\d)|.+", token, re.DOTALL))]


def comments(text: str) -> list[tuple[str, str, int]]:
    """Each comment, `behind` or `above`, and the number of its token."""
    found: list[tuple[str, str, int]] = []
    number, end = 0, -1
    for token in tokens(text):
        if token.kind != "comment":
            number += len(code(token.text))
            end = token.end
        elif end >= 0 and "\n" not in text[end : token.start]:
            found.append((token.text.rstrip(" \t"), "behind", number - 1))
        else:
            found.append((token.text.rstrip(" \t"), "above", number))
    return found


def tree_of(text: str) -> object:
    """The syntax tree with its documentation, as tuples without spans."""

    def plain(node: object) -> object:
        if isinstance(node, Span):
            return None
        if is_dataclass(node):
            return (type(node).__name__, *(plain(getattr(node, field.name)) for field in fields(node)))
        return tuple(map(plain, node)) if isinstance(node, tuple) else node

    file, findings = parse(Source("order.stm", text))
    assert not findings
    with room_to_parse():
        return plain(file)


def check(text: str) -> str:
    """The text laid out, after a look at all that has to be kept."""
    after = formatted(text)
    assert code(after) == code(text)
    assert comments(after) == comments(text)
    assert tree_of(after) == tree_of(text)
    assert formatted(after) == after
    assert all(line == line.rstrip(" \t") for line in after.split("\n"))
    assert "\n\n\n" not in after
    return after


@cache
def projects() -> tuple[dict[str, str], ...]:
    """The sources of all conformance cases that have no syntax error, each with the files it imports."""
    files = sorted((REPOSITORY / "tests" / "conformance").glob("**/*.json"))
    cases = (case for file in files for case in json.loads(file.read_text(encoding="utf-8")))
    texts = ({name: "\n".join(lines) for name, lines in case["files"].items()} for case in cases)
    return tuple(found for found in texts if not any(parse(Source(name, text))[1] for name, text in found.items()))


def test_there_are_sources_to_try() -> None:
    assert len(projects()) > 400
    assert len(GOLDEN) >= 5


def test_the_sources_of_all_cases_keep_their_tokens_and_comments() -> None:
    for project in projects():
        for text in project.values():
            check(text)


def verdict(project: dict[str, str]) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """The digests of a project's machines, and its findings without their places."""

    def load(name: str) -> Source:
        if name in project:
            return Source(name, project[name])
        raise Unreadable(Finding("unreadable_file", Span(name, 0, 0), "there is no such file"), Source(name, ""))

    done = compile_source(Source("main.stm", project["main.stm"]), load)
    digests = {name: definition.digest for name, definition in done.definitions.items()}
    return digests, sorted((issue.file, issue.code, issue.message) for issue in done.issues)


def test_neither_digests_nor_findings_change() -> None:
    for project in projects():
        after = {name: formatted(text) for name, text in project.items()}

        assert verdict(after) == verdict(project), project["main.stm"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(machines())
def test_any_machine_comes_to_rest_in_one_run(machine: Machine) -> None:
    check(machine.text)


GAPS = (" ", "   ", "\t", "\n", "\n\n\n", " # {}\n", "\n// {}\n", "\n\n  ## {}\n", "\n# {}\n\n\n## {}\n\n", "## {}  \n")


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=True), st.sampled_from((0.05, 0.3, 1.0)))
def test_white_space_and_comments_anywhere_between_tokens(random: Random, share: float) -> None:
    source = random.choice([text for project in projects() for text in project.values()])

    check(scattered(source, random, share))


def scattered(text: str, random: Random, share: float) -> str:
    """The text with other gaps between a share of its tokens; none before the `?` of a type, which takes none."""
    parts: list[str] = []
    end = 0
    for number, token in enumerate([*tokens(text), Token("end", "", len(text), len(text))]):
        gap = text[end : token.start]
        if token.text != "?" and "\n" not in gap and random.random() < share:
            gap = random.choice(GAPS).format(f"c{number}", f"d{number}")
        parts += gap, token.text
        end = token.end
    return "".join(parts)


# --- decisions


def test_a_minus_behind_an_operand_is_the_operator() -> None:
    def assigned(value: str) -> str:
        text = f"machine order {{ initial A final A success from A to A on Go set context.n = {value} }}"
        return formatted(text).splitlines()[3].partition(" = ")[2]

    assert assigned("context.n -1") == assigned("context.n-1") == "context.n - 1"
    assert assigned("event.timeout -1") == "event.timeout - 1"
    assert assigned("5-3") == "5 - 3"
    assert assigned("-3") == "-3"
    assert assigned("-3--4") == "-3 - -4"


def test_a_block_stays_in_one_line_only_where_it_was_and_fits() -> None:
    short = "event Paid { amount: int  by: string }\n"
    tall = "event Paid {\n  amount: int\n  by: string\n}\n"
    names = [f"a_field_with_a_long_name_{number}" for number in range(4)]
    wide = f"event Paid {{ {'  '.join(f'{name}: int' for name in names)} }}\n"

    assert formatted(short) == short
    assert formatted(tall) == tall
    assert formatted(wide) == "event Paid {\n" + "".join(f"  {name}: int\n" for name in names) + "}\n"


def test_a_body_that_holds_states_or_transitions_is_never_in_one_line() -> None:
    text = "machine order { initial A  state A { initial B  final B }  final C success  from A to C }"

    assert formatted(text) == (
        "machine order {\n"
        "  initial A\n"
        "  state A {\n"
        "    initial B\n"
        "    final B\n"
        "  }\n"
        "  final C success\n"
        "  from A to C\n"
        "}\n"
    )


def test_names_stay_as_they_are_written() -> None:
    text = 'machine "größer" {\n  initial "on hold"\n  final "on hold" "o\\u006b"\n}\n'

    assert formatted(text) == text


def test_one_hundred_columns_fit_and_one_more_does_not() -> None:
    def guard(length: int) -> str:
        text = "guard authorized = status == "
        return f'{text}"paid" or status == "{"x" * (length - len(text) - 22)}"\n'

    assert len(guard(100)) == 101
    assert formatted(guard(100)) == guard(100)
    assert formatted(guard(101)) == guard(101).replace(" or", "\n    or")


def test_what_cannot_be_broken_is_longer() -> None:
    text = f'import "{"deep/" * 30}lib.stm"\n'

    assert formatted(text) == text


def test_an_empty_text_stays_empty() -> None:
    assert formatted("") == ""
    assert formatted(" \n\n") == ""
    assert formatted("# only this") == "# only this\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("machine order {", "expected a statement or `}`, found the end of the file"),
        ("machine order { set context.n = 1e400 }", "expected a statement"),
        ("guard rich = amount > 1e400", "`1e400` is too large for a number"),
        ("guard deep = " + "(" * 201 + "a" + ")" * 201, "more than 200 parentheses and lists within one another"),
    ],
)
def test_a_text_with_syntax_errors_is_left_alone(text: str, message: str) -> None:
    with pytest.raises(Unformattable, match=re.escape(message)) as caught:
        formatted(text)

    assert caught.value.findings[0].message.startswith(message)


def deep_texts() -> Iterator[tuple[str, str]]:
    states = "".join(f"state S{n} {{ initial S{n + 1} " for n in range(64))
    yield "states", f"machine order {{ initial S0 {states}{'}' * 65}"
    yield "parentheses", f"guard deep = {'not (' * 100}{'(' * 100}a or b == 1{')' * 200}"
    yield "groups", f"guard deep = {'(a or b and ' * 199}c{')' * 199}"
    yield "lists", f"guard deep = a in {'[1, ' * 199}2{']' * 199}"


@pytest.mark.parametrize("text", [text for _, text in deep_texts()], ids=[name for name, _ in deep_texts()])
def test_what_the_language_nests_the_formatter_lays_out(text: str) -> None:
    check(text)


def test_ten_thousand_states_and_as_many_kinds() -> None:
    states = " ".join(f"state S{n} {{ timeout 60 }}" for n in range(10_000))
    kinds = " | ".join(f"E{n}" for n in range(10_000))
    after = formatted(f"machine order {{ initial S0 {states} from S0 to S1 on {kinds} }}")

    assert after.startswith("machine order {\n  initial S0\n  state S0 { timeout 60 }\n  state S1 { timeout 60 }\n")
    assert after.endswith(" | E9999\n}\n")
    assert 90 < max(map(len, after.splitlines())) <= 100
    assert formatted(after) == after
