"""Trace rows: what one step did, in the same commit (runtime.md section 4); written only where a runner traces."""

from __future__ import annotations

import json
from typing import Any

from .draft import Draft
from .stores.protocol import TraceRow
from .values import same

TRACE_CONTEXT_LIMIT = 8_192
"""How many characters of changed context one trace row keeps (edges.md, Values)."""


def trace_row(draft: Draft, before: dict[str, Any]) -> TraceRow:
    """The row of a step; `before` is the context as it was. Too much changed context is named, not kept."""
    execution = draft.execution
    changed = {k: v for k, v in execution.context.items() if k not in before or not same(before[k], v)}
    text = json.dumps(changed, ensure_ascii=False)
    if len(text) > TRACE_CONTEXT_LIMIT:
        changed = {"…": f"{len(text)} characters in {', '.join(sorted(changed))}"[:TRACE_CONTEXT_LIMIT]}
    return TraceRow(
        event=draft.event_kind, event_id=draft.event_id, path_from=draft.path_from, path_to=execution.active_path,
        actions=list(draft.actions), assigned=dict(draft.assigned), context=changed, time=draft.now,
    )  # fmt: skip
