"""The control plane: cancel, suspend, resume, terminate, redrive and purge (runtime.md section 3, language.md
section 5.10).

Commands act at once by compare-and-set and do not queue behind events; each is idempotent, and out of season it
does nothing. They are jobs of the driver, so that the sync and the async runner share them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from . import engine
from .archive import Archive
from .draft import Draft
from .driver import ATTEMPTS, Driver, Outgoing
from .engine import Delivery
from .errors import DefinitionChanged, DefinitionNotLoaded, ExecutionNotFound, StoreConflict
from .execution import Execution, Status
from .jobs import Job, Pause, StoreCall, load
from .program import Program
from .purging import purge_tree
from .relay import Relay
from .stores.protocol import Effects

Change = Callable[[Execution], Job[tuple[Draft, Effects] | None]]
"""What a command makes of a record: the draft and its effects, or `None` for nothing."""


class Control:
    """The commands, as jobs."""

    def __init__(self, driver: Driver, relay: Relay) -> None:
        self._driver = driver
        self._relay = relay

    def cancel(self, execution_id: str, reason: str | None) -> Job[Execution]:
        """Cooperative where `on Cancel` leads to an end, else forceful; children are reached."""

        def change(execution: Execution) -> Job[tuple[Draft, Effects] | None]:
            if execution.status.ended:
                return None
            draft = self._draft(execution, "Cancel")
            if execution.status is not Status.FAILED and (yield from self._handles_cancel(execution, reason)):
                if execution.status is Status.CANCELLING:
                    return None
                execution.status = Status.CANCELLING
                draft.emit(execution.id, "Cancel", {"reason": reason})
                return draft, replace(draft.effects(), hold=False)
            draft.end_by_force(reason=reason, force=False, command=True, reported=True)
            return draft, draft.effects()

        return (yield from self._change(execution_id, change))

    def _handles_cancel(self, execution: Execution, reason: str | None) -> Job[bool]:
        """Whether the machine would take a `Cancel` to an end; commands that end an execution work without a
        machine.
        """
        try:
            program = yield from self._driver.machines.running(execution)
        except (DefinitionChanged, DefinitionNotLoaded):
            return False
        return engine.cancel_is_handled(program, execution, reason)

    def terminate(self, execution_id: str) -> Job[Execution]:
        """End at once: no handlers, no hooks; children too."""

        def change(execution: Execution) -> Job[tuple[Draft, Effects] | None]:
            yield from ()
            if execution.status.ended:
                return None
            draft = self._draft(execution, "Cancel")
            draft.end_by_force(reason=None, force=True, command=True, reported=True)
            return draft, draft.effects()

        return (yield from self._change(execution_id, change))

    def suspend(self, execution_id: str) -> Job[Execution]:
        """Stop taking events; timers stay armed and fire after `resume`; children too."""

        def change(execution: Execution) -> Job[tuple[Draft, Effects] | None]:
            yield from ()
            if execution.status not in (Status.RUNNING, Status.CANCELLING):
                return None
            draft = self._draft(execution, "Suspend")
            execution.resume_status, execution.status = execution.status, Status.SUSPENDED
            return draft, replace(draft.effects(), hold=True)

        return (yield from self._change_tree(execution_id, change))

    def resume(self, execution_id: str) -> Job[Execution]:
        """Take up what `suspend` stopped; children too."""

        def change(execution: Execution) -> Job[tuple[Draft, Effects] | None]:
            yield from ()
            if execution.status is not Status.SUSPENDED:
                return None
            draft = self._draft(execution, "Resume")
            execution.status, execution.resume_status = execution.resume_status or Status.RUNNING, None
            return draft, replace(draft.effects(), hold=False)

        yield from self._change_tree(execution_id, change)
        yield from self._relay.recover(execution_id)
        return (yield from load(execution_id))

    def redrive(self, execution_id: str, target_path: str) -> Job[Execution]:
        """Put a dead letter on a leaf of the machine loaded for its version, and go on from there.

        Raises:
            ValueError: the execution is not `FAILED`, has unfinished children, or the target is no leaf that it runs.
        """

        def change(execution: Execution) -> Job[tuple[Draft, Effects] | None]:
            if execution.status is not Status.FAILED:
                raise ValueError(
                    f"execution {execution.id!r} is {execution.status.name}: only a FAILED one can be redriven"
                )
            definition = self._driver.machines.registry.choose(execution.definition_id, execution.definition_version)
            program = self._driver.machines.registry.program(definition)
            _check_redrive(execution, program, target_path)
            forget, execution.failed_event = execution.failed_event, None
            execution.status, execution.error, execution.finished_at = Status.RUNNING, None, None
            execution.history, execution.children = {}, {}
            execution.definition_digest, execution.active_path = definition.digest, target_path
            event_id = f"redrive:{execution.version}"
            draft = self._draft(execution, "Redrive", event_id)
            draft.restart_ttl(definition.ttl)
            yield from self._driver.run(
                program, draft, engine.resettle(program, draft, Delivery("Redrive", {}, event_id))
            )
            return draft, replace(self._driver.effects(draft), forget=forget)

        return (yield from self._change(execution_id, change))

    def purge(self, execution_id: str, archive: Archive | None) -> Job[None]:
        """Delete a finished root with its whole tree; each execution is archived first.

        Raises:
            PurgeRefused: not a root, or a member of the tree has not ended; nothing was deleted.
        """
        yield from purge_tree(execution_id, archive)

    # --- how every command writes

    def _draft(self, execution: Execution, kind: str, event_id: str | None = None) -> Draft:
        now = self._driver.settings.clock()
        return Draft(execution, now, kind, event_id or f"send:{kind.lower()}:{execution.version}")

    def _change(self, execution_id: str, change: Change) -> Job[Execution]:
        """Load, change, write; again where another writer was faster. Then relay what the change set off."""
        outgoing = Outgoing()
        for left in reversed(range(ATTEMPTS)):
            execution = yield from load(execution_id)
            expected = execution.version
            try:
                changed = yield from change(execution)
                if changed is None:
                    yield from self._relay.recover(execution_id)
                    return (yield from load(execution_id))
                draft, effects = changed
                execution.version = expected + 1
                execution.updated_at = max(draft.now, execution.updated_at)
                yield StoreCall("commit", (execution, expected, effects))
                break
            except StoreConflict:
                if not left:
                    raise
                yield Pause(random.uniform(0.001, 0.02))
        outgoing.add(effects)
        yield from self._relay.relay(outgoing)
        return (yield from load(execution_id))

    def _change_tree(self, execution_id: str, change: Change) -> Job[Execution]:
        """The command for an execution and every live one below it, parents first."""
        execution: Execution = yield from self._change(execution_id, change)
        for child in list(execution.children.values()):
            if child.state == "ended":
                continue
            try:
                yield from self._change_tree(child.id, change)
            except ExecutionNotFound:
                continue  # its spawn is still in the outbox, and waits while the parent is suspended
        return execution


def _check_redrive(execution: Execution, program: Program, target_path: str) -> None:
    definition = program.definition
    unfinished = [child.id for child in execution.children.values() if child.state != "ended"]
    if unfinished:
        raise ValueError(f"execution {execution.id!r} has the unfinished child {unfinished[0]!r}: terminate it first")
    index = definition.index.get(target_path)
    if index is None:
        raise ValueError(f"machine {definition.id} version {definition.version} has no state {target_path!r}")
    if definition.states[index].kind != "leaf":
        kind = definition.states[index].kind
        raise ValueError(f"{target_path!r} of machine {definition.id} is no leaf but {kind}: name a leaf")
    scope = program.paths[program.scope[index]]
    if scope != execution.region:
        runs = f"the region {scope!r} of it" if scope else "the machine itself"
        raise ValueError(f"{target_path!r} is run by {runs}, not by execution {execution.id!r}")
