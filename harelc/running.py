"""The executions in a store, read for `harelc diff --in-flight --store` (build.md section 1). Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable

from harel.environment import SettingError, Settings
from harel.errors import StoreError
from harel.execution import Execution
from harel.stores.protocol import Store

from .console import Refusal


def read_executions(url: str, machines: Iterable[str]) -> list[Execution]:
    """Every execution of these machines that the store holds, children included, without what their contexts hold.

    The prefix of its tables is that of the environment (`HAREL_PREFIX`).

    Raises:
        Refusal: the URL names no store, or it cannot be read.
    """
    try:
        store = Settings.read().with_store(url, None).open_store()
        try:
            return [execution for machine in sorted(machines) for execution in _executions(store, machine)]
        finally:
            store.close()
    except (SettingError, StoreError) as error:
        raise Refusal(str(error)) from None


def _executions(store: Store, machine: str) -> Iterable[Execution]:
    cursor: str | None = None
    while True:
        page = store.list_executions(definition_id=machine, roots_only=False, cursor=cursor)
        for execution in page.items:
            execution.context.clear()  # a store may hold many, and only where they stand is asked
            yield execution
        cursor = page.cursor
        if cursor is None:
            return
