"""The parts of a machine in words: what a state has, a transition, a field (language.md sections 2 to 4).

A page shows these texts and a comparison sets them side by side. They are written as in the source, on one line;
targets are full paths, and the machine itself goes by its name. Who prints them escapes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from harel.definition import Assign, Branch, Call, Definition, EventType, Field, State, Transition

from . import words


def state_aspects(definition: Definition, index: int) -> Mapping[str, str]:
    """What the state is and has, by the word for it; what it lacks is left out. Its timer is not among them."""
    state = definition.states[index]
    initial = definition.states[state.initial].name if state.initial >= 0 else ""
    found = {
        "kind": state.kind,
        "initial": initial and words.name(initial),
        "on enter": calls(state.on_enter),
        "on exit": calls(state.on_exit),
        "on activity": calls(state.on_activity),
        "outcome": words.name(state.outcome) if state.outcome is not None else "",
        "defer": _names(state.defers),
        "carry": _names(state.carry),
        "invoke": invocation(state),
        "with": ", ".join(sorted(f"{words.name(key)}: {words.operand(value)}" for key, value in state.passes)),
        "history": "not kept" if state.no_history else "",
        "on failure": "cancel the others" if state.cancel_on_failure else "",
    }
    return {aspect: text for aspect, text in found.items() if text}


def calls(called: Iterable[Call]) -> str:
    """Calls in the order in which they run."""
    return ", ".join(map(words.call, called))


def invocation(state: State) -> str:
    """The machine that the state starts, in its version; "" where there is none."""
    if state.invoke is None:
        return ""
    inline = ":" in state.invoke.machine
    text = words.invocation(state.invoke).removeprefix("invoke ")
    return text if inline else f"{text} (version {state.invoke.version})"


def timer(definition: Definition, index: int) -> str | None:
    """The delay of the state's timer, or `None`."""
    delay = definition.states[index].timeout
    return None if delay is None else words.delay(delay)


def transition_text(definition: Definition, transition: Transition) -> str:
    """The transition as in the source, from behind the name of its source on."""
    when = trigger(transition)
    branches = [branch_text(definition, transition, branch) for branch in transition.branches]
    if transition.form == "to":
        return " ".join(filter(None, (f"to {target(definition, transition.branches[0])}", when)))
    if transition.form == "join":
        return " ".join(filter(None, (*branches, when)))
    word = "choose" if transition.form == "choose" else ""
    return " ".join(filter(None, (word, when, f"{{ {'  '.join(branches)} }}")))


def trigger(transition: Transition) -> str:
    """What sets a transition off, its guard, its selector and its own assignments."""
    on = kinds(transition)
    parts = (
        f"select {words.call(transition.selector)}" if transition.selector else "",
        f"on {on}" if on else "",
        f"where {words.predicate(transition.guard)}" if transition.guard is not None else "",
        assignments(transition.sets),
    )
    return " ".join(filter(None, parts))


def branch_text(definition: Definition, transition: Transition, branch: Branch) -> str:
    """One way out: what chooses it, its target and its own assignments."""
    parts = [branch_test(transition, branch), f"to {target(definition, branch)}", assignments(branch.sets)]
    return " ".join(filter(None, parts))


def branch_test(transition: Transition, branch: Branch) -> str:
    """What chooses a branch; "" where there is nothing to choose."""
    if transition.form == "to":
        return ""
    if branch.test is None:
        return "else"
    if transition.form == "choose":
        return f"when {words.predicate(branch.test)}"
    return words.value(branch.test) if transition.form == "select" else f"join {branch.test}"


def target(definition: Definition, branch: Branch) -> str:
    """Where a branch leads to."""
    return place(definition, definition.paths[branch.target])


def place(definition: Definition, path: str) -> str:
    """A state's path as in the source; the machine's own is its name."""
    return way(path) or definition.id


def way(path: str) -> str:
    """A path as in the source: names that need it are quoted."""
    return ".".join(map(words.name, path.split("."))) if path else ""


def kinds(transition: Transition) -> str:
    """The kinds of events that set a transition off; "" for an automatic one."""
    return " | ".join(map(words.name, transition.kinds))


def assignments(sets: Iterable[Assign]) -> str:
    """The assignments of a transition or a branch; "" where there are none."""
    text = ", ".join(f"context.{words.assignment(assign)}" for assign in sets)
    return f"set {text}" if text else ""


def field(declared: Field) -> str:
    """The type of a field or of a key of the context, with its default."""
    optional = "?" if declared.optional else ""
    default = f" = {words.value(declared.default[0])}" if declared.default else ""
    return f"{declared.type}{optional}{default}"


def fields(event: EventType) -> str:
    """The fields of an event kind; "" where it has none."""
    return ", ".join(f"{words.name(declared.name)}: {field(declared)}" for declared in event.fields)


def handlers(definition: Definition) -> Iterator[tuple[Call, int, str]]:
    """Every call the machine can make, with the state it belongs to and when it is made."""
    for index, state in enumerate(definition.states):
        for when, called in (("enter", state.on_enter), ("exit", state.on_exit), ("activity", state.on_activity)):
            yield from ((call, index, f"on {when}") for call in called)
        for transition in definition.own_transitions[index]:
            if transition.selector:
                yield transition.selector, index, f"select {kinds(transition)}".rstrip()


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(map(words.name, names)))
