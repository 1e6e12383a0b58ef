"""What compiling costs, stage by stage, as a file grows: `python bench/compile_scale.py [STATES…]`.

One machine of 100, 1,000 and 10,000 states (or the numbers given) in one file, ten to a composite, each with a timer,
hooks, three transitions, guards and assignments. Stages: parse (text to linked trees), resolve (fragments and names),
check (all rules), lower (digest and tables); `all` is a whole compilation, issues included. Each size is compiled
several times, sizes taking turns, so that a noisy machine is noisy for all; printed are medians, their ratio to the
size before, and the peak of the process' memory. 10,000 states may cost 12 times what 1,000 cost (build.md section 4):
the status is 1 where they cost more. Then the shapes at their limits: 64 levels of states, 200 parentheses, 2,000 terms
in one chain, a list of 10,000.
"""

from __future__ import annotations

import collections
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from harelc.checks import check
from harelc.compiler import compile_source
from harelc.diagnostics import Source
from harelc.digest import digest, shared_by
from harelc.imports import link
from harelc.lower import event_rows, lower
from harelc.parsing import room_to_parse
from harelc.resolve import resolve
from harelc.tree import Machine

SIZES = (100, 1_000, 10_000)
ROUNDS = {100: 9, 1_000: 5}
"""How often a size is compiled; every other 3 times."""

ALLOWED = 12.0
"""How many times as much 10,000 states may cost as 1,000."""

STAGES = ("parse", "resolve", "check", "lower")


def rich(states: int) -> str:
    """A machine in which every state has a timer, hooks, a composite around ten of them, and three ways out."""
    lines = [
        "event Paid { amount: int  note: string? }",
        "event Shipped { weight: float }",
        "event Cancelled {}",
        "guard large = amount > 100 or note == 'gift'".replace("'", '"'),
        "bind { charge = shop.payments.charge  notify = shop.mail.notify }",
        "machine order {",
        "  context { total: int = 0  retries: int = 0  weight: float = 0.0 }",
        "  initial Batch0",
    ]
    batches = max(1, states // 10)
    for batch in range(batches):
        lines += [f"  state Batch{batch} {{", f"    initial Step{batch}_0"]
        for number in range(10):
            name, following = f"Step{batch}_{number}", f"Step{batch}_{(number + 1) % 10}"
            lines += [
                f"    state {name} {{",
                "      timeout 15m",
                f"      on enter charge(attempt: {number}, batch: {batch})",
                "      on exit notify",
                "    }",
                f"    from {name} to {following} on Paid where large and context.retries < 3 "
                "set context.total = context.total + event.amount, context.retries = context.retries + 1",
                f"    from {name} to {following} on Shipped set context.weight = event.weight",
                f"    from {name} to Done on Timeout | Cancelled",
            ]
        lines += ["  }", f"  from Batch{batch} to Batch{(batch + 1) % batches} on Paid"]
    lines += ["  final Done success {}", "}"]
    return "\n".join(lines) + "\n"


def nested(levels: int) -> str:
    """States inside one another, as many as the levels."""
    opened = "".join(f"state L{level} {{ initial L{level + 1} " for level in range(1, levels))
    inner = f"state L{levels} {{}} from L{levels} to Done on Go "
    body = f"initial L1 {opened}{inner}{'}' * (levels - 1)} final Done success {{}}"
    return f"event Go {{}}\nmachine order {{ {body} }}\n"


def guarded(predicate: str) -> str:
    """A machine with one guarded transition."""
    return (
        "event Go { n: int }\nmachine order { initial A state A {} final Done success {}\n"
        f"from A to Done on Go where {predicate}\n}}\n"
    )


LIMITS: Mapping[str, str] = {
    "64 levels": nested(64),
    "200 parentheses": guarded("(" * 200 + "n == 1" + ")" * 200),
    "200 times not": guarded("not (" * 200 + "n == 1" + ")" * 200),
    "2,000 terms": guarded(" or ".join(f"n == {number}" for number in range(2_000))),
    "a list of 10,000": guarded(f"n in [{', '.join(map(str, range(10_000)))}]"),
}


def nowhere(name: str) -> Source:
    raise AssertionError(f"{name}: nothing here imports")


def staged(text: str) -> dict[str, float]:
    """Seconds per stage of one compilation."""
    source = Source("main.stm", text)
    times = [time.perf_counter()]
    with room_to_parse():
        linked = link(source, nowhere)
        times.append(time.perf_counter())
        unit = resolve(linked).unit
        times.append(time.perf_counter())
        collections.deque(check(unit), maxlen=0)
        times.append(time.perf_counter())
        shared, events = shared_by(unit.file, {}), event_rows(linked.scopes[linked.entry].events.values())
        for machine in unit.machines:
            if isinstance(machine.node, Machine):
                lower(machine, digest(machine.node, shared), events)
        times.append(time.perf_counter())
    return {stage: end - start for stage, (start, end) in zip(STAGES, pairwise(times), strict=True)}


def whole(text: str) -> float:
    """Seconds of one whole compilation, from text to definitions and issues."""
    start = time.perf_counter()
    compiled = compile_source(Source("main.stm", text), nowhere)
    seconds = time.perf_counter() - start
    assert compiled.definitions and not compiled.has_errors, compiled.issues[:3]
    return seconds


def peak() -> int:
    """The peak of this process' memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def measure(sizes: Sequence[int]) -> dict[int, dict[str, float]]:
    """Medians in seconds, by size and stage; `all` is a whole compilation."""
    texts = {size: rich(size) for size in sizes}
    rounds = {size: ROUNDS.get(size, 3) for size in sizes}
    taken: dict[int, dict[str, list[float]]] = {size: {stage: [] for stage in (*STAGES, "all")} for size in sizes}
    for turn in range(max(rounds.values())):
        for size in sizes:
            if turn < rounds[size]:
                for stage, seconds in staged(texts[size]).items():
                    taken[size][stage].append(seconds)
                taken[size]["all"].append(whole(texts[size]))
    return {size: {stage: median(found) for stage, found in of.items()} for size, of in taken.items()}


def main(arguments: Sequence[str]) -> int:
    sizes = tuple(map(int, arguments)) or SIZES
    whole(rich(10))  # the grammar is loaded once
    medians = measure(sizes)
    print(f"{'states':>8}" + "".join(f"{stage:>20}" for stage in (*STAGES, "all")))
    before: dict[str, float] | None = None
    for size in sizes:
        cells = []
        for stage, seconds in medians[size].items():
            growth = f"(x{seconds / before[stage]:.1f})" if before else ""
            cells.append(f"{seconds * 1000:>9.1f} ms{growth:>8}")
        print(f"{size:>8}" + "".join(cells))
        before = medians[size]
    print(f"peak memory: {peak()} MB")
    for name, text in LIMITS.items():
        print(f"{name:>18} {whole(text) * 1000:>9.1f} ms")
    if {1_000, 10_000} <= set(sizes):
        ratio = medians[10_000]["all"] / medians[1_000]["all"]
        print(f"10,000 states cost {ratio:.1f} times what 1,000 cost; {ALLOWED:g} are allowed")
        return int(ratio > ALLOWED)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
