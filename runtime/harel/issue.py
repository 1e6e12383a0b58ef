"""`Issue`: one finding about a source, as the checker, the command, editors and `harel.validate` all show it.

Plain data (build.md section 2): it knows neither the compiler nor how it is printed. Lines and columns count from 1;
the end is exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """A second place that helps to understand a finding, such as the first of two declarations."""

    file: str
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True, order=True)
class Issue:
    """One finding: where, which rule (`code`), how grave (`error` or `warning`), what is wrong and what helps."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    severity: str
    message: str
    hint: str | None = None
    notes: tuple[Note, ...] = ()

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def __str__(self) -> str:
        return f"{self.severity}[{self.code}]: {self.message} ({self.file}:{self.line}:{self.column})"
