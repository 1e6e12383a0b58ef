"""The language as textX knows it: `textx check`, `textx list-languages` (build.md section 5).

textX finds `language` by the distribution's entry points. Its commands ask it for a meta-model and that for models: the
meta-model is the grammar's own, but a model is what this compiler makes of a file, so that the findings are those of
`harelc check`.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from harel.definition import Definition
from harel.issue import Issue

from .clashes import name_clashes
from .compiler import compile_text
from .console import Refusal
from .diagnostics import Sources
from .findings import print_issues
from .given import compile_given
from .project import SUFFIX, from_here

NAME = "harel"
_GRAMMAR = Path(__file__).parent / "grammar" / "stm.tx"


@dataclass(frozen=True)
class Model:
    """A source as textX hands it from one place to the next: its file, `None` for a text, and its machines by name."""

    _tx_filename: str | None
    definitions: Mapping[str, Definition]

    @property
    def file(self) -> Path | None:
        return None if self._tx_filename is None else Path(self._tx_filename)


class _Metamodel(Protocol):
    model_from_file: Callable[..., Model]
    model_from_str: Callable[..., Model]


class _TextX(Protocol):
    """What is used of textX, which carries no types of its own."""

    LanguageDesc: Callable[..., object]
    TextXSyntaxError: Callable[..., Exception]
    TextXSemanticError: Callable[..., Exception]

    def metamodel_from_file(self, file_name: str, *, autokwd: bool) -> _Metamodel: ...


_TEXTX = cast(_TextX, import_module("textx"))


def model_from_file(file_name: str, *_: object, **__: object) -> Model:
    """Compile a file; warnings go to standard error.

    Raises:
        TextXSyntaxError, TextXSemanticError: it has errors, all of them in the text, the place of the first in the
            attributes; or there is no such file.
    """
    try:
        given = compile_given(Path(file_name))
    except Refusal as refusal:
        raise refused(str(refusal)) from None
    clashes = (from_here(issue, given.root) for issue in name_clashes(given.compilation))
    judge(sorted({*given.issues, *clashes}), {})
    return Model(file_name, given.compilation.definitions)


def model_from_text(text: str, *_: object, **__: object) -> Model:
    """Compile a text that imports nothing; otherwise like `model_from_file`."""
    compilation = compile_text(text)
    judge(compilation.issues, compilation.sources)
    return Model(None, compilation.definitions)


def refused(reason: str) -> Exception:
    """What textX prints in one line, without a traceback."""
    return _TEXTX.TextXSemanticError(reason)


def judge(issues: Sequence[Issue], known: Sources) -> None:
    """Print warnings; lines come from `known` sources or from the files. Raises as `model_from_file` for errors."""
    told = io.StringIO()
    print_issues(issues, told, known)
    first = next((issue for issue in issues if issue.is_error), None)
    if first is None:
        sys.stderr.write(told.getvalue())
        return
    error = _TEXTX.TextXSyntaxError if first.code == "syntax_error" else _TEXTX.TextXSemanticError
    raise error(told.getvalue().rstrip("\n"), first.line, first.column, filename=first.file)


def _metamodel() -> _Metamodel:
    metamodel = _TEXTX.metamodel_from_file(str(_GRAMMAR), autokwd=True)
    metamodel.model_from_file = model_from_file
    metamodel.model_from_str = model_from_text
    return metamodel


language = _TEXTX.LanguageDesc(NAME, f"*{SUFFIX}", "State machines, compiled by harelc", _metamodel)
"""What the entry point `textx_languages` names."""
