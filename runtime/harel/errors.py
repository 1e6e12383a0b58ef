"""Every exception the runtime raises, in one place (runtime.md section 1).

An error says what happened, to which execution, version or path, and what to do about it. The parts are attributes
as well, so that a program need not read the text. Nothing here knows the engine, a store or the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .issue import Issue


class HarelError(Exception):
    """The base of all errors that this package raises on purpose."""


class DslError(HarelError):
    """A source cannot be turned into a definition; `issues` holds the findings, `str()` all of them as text."""

    def __init__(self, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.issues: tuple[Issue, ...] = tuple(issues)


class ValidationError(DslError):
    """`validate_or_raise` found errors; `issues` holds them."""


class ContextError(HarelError, ValueError):
    """A context breaks its machine's schema or is not JSON; the message names the key path."""


class EventError(HarelError, ValueError):
    """An event breaks its declaration, is reserved, or is not declared at all; nothing has run."""


class ExpressionError(HarelError):
    """A `set`, a delay or a fan-out list cannot be evaluated; routed like an action error (language.md section 4)."""


class SelectorError(HarelError):
    """A selector returned a label without a branch and there is no `else`; routed like an action error."""


class SettlingLimit(HarelError):
    """One step took more transitions than allowed (edges.md, Meaning); the step is not applied."""


class StoreError(HarelError):
    """The base of what a store raises."""


class StoreConflict(StoreError):
    """Another writer committed first; reload and try again."""

    def __init__(self, execution_id: str, expected_version: int | None = None, cause: str | None = None) -> None:
        self.execution_id = execution_id
        self.expected_version = expected_version
        detail = cause or f"it is no longer at version {expected_version}"
        super().__init__(f"execution {execution_id!r} was changed by another writer: {detail}; send the event again")


class DefinitionConflict(StoreConflict):
    """A machine version is published already with another digest; a published version never changes."""

    def __init__(self, id: str, version: int, published: str, digest: str) -> None:
        self.id = id
        self.version = version
        self.published = published
        self.digest = digest
        self.execution_id = ""
        self.expected_version = None
        StoreError.__init__(
            self,
            f"version {version} of machine {id!r} is published with digest {published}, and this one has {digest}: "
            f"write `version {version + 1}` in its source and publish that",
        )


class StoreUnavailable(StoreError):
    """The store cannot be reached, is locked or answers nonsense; nothing is known to be written, trying again is
    safe.
    """


class StoreFormatError(StoreError):
    """The file or database is not a store of this format; the message says which version to install."""


class RecordTooLarge(StoreError):
    """A record is over the backend's limit; the message has its size, the limit and the largest keys."""


class ExecutionAlreadyExists(StoreError):
    """`create` was given an id that is taken."""

    def __init__(self, execution_id: str) -> None:
        self.execution_id = execution_id
        super().__init__(f"execution {execution_id!r} exists already; choose another id or load it")


class ExecutionNotFound(StoreError, KeyError):
    """No execution has this id."""

    def __init__(self, execution_id: str) -> None:
        self.execution_id = execution_id
        super().__init__(f"no execution has the id {execution_id!r}")

    def __str__(self) -> str:
        return str(self.args[0])


class ExecutionSuspended(HarelError):
    """The execution is suspended; `resume` it and send the event again. Nothing was consumed."""

    def __init__(self, execution_id: str) -> None:
        self.execution_id = execution_id
        super().__init__(f"execution {execution_id!r} is suspended; resume it, then send the event again")


class DefinitionChanged(HarelError):
    """No copy of the machine matches the one the execution runs on, or its state is gone (runtime.md section 6)."""


class DefinitionNotLoaded(HarelError):
    """This process has not got the machine version an execution needs; the execution is untouched."""


class PurgeRefused(HarelError):
    """The tree is not finished, or is not a root; nothing was deleted."""


class ResolveError(HarelError):
    """A handler is not bound, cannot be imported, or is not callable; the message names all of them."""
