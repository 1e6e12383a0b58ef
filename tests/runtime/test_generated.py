"""What generated modules use at run time: fields that were left out, handlers under other names."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from harel import Event
from harel.generated import ABSENT, present, renamed


def test_a_field_left_out_is_not_there_and_a_null_is() -> None:
    assert present({"amount": 3, "note": None, "coupon": ABSENT}) == {"amount": 3, "note": None}


def test_a_handler_is_called_by_the_names_of_its_parameters() -> None:
    def hold(stm: Any, event: Event, *, self_: str, days: int) -> tuple[str, str, int]:
        return event.kind, self_, days

    assert renamed(hold, {"self": "self_"})(None, Event("Go"), self="x", days=3) == ("Go", "x", 3)


def test_an_async_handler_stays_async() -> None:
    async def hold(stm: Any, event: Event, *, self_: str) -> str:
        return self_

    handler = renamed(hold, {"self": "self_"})

    assert inspect.iscoroutinefunction(handler)
    assert asyncio.run(handler(None, Event("Go"), self="x")) == "x"
