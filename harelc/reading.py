"""From bytes to text: decoding, line ends, comments and documentation (language.md section 1).

Knows nothing of the grammar. Everything that follows counts in code points of the text made here, in which line ends
are `\\n` only; blanking comments keeps every position.
"""

from __future__ import annotations

import re
from pathlib import Path

from .diagnostics import Finding, Source
from .tree import Span

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|//[^\n]*')
_DOC_RUN = re.compile(r"^[^\S\n]*##[^\n]*(?:\n[^\S\n]*##[^\n]*)*(?P<below>\n[^\S\n]*(?=[^\s#]))?", re.MULTILINE)
_DOC_MARK = re.compile(r"[^\S\n]*## ?")


class Unreadable(Exception):
    """A file that cannot become text: `finding` says which, where and why; `source` is what could be read of it."""

    def __init__(self, finding: Finding, source: Source) -> None:
        super().__init__(finding.message)
        self.finding = finding
        self.source = source


def read_source(path: Path, name: str) -> Source:
    """The text of a file, known to its findings as `name`. Raises `Unreadable`."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise _unreadable(name, "there is no such file") from None
    except IsADirectoryError:
        raise _unreadable(name, "it is a directory") from None
    except ValueError:
        raise _unreadable(name, "no file can have this name") from None
    except OSError as error:
        raise _unreadable(name, error.strerror or type(error).__name__) from None
    return source_from_bytes(data, name)


def source_from_bytes(data: bytes, name: str) -> Source:
    """UTF-8, with or without a byte order mark, with any line ends. Raises `Unreadable` with an `encoding_error`."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:2]:
        raise _undecodable(Source(name, ""), 0, f"`{name}` is UTF-16, not UTF-8")
    try:
        return Source(name, _plain_line_ends(data.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        offset = len(_plain_line_ends(data[: error.start].decode("utf-8-sig")))
        source = Source(name, _plain_line_ends(data.decode("utf-8-sig", "replace")))
        message = f"`{name}` is not UTF-8: byte 0x{data[error.start]:02x} in line {source.place(offset)[0]}"
        raise _undecodable(source, offset, message) from None


def source_from_text(text: str, name: str) -> Source:
    """A text that is in memory already; its line ends and its byte order mark, if any, become those of a file's
    text.
    """
    return Source(name, _plain_line_ends(text.removeprefix("\ufeff")))


def blank_comments(text: str) -> str:
    """The text with spaces for its comments, of the same length."""
    return _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " " * len(match[0]), text)


def docs(text: str) -> dict[int, str]:
    """The documentation in a text: each run of `##` lines by the offset of the first token in the line below it."""
    if "##" not in text:
        return {}
    return {
        run.end(): "\n".join(_DOC_MARK.sub("", line, count=1).rstrip() for line in run[0].split("\n")[:-1])
        for run in _DOC_RUN.finditer(text)
        if run["below"] is not None
    }


def _plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(name: str, why: str) -> Unreadable:
    return Unreadable(
        Finding("unreadable_file", Span(name, 0, 0), f"`{name}` cannot be read: {why}"), Source(name, "")
    )


def _undecodable(source: Source, offset: int, message: str) -> Unreadable:
    span = Span(source.name, offset, min(offset + 1, len(source.text)))
    return Unreadable(Finding("encoding_error", span, message, "save the file as UTF-8"), source)
