"""`Stm`: what a handler is called with: the live context, who is running, and a key for idempotent effects.

Runtime.md section 3: handlers are called `fn(stm, event, **inputs)`. It knows the draft of the step
and what its machine declares, no store and no runner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .declarations import check_event, check_event_id
from .definition import Definition
from .draft import Draft
from .errors import EventError
from .event import RESERVED_KINDS
from .values import check_json, copy_json


class Stm:
    """The running execution, as a handler sees it.

    Attributes:
        execution_ctx: the context, a live dict of JSON values; what the handler leaves there is committed with the
            step.
        execution_id: the execution's id.
        idempotency_key: the same for every attempt at this call of this event, different for every other call:
            `{execution id}:{step}:{index}:{action}`, with `%` and `:` of the id percent-encoded (edges.md, Values).
    """

    __slots__ = ("_definition", "_draft", "execution_id", "idempotency_key")

    def __init__(self, draft: Draft, definition: Definition, step: str, index: int, action: str) -> None:
        self.execution_id = draft.execution.id
        encoded = self.execution_id.replace("%", "%25").replace(":", "%3A")
        self.idempotency_key = f"{encoded}:{step}:{index}:{action}"
        self._draft = draft
        self._definition = definition

    @property
    def execution_ctx(self) -> dict[str, Any]:
        """The context. Change it in place: it cannot be replaced by another dict."""
        return self._draft.execution.context

    def send(
        self, kind: str, data: Mapping[str, Any] | None = None, *, to: str | None = None, id: str | None = None
    ) -> None:
        """Put an event in the step's outbox: for this execution, after the step has settled, or for another id.

        It is delivered once the step is committed, and not at all if it is not (edges.md, Meaning).

        Raises:
            EventError: the data is not JSON, the id is reserved, or an event for this execution breaks its declaration.
        """
        event_data = dict(data or {})
        if id is not None:
            check_event_id(id)
        if kind in RESERVED_KINDS:
            raise EventError(f"{kind} is reserved: only the runtime itself sends it")
        try:
            check_json(event_data)
        except ValueError as error:
            raise EventError(f"event {kind}: {error}") from error
        if to is None or to == self.execution_id:
            check_event(self._definition, kind, event_data)
        self._draft.emit(to or self.execution_id, kind, copy_json(event_data), id)
