"""Whatever happens to a source, the compiler answers with findings that have a place, or with machines that run.

Tokens of valid sources are deleted, doubled, swapped, replaced, or the rest is cut off, as a hand that slips would do.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harel import ContextError, DictStore, DurableRunner, Event, Status, definition_from_dsl
from harel.definition import with_inline
from harel.stores.protocol import all_executions
from harelc.compiler import Compilation, compile_text

ROOT = Path(__file__).parent.parent.parent
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\w+|[=!<>]=|[^\w\s]')
WORDS = ('"on hold"', "state", "from", "{", "}", "(", ")", "=", "-1", "1e400", "null", "context", "Timeout", "as", ".")
"""What a token is replaced by."""


def _sources() -> tuple[str, ...]:
    """The single files of the conformance cases, the examples and the golden machines; long ones and those that import
    are left out."""
    texts = [
        "\n".join(case["files"]["main.stm"]) + "\n"
        for file in sorted((ROOT / "tests" / "conformance" / "behaviour").glob("*.json"))
        for case in json.loads(file.read_text(encoding="utf-8"))
        if len(case["files"]) == 1 and not case.get("invalid")
    ]
    for folder in ("examples", "golden"):
        texts += [file.read_text(encoding="utf-8") for file in sorted((ROOT / folder).glob("*.stm"))]
    return tuple(text for text in texts if len(text) < 3_000 and 'import "' not in text)


SOURCES = _sources()


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A valid source with one to three slips."""
    text = draw(st.sampled_from(SOURCES))
    for _ in range(draw(st.integers(1, 3))):
        spans = [match.span() for match in TOKEN.finditer(text)]
        if len(spans) < 2:
            break
        at = draw(st.integers(0, len(spans) - 2))
        (start, end), (following, last) = spans[at], spans[at + 1]
        token, other = text[start:end], text[following:last]
        how = draw(st.sampled_from(("delete", "double", "swap", "replace", "borrow", "cut")))
        if how == "delete":
            text = text[:start] + text[end:]
        elif how == "double":
            text = f"{text[:end]} {token}{text[end:]}"
        elif how == "swap":
            text = text[:start] + other + text[end:following] + token + text[last:]
        elif how == "replace":
            text = text[:start] + draw(st.sampled_from(WORDS)) + text[end:]
        elif how == "borrow":
            near, by = draw(st.sampled_from(spans))
            text = text[:start] + text[near:by] + text[end:]
        else:
            text = text[:end]
    return text


def assert_placed(compiled: Compilation, text: str) -> None:
    """Every finding and every note stands inside the text."""
    lines = text.split("\n")
    for issue in compiled.issues:
        for line, column in (
            (issue.line, issue.column),
            (issue.end_line, issue.end_column),
            *((note.line, note.column) for note in issue.notes),
        ):
            assert 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1, issue
        assert issue.file == "main.stm" and issue.message
        assert (issue.line, issue.column) <= (issue.end_line, issue.end_column)


VALUES = {"string": "x", "int": 1, "float": 0.5, "bool": True, "any": None}


def answer(*_: Any, **__: Any) -> str:
    """What every handler does."""
    return "x"


def run(text: str, name: str) -> None:
    """Create an execution, send it every kind, let its timers fire, cancel it: `FAILED` is the worst there may be."""
    machines = list(compile_text(text).definitions.values())
    handlers = {handler: answer for one in with_inline(machines) for handler in one.handlers}
    definition = definition_from_dsl(text, name, actions=handlers)
    others = [one.bound(handlers) for one in machines if one.id != name]
    assert definition == next(one for one in machines if one.id == name)

    now = 0.0
    store = DictStore()
    runner = DurableRunner(store, [definition, *others], clock=lambda: now)
    try:
        runner.create(name, execution_id="one")
    except ContextError:
        return  # the context has a key that must be given
    for number, (kind, event) in enumerate(definition.events.items()):
        runner.process("one", Event(kind, {field.name: VALUES[field.type] for field in event.fields}, f"e{number}"))
    now = 10_000_000.0
    runner.fire_due_timers()
    runner.cancel("one")
    for execution in all_executions(store):
        assert execution.status in (Status.DONE, Status.CANCELLED, Status.FAILED)
        assert execution.error is not None or execution.status is not Status.FAILED
        assert not (execution.error or "").startswith(INTERNAL), execution.error


INTERNAL = ("AssertionError", "KeyError", "IndexError", "AttributeError", "TypeError", "RecursionError")
"""What `answer` never raises: an error of such a type would be the engine's own."""


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(mutants())
def test_a_slip_of_the_hand_is_answered_with_findings_or_a_machine_that_runs(text: str) -> None:
    compiled = compile_text(text)

    assert_placed(compiled, text)
    if compiled.has_errors:
        return
    for name in compiled.definitions:
        run(text, name)


def test_the_sources_themselves_have_no_errors_and_run() -> None:
    for text in SOURCES[::12]:
        compiled = compile_text(text)
        assert_placed(compiled, text)
        for name in compiled.definitions:
            run(text, name)
