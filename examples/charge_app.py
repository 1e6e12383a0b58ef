"""Two charges at a busy bank: one is paid at the third try, one is given up when its ten minutes are over.

    python examples/charge_app.py

The machine is compiled from `charge.stm` when the program starts, which imports the retry of `retry.stm`. The clock is
the program's own, so the minutes pass at once. Every committed step is printed by an observer of the store.
"""

from __future__ import annotations

from pathlib import Path

from harel import (
    DictIdempotency,
    DictStore,
    DurableRunner,
    Event,
    Execution,
    ObservedStore,
    Status,
    Step,
    Stm,
    definition_from_dsl_file,
    idempotent,
)
from harel.testing import FakeClock

HERE = Path(__file__).parent


class Bank:
    """Answers later, by an event; the tests of a real bank adapter would stand here."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, key: str, amount: int) -> None:
        self.asked.append(key)
        print(f"        the bank is asked for {amount / 100:.2f}, key {key}")


class Charges:
    """Runs charges on a clock that only this program moves."""

    def __init__(self) -> None:
        self.bank = Bank()
        self.clock = FakeClock()
        actions = {"ask_bank": idempotent(DictIdempotency())(self.ask_bank), "tell_customer": self.tell_customer}
        machine = definition_from_dsl_file(HERE / "charge.stm", "charge", actions=actions)
        self.runner = DurableRunner(ObservedStore(DictStore(), self.show), [machine], clock=self.clock)

    def ask_bank(self, stm: Stm, event: Event) -> None:
        self.bank.ask(stm.idempotency_key, stm.execution_ctx["amount"])

    def tell_customer(self, stm: Stm, event: Event) -> None:
        print("        the customer is told to try again tomorrow")

    def show(self, step: Step) -> None:
        """Print a committed step."""
        minutes, seconds = divmod(int(step.time), 60)
        print(f"  {minutes:02}:{seconds:02}  {step.event}: {step.path_from or '-'} to {step.path_to}")

    def submit(self, charge_id: str, amount: int) -> Execution:
        self.clock.now = 0.0
        self.runner.create("charge", execution_id=charge_id)
        return self.runner.process(charge_id, Event("Submit", {"amount": amount}, id="submit"))

    def answer(self, charge_id: str, number: int, status: str) -> Execution:
        """The bank's answer to a try, a second after it."""
        self.clock.advance(1)
        return self.runner.process(charge_id, Event("BankAnswered", {"status": status}, id=f"answer-{number}"))

    def wait(self, charge: Execution) -> Execution:
        """Let time pass until the next timer of the charge, and fire it."""
        self.clock.now = min(timer.due for timer in charge.timers.values())
        self.runner.fire_due_timers()
        return self.runner.store.load(charge.id)


def paid_at_the_third_try(charges: Charges) -> Execution:
    charge = charges.submit("charge-1", 4200)
    for number, status in enumerate(("busy", "busy", "paid"), 1):
        charge = charges.answer("charge-1", number, status)
        if charge.status is Status.RUNNING:
            charge = charges.wait(charge)
    return charge


def never_answered(charges: Charges) -> Execution:
    charge = charges.submit("charge-2", 1990)
    while charge.status is Status.RUNNING:
        charge = charges.wait(charge)
    return charge


def main() -> None:
    charges = Charges()
    for story in (paid_at_the_third_try, never_answered):
        print(story.__name__.replace("_", " "))
        charge = story(charges)
        print(f"  {charge.id} is {charge.status.name}, outcome {charge.outcome}, context {charge.context}\n")


if __name__ == "__main__":
    main()
