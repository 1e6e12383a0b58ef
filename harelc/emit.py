"""A definition as the text of a Python module (build.md section 3).

The template lays out what `interface.py` and this module decided, then black has the last word on the layout. The
tables go in after that: black is the dearest stage of a build, and it would leave them alone between `fmt: off` and
`fmt: on`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from black import format_str
from black.mode import Mode as Layout
from black.mode import TargetVersion
from jinja2 import Template

from harel.definition import TABLES, TABLES_FORMAT, Definition, Doc, with_inline

from .diagram import mermaid
from .interface import EventClass, Import, Key, Method, context_keys, event_classes, fits_class, imports, methods
from .outputs import printable
from .pyliterals import WIDTH, Shallow, docstring, literal, one_per_line
from .templating import read_template

_MODE = Layout(target_versions={TargetVersion.PY311}, line_length=WIDTH)
_TYPES_MARK = "# types go here"
_TABLES_MARK = "# tables go here"


def emit_module(definition: Definition, *, source_name: str) -> str:
    """The module of a machine; `source_name` is its source relative to the project, with `/`.

    The same definition and name give the same text, on every system. Its `DEFINITION` equals the given one.

    Raises:
        NameClash: two events, handlers, fields or inputs would be one Python name.
    """
    events = event_classes(definition)
    handlers = methods(definition)
    functions = imports(definition)
    keys = None if definition.context is None else context_keys(definition)
    text = _template().render(
        definition=definition,
        source=source_name,
        doc="\n".join(_documentation(definition)),
        tables_format=TABLES_FORMAT,
        events=events,
        methods=handlers,
        imports=functions,
        keys=keys,
        class_form=keys is not None and fits_class(keys),
        typing=_typing_names(definition, events, handlers, functions, keys),
        harel=["Definition", "Event"] if events or handlers or functions else ["Definition"],
        generated=_generated_names(events, handlers),
        types_mark=_TYPES_MARK,
        tables_mark=_TABLES_MARK,
    )
    head, middle = _split(format_str(text, mode=_MODE))
    return "\n".join([head, *_off(_types(definition)), middle, *_off(_tables(definition)), ""])


def _split(text: str) -> tuple[str, str]:
    """What stands before the first mark, and before the second. No line of a docstring begins with a bare hash."""
    head, _, rest = text.partition(f"\n{_TYPES_MARK}\n")
    return head, rest.removesuffix(f"\n{_TABLES_MARK}\n")


def _off(lines: Iterable[str]) -> Iterator[str]:
    yield "# fmt: off"
    yield from lines
    yield "# fmt: on"


@cache
def _template() -> Template:
    return read_template("module.py.jinja", {"literal": literal, "docstring": docstring, "printable": printable})


# --- imports


def _typing_names(
    definition: Definition,
    events: tuple[EventClass, ...],
    handlers: tuple[Method, ...],
    functions: tuple[Import, ...],
    keys: tuple[Key, ...] | None,
) -> list[str]:
    """The names of `typing` that the module uses, sorted as import sorters do."""
    aliases = [_aliases(definition)[name] for name in ("State", "Outcome", "EventKind")]
    parameters = [parameter.type for event in events for parameter in event.parameters]
    parameters += [parameter.type for method in handlers for parameter in method.parameters]
    parameters += [key.type for key in keys or ()]
    uses = {
        "TYPE_CHECKING": bool(handlers or functions),
        "Any": keys is None or any("Any" in kind for kind in parameters),
        "Literal": any(aliases),
        "Never": not all(aliases),
        "NotRequired": any(key.absent for key in keys or ()),
        "Protocol": True,
        "TypedDict": keys is not None,
    }
    return [name for name, is_used in uses.items() if is_used]


def _generated_names(events: tuple[EventClass, ...], handlers: tuple[Method, ...]) -> list[str]:
    names = ["ABSENT", "present"] if any(event.has_optional for event in events) else []
    return [*names, "renamed"] if any(method.renamed for method in handlers) else names


# --- types and tables


def _aliases(definition: Definition) -> dict[str, tuple[str, ...]]:
    """The strings that each alias stands for."""
    outcomes = dict.fromkeys(state.outcome for state in definition.states if state.outcome is not None)
    return {"State": definition.paths[1:], "Outcome": tuple(outcomes), "EventKind": tuple(definition.events)}


def _types(definition: Definition) -> Iterator[str]:
    """`State`, `Outcome` and `EventKind`: black need not see thousands of names."""
    for name, values in _aliases(definition).items():
        if values:
            yield f"{name} = Literal["
            yield from one_per_line(values)
            yield "]"
        else:
            yield f"{name} = Never"


def _tables(definition: Definition) -> Iterator[str]:
    """`DIAGRAM`, the tables of the machine and of those inside it, and the definitions."""
    yield "DIAGRAM = ("
    for line in mermaid(definition).splitlines(keepends=True):
        yield f"    {literal(line)}"
    yield ")"
    shallow = Shallow()
    body = list(_definition(definition, "DEFINITION", "", shallow))
    for name, rows in shallow.constants:
        yield f"{name}: tuple[object, ...] = ("
        yield from one_per_line(rows)
        yield ")"
    yield from body


def _definition(definition: Definition, name: str, prefix: str, shallow: Shallow) -> Iterator[str]:
    """The constants of one machine, those inside it first."""
    inner = []
    for number, machine in enumerate(definition.inline, 1):
        inner.append(f"_INLINE{prefix}_{number}")
        yield from _definition(machine, inner[-1], f"{prefix}_{number}", shallow)
    data = definition.to_data()
    arguments = {
        "id": literal(definition.id) if prefix else "NAME",
        "version": literal(definition.version) if prefix else "VERSION",
        "digest": literal(definition.digest) if prefix else "DIGEST",
    }
    for table in TABLES:
        rows = data[table]
        if rows is None or (not rows and table != "context"):
            continue
        arguments[table] = constant = f"_{table.upper()}{prefix}"
        if rows:
            yield f"{constant}: Rows = ("
            yield from one_per_line(shallow.cut(rows))
            yield ")"
        else:
            yield f"{constant}: Rows = ()"
    if definition.ttl is not None:
        arguments["ttl"] = literal(definition.ttl)
    if inner:
        arguments["inline"] = f"({', '.join(inner)},)"
    yield f"{name} = Definition("
    for argument, value in arguments.items():
        yield f"    {argument}={value},"
    yield ")"


# --- documentation


def _documentation(definition: Definition) -> Iterator[str]:
    """The module's docstring: what the source says of the machine, its states, guards and transitions."""
    yield f"The machine `{definition.id}`, version {definition.version}."
    for machine in with_inline([definition]):
        if machine is not definition:
            yield from ("", f"The machine `{machine.id}` inside it.")
        for doc in machine.docs:
            if doc.subject == "machine":
                yield from ("", *doc.text.strip("\n").split("\n"))
            elif doc.subject != "event":
                yield from ("", f"{_heading(machine, doc)}:", "")
                yield from (f"    {row}" if row else "" for row in doc.text.strip("\n").split("\n"))


def _heading(machine: Definition, doc: Doc) -> str:
    if doc.subject != "transition":
        return f"{doc.subject.capitalize()} `{doc.name.partition('@')[0] if doc.subject == 'guard' else doc.name}`"
    transition = machine.transitions[int(doc.name)]
    source = machine.paths[transition.source] or machine.id
    targets = dict.fromkeys(machine.paths[branch.target] or machine.id for branch in transition.branches)
    kinds = " on " + " | ".join(transition.kinds) if transition.kinds else ""
    return f"From `{source}` to {' or '.join(f'`{target}`' for target in targets)}{kinds}"
