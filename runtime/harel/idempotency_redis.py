"""`RedisIdempotency`: records of `harel.idempotency` on a Redis or Valkey server (runtime.md section 1).

One `SET NX` keeps a record; the first of two callers wins. It needs the extra `redis` only where it is given a URL.
"""

from __future__ import annotations

from typing import Any, Protocol

from .extras import library
from .stores.names import checked_prefix
from .urls import shown

KEPT_FOR = 30 * 24 * 3600.0
"""How long a record is kept where the program says nothing, in seconds: longer than any event is delivered again."""


class RedisClient(Protocol):
    """What is asked of an injected client; `redis.Redis` is one, with or without `decode_responses`."""

    def get(self, name: str) -> Any:
        """The value under a key as bytes or text, or `None`."""

    def set(self, name: str, value: str, *, px: int, nx: bool) -> Any:
        """Set a key that expires after `px` milliseconds; with `nx` only where it is not there (else `None`)."""


class RedisIdempotency:
    """Records on a Redis server, under `{prefix}:idempotency:{key}`.

    Args:
        client: a `redis.Redis` of the caller's, or a URL (`redis://`, `rediss://`, `unix://`).
        prefix: names every key, `[a-z][a-z0-9_]{0,29}`.
        keep: how long a record is kept, in seconds. An event that comes again later runs its handlers again.

    Raises:
        ModuleNotFoundError: a URL is given and the library is not installed; says the pip line.
        ValueError: an argument cannot be used.
    """

    def __init__(self, client: RedisClient | str, *, prefix: str = "harel", keep: float = KEPT_FOR) -> None:
        if not keep > 0:
            raise ValueError(f"keep is {keep!r}; it is a number of seconds above 0")
        self._is_own = isinstance(client, str)
        self._client: Any = _connected(client) if isinstance(client, str) else client
        self._prefix = f"{checked_prefix(prefix)}:idempotency:"
        self._milliseconds = max(1, int(keep * 1000))

    def get(self, key: str) -> str | None:
        """See `IdempotencyBackend.get`."""
        record = self._client.get(self._prefix + key)
        return record.decode() if isinstance(record, bytes) else record

    def put(self, key: str, record: str) -> str:
        """See `IdempotencyBackend.put`."""
        while True:
            if self._client.set(self._prefix + key, record, px=self._milliseconds, nx=True):
                return record
            kept = self.get(key)
            if kept is not None:  # else it expired in between
                return kept

    def close(self) -> None:
        """Close the connections if they are this object's own; they are opened again when needed."""
        if self._is_own:
            self._client.close()


def _connected(url: str) -> Any:
    """A client for a URL; it connects when it is first used. Raises `ValueError` without the password."""
    redis = library("redis")
    try:
        return redis.from_url(url)
    except ValueError:
        form = "redis://[user:password@]host:port/number, with special characters of the password percent-encoded"
        raise ValueError(f"{shown(url)} is no Redis URL; write {form}") from None
