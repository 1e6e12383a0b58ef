"""The `[tool.harelc]` table of a project's `pyproject.toml` (build.md section 1).

It says what to build and where to; the command line wins over it. Nothing is looked for on the disk here but the table.

    [tool.harelc]
    sources = ["machines"]              # folders and files, relative to this file
    output = "src/shop/machines"        # where modules go; left out: beside each source
    diagrams = true                     # MACHINE.mmd beside each module
    docs = false                        # MACHINE.md too: the machine as a page for reading

    [[tool.harelc.targets]]             # further sources with an output of their own
    sources = ["devices"]
    output = "src/devices/machines"
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .console import Refusal
from .records import Record

FILE = "pyproject.toml"

_MADE: Mapping[str, bool] = {"diagrams": True, "docs": False}
"""The keys that say what is made beside each module, and what they are where left out."""


class Target(Record):
    """Sources (files and folders) and the folder their modules go to; `None`: each beside its source.

    `diagrams` and `docs` say whether a diagram and a page are made of each machine.
    """

    sources: tuple[Path, ...]
    output: Path | None = None
    diagrams: bool = True
    docs: bool = False


class Settings(Record):
    """The targets of one `pyproject.toml`; none where it has no `[tool.harelc]`."""

    targets: tuple[Target, ...] = ()


def read_settings(file: Path) -> Settings:
    """The settings in a `pyproject.toml`, paths joined to its folder.

    Raises:
        Refusal: the file is no TOML, or the table has an unknown key or a wrong value; file and key are named.
    """
    import tomllib  # slow to import, and not wanted where nothing marks a project

    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: {error}") from None
    table = document.get("tool", {})
    table = table.get("harelc") if isinstance(table, dict) else None
    if table is None:
        return Settings()
    return _Reader(file).settings(table)


class _Reader:
    """Reads the table of one file; an error names the file and the key."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def settings(self, table: object) -> Settings:
        where = "tool.harelc"
        table = self._table(table, where, ("sources", "output", *_MADE, "targets"))
        made = self._made(table, where, _MADE)
        further = table.get("targets", [])
        if not isinstance(further, list):
            raise self._wrong(f"{where}.targets", "a list of tables")
        targets = [self._target(each, f"{where}.targets", made) for each in further]
        if "sources" in table:
            own = {key: value for key, value in table.items() if key != "targets"}
            targets.insert(0, self._target(own, where, made))
        elif "output" in table:
            raise Refusal(f"{self.file}: {where}.output needs {where}.sources beside it")
        return Settings(tuple(targets))

    def _target(self, table: object, where: str, made: Mapping[str, bool]) -> Target:
        table = self._table(table, where, ("sources", "output", *_MADE))
        sources = table.get("sources")
        if not isinstance(sources, list) or not sources or not all(isinstance(source, str) for source in sources):
            raise self._wrong(f"{where}.sources", 'a list of paths, such as ["machines"]')
        output = table.get("output")
        if output is not None and (not isinstance(output, str) or not output):
            raise self._wrong(f"{where}.output", "the path of a folder")
        folder = self.file.parent
        return Target(
            tuple(folder / source for source in sources),
            None if output is None else folder / output,
            **self._made(table, where, made),
        )

    def _table(self, value: object, where: str, keys: tuple[str, ...]) -> Mapping[str, object]:
        if not isinstance(value, dict):
            raise self._wrong(where, "a table")
        for key in value:
            if key not in keys:
                from difflib import get_close_matches  # slow to import, and seldom wanted

                near = get_close_matches(key, keys, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(keys)}"
                raise Refusal(f"{self.file}: {where} has no key `{key}`; {hint}")
        return value

    def _made(self, table: Mapping[str, object], where: str, default: Mapping[str, bool]) -> dict[str, bool]:
        """What is made beside a module, by the key that says so."""
        return {key: self._bool(table, key, where, default=made) for key, made in default.items()}

    def _bool(self, table: Mapping[str, object], key: str, where: str, *, default: bool) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(f"{where}.{key}", "true or false")
        return value

    def _wrong(self, key: str, expected: str) -> Refusal:
        return Refusal(f"{self.file}: {key} must be {expected}")
