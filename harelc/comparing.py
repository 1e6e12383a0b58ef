"""The command `harelc diff`: what changed in meaning between two sources (build.md section 1).

Options and statuses only: how a side is read, what the difference is, how it is judged and shown, stands in modules of
its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from . import console
from .spelling import did_you_mean

if TYPE_CHECKING:
    from .difference import Difference
    from .difference_report import Told


@click.command(short_help="What changed in meaning.")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--machine", metavar="NAME", help="Compare this machine only.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--mermaid", "as_mermaid", is_flag=True, help="A diagram: green is new, red is gone, amber is changed.")
@click.option("--in-flight", is_flag=True, help="Judge how running executions of the old version would fare.")
@click.option("--store", metavar="URL", help="With --in-flight: count those in a store, such as sqlite:///orders.db.")
def diff(
    old: str, new: str, machine: str | None, as_json: bool, as_mermaid: bool, in_flight: bool, store: str | None
) -> int:
    """Compare the machines of OLD and NEW by what they mean: states, transitions, guards, timers, context, events.

    Each side is a file, a folder, - for standard input, or git:REV:PATH. Layout and comments do not count. The exit
    status is 0 where nothing changed in meaning, 1 where something did, 2 where it cannot be said. With --in-flight it
    is 1 also where running executions would notice another digest.

    \b
    Examples:
      harelc diff old.stm new.stm
      harelc diff git:main:machines machines
      harelc diff git:HEAD:machines/order.stm machines/order.stm --in-flight
      harelc diff git:v1:order.stm order.stm --in-flight --store sqlite:///orders.db
      harelc diff git:main:order.stm order.stm --mermaid > order.diff.mmd
    """
    if as_json and as_mermaid:
        raise click.UsageError("--json and --mermaid do not go together")
    if as_mermaid and in_flight:
        raise click.UsageError("--mermaid draws what changed; --in-flight goes with text or --json")
    if store is not None and not in_flight:
        raise click.UsageError("--store goes with --in-flight")
    if old == new == "-":
        raise click.UsageError("`-` is standard input and can be one side only")
    from .difference import compare_machines
    from .sides import read_side

    before, after = read_side(old), read_side(new)
    if before is None or after is None:
        return console.WRONG_USE

    differences = _chosen(compare_machines(before, after), machine)
    if as_mermaid:
        return _draw(differences)
    return _tell(differences, as_json=as_json, in_flight=in_flight, store=store)


def _tell(differences: Sequence[Difference], *, as_json: bool, in_flight: bool, store: str | None) -> int:
    from . import difference_report

    told = _judged(differences, store) if in_flight else [difference_report.Told(each) for each in differences]
    if as_json:
        sys.stdout.write(difference_report.as_json(told))
    else:
        sys.stdout.write(difference_report.text(told, console.has_colour(sys.stdout)))
    noticed = any(each.judgement is not None and each.judgement.refused for each in told)
    return _status(differences) if not noticed else console.FINDINGS


def _draw(differences: Sequence[Difference]) -> int:
    from .difference_diagram import mermaid_difference

    drawn = [each for each in differences if each.kind] or list(differences)
    if len(drawn) != 1:
        names = ", ".join(f"`{each.machine}`" for each in drawn) or "none"
        raise console.Refusal(f"a diagram shows one machine, and here are {names}: name one with --machine")
    sys.stdout.write(mermaid_difference(drawn[0]))
    return _status(drawn)


def _status(differences: Iterable[Difference]) -> int:
    return console.FINDINGS if any(each.kind for each in differences) else console.FINE


def _chosen(differences: Sequence[Difference], machine: str | None) -> Sequence[Difference]:
    """The differences of a machine and those written inside it; of all without a name."""
    if machine is None:
        return differences
    names = sorted({each.machine for each in differences})
    if machine not in names:
        near = did_you_mean(machine, names, most=1)
        hint = near or f"there are {', '.join(f'`{name}`' for name in names)}"
        raise console.Refusal(f"neither side has a machine `{machine}`; {hint}")
    return [each for each in differences if each.machine == machine]


def _judged(differences: Sequence[Difference], store: str | None) -> list[Told]:
    from .difference_report import Told
    from .in_flight import judge, place_running

    if store is None:
        return [Told(each, judge(each)) for each in differences]
    from .running import read_executions

    executions = read_executions(store, {each.machine for each in differences})
    return [Told(each, judge(each), place_running(each, executions)) for each in differences]
