"""The fixtures of the cases from the field: a clock, the stores, a process to start, and the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cases.support import Command, Completed, Handlers, Start, machine

from harel import Definition, DictStore, DurableRunner, SqliteStore
from harel.stores.protocol import Store
from harel.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store: Store = DictStore() if request.param == "memory" else SqliteStore(str(tmp_path / "harel.db"))
    yield store
    store.close()


@pytest.fixture
def start(store: Store, clock: FakeClock) -> Start:
    loaded: dict[tuple[str, str], Definition] = {}

    def start(case: str, *machines: str, actions: Handlers | None = None, **options: Any) -> DurableRunner:
        for name in machines:
            if (case, name) not in loaded:
                loaded[case, name] = machine(case, name, actions)
        definitions = [loaded[case, name] for name in machines]
        return DurableRunner(options.pop("store", store), definitions, clock=clock, actions=actions, **options)

    return start


@pytest.fixture
def harelc_in() -> Command:
    def harelc_in(*args: str, cwd: Path, env: Mapping[str, str] | None = None) -> Completed:
        command = [sys.executable, "-m", "harelc", *args]
        return subprocess.run(
            command, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, encoding="utf-8"
        )

    return harelc_in
