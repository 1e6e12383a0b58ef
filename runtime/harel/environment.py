"""The settings of the worker and of the `harel` command, read from `HAREL_*` (runtime.md section 8).

A wrong value is a `SettingError`: one line that names the variable, its value and what it may be. Passwords are never
in it. Nothing here is opened or imported before it is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from .definition import Definition
from .errors import DslError
from .stores.names import checked_prefix
from .stores.protocol import Store
from .urls import scheme_of, shown
from .versions import definition_registry

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off", ""})


class SettingError(ValueError):
    """A setting cannot be used; `str()` is one line that says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says; `read` makes one.

    Attributes:
        store_backend, store_url: where executions live; "" where no URL is set.
        transport_backend, transport_url: where messages queue; "" where they are not set.
        prefix: names every table, key and collection.
        create_schema: whether a worker or `publish` may create what is missing.
        definitions_dir: a folder of `.stm` sources, which need harelc, or `None`.
        definitions: modules that hold machines.
        action_modules: modules whose functions a published machine may call.
        trace, trace_max: whether steps are traced, and how many rows an execution keeps.
        concurrency: how many events a worker has in flight.
    """

    store_backend: str = "sqlite"
    store_url: str = ""
    transport_backend: str = ""
    transport_url: str = ""
    prefix: str = "harel"
    create_schema: bool = True
    definitions_dir: Path | None = None
    definitions: tuple[str, ...] = ()
    action_modules: tuple[str, ...] = ()
    trace: bool = False
    trace_max: int = 200
    concurrency: int = 16

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """The settings of an environment. An empty variable counts as one that is not set. Raises `SettingError`."""
        given = {name: value for name, value in environment.items() if name.startswith("HAREL_") and value.strip()}
        folder, store_url = given.get("HAREL_DEFINITIONS_DIR"), given.get("HAREL_STORE_URL", "")
        return cls(
            store_backend=(given.get("HAREL_STORE_BACKEND") or scheme_of(store_url) or "sqlite").strip().lower(),
            store_url=store_url,
            transport_backend=given.get("HAREL_TRANSPORT_BACKEND", "").strip().lower(),
            transport_url=given.get("HAREL_TRANSPORT_URL", ""),
            prefix=_prefix("HAREL_PREFIX", given.get("HAREL_PREFIX", "harel")),
            create_schema=_flag(given, "HAREL_CREATE_SCHEMA", default=True),
            definitions_dir=_folder("HAREL_DEFINITIONS_DIR", folder) if folder else None,
            definitions=_names(given.get("HAREL_DEFINITIONS", "")),
            action_modules=_names(given.get("HAREL_ACTION_MODULES", "")),
            trace=_flag(given, "HAREL_TRACE", default=False),
            trace_max=_count(given, "HAREL_TRACE_MAX", default=200),
            concurrency=_count(given, "HAREL_CONCURRENCY", default=16),
        )

    def with_store(self, url: str | None, prefix: str | None) -> Settings:
        """The settings with what a command line says over what the environment says. Raises `SettingError`."""
        changed = self
        if url is not None:
            changed = replace(changed, store_url=url, store_backend=scheme_of(url) or "sqlite")
        if prefix is not None:
            changed = replace(changed, prefix=_prefix("--prefix", prefix))
        return changed

    def open_store(self, *, create: bool = False) -> Store:
        """The store. With `create`, what it lacks is created, unless `HAREL_CREATE_SCHEMA` forbids it.

        Raises:
            SettingError: no store is named, or none that exists.
        """
        if not self.store_url:
            raise SettingError("no store is named: set HAREL_STORE_URL, or pass --store sqlite:///orders.db")
        backend, scheme = self.store_backend, scheme_of(self.store_url)
        if scheme not in ("", backend):
            if backend not in _BACKENDS:
                raise SettingError(f"HAREL_STORE_BACKEND is {backend!r}; the backends are {', '.join(_BACKENDS)}")
            if _BACKENDS.get(scheme) not in (None, _BACKENDS[backend]):
                raise SettingError(f"HAREL_STORE_BACKEND is {backend!r}, and HAREL_STORE_URL {shown(self.store_url)}")
        return store_from_url(self.store_url, prefix=self.prefix, create_schema=create and self.create_schema)

    def load_definitions(self) -> list[Definition]:
        """The machines of `HAREL_DEFINITIONS` and `HAREL_DEFINITIONS_DIR`, each version once.

        Raises:
            SettingError: a module cannot be imported or holds no machine. DslError: the folder has no source or one
                with mistakes, or one version is there twice with different content.
        """
        found = [definition for name in self.definitions for definition in _module_definitions(name)]
        if self.definitions_dir is not None:
            from .dsl import read_definitions

            found += read_definitions(self.definitions_dir)
        return [machine for machine in definition_registry(found).values() if ":" not in machine.id]


def store_from_url(url: str, *, prefix: str = "harel", create_schema: bool = True) -> Store:
    """The store at a URL: `sqlite:///orders.db` is relative, `sqlite:////var/lib/orders.db` absolute; a path alone is
    an SQLite file too. The rest of an SQLite URL is the path as it stands: nothing in it is decoded. Redis and Valkey
    have the URLs of their clients, with `?partitions=16` and `?wait_replicas=1` for the store; Postgres has libpq's.

    Raises:
        SettingError: no backend has this scheme, or the URL cannot be used. It names the backends there are.
        ModuleNotFoundError: the backend's library is not installed; says the pip line.
    """
    scheme = scheme_of(url) or "sqlite"
    backend = _BACKENDS.get(scheme)
    if backend is None:
        known = ", ".join(f"{name}://" for name in _BACKENDS)
        raise SettingError(f"no store backend reads {shown(url)}; the backends are {known}")
    return backend(url, prefix, create_schema)


def _sqlite(url: str, prefix: str, create_schema: bool) -> Store:
    from .stores.sqlite import SqliteStore

    path = url.partition("://")[2].removeprefix("/") if scheme_of(url) else url
    if path in ("", ":memory:"):
        raise SettingError(f"{url} is no file: a command needs one that others see, such as sqlite:///orders.db")
    if scheme_of(url) and not url.partition("://")[2].startswith("/"):
        raise SettingError(f"{url} has a host: write three slashes, as in sqlite:///{path}")
    return SqliteStore(path, prefix=prefix, create_schema=create_schema)


def _redis(url: str, prefix: str, create_schema: bool) -> Store:
    from .stores.redis import RedisStore

    try:
        return RedisStore(url, prefix=prefix, create_schema=create_schema)
    except ValueError as error:
        raise SettingError(str(error)) from None


def _postgres(url: str, prefix: str, create_schema: bool) -> Store:
    from .stores.postgres import PostgresStore

    try:
        return PostgresStore(url, prefix=prefix, create_schema=create_schema)
    except ValueError as error:
        raise SettingError(str(error)) from None


_BACKENDS: Mapping[str, Callable[[str, str, bool], Store]] = {
    "sqlite": _sqlite,
    "redis": _redis,
    "rediss": _redis,
    "valkey": _redis,
    "valkeys": _redis,
    "unix": _redis,
    "postgresql": _postgres,
    "postgres": _postgres,
}
"""How to open the store of each scheme: (URL, prefix, whether to create what is missing)."""


def _module_definitions(name: str) -> list[Definition]:
    """The machines that a module holds, whatever it calls them; generated modules call theirs `DEFINITION`."""
    here = os.getcwd()
    if here not in sys.path:  # as `python -m` has it; the console script has not
        sys.path.append(here)
    try:
        module = import_module(name)
    except DslError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise SettingError(f"HAREL_DEFINITIONS names {name!r}, which cannot be imported: {reason}") from error
    found = [value for value in vars(module).values() if isinstance(value, Definition)]
    if not found:
        raise SettingError(f"HAREL_DEFINITIONS names {name!r}, which holds no machine; name a module made by harelc")
    return found


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = given.get(name)
    if value is None:
        return default
    text = value.strip().lower()
    if text not in _YES | _NO:
        raise SettingError(f"{name} is {value!r}; it is 1 or 0")
    return text in _YES


def _count(given: Mapping[str, str], name: str, *, default: int) -> int:
    value = given.get(name)
    if value is None:
        return default
    if not value.strip().isascii() or not value.strip().isdecimal() or int(value) < 1:
        raise SettingError(f"{name} is {value!r}; it is a whole number, at least 1")
    return int(value)


def _prefix(name: str, value: str) -> str:
    try:
        return checked_prefix(value)
    except ValueError:
        allowed = "1 to 30 of a-z, 0-9 and _, beginning with a letter"
        raise SettingError(f"{name} is {value!r}; it names tables: use {allowed}") from None


def _folder(name: str, value: str) -> Path:
    folder = Path(value)
    if not folder.is_dir():
        raise SettingError(f"{name} is {value!r}, which is no folder")
    return folder
