"""`RedisStore` keeps the contract on Redis and on Valkey; and what a server adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis
from servers import redis_server, valkey_server

from harel.stores.protocol import Store
from harel.stores.redis import RedisStore
from harel.testing import StoreContract


def keys_left(url: str, prefix: str = "harel") -> list[str]:
    """All keys of a prefix but those that make the store and keep definitions."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        keys = sorted(client.scan_iter(f"{prefix}:*"))
    return [key for key in keys if not key.startswith(f"{prefix}:{{{prefix}}}:")]


class RedisContract(StoreContract):
    """The contract on the server at `url`, emptied for each test."""

    @pytest.fixture(autouse=True)
    def _url(self, url: str) -> None:
        self.url = url

    @pytest.fixture
    def open_store(self) -> Callable[..., RedisStore]:
        return lambda prefix="harel": RedisStore(self.url, prefix=prefix)

    def leftovers(self, store: Store) -> list[str]:
        assert isinstance(store, RedisStore)
        return keys_left(self.url, store.prefix)


def emptied(url: str) -> str:
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return url


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="module")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with valkey_server(tmp_path_factory.mktemp("valkey")) as url:
        yield url


class TestOnRedis(RedisContract):
    @pytest.fixture
    def url(self, redis_url: str) -> str:
        return emptied(redis_url)


class TestOnValkey(RedisContract):
    @pytest.fixture
    def url(self, valkey_url: str) -> str:
        return emptied(valkey_url)
