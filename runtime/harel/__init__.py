"""harel: runs compiled state machines durably. All public names are here (runtime.md section 1).

Importing it imports nothing else: a name's module is imported when the name is first used, and a backend, a parser or a
template engine only by what needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import VERSION as __version__

if TYPE_CHECKING:
    from .aio import AsyncDurableRunner
    from .archive import JsonlArchive
    from .definition import Definition
    from .dsl import (
        definition_from_dsl,
        definition_from_dsl_file,
        load_definitions,
        read_definitions,
        render,
        validate,
        validate_or_raise,
    )
    from .errors import (
        ContextError,
        DefinitionChanged,
        DefinitionConflict,
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
    from .idempotency import DictIdempotency, IdempotencyBackend, idempotent
    from .issue import Issue
    from .observe import ObservedStore, Step
    from .published import publish_definitions
    from .purging import purge_finished
    from .runner import DurableRunner
    from .stm import Stm
    from .stores.memory import DictStore
    from .stores.postgres import PostgresStore
    from .stores.redis import RedisStore
    from .stores.sqlite import SqliteStore
    from .versions import definition_registry

_LAZY = {
    "AsyncDurableRunner": "aio",
    "ContextError": "errors",
    "Definition": "definition",
    "DefinitionChanged": "errors",
    "DefinitionConflict": "errors",
    "DefinitionNotLoaded": "errors",
    "DictIdempotency": "idempotency",
    "DictStore": "stores.memory",
    "DslError": "errors",
    "DurableRunner": "runner",
    "Event": "event",
    "EventError": "errors",
    "Execution": "execution",
    "ExecutionAlreadyExists": "errors",
    "ExecutionNotFound": "errors",
    "ExecutionSuspended": "errors",
    "ExpressionError": "errors",
    "HarelError": "errors",
    "IdempotencyBackend": "idempotency",
    "Issue": "issue",
    "JsonlArchive": "archive",
    "ObservedStore": "observe",
    "PostgresStore": "stores.postgres",
    "PurgeRefused": "errors",
    "RecordTooLarge": "errors",
    "RedisStore": "stores.redis",
    "ResolveError": "errors",
    "SelectorError": "errors",
    "SettlingLimit": "errors",
    "SqliteStore": "stores.sqlite",
    "Status": "execution",
    "Step": "observe",
    "Stm": "stm",
    "StoreConflict": "errors",
    "StoreError": "errors",
    "StoreFormatError": "errors",
    "StoreUnavailable": "errors",
    "ValidationError": "errors",
    "definition_from_dsl": "dsl",
    "definition_from_dsl_file": "dsl",
    "definition_registry": "versions",
    "idempotent": "idempotency",
    "load_definitions": "dsl",
    "publish_definitions": "published",
    "purge_finished": "purging",
    "read_definitions": "dsl",
    "render": "dsl",
    "validate": "dsl",
    "validate_or_raise": "dsl",
}

__all__ = [
    "AsyncDurableRunner",
    "ContextError",
    "Definition",
    "DefinitionChanged",
    "DefinitionConflict",
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
    "PostgresStore",
    "PurgeRefused",
    "RecordTooLarge",
    "RedisStore",
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
    "load_definitions",
    "publish_definitions",
    "purge_finished",
    "read_definitions",
    "render",
    "validate",
    "validate_or_raise",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'harel' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"harel.{module}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
