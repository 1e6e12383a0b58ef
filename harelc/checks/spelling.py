"""The hint that a name may be misspelt: the nearest names that exist (language.md section 4)."""

from __future__ import annotations

from collections.abc import Iterable

_MANY = 2_000


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """`did you mean …?` with up to three near names, or `None`; case makes no difference. Among very many names
    only the first are compared.
    """
    from difflib import get_close_matches  # slow to import, and wanted only where something is wrong

    folded = {one.casefold(): one for one, _ in zip(known, range(_MANY), strict=False)}
    near = get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{folded[one]}`' for one in near)}?" if near else None


def is_near(name: str, other: str) -> bool:
    """Whether one may be a misspelling of the other."""
    from difflib import get_close_matches

    return bool(get_close_matches(name.casefold(), [other.casefold()], n=1, cutoff=0.6))
