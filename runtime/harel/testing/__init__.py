"""For tests of programs and backends: `FakeClock`, and the contract that every store keeps (runtime.md section 1).

The contracts need pytest and are imported when first asked for; the clock needs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .clock import FakeClock

if TYPE_CHECKING:
    from .store_contract import StoreContract

__all__ = ["FakeClock", "StoreContract"]

_CONTRACTS = {"StoreContract": "store_contract"}


def __getattr__(name: str) -> Any:
    if name not in _CONTRACTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__name__}.{_CONTRACTS[name]}"
    if module not in sys.modules:
        import pytest

        pytest.register_assert_rewrite(module)
    return getattr(import_module(module), name)
