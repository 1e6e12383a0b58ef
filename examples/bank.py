"""A bank for the examples: a ledger file that takes each key once, as real payment services do.

A key comes again when a process died after its call and before its commit; the ledger then answers as it did before.
"""

from __future__ import annotations

from pathlib import Path


class Bank:
    """Books amounts in cents in a file, one line each: key, what was done, amount."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger

    def book(self, key: str, what: str, amount: int) -> bool:
        """Book an amount under an idempotency key; `False` where the key was booked before, and nothing is done."""
        if any(line.split("\t")[0] == key for line in self.lines()):
            return False
        with self.ledger.open("a", encoding="utf-8") as file:
            file.write(f"{key}\t{what}\t{amount}\n")
        return True

    def lines(self) -> list[str]:
        """The ledger's lines, oldest first."""
        return self.ledger.read_text(encoding="utf-8").splitlines() if self.ledger.exists() else []
