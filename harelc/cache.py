"""What earlier builds made, and from what: so that a build compiles only what changed (build.md section 4).

Contents decide, never time stamps: an entry holds hashes of the source, of everything it imports, and of the files
made. The cache is one file that may be deleted, damaged or written by two builds at once: whatever it says is compared
with the disk before it is believed, and what cannot be read counts as absent.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harel.issue import Issue, Note

from .outputs import write_atomically

FOLDER = ".harelc-cache"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Made:
    """A file that was made: its name in the output folder, the machine, where that is declared, and the text's hash."""

    file: str
    machine: str
    line: int
    column: int
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What one source came to.

    Attributes:
        compiler: the `fingerprint` of what made it.
        name: the source's name in the files made.
        inputs: the hash of the text of every file read, by its path from the source's project.
        made: the files.
        warnings: the findings; a source with errors has no entry of its own.
    """

    compiler: str
    name: str
    inputs: Mapping[str, str]
    made: tuple[Made, ...]
    warnings: tuple[Issue, ...]


Key = tuple[str, str]
"""A source and its output folder, as paths from the folder that holds the cache."""


def text_hash(text: str) -> str:
    """A hash of a text, whatever its line ends."""
    return _hash(text.encode("utf-8", "surrogatepass"))


def file_hash(path: Path) -> str | None:
    """`text_hash` of a file's text; a byte order mark does not count. `None` where it cannot be read."""
    try:
        return _hash(path.read_bytes().removeprefix(BOM_UTF8))
    except OSError:
        return None


def _hash(data: bytes) -> str:
    return sha256(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")).hexdigest()


def fingerprint() -> str:
    """A hash of all that decides what a source becomes: this package's code and grammar, the templates,
    the tables' format, black."""
    package = Path(__file__).parent
    beside = package.parent / "templates"
    folders = [package, *([beside] if not (package / "templates").is_dir() and beside.is_dir() else [])]
    total = sha256(f"{_stated('harel', 'definition.py')} {_stated('black', '../_black_version.py')}".encode())
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                total.update(f"\n{file.relative_to(folder).as_posix()} ".encode())
                total.update(sha256(file.read_bytes()).digest())
    return total.hexdigest()[:32]


def _stated(package: str, file: str) -> str:
    """A hash of the file in which a package states its format or version: reading it is cheaper than importing it."""
    spec = find_spec(package)
    folder = Path(spec.origin).parent if spec is not None and spec.origin is not None else Path()
    return file_hash(folder / file) or "unknown"


def load(folder: Path) -> dict[Key, Entry]:
    """The entries kept in a folder; empty where there are none that can be read."""
    try:
        document = json.loads((folder / FOLDER / "build.json").read_text(encoding="utf-8"))
        if document["format"] != _FORMAT:
            return {}
        return {(str(each["source"]), str(each["output"])): _read_entry(each) for each in document["entries"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def save(folder: Path, entries: Mapping[Key, Entry]) -> None:
    """Keep the entries; a folder that cannot be written is fine, the next build is slower then."""
    rows = [
        {"source": source, "output": output, **_entry_data(entry)}
        for (source, output), entry in sorted(entries.items())
    ]
    document = {"format": _FORMAT, "entries": rows}
    place = folder / FOLDER
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not (place / ".gitignore").exists():
            write_atomically(place / ".gitignore", "*\n")
        write_atomically(place / "build.json", json.dumps(document, separators=(",", ":")))
    except OSError:
        return


def _entry_data(entry: Entry) -> dict[str, Any]:
    return {
        "compiler": entry.compiler,
        "name": entry.name,
        "inputs": dict(entry.inputs),
        "made": [[made.file, made.machine, made.line, made.column, made.hash] for made in entry.made],
        "warnings": [_issue_data(issue) for issue in entry.warnings],
    }


def _read_entry(data: Any) -> Entry:
    inputs = {str(path): str(value) for path, value in data["inputs"].items()}
    made = tuple(Made(str(f), str(m), int(line), int(column), str(h)) for f, m, line, column, h in data["made"])
    warnings = tuple(_read_issue(issue) for issue in data["warnings"])
    return Entry(str(data["compiler"]), str(data["name"]), inputs, made, warnings)


def _issue_data(issue: Issue) -> list[Any]:
    notes = [[note.file, note.line, note.column, note.message] for note in issue.notes]
    place = [issue.file, issue.line, issue.column, issue.end_line, issue.end_column]
    return [*place, issue.code, issue.severity, issue.message, issue.hint, notes]


def _read_issue(data: Any) -> Issue:
    file, line, column, end_line, end_column, code, severity, message, hint, notes = data
    return Issue(
        *(str(file), int(line), int(column), int(end_line), int(end_column), str(code), str(severity), str(message)),
        hint=None if hint is None else str(hint),
        notes=tuple(Note(*note) for note in notes),
    )
