"""The shop's audit."""

from __future__ import annotations

from collections.abc import Sequence

from harel import Event, Stm


def note(stm: Stm, event: Event, text: str, levels: Sequence[int] = ()) -> None:
    """Note what happened."""
    stm.send("Noted", {"text": text, "levels": list(levels)}, to="audit")
