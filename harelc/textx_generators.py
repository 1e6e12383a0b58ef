"""What `textx generate order.stm --target …` can make of a source (build.md section 5).

textX finds the generators by the distribution's entry points. `harel-python` writes what `harelc build` writes; the
others draw each machine. As with every generator of textX a file that exists is replaced with `--overwrite` only; a
module that harelc has not made is never replaced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from harel.definition import Definition

from . import announce, diagram
from .build import apply, prepare
from .console import Refusal, describe
from .outputs import write_atomically
from .project import plan, shown
from .pynames import module_name
from .textx_language import NAME, Model, judge, refused

_log = logging.getLogger(__name__)

Generator = Callable[[object, Model, str | None, bool, bool], None]
"""What textX calls: the meta-model, a model, the folder for the files, `--overwrite`, `--debug`."""


def build(_metamodel: object, model: Model, output_path: str | None, overwrite: bool, _debug: bool) -> None:
    """Build the model's file as `harelc build` does, into the given folder or the settings'.

    Raises:
        TextXSemanticError: it has errors, a file is in the way, or one cannot be written.
    """
    try:
        planned = plan((_file(model),), None if output_path is None else Path(output_path))
        prepared = prepare(planned, force=False, processes=1, progress=announce.progress)
        judge([issue for issue in prepared.issues if issue.is_error], {})
        for path in prepared.in_the_way:
            raise refused(f"{shown(path)} was not made by harelc: move it, or choose another output")
        changes = tuple(
            change for change in prepared.changes if _is_free(change.path, change.old is not None, overwrite)
        )
        apply(replace(prepared, changes=changes))
    except Refusal as refusal:
        raise refused(str(refusal)) from None
    except OSError as error:
        raise refused(describe(error)) from None
    for change in changes:
        _log.info("-> %s", shown(change.path))


def drawing(draw: Callable[[Definition], str], suffix: str) -> Generator:
    """A generator that draws each machine of the model's file, into the given folder or beside the file."""

    def generate(_metamodel: object, model: Model, output_path: str | None, overwrite: bool, _debug: bool) -> None:
        folder = _file(model).parent if output_path is None else Path(output_path)
        for name, definition in model.definitions.items():
            path = folder / f"{module_name(name)}{suffix}"
            if not _is_free(path, path.exists(), overwrite):
                continue
            try:
                folder.mkdir(parents=True, exist_ok=True)
                write_atomically(path, draw(definition))
            except OSError as error:
                raise refused(describe(error)) from None
            _log.info("-> %s", shown(path))

    return generate


def _file(model: Model | None) -> Path:
    if model is None or model.file is None:
        raise refused("name the .stm file to generate from")
    return model.file


def _is_free(path: Path, exists: bool, overwrite: bool) -> bool:
    if exists and not overwrite:
        _log.warning("-- NOT overwriting: %s", shown(path))
        return False
    return True


class _TextX(Protocol):
    """What is used of textX, which carries no types of its own."""

    def GeneratorDesc(self, language: str, target: str, description: str, generator: Generator) -> object: ...


_TEXTX = cast(_TextX, import_module("textx"))

python = _TEXTX.GeneratorDesc(NAME, "harel-python", "Typed Python modules and Mermaid diagrams", build)
plantuml = _TEXTX.GeneratorDesc(NAME, "PlantUML", "PlantUML diagrams", drawing(diagram.plantuml, ".puml"))
dot = _TEXTX.GeneratorDesc(NAME, "dot", "Graphviz diagrams", drawing(diagram.dot, ".dot"))
