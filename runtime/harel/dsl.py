"""From `.stm` text to definitions at run time: the only door from the runtime to the compiler (design.md, Directions).

The compiler is imported when one of these functions is called, and not before; an application that ships generated
modules never calls them. One compiler, one meaning: what comes out equals the generated module's `DEFINITION`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .definition import Definition
from .errors import DslError, ValidationError
from .issue import Issue
from .versions import definition_registry

if TYPE_CHECKING:
    from harelc.compiler import Compilation

Functions = Mapping[str, Callable[..., Any]]


def definition_from_dsl(
    text: str,
    name: str | None = None,
    *,
    base_path: str | Path | None = None,
    actions: Functions | None = None,
    guards: Functions | None = None,
    validate: bool = False,
) -> Definition:
    """The definition of a machine in a `.stm` text, with the program's handlers bound.

    Args:
        text: the source.
        name: the machine; may be left out where the text declares one only.
        base_path: the folder from which imports are read.
        actions: functions for the handlers that `bind` leaves open.
        guards: functions for guards that the text names and does not declare: `fn(context, event_data) -> bool`.
        validate: refuse a machine that the checker finds an error in, even if it could run.

    Raises:
        DslError: the text cannot be compiled, has no such machine, or a handler is bound to nothing; `issues` holds
        what
            was found.
        ValidationError: with `validate`, the checker found errors.
    """
    compilation = _compiler().compile_text(text, base=_folder(base_path), guards=guards or ())
    return _chosen(compilation, name, actions, guards, validate)


def definition_from_dsl_file(
    path: str | Path,
    name: str | None = None,
    *,
    base_path: str | Path | None = None,
    actions: Functions | None = None,
    guards: Functions | None = None,
    validate: bool = False,
) -> Definition:
    """The definition of a machine in a `.stm` file; parameters and errors are those of `definition_from_dsl`.

    `base_path` is the folder that imports may not leave; that of the project around the file where it is left out.
    """
    compilation = _compile_file(path, base_path, guards or ())
    return _chosen(compilation, name, actions, guards, validate)


def validate(text: str, *, base_path: str | Path | None = None) -> tuple[Issue, ...]:
    """Everything the checker finds in a text, in order of place: what `harelc check` says."""
    found: tuple[Issue, ...] = _compiler().compile_text(text, base=_folder(base_path)).issues
    return found


def validate_or_raise(text: str, *, base_path: str | Path | None = None) -> tuple[Issue, ...]:
    """The warnings of a text without errors. Raises `ValidationError` where there is an error."""
    compilation = _compiler().compile_text(text, base=_folder(base_path))
    _refuse_errors(compilation)
    found: tuple[Issue, ...] = compilation.issues
    return found


def validate_file(path: str | Path, *, base_path: str | Path | None = None) -> tuple[Issue, ...]:
    """Everything the checker finds in a file; `base_path` is that of `definition_from_dsl_file`."""
    return _compile_file(path, base_path).issues


def read_text(text: str, *, base_path: str | Path | None = None) -> tuple[Definition, ...]:
    """Every machine declared in a text, handlers left open. Raises `ValidationError` where it has an error."""
    return _declared(_compiler().compile_text(text, base=_folder(base_path)))


def read_file(path: str | Path, *, base_path: str | Path | None = None) -> tuple[Definition, ...]:
    """Every machine declared in a file, handlers left open; `base_path` and errors as of `definition_from_dsl_file`.

    Raises:
        ValidationError: the file has an error.
    """
    return _declared(_compile_file(path, base_path))


def read_definitions(folder: str | Path) -> tuple[Definition, ...]:
    """Every machine declared in the `.stm` files below a folder, by file and place, handlers left open.

    Hidden folders and virtual environments are passed over; imports may not leave the project around the folder.

    Raises:
        DslError: there is no such folder or no source in it, or a source has an error.
    """
    paths = _sources(Path(folder))
    if not paths:
        raise DslError(f"no .stm file is below {str(folder)!r}: name a folder with sources")
    root = _project(Path(folder))
    definitions: list[Definition] = []
    for path in paths:
        definitions += read_file(path, base_path=root)
    return tuple(definitions)


def load_definitions(folder: str | Path) -> dict[tuple[str, int], Definition]:
    """The machines below a folder by (id, version), as a runner takes them.

    Raises:
        DslError: as of `read_definitions`, or one version of a machine is there twice with different content.
    """
    return definition_registry(read_definitions(folder))


def render(definition: Definition) -> str:
    """The Mermaid diagram of a machine."""
    try:
        from harelc.diagram import mermaid
    except ImportError as error:
        raise _missing(error) from error
    return mermaid(definition)


def _compiler() -> Any:
    try:
        from harelc import compiler
    except ImportError as error:
        raise _missing(error) from error
    return compiler


def _compile_file(path: str | Path, base_path: str | Path | None, guards: Iterable[str] = ()) -> Compilation:
    compiler = _compiler()
    try:
        root = _project(Path(path)) if base_path is None else Path(base_path)
        compilation: Compilation = compiler.compile_file(Path(path), root=root, guards=guards)
    except ValueError as error:
        raise DslError(str(error)) from error
    return compilation


def _sources(folder: Path) -> list[Path]:
    """The sources below a folder, in order, as the commands find them. Raises `DslError` where there is no folder."""
    _compiler()
    from harelc.console import Refusal
    from harelc.project import find_sources

    try:
        return list(find_sources([folder]))
    except Refusal as error:
        raise DslError(str(error)) from error


def _project(path: Path) -> Path:
    """The folder of the project around a file, as the commands find it. Raises `DslError` for wrong settings."""
    from harelc.console import Refusal
    from harelc.project import find_project

    try:
        root = find_project(path).root
    except Refusal as error:
        raise DslError(str(error)) from error
    is_inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    return root if is_inside else path.parent


def _missing(error: ImportError) -> DslError:
    if error.name is not None and error.name.partition(".")[0] not in (
        "harelc",
        "textx",
        "arpeggio",
        "jinja2",
        "black",
    ):
        raise error
    return DslError("compiling .stm sources needs the compiler: pip install harelc")


def _folder(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _chosen(
    compilation: Compilation, name: str | None, actions: Functions | None, guards: Functions | None, validate: bool
) -> Definition:
    if validate:
        _refuse_errors(compilation)
    if compilation.blocked:
        raise _refusal(compilation)
    definition = _named(compilation, name).bound(actions, guards)
    _refuse_unbound(definition)
    return definition


def _named(compilation: Compilation, name: str | None) -> Definition:
    declared = [] if compilation.unit is None else [machine.id for machine in compilation.unit.machines]
    listed = ", ".join(declared) or "none"
    if name is None and len(declared) != 1:
        raise DslError(f"which machine? {compilation.entry} declares {listed}: pass its name")
    chosen = declared[0] if name is None else name
    if chosen not in declared:
        raise DslError(f"{compilation.entry} declares no machine {name!r}; it declares {listed}")
    if chosen not in compilation.definitions:
        raise _refusal(compilation)
    return compilation.definitions[chosen]


def _refusal(compilation: Compilation) -> DslError:
    return DslError(_report(compilation.issues, compilation), compilation.issues)


def _declared(compilation: Compilation) -> tuple[Definition, ...]:
    _refuse_errors(compilation)
    return tuple(compilation.definitions.values())


def _refuse_errors(compilation: Compilation) -> None:
    errors = tuple(issue for issue in compilation.issues if issue.is_error)
    if errors:
        raise ValidationError(_report(errors, compilation), errors)


def _refuse_unbound(definition: Definition) -> None:
    names: dict[str, None] = {}
    machines = [definition]
    while machines:
        machine = machines.pop()
        names.update((name, None) for name in machine.handlers if name not in machine.actions)
        names.update((name, None) for name in machine.open_guards if name not in machine.predicates)
        machines += machine.inline
    if names:
        listed = ", ".join(names)
        raise DslError(
            f"machine {definition.id} calls {listed}, which nothing binds: pass actions={{…}} (guards={{…}} for "
            "guards), or write `bind { NAME = package.module.function }` in the source"
        )


def _report(issues: tuple[Issue, ...], compilation: Compilation) -> str:
    from harelc.report import text

    return text(issues, compilation.sources, False).rstrip()
