"""The Jinja templates that ship with the compiler, and how they are read (design.md).

Templates lay out what others have decided; the same values give the same text on every system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template


def read_template(name: str, filters: Mapping[str, Callable[..., str]]) -> Template:
    """The template of that file name, with its filters by name. A value that it lacks is an error."""
    packed = Path(__file__).parent / "templates"
    folder = packed if packed.is_dir() else Path(__file__).parent.parent / "templates"
    environment = Environment(
        loader=FileSystemLoader(folder, encoding="utf-8"),
        autoescape=False,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        newline_sequence="\n",
    )
    environment.filters.update(filters)
    return environment.get_template(name)
