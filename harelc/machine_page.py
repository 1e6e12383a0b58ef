"""A machine as a Markdown page, made for reading in a pull request (build.md section 1, the setting `docs`).

The diagram, then states, transitions, timers, events, context and handlers as tables; machines written inside follow in
sections of their own. The template lays out what is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from jinja2 import Template

from harel.definition import Definition, with_inline

from . import aspects, words
from .diagram import mermaid
from .markdown import code, prose
from .templating import read_template

Rows = Sequence[tuple[str, ...]]
"""The rows of a table; every cell is Markdown already."""


def machine_page(definition: Definition) -> str:
    """The page of a machine, from its title on. The same definition gives the same text, on every system."""
    machines = [_machine(machine, "##" if machine is definition else "###") for machine in with_inline([definition])]
    return _template().render(machines=machines)


@cache
def _template() -> Template:
    return read_template("machine.md.jinja", {"code": code, "prose": prose})


def _machine(definition: Definition, level: str) -> dict[str, object]:
    docs = {(doc.subject, doc.name): doc.text for doc in definition.docs}
    return {
        "level": level,
        "name": definition.id,
        "version": definition.version,
        "digest": definition.digest,
        "doc": docs.get(("machine", definition.id), ""),
        "diagram": mermaid(definition).rstrip("\n"),
        "tables": [table for table in _tables(definition, docs) if table[2]],
    }


def _tables(definition: Definition, docs: dict[tuple[str, str], str]) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """Title, heads and rows of each table; one without rows is left out of the page."""
    yield "States", ("State", "Kind", "What it does", "Notes"), list(_states(definition, docs))
    yield "Transitions", ("From", "On", "If", "To", "Sets", "Notes"), list(_transitions(definition, docs))
    yield "Timers", ("State", "After", "Then"), list(_timers(definition))
    yield "Events", ("Event", "Fields", "Handled in", "Notes"), list(_events(definition, docs))
    yield "Context", ("Key", "Type", "Default"), list(_context(definition))
    yield "Guards", ("Guard", "Means", "Notes"), list(_guards(definition, docs))
    yield "Handlers", ("Handler", "Bound to", "Called by"), list(_handlers(definition))


def _states(definition: Definition, docs: dict[tuple[str, str], str]) -> Iterator[tuple[str, ...]]:
    for index, path in enumerate(definition.paths):
        found = dict(aspects.state_aspects(definition, index))
        kind = "region" if definition.is_region(index) else found["kind"]
        del found["kind"]
        if index == 0 and not found:
            continue
        does = "<br>".join(f"{aspect} {code(text)}" for aspect, text in found.items())
        yield _state(definition, path), kind, does, prose(docs.get(("state", path), ""))


def _transitions(definition: Definition, docs: dict[tuple[str, str], str]) -> Iterator[tuple[str, ...]]:
    for index, transition in enumerate(definition.transitions):
        note = prose(docs.get(("transition", str(index)), ""))
        guard = "" if transition.guard is None else words.predicate(transition.guard)
        selector = "" if transition.selector is None else f"select {words.call(transition.selector)}"
        source = _state(definition, definition.paths[transition.source])
        for number, branch in enumerate(transition.branches):
            tests = (guard, selector, aspects.branch_test(transition, branch))
            sets = (*transition.sets, *branch.sets)
            yield (
                source,
                code(aspects.kinds(transition)) or _AUTOMATIC[transition.form == "join"],
                ", ".join(code(test) for test in tests if test),
                code(aspects.target(definition, branch)),
                ", ".join(code(words.assignment(assign)) for assign in sets),
                "" if number else note,
            )


_AUTOMATIC = ("(at once)", "(its children have ended)")
"""When an automatic transition is taken, and when a join."""


def _timers(definition: Definition) -> Iterator[tuple[str, ...]]:
    if definition.ttl is not None:
        then = _targets(definition, 0, "Expired")
        yield f"{code(definition.id)} (ttl)", code(words.delay(definition.ttl)), then or "(cancelled)"
    for index, path in enumerate(definition.paths):
        delay = aspects.timer(definition, index)
        if delay is not None:
            handlers = (_targets(definition, level, "Timeout") for level in definition.outwards(index))
            yield code(path), code(delay), next(filter(None, handlers), "(nothing)")


def _targets(definition: Definition, index: int, kind: str) -> str:
    """Where the transitions of one state lead to on an event, in the order in which they are tried."""
    transitions = (each for each in definition.own_transitions[index] if kind in each.kinds)
    targets = (aspects.target(definition, branch) for each in transitions for branch in each.branches)
    return ", ".join(code(target) for target in dict.fromkeys(targets))


def _events(definition: Definition, docs: dict[tuple[str, str], str]) -> Iterator[tuple[str, ...]]:
    handled: dict[str, dict[str, None]] = {}
    for transition in definition.transitions:
        for kind in transition.kinds:
            handled.setdefault(kind, {})[_state(definition, definition.paths[transition.source])] = None
    for index, state in enumerate(definition.states):
        for kind in state.defers:
            handled.setdefault(kind, {})[f"{_state(definition, definition.paths[index])} (deferred)"] = None
    for kind, event in definition.events.items():
        fields = ", ".join(code(f"{words.name(field.name)}: {aspects.field(field)}") for field in event.fields)
        places = ", ".join(handled.get(kind, ()))
        yield code(words.name(kind)), fields, places or "(nowhere)", prose(docs.get(("event", kind), ""))


def _context(definition: Definition) -> Iterator[tuple[str, ...]]:
    for key, field in (definition.context or {}).items():
        default = words.value(field.default[0]) if field.default else ""
        yield code(words.name(key)), code(f"{field.type}{'?' if field.optional else ''}"), code(default)


def _guards(definition: Definition, docs: dict[tuple[str, str], str]) -> Iterator[tuple[str, ...]]:
    for key, tree in definition.guards.items():
        yield code(words.name(key.partition("@")[0])), code(words.predicate(tree)), prose(docs.get(("guard", key), ""))


def _handlers(definition: Definition) -> Iterator[tuple[str, ...]]:
    callers: dict[str, dict[str, None]] = {}
    for call, index, when in aspects.handlers(definition):
        place = f"{_state(definition, definition.paths[index])} {code(when)}"
        callers.setdefault(call.name, {})[place] = None
    for name, places in callers.items():
        bound = name if "." in name else definition.binds.get(name, "")
        yield code(name), code(bound) or "(by the program)", ", ".join(places)


def _state(definition: Definition, path: str) -> str:
    return code(aspects.place(definition, path))
