"""The reserved kinds of events that a source may name (language.md section 2); all are `harel.event.RESERVED_KINDS`."""

from __future__ import annotations

DELIVERED = frozenset({"Timeout", "Cancel", "Expired", "Returned", "error"})
"""The reserved kinds that a transition may be on (language.md section 4)."""
