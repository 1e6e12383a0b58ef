"""How long builds, checks and imports take, beside what they are measured against, in one run.

    python bench/build_speed.py [--files 1000] [--rounds 5]

Every figure is the median of the rounds, in its own process, from a warm file cache and with bytecode in place, as an
installed package has it: without it (`PYTHONDONTWRITEBYTECODE`) every start would compile all of the compiler again.
Ratios compare medians of this run. An import is measured where the runtime that the module needs is there already.

    no-op build          `harelc build` of all files, nothing to do     / `python -c "import json"`, hashing those files
    one edit             `harelc build` after one edit among all files  / `harelc build --force` of that file alone
    1,000 states         `harelc build --force` of one file             / the same of 100 states
    check                `harelc check` of one small file               / `python -c "import textx"`
    import               a generated module of 100 states from .pyc     / a module with one empty dataclass
    first import         the same in a bare interpreter, with what the modules need: the runtime, `dataclasses`
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

SMALL = """event Pay {{ amount: int }}
machine order{number} {{
  initial Cart
  state Cart {{ timeout 15m }}
  final Paid success {{}}
  final Late expired {{}}
  from Cart to Paid on Pay where amount > {number}
  from Cart to Late on Timeout
}}
"""


def wide(states: int) -> str:
    """A machine with that many states in a row."""
    lines = ["event Next {}", f"machine wide{states} {{", "  initial S0"]
    for number in range(states):
        lines.append(f"  state S{number} {{ timeout 1h }}")
        lines.append(f"  from S{number} to S{(number + 1) % states} on Next | Timeout")
    return "\n".join([*lines, "}", ""])


def environment() -> dict[str, str]:
    """The processes' environment: bytecode is kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def timed(command: Sequence[str], folder: Path) -> float:
    """Seconds of one process."""
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment())
    return time.perf_counter() - begun


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def harelc(*arguments: str) -> list[str]:
    """The command as its installed script starts it."""
    return [*python("import sys; from harelc.cli import main; sys.exit(main())"), *arguments]


def project(folder: Path, files: int) -> None:
    (folder / "machines").mkdir()
    for number in range(files):
        (folder / "machines" / f"order{number}.stm").write_text(SMALL.format(number=number))
    for states in (100, 1_000):
        (folder / f"wide{states}.stm").write_text(wide(states))
    (folder / "alone").mkdir()
    (folder / "alone" / "order.stm").write_text(SMALL.format(number=10**6))
    (folder / "empty.py").write_text("from dataclasses import dataclass\n\n\n@dataclass\nclass Empty:\n    pass\n")


NEEDED = "import collections.abc, dataclasses, typing, harel.definition, harel.event, harel.generated"
IMPORTED = """
import sys, time
{before}
sys.path.insert(0, {folder!r})
begun = time.perf_counter()
import {module}
print(time.perf_counter() - begun)
"""


def imported(folder: Path, module: str, before: str = NEEDED) -> float:
    """Seconds of an import inside a process that has imported something before: what both modules need."""
    code = python(IMPORTED.format(folder=str(folder), module=module, before=before))
    return float(subprocess.run(code, capture_output=True, check=True, env=environment()).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, given.files)
        timed(harelc("build", "wide100.stm", "-o", "wide"), folder)
        print(f"first build of {given.files} files: {timed(harelc('build', 'machines', '-o', 'out'), folder):.1f} s")
        measure(folder, given.rounds)


def measure(folder: Path, rounds: int) -> None:
    edited = folder / "machines" / "order7.stm"
    hashing = (
        "import json, hashlib, pathlib\n"
        "for path in sorted(pathlib.Path('machines').glob('*.stm')): hashlib.sha256(path.read_bytes()).digest()"
    )
    count = 0

    def one_edit() -> float:
        nonlocal count
        count += 1
        edited.write_text(SMALL.format(number=7).replace("> 7", f"> {count}"))
        return timed(harelc("build", "machines", "-o", "out"), folder)

    figures: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
        "no-op build": (
            lambda: timed(harelc("build", "machines", "-o", "out"), folder),
            lambda: timed(python(hashing), folder),
        ),
        "one edit": (one_edit, lambda: timed(harelc("build", "--force", "alone", "-o", "alone"), folder)),
        "1,000 states": (
            lambda: timed(harelc("build", "--force", "wide1000.stm", "-o", "wide"), folder),
            lambda: timed(harelc("build", "--force", "wide100.stm", "-o", "wide"), folder),
        ),
        "check": (
            lambda: timed(harelc("check", "alone"), folder),
            lambda: timed(python("import textx"), folder),
        ),
        "import": (
            lambda: imported(folder / "wide", "wide100"),
            lambda: imported(folder, "empty"),
        ),
        "first import": (
            lambda: imported(folder / "wide", "wide100", before=""),
            lambda: imported(folder, "empty", before=""),
        ),
    }
    imported(folder / "wide", "wide100")
    imported(folder, "empty")
    print(f"{os.cpu_count()} cores, medians of {rounds} rounds")
    for name, (ours, other) in figures.items():
        pairs = [(ours(), other()) for _ in range(rounds)]
        one, two = median(pair[0] for pair in pairs), median(pair[1] for pair in pairs)
        print(f"{name:14} {one * 1000:9.1f} ms   against {two * 1000:8.1f} ms   ratio {one / two:5.1f}")


if __name__ == "__main__":
    main()
