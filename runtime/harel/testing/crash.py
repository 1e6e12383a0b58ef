"""Crash simulation: a scenario is stopped at any of its calls, started again, and must end like the calm run
(runtime.md section 4, design.md "Crash simulation first").

A scenario says what clients do, step by step. It is run once in peace, which counts its calls of the store and of
actions. Then it is run again and again with the process stopped before or after one of these calls, or with the store
failing there; what is left is the database and the world outside. A fresh runner takes over, and the client repeats
the step that was cut short: the same execution id, the same event id, the same command.

It uses the runner and the store's protocol only, and needs no pytest.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal, cast

from harel.aio import AsyncDurableRunner
from harel.definition import Definition, with_inline
from harel.errors import ExecutionNotFound, StoreUnavailable
from harel.event import Event
from harel.handlers import Handler, import_handler
from harel.published import publish_definitions
from harel.runner import DurableRunner
from harel.stores.memory import DictStore
from harel.stores.protocol import Store, all_executions
from harel.stores.sqlite import SqliteStore

from .clock import FakeClock

Moment = Literal["before", "after", "refused", "lost"]
"""When a call goes wrong. `before`, `after`: the process stops. `refused`: the store raises `StoreUnavailable` and has
done nothing; `lost`: it has done its work and raises all the same."""

MOMENTS: tuple[Moment, ...] = ("before", "after", "refused", "lost")

OpenStore = Callable[[], Store]
"""Opens the database of one run, as each new process does."""

FOREVER = 1e15
"""A time after every timer, in epoch seconds."""


class SimulatedCrash(BaseException):
    """The process is gone. No `Exception`: nothing in between may catch it and go on."""


class CrashFailure(AssertionError):
    """A run with crashes did not end like the calm one; the message says where they differ and how to replay it."""


# --- what a scenario is made of


@dataclass(frozen=True, slots=True)
class World:
    """What survives every crash besides the database: the services that actions talk to, new for each run.

    Attributes:
        actions: functions for handler names, as `DurableRunner(actions=…)` takes them.
        effects: what the services have seen, as a value that can be compared. An effect that is asked for twice with
            one `stm.idempotency_key` must show once: that is what the key is for.
    """

    actions: Mapping[str, Handler] = field(default_factory=dict)
    effects: Callable[[], object] = lambda: None


@dataclass(slots=True)
class Process:
    """The process that a step runs in: its runner and store, and what it shares with those after it.

    Attributes:
        runner: an `AsyncDurableRunner` where the scenario says so.
        store: calls of it are counted, and may crash.
        actions: the world's functions, counted.
        clock: the scenario's clock, for all processes.
        step: the number of the step, from 1.
        definitions: what the next process loads; a step may replace it.
    """

    runner: DurableRunner | AsyncDurableRunner
    store: Store
    actions: Mapping[str, Handler]
    clock: FakeClock
    step: int
    definitions: Sequence[Definition]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a client does; a coroutine it returns is run to its end.

    Attributes:
        do: the call. It is repeated as a whole if it was cut short.
        done: errors that tell a client who repeats the call that it took effect the first time.
        restart: the next step runs in a new process.
    """

    do: Callable[[Process], object]
    done: tuple[type[Exception], ...] = ()
    restart: bool = False


def create(machine: str, context: Mapping[str, Any] | None = None, *, id: str, **options: Any) -> Step:
    """Start an execution; a repeat finds the one that is there. `options` are those of `DurableRunner.create`."""
    return Step(lambda p: p.runner.create(machine, context, execution_id=id, exist_ok=True, **options))


def send(execution_id: str, kind: str, data: Mapping[str, Any] | None = None, *, id: str | None = None) -> Step:
    """Send an event; without an id it has one of the step's own, the same in every repeat."""
    return Step(lambda p: p.runner.process(execution_id, Event(kind, data, id or f"step-{p.step}")))


def sweep() -> Step:
    """Fire the timers that are due."""
    return Step(lambda p: p.runner.fire_due_timers())


def advance(seconds: float) -> Step:
    """Let time pass."""
    return Step(lambda p: p.clock.advance(seconds))


def cancel(execution_id: str, reason: str | None = None) -> Step:
    """Cancel an execution."""
    return Step(lambda p: p.runner.cancel(execution_id, reason))


def terminate(execution_id: str) -> Step:
    """Terminate an execution."""
    return Step(lambda p: p.runner.terminate(execution_id))


def suspend(execution_id: str) -> Step:
    """Suspend an execution."""
    return Step(lambda p: p.runner.suspend(execution_id))


def resume(execution_id: str) -> Step:
    """Resume an execution."""
    return Step(lambda p: p.runner.resume(execution_id))


def redrive(execution_id: str, target_path: str) -> Step:
    """Redrive a dead letter; a repeat may find that it is none any more (`ValueError`)."""
    return Step(lambda p: p.runner.redrive(execution_id, target_path), done=(ValueError,))


def purge(execution_id: str, archive: str | None = None) -> Step:
    """Purge a finished tree, archived by the action of the world that `archive` names; a repeat may find it gone."""
    return Step(
        lambda p: p.runner.purge(execution_id, None if archive is None else p.actions[archive]),
        done=(ExecutionNotFound,),
    )


def publish(*definitions: Definition) -> Step:
    """Publish machine versions in the store."""
    return Step(lambda p: publish_definitions(p.store, definitions))


def deploy(*definitions: Definition) -> Step:
    """Go on with a program that has these machines instead."""

    def replace(process: Process) -> None:
        process.definitions = definitions

    return Step(replace, restart=True)


def in_memory() -> OpenStore:
    """A database in memory for one run."""
    store = DictStore()
    return lambda: store


def in_files(folder: Path) -> Callable[[], OpenStore]:
    """SQLite databases in a folder, a file for each run. Nothing is synced: it is processes that stop, not power."""
    numbers = count(1)

    def database() -> OpenStore:
        path = folder / f"run-{next(numbers)}.db"
        return lambda: SqliteStore(path, synchronous="OFF")

    return database


@dataclass(frozen=True, slots=True)
class Scenario:
    """What clients do, and with what.

    Attributes:
        name: for messages.
        definitions: the machines of the first process.
        steps: what happens, in order.
        world: makes the world of a run.
        database: makes the database of a run.
        layer: what stands between runner and store, for a store that makes several writes of one: a crash may come
            between two calls of what it wraps.
        runner: `DurableRunner` or `AsyncDurableRunner`.
        options: further arguments for the runner. The trace is always on: it is compared too.
    """

    name: str
    definitions: Sequence[Definition]
    steps: Sequence[Step]
    world: Callable[[], World] = World
    database: Callable[[], OpenStore] = in_memory
    layer: Callable[[Store], Store] = lambda store: store
    runner: type[DurableRunner] | type[AsyncDurableRunner] = DurableRunner
    options: Mapping[str, Any] = field(default_factory=dict)


# --- where it goes wrong


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A call, by its number in the run (from 1, counted on over restarts), and how it goes wrong."""

    number: int
    moment: Moment

    def __str__(self) -> str:
        return f"{self.moment} {self.number}"


def parse_points(text: str) -> tuple[CrashPoint, ...]:
    """The points of a text like `after 7, lost 12`. Raises `ValueError`."""
    points = []
    for part in filter(None, map(str.strip, text.split(","))):
        moment, _, number = part.partition(" ")
        if moment not in MOMENTS or not number.isdecimal():
            raise ValueError(f"{part!r} is no crash point; one is {', '.join(MOMENTS)} and a number, as `after 7`")
        points.append(CrashPoint(int(number), moment))
    return tuple(points)


class _Calls:
    """The calls of one run over all its processes, and which of them go wrong."""

    def __init__(self, points: Iterable[CrashPoint]) -> None:
        self.names: list[str] = []
        self.steps: list[int] = []
        self.step = 0
        self.met: list[CrashPoint] = []
        self.keys: dict[str, str] = {}
        self._points = set(points)
        self._stopped = False

    def restart(self) -> None:
        self._stopped = False

    def begin(self, name: str) -> int:
        """Number a call that is about to be made."""
        if self._stopped:
            raise SimulatedCrash  # a process that is gone calls nothing any more
        self.names.append(name)
        self.steps.append(self.step)
        number = len(self.names)
        self._stop(number, "before")
        return number

    def end(self, number: int) -> None:
        self._stop(number, "after")

    def _stop(self, number: int, moment: Moment) -> None:
        if self._meets(number, moment):
            self._stopped = True
            raise SimulatedCrash(f"{moment} {number} {self.names[number - 1]}")

    def fail(self, number: int, moment: Moment) -> None:
        if self._meets(number, moment):
            raise StoreUnavailable(f"simulated: {moment} {number} {self.names[number - 1]}")

    def _meets(self, number: int, moment: Moment) -> bool:
        point = CrashPoint(number, moment)
        if point not in self._points:
            return False
        self.met.append(point)
        return True


class _CountedStore:
    """A store whose every call is counted and may go wrong; what is no method of the protocol is counted as well."""

    def __init__(self, store: Store, calls: _Calls) -> None:
        self._store = store
        self._calls = calls

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            subject = getattr(args[0], "id", args[0]) if args else ""
            number = self._calls.begin(f"{method} {subject}".strip())
            self._calls.fail(number, "refused")
            result = getattr(self._store, method)(*args, **options)
            self._calls.fail(number, "lost")
            self._calls.end(number)
            return result

        return call


def _counted(name: str, action: Handler, calls: _Calls) -> Handler:
    """An action whose calls are counted, with their idempotency keys, and may be cut short."""

    def begin(args: tuple[Any, ...]) -> int:
        number = calls.begin(f"action {name}")
        key = getattr(args[0], "idempotency_key", None) if args else None
        if key is not None:
            calls.keys[key] = name
        return number

    if inspect.iscoroutinefunction(action):

        @functools.wraps(action)
        async def acall(*args: Any, **inputs: Any) -> Any:
            number = begin(args)
            result = await action(*args, **inputs)
            calls.end(number)
            return result

        return acall

    @functools.wraps(action)
    def call(*args: Any, **inputs: Any) -> Any:
        number = begin(args)
        result = action(*args, **inputs)
        calls.end(number)
        return result

    return call


# --- one run


@dataclass(frozen=True, slots=True)
class Run:
    """How a run went.

    Attributes:
        end: what there is at the end, by name: see `end_state`.
        calls: every call that was made, by number less one: `commit o-1`, `action charge`.
        steps: the number of the step that made each of them.
        met: the crash points that were reached.
    """

    end: Mapping[str, object]
    calls: tuple[str, ...]
    steps: tuple[int, ...]
    met: tuple[CrashPoint, ...]


def run(scenario: Scenario, points: Iterable[CrashPoint] = ()) -> Run:
    """Run a scenario once, with these crashes. What a step raises for other reasons is passed on."""
    session = _Session(scenario, points)
    for number, step in enumerate(scenario.steps, 1):
        session.perform(number, step)
    return session.finished()


class _Session:
    """The processes of one run, one after the other."""

    def __init__(self, scenario: Scenario, points: Iterable[CrashPoint]) -> None:
        self._scenario = scenario
        self._calls = _Calls(points)
        self._open = scenario.database()
        self._world = scenario.world()
        self._clock = FakeClock()
        self._store = self._open()
        self._process = self._started(scenario.definitions)

    def _started(self, definitions: Sequence[Definition]) -> Process:
        counted = cast(Store, _CountedStore(self._store, self._calls))
        store = self._scenario.layer(counted)
        actions = {name: _counted(name, action, self._calls) for name, action in self._world.actions.items()}
        runner = self._scenario.runner(
            store, [self._rebound(definition) for definition in definitions], clock=self._clock, trace=True,
            actions=actions, resolver=lambda path: _counted(path, import_handler(path), self._calls),
            **self._scenario.options,
        )  # fmt: skip
        return Process(runner, store, actions, self._clock, 0, definitions)

    def _rebound(self, definition: Definition) -> Definition:
        """The definition with the handlers bound to it counted."""
        bound = {name: action for machine in with_inline([definition]) for name, action in machine.actions.items()}
        return definition.bound({name: _counted(name, action, self._calls) for name, action in bound.items()})

    def perform(self, number: int, step: Step) -> None:
        """Do a step, again and again until it goes through: each crash point is met once."""
        repeated = False
        self._calls.step = number
        while True:
            self._process.step = number
            try:
                result = step.do(self._process)
                if inspect.iscoroutine(result):
                    asyncio.run(result)
                break
            except SimulatedCrash:
                self._restart()
            except StoreUnavailable:
                if not self._calls.met:
                    raise
            except step.done:
                if not repeated:
                    raise
                break
            repeated = True
        if step.restart:
            self._restart()

    def _restart(self) -> None:
        self._store.close()
        self._store = self._open()
        self._calls.restart()
        self._process = self._started(self._process.definitions)

    def finished(self) -> Run:
        end = {
            **end_state(self._store),
            "idempotency keys": sorted(self._calls.keys),
            "effects": self._world.effects(),
        }
        self._store.close()
        return Run(end, tuple(self._calls.names), tuple(self._calls.steps), tuple(self._calls.met))


def end_state(store: Store) -> dict[str, object]:
    """Everything that a store holds, in a form to compare: each record whole, its armed timers, its trace and
    which of the traced events it remembers as consumed; the due index; what waits in the outbox; published versions.
    """
    state: dict[str, object] = {}
    for execution in all_executions(store):
        id = execution.id
        rows = store.read_trace(id)
        state[f"execution {id}"] = json.loads(execution.to_json())
        state[f"timers of {id}"] = store.timers(id)
        state[f"trace of {id}"] = rows
        state[f"consumed by {id}"] = [row["event_id"] for row in rows if store.is_processed(id, row["event_id"])]
    state["due"] = store.due_timers(FOREVER, 1_000_000)
    state["outbox"] = store.pending_outbox(1_000_000)
    state["children to start"] = store.pending_spawns(1_000_000)
    state["published"] = store.list_definitions()
    return state


# --- many runs


def points_of(calm: Run, *, after: int = 0, moments: Sequence[Moment] = MOMENTS) -> Iterator[CrashPoint]:
    """Every crash point of a run's calls from the number `after` + 1 on; only a store can be out of reach."""
    for number, name in enumerate(calm.calls[after:], after + 1):
        for moment in moments:
            if moment in ("before", "after") or not name.startswith("action "):
                yield CrashPoint(number, moment)


def _is_a_stop_of_its_own(run: Run, point: CrashPoint) -> bool:
    """Whether no other point leaves the same: before a call is where one stands after the one before in its step."""
    first = point.number == 1 or run.steps[point.number - 1] != run.steps[point.number - 2]
    return point.moment != "before" or first


def check_crashes(scenario: Scenario, *, together: int = 1, moments: Sequence[Moment] = MOMENTS) -> int:
    """Run a scenario with every choice of up to so many crashes in one run; the number of runs.

    The cost grows with the calls to the power of `together`: two for small scenarios, one for the others. With more
    than one, points between the same two calls of a step are one.

    Raises:
        CrashFailure: the first run that does not end like the calm one.
    """
    calm = run(scenario)
    return 1 + _check_further(scenario, calm, (), calm, (together, together > 1), moments)


def _check_further(
    scenario: Scenario,
    calm: Run,
    points: tuple[CrashPoint, ...],
    last: Run,
    how: tuple[int, bool],
    moments: Sequence[Moment],
) -> int:
    runs, (further, once) = 0, how
    for point in points_of(last, after=points[-1].number if points else 0, moments=moments):
        if once and not _is_a_stop_of_its_own(last, point):
            continue
        crashed = compared(scenario, calm, (*points, point))
        runs += 1
        if further > 1:
            runs += _check_further(scenario, calm, (*points, point), crashed, (further - 1, once), moments)
    return runs


def check_random_crashes(scenario: Scenario, *, runs: int, seed: int = 0, most: int = 5) -> None:
    """Run a scenario so many times, each with 2 to `most` crashes at random; the same seed, the same crashes.

    Raises:
        CrashFailure: the first run that does not end like the calm one.
    """
    calm = run(scenario)
    chance = random.Random(seed)
    points = list(points_of(calm))
    for _ in range(runs):
        chosen = chance.sample(points, min(len(points), chance.randint(2, most)))
        compared(scenario, calm, sorted(chosen, key=lambda point: point.number))


def compared(scenario: Scenario, calm: Run, points: Sequence[CrashPoint]) -> Run:
    """Run a scenario with these crashes. Raises `CrashFailure` if it does not end like the calm run."""
    text = ", ".join(map(str, points))
    replay = f"replay: run(scenario, parse_points({text!r}))"
    try:
        crashed = run(scenario, points)
    except Exception as error:
        raised = f"a step raised {type(error).__name__}: {error}"
        raise CrashFailure(f"scenario {scenario.name}: {raised}\n{replay}") from error
    found = list(differences(calm.end, crashed.end))
    if found:
        met = [f"{point} ({crashed.calls[point.number - 1]})" for point in crashed.met]
        raise CrashFailure("\n".join([f"scenario {scenario.name}: crashes {', '.join(met)}", *found, replay]))
    return crashed


def differences(calm: Mapping[str, object], crashed: Mapping[str, object]) -> Iterator[str]:
    """Where two ends differ, one line each."""
    missing = "nothing"
    for name in dict.fromkeys((*calm, *crashed)):
        before, after = calm.get(name, missing), crashed.get(name, missing)
        if isinstance(before, dict) and isinstance(after, dict):
            for key in dict.fromkeys((*before, *after)):
                if before.get(key, missing) != after.get(key, missing):
                    yield f"  {name}: {key}: {before.get(key, missing)!r} in peace, {after.get(key, missing)!r} here"
        elif before != after:
            yield f"  {name}: {before!r} in peace, {after!r} here"
