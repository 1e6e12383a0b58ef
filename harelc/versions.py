"""Versions of machines as a source writes them (language.md section 2)."""

from __future__ import annotations

_MAX_DIGITS = 1_000


def is_version(raw: str | None) -> bool:
    """Whether a version is a whole number from 1, or is left out."""
    return raw is None or (raw.isascii() and raw.isdigit() and raw[0] != "0" and len(raw) <= _MAX_DIGITS)


def version(raw: str | None) -> int:
    """The number of a version; 1 where none, or none that is right, is written."""
    return int(raw) if raw is not None and is_version(raw) else 1
