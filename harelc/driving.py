"""The command `harelc run`: a machine driven in memory, one line per step (build.md section 1).

No code of the program runs: handlers only show their names, a selector picks its first branch, a guard that the program
binds holds. The clock begins at 0 and moves when told to.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harel import Definition, DictStore, DurableRunner, Event, Execution, Status
from harel.definition import with_inline
from harel.errors import HarelError
from harel.stores.protocol import TraceRow, all_executions

from . import console
from .given import all_machines, machine_of, sound

_ROOT = "main"
"""The id of the execution that is driven."""


def drive(file: Path, machine: str | None, events: Sequence[str], seed: str, advance: float) -> int:
    """Start the machine, send it the events, let time pass; the exit status is 1 where it ends `FAILED`.

    Raises:
        Refusal: the file has errors or no such machine, or the seed or an event is not what the machine takes.
    """
    given = sound(file)
    if given is None:
        return console.FINDINGS
    definition = machine_of(given, machine)
    if not 0 <= advance < math.inf:
        raise console.Refusal(f"--advance {advance}: a number of seconds, 0 or more")
    drive = _Drive(all_machines(given))
    try:
        drive.create(definition.id, _json_object(seed, "--seed"))
        for text in events:
            kind, _, data = text.partition(":")
            drive.send(Event(kind, _json_object(data or "{}", f"-e {kind}")))
        if advance:
            drive.advance(advance)
    except HarelError as error:
        raise console.Refusal(str(error)) from None
    return console.FINDINGS if drive.root().status is Status.FAILED else console.FINE


class _Drive:
    """One root execution, and what has been told of its steps and its children's."""

    def __init__(self, machines: tuple[Definition, ...]) -> None:
        self.now = 0.0
        self.store = DictStore()
        self.told: dict[str, int] = {}
        everything = tuple(with_inline(machines))
        actions = {name: _stand_in(label) for machine in everything for name, label in _handlers(machine)}
        guards = {name: _holds for machine in everything for name in machine.open_guards}
        self.runner = DurableRunner(
            self.store, machines, clock=lambda: self.now, actions=actions, guards=guards, trace=True
        )

    def root(self) -> Execution:
        return self.store.load(_ROOT)

    def create(self, machine: str, context: dict[str, Any]) -> None:
        self.runner.create(machine, context, execution_id=_ROOT)
        self._tell()

    def send(self, event: Event) -> None:
        self.runner.process(_ROOT, event)
        self._tell()

    def advance(self, seconds: float) -> None:
        """Deliver every timer that comes due meanwhile, each at its time, those armed on the way too."""
        end = self.now + seconds
        while True:
            due = [timer.due for execution in all_executions(self.store) for timer in self.store.timers(execution.id)]
            due += [execution.expires_at for execution in all_executions(self.store) if execution.expires_at]
            following = min((moment for moment in due if self.now < moment <= end), default=None)
            if following is None:
                break
            self.now = following
            self.runner.fire_due_timers()
            self._tell()
        self.now = end
        self.runner.fire_due_timers()
        self._tell()

    def _tell(self) -> None:
        for execution in all_executions(self.store):
            rows = self.store.read_trace(execution.id)
            for row in rows[self.told.get(execution.id, 0) :]:
                print(_line(execution, row))
            self.told[execution.id] = len(rows)


def _line(execution: Execution, row: TraceRow) -> str:
    parts = [f"{row['time']:g} s", execution.id, row["event"], f"{row['path_from'] or '-'} -> {row['path_to'] or '-'}"]
    if row["actions"]:
        parts.append(f"({', '.join(row['actions'])})")
    parts += [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in row["context"].items()]
    if execution.status is not Status.RUNNING:
        parts.append(execution.status.name)
        parts += [text for text in (execution.outcome, execution.error) if text]
    return "  ".join(parts)


def _handlers(machine: Definition) -> Iterator[tuple[str, str | None]]:
    """Every name that the machine calls, with the first branch where it selects one."""
    for call in machine.calls():
        yield call.name, None
    for transition in machine.transitions:
        if transition.selector:
            yield transition.selector.name, next((branch.test for branch in transition.branches if branch.test), None)


def _stand_in(label: str | None) -> Callable[..., str | None]:
    return lambda stm, event, **inputs: label


def _holds(context: object, data: object) -> bool:
    return True


def _json_object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise console.Refusal(f"{option}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise console.Refusal(f'{option}: a JSON object is needed, such as {{"amount": 4200}}')
    return value


