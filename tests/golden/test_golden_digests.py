"""The digests of the golden machines, pinned for good (edges.md, "Digest tokens are normalised").

Executions run on the digest of their machine: one that moves strands them. So nothing rewrites `golden/digests.txt`;
only a new number of the digest's format may, and then the old values stay beside the new ones.
"""

from __future__ import annotations

from pathlib import Path

from harelc.compiler import compile_file
from harelc.digest import DIGEST_FORMAT

GOLDEN = Path(__file__).parents[2] / "golden"


def test_the_digests_of_this_format_are_the_pinned_ones() -> None:
    now = [
        f"{DIGEST_FORMAT} {source.name} {name} {definition.version} {definition.digest}"
        for source in sorted(GOLDEN.glob("*.stm"))
        for name, definition in compile_file(source).definitions.items()
    ]
    pinned = (GOLDEN / "digests.txt").read_text(encoding="utf-8").splitlines()

    assert [line for line in pinned if line.startswith(f"{DIGEST_FORMAT} ")] == now
