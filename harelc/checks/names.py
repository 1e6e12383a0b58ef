"""Rules about declarations and names, read off one file as it is written (language.md sections 1 and 2, edges.md).

They need no look-up, so they also see what nothing uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harel.event import RESERVED_KINDS

from .. import tree
from ..diagnostics import ERROR
from ..kinds import DELIVERED
from ..versions import is_version
from .facts import FileFacts
from .registry import Fault, rule
from .walk import Owner, bodies, declarations, file_bodies, file_transitions

_NAME_LIMIT = 128
_SEPARATORS = ".:/"

Named = tuple[str, tree.Span]
"""A name as the reader sees it, and its place."""


@rule("duplicate_declaration", ERROR)
def duplicate_declaration(source: FileFacts) -> Iterator[Fault]:
    """Something is declared twice in one place (language 2, 3, 6).

    A file declares each machine, event, guard, binding and fragment once; a body has each state, `initial`, `timeout`
    and `outcome` once; fields, keys, labels and inputs are listed once. Of two equal names nobody could say which is
    meant. Rename one of them, or remove it.

    Wrong:

        event Paid {}
        machine order {
          initial Cart
          state Cart {}
          state Cart {}
          final Done success {}
          from Cart to Done on Paid
        }

    Right:

        event Paid {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Paid
        }
    """
    yield from _top_level(source.file)
    for declaration in declarations(source.file):
        if isinstance(declaration, tree.Fragment):
            yield from _repeated("parameter", ((p.name.text, p.name.span) for p in declaration.parameters))
        for owner, body in bodies(declaration):
            yield from _in_body(owner, body)
    for transition in file_transitions(source.file):
        yield from _in_transition(transition)


def _top_level(file: tree.File) -> Iterator[Fault]:
    kinds = (("machine", tree.Machine), ("event", tree.Event), ("guard", tree.Guard), ("fragment", tree.Fragment))
    for what, kind in kinds:
        yield from _repeated(what, ((item.name.text, item.name.span) for item in file.items if isinstance(item, kind)))
    entries = (entry for item in file.items if isinstance(item, tree.Bind) for entry in item.entries)
    yield from _repeated("binding", ((entry.name.text, entry.name.span) for entry in entries))
    aliases = (item.alias for item in file.items if isinstance(item, tree.Import) and item.alias is not None)
    yield from _repeated("alias", ((alias.text, alias.span) for alias in aliases))
    for item in file.items:
        if isinstance(item, tree.Event):
            yield from _repeated("field", ((field.name.text, field.name.span) for field in item.fields))


def _in_body(owner: Owner, body: tuple[tree.Statement, ...]) -> Iterator[Fault]:
    states = (part.name for part in body if isinstance(part, (tree.State, tree.Use)))
    yield from _repeated("state", ((name.text, name.span) for name in states))
    singles = (
        ("`initial`", tree.Initial),
        ("`timeout`", tree.Timeout),
        ("`ttl`", tree.Ttl),
        ("`context`", tree.Context),
        ("`invoke`", tree.Invoke),
    )
    for what, kind in singles:
        yield from _second(what, (part.span for part in body if isinstance(part, kind)))
    verdict = [owner.verdict.span] if isinstance(owner, tree.State) and owner.verdict is not None else []
    yield from _second("`outcome`", [*verdict, *(part.span for part in body if isinstance(part, tree.Outcome))])
    passed = (entry.child for part in body if isinstance(part, tree.With) for entry in part.entries)
    yield from _repeated("key in `with`", ((name.text, name.span) for name in passed))
    for part in body:
        if isinstance(part, tree.Context):
            yield from _repeated("context key", ((field.name.text, field.name.span) for field in part.fields))
        elif isinstance(part, tree.Carry):
            yield from _repeated("key in `carry`", ((name.text, name.span) for name in part.names))
        elif isinstance(part, tree.Defer):
            yield from _repeated("kind in `defer`", ((name.text, name.span) for name in part.kinds))
        elif isinstance(part, tree.Use):
            yield from _repeated("argument", ((given.name.text, given.name.span) for given in part.arguments))
        elif isinstance(part, tree.Hook):
            yield from _inputs(part.action)


def _in_transition(transition: tree.Transition) -> Iterator[Fault]:
    labels = (b.test for b in transition.branches if isinstance(b.test, tree.Name))
    yield from _repeated("branch", ((label.text, label.span) for label in labels))
    yield from _repeated("label in `returns`", ((label.text, label.span) for label in transition.returns))
    yield from _second("`else`", (branch.span for branch in transition.branches if branch.is_else))
    for sets in (transition.sets, *(branch.sets for branch in transition.branches)):
        yield from _repeated("assignment to", ((assign.key.text, assign.key.span) for assign in sets))
    if transition.selector is not None:
        yield from _inputs(transition.selector)


def _inputs(action: tree.Action) -> Iterator[Fault]:
    yield from _repeated("input", ((given.name.text, given.name.span) for given in action.inputs))


def _repeated(what: str, names: Iterable[Named]) -> Iterator[Fault]:
    first: dict[str, tree.Span] = {}
    for name, span in names:
        if name in first:
            notes = ((first[name], "the first one stands here"),)
            yield Fault(span, f"second {what} `{name}`", "rename or remove one of the two", notes)
        else:
            first[name] = span


def _second(what: str, spans: Iterable[tree.Span]) -> Iterator[Fault]:
    first: tree.Span | None = None
    for span in spans:
        if first is not None:
            yield Fault(
                span, f"second {what} in one place", "keep one of the two", ((first, "the first one stands here"),)
            )
        first = first or span


@rule("bad_name", ERROR)
def bad_name(source: FileFacts) -> Iterator[Fault]:
    """A state's name cannot be part of a path (edges, Values).

    Paths are names joined by `.`, and a child's key adds `/` and `:`. So a name may not hold these, nor control
    characters; it may not be empty, begin or end with a space, or be longer than 128 characters. All else may stand
    in quotes.

    Wrong:

        machine device {
          initial "v1.2"
          final "v1.2" success {}
        }

    Right:

        machine device {
          initial "v1-2"
          final "v1-2" success {}
        }
    """
    for _, body in file_bodies(source.file):
        for part in body:
            if isinstance(part, (tree.State, tree.Use)):
                wrong = _wrong_with(part.name.text)
                if wrong is not None:
                    yield Fault(part.name.span, f"this name of a state {wrong}", "choose a name that fits into a path")


def _wrong_with(name: str) -> str | None:
    """What is wrong with a name, as the end of a sentence."""
    if not name:
        return "is empty"
    if len(name) > _NAME_LIMIT:
        return f"has {len(name)} characters; {_NAME_LIMIT} are allowed"
    for separator in _SEPARATORS:
        if separator in name:
            return f"holds `{separator}`, which separates the parts of paths and keys"
    if name != name.strip(" "):
        return "begins or ends with a space"
    if any(ord(character) < 32 or 127 <= ord(character) < 160 or character in "\u2028\u2029" for character in name):
        return "holds a control character or a line break"
    return None


@rule("reserved_event", ERROR)
def reserved_event(source: FileFacts) -> Iterator[Fault]:
    """A reserved kind is used as a domain event (language 2).

    `Start Finished Timeout Cancel Reset SetState Returned error Expired` are the engine's own. They are not declared,
    and nobody sends or defers them. Transitions may be on `Timeout`, `Cancel`, `Expired`, `Returned` and `error`.

    Wrong:

        event Timeout {}
        machine order {
          initial Done
          final Done success {}
        }

    Right:

        event TimedOut {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on TimedOut
        }
    """
    for item in source.file.items:
        if isinstance(item, tree.Event) and item.name.text in RESERVED_KINDS:
            yield Fault(
                item.name.span, f"`{item.name.text}` is a reserved kind of event", "give the event another name"
            )
    for _, body in file_bodies(source.file):
        for part in body:
            if isinstance(part, tree.Defer):
                for kind in part.kinds:
                    if kind.text in RESERVED_KINDS:
                        yield Fault(kind.span, f"`{kind.text}` is the engine's own and cannot be deferred", "remove it")
            elif isinstance(part, tree.Transition):
                for kind in part.kinds:
                    if kind.text in RESERVED_KINDS - DELIVERED:
                        hint = f"of the reserved kinds, transitions are on {', '.join(sorted(DELIVERED))}"
                        yield Fault(kind.span, f"`{kind.text}` never comes to a transition", hint)


@rule("version_invalid", ERROR)
def version_invalid(source: FileFacts) -> Iterator[Fault]:
    """A machine's version is not a whole number from 1 (language 2).

    Wrong:

        machine order version 0 {
          initial Done
          final Done success {}
        }

    Right:

        machine order version 1 {
          initial Done
          final Done success {}
        }
    """
    for item in source.file.items:
        if isinstance(item, tree.Machine) and not is_version(item.version):
            message = f"`{item.version}` is no version of a machine"
            yield Fault(item.version_span or item.name.span, message, "versions are whole numbers and start at 1")


RULES = (duplicate_declaration, bad_name, reserved_event, version_invalid)
