"""Whatever machine is written, and whatever happens to it, the promises of language.md section 5 hold."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from harel import (
    Definition,
    DictStore,
    DurableRunner,
    Event,
    Execution,
    ExecutionSuspended,
    Status,
    definition_from_dsl,
    validate,
)
from harel.stores.protocol import all_executions

from .machines import Machine, machines, steps

Steps = list[tuple[str, str, int]]


def note(stm: Any, event: Event) -> None:
    stm.execution_ctx.setdefault("notes", []).append(event.kind)


def count(stm: Any, event: Event) -> None:
    stm.execution_ctx["total"] = stm.execution_ctx.get("total", 0) + 1


def sometimes(stm: Any, event: Event) -> None:
    if event.data.get("n") == 3:
        raise ValueError("three is too much")


HANDLERS = {"note": note, "count": count, "sometimes": sometimes}


class World:
    """One store and clock; what happens to the execution `one`, with the invariants checked after each step."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.now = 0.0
        self.store = DictStore()
        self.has_fired = False
        self.runner = DurableRunner(self.store, [definition], clock=lambda: self.now, actions=HANDLERS)

    def live(self, steps: Steps) -> list[str]:
        """Every record there is at the end, as JSON."""
        self.runner.create("order", execution_id="one")
        self.check()
        for number, (verb, kind, amount) in enumerate(steps):
            self.step(number, verb, kind, amount)
            self.check()
        return [execution.to_json() for execution in all_executions(self.store)]

    def step(self, number: int, verb: str, kind: str, amount: int) -> None:
        if verb == "send":
            try:
                self.runner.process("one", Event(kind, {"n": amount}, f"e{number}"))
            except ExecutionSuspended:
                assert self.store.load("one").status is Status.SUSPENDED
        elif verb == "advance":
            self.now += amount
            self.has_fired = self.runner.fire_due_timers() > 0 or self.has_fired
        else:
            getattr(self.runner, verb)("one")

    def check(self) -> None:
        everyone = {execution.id: execution for execution in all_executions(self.store)}
        for execution in everyone.values():
            self.check_one(execution)
            if execution.status.ended:
                below = [other for other in everyone.values() if other.parent_id == execution.id]
                assert all(other.status.ended or other.status is Status.FAILED for other in below), (
                    "a live child is left"
                )
        assert not self.store.pending_spawns()
        assert all(everyone[m.target].status is Status.SUSPENDED for m in self.store.pending_outbox())

    def check_one(self, execution: Execution) -> None:
        definition = self.definition
        assert execution.active_path in definition.index
        armed = {timer.path: (timer.due, timer.arming) for timer in self.store.timers(execution.id)}
        assert armed == {path: (a.due, a.arming) for path, a in execution.timers.items()}, "index and record differ"
        if execution.status.ended or execution.status is Status.FAILED:
            assert not armed
            return
        active = definition.outwards(definition.index[execution.active_path])
        timed = {definition.paths[level] for level in active if definition.states[level].timeout is not None}
        timed = {path for path in timed if path.startswith(execution.region)}
        assert set(armed) <= timed
        assert self.has_fired or set(armed) == timed


def compiled(machine: Machine) -> Definition:
    errors = [issue for issue in validate(machine.text) if issue.is_error]
    assert not errors, f"{errors[0]}\n{machine.text}"
    return definition_from_dsl(machine.text, "order", actions=HANDLERS)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(machines(), steps)
def test_every_machine_keeps_the_promises(machine: Machine, steps: Steps) -> None:
    World(compiled(machine)).live(steps)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(machines(), steps)
def test_the_same_events_give_the_same_records(machine: Machine, steps: Steps) -> None:
    definition = compiled(machine)

    assert World(definition).live(steps) == World(definition).live(steps)
