"""The SQL that makes a store's tables, for whoever creates them by hand (runtime.md section 5, `create_schema=False`).

Each dialect is one file beside its backend, `stores/DIALECT.sql`; here it only gets its prefix. Nothing is executed.
"""

from __future__ import annotations

from importlib import resources

from .stores.names import checked_prefix
from .version import VERSION

_OTHER_NAMES = {"postgresql": "postgres"}
"""Dialects as URLs spell them."""


def dialects() -> list[str]:
    """The names of the dialects that have a schema, in order."""
    files = (resources.files(__package__) / "stores").iterdir()
    return sorted(file.name.removesuffix(".sql") for file in files if file.name.endswith(".sql"))


def sql_schema(dialect: str, prefix: str = "harel") -> str:
    """The statements that create a store's tables where they are missing, as a script.

    Raises:
        ValueError: the dialect has no schema, or the prefix cannot name tables.
    """
    known = dialects()
    dialect = _OTHER_NAMES.get(dialect, dialect)
    if dialect not in known:
        raise ValueError(f"no SQL schema is known for {dialect!r}; known are {', '.join(known)}")
    text = (resources.files(__package__) / "stores" / f"{dialect}.sql").read_text(encoding="utf-8")
    return text.replace("{prefix}", checked_prefix(prefix)).replace("{release}", VERSION)
