"""The commands that show what is in a source: `list`, `hash`, `render`, and `explain` (build.md section 1)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import console, tree
from .diagram import dot, mermaid, plantuml
from .explain import UnknownCode, page
from .given import compile_given, machine_of, sound, tell

_DIAGRAMS = {"mermaid": mermaid, "plantuml": plantuml, "dot": dot}


def list_declarations(file: Path) -> int:
    """One line for each declaration, in source order; what stands in a broken part is left out, with status 1."""
    given = compile_given(file)
    unit = given.compilation.unit
    sys.stdout.writelines(f"{line}\n" for item in (unit.file.items if unit else ()) for line in _declared(item))
    if given.compilation.has_errors:
        tell(given)
        return console.FINDINGS
    return console.FINE


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
