"""The formatter: the text of a source in its one layout (build.md section 1, edges.md).

Changes nothing but white space between tokens, so that neither meaning nor findings change. What was laid out before
comes out the same.
"""

from __future__ import annotations

from . import syntax
from .diagnostics import Finding, Source
from .format_layout import Layout
from .format_lexemes import lexemes
from .format_units import Units


class Unformattable(Exception):
    """A text with syntax errors, which is left alone: `source` and its `findings`."""

    def __init__(self, source: Source, findings: tuple[Finding, ...]) -> None:
        super().__init__(f"{source.name}: {findings[0].message}")
        self.source = source
        self.findings = findings


def format_source(source: Source) -> str:
    """The text in its layout, with `\\n` as line end. Raises `Unformattable`.

    - Two spaces for each body; one statement, field or branch a line; an operator between spaces.
    - A block stays in one line where it was written so and fits in 100 columns, unless it holds states, transitions,
      `initial`, `use` or an inline machine. `with` stays behind its `invoke` where it was.
    - What is longer than 100 columns is broken before `returns`, `on`, `where`, `set` and `else`, then where a
      predicate or a list has its parts, and indented by four.
    - Of empty lines in a row one stays, none at the beginning or the end of a block.
    - A comment stays behind its token, or above it.
    """
    file, findings = syntax.parse(source)
    if findings:
        raise Unformattable(source, findings)
    sequence = lexemes(source.text)
    units = Units(file, sequence)
    return "".join(f"{line}\n" for line in Layout(sequence, units.all, units.clauses).lines)
