"""A program that uses the generated module `order` wrongly: a type checker reports the marked lines and no others."""

import order

from harel import DictStore, DurableRunner, Event, Stm


class Shop:
    def announce(self, stm: Stm, event: Event, *, text: str, urgent: bool) -> None: ...
    def close(self, stm: Stm, event: Event) -> None: ...
    def remind(self, stm: Stm, event: Event, *, after: int) -> None: ...
    def hold_amount(self, stm: Stm, event: Event) -> None: ...
    def wait(self, stm: Stm, event: Event, *, base: int, into: str) -> None: ...
    def grade(self, stm: Stm, event: Event, *, scale: int) -> str:
        return "good"


class WithoutGrade:
    def announce(self, stm: Stm, event: Event, *, text: str, urgent: bool) -> None: ...
    def close(self, stm: Stm, event: Event) -> None: ...
    def remind(self, stm: Stm, event: Event, *, after: int) -> None: ...
    def hold_amount(self, stm: Stm, event: Event) -> None: ...
    def wait(self, stm: Stm, event: Event, *, base: int, into: str) -> None: ...


class WithTextForANumber(WithoutGrade):
    def grade(self, stm: Stm, event: Event, *, scale: str) -> str:
        return scale


class WithoutAnInput(WithoutGrade):
    def grade(self, stm: Stm, event: Event) -> str:
        return "good"


class WithAnInputTooMany(WithoutGrade):
    def grade(self, stm: Stm, event: Event, *, scale: int, colour: str) -> str:
        return colour


def wrong_events() -> None:
    order.PaymentResult(stauts="authorized")  # error: no such field
    order.Checkout(amount="4200")  # error: a text for a number
    order.Checkout(amount=None)  # error: a field that may not be null
    order.ParcelSigned()  # error: a field is missing
    order.Checkout(4200)  # error: a field without its name
    order.ParcelPacked(weight=3)  # error: an event without fields
    order.PaymentResluts(status="authorized")  # error: no such event


def wrong_handlers() -> None:
    order.bind(Shop())
    order.bind(WithoutGrade())  # error: a handler is missing
    order.bind(WithTextForANumber())  # error: an input of another type
    order.bind(WithoutAnInput())  # error: an input is not taken
    order.bind(WithAnInputTooMany())  # error: an input that the machine does not give


def wrong_states(state: order.State, outcome: order.Outcome, kind: order.EventKind) -> None:
    print(state == "AwaitingPayment", outcome == "success", kind == "Checkout")
    print(state == "AwaitingPayed")  # error: no such state
    print(state == "Picking")  # error: a state without its path
    print(outcome == "sucess")  # error: no such outcome
    print(kind == "checkout")  # error: no such kind


def wrong_context(context: order.Context) -> None:
    context["amount"] = 4200
    context["amuont"] = 4200  # error: no such key
    context["amount"] = "4200"  # error: a value of another type
    context["amount"] = None  # error: a key that may not be null


def wrong_calls(runner: DurableRunner) -> None:
    runner.process("o-1", order.CancelOrder())
    runner.process("o-1", "CancelOrder")  # error: a kind is no event
    DurableRunner(DictStore(), [order.NAME])  # error: a name is no machine
