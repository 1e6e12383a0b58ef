"""What earlier builds made, and from what: so that a build compiles only what changed (build.md section 4).

Contents decide, never time stamps: an entry holds hashes of the source, of everything it imports, and of the files
made. The cache is one file that may be deleted, damaged or written by two builds at once: whatever it says is compared
with the disk before it is believed, and what cannot be read counts as absent.
"""

from __future__ import annotations

import json
import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from harel.issue import Issue

FOLDER = ".harelc-cache"
_FORMAT = 1
_AT_ONCE = 1 << 16
"""How many bytes of a file are read at once: most files are smaller."""


class Made(NamedTuple):
    """A file that was made: its name in the output folder, the machine, where that is declared, and the text's hash."""

    file: str
    machine: str
    line: int
    column: int
    hash: str


class Entry(NamedTuple):
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


def file_hash(path: str) -> str | None:
    """`text_hash` of a file's text; a byte order mark does not count. `None` where it cannot be read."""
    try:
        return _hash(_content(path).removeprefix(BOM_UTF8))
    except (OSError, ValueError):
        return None


def _content(path: str) -> bytes:
    """The bytes of a file, by system calls only: a build without changes does little else."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        parts = []
        while data := os.read(file, _AT_ONCE):
            parts.append(data)
        return b"".join(parts)
    finally:
        os.close(file)


def _hash(data: bytes) -> str:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return sha256(data).hexdigest()


def fingerprint() -> str:
    """A hash of all that decides what a source becomes: this package's code and grammar, the templates,
    the tables' format, black."""
    package = os.path.dirname(__file__)
    beside = os.path.join(os.path.dirname(package), "templates")
    folders = [package]
    if os.path.isdir(beside) and not os.path.isdir(os.path.join(package, "templates")):
        folders.append(beside)
    total = sha256(f"{_stated('harel', 'definition.py')} {_stated('black', '../_black_version.py')}".encode())
    for folder in folders:
        for name, path in sorted(_files(folder)):
            total.update(f"\n{name} ".encode())
            total.update(sha256(_content(path)).digest())
    return total.hexdigest()[:32]


def _files(folder: str, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The files below a folder but for bytecode: the name from there, with `/`, and the path."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path, f"{prefix}{entry.name}/")
            elif entry.is_file():
                yield prefix + entry.name, entry.path


def _stated(package: str, file: str) -> str:
    """A hash of the file in which a package states its format or version: reading it is cheaper than importing it."""
    spec = find_spec(package)
    folder = os.path.dirname(spec.origin) if spec is not None and spec.origin is not None else ""
    return file_hash(os.path.join(folder, file)) or "unknown"


def load(folder: Path) -> dict[Key, Entry]:
    """The entries kept in a folder; empty where there are none that can be read."""
    try:
        document = json.loads((folder / FOLDER / "build.json").read_bytes())
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
    from .outputs import write_atomically

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
    from harel.issue import Issue, Note

    file, line, column, end_line, end_column, code, severity, message, hint, notes = data
    return Issue(
        *(str(file), int(line), int(column), int(end_line), int(end_column), str(code), str(severity), str(message)),
        hint=None if hint is None else str(hint),
        notes=tuple(Note(*note) for note in notes),
    )
