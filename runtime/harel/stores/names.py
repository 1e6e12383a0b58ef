"""Names and prefixes as every store treats them (edges.md, Values): a table prefix, and where a prefix of ids ends."""

from __future__ import annotations

import re

_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,29}")

_LAST_BEFORE_SURROGATES, _FIRST_AFTER_SURROGATES, _LAST = 0xD7FF, 0xE000, 0x10FFFF


def checked_prefix(prefix: str) -> str:
    """The prefix of all tables, keys and collections. Raises `ValueError` where it is not `[a-z][a-z0-9_]{0,29}`."""
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(
            f"prefix {prefix!r} cannot name tables: use 1 to 30 of a-z, 0-9 and _, beginning with a letter"
        )
    return prefix


def end_of_prefix(prefix: str) -> str | None:
    """The first text, in byte order, after all that begin with the prefix; `None` where there is no such text."""
    for length in range(len(prefix), 0, -1):
        code = ord(prefix[length - 1])
        if code < _LAST:
            following = _FIRST_AFTER_SURROGATES if code == _LAST_BEFORE_SURROGATES else code + 1
            return prefix[: length - 1] + chr(following)
    return None
