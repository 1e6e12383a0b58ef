"""A program that uses every name of the generated module `order`, rightly: no type checker has anything to say."""

from typing import assert_never

import order

from harel import Definition, DictStore, DurableRunner, Event, Stm


class Shop:
    def announce(self, stm: Stm, event: Event, *, text: str, urgent: bool) -> None:
        print(text.upper() if urgent else text, stm.execution_ctx["amount"])

    def close(self, stm: Stm, event: Event) -> None: ...

    def remind(self, stm: Stm, event: Event, *, after: int) -> None: ...

    async def hold_amount(self, stm: Stm, event: Event) -> None: ...

    def wait(self, stm: Stm, event: Event, *, base: int, into: str) -> None: ...

    def grade(self, stm: Stm, event: Event, *, scale: float) -> str:
        return "good" if scale > 5 else "bad"


def handlers() -> order.Actions:
    return Shop()


def events() -> list[Event]:
    return [
        order.Checkout(amount=4200),
        order.Checkout(amount=4200, coupon="SPRING", event_id="checkout-1"),
        order.Checkout(amount=4200, coupon=None),
        order.PaymentResult(status="authorized", score=1),
        order.ParcelPacked(),
        order.ParcelSigned(by="Ada"),
        order.Scanned(hubs=["A", {"at": 12}]),
        order.CancelOrder(reason="too late"),
    ]


def total(context: order.Context) -> float:
    signed: str | None = context.get("signed_by")
    note: str | None = context["note"]
    print(signed, note, context["hubs"], context["express"], context["retries"], context["backoff"])
    return context["amount"] * context["rate"]


def is_on_its_way(state: order.State) -> bool:
    return state in ("Fulfilling", "Fulfilling.InTransit") or state == "Fulfilling.Picking"


def verdict(outcome: order.Outcome) -> str:
    if outcome == "success":
        return "thank you"
    if outcome == "cancelled" or outcome == "abandoned":
        return "another time"
    assert_never(outcome)


def is_from_the_customer(kind: order.EventKind) -> bool:
    return kind == "Checkout" or kind == "CancelOrder"


def main() -> None:
    definition: Definition = order.bind(handlers())
    runner = DurableRunner(DictStore(), [definition])
    execution = runner.create(order.NAME)
    for event in events():
        runner.process(execution.id, event)
    version: int = order.VERSION
    texts: list[str] = [order.DIGEST, order.SOURCE_NAME, order.DIAGRAM]
    print(version, texts, order.TABLES_FORMAT, order.DEFINITION.digest == order.DIGEST)
