"""Differences as text for people and as JSON for programs (build.md section 1, `harelc diff`).

Pure functions; where the text goes, and whether to a terminal, is the command's business. Text from a source never
reaches a terminal raw: what cannot be printed is shown escaped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from . import aspects, words
from .difference import Change, Difference, Kind
from .in_flight import Judgement, Running, Verdict
from .outputs import printable

_MOST_NAMES = 20
"""How many states or executions one line names."""


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to tell of one machine. `judgement` is there where in-flight executions were asked about, `running`
    where a store was read.
    """

    difference: Difference
    judgement: Judgement | None = None
    running: tuple[Running, ...] | None = None


# --- text


_GREEN, _RED, _YELLOW, _STRONG, _END = "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[0m"
_MARKS = {Kind.ADDED: ("+", _GREEN), Kind.REMOVED: ("-", _RED), Kind.CHANGED: ("~", _YELLOW)}
_PLURALS = {
    "version": "version", "ttl": "ttl", "state": "states", "transition": "transitions", "timer": "timers",
    "guard": "guards", "context": "context", "event": "events", "binding": "bindings",
}  # fmt: skip


def text(told: Sequence[Told], color: bool) -> str:
    """Each machine that differs with its differences, then a line that counts them; it ends with a line break."""
    lines: list[tuple[str, str]] = []
    for each in told:
        lines += _machine(each)
    lines.append(("", _count([each.difference for each in told])))
    return "".join(f"{_painted(style, printable(line), color)}\n" for style, line in lines)


def _painted(style: str, line: str, color: bool) -> str:
    return f"{style}{line}{_END}" if color and style else line


def _machine(told: Told) -> Iterator[tuple[str, str]]:
    difference = told.difference
    if difference.kind is None and not difference.has_other_digest and told.judgement is None:
        return
    yield _STRONG, _title(difference)
    if difference.kind is None and difference.has_other_digest:
        yield "", "  it means what it meant; its digest differs: it, or what its file shares, is written otherwise"
    groups: dict[str, list[Change]] = {}
    for change in difference.changes:
        groups.setdefault(change.subject, []).append(change)
    for subject, changes in groups.items():
        if subject != "version":
            yield "", f"  {_PLURALS[subject]}"
            for change in changes:
                yield from _change(change, difference.machine)
    for rename in difference.renames:
        yield "", f"  renamed? {aspects.way(rename.old)} -> {aspects.way(rename.new)}"
    if told.judgement is not None:
        yield from _judgement(difference, told.judgement, told.running)
    yield "", ""


def _title(difference: Difference) -> str:
    old, new = difference.old, difference.new
    if old is None or new is None:
        there = old or new
        version = "" if there is None else f"  version {there.version}"
        mark, _ = _MARKS[Kind.REMOVED if new is None else Kind.ADDED]
        return f"{mark} machine {difference.machine}{version}"
    versions = f"{old.version}" if old.version == new.version else f"{old.version} -> {new.version}"
    return f"machine {difference.machine}  version {versions}"


def _change(change: Change, machine: str) -> Iterator[tuple[str, str]]:
    mark, style = _MARKS[change.kind]
    name = _name(change, machine)
    head = " ".join(filter(None, (f"from {name}" if change.subject == "transition" else name, change.aspect)))
    if change.kind is not Kind.CHANGED:
        yield style, f"    {mark} " + "  ".join(filter(None, (head, change.old or change.new)))
    elif change.subject == "transition":
        yield style, f"    {mark} {head}"
        yield _RED, f"        - {change.old}"
        yield _GREEN, f"        + {change.new}"
    else:
        old, new = (text if text is not None else "(none)" for text in (change.old, change.new))
        yield style, f"    {mark} " + "  ".join(filter(None, (head, f"{old} -> {new}")))


def _name(change: Change, machine: str) -> str:
    if change.subject in ("state", "transition", "timer"):
        return aspects.way(change.name) or machine
    return words.name(change.name) if change.name else ""


def _count(differences: Iterable[Difference]) -> str:
    """`2 added, 1 removed, 3 changed in 1 machine`."""
    differing = [difference for difference in differences if difference.kind]
    if not differing:
        return "no difference in meaning"
    kinds = Counter(change.kind for difference in differing for change in difference.changes)
    kinds.update(difference.kind for difference in differing if difference.kind in (Kind.ADDED, Kind.REMOVED))
    parts = ", ".join(f"{kinds[kind]} {kind}" for kind in Kind if kinds[kind])
    return f"{parts} in {len(differing)} machine{'' if len(differing) == 1 else 's'}"


def _judgement(
    difference: Difference, judgement: Judgement, running: tuple[Running, ...] | None
) -> Iterator[tuple[str, str]]:
    yield "", "  in flight"
    yield "", f"    {_rule(difference, judgement)}"
    places = {standing.path: 0 for standing in judgement.standings}
    counts = {(each.standing.path, each.standing.region): len(each.ids) for each in running or ()}
    standings = [*judgement.standings]
    standings += (each.standing for each in running or () if each.standing.path not in places)
    told = [standing for standing in standings if standing.verdict is not Verdict.SAME]
    if told:
        yield "", "    if it were changed in place:" if judgement.bumped else "    changed in place:"
    for standing in told:
        stranded = standing.verdict is Verdict.STRANDED
        number = "" if running is None else f"  {counts.get((standing.path, standing.region), 0)} running"
        where = aspects.way(standing.path) or difference.machine
        yield _RED if stranded else _YELLOW, f"      {standing.verdict:8}  {where}{number}"
        yield from (("", f"          {reason}") for reason in standing.reasons)
    yield from (("", f"      everywhere  {reason}") for reason in judgement.everywhere)
    same = [standing for standing in standings if standing.verdict is Verdict.SAME]
    if same:
        number = "" if running is None else f"  {sum(counts.get((s.path, s.region), 0) for s in same)} running"
        yield "", f"      same      {_some([aspects.way(standing.path) for standing in same])}{number}"
    ids = _stranded_ids(running or ())
    if ids:
        yield _RED, f"    stranded executions: {_some(ids)}"


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def _rule(difference: Difference, judgement: Judgement) -> str:
    old, new = difference.old, difference.new
    if old is None or new is None:
        return "the machine is gone: what runs waits until the old one is published or loaded again"
    if judgement.bumped:
        bump = f"version {old.version} was bumped to {new.version}"
        return f"{bump}: nothing is stranded, what runs stays on {old.version}"
    if new.version < old.version:
        return f"version {old.version} went down to {new.version}: that is no bump; give it version {old.version + 1}"
    if judgement.refused:
        return (
            f"version {old.version} was not bumped: what runs goes on only where {old.version} was published, and "
            f"fails with DefinitionChanged elsewhere; give it version {old.version + 1}"
        )
    return f"version {old.version} was not bumped, and need not be: it is what it was"


def _stranded_ids(running: Iterable[Running]) -> list[str]:
    return [id for each in running if each.standing.verdict is Verdict.STRANDED for id in each.ids]


# --- JSON


def as_json(told: Sequence[Told]) -> str:
    """One object: `different`, and `machines` with name, status, both sides, changes, renames and what is in flight."""
    document = {
        "different": any(each.difference.kind for each in told),
        "machines": [_machine_data(each) for each in told],
    }
    return json.dumps(document, indent=2) + "\n"


def _machine_data(told: Told) -> Mapping[str, object]:
    difference = told.difference
    sides = {
        side: None if machine is None else {"version": machine.version, "digest": machine.digest}
        for side, machine in (("old", difference.old), ("new", difference.new))
    }
    data: dict[str, object] = {
        "machine": difference.machine,
        "status": difference.kind or "same",
        **sides,
        "changes": [
            {"change": change.kind, "subject": change.subject, "name": change.name, "aspect": change.aspect or None,
             "old": change.old, "new": change.new}
            for change in difference.changes
        ],
        "renames": [{"old": rename.old, "new": rename.new} for rename in difference.renames],
    }  # fmt: skip
    if told.judgement is not None:
        data["in_flight"] = _judgement_data(told.judgement, told.running)
    return data


def _judgement_data(judgement: Judgement, running: tuple[Running, ...] | None) -> Mapping[str, object]:
    return {
        "bumped": judgement.bumped,
        "refused": judgement.refused,
        "states": [
            {"path": standing.path, "region": standing.region, "verdict": standing.verdict,
             "reasons": list(standing.reasons)}
            for standing in judgement.standings
        ],
        "everywhere": list(judgement.everywhere),
        "executions": None if running is None else [
            {"path": each.standing.path, "region": each.standing.region, "verdict": each.standing.verdict,
             "reasons": list(each.standing.reasons), "running": len(each.ids),
             "ids": list(each.ids) if each.standing.verdict is Verdict.STRANDED else None}
            for each in running
        ],
    }  # fmt: skip
