"""One source into the texts of its modules, diagrams and pages: the whole compiler as one function (design.md).

It runs in the build's own process or in a worker's, so what goes in and comes out is plain data. It reads sources and
writes nothing.
"""

from __future__ import annotations

from harel.issue import Issue

from . import tree
from .clashes import name_clashes
from .compiler import compile_file
from .diagram import mermaid
from .emit import emit_module
from .machine_page import machine_page
from .project import Job
from .pynames import module_name
from .records import Record


class Module(Record):
    """A machine's generated files: its name, the module's file name without `.py`, where it is declared, the texts.

    `page` is `None` where none is wanted.
    """

    machine: str
    stem: str
    line: int
    column: int
    text: str
    diagram: str
    page: str | None


class Translation(Record):
    """What a source came to. `inputs` are the texts of all files read, by name; with an error there are no modules."""

    inputs: tuple[tuple[str, str], ...]
    issues: tuple[Issue, ...]
    modules: tuple[Module, ...]

    @property
    def is_broken(self) -> bool:
        return any(issue.is_error for issue in self.issues)


def translate(job: Job) -> Translation:
    """Compile a source and write its modules' texts."""
    compilation = compile_file(job.real, root=job.root)
    inputs = tuple((name, source.text) for name, source in compilation.sources.items())
    issues = (*compilation.issues, *name_clashes(compilation))
    if compilation.unit is None or any(issue.is_error for issue in issues):
        return Translation(inputs, issues, ())
    machines = [item for item in compilation.unit.file.items if isinstance(item, tree.Machine)]
    places = {machine.name.text: machine.name.span for machine in machines}
    modules = []
    for name, definition in compilation.definitions.items():
        line, column = compilation.sources[places[name].file].place(places[name].start)
        text = emit_module(definition, source_name=job.name)
        page = machine_page(definition) if job.docs else None
        modules.append(Module(name, module_name(name), line, column, text, mermaid(definition), page))
    return Translation(inputs, issues, tuple(modules))
