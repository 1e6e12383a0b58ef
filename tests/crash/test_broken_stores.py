"""The simulation finds what is broken: three stores, each with one write too many, and two actions that do not use
their key. The same scenarios with what is right pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from harel import DictStore, Event, Execution, definition_from_dsl
from harel.stores.protocol import Effects, Processed, Store
from harel.testing.crash import CrashFailure, OpenStore, Scenario, World, check_crashes, create, in_memory, send

from .scenarios import scenario


class InPieces(DictStore):
    """A backend that lets parts of a step be written by themselves."""

    def write_timers(self, execution_id: str, effects: Effects) -> None:
        self._arm(self._entries[execution_id], effects)

    def write_processed(self, execution_id: str, processed: Processed) -> None:
        self._entries[execution_id].processed[processed.event_id] = (processed.at, processed.number)


def pieces() -> OpenStore:
    store = InPieces()
    return lambda: store


class Layer:
    """A store over a backend; each broken one below replaces one method."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    def __getattr__(self, method: str) -> Any:
        return getattr(self.backend, method)


class AcknowledgesTooEarly(Layer):
    """A message leaves the outbox before the step that consumes it is written."""

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        for message_id in effects.acks:
            self.backend.ack_outbox(message_id)
        self.backend.commit(execution, expected_version, replace(effects, acks=()))


class TimersInASecondTransaction(Layer):
    """The record is written, then its timers."""

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        self.backend.commit(execution, expected_version, replace(effects, arms=(), cancels=()))
        self.backend.write_timers(execution.id, effects)


class DedupeAfterTheCommit(Layer):
    """The record is written, then the id of the event that it has consumed."""

    def commit(self, execution: Execution, expected_version: int, effects: Effects) -> None:
        self.backend.commit(execution, expected_version, replace(effects, processed=None))
        if effects.processed is not None:
            self.backend.write_processed(execution.id, effects.processed)


class Whole(Layer):
    """A layer that changes nothing."""


def on(layer: type[Layer], name: str) -> Scenario:
    return replace(scenario(name), database=pieces, layer=lambda store: cast(Store, layer(store)))


def found(broken: Scenario, **options: Any) -> str:
    with pytest.raises(CrashFailure) as failure:
        check_crashes(broken, **options)
    return str(failure.value)


def test_an_outbox_that_is_acknowledged_too_early_is_found() -> None:
    message = found(on(AcknowledgesTooEarly, "fork"))

    assert "(ack_outbox o-1:3:0)" in message
    assert "execution o-1: status: 'DONE' in peace, 'RUNNING' here" in message


def test_timers_in_a_second_transaction_are_found() -> None:
    message = found(on(TimersInASecondTransaction, "fork-times-out"))

    assert "execution o-1: status: 'DONE' in peace, 'RUNNING' here" in message


def test_dedupe_after_the_commit_is_found() -> None:
    message = found(on(DedupeAfterTheCommit, "deferred"))

    assert "(write_processed o-1)" in message or "(commit o-1)" in message
    assert "processed_count" in message


@pytest.mark.parametrize("name", ["fork", "fork-times-out", "deferred"])
def test_a_layer_that_writes_once_passes(name: str) -> None:
    assert check_crashes(on(Whole, name)) > 40


# --- actions

SHOP = """
event Pay {}
machine order { initial Cart  state Cart {}  final Paid success { on enter charge }  from Cart to Paid on Pay }
"""


class Bank:
    def __init__(self) -> None:
        self.charges: list[str] = []

    def charge(self, stm: Any, event: Event) -> None:
        self.charges.append(stm.execution_id)

    def charge_once(self, stm: Any, event: Event) -> None:
        if stm.idempotency_key not in self.charges:
            self.charges.append(stm.idempotency_key)


class Till:
    """Counts how often it was called, instead of asking its key."""

    def __init__(self) -> None:
        self.count = 0

    def charge(self, stm: Any, event: Event) -> None:
        self.count += 1
        stm.execution_ctx["receipt"] = self.count


def shop(world: World) -> Scenario:
    order = definition_from_dsl(SHOP, "order", actions={"charge": lambda stm, event: None})
    return Scenario("shop", [order], [create("order", id="o-1"), send("o-1", "Pay")], lambda: world, in_memory)


def charging(*, once: bool) -> Scenario:
    def world() -> World:
        bank = Bank()
        return World({"charge": bank.charge_once if once else bank.charge}, lambda: bank.charges)

    return replace(shop(World()), world=world)


def test_an_action_that_ignores_its_key_is_found() -> None:
    message = found(charging(once=False))

    assert message.splitlines()[1:] == [
        "  effects: ['o-1'] in peace, ['o-1', 'o-1'] here",
        "replay: run(scenario, parse_points('after 6'))",
    ]
    assert check_crashes(charging(once=True)) > 20


def test_an_action_that_counts_its_calls_is_found() -> None:
    def world() -> World:
        return World({"charge": Till().charge})

    message = found(replace(shop(World()), world=world))

    assert "execution o-1: context: {'receipt': 1} in peace, {'receipt': 2} here" in message


def test_a_step_that_raises_after_a_crash_is_found_too() -> None:
    lost = replace(shop(World()), steps=[create("order", id="o-1"), send("o-9", "Pay")])

    with pytest.raises(KeyError, match="o-9"):
        check_crashes(lost)
