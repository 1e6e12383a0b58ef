"""Texts of a source as parts of a Markdown page that they cannot break out of (build.md section 3).

What is code stands in code spans, prose with every sign escaped that Markdown, its tables, HTML or a formula could take
for theirs. A text stays on its line; what cannot be printed is shown escaped.
"""

from __future__ import annotations

import re

from .outputs import printable

_SIGNS = re.compile(r"[\\`*_\[\]~]")
_ENTITIES = re.compile(r"[<>&@|${}]")
_BEGINNING = re.compile(r"^(?:[#+=-]|\d+(?=[.)]))")
_TICKS = re.compile(r"`+")
_NO_LETTER = re.compile(r"[^A-Za-z0-9 ]")


def code(text: str) -> str:
    """A code span, in a table or outside; nothing for an empty text."""
    if not text:
        return ""
    text = printable(text)
    if "|" in text and "\\" in text:  # renderers differ in what a backslash before a bar means
        return f"<code>{_NO_LETTER.sub(_entity, text)}</code>"
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    inner = text.replace("|", "\\|")
    return f"{fence}{pad}{inner}{pad}{fence}"


def prose(text: str) -> str:
    """A documentation text as one paragraph or one cell; its lines are kept apart."""
    return "<br>".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    escaped = _SIGNS.sub(r"\\\g<0>", printable(line.strip()))
    return _BEGINNING.sub(_escaped_beginning, _ENTITIES.sub(_entity, escaped))


def _escaped_beginning(found: re.Match[str]) -> str:
    """A number is parted from its point by what nobody sees, so that no list begins; a sign is escaped."""
    return f"{found[0]}&#8288;" if found[0].isdigit() else f"\\{found[0]}"


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"
