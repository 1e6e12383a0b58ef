"""What the `harel` command does with sources: `validate`, `hash`, `publish` (build.md section 1, runtime.md section 6).

Sources are compiled through `dsl.py`, which needs the compiler; machines of the environment's modules do not.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import dsl
from .cli_console import FINDINGS, FINE, Refusal, print_json
from .definition import Definition
from .environment import Settings
from .errors import DefinitionConflict
from .issue import Issue
from .published import publish_definitions
from .values import escape_text


def validate(files: Sequence[str], *, as_json: bool) -> int:
    """Print what the checker finds in files; 1 where there is an error."""
    found = [issue for name in files for issue in _issues(name)]
    if as_json:
        print_json([_as_data(issue) for issue in found])
    else:
        for issue in found:
            hint = f"\n  help: {escape_text(issue.hint)}" if issue.hint else ""
            print(f"{escape_text(str(issue))}{hint}")
    return FINDINGS if any(issue.is_error for issue in found) else FINE


def print_digests(files: Sequence[str], *, as_json: bool) -> int:
    """Print machine, version and digest of every machine that the files declare."""
    machines = [machine for name in files for machine in _machines(name)]
    if as_json:
        print_json([_identity(machine) for machine in machines])
    else:
        for machine in machines:
            print(_line(machine))
    return FINE


def publish(settings: Settings, paths: Sequence[str], *, as_json: bool) -> int:
    """Keep the machines of sources and folders in the store, or those of the environment; 1 where one conflicts."""
    machines = [machine for path in paths for machine in _machines(path)] if paths else settings.load_definitions()
    if not machines:
        sources = "name sources or folders, or set HAREL_DEFINITIONS or HAREL_DEFINITIONS_DIR"
        raise Refusal(f"nothing to publish: {sources}")
    store = settings.open_store(create=True)
    known = {(id, version) for id, version, _ in store.list_definitions()}
    try:
        publish_definitions(store, machines)
    except DefinitionConflict as conflict:
        raise Refusal(str(conflict), FINDINGS) from conflict
    news = [(machine, (machine.id, machine.version) not in known) for machine in machines]
    if as_json:
        print_json([{**_identity(machine), "published": is_new} for machine, is_new in news])
    else:
        for machine, is_new in news:
            print(f"{_line(machine)} {'published' if is_new else 'there already'}")
    return FINE


def _issues(name: str) -> tuple[Issue, ...]:
    if name == "-":
        return dsl.validate(_standard_input(), base_path=Path.cwd())
    return dsl.validate_file(_existing(name), base_path=_project(name))


def _machines(name: str) -> Iterator[Definition]:
    """The machines of a source, of standard input, or of every source below a folder."""
    if name == "-":
        yield from dsl.read_text(_standard_input(), base_path=Path.cwd())
    elif Path(name).is_dir():
        yield from dsl.read_definitions(name)
    else:
        yield from dsl.read_file(_existing(name), base_path=_project(name))


def _existing(name: str) -> Path:
    path = Path(name)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    return path


def _project(name: str) -> Path | None:
    """The folder that imports may not leave: the current one where the file is below it, else the file's own."""
    here = Path.cwd().resolve()
    return here if Path(name).resolve().is_relative_to(here) else None


def _standard_input() -> str:
    return sys.stdin.buffer.read().decode("utf-8-sig")


def _identity(machine: Definition) -> dict[str, Any]:
    return {"machine": machine.id, "version": machine.version, "digest": machine.digest}


def _line(machine: Definition) -> str:
    return f"{escape_text(machine.id)} {machine.version} {machine.digest}"


def _as_data(issue: Issue) -> dict[str, Any]:
    """The finding with the keys of edges.md."""
    data = asdict(issue)
    keys = ("code", "severity", "file", "line", "column", "end_line", "end_column", "message", "hint")
    return {key: data[key] for key in keys}
