"""Scopes: what each name would mean in one file, its imports included (language.md section 2; edges.md, Trees).

Events, guards and bindings come in bare, the file's own first; machines and fragments are reached through aliases.
Nothing is looked up here, and no name is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from . import tree
from .records import Record

Declared = TypeVar("Declared", tree.Machine, tree.Fragment)

LISTED = 1_000
"""How many names a `Reach` lists at most, and how many ways it goes to find them."""


class Reach(Mapping[str, Declared]):
    """The machines, or the fragments, of one file by the dotted names that reach them.

    Every alias on the way is a part of the name, so that there can be more names than memory holds. They are looked up
    when asked for; iterating gives no more than `LISTED` of them, the shortest first, for hints.

    Args:
        own: what the file declares itself.
        imports: the alias of each import, or `None`, with what the file behind it reaches.
    """

    def __init__(self, own: Mapping[str, Declared], imports: Sequence[tuple[str | None, Reach[Declared]]]) -> None:
        self._own: Mapping[str, Declared] = own
        self._imports: Sequence[tuple[str | None, Reach[Declared]]] = imports
        self._found: dict[str, Declared | None] = {}

    def __getitem__(self, name: str) -> Declared:
        if name not in self._found:
            self._found[name] = self._find(name)
        found = self._found[name]
        if found is None:
            raise KeyError(name)
        return found

    def _find(self, name: str) -> Declared | None:
        """The file's own before what is imported, the earlier import before the later; each way is gone once."""
        waiting: list[tuple[Reach[Declared], str]] = [(self, name)]
        seen: set[tuple[int, str]] = set()
        while waiting:
            reach, rest = waiting.pop()
            if (id(reach), rest) in seen:
                continue
            seen.add((id(reach), rest))
            if rest in reach._own:
                return reach._own[rest]
            for alias, behind in reversed(reach._imports):
                if alias is None:
                    waiting.append((behind, rest))
                elif rest.startswith(f"{alias}."):
                    waiting.append((behind, rest.removeprefix(f"{alias}.")))
        return None

    def __iter__(self) -> Iterator[str]:
        names: dict[str, None] = {}
        ways: dict[tuple[str, int], Reach[Declared]] = {("", id(self)): self}
        level = [("", self)]
        while level and len(names) < LISTED and len(ways) < LISTED:
            following: list[tuple[str, Reach[Declared]]] = []
            for prefix, reach in level:
                names.update((prefix + name, None) for name in reach._own)
                for alias, behind in reach._imports:
                    way = prefix if alias is None else f"{prefix}{alias}."
                    if (way, id(behind)) not in ways:
                        ways[way, id(behind)] = behind
                        following.append((way, behind))
            level = following
        return iter(list(names)[:LISTED])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Scope(Record):
    """What the names of one file mean. Machines and fragments are found by their dotted names, all else bare.

    `is_complete`: nothing was lost to a syntax error or a failed import, so a name that is not here does not exist.
    """

    events: Mapping[str, tree.Event]
    guards: Mapping[str, tree.Guard]
    binds: Mapping[str, tree.BindEntry]
    machines: Reach[tree.Machine]
    fragments: Reach[tree.Fragment]
    is_complete: bool


def scope_of(file: tree.File, imports: Sequence[tuple[tree.Import, Scope]]) -> Scope:
    """What the file declares itself, over what its imports bring, the earlier import over the later."""
    events: dict[str, tree.Event] = {}
    guards: dict[str, tree.Guard] = {}
    binds: dict[str, tree.BindEntry] = {}
    machines: dict[str, tree.Machine] = {}
    fragments: dict[str, tree.Fragment] = {}
    for item in file.items:
        if isinstance(item, tree.Event):
            events.setdefault(item.name.text, item)
        elif isinstance(item, tree.Guard):
            guards.setdefault(item.name.text, item)
        elif isinstance(item, tree.Bind):
            for bound in item.entries:
                binds.setdefault(bound.name.text, bound)
        elif isinstance(item, tree.Machine):
            machines.setdefault(item.name.text, item)
        elif isinstance(item, tree.Fragment):
            fragments.setdefault(item.name.text, item)
    for _, brought in imports:
        events |= {name: one for name, one in brought.events.items() if name not in events}
        guards |= {name: one for name, one in brought.guards.items() if name not in guards}
        binds |= {name: one for name, one in brought.binds.items() if name not in binds}
    aliases = [(line.alias.text if line.alias else None, brought) for line, brought in imports]
    written = sum(isinstance(item, tree.Import) for item in file.items)
    return Scope(
        events,
        guards,
        binds,
        Reach(machines, [(alias, brought.machines) for alias, brought in aliases]),
        Reach(fragments, [(alias, brought.fragments) for alias, brought in aliases]),
        not file.broken and written == len(imports) and all(brought.is_complete for _, brought in imports),
    )
