"""`idempotent`: a handler that ran once is answered from its record (runtime.md sections 1 and 3).

The backends run on a real Redis and a real Postgres; all of them keep one contract.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from threading import Barrier
from typing import Any
from zlib import crc32

import pytest
from servers import needed, postgres_server, redis_server

from harel import (
    AsyncDurableRunner,
    Definition,
    DictIdempotency,
    DictStore,
    DurableRunner,
    Event,
    Execution,
    IdempotencyBackend,
    Status,
    Stm,
    StoreUnavailable,
    definition_from_dsl,
    idempotent,
)
from harel.draft import Draft
from harel.idempotency_postgres import PostgresIdempotency
from harel.idempotency_redis import RedisIdempotency

ORDER = """
event Pay {}

machine order {
  initial Cart
  state Cart {}
  final Paid success { on enter charge  on enter thank }
  from Cart to Paid on Pay
}
"""

PAY = Event("Pay", id="pay-1")


class PowerCut(BaseException):
    """The process dies here."""


class Shop:
    """Charges once; `thank` dies as often as a test says, so that the step is tried again."""

    def __init__(self, deaths: int) -> None:
        self.charged: list[str] = []
        self.deaths = deaths

    def charge(self, stm: Stm, event: Event) -> str:
        self.charged.append(stm.idempotency_key)
        stm.execution_ctx["charge_id"] = f"ch_{len(self.charged)}"
        return "charged"

    def thank(self, stm: Stm, event: Event) -> None:
        if self.deaths:
            self.deaths -= 1
            raise PowerCut


def test_an_attempt_after_a_crash_is_answered_from_the_record() -> None:
    store, records, shop = DictStore(), DictIdempotency(), Shop(deaths=2)
    actions = {"charge": idempotent(records)(shop.charge), "thank": shop.thank}
    machine = definition_from_dsl(ORDER, actions=actions)
    order = DurableRunner(store, [machine]).create("order", execution_id="o-1")
    for _ in range(2):
        with pytest.raises(PowerCut):
            DurableRunner(store, [machine]).process(order.id, PAY)
    paid = DurableRunner(store, [machine]).process(order.id, PAY)

    assert paid.status is Status.DONE
    assert shop.charged == ["o-1:pay-1:0:charge"]
    assert paid.context == {"charge_id": "ch_1"}


def test_an_async_handler_is_remembered_too() -> None:
    shop, records = Shop(deaths=1), DictIdempotency()

    @idempotent(records)
    async def charge(stm: Stm, event: Event) -> str:
        await asyncio.sleep(0)
        return shop.charge(stm, event)

    async def scenario() -> Execution:
        machine = definition_from_dsl(ORDER, actions={"charge": charge, "thank": shop.thank})
        runner = AsyncDurableRunner(DictStore(), [machine])
        order = await runner.create("order", execution_id="o-1")
        with pytest.raises(PowerCut):
            await runner.process(order.id, PAY)
        return await runner.process(order.id, PAY)

    paid = asyncio.run(scenario())

    assert shop.charged == ["o-1:pay-1:0:charge"]
    assert paid.context == {"charge_id": "ch_1"}


# --- the decorator by itself

MACHINE = Definition(id="order", version=1, digest="", states=(("", -1, "machine"),))


def a_call(context: dict[str, Any] | None = None, step: str = "pay-1") -> Stm:
    execution = Execution("o-1", "order", context=context if context is not None else {})
    return Stm(Draft(execution, 0.0, "Pay", step), MACHINE, step, 0, "charge")


def test_another_step_is_another_call() -> None:
    calls: list[str] = []

    @idempotent(DictIdempotency())
    def charge(stm: Stm, event: Event, *, amount: int) -> dict[str, Any]:
        calls.append(stm.idempotency_key)
        return {"amount": amount, "number": len(calls)}

    assert charge(a_call(step="pay-1"), PAY, amount=5) == {"amount": 5, "number": 1}
    assert charge(a_call(step="pay-1"), PAY, amount=5) == {"amount": 5, "number": 1}
    assert charge(a_call(step="pay-2"), PAY, amount=5) == {"amount": 5, "number": 2}


def test_what_the_handler_did_to_the_context_is_done_again() -> None:
    @idempotent(DictIdempotency())
    def charge(stm: Stm, event: Event) -> None:
        stm.execution_ctx["flag"] = True
        stm.execution_ctx["items"].append("receipt")
        del stm.execution_ctx["note"]

    contexts = [{"flag": 1, "items": ["shoe"], "note": "x", "other": 1} for _ in range(2)]
    for context in contexts:
        charge(a_call(context), PAY)

    assert contexts == [{"flag": True, "items": ["shoe", "receipt"], "other": 1}] * 2
    assert contexts[1]["flag"] is True


def test_a_handler_that_raises_leaves_no_record() -> None:
    records, answers = DictIdempotency(), [ValueError("declined"), None]

    @idempotent(records)
    def charge(stm: Stm, event: Event) -> str:
        answer = answers.pop(0)
        if answer:
            raise answer
        return "charged"

    with pytest.raises(ValueError, match="declined"):
        charge(a_call(), PAY)

    assert charge(a_call(), PAY) == "charged"


def test_what_is_no_json_cannot_be_recorded() -> None:
    records = DictIdempotency()

    @idempotent(records)
    def charge(stm: Stm, event: Event) -> object:
        return {"ids": {1, 2}}

    with pytest.raises(TypeError, match=r"charge has run and cannot be recorded: the result.ids: set is not a JSON"):
        charge(a_call(), PAY)

    assert records.get("o-1:pay-1:0:charge") is None


def test_the_decorated_handler_keeps_its_name_and_its_kind() -> None:
    @idempotent(DictIdempotency())
    async def charge(stm: Stm, event: Event) -> None:
        """Charges the card."""

    assert (charge.__name__, charge.__doc__) == ("charge", "Charges the card.")
    assert asyncio.iscoroutinefunction(charge)


# --- backends


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres_server() as url:
        yield url


Open = Callable[[], IdempotencyBackend]


@pytest.fixture(params=["dict", "redis", "redis-client", "postgres", "postgres-connection", "postgres-pool"])
def open_backend(request: pytest.FixtureRequest) -> Iterator[Open]:
    """The factory of clients of one place for records, which is empty at first."""
    prefix = f"t{crc32(request.node.name.encode())}"
    if request.param == "dict":
        kept = DictIdempotency()
        yield lambda: kept
        return
    if request.param.startswith("redis"):
        url = request.getfixturevalue("redis_url")
        redis = needed("redis", "redis")
        with redis.Redis.from_url(url, decode_responses=True) as client:
            given = client if request.param == "redis-client" else url
            yield lambda: RedisIdempotency(given, prefix=prefix)
        return
    url = request.getfixturevalue("postgres_url")
    if request.param == "postgres":
        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(PostgresIdempotency(url, prefix=prefix)))
    elif request.param == "postgres-connection":
        with needed("psycopg", "psycopg[binary]").connect(url, autocommit=True) as connection:
            records = PostgresIdempotency(connection, prefix=prefix)
            yield lambda: records
    else:
        with needed("psycopg_pool", "psycopg-pool").ConnectionPool(url, min_size=1, max_size=4, open=True) as pool:
            yield lambda: PostgresIdempotency(pool, prefix=prefix)


def test_a_key_without_a_record_has_none(open_backend: Open) -> None:
    assert open_backend().get("o-1:pay-1:0:charge") is None


def test_the_first_record_of_a_key_stays(open_backend: Open) -> None:
    assert open_backend().put("o-1:pay-1:0:charge", '{"result": "é😀"}') == '{"result": "é😀"}'
    assert open_backend().put("o-1:pay-1:0:charge", '{"result": 2}') == '{"result": "é😀"}'

    assert open_backend().get("o-1:pay-1:0:charge") == '{"result": "é😀"}'
    assert open_backend().get("o-1:pay-1:1:charge") is None


def test_of_many_that_put_at_once_one_wins_and_all_get_its_record(open_backend: Open) -> None:
    start = Barrier(8)

    def put(number: int) -> str:
        backend = open_backend()
        start.wait(10)
        return backend.put("o-1:pay-1:0:charge", str(number))

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(put, range(8)))

    assert answers == {open_backend().get("o-1:pay-1:0:charge")}


# --- Redis


def test_a_redis_record_goes_after_its_time(redis_url: str) -> None:
    redis = needed("redis", "redis")
    with redis.Redis.from_url(redis_url) as client:
        RedisIdempotency(client, prefix="kept", keep=90.0).put("k", "1")

        assert 0 < client.pttl("kept:idempotency:k") <= 90_000


def test_a_redis_url_that_cannot_be_read_is_shown_without_its_password(redis_url: str) -> None:
    with pytest.raises(ValueError, match=r"^redis://app:\*\*\*@cache/0 is no Redis URL") as caught:
        RedisIdempotency("redis://app:s3/cret@cache/0")

    assert "s3" not in str(caught.value)


def test_records_are_not_kept_for_no_time() -> None:
    with pytest.raises(ValueError, match="keep is 0; it is a number of seconds above 0"):
        RedisIdempotency("redis://cache", keep=0)


# --- Postgres


def test_a_postgres_record_is_part_of_the_callers_transaction(postgres_url: str) -> None:
    psycopg = needed("psycopg", "psycopg[binary]")
    with psycopg.connect(postgres_url) as connection:
        records = PostgresIdempotency(connection, prefix="joined")
        connection.execute("CREATE TABLE shipments (parcel text)")
        records.put("k", "rolled back")
        connection.rollback()
        assert records.get("k") is None

        connection.execute("CREATE TABLE shipments (parcel text)")
        records.put("k", "kept")
        connection.commit()
        assert records.get("k") == "kept"


def test_a_connection_that_broke_is_opened_again(postgres_url: str) -> None:
    psycopg = needed("psycopg", "psycopg[binary]")
    with closing(PostgresIdempotency(postgres_url, prefix="broken")) as records:
        records.put("k", "1")
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        with pytest.raises(psycopg.OperationalError):
            records.get("k")

        assert records.get("k") == "1"


def test_old_postgres_records_can_be_forgotten(postgres_url: str) -> None:
    with closing(PostgresIdempotency(postgres_url, prefix="old")) as records:
        records.put("k", "1")

        assert records.forget(older_than=3600.0) == 0
        assert records.forget(older_than=0.0) == 1
        assert records.get("k") is None


def test_a_postgres_that_is_not_there_is_named_without_its_password() -> None:
    needed("psycopg", "psycopg[binary]")
    records = PostgresIdempotency("postgresql://app:s3cret@127.0.0.1:1/shop")
    with pytest.raises(StoreUnavailable, match=r"postgresql://app:\*\*\*@127.0.0.1:1/shop cannot be reached") as caught:
        records.get("k")

    assert "s3cret" not in str(caught.value)


def test_a_library_that_is_missing_is_named_with_its_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'harel-runtime\[redis\]'"):
        RedisIdempotency("redis://cache")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'harel-runtime\[postgres\]'"):
        PostgresIdempotency("postgresql://db")
