"""The engine: what a machine does with an event (language.md section 5), and nothing else.

Sans-IO: `start` and `handle` are generators over (program, execution, delivery) that yield an `Act` wherever a
handler is to be called, are sent its result or thrown its exception, and leave everything else in a `Draft`. They
know no store, no clock and no user code; the same generator runs under the sync and the async runner. Rule numbers
are those of section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from .children import started_by
from .declarations import fits
from .definition import Call
from .draft import Draft
from .errors import ExpressionError, SelectorError, SettlingLimit
from .execution import Deferred, Execution, Status
from .expressions import delay_of
from .program import Program, Rule, Setter, Way
from .values import copy_json, error_text, from_literal

TRANSITION_LIMIT = 1_000
"""How many transitions one step takes at most (edges.md, Meaning)."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What reaches an execution: an event, and who sent it.

    `internal`: the runtime itself sent it, so that its kind may be a reserved one. `source` is the sending
    execution's id for what executions send one another. `path` and `arming` belong to `Timeout`; `due` to `Timeout` and
    `Expired`. `at` is the clock of the sweep that delivers it, where one does. `order` is that of a broadcast event.
    """

    kind: str
    data: dict[str, Any]
    id: str
    source: str | None = None
    internal: bool = False
    path: str = ""
    arming: int = 0
    due: float = 0.0
    at: float | None = None
    order: tuple[float, int] | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """Call a handler. `index` is its position in the step; `event` what it is called with."""

    call: Call
    index: int
    event: Delivery


Steps = Generator[Act, Any, None]

Taken = tuple[Rule, Way | None]
"""A transition that is to be taken, and its branch where no selector has to be asked."""


class _Raised(Exception):
    """A handler or an expression failed while `level` was active; only what is `routable` becomes an `error` event."""

    def __init__(self, error: Exception, level: int, routable: bool) -> None:
        self.type, self.message = error_text(error)
        super().__init__(self.message)
        self.level = level
        self.routable = routable

    @property
    def text(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type


def start(program: Program, draft: Draft) -> Steps:
    """Rule 1: enter the machine, or the region, down to a leaf, and settle."""
    return _Step(program, draft, Delivery("Start", {}, "start")).start()


def handle(program: Program, draft: Draft, delivery: Delivery) -> Steps:
    """Rules 2 to 10: what the execution does with a delivery that is not stale."""
    return _Step(program, draft, delivery).handle()


def resettle(program: Program, draft: Draft, delivery: Delivery) -> Steps:
    """After a redrive: arm the timers of every active level, start what the leaf invokes, and settle."""
    return _Step(program, draft, delivery).resettle()


def is_stale(execution: Execution, delivery: Delivery) -> bool:
    """Whether a delivery from the runtime itself comes too late to mean anything: it is dropped without a commit.

    A timer whose state was left or entered again (rule 5), a budget that was restarted, the end of a child that
    this entry did not start (rule 8), or anything for an execution that has ended.
    """
    if execution.status.ended:
        return True
    if delivery.kind == "Timeout":
        armed = execution.timers.get(delivery.path)
        return armed is None or armed.arming != delivery.arming
    if delivery.kind == "Expired":
        return execution.expires_at != delivery.due
    if delivery.kind in ("Finished", "error") and delivery.source is not None:
        return all(child.id != delivery.source or child.state == "ended" for child in execution.children.values())
    return False


def cancel_is_handled(program: Program, execution: Execution, reason: str | None) -> bool:
    """Whether a `Cancel` now would be taken to a terminal that ends the execution (rule 10)."""
    step = _Step(program, Draft(execution, 0.0, "Cancel", ""), Delivery("Cancel", {"reason": reason}, ""))
    return step.find(step.active, "Cancel", step.event.data, safe=True) is not None


class _Step:
    """One step of one execution. `active` is the index of the active state; all that lasts is in the draft.

    `_called_off`: the step is the parent's cancelling of this child, so that no answer is awaited.
    `_unfinished_entry`: the level whose `on enter` or timer failed, until it is left or its entry is completed.
    """

    def __init__(self, program: Program, draft: Draft, delivery: Delivery) -> None:
        self.program = program
        self.draft = draft
        self.execution = draft.execution
        self.event = delivery
        self.root = program.definition.index[draft.execution.region]
        self._active = program.definition.index[draft.execution.active_path]
        self._calls = 0
        self._transitions: list[int] = []
        self._carried: dict[str, Any] = {}
        self._unfinished_entry = -1
        self._called_off = delivery.kind == "Cancel" and delivery.source not in (None, draft.execution.id)

    @property
    def active(self) -> int:
        return self._active

    @active.setter
    def active(self, index: int) -> None:
        self._active = index
        self.execution.active_path = self.program.paths[index]

    # --- entry points

    def start(self) -> Steps:
        self.execution.status = Status.RUNNING
        yield from self._recovering(self._begin())

    def _begin(self) -> Steps:
        yield from self._enter(self.root)
        yield from self._descend(self.root)

    def resettle(self) -> Steps:
        yield from self._recovering(self._rearm())

    def _rearm(self) -> Steps:
        for level in reversed(self.program.outwards(self.active)):
            self._arm(level)
        self._spawn(self.active)
        yield from ()

    def handle(self) -> Steps:
        work: dict[str, Callable[[], Steps]] = {
            "Timeout": self._timeout,
            "Expired": self._expired,
            "Cancel": self._cancel,
            "Finished": self._finished,
        }
        if self.event.kind == "error" and self.event.source is not None:
            work["error"] = self._child_failed
        yield from self._recovering(work.get(self.event.kind, self._domain_event)())

    # --- rule 2: events

    def _domain_event(self) -> Steps:
        event = self.event
        self.draft.restart_ttl(self.program.definition.ttl)
        if self._broadcast(event):
            return
        taken = self.find(self.active, event.kind, event.data)
        if taken is not None:
            yield from self._take(taken, event)
        elif self.program.defers(self.active, event.kind):
            self.execution.deferred.append(Deferred(event.kind, event.data, event.id, event.order or self.draft.order))
        elif self.program.states[self.active].kind == "leaf":
            for call in self.program.states[self.active].on_activity:
                yield from self._call(call, event)

    def _broadcast(self, event: Delivery) -> bool:
        """Rule 7: an event that a live region could ever take goes to all live regions, and not to the parent."""
        fork, states = self.active, self.program.states
        if states[fork].kind != "orthogonal":
            return False
        index = self.program.definition.index
        live = {key: child for key, child in self.execution.children.items() if child.state != "ended"}
        if not any(self.program.region_takes(index[key], event.kind, fork) for key in live):
            return False
        for child in live.values():
            self.draft.emit(child.id, event.kind, event.data, event.id, event.order or self.draft.order)
        return True

    def find(self, level: int, kind: str, data: Mapping[str, Any], *, safe: bool = False) -> Taken | None:
        """The first transition from `level` outwards that takes the event, with the branch where it is known
        already.
        """
        for rule in self.program.candidates(level, kind):
            if safe and not rule.safe:
                continue
            taken = self._offers(rule, data)
            if taken is not None:
                return taken
        return None

    def _offers(self, rule: Rule, data: Mapping[str, Any]) -> Taken | None:
        """The rule and its branch, if guard and branches allow it now; a selector is not asked yet."""
        try:
            return self._judged(rule, data)
        except ExpressionError as error:
            raise self._failure(error) from error

    def _judged(self, rule: Rule, data: Mapping[str, Any]) -> Taken | None:
        context = self.execution.context
        if rule.guard is not None and not rule.guard(context, data):
            return None
        if rule.form == "to":
            return rule, rule.ways[0]
        if rule.form == "select":
            return rule, None
        for way in rule.ways:
            held = self._join_holds(way.test) if rule.form == "join" else way.test is None or way.test(context, data)
            if held:
                return rule, way
        return None

    def _join_holds(self, mode: str | None) -> bool:
        """`join all` and `join any` (language.md section 4): no results at all fulfil neither."""
        won = [(child.result or {}).get("outcome") == "success" for child in self.execution.children.values()]
        return mode is None or (any(won) if mode == "any" else bool(won) and all(won))

    # --- rule 3: taking a transition

    def _take(self, taken: Taken, event: Delivery) -> Steps:
        yield from self._move(*taken, event, event.data)

    def _move(self, rule: Rule, way: Way | None, event: Delivery, data: Mapping[str, Any]) -> Steps:
        """Leave, assign, enter. `event` is what handlers get, `data` what `set` reads: nothing where it is
        automatic.
        """
        self.event = event
        origin = self.active
        self._count(origin)
        before = self.execution.context
        assigned = self._evaluate(rule.sets, before, data)
        if way is None:
            before = copy_json(before)
            way = yield from self._select(rule, event)
        assigned |= self._evaluate(way.sets, before, data)
        target, states = way.target, self.program.states
        outer = self.program.common(origin, target)
        self._carried = {}
        yield from self._leave(self.program.chain(outer, origin))
        self._apply(assigned)
        if outer == self._unfinished_entry:
            self._finish_entry(outer)
        if target == outer and target != origin:
            self.execution.history.pop(self.program.paths[target], None)
        for level in self.program.chain(outer, target):
            yield from self._enter(level)
        if states[target].kind in ("composite", "machine"):
            yield from self._descend(target)

    def _count(self, origin: int) -> None:
        self._transitions.append(origin)
        if len(self._transitions) > TRANSITION_LIMIT:
            last = dict.fromkeys(self.program.paths[index] for index in self._transitions[-20:])
            raise SettlingLimit(
                f"one step took more than {TRANSITION_LIMIT} transitions, going round {', '.join(last)}"
            )

    def _select(self, rule: Rule, event: Delivery) -> Generator[Act, Any, Way]:
        call = rule.selector
        assert call is not None, "a select has a selector"
        value = yield from self._call(call, event)
        try:
            label = str(value)
        except Exception as error:
            raise _Raised(error, self.active, routable=True) from error
        for way in rule.ways:
            if way.test is None or way.test == label:
                return way
        raise self._failure(
            SelectorError(f"{call.name} returned {label!r}, which no branch names, and there is no else")
        )

    def _evaluate(
        self, sets: tuple[Setter, ...], context: Mapping[str, Any], data: Mapping[str, Any]
    ) -> dict[str, Any]:
        """All right-hand sides, against context and event as the transition starts."""
        values: dict[str, Any] = {}
        schema = self.program.definition.context or {}
        for key, value_of in sets:
            try:
                value = value_of(context, data)
                field = schema.get(key)
                if field is not None and not fits(field.type, field.optional, value):
                    declared = f"{field.type}{'?' if field.optional else ''}"
                    raise ExpressionError(f"context.{key} is declared {declared} and cannot be set to {value!r:.80}")
            except ExpressionError as error:
                raise self._failure(error) from error
            values[key] = value
        return values

    def _apply(self, assigned: dict[str, Any]) -> None:
        self.execution.context.update(assigned)
        self.draft.assigned.update(assigned)

    def _leave(self, levels: list[int]) -> Steps:
        """Leave the levels, innermost first; a composite left while active remembers its child (rule 4)."""
        states, paths, history = self.program.states, self.program.paths, self.execution.history
        inner = -1
        for level in reversed(levels):
            self.active = level
            state = states[level]
            if state.kind == "orthogonal" or state.invoke:
                self._leave_children()
            for call in state.on_exit:
                yield from self._call(call, self.event, routable=False)
            self.draft.disarm(paths[level])
            if inner >= 0 and state.kind == "composite" and not state.no_history:
                history[paths[level]] = states[inner].name
            inner = level
        if levels:
            self.active = states[levels[0]].parent

    def _leave_children(self) -> None:
        self.draft.cancel_children()
        self.execution.children = {}

    def _enter(self, level: int) -> Steps:
        self.active = level
        self._unfinished_entry = level
        for call in self.program.states[level].on_enter:
            yield from self._call(call, self.event)
        self._finish_entry(level)

    def _finish_entry(self, level: int) -> None:
        """What entering does after `on enter`: the timer, and the children of a fork or an invoke."""
        self._arm(level)
        self._spawn(level)
        self._unfinished_entry = -1

    def _descend(self, level: int) -> Steps:
        """Go down to a leaf, a fork or an invoke: where history leads, else to `initial` (rules 1 and 4)."""
        states, paths = self.program.states, self.program.paths
        while states[level].kind in ("composite", "machine"):
            state = states[level]
            child = -1 if state.no_history else self.program.child(level, self.execution.history.get(paths[level]))
            level = child if child >= 0 else state.initial
            if level < 0:
                return
            yield from self._enter(level)

    # --- rule 5: timers

    def _arm(self, level: int) -> None:
        timeout = self.program.states[level].timeout
        if timeout is None:
            return
        if isinstance(timeout, str):
            try:
                timeout = delay_of(self.execution.context, timeout)
            except ExpressionError as error:
                raise self._failure(error) from error
        self.draft.arm(self.program.paths[level], self.draft.now + timeout)

    def _timeout(self) -> Steps:
        self.draft.disarm(self.event.path)
        taken = self.find(self.program.definition.index[self.event.path], "Timeout", {})
        if taken is not None:
            yield from self._take(taken, self.event)

    # --- rule 6: settling

    def _settle(self) -> Steps:
        while self.execution.status in (Status.RUNNING, Status.CANCELLING):
            if self._waits():
                return
            taken = self._automatic()
            if taken is not None:
                yield from self._move(*taken, self.event, {})
            elif self.program.has_transitions(self.active) or self._awaits_return():
                recalled = self._recall()
                if recalled is None:
                    return
                yield from self._take(*recalled)
            else:
                yield from self._complete()

    def _waits(self) -> bool:
        state = self.program.states[self.active]
        if state.kind != "orthogonal" and not state.invoke:
            return False
        return any(child.state != "ended" for child in self.execution.children.values())

    def _awaits_return(self) -> bool:
        """Whether the active leaf invokes one machine: it is no terminal, and where no transition takes the return the
        machine rests (edges.md, Trees).
        """
        invoke = self.program.states[self.active].invoke
        return invoke is not None and invoke.items is None

    def _automatic(self) -> Taken | None:
        for rule in self.program.automatic(self.active):
            taken = self._offers(rule, {})
            if taken is not None:
                return taken
        return None

    def _recall(self) -> tuple[Taken, Delivery] | None:
        """The first deferred event that has a transition here, taken out of the queue."""
        for position, waiting in enumerate(self.execution.deferred):
            taken = self.find(self.active, waiting.kind, waiting.data)
            if taken is not None:
                del self.execution.deferred[position]
                return taken, Delivery(waiting.kind, waiting.data, waiting.id)
        return None

    def _complete(self) -> Steps:
        """(d): the active state is a terminal; the enclosing composite is next, or the execution ends."""
        index, states, execution = self.active, self.program.states, self.execution
        state = states[index]
        if execution.outcome is None and state.outcome is not None:
            execution.outcome = state.outcome
        self._carry(index)
        for call in state.on_exit:
            yield from self._call(call, self.event, routable=False)
        self.draft.disarm(self.program.paths[index])
        if index == self.root:
            self._end(index)
            return
        outer = state.parent
        if outer != self.root:
            self.execution.history.pop(self.program.paths[outer], None)
            self.active = outer
            return
        yield from self._complete_root(index)

    def _complete_root(self, last: int) -> Steps:
        """Above the top level: the machine's or region's own `on exit`, then the end."""
        self._carry(self.root)
        self.active = self.root
        for call in self.program.states[self.root].on_exit:
            yield from self._call(call, self.event, routable=False)
        self._end(last)

    def _carry(self, index: int) -> None:
        context = self.execution.context
        self._carried.update((key, context[key]) for key in self.program.states[index].carry if key in context)

    def _end(self, last: int) -> None:
        execution, draft = self.execution, self.draft
        self.active = last
        execution.status = Status.DONE
        deferred = execution.deferred
        draft.close()
        if not self._called_off:
            draft.report_end(execution.outcome, copy_json(self._carried), deferred)

    # --- rules 7 and 8: children

    def _spawn(self, level: int) -> None:
        """Start the children of a fork, a fan-out or an invoke; a fork and a fan-out begin without results."""
        state = self.program.states[level]
        if state.kind != "orthogonal" and not state.invoke:
            return
        self.execution.generation += 1
        try:
            spawns = started_by(self.program, self.execution, level)
        except ExpressionError as error:
            raise self._failure(error) from error
        self.draft.spawn(spawns)
        if not state.invoke or state.invoke.items is not None:
            self._forget_results()

    def _forget_results(self) -> None:
        """What an earlier fork reported is not taken for this one's; a declared key has its default again."""
        declared = (self.program.definition.context or {}).get("region_results")
        if declared is None:
            self.execution.context.pop("region_results", None)
        elif declared.default:
            self.execution.context["region_results"] = from_literal(declared.default[0])

    def _finished(self) -> Steps:
        """A child has ended: the parent's `Returned`, or one result more for its join."""
        execution, event = self.execution, self.event
        key = next(key for key, child in execution.children.items() if child.id == event.source)
        child = execution.children[key]
        child.state, child.result = "ended", {**event.data["carried"], "outcome": event.data["outcome"]}
        if event.data["outcome"] is None:
            del child.result["outcome"]
        self._take_over(event.data["deferred"])
        if execution.status is Status.FAILED:
            return
        state = self.program.states[self.active]
        if state.invoke and state.invoke.items is None:
            returned = Delivery("Returned", {"outcome": None, **child.result}, event.id)
            taken = self.find(self.active, "Returned", returned.data)
            if taken is not None:
                yield from self._take(taken, returned)
        elif state.cancel_on_failure and child.result.get("outcome") != "success":
            self._join_now()
        else:
            self._join_if_complete()

    def _take_over(self, deferred: list[list[Any]]) -> None:
        """Queue what a region deferred and did not use, in the order in which it was first deferred, each event
        once.
        """
        queue = self.execution.deferred
        known = {waiting.id for waiting in queue}
        queue += [
            Deferred(kind, data, id, (order[0], order[1])) for kind, data, id, order in deferred if id not in known
        ]
        queue.sort(key=lambda waiting: waiting.order)

    def _child_failed(self) -> Steps:
        """Rule 9: a child's dead letter is an `error` of its parent, looked up from where it waits."""
        execution, event = self.execution, self.event
        child = next(child for child in execution.children.values() if child.id == event.source)
        child.state = "failed"
        if execution.status is Status.FAILED:
            return
        execution.context["_error"] = dict(event.data)
        taken = self.find(self.active, "error", event.data)
        if taken is not None:
            yield from self._take(taken, event)
        elif self.program.states[self.active].cancel_on_failure:
            child.state, child.result = "ended", {"outcome": "error"}
            self._join_now()

    def _join_now(self) -> None:
        """`cancel_on_failure`: the regions still running count as cancelled, and the join goes on at once."""
        self.draft.cancel_children()
        for child in self.execution.children.values():
            if child.state != "ended":
                child.state, child.result = "ended", {"outcome": "cancelled"}
        self._join_if_complete()

    def _join_if_complete(self) -> None:
        children = self.execution.children
        if all(child.state == "ended" for child in children.values()) and any(c.result for c in children.values()):
            results = {key: copy_json(child.result) for key, child in children.items()}
            self.execution.context["region_results"] = results

    # --- rule 9: errors

    def _call(self, call: Call, event: Delivery, *, routable: bool = True) -> Generator[Act, Any, Any]:
        index = self._calls
        self._calls += 1
        self.draft.touched = True
        self.draft.actions.append(call.name)
        try:
            return (yield Act(call, index, event))
        except Exception as error:
            raise _Raised(error, self.active, routable) from error

    def _failure(self, error: ExpressionError | SelectorError) -> _Raised:
        return _Raised(error, self.active, routable=True)

    def _recovering(self, work: Steps) -> Steps:
        """Do the work and settle; what fails on the way is routed once, and everything after it is the recovery."""
        try:
            yield from work
            yield from self._settle()
        except _Raised as raised:
            yield from self._recover(raised)

    def _recover(self, raised: _Raised) -> Steps:
        self.active = raised.level
        data = {"type": raised.type, "message": raised.message}
        self.execution.context["_error"] = data
        try:
            taken = self.find(raised.level, "error", data) if raised.routable else None
            if taken is None:
                self._fail(raised, raised.text)
                return
            yield from self._take(taken, Delivery("error", dict(data), self.event.id))
            yield from self._settle()
        except _Raised as second:
            self.active = second.level
            self._fail(second, f"{second.text} (while recovering from {raised.text})")

    def _fail(self, raised: _Raised, text: str) -> None:
        """A dead letter: no timers, and the parent hears of it."""
        self.execution.status = Status.FAILED
        self.execution.error = text
        self.draft.stop_all_timers()
        self.draft.report_failure(raised.type, raised.message)

    # --- rule 10: ending from outside

    def _expired(self) -> Steps:
        self.draft.stop_ttl()
        taken = self.find(self.active, "Expired", {}, safe=True)
        if taken is not None:
            yield from self._take(taken, self.event)
        else:
            self.draft.cancel_children(reason="expired", command=True)
            self.draft.cancelled(outcome="expired", reported=False)

    def _cancel(self) -> Steps:
        data = {"reason": self.event.data.get("reason")}
        force = bool(self.event.data.get("force"))
        is_dead_letter = self.execution.status is Status.FAILED
        if is_dead_letter and self._called_off and not self.event.data.get("command"):
            return
        handles = not force and not is_dead_letter
        taken = self.find(self.active, "Cancel", data, safe=True) if handles else None
        if taken is not None:
            self.execution.status = Status.RUNNING
            yield from self._take(taken, Delivery("Cancel", data, self.event.id, self.event.source))
        else:
            command = not self._called_off or bool(self.event.data.get("command"))
            reported = not self._called_off
            self.draft.end_by_force(reason=data["reason"], force=force, command=command, reported=reported)
