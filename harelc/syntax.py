"""The syntax stage: the text of one file to its tree (language.md sections 1 to 4)."""

from __future__ import annotations

from dataclasses import replace

from . import reading, tree
from .convert import Conversion
from .diagnostics import Finding, Source
from .parsing import Mismatch, parse_items, room_to_parse
from .tree import Span


def parse(source: Source) -> tuple[tree.File, tuple[Finding, ...]]:
    """The tree of a file and what is wrong with its text."""
    text = reading.blank_comments(source.text)
    docs = reading.docs(source.text)
    try:
        with room_to_parse():
            items = []
            findings = []
            for node in parse_items(text):
                conversion = Conversion(source.name, 0, docs)
                item = conversion.item(node)
                if conversion.findings and isinstance(item, (tree.Machine, tree.Fragment)):
                    item = replace(item, broken=True)
                items.append(item)
                findings += conversion.findings
    except Mismatch as mismatch:
        span = Span(source.name, mismatch.position, mismatch.position + 1)
        return tree.File(source.name, (), broken=True), (Finding("syntax_error", span, "unexpected text"),)
    return tree.File(source.name, tuple(items)), tuple(findings)
