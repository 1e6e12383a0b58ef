"""The JSON text of everything a store keeps: records, messages, batches of children and trace rows (design.md, Stores).

One encoding for all backends, so that they keep the same text and refuse the same values. It knows the shapes of the
protocol and nothing of any backend.
"""

from __future__ import annotations

import json
from typing import Any

from harel.errors import ContextError, RecordTooLarge
from harel.execution import Execution
from harel.values import check_json

from .protocol import Message, Spawn, SpawnBatch, TraceRow

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def execution_text(execution: Execution) -> str:
    """The record as JSON text that encodes as UTF-8. Raises `ContextError` with the key path of what JSON lacks."""
    try:
        text = execution.to_json()
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        check_json(execution.context)
        raise ContextError(f"the record of execution {execution.id!r} is not JSON: {error}") from error
    return text


def message_text(message: Message) -> str:
    """A message as JSON text; errors as of `execution_text`."""
    parts: list[object] = [message.id, message.source, message.target, message.kind, message.data, message.event_id]
    if message.order is not None:
        parts.append(message.order)
    return _text(parts, message.data, f"the event {message.kind!r} for execution {message.target!r}")


def read_message(text: str | bytes) -> Message:
    """The message of `message_text`'s text."""
    id, source, target, kind, data, event_id, *order = json.loads(text)
    return Message(id, source, target, kind, data, event_id, (order[0][0], order[0][1]) if order else None)


def batch_text(batch: SpawnBatch) -> str:
    """A batch as JSON text; errors as of `execution_text`."""
    spawns = [[s.child_id, s.key, s.definition_id, s.definition_version, s.region, s.context] for s in batch.spawns]
    contexts = [spawn.context for spawn in batch.spawns]
    return _text([batch.id, batch.parent_id, batch.generation, spawns], contexts, f"the spawns of {batch.parent_id!r}")


def read_batch(text: str | bytes) -> SpawnBatch:
    """The batch of `batch_text`'s text."""
    id, parent_id, generation, spawns = json.loads(text)
    return SpawnBatch(id, parent_id, generation, tuple(Spawn(*parts) for parts in spawns))


def trace_text(row: TraceRow) -> str:
    """A trace row as JSON text; errors as of `execution_text`."""
    return _text(row, row, "the trace row")


def read_trace_row(text: str | bytes) -> TraceRow:
    """The row of `trace_text`'s text."""
    row: TraceRow = json.loads(text)
    return row


def check_size(execution: Execution, text: str, limit: int, backend: str) -> None:
    """Refuse a record over a backend's limit in bytes, before it is sent.

    Raises:
        RecordTooLarge: with the size, the limit and the three largest keys of the context.
    """
    if len(text) * 4 <= limit:
        return
    size = len(text.encode())
    if size <= limit:
        return
    sizes = {key: len(_encode(value).encode()) for key, value in execution.context.items()}
    largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:3]
    keys = ", ".join(f"{key!r} ({bytes_} bytes)" for key, bytes_ in largest) or "none"
    raise RecordTooLarge(
        f"the record of execution {execution.id!r} has {size} bytes, {backend} takes {limit}; "
        f"the largest context keys are {keys}: keep large values elsewhere and store a reference"
    )


def _text(value: Any, user_data: Any, what: str) -> str:
    try:
        text = _encode(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        check_json(user_data)
        raise ContextError(f"{what} is not JSON: {error}") from error
    return text
