"""The digest of a machine: what it means, as a number (runtime.md section 6; edges.md, "Digest tokens are normalised").

SHA-256 over the machine's own block and what its file shares with it: imports by alias and content, events, guards,
bindings and fragments. Comments, documentation, layout, names of files and the file's other machines play no part.
The form that is hashed is written down here and has a number: it never changes without a new one, for executions
run on their digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache

from . import tree
from .durations import seconds
from .records import Record
from .versions import version

DIGEST_FORMAT = 1
"""The number of the form below."""

_LEFT_OUT = frozenset({"span", "where_span", "version_span", "doc", "broken", "hops"})


def digest(machine: tree.Machine, shared: str) -> str:
    """The digest of a machine, written as it stands in its file, as 64 hexadecimal digits; `shared` is its file's."""
    parts = [f"harel-digest {DIGEST_FORMAT}", canonical(machine), *([shared] if shared else [])]
    return _hash("\n".join(parts))


def shared_by(file: tree.File, imported: Mapping[str, Sequence[tuple[tree.Import, tree.File]]]) -> str:
    """What counts in the digests of all machines of a file.

    Args:
        imported: for each file by name, its imports in source order with the file each leads to.
    """
    return "\n".join(_shared(file, imported, {}))


def _shared(
    file: tree.File, imported: Mapping[str, Sequence[tuple[tree.Import, tree.File]]], contents: dict[str, str]
) -> list[str]:
    """What a file's machines share: its imports in order, the rest in no order."""
    lines = []
    for line, target in imported.get(file.name, ()):
        if target.name not in contents:
            machines = sorted(canonical(item) for item in target.items if isinstance(item, tree.Machine))
            contents[target.name] = _hash("\n".join([*machines, *_shared(target, imported, contents)]))
        lines.append(f"import {canonical(line.alias)} {contents[target.name]}")
    shared = [canonical(item) for item in file.items if isinstance(item, (tree.Event, tree.Guard, tree.Fragment))]
    binds = [canonical(entry) for item in file.items if isinstance(item, tree.Bind) for entry in item.entries]
    return [*lines, *sorted(shared), *sorted(binds)]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def canonical(node: object) -> str:
    """A node as text in which equal meanings are equal: names decoded, durations in seconds, no places, no layout."""
    out: list[str] = []
    _write(node, out)
    return "".join(out)


def _write(node: object, out: list[str], own: frozenset[str] = frozenset()) -> None:
    """`own` are the parameters of the fragment around the node."""
    if isinstance(node, tree.Fragment):
        own = frozenset(parameter.name.text for parameter in node.parameters)
    if isinstance(node, (tree.Name, tree.Dotted)):
        out.append(_quoted(node.text))
    elif isinstance(node, tree.Path):
        out.append(".".join(_quoted(part.text) for part in node.parts))
    elif isinstance(node, tree.Literal):
        _write_value(node.value, out)
    elif isinstance(node, tree.Argument):
        _write(node.name, out)
        _write_argument(node.value, out, own)
    elif isinstance(node, (tree.Timeout, tree.Ttl)):
        out.append(type(node).__name__)
        raw = node.raw
        out.append(f"({seconds(raw)})" if raw is not None and seconds(raw) is not None else f"({raw})")
        _write([getattr(node, "key", None), node.parameter, node.value], out, own)
    elif isinstance(node, tree.Machine):
        out.append(f"Machine({version(node.version)})")
        _write([node.name, node.body], out, own)
    elif isinstance(node, Record):
        out.append(f"{type(node).__name__}(")
        for name in _counted(type(node)):
            value = getattr(node, name)
            if value:  # what is not written plays no part, so that later releases may add to a node
                out.append(f"{name}=")
                _write(value, out, own)
                out.append(",")
        out.append(")")
    elif isinstance(node, (tuple, list)):
        out.append("[")
        for item in node:
            _write(item, out, own)
            out.append(",")
        out.append("]")
    else:
        out.append(_quoted(node) if isinstance(node, str) else repr(node))


@cache
def _counted(node_type: type[Record]) -> tuple[str, ...]:
    """The fields of a node's type that carry meaning."""
    return tuple(name for name in node_type.__match_args__ if name not in _LEFT_OUT)


def _write_argument(
    value: tree.Predicate | tree.Literal | tree.Action | tree.Path, out: list[str], own: frozenset[str]
) -> None:
    """An argument, in which a name is the same with quotes and without; a parameter handed on is no such name."""
    if isinstance(value, tree.Action) and not value.inputs:
        out.append(f"{'parameter' if value.name.text in own else 'name'}({_quoted(value.name.text)})")
    elif isinstance(value, tree.Literal) and isinstance(value.value, str):
        out.append(f"name({_quoted(value.value)})")
    elif isinstance(value, tree.Path):
        out.append(f"name({_quoted('.'.join(part.text for part in value.parts))})")
    else:
        _write(value, out, own)


def _write_value(value: object, out: list[str]) -> None:
    if isinstance(value, tuple):
        out.append("[")
        for item in value:
            _write_value(item, out)
            out.append(",")
        out.append("]")
    else:
        out.append(_quoted(value) if isinstance(value, str) else repr(value))


def _quoted(text: str) -> str:
    """The text in a form that no other text or list of texts has."""
    return f"{len(text)}:{text}"
