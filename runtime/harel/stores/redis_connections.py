"""The connection of a store to Redis or Valkey: opening, checking, running scripts, and what the errors mean.

It knows nothing of executions. Edges: edges.md, "SQLite, Redis, Postgres, DynamoDB" and "Races and interruptions".
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from harel.errors import StoreFormatError, StoreUnavailable
from harel.extras import library
from harel.urls import scheme_of, shown

from .redis_keys import Keys
from .redis_scripts import MARK, OPEN, Script

log = logging.getLogger("harel")

T = TypeVar("T")

FORMAT = "1"
"""The format of the keys that this release reads and writes."""

WAIT_MILLISECONDS = 1000
"""How long replicas have to confirm a write."""

SCHEMES: Mapping[str, str] = {
    "redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss", "unix": "unix",
}  # fmt: skip
"""The schemes of URLs, and what the client library calls them."""

_OPTIONS = ("partitions", "wait_replicas")

_FORM = "redis://[user:password@]host:port/number, with special characters of the password percent-encoded"


def without_options(url: str) -> tuple[str, dict[str, int]]:
    """The URL that the client library understands, and the store's own options that it had: `?partitions=16`.

    Raises:
        ValueError: an option is no whole number.
    """
    place, _, query = url.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    options: dict[str, int] = {}
    for name, value in pairs:
        if name in _OPTIONS:
            if not re.fullmatch("[0-9]+", value):
                raise ValueError(f"{name} is {value!r} in {shown(url)}; it is a whole number")
            options[name] = int(value)
    if not options:
        return url, options
    others = urlencode([pair for pair in pairs if pair[0] not in _OPTIONS])
    return place + (f"?{others}" if others else ""), options


class Connection:
    """A client and what was found out about its server; shared by threads, reopened after `fork` by the client.

    Args:
        client: a client of the caller's, or a URL.
        keys: of the store.
        replicas: how many replicas must confirm a write.
        create: make the store if it is not there.
    """

    def __init__(self, client: Any, keys: Keys, replicas: int, create: bool) -> None:
        self.is_own = isinstance(client, str)
        self._url = client if isinstance(client, str) else ""
        self.place = shown(client) if isinstance(client, str) else "of the given client"
        self._client: Any = self._connected() if self.is_own else client
        name = _library_of(self._client)
        errors = library(name).exceptions
        self._unknown_script: type[Exception] = errors.NoScriptError
        self._unreachable: tuple[type[Exception], ...] = (errors.ConnectionError, errors.TimeoutError)
        # Both libraries name two of their errors after themselves.
        of_name = (getattr(errors, name.capitalize() + kind) for kind in ("Error", "ClusterException"))
        self._errors: tuple[type[Exception], ...] = tuple(of_name)
        self._moved: type[Exception] = errors.MovedError
        self._keys = keys
        self._replicas = replicas
        self._create = create
        self._lock = threading.Lock()
        self._is_checked = False
        self._unconfirmed: bytes | None = None

    def run(self, script: Script, keys: Sequence[bytes], arguments: Sequence[Any] = ()) -> Any:
        """The answer of a script: one command. Raises `StoreUnavailable`, `StoreFormatError`."""
        try:
            return self._ran(self._ready(), script, keys, arguments)
        except self._errors as error:
            raise self._problem(error) from error

    def use(self, work: Callable[[Any], T]) -> T:
        """What a function gets from the client. Raises as `run`."""
        try:
            return work(self._ready())
        except self._errors as error:
            raise self._problem(error) from error

    def drop(self) -> None:
        """Give up connections that answer nonsense; the next call opens others."""
        pool = getattr(self._client, "connection_pool", None)
        if pool is not None:
            pool.disconnect()

    def close(self) -> None:
        """Close connections that were opened here; they are opened again when they are needed."""
        if not self.is_own:
            return
        with self._lock:
            self._client.close()
            if _is_cluster(self._client):  # which cannot be used again
                self._client, self._is_checked = self._connected(), False

    # --- opening

    def _connected(self, *, cluster: bool = False) -> Any:
        """A client for the URL; it connects when it is first used. Raises `ValueError` without the password."""
        redis = library("redis")
        scheme = scheme_of(self._url)
        if scheme not in SCHEMES:
            raise ValueError(f"{self.place} is no Redis URL; write {_FORM}")
        url = SCHEMES[scheme] + self._url[len(scheme) :]
        # A write that is sent twice is known by its token, so that a connection that broke may be replaced unasked.
        retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.05), 1)
        options = {"retry": retry, "socket_connect_timeout": 5, "socket_timeout": 30}
        try:
            if cluster:
                return redis.RedisCluster.from_url(url, **options)
            client = redis.Redis.from_url(url, **options)
            client.connection_pool.connection_class(**client.connection_pool.connection_kwargs)  # opens nothing
        except (TypeError, ValueError):
            raise ValueError(f"{self.place} is no Redis URL; write {_FORM}") from None
        return client

    def _ready(self) -> Any:
        """The client of a server that was checked, and whose replicas have what was written."""
        if not self._is_checked:
            self._check()
        if self._unconfirmed is not None:
            self._replicated(self._client, MARK, [self._unconfirmed], ())
            self._unconfirmed = None
        return self._client

    def _check(self) -> None:
        with self._lock:
            if self._is_checked:
                return
            infos = self._server_infos()
            if self.is_own and not _is_cluster(self._client) and any(info.get("cluster_enabled") for info in infos):
                self._use_cluster()
                infos = self._server_infos()
            policies = {str(info.get("maxmemory_policy")) for info in infos}
            for policy in sorted(policy for policy in policies if policy.startswith("allkeys")):
                log.warning(
                    "Redis store %s: maxmemory-policy is %s, so that executions can be evicted and lost; "
                    "set it to noeviction",
                    *(self.place, policy),
                )
            self._check_format()
            self._is_checked = True

    def _server_infos(self) -> list[Mapping[str, Any]]:
        """What the servers tell of themselves; nothing where that is not permitted."""
        try:
            if _is_cluster(self._client):
                answers = self._client.info(target_nodes="primaries")
                return [answers] if "redis_version" in answers else list(answers.values())
            return [self._client.info()]
        except self._unreachable:
            raise
        except self._errors:
            return []

    def _use_cluster(self) -> None:
        if scheme_of(self._url) == "unix":  # the nodes of a cluster are named by host and port
            return
        self._client.close()
        self._client = self._connected(cluster=True)

    def _check_format(self) -> None:
        wanted = len(self._keys.partitions)
        answer = self._ran(self._client, OPEN, [self._keys.meta], [int(self._create), FORMAT, wanted])
        format, partitions = (None if value is None else as_text(value) for value in answer)
        if format is None:
            name, make = as_text(self._keys.meta), f"format {FORMAT} partitions {wanted}"
            raise StoreFormatError(
                f"Redis store {self.place} has no keys of prefix {self._keys.prefix!r}; only a worker or `publish` "
                f"makes them, or by hand: HSET {name} {make}"
            )
        if format != FORMAT:
            raise StoreFormatError(
                f"Redis store {self.place} has format {format}, this release reads {FORMAT}; install a newer one"
            )
        if partitions != str(wanted):
            raise StoreFormatError(
                f"Redis store {self.place} has {partitions} partitions, not {wanted}; "
                f"pass partitions={partitions}, or ?partitions={partitions} in its URL"
            )

    # --- running

    def _ran(self, client: Any, script: Script, keys: Sequence[bytes], arguments: Sequence[Any]) -> Any:
        if script.durable and self._replicas:
            return self._replicated(client, script, keys, arguments)
        try:
            return client.evalsha(script.sha, len(keys), *keys, *arguments)
        except self._unknown_script:  # the server has restarted, or its scripts were flushed
            return client.eval(script.text, len(keys), *keys, *arguments)

    def _replicated(self, client: Any, script: Script, keys: Sequence[bytes], arguments: Sequence[Any]) -> Any:
        """Run a script and have its write confirmed on the same connection, in one round trip."""
        node = client
        if _is_cluster(client):
            node = client.get_redis_connection(client.get_node_from_key(as_text(keys[0])))
        answer, confirmed = self._with_wait(node, "EVALSHA", script.sha, keys, arguments)
        if isinstance(answer, self._unknown_script):
            answer, confirmed = self._with_wait(node, "EVAL", script.text, keys, arguments)
        if isinstance(answer, self._moved):
            client.nodes_manager.initialize()
        for result in (answer, confirmed):
            if isinstance(result, Exception):
                raise result
        if confirmed < self._replicas:
            self._unconfirmed = keys[0] if script is MARK else keys[0] + b":confirm"
            raise StoreUnavailable(
                f"Redis store {self.place}: {confirmed} of {self._replicas} replicas have the write after "
                f"{WAIT_MILLISECONDS} ms; it stands on the primary, and the store waits for them"
            )
        return answer

    def _with_wait(
        self, node: Any, command: str, script: str, keys: Sequence[bytes], arguments: Sequence[Any]
    ) -> tuple[Any, Any]:
        pipeline = node.pipeline(transaction=False)
        pipeline.execute_command(command, script, len(keys), *keys, *arguments)
        pipeline.execute_command("WAIT", self._replicas, WAIT_MILLISECONDS)
        answer, confirmed = pipeline.execute(raise_on_error=False)
        return answer, confirmed

    def _problem(self, error: Exception) -> StoreUnavailable:
        reason = " ".join(str(error).split()) or type(error).__name__
        verb = "cannot be reached" if isinstance(error, self._unreachable) else "cannot be used"
        return StoreUnavailable(f"Redis store {self.place} {verb}: {reason}")


def as_text(value: Any) -> str:
    """An answer as text, whether or not the client decodes."""
    return value.decode() if isinstance(value, bytes) else str(value)


def as_bytes(value: Any) -> bytes:
    """An answer as bytes, whether or not the client decodes."""
    return value if isinstance(value, bytes) else str(value).encode()


def _is_cluster(client: Any) -> bool:
    return hasattr(client, "get_node_from_key")


def _library_of(client: Any) -> str:
    """The library that a client comes from, of which Valkey's own is a twin; its errors are that library's."""
    modules = {base.__module__.partition(".")[0] for base in type(client).__mro__}
    return "valkey" if "valkey" in modules else "redis"
