"""harel: runs compiled state machines durably. All public names are here (runtime.md section 1).

Importing it imports no backend, no parser and no template engine: what needs one is imported when its name is first
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .definition import Definition
from .errors import (
    ContextError,
    DefinitionChanged,
    DefinitionNotLoaded,
    DslError,
    EventError,
    ExecutionAlreadyExists,
    ExecutionNotFound,
    ExecutionSuspended,
    ExpressionError,
    HarelError,
    PurgeRefused,
    RecordTooLarge,
    ResolveError,
    SelectorError,
    SettlingLimit,
    StoreConflict,
    StoreError,
    StoreFormatError,
    StoreUnavailable,
    ValidationError,
)
from .event import Event
from .execution import Execution, Status
from .issue import Issue
from .version import VERSION as __version__
from .versions import definition_registry

if TYPE_CHECKING:
    from .aio import AsyncDurableRunner
    from .archive import JsonlArchive
    from .dsl import definition_from_dsl, definition_from_dsl_file, render, validate, validate_or_raise
    from .idempotency import DictIdempotency, IdempotencyBackend, idempotent
    from .observe import ObservedStore, Step
    from .published import publish_definitions
    from .purging import purge_finished
    from .runner import DurableRunner
    from .stm import Stm
    from .stores.memory import DictStore
    from .stores.sqlite import SqliteStore

_LAZY = {
    "AsyncDurableRunner": "aio",
    "DictIdempotency": "idempotency",
    "DictStore": "stores.memory",
    "DurableRunner": "runner",
    "IdempotencyBackend": "idempotency",
    "JsonlArchive": "archive",
    "ObservedStore": "observe",
    "SqliteStore": "stores.sqlite",
    "Step": "observe",
    "Stm": "stm",
    "definition_from_dsl": "dsl",
    "definition_from_dsl_file": "dsl",
    "idempotent": "idempotency",
    "publish_definitions": "published",
    "purge_finished": "purging",
    "render": "dsl",
    "validate": "dsl",
    "validate_or_raise": "dsl",
}

__all__ = [
    "AsyncDurableRunner",
    "ContextError",
    "Definition",
    "DefinitionChanged",
    "DefinitionNotLoaded",
    "DictIdempotency",
    "DictStore",
    "DslError",
    "DurableRunner",
    "Event",
    "EventError",
    "Execution",
    "ExecutionAlreadyExists",
    "ExecutionNotFound",
    "ExecutionSuspended",
    "ExpressionError",
    "HarelError",
    "IdempotencyBackend",
    "Issue",
    "JsonlArchive",
    "ObservedStore",
    "PurgeRefused",
    "RecordTooLarge",
    "ResolveError",
    "SelectorError",
    "SettlingLimit",
    "SqliteStore",
    "Status",
    "Step",
    "Stm",
    "StoreConflict",
    "StoreError",
    "StoreFormatError",
    "StoreUnavailable",
    "ValidationError",
    "__version__",
    "definition_from_dsl",
    "definition_from_dsl_file",
    "definition_registry",
    "idempotent",
    "publish_definitions",
    "purge_finished",
    "render",
    "validate",
    "validate_or_raise",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'harel' has no attribute {name!r}")
    return getattr(import_module(f"harel.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
