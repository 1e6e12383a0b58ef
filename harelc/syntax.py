"""The syntax stage: the text of one file to its tree, with all syntax errors (language.md sections 1 to 4, build.md 2).

Each declaration is parsed by itself. One with a mistake is read again without the statement around it and marked as
broken, so that the later stages look at everything else as usual.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from . import outline, reading, tree
from .convert import Conversion
from .diagnostics import Finding, Source
from .outline import Declaration
from .parsing import Mismatch, Node, parse_items, room_to_parse
from .records import Record
from .tree import Span

if TYPE_CHECKING:
    from .recovery import Mistake


class _Read(Record):
    """The items of one declaration (none, or the one) and its findings."""

    items: tuple[tree.Item, ...]
    findings: tuple[Finding, ...]


def parse(source: Source) -> tuple[tree.File, tuple[Finding, ...]]:
    """The tree of a file, and every `syntax_error` and `too_deep` in it. Never raises."""
    text = reading.blank_comments(source.text)
    docs = reading.docs(source.text)
    with room_to_parse():
        reads = _all(text, source.name, docs)
    items = tuple(item for read in reads for item in read.items)
    broken = any(read.findings and not _is_marked(read.items) for read in reads)
    return tree.File(source.name, items, broken), tuple(finding for read in reads for finding in read.findings)


def _all(text: str, file: str, docs: Mapping[int, str]) -> list[_Read]:
    declarations = outline.declarations(text)
    reads: list[_Read] = []
    for declaration in declarations:
        try:
            reads.append(_declaration(text, declaration, file, docs))
        except Mismatch:
            break
    else:
        return reads
    if any(declaration.too_deep for declaration in declarations):
        return _with_mistakes(text, declarations, file, docs)
    return _whole(text, file, docs) or _with_mistakes(text, declarations, file, docs)


def _declaration(text: str, declaration: Declaration, file: str, docs: Mapping[int, str]) -> _Read:
    """A declaration without mistakes. Raises `Mismatch`."""
    own = text[declaration.start : declaration.end]
    if declaration.too_deep is None:
        return _converted(parse_items(own), (), file, declaration.start, docs)
    from . import recovery  # slow to import, and wanted only where there are mistakes

    position, message, hint = declaration.too_deep
    finding = Finding("too_deep", Span(file, position, position + 1), message, hint)
    return _converted(recovery.head(own), (finding,), file, declaration.start, docs)


def _whole(text: str, file: str, docs: Mapping[int, str]) -> list[_Read]:
    """The file read in one go, in case only its outline misled; nothing if it has mistakes."""
    try:
        return [_converted([node], (), file, 0, docs) for node in parse_items(text)]
    except Mismatch:
        return []


def _with_mistakes(text: str, declarations: list[Declaration], file: str, docs: Mapping[int, str]) -> list[_Read]:
    from . import recovery

    reads: list[_Read] = []
    spilled = False
    for declaration in declarations:
        if declaration.loose and reads and recovery.is_inside_of_body(text, declaration):
            if not spilled:
                reads[-1] = _spilled(reads[-1], recovery.read(text, declaration).mistakes, file)
            spilled = True
            continue
        spilled = False
        if declaration.too_deep is not None:
            reads.append(_declaration(text, declaration, file, docs))
        else:
            outcome = recovery.read(text, declaration)
            findings = tuple(_finding(mistake, file) for mistake in outcome.mistakes)
            reads.append(_converted(outcome.nodes, findings, file, declaration.start, docs))
    return reads


def _spilled(read: _Read, mistakes: tuple[Mistake, ...], file: str) -> _Read:
    """A declaration that was closed too early, with what is wrong with the text behind it."""
    return _Read(_broken(read.items), (*read.findings, *(_finding(mistake, file) for mistake in mistakes)))


def _converted(
    nodes: list[Node], findings: tuple[Finding, ...], file: str, offset: int, docs: Mapping[int, str]
) -> _Read:
    conversion = Conversion(file, offset, docs)
    items = tuple(conversion.item(node) for node in nodes)
    findings += tuple(conversion.findings)
    return _Read(_broken(items) if findings else items, findings)


def _finding(mistake: Mistake, file: str) -> Finding:
    notes: tuple[tuple[Span, str], ...] = ()
    if mistake.unclosed is not None:
        notes = ((Span(file, mistake.unclosed, mistake.unclosed + 1), "this is never closed"),)
    return Finding("syntax_error", Span(file, mistake.start, mistake.end), mistake.message, mistake.hint, notes)


def _broken(items: tuple[tree.Item, ...]) -> tuple[tree.Item, ...]:
    return tuple(
        replace(item, broken=True) if isinstance(item, tree.Machine | tree.Fragment) else item for item in items
    )


def _is_marked(items: tuple[tree.Item, ...]) -> bool:
    return bool(items) and all(isinstance(item, tree.Machine | tree.Fragment) for item in items)
