"""The shop's payments."""

from __future__ import annotations

from harel import Event, Stm


def charge(stm: Stm, event: Event) -> None:
    """Take the money that is held."""
    stm.execution_ctx["charged"] = stm.execution_ctx["amount"]


async def refund(stm: Stm, event: Event) -> None:
    """Give it back."""
    stm.execution_ctx["charged"] = 0
