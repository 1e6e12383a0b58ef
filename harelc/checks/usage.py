"""Rules about declarations and imports that nothing needs (language.md section 6).

What is needed, also by something unused, is worked out when names are looked up. Here are the exceptions: a file
without a machine is a library, and what a misspelt name may have meant is not reported as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harel.event import RESERVED_KINDS

from .. import tree
from ..diagnostics import WARNING
from ..kinds import DELIVERED
from ..spelling import is_near
from ..walk import tests
from .facts import FileFacts
from .registry import Fault, rule
from .walk import predicates

Declared = tree.Event | tree.Guard | tree.Fragment


@rule("unused_event", WARNING)
def unused_event(source: FileFacts) -> Iterator[Fault]:
    """An event is declared, and no machine of the file handles or defers it (language 6).

    A state with `on activity` takes any event that nothing handles, so in a file with one no event is reported.

    Wrong:

        event Go {}
        event Refunded {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        event Refunded {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go | Refunded
        }
    """
    hooks = (part for facts in source.machines for state in facts.states for part in state.body)
    if any(isinstance(part, tree.Hook) and part.when == "activity" for part in hooks):
        return
    for item in _unused(source, "event", tree.Event):
        if item.name.text not in RESERVED_KINDS:
            message = f"no machine of this file handles or defers `{item.name.text}`"
            yield Fault(item.name.span, message, "handle it, or remove the declaration")


@rule("unused_guard", WARNING)
def unused_guard(source: FileFacts) -> Iterator[Fault]:
    """A guard is declared and not used (language 6).

    Wrong:

        event Go { amount: int }
        guard positive = amount > 0
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go { amount: int }
        guard positive = amount > 0
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go where positive
        }
    """
    for item in _unused(source, "guard", tree.Guard):
        yield Fault(item.name.span, f"the guard `{item.name.text}` is not used", "use it in a `where`, or remove it")


@rule("unused_fragment", WARNING)
def unused_fragment(source: FileFacts) -> Iterator[Fault]:
    """A fragment is declared and not used (language 6).

    Wrong:

        event Go {}
        fragment Ask {
          initial A
          state A {}
          final B success {}
          from A to B on Go
        }
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        fragment Ask {
          initial A
          state A {}
          final B success {}
          from A to B on Go
        }
        machine order {
          initial Asking
          use Ask as Asking
          final Done success {}
          from Asking to Done
        }
    """
    for item in _unused(source, "fragment", tree.Fragment):
        yield Fault(item.name.span, f"the fragment `{item.name.text}` is not used", "`use` it, or remove it")


@rule("unused_import", WARNING)
def unused_import(source: FileFacts) -> Iterator[Fault]:
    """Nothing of an imported file is used (language 6).

    Wrong:

        import "lib.stm"
        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }
        # file: lib.stm
        event Refunded {}

    Right:

        import "lib.stm"
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Refunded
        }
        # file: lib.stm
        event Refunded {}
    """
    if _is_broken(source) or any(True for _ in _not_found(source)):
        return
    for imported, files in source.unit.imported.items():
        names = {file.name for file in files}
        broken = any(file.broken for file in files)
        is_used = any(file in names for _, file, _ in source.unit.used)
        if files and not broken and not is_used and not _is_hidden(source, files):
            message = f"nothing of `{imported.path.text}` is used"
            yield Fault(imported.span, message, "remove the import")


def _is_hidden(source: FileFacts, files: Iterable[tree.File]) -> bool:
    """Whether the files declare a name that another imported file declares as well, which has a finding of its own."""
    elsewhere = {(kind, name) for kind, file, name in source.unit.used if file != source.file.name}
    for file in files:
        for item in file.items:
            if isinstance(item, tree.Event) and ("event", item.name.text) in elsewhere:
                return True
            if isinstance(item, tree.Guard) and ("guard", item.name.text) in elsewhere:
                return True
            if isinstance(item, tree.Bind) and any(("bind", entry.name.text) in elsewhere for entry in item.entries):
                return True
    return False


def _unused(
    source: FileFacts, kind: str, of: type[tree.Event] | type[tree.Guard] | type[tree.Fragment]
) -> Iterator[Declared]:
    """The file's declarations of a kind that nothing in it needs."""
    file = source.file
    if _is_broken(source) or not any(isinstance(item, tree.Machine) for item in file.items):
        return
    misspelt = {name for what, name in _not_found(source) if what == kind}
    for item in file.items:
        if not isinstance(item, of) or (kind, file.name, item.name.text) in source.unit.used:
            continue
        if not any(is_near(name, item.name.text) for name in misspelt):
            yield item


def _is_broken(source: FileFacts) -> bool:
    """Whether a syntax error hides something, so that nothing is known to be unused."""
    items = source.file.items
    return source.file.broken or any(isinstance(item, (tree.Machine, tree.Fragment)) and item.broken for item in items)


def _not_found(source: FileFacts) -> Iterator[tuple[str, str]]:
    """The names of events, guards, fragments and machines that could not be looked up, with their kind."""
    for facts in source.machines:
        machine = facts.machine
        for transition in machine.transitions:
            yield from (("event", kind) for kind in _unknown(facts.machine.events, transition.kinds))
            for predicate, _ in predicates(transition.node):
                for test in tests(predicate):
                    if isinstance(test, tree.GuardRef) and facts.guard(test) is None:
                        yield "guard", test.name.text
        for guard in machine.guards.values():
            yield from (("guard", name) for name, key in guard.refs.items() if key is None)
        for state in facts.states:
            if state.invoke is not None and state.invoke.machine is None and state.invoke.node.machine is not None:
                yield "machine", state.invoke.node.machine.text
            for part in state.body:
                if isinstance(part, tree.Defer):
                    kinds = tuple(kind.text for kind in part.kinds)
                    yield from (("event", kind) for kind in _unknown(machine.events, kinds))
                elif isinstance(part, tree.Use):
                    yield "fragment", part.fragment.text


def _unknown(events: Iterable[str], kinds: tuple[str, ...]) -> Iterator[str]:
    yield from (kind for kind in kinds if kind not in events and kind not in DELIVERED)


RULES = (unused_event, unused_guard, unused_fragment, unused_import)
