"""Spelling: the known names that a wrong one is most like, as hints (language.md section 4).

Case makes no difference. What the names are names of is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

_MANY = 2_000
_NEAR = 0.6


def near(name: str, known: Iterable[str], most: int = 3, cutoff: float = _NEAR) -> list[str]:
    """The known names that are like a name, the most alike first; of those that differ in case only, the first."""
    from difflib import get_close_matches  # slow to import, and wanted only where something is wrong

    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.casefold(), one)
    return [folded[one] for one in get_close_matches(name.casefold(), folded, most, cutoff)]


def did_you_mean(name: str, known: Iterable[str], most: int = 3, cutoff: float = _NEAR) -> str | None:
    """`did you mean …?` with the near names, or `None`. Among very many names only the first are compared."""
    found = near(name, islice(known, _MANY), most, cutoff)
    return f"did you mean {' or '.join(f'`{one}`' for one in found)}?" if found else None


def similar(name: str, known: Iterable[str], words: str) -> str | None:
    """The nearest known name after some words, or `None` where none is like it at all."""
    found = near(name, known, most=1)
    return f"{words}: `{found[0]}`" if found else None


def is_near(name: str, other: str) -> bool:
    """Whether one may be a misspelling of the other."""
    return bool(near(name, [other]))
