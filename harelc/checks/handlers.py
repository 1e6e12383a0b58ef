"""The rule about handlers that a program must bind (language.md section 6, edges.md).

It holds only where a fully bound build is asked for: otherwise the program binds what a source leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import tree
from ..diagnostics import ERROR
from .facts import Facts
from .registry import Fault, rule


@rule("unbound_handler", ERROR)
def unbound_handler(facts: Facts) -> Iterator[Fault]:
    """A handler is bound to nothing (language 3, 6).

    Where a fully bound build is asked for, each handler's name has an entry in `bind`, or is a dotted path itself.
    Otherwise the program that runs the machine binds the rest.

    Wrong:

        event Go {}
        machine order {
          initial Cart
          state Cart { on exit charge }
          final Done success {}
          from Cart to Done on Go
        }

    Right:

        event Go {}
        bind { charge = shop.payments.charge }
        machine order {
          initial Cart
          state Cart { on exit charge }
          final Done success {}
          from Cart to Done on Go
        }
    """
    seen: set[str] = set()
    for action in _actions(facts):
        name = action.name.text
        if not action.name.is_dotted and (action.span.file, name) not in facts.machine.bind_of and name not in seen:
            seen.add(name)
            hint = f"add `bind {{ {name} = package.module.{name} }}`, or write the dotted path here"
            yield Fault(action.name.span, f"the handler `{name}` is bound to nothing", hint)


def _actions(facts: Facts) -> Iterator[tree.Action]:
    """Every handler that the machine calls."""
    for state in facts.states:
        for part in state.body:
            if isinstance(part, tree.Hook):
                yield part.action
    for transition in facts.machine.transitions:
        if transition.node.selector is not None:
            yield transition.node.selector


BOUND_RULES = (unbound_handler,)
