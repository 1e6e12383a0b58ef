"""Interruptions: actions that call back, processes that stop, answers that are lost, writers that meet."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cases.support import CASES, Start, machine

from harel import AsyncDurableRunner, DictStore, DurableRunner, Event, SqliteStore, Status, Stm, StoreConflict
from harel.stores.protocol import Store, all_executions
from harel.testing import FakeClock


class Stopped(BaseException):
    """The process is gone."""


class Wrapped:
    """A store whose named methods do something after they have done their work."""

    def __init__(self, inner: Store, methods: tuple[str, ...], afterwards: Callable[[], None]) -> None:
        self._inner = inner
        self._methods = methods
        self._afterwards = afterwards

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in self._methods:
            return method

        def wrapped(*args: Any, **options: Any) -> Any:
            result = method(*args, **options)
            self._afterwards()
            return result

        return wrapped


class TestAnActionThatCallsTheRunner:
    """For its own execution that is an error which says what to do; for another it works."""

    def test_for_its_own_execution(self, start: Start, store: Store) -> None:
        seen: list[str] = []

        def impatient(stm: Stm, event: Event) -> None:
            try:
                runner.process(stm.execution_id, Event("Next"))
            except RuntimeError as error:
                seen.append(str(error))
                raise

        runner = start("09-process-inside-an-action", "order", actions={"impatient": impatient})
        order = runner.create("order")
        runner.process(order.id, Event("Go"))
        order = store.load(order.id)

        assert len(seen) == 1
        assert order.id in seen[0]
        assert "stm.send" in seen[0]
        assert (order.status, order.active_path) == (Status.FAILED, "B")

    def test_for_another_execution(self, start: Start, store: Store) -> None:
        def impatient(stm: Stm, event: Event) -> None:
            if stm.execution_id != other.id:
                runner.process(other.id, Event("Go"))

        runner = start("09-process-inside-an-action", "order", actions={"impatient": impatient})
        order, other = runner.create("order"), runner.create("order")
        runner.process(order.id, Event("Go"))

        assert (store.load(order.id).active_path, store.load(other.id).active_path) == ("B", "B")

    def test_sending_instead_is_delivered_after_the_step(self, start: Start, store: Store) -> None:
        runner = start(
            "09-process-inside-an-action", "order", actions={"impatient": lambda stm, event: stm.send("Next")}
        )
        order = runner.create("order")
        runner.process(order.id, Event("Go"))

        assert store.load(order.id).outcome == "success"


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()], ids=repr)
def test_an_interrupt_in_an_action_is_no_action_error(start: Start, store: Store, interrupt: BaseException) -> None:
    pending = [interrupt]
    keys: list[str] = []

    def work(stm: Stm, event: Event) -> None:
        keys.append(stm.idempotency_key)
        if pending:
            raise pending.pop()

    runner = start("12-interrupt-in-an-action", "order", actions={"work": work})
    order = runner.create("order")
    with pytest.raises(type(interrupt)) as raised:
        runner.process(order.id, Event("Go", id="e1"))

    assert raised.value is interrupt
    assert (store.load(order.id).status, store.load(order.id).active_path) == (Status.RUNNING, "A")
    assert runner.process(order.id, Event("Go", id="e1")).active_path == "B"
    assert keys == [f"{order.id}:e1:0:work"] * 2


def test_a_commit_whose_answer_is_lost_is_done_once(start: Start, store: Store) -> None:
    lost = [ConnectionError("the server closed the connection")]

    def drop() -> None:
        if lost and armed:
            raise lost.pop()

    armed: list[bool] = []
    dropping = Wrapped(store, ("commit",), drop)
    runner = start("13-answer-lost-after-commit", "order", store=dropping)
    order = runner.create("order")
    armed.append(True)
    with suppress(ConnectionError):
        runner.process(order.id, Event("Pay", id="pay-1"))

    assert lost == []
    assert runner.process(order.id, Event("Pay", id="pay-1")).context["paid"] == 1
    assert runner.process(order.id, Event("Ship", id="ship-1")).outcome == "success"


def test_what_a_stopped_process_had_to_send_is_sent_by_the_next_sweep(start: Start, store: Store) -> None:
    armed: list[bool] = []

    def stop() -> None:
        if armed:
            raise Stopped

    machines = ("order", "payment")
    runner = start("14-outbox-after-a-crash", *machines, store=Wrapped(store, ("commit",), stop))
    order = runner.create("order")
    child = next(execution for execution in all_executions(store) if execution.parent_id == order.id)
    armed.append(True)
    with pytest.raises(Stopped):
        runner.process(child.id, Event("Ok"))

    assert store.load(child.id).status is Status.DONE
    assert store.load(order.id).active_path == "Paying"
    for _ in range(2):
        start("14-outbox-after-a-crash", *machines).fire_due_timers()
        assert (store.load(order.id).active_path, store.load(order.id).context["returns"]) == ("Paid", 1)
    assert store.pending_outbox() == []


RIVAL = """
import sys
from harel import DurableRunner, Event, SqliteStore, definition_from_dsl_file

source, database, order = sys.argv[1:]
machine = definition_from_dsl_file(source, "order", actions={"slow": print})
DurableRunner(SqliteStore(database), [machine], clock=lambda: 0.0).process(order, Event("Withdraw", id="w"))
"""


def test_a_writer_that_lost_the_race_never_approves_what_was_withdrawn(tmp_path: Path) -> None:
    database = str(tmp_path / "orders.db")
    keys: list[str] = []

    def slow(stm: Stm, event: Event) -> None:
        keys.append(stm.idempotency_key)
        if len(keys) == 1:  # meanwhile, in another process
            source = str(CASES / "15-lost-race" / "machine.stm")
            command = [sys.executable, "-c", RIVAL, source, database, stm.execution_id]
            subprocess.run(command, check=True, timeout=60)

    definition = machine("15-lost-race", "order", {"slow": slow})
    store = SqliteStore(database)
    runner = DurableRunner(store, [definition], clock=lambda: 0.0, actions={"slow": slow})
    order = runner.create("order")
    with suppress(StoreConflict):
        runner.process(order.id, Event("Approve", id="a"))
    ended = store.load(order.id)
    store.close()

    assert (ended.active_path, ended.outcome) == ("Withdrawn", "cancelled")
    assert set(keys) == {f"{order.id}:a:0:slow"}


@pytest.mark.parametrize("writes", range(1, 12))
def test_a_tree_cancelled_after_any_write_of_its_fork_leaves_nobody_alive(
    start: Start, store: Store, clock: FakeClock, writes: int
) -> None:
    left = [writes]

    def count() -> None:
        left[0] -= 1
        if not left[0]:
            raise Stopped

    machines = ("order", "payment")
    order = start("31-cancel-a-tree", *machines).create("order")
    stopping = Wrapped(store, ("commit", "create", "ack_spawn", "ack_outbox"), count)
    with suppress(Stopped):
        start("31-cancel-a-tree", *machines, store=stopping).process(order.id, Event("Go"))
    start("31-cancel-a-tree", *machines).cancel(order.id, "changed my mind")
    for now in (0.0, 60.0, 90.0, 1000.0):
        clock.now = now
        start("31-cancel-a-tree", *machines).fire_due_timers()
    tree = list(all_executions(store))

    assert store.load(order.id).status is Status.CANCELLED
    assert {execution.status for execution in tree} <= {Status.CANCELLED, Status.DONE}
    assert [execution.id for execution in tree if execution.outcome == "failed"] == []
    assert [timer for execution in tree for timer in store.timers(execution.id)] == []


class TestCoroutines:
    """One execution's events queue up, those of different executions overlap."""

    def test_twenty_tasks_for_one_execution_all_count(self) -> None:
        async def work(stm: Stm, event: Event) -> None:
            n = stm.execution_ctx["n"]
            for _ in range(3):
                await asyncio.sleep(0)
            stm.execution_ctx["n"] = n + 1

        async def main() -> int:
            definition = machine("36-two-coroutines", "order", {"work": work})
            store = DictStore()
            runner = AsyncDurableRunner(store, [definition], clock=lambda: 0.0, actions={"work": work})
            order = await runner.create("order")
            await asyncio.gather(*(runner.process(order.id, Event("Add", id=f"a-{i}")) for i in range(20)))
            return int(store.load(order.id).context["n"])

        assert asyncio.run(main()) == 20

    def test_twenty_executions_run_at_the_same_time(self) -> None:
        async def main() -> tuple[int, list[int]]:
            everybody = asyncio.Barrier(20)
            met = 0

            async def work(stm: Stm, event: Event) -> None:
                nonlocal met
                await asyncio.wait_for(everybody.wait(), 30)
                met += 1
                stm.execution_ctx["n"] += 1

            definition = machine("36-two-coroutines", "order", {"work": work})
            store = DictStore()
            runner = AsyncDurableRunner(store, [definition], clock=lambda: 0.0, actions={"work": work})
            orders = [(await runner.create("order")).id for _ in range(20)]
            await asyncio.gather(*(runner.process(order, Event("Add")) for order in orders))
            return met, [store.load(order).context["n"] for order in orders]

        assert asyncio.run(main()) == (20, [1] * 20)
