"""`RedisStore` with partitions on a cluster of two Valkey nodes: the contract, and where each tree lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
import redis
from crash.scenarios import scenario
from servers import redis_server, valkey_cluster

from harel import DurableRunner, Event, definition_from_dsl
from harel.stores.protocol import Effects, Processed, Store, Timer
from harel.stores.redis import RedisStore
from harel.stores.redis_keys import Keys, slot_of
from harel.testing import StoreContract
from harel.testing.crash import OpenStore, check_random_crashes
from harel.testing.store_contract import FOREVER, a_batch, a_message, an_order, every_effect, traces_of_effects

PARTITIONS = 16


@pytest.fixture(scope="module")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with valkey_cluster(tmp_path_factory.mktemp("cluster"), nodes=2) as url:
        yield url


@pytest.fixture(scope="module")
def single_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="module")
def cluster(cluster_url: str) -> Iterator[Any]:
    """A look at the cluster past the store."""
    url = cluster_url.replace("valkey://", "redis://")
    with closing(redis.RedisCluster.from_url(url, decode_responses=True)) as client:
        yield client


@pytest.fixture
def url(cluster_url: str, cluster: Any) -> str:
    cluster.flushall(target_nodes="primaries")
    return cluster_url


@pytest.fixture
def store(url: str) -> Iterator[RedisStore]:
    with closing(RedisStore(url, partitions=PARTITIONS)) as store:
        yield store


class PartitionedContract(StoreContract):
    """The contract, but for one thing: a step learns what waits in its own partition, and a sweep of all the others."""

    def test_a_step_learns_that_something_waits(self, store: Store) -> None:
        assert isinstance(store, RedisStore)
        home = store._keys.partition("order-1")
        near = next(f"near-{n}" for n in range(1000) if store._keys.partition(f"near-{n}") is home)
        far = next(f"far-{n}" for n in range(1000) if store._keys.partition(f"far-{n}") is not home)
        store.create(an_order(), Effects())
        store.create(an_order(near), Effects(emits=(a_message(1, near),)))
        store.create(an_order(far), Effects(spawns=(a_batch(1, far),)))
        assert store.load_step("order-1", "e").backlog
        store.ack_outbox(f"{near}:1:1")
        assert not store.load_step("order-1", "e").backlog

        assert store.pending_spawns() == [a_batch(1, far)]


class TestOnACluster(PartitionedContract):
    @pytest.fixture(autouse=True)
    def _cluster(self, url: str, cluster: Any) -> None:
        self.url, self.cluster = url, cluster

    @pytest.fixture
    def open_store(self) -> Callable[..., RedisStore]:
        return lambda prefix="harel": RedisStore(self.url, prefix=prefix, partitions=PARTITIONS)

    def leftovers(self, store: Store) -> list[str]:
        assert isinstance(store, RedisStore)
        keys = self.cluster.keys(f"{store.prefix}:*", target_nodes="primaries")
        return [key for key in keys if not key.startswith(f"{store.prefix}:{{{store.prefix}}}:")]


class TestPartitionsOnOneServer(PartitionedContract):
    """Partitions need no cluster: a store may be made for one that is to come."""

    @pytest.fixture
    def open_store(self, single_url: str) -> Callable[..., RedisStore]:
        with redis.Redis.from_url(single_url) as client:
            client.flushall()
        return lambda prefix="harel": RedisStore(single_url, prefix=prefix, partitions=PARTITIONS)


# --- where things lie


def test_all_keys_of_a_tree_lie_in_one_slot(store: RedisStore, cluster: Any) -> None:
    tree = ["order-1", "order-1/Checks.Goods/1", "order-1/Parcels:7/2/Hubs/1"]
    for id in tree:
        store.create(an_order(id, parent_id=None if id == "order-1" else "order-1"), every_effect(id))
    keys = cluster.keys("harel:*", target_nodes="primaries")
    slots = {cluster.cluster_keyslot(key) for key in keys if not key.startswith("harel:{harel}:")}

    assert slots == {slot_of(store._keys.partition("order-1").base.split(b"{")[1].split(b"}")[0])}


def test_a_clusters_nodes_get_equal_shares() -> None:
    for prefix in ("harel", "shop"):
        tags = [partition.base.split(b"{")[1].split(b"}")[0] for partition in Keys(prefix, PARTITIONS).partitions]

        assert [slot_of(tag) * PARTITIONS // 16384 for tag in tags] == list(range(PARTITIONS))


def test_trees_are_spread_over_all_partitions() -> None:
    keys = Keys("harel", PARTITIONS)
    shares = [0] * PARTITIONS
    for number in range(1600):
        shares[keys.partition(f"order-{number}").number] += 1

    assert min(shares) > 50
    assert max(shares) < 150


def test_a_url_of_a_cluster_makes_a_cluster_client(url: str, cluster: Any) -> None:
    with closing(RedisStore(f"{url}?partitions=16")) as store:
        for number in range(20):
            store.create(an_order(f"o-{number}"), Effects())
        assert len(store.ids_with_prefix("o-")) == 20

    sizes = cluster.dbsize(target_nodes="primaries")
    assert sizes > 20
    assert all(cluster.get_redis_connection(node).dbsize() > 5 for node in cluster.get_primaries())


def test_one_partition_works_on_a_cluster_too(url: str) -> None:
    with closing(RedisStore(url)) as store:
        store.create(an_order(), every_effect())

        assert traces_of_effects(store)["messages"] == ["order-1:1:1"]


def test_a_callers_cluster_client_will_do(url: str, cluster: Any) -> None:
    store = RedisStore(cluster, partitions=PARTITIONS)
    store.create(an_order(), every_effect())

    assert store.load_step("order-1", "e-1").processed
    store.close()
    assert cluster.ping()


# --- across partitions


def strangers(store: RedisStore) -> tuple[str, str]:
    """The ids of two orders in different partitions."""
    far = next(f"far-{n}" for n in range(1000) if store._keys.partition(f"far-{n}") != store._keys.partition("order-1"))
    return "order-1", far


def test_a_message_to_another_tree_is_acknowledged_by_the_step_that_takes_it(store: RedisStore) -> None:
    sender, receiver = strangers(store)
    store.create(an_order(sender), Effects(emits=(a_message(1, sender, receiver),)))
    store.create(an_order(receiver), Effects())
    store.commit(an_order(receiver, 2), 1, Effects(acks=(f"{sender}:1:1",), processed=Processed("e-1", 0.0, 1)))

    assert store.pending_outbox() == []


def test_an_id_of_no_known_form_is_found_in_any_partition(store: RedisStore) -> None:
    for number in range(8):
        message = replace(a_message(1, f"o-{number}"), id=f"message {number}")
        store.create(an_order(f"o-{number}"), Effects(emits=(message,)))
        store.ack_outbox(f"message {number}")

    assert store.pending_outbox() == []


def test_messages_of_all_partitions_come_in_the_order_of_commits_and_in_pages(store: RedisStore) -> None:
    ids = [f"o-{number}" for number in range(12)]
    for id in ids:
        store.create(an_order(id), Effects(emits=(a_message(1, id), a_message(2, id))))
    seen: list[str] = []
    while page := store.pending_outbox(5, seen[-1] if seen else None):
        seen += [message.id for message in page]

    assert seen == [f"{id}:1:{number}" for id in ids for number in (1, 2)]


def test_a_sweep_visits_all_partitions_in_the_order_of_due_times(store: RedisStore) -> None:
    timers = [Timer(f"o-{number}", path, float(number % 5), 1) for number in range(20) for path in ("A", "A.B")]
    for number in range(20):
        own = tuple(timer for timer in timers if timer.execution_id == f"o-{number}")
        store.create(an_order(f"o-{number}"), Effects(arms=own))
    seen: list[Timer] = []
    while page := store.due_timers(FOREVER, 7, seen[-1].position if seen else None):
        seen += page

    assert seen == sorted(timers, key=lambda timer: timer.position)


def test_a_purge_takes_messages_from_other_partitions_along(store: RedisStore) -> None:
    sender, receiver = strangers(store)
    store.create(an_order(sender), Effects(emits=(a_message(1, sender, receiver), a_message(2, sender, sender))))
    store.create(an_order(receiver), Effects())
    store.purge([receiver])

    assert [message.id for message in store.pending_outbox()] == [f"{sender}:1:2"]


# --- whole runs


def test_orders_of_all_partitions_go_their_way(store: RedisStore) -> None:
    machine = definition_from_dsl("""
        event Pay {}
        machine order { initial Cart  state Cart { timeout 900 }  final Paid success {}  final Late expired {}
          from Cart to Paid on Pay  from Cart to Late on Timeout }
        """)
    now = [0.0]
    runner = DurableRunner(store, [machine], clock=lambda: now[0])
    ids = [runner.create("order", execution_id=f"o-{number}").id for number in range(20)]
    for id in ids[:10]:
        runner.process(id, Event("Pay"))
    now[0] = 901.0

    assert runner.fire_due_timers() == 10
    outcomes = {execution.id: execution.outcome for execution in store.list_executions()}
    assert outcomes == {id: "success" if number < 10 else "expired" for number, id in enumerate(ids)}


@pytest.mark.parametrize("name", ["fork", "cancel", "timers"])
def test_crashes_at_random_end_like_the_calm_run(url: str, cluster: Any, name: str) -> None:
    def database() -> OpenStore:
        cluster.flushall(target_nodes="primaries")
        return lambda: RedisStore(url, partitions=PARTITIONS)

    check_random_crashes(replace(scenario(name), database=database), runs=3, seed=5)
