"""`RedisStore` keeps the contract on Redis and on Valkey; and what a server adds: round trips, restarts, lost answers,
replicas, logins, other clients."""

from __future__ import annotations

import logging
import multiprocessing
import random
import selectors
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
import valkey
from crash.scenarios import scenario
from servers import free_port, redis_server, valkey_server

from harel import DictStore, DurableRunner, Event, definition_from_dsl
from harel.cli import main
from harel.errors import ExecutionAlreadyExists, StoreConflict, StoreFormatError, StoreUnavailable
from harel.execution import Execution, Status
from harel.stores import redis_connections
from harel.stores.protocol import Effects, Processed, Store, Timer
from harel.stores.redis import RedisStore
from harel.stores.redis_scripts import ACK, COMMIT, CREATE, LOAD_STEP, PURGE
from harel.testing import StoreContract
from harel.testing.crash import OpenStore, check_crashes, check_random_crashes
from harel.testing.store_contract import FOREVER, a_batch, a_message, an_order, every_effect, traces_of_effects

ORDER = """
event Pay {}
machine order { initial Cart  state Cart { timeout 900 }  final Paid success {}  final Late expired {}
  from Cart to Paid on Pay  from Cart to Late on Timeout }
"""


def keys_left(url: str, prefix: str = "harel") -> list[str]:
    """All keys of a prefix but those that make the store and keep definitions."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        keys = sorted(client.scan_iter(f"{prefix}:*"))
    return [key for key in keys if not key.startswith(f"{prefix}:{{{prefix}}}:")]


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


class TestOnRedis(RedisContract):
    @pytest.fixture
    def url(self, redis_url: str) -> str:
        return emptied(redis_url)


class TestOnValkey(RedisContract):
    @pytest.fixture
    def url(self, valkey_url: str) -> str:
        return emptied(valkey_url)


@pytest.fixture
def url(redis_url: str) -> str:
    return emptied(redis_url)


@pytest.fixture
def store(url: str) -> Iterator[RedisStore]:
    with closing(RedisStore(url)) as store:
        yield store


@pytest.fixture
def client(url: str) -> Iterator[Any]:
    """A look at the server past the store."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        yield client


# --- round trips


def sent_by(client: Any, work: Callable[[], object]) -> list[str]:
    """The commands that clients send meanwhile, as the server counts them: what a script calls is none of them."""
    commands: list[str] = []
    with client.monitor() as monitor:
        client.echo("the beginning")
        work()
        client.echo("the end")
        for command in monitor.listen():
            if command["command"] == "ECHO the beginning":
                commands.clear()  # how the client said hello
            elif command["command"] == "ECHO the end":
                return commands
            elif command["client_type"] != "lua":
                commands.append(command["command"])
    raise AssertionError("the monitor listens until the end")


def test_a_step_is_one_load_and_one_commit(store: RedisStore, client: Any) -> None:
    store.create(an_order(), every_effect())

    def step() -> None:
        order = store.load_step("order-1", "e-2").execution
        changed = replace(order, version=order.version + 1)
        store.commit(changed, order.version, replace(every_effect(), acks=("order-1:1:1",)))

    step()  # the server learns the scripts
    load, commit = sent_by(client, step)

    assert load.startswith(f"EVALSHA {LOAD_STEP.sha} 3 ")
    assert commit.startswith(f"EVALSHA {COMMIT.sha} 11 ")


def test_every_other_write_is_one_command(store: RedisStore, client: Any) -> None:
    store.create(an_order(), every_effect())
    store.ack_spawn("order-1:1:1")
    store.purge(["order-9"])
    writes = [
        lambda: store.create(an_order("order-2"), every_effect("order-2")),
        lambda: store.ack_outbox("order-1:1:1"),
        lambda: store.purge(["order-1", "order-2"]),
    ]

    assert [sent[0].split()[1] for sent in (sent_by(client, write) for write in writes) if len(sent) == 1] == [
        CREATE.sha,
        ACK.sha,
        PURGE.sha,
    ]


def test_a_runner_adds_no_round_trip_to_a_step(store: RedisStore, client: Any) -> None:
    runner = DurableRunner(store, [definition_from_dsl(ORDER)])
    runner.create("order", execution_id="order-1")

    assert len(sent_by(client, lambda: runner.process("order-1", Event("Pay")))) == 2


def arm(client: Any, orders: int, due: float) -> None:
    """Put timers into the due index as the store writes them, and fast."""
    members = {f"998order-{due:.0f}-{number}\0A\0" + "1": due for number in range(orders)}
    client.zadd("harel:{harel.0}:due", members)


def test_a_sweep_reads_the_due_timers_only(store: RedisStore, client: Any) -> None:
    arm(client, 50, 5.0)
    arm(client, 50, 100.0)
    store.due_timers(0.0)
    (command,) = sent_by(client, lambda: store.due_timers(10.0, 7))

    assert command.startswith("ZRANGEBYSCORE harel:{harel.0}:due -inf 10.0 ")
    assert " LIMIT 0 7" in command


def test_a_sweep_costs_the_same_however_many_timers_are_armed(store: RedisStore, client: Any) -> None:
    def cost() -> float:
        """Seconds of the fastest of many sweeps, so that a busy machine does not count."""
        begun = [(time.perf_counter(), store.due_timers(10.0), time.perf_counter()) for _ in range(60)]
        assert all(len(timers) == 10 for _, timers, _ in begun)
        return min(end - begin for begin, _, end in begun)

    arm(client, 10, 5.0)
    arm(client, 90, 100.0)
    few = cost()
    for later in range(10):
        arm(client, 10_000, 200.0 + later)

    assert client.zcard("harel:{harel.0}:due") == 100_100
    assert cost() < 2 * few


# --- what is kept


def test_no_key_ever_expires(store: RedisStore, client: Any) -> None:
    store.create(an_order(), every_effect())
    store.commit(an_order(version=2, status=Status.DONE), 1, Effects(processed=Processed("e-2", 1.0, 2)))
    store.publish_definition("order", 1, "d1", "{}")

    assert {client.ttl(key) for key in client.scan_iter()} == {-1}


def test_an_execution_that_goes_on_and_on_does_not_grow(
    store: RedisStore, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harel.stores.redis.DEDUPE_LIMIT", 3)
    store.create(an_order(), Effects())
    for number in range(2, 12):
        processed = Processed(f"e-{number}", 0.0, number)
        store.commit(an_order(version=number), number - 1, replace(every_effect(), processed=processed, trace_limit=3))

    assert client.hkeys("harel:{harel.0}:seen:order-1") == ["e-9", "e-10", "e-11"]
    assert client.llen("harel:{harel.0}:numbers:order-1") == 3
    assert client.llen("harel:{harel.0}:trace:order-1") == 3
    assert client.hlen("harel:{harel.0}:timers:order-1") == client.zcard("harel:{harel.0}:due") == 1


def test_due_timers_are_those_of_a_store_in_memory_whatever_happens(store: RedisStore) -> None:
    chance = random.Random(7)
    model = DictStore()
    versions = {f"o-{number}": 1 for number in range(4)}
    for both in (store, model):
        for id in versions:
            both.create(an_order(id), Effects())
    position = None
    for _ in range(150):
        id = chance.choice(list(versions))
        path = chance.choice(["", "A", "A.B", "A.Bé", "Z", "A.B.C"])
        timer = Timer(id, path, chance.choice([1.0, 1.0, 2.5, 0.1, -3.0]), versions[id])
        effects = Effects(
            arms=(timer,) if chance.random() < 0.7 else (),
            cancels=(chance.choice(["A", "A.B", ""]),) if chance.random() < 0.4 else (),
            hold=chance.choice([None, None, None, True, False]),
        )
        versions[id] += 1
        for both in (store, model):
            both.commit(an_order(id, versions[id]), versions[id] - 1, effects)
        now, limit = chance.choice([0.5, 1.0, 9.0]), chance.randint(1, 5)

        page = store.due_timers(now, limit, position)
        assert page == model.due_timers(now, limit, position)
        assert store.timers(id) == model.timers(id)
        position = page[-1].position if page and chance.random() < 0.8 else None  # it may be gone in the next round


def test_a_big_tree_is_purged_in_several_calls_the_root_at_the_end(
    store: RedisStore, client: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harel.stores.redis._PURGED_AT_ONCE", 2)
    tree = ["order-1", *(f"order-1/Parcels:{number}/1" for number in range(4))]
    for id in tree:
        store.create(an_order(id, parent_id=None if id == "order-1" else "order-1"), every_effect(id))
    commands = sent_by(client, lambda: store.purge(tree[::-1]))

    assert len(commands) == 3
    assert commands[-1].endswith(" order-1")
    assert keys_left(url) == []


# --- trouble on the way


def test_it_survives_a_flush_of_the_scripts(store: RedisStore, client: Any) -> None:
    store.create(an_order(), Effects())
    for version in range(2, 5):
        client.script_flush()
        assert store.load_step("order-1", "e").execution.version == version - 1
        client.script_flush()
        store.commit(an_order(version=version), version - 1, every_effect())
    client.script_flush()
    store.ack_outbox("order-1:1:1")
    client.script_flush()
    store.purge(["order-1"])

    assert store.ids_with_prefix("") == []


@pytest.mark.parametrize("server", [redis_server, valkey_server], ids=["redis", "valkey"])
def test_it_goes_on_after_a_restart_of_the_server(server: Any, tmp_path: Path) -> None:
    durable = "--appendonly", "yes", "--appendfsync", "always"
    with server(tmp_path, *durable) as url:
        store = RedisStore(url)
        store.create(an_order(), every_effect())
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        store.load("order-1")
    with server(tmp_path, *durable):
        assert store.load("order-1") == an_order()
        assert traces_of_effects(store)["due"] == ["Paying"]
        store.commit(an_order(version=2), 1, Effects())
        store.close()


class Proxy:
    """Stands between client and server, and cuts connections at a commit: `before` the server gets it, or `after`."""

    def __init__(self, folder: Path, server: str) -> None:
        self.url = f"unix://{folder / 'proxy.sock'}"
        self.cuts: deque[str] = deque()
        self._server = server.removeprefix("unix://")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / "proxy.sock"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._server)
            threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        is_cut = False
        with near, far, selectors.DefaultSelector() as waiting:
            waiting.register(near, selectors.EVENT_READ, far)
            waiting.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in waiting.select():
                    data = key.fileobj.recv(1 << 16) if isinstance(key.fileobj, socket.socket) else b""
                    if not data or (is_cut and key.fileobj is far):
                        return
                    if key.fileobj is near and self.cuts and any(s.sha.encode() in data for s in (CREATE, COMMIT)):
                        if self.cuts.popleft() == "before":
                            return
                        is_cut = True
                    key.data.sendall(data)


@pytest.fixture
def proxy(url: str, tmp_path: Path, store: RedisStore) -> Iterator[Proxy]:
    store.create(an_order(), Effects())
    with closing(Proxy(tmp_path, url)) as proxy:
        yield proxy


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_connection_that_drops_at_a_commit_is_replaced_and_the_step_done_once(
    store: RedisStore, proxy: Proxy, cut: str
) -> None:
    with closing(RedisStore(proxy.url)) as cut_off:
        cut_off.load("order-1")
        proxy.cuts.append(cut)
        cut_off.commit(an_order(version=2), 1, every_effect())
        proxy.cuts.append(cut)
        cut_off.create(an_order("order-2"), every_effect("order-2"))

    assert not proxy.cuts
    assert store.load("order-1") == an_order(version=2)
    assert [message.id for message in store.pending_outbox()] == ["order-1:1:1", "order-2:1:1"]
    assert len(store.read_trace("order-1")) == len(store.read_trace("order-2")) == 1


@pytest.mark.parametrize(("cut", "is_done"), [("before", False), ("after", True)])
def test_an_answer_that_stays_away_leaves_a_step_done_or_not_done(
    store: RedisStore, proxy: Proxy, cut: str, is_done: bool
) -> None:
    with closing(RedisStore(proxy.url)) as cut_off:
        cut_off.load("order-1")
        proxy.cuts += [cut, "before"]
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            cut_off.commit(an_order(version=2), 1, every_effect())

        assert cut_off.is_processed("order-1", "e-1") is is_done
    assert store.load("order-1").version == 1 + is_done
    assert len(store.pending_outbox()) == is_done


@pytest.mark.parametrize("cuts", [["before"], ["after"], ["after", "before"], ["after", "after"]], ids="-".join)
def test_a_runner_does_a_step_once_whatever_is_cut(store: RedisStore, proxy: Proxy, cuts: list[str]) -> None:
    machine = definition_from_dsl(ORDER)
    with closing(RedisStore(proxy.url)) as cut_off:
        runner = DurableRunner(cut_off, [machine], trace=True)
        runner.create("order", execution_id="order-2")
        proxy.cuts += cuts
        paid = runner.process("order-2", Event("Pay", id="payment-1"))

    assert (paid.outcome, paid.version) == ("success", 2)
    assert [row["event"] for row in store.read_trace("order-2")] == ["Start", "Pay"]


def test_who_lost_a_race_is_told_so_even_after_a_cut(store: RedisStore, proxy: Proxy) -> None:
    store.commit(an_order(version=2), 1, Effects())
    with closing(RedisStore(proxy.url)) as cut_off:
        cut_off.load("order-1")
        proxy.cuts += ["after"]
        with pytest.raises(StoreConflict):
            cut_off.commit(an_order(version=2), 1, every_effect())
        proxy.cuts += ["after"]
        with pytest.raises(ExecutionAlreadyExists):
            cut_off.create(an_order(), every_effect())

    assert traces_of_effects(store)["messages"] == []


def test_a_record_of_another_id_is_no_answer(store: RedisStore, client: Any) -> None:
    store.create(an_order(), Effects())
    client.hset("harel:{harel.0}:record:order-1", "r", an_order("order-2").to_json())

    with pytest.raises(StoreUnavailable, match="answered 'order-2' to a question for 'order-1'"):
        store.load("order-1")


def loaded_in_a_child(store: RedisStore, results: Any) -> None:
    results.put(store.load("order-1").version)


def test_a_forked_process_opens_connections_of_its_own(store: RedisStore) -> None:
    store.create(an_order(), Effects())
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=loaded_in_a_child, args=(store, results))
    child.start()
    child.join()

    assert results.get() == 1
    assert store.load("order-1") == an_order()


# --- crashes


def on_server(url: str) -> Callable[[], OpenStore]:
    """Databases for the simulation: the server, emptied for each run."""

    def database() -> OpenStore:
        emptied(url)
        return lambda: RedisStore(url)

    return database


@pytest.mark.parametrize("name", ["plain", "fork"])
def test_any_crash_ends_like_the_calm_run(url: str, name: str) -> None:
    check_crashes(replace(scenario(name), database=on_server(url)), moments=("after",))


@pytest.mark.parametrize("name", ["timers", "suspend", "nested", "cancel", "dead-letter", "purge", "deferred"])
def test_crashes_at_random_end_like_the_calm_run(valkey_url: str, name: str) -> None:
    check_random_crashes(replace(scenario(name), database=on_server(valkey_url)), runs=4, seed=11)


# --- replicas


@contextmanager
def primary_and_replica(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """A server and a function that starts its replica."""
    port = str(free_port())
    for name in ("primary", "replica"):
        (folder / name).mkdir()
    listening = "--bind", "127.0.0.1", "--port", port, "--repl-diskless-sync-delay", "0"
    with redis_server(folder / "primary", *listening) as url:
        yield url, lambda: redis_server(folder / "replica", "--replicaof", "127.0.0.1", port)


def until_replicated(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.set("seen", 1)
        assert client.wait(1, 10_000) == 1


def test_a_write_waits_for_its_replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with primary_and_replica(tmp_path) as (url, start_replica), closing(RedisStore(url, wait_replicas=1)) as store:
        with start_replica() as replica_url, redis.Redis.from_url(replica_url) as replica:
            until_replicated(url)
            store.create(an_order(), every_effect())
            replicated = replica.hget("harel:{harel.0}:record:order-1", "v")
        monkeypatch.setattr(redis_connections, "WAIT_MILLISECONDS", 20)
        with pytest.raises(StoreUnavailable, match=r"0 of 1 replicas have the write after 20 ms"):
            store.commit(an_order(version=2), 1, Effects(processed=Processed("e-2", 0.0, 2)))
        with pytest.raises(StoreUnavailable, match=r"0 of 1 replicas"):
            store.is_processed("order-1", "e-2")
        with start_replica():
            until_replicated(url)
            monkeypatch.setattr(redis_connections, "WAIT_MILLISECONDS", 5000)
            confirmed = store.is_processed("order-1", "e-2")

    assert replicated == b"1"
    assert confirmed


# --- opening


@pytest.mark.parametrize(
    ("policy", "warnings"),
    [
        ("noeviction", []),
        ("volatile-lru", []),
        (
            "allkeys-lru",
            ["maxmemory-policy is allkeys-lru, so that executions can be evicted and lost; set it to noeviction"],
        ),
    ],
)
def test_a_server_that_may_evict_records_is_warned_about(
    store: RedisStore, client: Any, caplog: pytest.LogCaptureFixture, policy: str, warnings: list[str]
) -> None:
    client.config_set("maxmemory-policy", policy)
    try:
        with caplog.at_level(logging.WARNING, "harel"):
            store.ids_with_prefix("")
            store.ids_with_prefix("")
    finally:
        client.config_set("maxmemory-policy", "noeviction")

    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == warnings


def test_a_store_that_is_not_there_is_only_made_if_that_is_wanted(url: str, client: Any) -> None:
    reader = RedisStore(url, create_schema=False)
    with pytest.raises(StoreFormatError, match=r"HSET harel:\{harel\}:meta format 1 partitions 1"):
        reader.list_executions()
    assert client.keys() == []
    client.execute_command("HSET", "harel:{harel}:meta", "format", "1", "partitions", "1")

    assert reader.list_executions().items == ()
    reader.close()


def test_the_number_of_partitions_is_fixed(url: str) -> None:
    RedisStore(url, partitions=4).create(an_order(), Effects())
    with pytest.raises(StoreFormatError, match=r"has 4 partitions, not 1; pass partitions=4, or \?partitions=4"):
        RedisStore(url).load("order-1")

    assert RedisStore(f"{url}?partitions=4").load("order-1") == an_order()


def test_a_newer_format_is_refused(store: RedisStore, client: Any) -> None:
    client.hset("harel:{harel}:meta", mapping={"format": "2", "partitions": "1"})

    with pytest.raises(StoreFormatError, match="has format 2, this release reads 1; install a newer one"):
        store.load("order-1")


def test_a_missing_library_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'harel-runtime\[redis\]'"):
        RedisStore("redis://localhost")


def test_a_wrong_password_is_one_line_without_it(url: str, client: Any) -> None:
    client.acl_setuser("app", enabled=True, passwords=["+right"], categories=["+@all"], keys=["*"])
    path = url.removeprefix("unix://")
    with pytest.raises(StoreUnavailable) as refused:
        RedisStore(f"unix://app:s3cret@{path}").load("order-1")

    assert str(refused.value).startswith(f"Redis store unix://app:***@{path} cannot be reached: ")
    assert "s3cret" not in str(refused.value)
    assert "\n" not in str(refused.value)
    RedisStore(f"unix://app:right@{path}").create(an_order(), Effects())


def test_a_host_out_of_reach_is_one_line_without_the_password() -> None:
    with pytest.raises(StoreUnavailable) as unreachable:
        RedisStore(f"redis://:s3cret@127.0.0.1:{free_port()}").load("order-1")

    assert "redis://:***@127.0.0.1:" in str(unreachable.value)
    assert "s3cret" not in str(unreachable.value)
    assert "\n" not in str(unreachable.value)


@pytest.mark.parametrize(
    ("address", "options", "message"),
    [
        ("redis://localhost:port", {}, "is no Redis URL; write redis://"),
        ("redis://localhost?speed=high", {}, "is no Redis URL; write redis://"),
        ("http://localhost", {}, "is no Redis URL; write redis://"),
        ("redis://localhost?partitions=many", {}, "partitions is 'many' in redis://localhost"),
        ("redis://localhost", {"partitions": 0}, "partitions is 0; it is a whole number from 1 to 16384"),
        ("redis://localhost", {"wait_replicas": -1}, "wait_replicas is -1; it is a whole number, 0 or more"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_at_once(address: str, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        RedisStore(address, **options)


def test_a_server_that_refuses_writes_is_unavailable(store: RedisStore, client: Any) -> None:
    store.create(an_order(), Effects())
    client.config_set("maxmemory", "1")
    try:
        with pytest.raises(StoreUnavailable, match=r"cannot be used: .*maxmemory"):
            store.commit(an_order(version=2), 1, every_effect())
    finally:
        client.config_set("maxmemory", "0")

    assert store.load("order-1") == an_order()
    assert traces_of_effects(store)["due"] == []


def test_the_command_takes_the_same_url(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(RedisStore(f"{url}?partitions=4", prefix="shop")) as store:
        store.create(an_order(), Effects())
    monkeypatch.setenv("HAREL_STORE_URL", f"{url}?partitions=4")
    monkeypatch.setenv("HAREL_STORE_BACKEND", "redis")
    monkeypatch.setenv("HAREL_PREFIX", "shop")

    assert main(["list"]) == 0
    assert "order-1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("redis://:s3cret@127.0.0.1:{port}/0", "Redis store redis://:***@127.0.0.1:{port}/0 cannot be reached: "),
        ("redis://:s3cret@cache:port", "redis://:***@cache:port is no Redis URL; write redis://"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str, message: str
) -> None:
    port = free_port()
    monkeypatch.setenv("HAREL_STORE_URL", address.format(port=port))

    assert main(["list"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("harel: " + message.format(port=port))


# --- clients of the caller's


def clients(url: str) -> Sequence[Any]:
    return (
        redis.Redis.from_url(url),
        redis.Redis.from_url(url, decode_responses=True),
        redis.Redis.from_url(url, protocol=2),
        redis.Redis.from_url(url, protocol=3),
        valkey.Valkey.from_url(url),
    )


@pytest.mark.parametrize("number", range(5), ids=["redis", "decoding", "resp2", "resp3", "valkey"])
def test_any_client_of_the_callers_will_do(url: str, number: int) -> None:
    client = clients(url)[number]
    store = RedisStore(client)
    arms = tuple(Timer("order-1", path, 0.1, 1) for path in ("A", "A.B"))
    store.create(an_order(context={"é": "\0"}), replace(every_effect(), arms=arms, spawns=(a_batch(1), a_batch(2))))
    store.publish_definition("order", 1, "d1", "{}")
    client.script_flush()
    with pytest.raises(StoreConflict):
        store.commit(an_order(version=9), 8, Effects())

    assert store.load_step("order-1", "e-1").processed
    assert [timer.path for timer in store.due_timers(FOREVER)] == ["A.B", "A"]
    assert store.due_timers(FOREVER, after=store.due_timers(FOREVER)[0].position) == [arms[0]]
    assert store.timers("order-1") == [arms[1], arms[0]]
    assert store.pending_spawns(after="order-1:1:1") == [a_batch(2)]
    assert store.list_executions().items == (store.load("order-1"),)
    assert store.read_trace("order-1")[0]["event_id"] == "e-1"
    assert store.list_definitions() == [("order", 1, "d1")]
    store.close()
    assert client.ping()  # it is still open
    client.close()


def test_an_outage_of_a_callers_client_is_unavailable_too() -> None:
    for client in (redis.Redis(port=free_port(), retry=None), valkey.Valkey(port=free_port())):
        with pytest.raises(StoreUnavailable, match="Redis store of the given client cannot be reached"):
            RedisStore(client).load("order-1")


def test_the_shown_form_has_no_password() -> None:
    store = RedisStore("redis://app:s3cret@db/0", prefix="shop", partitions=4)

    assert repr(store) == "RedisStore('redis://app:***@db/0', prefix='shop', partitions=4)"


def test_messages_keep_their_order_when_the_clock_of_the_server_goes_back(store: RedisStore, client: Any) -> None:
    store.create(an_order(), Effects(emits=(a_message(1),)))
    client.zadd("harel:{harel.0}:outbox", {"order-1:1:1": 8e15})  # as of a clock that is far ahead
    store.commit(an_order(version=2), 1, Effects(emits=(a_message(3), a_message(2))))

    assert [message.id for message in store.pending_outbox()] == ["order-1:1:1", "order-1:1:3", "order-1:1:2"]
    assert client.zscore("harel:{harel.0}:outbox", "order-1:1:2") == 8e15 + 2


def test_lists_are_read_in_small_pieces(store: RedisStore, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harel.stores.redis._READ_AT_ONCE", 3)
    for number in range(10):
        store.create(Execution(f"o-{number}", "b" if number == 9 else "a", version=1), Effects())

    assert [execution.id for execution in store.list_executions(definition_id="b")] == ["o-9"]
    assert len(sent_by(client, lambda: store.list_executions(limit=1))) == 2
