"""The reserved kinds of events (language.md section 2)."""

from __future__ import annotations

RESERVED = frozenset({"Start", "Finished", "Timeout", "Cancel", "Reset", "SetState", "Returned", "error", "Expired"})
"""The kinds that no file declares and nobody sends as domain events."""

DELIVERED = frozenset({"Timeout", "Cancel", "Expired", "Returned", "error"})
"""The reserved kinds that a transition may be on (language.md section 4)."""
