"""Calls for one execution queue up fairly inside one process (edges.md, Races and interruptions).

Between processes compare-and-set decides; inside one it would only make calls fail that can as well wait. First
come, first served; the wait has a bound, so that a forgotten call is an error with a name and not a dead-lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import StoreConflict

WAIT_LIMIT = 30.0
"""How many seconds a call waits for its turn."""


class ExecutionQueue:
    """One first-in-first-out queue per execution id, for threads."""

    def __init__(self, wait_limit: float = WAIT_LIMIT) -> None:
        self._wait_limit = wait_limit
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[threading.Event]] = {}

    @contextmanager
    def turn(self, execution_id: str) -> Iterator[None]:
        """Wait for the execution's turn and hold it.

        Raises:
            StoreConflict: the calls before this one took longer than the bound; nothing was done.
        """
        ticket = self._join(execution_id)
        try:
            if not ticket.wait(self._wait_limit):
                cause = f"calls of this process were at work on it for {self._wait_limit:g} s"
                raise StoreConflict(execution_id, cause=cause)
            yield
        finally:
            self._leave(execution_id, ticket)

    def _join(self, execution_id: str) -> threading.Event:
        ticket = threading.Event()
        with self._lock:
            line = self._waiting.setdefault(execution_id, deque())
            line.append(ticket)
            if line[0] is ticket:
                ticket.set()
        return ticket

    def _leave(self, execution_id: str, ticket: threading.Event) -> None:
        with self._lock:
            line = self._waiting[execution_id]
            line.remove(ticket)
            if line:
                line[0].set()
            else:
                del self._waiting[execution_id]
