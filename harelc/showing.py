"""The commands that show what is in a source: `list`, `hash`, `render`, and `explain` (build.md section 1)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import console, tree
from .diagram import dot, mermaid, plantuml
from .explain import UnknownCode, page
from .findings import print_issues
from .given import machine_of, parse_given, sound

_DIAGRAMS = {"mermaid": mermaid, "plantuml": plantuml, "dot": dot}


def list_declarations(file: Path) -> int:
    """One line for each declaration, in source order; what stands in a broken part is left out, with status 1."""
    parsed, issues, source = parse_given(file)
    sys.stdout.writelines(f"{line}\n" for item in parsed.items for line in _declared(item))
    if issues:
        print_issues(issues, sys.stderr, {source.name: source})
    return console.FINDINGS if issues else console.FINE


def print_digests(files: Sequence[Path]) -> int:
    """`machine version digest`, one line for each machine; a file with errors has no lines, with status 1."""
    status = console.FINE
    for file in files:
        given = sound(file)
        if given is None:
            status = console.FINDINGS
            continue
        for definition in given.compilation.definitions.values():
            print(definition.id, definition.version, definition.digest)
    return status


def print_diagram(file: Path, machine: str | None, form: str) -> int:
    """The diagram of a machine. Raises `Refusal` where there is no such machine."""
    given = sound(file)
    if given is None:
        return console.FINDINGS
    text = _DIAGRAMS[form](machine_of(given, machine))
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    return console.FINE


def print_explanation(code: str) -> int:
    """The page of a diagnostic code. Raises `Refusal` for a code that there is not."""
    try:
        text = page(code)
    except UnknownCode as error:
        raise console.Refusal(str(error)) from None
    print(text.rstrip("\n"))
    return console.FINE


def _declared(item: tree.Item) -> Iterator[str]:
    if isinstance(item, tree.Import):
        yield f'import "{item.path.text}"' + (f" as {item.alias.text}" if item.alias else "")
    elif isinstance(item, tree.Bind):
        yield from (f"bind {entry.name.text} = {entry.target.text}" for entry in item.entries)
    elif isinstance(item, tree.Machine):
        yield f"machine {item.name.text} version {item.version or 1}"
    else:
        yield f"{type(item).__name__.lower()} {item.name.text}"
