"""Steps a second of `RedisStore` beside a floor written by hand, and what a sweep costs, on one server in one run.

    PYTHONPATH=.:runtime:tests python bench/redis_store.py [--steps 2000] [--rounds 5] [--url redis://…]
        [--peer PYTHON --peer-module MODULE]

Without `--url` the servers of the test wheels are started, Redis and Valkey, one after the other; a server that is
named is written to under prefixes of this program, and cleaned up. A step is what every durable step needs at least:
read the record, then one script that compares and sets the version and remembers the event. The floor does it by hand;
the store through its methods. Rounds take turns, so that a noisy machine is noisy for both; printed are medians and
their ratio.

`--peer` is a Python with `harel` 0.9.0 and `redis` installed, an interpreter of the same language, used as a black box:
one script drives orders through two events on both, in databases 1 and 2 of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import redis

from harel.execution import Execution, Status
from harel.stores.protocol import Effects, Processed, Timer
from harel.stores.redis import RedisStore

CONTEXT = {"order": "A-1001", "total": 129.5, "items": ["book", "pen", "lamp"], "retries": 0, "paid": False}

Steps = Callable[[int], None]

BY_HAND = """
if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'record', ARGV[3])
redis.call('SADD', KEYS[2], ARGV[4])
return 1
"""

DRIVER = '''
import json, sys, time
from importlib import import_module
import redis
from harel import DurableRunner, Event, definition_from_dsl

SOURCE = """
event Pay { amount: int }
event Ship {}

machine order {
  context { paid: int = 0 }
  initial Cart
  state Cart { timeout 900 }
  state Paid {}
  final Shipped success {}
  final Late expired {}

  from Cart to Paid on Pay where amount > 0 set context.paid = event.amount
  from Cart to Late on Timeout
  from Paid to Shipped on Ship
}
"""

orders, client = int(sys.argv[1]), redis.Redis.from_url(sys.argv[2])
RedisStore = import_module(sys.argv[3]).RedisStore
machine = definition_from_dsl(SOURCE, "order")
runner = DurableRunner(RedisStore(client), {machine.id: machine}, clock=lambda: 0.0)
ids = [runner.create(machine.id).id for _ in range(orders)]
begun = time.perf_counter()
for id in ids:
    runner.process(id, Event(kind="Pay", data={"amount": 5}))
    done = runner.process(id, Event(kind="Ship"))
    assert done.outcome == "success", done
print(json.dumps(2 * orders / (time.perf_counter() - begun)))
'''


def by_hand(client: redis.Redis) -> Steps:
    """The floor: a hand-written script on one connection."""
    client.delete("bench_floor:order-1", "bench_floor:processed:order-1")
    client.hset("bench_floor:order-1", mapping={"version": 0, "record": json.dumps(CONTEXT)})
    sha = client.script_load(BY_HAND)
    number = 0

    def steps(count: int) -> None:
        nonlocal number
        for _ in range(count):
            number += 1
            version, text = client.hmget("bench_floor:order-1", "version", "record")
            record = json.loads(text)
            record["retries"] += 1
            keys = "bench_floor:order-1", "bench_floor:processed:order-1"
            done = client.evalsha(sha, 2, *keys, version, int(version or 0) + 1, json.dumps(record), f"event-{number}")
            assert done == 1

    return steps


def by_store(store: RedisStore) -> Steps:
    """The product: `load_step` and `commit`."""
    order = Execution("order-1", "order", 1, "d" * 64, Status.RUNNING, "AwaitingPayment", context=dict(CONTEXT))
    order.version, order.created_at = 1, time.time()
    store.purge([order.id])
    store.create(order, Effects())
    number = 0

    def steps(count: int) -> None:
        nonlocal number
        for _ in range(count):
            number += 1
            execution = store.load_step("order-1", f"event-{number}").execution
            execution.context["retries"] += 1
            execution.version += 1
            processed = Processed(f"event-{number}", time.time(), number)
            store.commit(execution, execution.version - 1, Effects(processed=processed))

    return steps


def rate(steps: Steps, count: int) -> float:
    """Steps a second of one round."""
    begin = time.perf_counter()
    steps(count)
    return count / (time.perf_counter() - begin)


def sweep(store: RedisStore, armed: int) -> float:
    """Milliseconds of a sweep that finds 10 timers due among so many armed ones; the median of many."""
    for start in range(0, armed, 1000):
        numbers = range(start, min(start + 1000, armed))
        timers = tuple(Timer(f"device-{start}", f"S{number}", 5.0 if number < 10 else 1e9, 1) for number in numbers)
        device = Execution(f"device-{start}", "device", 1, "d" * 64, Status.RUNNING, "S0", version=1)
        store.create(device, Effects(arms=timers))
    times = []
    for _ in range(200):
        begin = time.perf_counter()
        assert len(store.due_timers(10.0)) == 10
        times.append(time.perf_counter() - begin)
    store.purge(store.ids_with_prefix(""))
    return median(times) * 1000


def driven(python: str, orders: int, url: str, module: str, environment: dict[str, str]) -> float:
    """Steps a second of whole runners, of the `harel` that this Python imports, on the `RedisStore` of a module."""
    command = [python, "-c", DRIVER, str(orders), url, module]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    if run.returncode:
        raise SystemExit(f"{python}: {run.stderr.strip().splitlines()[-1]}")
    found: float = json.loads(run.stdout)
    return found


@contextmanager
def servers(url: str | None) -> Iterator[list[str]]:
    """The URLs to measure on."""
    if url is not None:
        yield [url]
        return
    from servers import redis_server, valkey_server

    with tempfile.TemporaryDirectory() as folder:
        for name in ("redis", "valkey"):
            (Path(folder) / name).mkdir()
        with redis_server(Path(folder) / "redis") as first, valkey_server(Path(folder) / "valkey") as second:
            yield [first, second]


def measure(url: str, count: int, rounds: int, peer: str | None, module: str) -> None:
    """Print what was found on one server."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        info = client.info("server")
        name = f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"
        store = RedisStore(url, prefix="bench_store")
        floor, ours = by_hand(client), by_store(store)
        rates = [(rate(floor, count), rate(ours, count)) for _ in range(rounds)]
        theirs, mine = median(pair[0] for pair in rates), median(pair[1] for pair in rates)
        print(f"{name}: floor {theirs:,.0f}/s   RedisStore {mine:,.0f}/s   ratio {mine / theirs:.0%}")
        client.delete("bench_floor:order-1", "bench_floor:processed:order-1")
        store.purge(["order-1"])
        few, many = sweep(store, 100), sweep(store, 100_000)
        print(f"{name}: 10 due among 100: {few:.2f} ms   among 100,000: {many:.2f} ms   ratio {many / few:.2f}")
    if peer is not None:
        alone = {variable: value for variable, value in os.environ.items() if variable != "PYTHONPATH"}
        runs = []
        for _ in range(rounds):
            ours_now = driven(sys.executable, 300, f"{url}?db=1", "harel", dict(os.environ))
            runs.append((ours_now, driven(peer, 300, f"{url}?db=2", module, alone)))
        own, others = median(pair[0] for pair in runs), median(pair[1] for pair in runs)
        print(f"{name}: runner {own:,.0f} steps/s   peer {others:,.0f} steps/s   {own / others:.1f} times the peer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--url", help="a server to measure on")
    parser.add_argument("--peer", help="a Python in whose environment the peer is installed")
    parser.add_argument("--peer-module", default="harel", help="where the peer has its RedisStore")
    given = parser.parse_args()
    with servers(given.url) as urls:
        for url in urls:
            measure(url, given.steps, given.rounds, given.peer, given.peer_module)


if __name__ == "__main__":
    main()
