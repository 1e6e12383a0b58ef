"""Rules about what may stand in which body (language.md section 3), read off one file as it is written.

They need no look-up, so they also see what nothing uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import tree
from ..diagnostics import ERROR, WARNING
from .facts import FileFacts
from .registry import Fault, rule
from .walk import Owner, called, file_bodies, has_states, head


@rule("missing_initial", ERROR)
def missing_initial(source: FileFacts) -> Iterator[Fault]:
    """A body with states does not say where it begins (language 3, 6).

    A machine, and a state that has states, names one of its direct children as `initial`. An orthogonal state needs
    none: all its regions begin together.

    Wrong:

        event Go {}
        machine order {
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        machine order {
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }
    """
    for owner, body in file_bodies(source.file):
        is_machine = isinstance(owner, tree.Machine) or (isinstance(owner, tree.Invoke) and owner.body is not None)
        if _is_orthogonal(owner) or not (is_machine or has_states(body)):
            continue
        if not any(isinstance(part, tree.Initial) for part in body):
            names = [part.name.text for part in body if isinstance(part, (tree.State, tree.Use))]
            hint = f"add `initial {names[0]}`, or another of its states" if names else "add a state and `initial STATE`"
            yield Fault(head(owner), f"{called(owner)} does not say where it begins", hint)


@rule("outcome_on_composite", ERROR)
def outcome_on_composite(source: FileFacts) -> Iterator[Fault]:
    """An outcome stands at something that has states of its own (language 3, 6).

    An outcome is the verdict of a terminal, a leaf in which the way ends. A machine or a composite ends with its
    inside, and takes the verdict of the terminal in there. Move the outcome to that terminal.

    Wrong:

        event Go {}
        machine order {
          initial Work
          state Work {
            outcome success
            initial A
            state A {}
            final B success {}
            from A to B on Go
          }
        }

    Right:

        event Go {}
        machine order {
          initial Work
          state Work {
            initial A
            state A {}
            final B success {}
            from A to B on Go
          }
        }
    """
    for owner, body in file_bodies(source.file):
        is_outer = isinstance(owner, (tree.Machine, tree.Invoke)) or _is_orthogonal(owner) or has_states(body)
        if not is_outer:
            continue
        places = [part.span for part in body if isinstance(part, tree.Outcome)]
        if isinstance(owner, tree.State) and owner.verdict is not None:
            places.append(owner.verdict.span)
        for span in places:
            yield Fault(
                span, f"{called(owner)} is no terminal: it has states of its own", "give the outcome to one of them"
            )


@rule("invoke_on_composite", ERROR)
def invoke_on_composite(source: FileFacts) -> Iterator[Fault]:
    """Something that has states of its own invokes a machine (language 5.8).

    While a machine is invoked its state waits; it cannot run an inside at the same time. Put the `invoke` into a leaf.

    Wrong:

        event Go {}
        machine order {
          initial Work
          state Work {
            invoke payment
            initial A
            state A {}
            from A to A on Go
          }
          final Done success {}
          from Work to Done on Returned
        }
        machine payment {
          initial Paid
          final Paid success {}
        }

    Right:

        machine order {
          initial Work
          state Work {
            initial Paying
            state Paying { invoke payment }
          }
          final Done success {}
          from Work to Done on Returned
        }
        machine payment {
          initial Paid
          final Paid success {}
        }
    """
    for owner, body in file_bodies(source.file):
        if isinstance(owner, (tree.Machine, tree.Invoke)) or _is_orthogonal(owner) or has_states(body):
            for part in body:
                if isinstance(part, tree.Invoke):
                    message = f"{called(owner)} has states of its own and cannot invoke a machine"
                    yield Fault(part.span, message, "put the `invoke` into a leaf state")


@rule("orthogonal_child", ERROR)
def orthogonal_child(source: FileFacts) -> Iterator[Fault]:
    """A child of an orthogonal state is no plain `state` (language 3, 6).

    The children of an orthogonal state are its regions, and a region is a composite or leaf `state`. A `final` or
    another `orthogonal` goes inside a region.

    Wrong:

        machine order {
          initial Checks
          orthogonal Checks {
            final Fine success {}
          }
          final Done success {}
          from Checks to Done
        }

    Right:

        machine order {
          initial Checks
          orthogonal Checks {
            state Stock { initial Fine  final Fine success {} }
          }
          final Done success {}
          from Checks to Done
        }
    """
    for owner, body in file_bodies(source.file):
        if not _is_orthogonal(owner):
            continue
        for part in body:
            if isinstance(part, tree.State) and part.keyword != "state":
                message = f"the region `{part.name.text}` is `{part.keyword}`, not `state`"
                hint = "write `state " + part.name.text + " { … }` and put it inside"
                yield Fault(tree.Span(part.span.file, part.span.start, part.name.span.end), message, hint)


@rule("ttl_not_machine", ERROR)
def ttl_not_machine(source: FileFacts) -> Iterator[Fault]:
    """A `ttl` stands in a state (language 3, 6).

    The time to live belongs to a whole execution and stands at the machine. For one state use `timeout`.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart { ttl 60 }
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        machine order {
          ttl 60
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }
    """
    for owner, body in _not_machines(source):
        for part in body:
            if isinstance(part, tree.Ttl):
                yield Fault(part.span, f"`ttl` stands in {called(owner)}", "move it to the machine, or write `timeout`")


@rule("context_not_machine", ERROR)
def context_not_machine(source: FileFacts) -> Iterator[Fault]:
    """A `context` block stands in a state (language 3, 6).

    An execution has one context, and the machine declares its keys. Move the keys to the machine's `context`.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart { context { n: int = 0 } }
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        machine order {
          context { n: int = 0 }
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }
    """
    for owner, body in _not_machines(source):
        for part in body:
            if isinstance(part, tree.Context):
                yield Fault(
                    part.span, f"`context` stands in {called(owner)}", "move its keys to the machine's `context`"
                )


@rule("timeout_on_machine", ERROR)
def timeout_on_machine(source: FileFacts) -> Iterator[Fault]:
    """A `timeout` stands at the machine (language 3, 6).

    A timer is armed by entering a state. The time that a whole execution has is its `ttl`.

    Wrong:

        event Go {}
        machine order {
          timeout 60
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        machine order {
          ttl 60
          initial Cart
          state Cart {}
          final Done success {}
          from Cart to Done on Go
        }
    """
    for owner, body in file_bodies(source.file):
        if isinstance(owner, (tree.Machine, tree.Invoke)):
            for part in body:
                if isinstance(part, tree.Timeout):
                    hint = "write `ttl`, or move it to a state"
                    yield Fault(part.span, f"`timeout` stands at {called(owner)}, not at a state", hint)


@rule("with_without_children", WARNING)
def with_without_children(source: FileFacts) -> Iterator[Fault]:
    """A `with` stands where no child is started (language 3, 6).

    `with` passes values to the regions of an orthogonal state or to an invoked machine. Elsewhere nobody receives them.

    Wrong:

        event Go {}
        machine order {
          context { total: int = 0 }
          initial Cart
          state Cart { with { amount: total } }
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        machine order {
          context { total: int = 0 }
          initial Paying
          state Paying { invoke payment with { amount: total } }
          final Done success {}
          from Paying to Done on Returned
        }
        machine payment {
          context { amount: int = 0 }
          initial Paid
          final Paid success {}
        }
    """
    for owner, body in file_bodies(source.file):
        if _is_orthogonal(owner) or any(isinstance(part, tree.Invoke) for part in body):
            continue
        for part in body:
            if isinstance(part, tree.With):
                message = f"{called(owner)} starts no child that could receive this"
                yield Fault(part.span, message, "`with` belongs to an orthogonal state or beside an `invoke`")


def _not_machines(source: FileFacts) -> Iterator[tuple[Owner, tuple[tree.Statement, ...]]]:
    for owner, body in file_bodies(source.file):
        if isinstance(owner, (tree.State, tree.Fragment)):
            yield owner, body


def _is_orthogonal(owner: Owner) -> bool:
    return isinstance(owner, tree.State) and owner.keyword == "orthogonal"


RULES = (
    missing_initial,
    outcome_on_composite,
    invoke_on_composite,
    orthogonal_child,
    ttl_not_machine,
    context_not_machine,
    timeout_on_machine,
    with_without_children,
)
