"""From what an operator types to an execution: an id, or the beginning of one (edges.md, Values: prefixes are
byte-wise).
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from .cli_console import Refusal
from .errors import ExecutionNotFound
from .execution import Execution
from .stores.protocol import Store
from .values import escape_text

SHOWN = 3
"""How many candidates a refusal lists."""


def find(store: Store, text: str) -> Execution:
    """The execution with that id, or the only one whose id begins so. Roots come before their children.

    Raises:
        Refusal: there is none, or several; lists a few candidates.
    """
    try:
        return store.load(text)
    except ExecutionNotFound:
        pass
    matches = store.ids_with_prefix(text) if text else []
    chosen = [id for id in matches if "/" not in id] or matches
    if len(chosen) == 1:
        return store.load(chosen[0])
    if chosen:
        raise Refusal(f"{_quoted(text)} is the beginning of {len(chosen)} ids: {_listed(chosen)}; type more of it")
    raise Refusal(f"no execution has the id {_quoted(text)}, and none begins so{_hint(store, text)}")


def find_all(store: Store, texts: Sequence[str]) -> list[Execution]:
    """The executions, each once, in the order given. Raises as `find`."""
    found = (find(store, text) for text in texts)
    return list({execution.id: execution for execution in found}.values())


def _hint(store: Store, text: str) -> str:
    """A few ids like it: those that share most of its beginning."""
    for length in range(len(text) - 1, 0, -1):
        near = [id for id in store.ids_with_prefix(text[:length]) if "/" not in id or "/" in text]
        if near:
            return f"; there is {_listed(get_close_matches(text, near, SHOWN, 0) or near)}"
    first = [execution.id for execution in store.list_executions(limit=SHOWN)]
    return f"; there is {_listed(first)}" if first else "; the store has no executions"


def _listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(escape_text(id) for id in ids[:SHOWN]) + more


def _quoted(text: str) -> str:
    return f"`{escape_text(text, 200)}`"
