"""What the language means, case by case: `behaviour/*.json`, each case in every way a machine can be run.

A case is data: sources, steps and what holds after each step. It runs from the text and from the generated modules,
in memory and on SQLite with a new runner before every step, and under asyncio; all must agree (language.md section 5).
"""

from __future__ import annotations

import asyncio
import builtins
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Protocol, cast

import pytest

import harel
from harel import (
    AsyncDurableRunner,
    Definition,
    DictStore,
    DurableRunner,
    Event,
    Execution,
    SqliteStore,
    Stm,
    definition_from_dsl,
    definition_from_dsl_file,
)
from harel.stores.protocol import Store, all_executions
from harel.testing import FakeClock
from harel.values import same
from harelc.emit import emit_module
from harelc.reading import read_source
from harelc.syntax import parse
from harelc.tree import Machine

Case = Mapping[str, Any]
Expected = Mapping[str, Any]
Handlers = Mapping[str, Callable[..., Any]]

BEHAVIOUR = Path(__file__).parent / "behaviour"
CASES: Mapping[str, Case] = {
    f"{file.stem}/{case['name']}": case
    for file in sorted(BEHAVIOUR.glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))
}

CORRECTIONS: Mapping[str, Mapping[int, Expected]] = {
    # `Second` has no transitions, so it is a terminal and `Review` becomes active (language.md section 5.6)
    "02-lookup/dotted-target-lands-inside": {1: {"active_path": "Review"}},
}
"""What a case should expect of a step, where the language page says otherwise than the case does."""


# --- handlers


def handlers_of(case: Case, log: list[str]) -> Handlers:
    """The handlers that every case may call, and the case's own, which log their names."""

    def note(stm: Stm, event: Event, text: str) -> None:
        log.append(text)

    def put(stm: Stm, event: Event, key: str, value: Any) -> None:
        stm.execution_ctx[key] = value

    def count(stm: Stm, event: Event, key: str) -> None:
        stm.execution_ctx[key] = stm.execution_ctx.get(key, 0) + 1

    def pick(stm: Stm, event: Event, value: Any = None) -> Any:
        return value

    def pick_context(stm: Stm, event: Event, key: str) -> Any:
        return stm.execution_ctx[key]

    def saw(stm: Stm, event: Event, key: str) -> None:
        log.append(f"{event.kind}:{event.data.get(key, '-')}")

    def fail(stm: Stm, event: Event, message: str) -> None:
        log.append("fail")
        raise ValueError(message)

    def fail_while(stm: Stm, event: Event, key: str) -> None:
        log.append("fail_while")
        if stm.execution_ctx.get(key):
            raise ValueError(key)

    common = (note, put, count, pick, pick_context, saw, fail, fail_while)
    own = {name: logging_handler(name, log) for name in case["handlers"]}
    return {**{handler.__name__: handler for handler in common}, **own}


def logging_handler(name: str, log: list[str]) -> Callable[[Stm, Event], None]:
    def handler(stm: Stm, event: Event) -> None:
        log.append(name)
        if name.endswith("_fails"):
            raise ValueError(name)

    return handler


# --- from sources to definitions


@cache
def from_text(name: str) -> tuple[Definition, ...]:
    """The machines of a case, read by `definition_from_dsl`."""
    case = CASES[name]
    actions = handlers_of(case, [])
    with sources(case) as folder:
        return tuple(
            (
                definition_from_dsl(
                    (folder / file).read_text(encoding="utf-8"), machine, base_path=folder, actions=actions
                )
                if file == "main.stm"
                else definition_from_dsl_file(folder / file, machine, actions=actions)
            )
            for file, machine in machines_of(case, folder)
        )


@cache
def modules(name: str) -> tuple[Mapping[str, Any], ...]:
    """The generated modules of a case's machines, imported: the names that each defines."""
    return tuple(imported(emit_module(machine, source_name="main.stm")) for machine in from_text(name))


def imported(text: str) -> Mapping[str, Any]:
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, "generated.py", "exec"), names)
    return names


@contextmanager
def sources(case: Case) -> Iterator[Path]:
    """A folder with the files of a case."""
    with TemporaryDirectory() as name:
        for file, lines in case["files"].items():
            target = Path(name) / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield Path(name)


def machines_of(case: Case, folder: Path) -> list[tuple[str, str]]:
    """The (file, machine) pairs to load: all that the case's files declare, or those that it lists."""
    if "machines" in case:
        return [(file, machine) for file, machine in case["machines"]]
    trees = {file: parse(read_source(folder / file, file))[0] for file in case["files"]}
    return [(file, item.name.text) for file, tree in trees.items() for item in tree.items if isinstance(item, Machine)]


# --- ways to run


def text_with_actions(name: str, actions: Handlers) -> tuple[Sequence[Definition], Handlers | None]:
    """The definitions of the text, and the handlers for the runner to bind."""
    return from_text(name), actions


def modules_with_bind(name: str, actions: Handlers) -> tuple[Sequence[Definition], Handlers | None]:
    """The definitions of the generated modules, each bound by its own `bind`; nothing is left for the runner."""
    return [module["bind"](SimpleNamespace(**actions)) for module in modules(name)], None


class Runner(Protocol):
    """What a case asks of a runner."""

    def create(self, definition_id: str, context: Mapping[str, Any] | None = None) -> Execution: ...
    def process(self, execution_id: str, event: Event) -> Execution: ...
    def fire_due_timers(self) -> int: ...
    def cancel(self, execution_id: str) -> Execution: ...
    def suspend(self, execution_id: str) -> Execution: ...
    def resume(self, execution_id: str) -> Execution: ...
    def terminate(self, execution_id: str) -> Execution: ...
    def redrive(self, execution_id: str, target_path: str) -> Execution: ...


class Awaited:
    """An `AsyncDurableRunner` whose every call runs to its end in an event loop of its own."""

    def __init__(self, runner: AsyncDurableRunner) -> None:
        self._runner = runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._runner, name)
        return lambda *args: asyncio.run(method(*args))


@dataclass(frozen=True, slots=True)
class Way:
    """How a case is run: where its machines come from, on which store, by which runner, and whether each step finds a
    new process: a new runner on a new connection.
    """

    name: str
    machines: Callable[[str, Handlers], tuple[Sequence[Definition], Handlers | None]]
    open_store: Callable[[Path], Store]
    make_runner: Callable[..., Runner]
    restarts: bool

    def __str__(self) -> str:
        return self.name


def in_memory(folder: Path) -> Store:
    return DictStore()


def on_sqlite(folder: Path) -> Store:
    return SqliteStore(str(folder / "harel.db"))


def awaited(*args: Any, **options: Any) -> Runner:
    return cast(Runner, Awaited(AsyncDurableRunner(*args, **options)))


WAYS = (
    Way("text-memory", text_with_actions, in_memory, DurableRunner, restarts=False),
    Way("text-sqlite-restarted", text_with_actions, on_sqlite, DurableRunner, restarts=True),
    Way("module-memory-async", modules_with_bind, in_memory, awaited, restarts=False),
    Way("module-sqlite", modules_with_bind, on_sqlite, DurableRunner, restarts=False),
)


class World:
    """One case under way: its store, its clock at 0, its log, and the runner of the moment."""

    def __init__(self, name: str, way: Way, folder: Path) -> None:
        self.case = CASES[name]
        self.name = name
        self.way = way
        self.folder = folder
        self.clock = FakeClock()
        self.log: list[str] = []
        self.logged_before = 0
        self.root_id = ""
        self.store = way.open_store(folder)
        self.runner = self.start_runner()

    def start_runner(self) -> Runner:
        definitions, actions = self.way.machines(self.name, handlers_of(self.case, self.log))
        return self.way.make_runner(self.store, definitions, clock=self.clock, actions=actions)

    def restart(self) -> None:
        """Another process takes over: nothing is left but the store."""
        if self.way.restarts:
            self.store.close()
            self.store = self.way.open_store(self.folder)
        self.runner = self.start_runner()

    # --- steps

    def step(self, step: Mapping[str, Any]) -> None:
        """Do one step, and find what is expected after it."""
        if self.way.restarts or step["do"] == "restart":
            self.restart()
        self.logged_before = len(self.log)
        expected = step["expect"]
        before = self.records()
        if "raises" in expected:
            with pytest.raises(exception_of(expected["raises"])):
                self.do(step)
        else:
            self.do(step)
        if "raises" in expected or step["do"] == "restart":
            assert self.records() == before
        self.check(self.root_id, expected)

    def do(self, step: Mapping[str, Any]) -> None:
        target = self.descendant(step["child"]) if "child" in step else self.root_id
        match step["do"]:
            case "create":
                self.root_id = self.runner.create(self.case["machine"], step.get("context")).id
            case "send":
                self.runner.process(target, Event(step["kind"], step.get("data"), step.get("id")))
            case "advance":
                self.clock.advance(step["seconds"])
                fired = self.runner.fire_due_timers()
                assert fired == step.get("fired", fired)
            case "redrive":
                self.runner.redrive(target, step["path"])
            case "restart":
                pass
            case "cancel" | "suspend" | "resume" | "terminate":
                getattr(self.runner, step["do"])(target)
            case other:
                raise AssertionError(f"no step is called {other}")

    # --- what is there

    def records(self) -> dict[str, str]:
        """Every record in the store, as its JSON."""
        return {execution.id: execution.to_json() for execution in all_executions(self.store)}

    def children(self, parent_id: str) -> dict[str, Execution]:
        """An execution's children by key, of each the one of the latest entry."""
        found = [execution for execution in all_executions(self.store) if execution.parent_id == parent_id]
        found.sort(key=lambda child: int(child.id.rpartition("/")[2]))
        return {str(child.key): child for child in found}

    def descendant(self, path: str) -> str:
        """The id of a child, or of a child's child: `key/key`."""
        execution_id = self.root_id
        for key in path.split("/"):
            execution_id = self.children(execution_id)[key].id
        return execution_id

    # --- what is expected

    def check(self, execution_id: str, expected: Expected) -> None:
        """Compare an execution with all that a step names."""
        wanted = {name: value for name, value in expected.items() if name != "raises"}

        assert self.shown(execution_id, wanted) == wanted

    def found(self, execution_id: str, name: str, wanted: Any) -> Any:
        """What there is under a name that a step expects; the wanted value itself where it agrees in its own way."""
        match name:
            case "log":
                return self.log
            case "logged":
                return self.log[self.logged_before :]
            case "timers":
                armed = sorted((timer.due, timer.path) for timer in self.store.timers(execution_id))
                return [[path, due] for due, path in armed]
            case "children":
                children = self.children(execution_id)
                return {key: self.shown(children[key].id, wanted[key]) for key in wanted if key in children}
        return shown_of(self.store.load(execution_id), name, wanted)

    def shown(self, execution_id: str, wanted: Expected) -> dict[str, Any]:
        return {name: self.found(execution_id, name, value) for name, value in wanted.items()}


def exception_of(name: str) -> type[Exception]:
    """The class of a name: one of this package's, or Python's own."""
    found: type[Exception] = getattr(harel, name, None) or getattr(builtins, name)
    return found


def shown_of(execution: Execution, name: str, wanted: Any) -> Any:
    """What a record has under a name, `wanted` itself where an equal value or a part of the text is enough."""
    match name:
        case "status":
            return execution.status.value
        case "active_path" | "outcome":
            return getattr(execution, name)
        case "error":
            error = execution.error
            return wanted if error is not None and wanted is not None and wanted in error else error
        case "deferred":
            return [event.kind for event in execution.deferred]
        case "context":
            context = execution.context
            return {key: value if same(context.get(key), value) else context.get(key) for key, value in wanted.items()}
        case other:
            raise AssertionError(f"nothing of an execution is called {other}")


# --- the test


def ways_of(name: str) -> tuple[Way, ...]:
    """All ways; only from the text where the checker refuses the machine."""
    if CASES[name].get("invalid"):
        return tuple(way for way in WAYS if way.machines is text_with_actions)
    return WAYS


RUNS = [(name, way) for name in CASES for way in ways_of(name)]


@pytest.mark.parametrize(("name", "way"), RUNS, ids=[f"{name}-{way}" for name, way in RUNS])
def test_a_case_means_the_same_in_every_way(name: str, way: Way, tmp_path: Path) -> None:
    world = World(name, way, tmp_path)
    corrections = CORRECTIONS.get(name, {})
    for number, step in enumerate(CASES[name]["steps"]):
        world.step({**step, "expect": {**step["expect"], **corrections.get(number, {})}})


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.get("invalid")])
def test_text_and_generated_modules_give_equal_definitions(name: str) -> None:
    assert from_text(name) == tuple(module["DEFINITION"] for module in modules(name))
