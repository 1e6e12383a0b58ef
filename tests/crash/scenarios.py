"""The scenarios of the crash simulation, small and large: what each shows is its name (design.md, "Crash simulation
first").

    python -m tests.crash.scenarios fork "after 7, before 12"

replays one run of one of them, and prints how its end differs from the calm one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from harel import Definition, Event, definition_from_dsl, purge_finished
from harel.testing.crash import (
    Scenario,
    Step,
    World,
    advance,
    cancel,
    compared,
    create,
    deploy,
    parse_points,
    publish,
    purge,
    redrive,
    resume,
    run,
    send,
    suspend,
    sweep,
    terminate,
)


class Services:
    """A bank, a shop, a mail service: they know a request that is repeated by its idempotency key, and do it once."""

    def __init__(self) -> None:
        self.done: dict[str, object] = {}
        self.kept: dict[str, str] = {}
        self.repaired = False

    def act(self, stm: Any, event: Event, **inputs: Any) -> None:
        self.done.setdefault(stm.idempotency_key, [event.kind, inputs])

    def charge(self, stm: Any, event: Event) -> None:
        self.act(stm, event)
        stm.execution_ctx["charged"] = stm.execution_ctx.get("charged", 0) + 1

    def decline(self, stm: Any, event: Event) -> None:
        self.act(stm, event)
        raise ValueError("card declined")

    def first_declines(self, stm: Any, event: Event) -> None:
        """Fails for the first event that comes to it, in every attempt at that event."""
        self.act(stm, event)
        if stm.execution_ctx.get("attempt") == 1:
            raise ValueError("card declined")

    def spoil(self, stm: Any, event: Event) -> None:
        """Leaves what is no JSON until it is repaired."""
        self.act(stm, event)
        if not self.repaired:
            stm.execution_ctx["charged"] = {1, 2}

    def repair(self) -> None:
        self.repaired = True

    def pick(self, stm: Any, event: Event) -> str:
        self.act(stm, event)
        return "cheap"

    def tell(self, stm: Any, event: Event) -> None:
        self.act(stm, event)
        stm.send("Noted", {"by": stm.execution_id})

    def tell_nobody(self, stm: Any, event: Event) -> None:
        """Writes to an execution that is nowhere."""
        self.act(stm, event)
        stm.send("Pay", to="o-9")

    def tell_everybody(self, stm: Any, event: Event) -> None:
        """Writes to an execution that has ended by then, to one that is nowhere, and what another does not know."""
        self.act(stm, event)
        stm.send("Noted", {"by": "me"})
        stm.send("Noted", {"by": "me"}, to="o-9")
        stm.send("Noted", {"by": "me"}, to="n-1")
        stm.send("Noted", {"by": 5}, to="o-2")

    def keep(self, execution: Any) -> None:
        self.kept[execution.id] = execution.to_json()

    def world(self) -> World:
        names = "act charge decline first_declines spoil repair pick tell tell_everybody tell_nobody keep"
        return World({name: getattr(self, name) for name in names.split()}, lambda: [self.done, self.kept])


def world() -> World:
    return Services().world()


def machines(text: str, *names: str) -> list[Definition]:
    actions = dict(world().actions)
    return [definition_from_dsl(text, name, actions=actions) for name in names]


PLAIN = """
event Pay { amount: int }
event Noted { by: string }
machine order {
  context { paid: int = 0  charged: int = 0  noted: string? }
  initial Cart
  state Cart { on exit act }
  state Paying { on enter charge }
  state Choosing { on enter act }
  state Cheap { on enter tell  on exit act }
  state Dear {}
  final Noted success { on enter act  on exit act }

  from Cart to Paying on Pay set context.paid = event.amount
  from Paying to Choosing
  from Choosing select pick returns {"cheap", "dear"} { "cheap" to Cheap  "dear" to Dear }
  from Cheap to Noted on Noted set context.noted = event.by
}
"""

LETTERS = """
event Pay {}
event Noted { by: string }
machine order {
  initial Cart
  state Cart {}
  final Done success { on enter tell_everybody }
  from Cart to Done on Pay
}
"""

NOTE = """
event Write {}
machine note {
  initial Open
  state Open {}
  final Written success {}
  from Open to Written on Write
}
"""

TIMERS = """
event Pay {}
machine order {
  initial Waiting
  state Waiting {
    timeout 900
    initial Soft
    state Soft { timeout 60 }
    state Reminded { on enter act  timeout 60 }
    from Soft to Reminded on Timeout
    from Reminded to Soft on Timeout
  }
  state Late { on enter act  timeout 10 }
  final Paid success {}
  final Gone expired { on enter act }

  from Waiting to Late on Timeout
  from Waiting to Paid on Pay
  from Late to Gone on Timeout
}
"""

FORK = """
event Pay {}
event Stock { n: int }
event Fraud {}
event Mail {}
machine order {
  context { total: int = 3 }
  initial Cart
  state Cart {}
  orthogonal Checks {
    with { want: total }
    on enter act
    timeout 900
    state Goods {
      carry got
      initial Ask
      state Ask { on exit act }
      final Fine success {}
      from Ask to Fine on Stock set context.got = event.n
    }
    state Money {
      initial Ask
      state Ask {}
      final Fine success { on enter act }
      from Ask to Fine on Fraud
    }
    state Post { initial Ask  state Ask { timeout 60 }  final Fine success {}  from Ask to Fine on Mail | Timeout }
  }
  final Paid success { on enter act }
  final Failed rejected {}

  from Cart to Checks on Pay
  from Checks join all to Paid else to Failed
  from Checks to Failed on Timeout
}
"""

BORN = """
event Stock {}
event Fraud {}
machine order {
  initial Checks
  orthogonal Checks {
    state Goods { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Stock }
    state Money { initial Ask  state Ask {}  final Fine success { on enter act }  from Ask to Fine on Fraud }
  }
  final Paid success {}
  final Failed rejected {}
  from Checks join all to Paid else to Failed
}
"""

FAN_OUT = """
event Scan { item: string }
event Go {}
machine order {
  context { parcels: any = ["a", "b", "c", "d", "e"]  scanned: int = 0 }
  initial Cart
  state Cart {}
  state Shipping { invoke parcel for item in parcels with { name: item } }
  final Shipped success { on enter act }
  from Cart to Shipping on Go
  from Shipping join all to Shipped else to Shipped
}
machine parcel {
  context { name: string }
  carry name
  initial Packed
  state Packed { on exit act }
  final There success { on enter act }
  from Packed to There on Scan
}
"""

NESTED = """
event Go {}
event Paid { amount: int }
machine order {
  context { sum: int = 0 }
  initial Cart
  state Cart {}
  state Paying { invoke payment with { order: sum } }
  final Done success { on enter act }
  final Bad rejected {}
  from Cart to Paying on Go
  from Paying choose on Returned set context.sum = event.sum {
    when outcome == "success" to Done
    else to Bad
  }
}
machine payment {
  context { order: int  sum: int = 0 }
  carry sum
  initial Asking
  state Asking { invoke bank with { order: order } }
  final Fine success {}
  from Asking to Fine on Returned set context.sum = event.amount
}
machine bank {
  context { order: int  amount: int = 0 }
  carry amount
  initial Asked
  state Asked { on enter act }
  final Booked success { on enter charge }
  from Asked to Booked on Paid set context.amount = event.amount
}
"""

ERRORS = """
event Pay {}
event Again {}
machine order {
  initial Cart
  state Cart {}
  state Paying { on enter act  on enter decline  timeout 30 }
  state Sorry { on enter charge }
  final Out rejected {}
  from Cart to Paying on Pay
  from Paying to Sorry on error
  from Sorry to Out on Again
}
"""

CHILD_ERROR = """
event Pay {}
event Stock {}
machine order {
  initial Cart
  state Cart {}
  orthogonal Checks {
    state Goods { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Stock }
    state Money { initial Ask  state Ask {}  state Take { on enter decline }  final Fine success {}
      from Ask to Take on Pay  from Take to Fine }
  }
  state Sorry { on enter act }
  final Fine success {}
  final Bad rejected {}
  from Cart to Checks on Pay
  from Checks join all to Fine else to Bad
  from Checks to Sorry on error
  from Sorry to Bad on Stock
}
"""

DEAD = """
event Pay { }
event Go {}
machine order {
  context { attempt: int = 0  charged: any = 0 }
  ttl 30d
  initial Cart
  state Cart { timeout 500 }
  state Paying { on enter HANDLER }
  state Sending { on enter act  timeout 60  invoke parcel }
  final Sent success {}
  from Cart to Paying on Pay set context.attempt = context.attempt + 1
  from Paying to Sending on Go
  from Sending to Sent on Returned
}
machine parcel {
  initial Packed
  state Packed {}
  final There success { on enter act }
  from Packed to There on Go
}
"""

CANCEL = """
event Pay {}
event Stock {}
machine order {
  initial Cart
  state Cart {}
  orthogonal Checks {
    on exit act
    state Goods { initial Ask  state Ask { on exit act  timeout 60 }
      final Fine success {}  final Off cancelled { on enter act }
      from Ask to Fine on Stock
      from Ask to Off on Cancel }
    state Money { initial Ask  state Ask { invoke bank }  final Fine success {}  from Ask to Fine on Returned }
  }
  state Leaving { on enter act }
  final Fine success {}
  final Off cancelled { on enter act }
  from Cart to Checks on Pay
  from Checks join all to Fine else to Fine
  from Checks to Leaving on Timeout
  from Leaving to Off on Cancel
  OWN
}
machine bank {
  initial Asked
  state Asked { on exit act }
  final Off cancelled { on enter act }
  final Booked success {}
  from Asked to Off on Cancel
  from Asked to Booked on Stock
}
"""

TTL = """
event Nudge {}
event Stock {}
machine order {
  ttl 100
  initial Cart
  state Cart {}
  orthogonal Checks {
    state Goods { initial Ask  state Ask { timeout 500 }  final Fine success {}  from Ask to Fine on Stock }
  }
  final Fine success {}
  final Gone expired { on enter act }
  from Cart to Checks on Nudge
  from Checks join all to Fine else to Fine
  EXPIRED
}
"""

DEFERRED = """
event Pay { n: int }
event Go {}
event Stock {}
machine order {
  context { paid: int = 0 }
  initial Cart
  state Cart { defer Pay }
  orthogonal Checks {
    state Goods { initial Ask  state Ask { defer Pay  timeout 10 }  final Fine success {}
      from Ask to Fine on Stock | Timeout }
  }
  state Open { on exit act }
  state Half {}
  final Done success {}
  from Cart to Checks on Go
  from Checks join all to Open else to Open
  from Open to Half on Pay set context.paid = event.n
  from Half to Done on Pay set context.paid = event.n
}
"""

CALLED_OFF = """
event Pay {}
event Stock {}
event Refuse {}
machine order {
  initial Cart
  state Cart {}
  orthogonal Checks {
    cancel_on_failure
    state Goods { initial Ask  state Ask { on exit act  timeout 60 }
      final Fine success {}  final Off cancelled { on enter act  on exit tell_nobody }
      from Ask to Fine on Stock
      from Ask to Off on Cancel }
    state Money { initial Ask  state Ask {}  final Fine success {}  final Bad rejected { on enter act }
      from Ask to Bad on Refuse }
    state Post { initial Ask  state Ask { invoke parcel }  final Fine success {}  from Ask to Fine on Returned }
  }
  final Fine success {}
  final Bad rejected { on enter act }
  from Cart to Checks on Pay
  from Checks join all to Fine else to Bad
}
machine parcel { initial Packed  state Packed { timeout 60 }  final There success {}  from Packed to There on Timeout }
"""

AGAIN = """
event Pay {}
event Back {}
event Stock {}
machine order {
  initial Cart
  state Cart { on enter act }
  orthogonal Checks {
    state Goods {
      initial Ask
      state Ask {}
      orthogonal Parts {
        state Left { initial Ask  state Ask {}  final Fine success { on enter act }  from Ask to Fine on Stock }
        state Right { initial Ask  state Ask { timeout 5 }  final Fine success {}  from Ask to Fine on Timeout }
      }
      final Fine success {}
      from Ask to Parts on Stock
      from Parts join all to Fine else to Fine
    }
  }
  final Fine success {}
  from Cart to Checks on Pay
  from Checks to Cart on Back
  from Checks join all to Fine else to Fine
}
"""

CHILD_REDRIVE = """
event Pay {}
event Take {}
event Stock {}
machine order {
  initial Cart
  state Cart {}
  orthogonal Checks {
    state Goods { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Stock }
    state Money { initial Ask  state Ask { timeout 50 }  state Taking { on enter decline }
      state Waiting { timeout 30 }  final Fine success { on enter act }
      from Ask to Taking on Take
      from Taking to Fine
      from Waiting to Fine on Timeout }
  }
  final Fine success {}
  final Bad rejected {}
  from Cart to Checks on Pay
  from Checks join all to Fine else to Bad
}
"""

VERSIONS = """
event Go {}
machine order version NUMBER {
  initial Cart
  state Cart {}
  state Next { timeout 10  on enter act }
  orthogonal Checks { state Goods { initial Ask  state Ask {}  final Fine success {}  from Ask to Fine on Go } }
  final Done success { on enter act }
  from Cart to Next on Go
  from Next to Checks on Timeout
  from Checks join all to Done else to Done
  state ExtraNUMBER {}
  from Cart to ExtraNUMBER on Cancel2
  from ExtraNUMBER to Done on Go
}
event Cancel2 {}
"""

REPAIR = Step(lambda process: process.actions["repair"]())
CLEAN_UP = Step(
    lambda process: purge_finished(process.store, older_than=0, archive=process.actions["keep"], clock=process.clock)
)
PAY = (create("order", id="o-1"), send("o-1", "Pay"))


def versions(number: int) -> list[Definition]:
    return machines(VERSIONS.replace("NUMBER", str(number)), "order")


def cancelled(own: str, *steps: Step) -> Callable[[str], Scenario]:
    text = CANCEL.replace("OWN", own)
    return lambda name: Scenario(name, machines(text, "order", "bank"), steps, world)


def dead(handler: str, *steps: Step) -> Callable[[str], Scenario]:
    text = DEAD.replace("HANDLER", handler)
    return lambda name: Scenario(name, machines(text, "order", "parcel"), steps, world)


def of(text: str, *names: str, steps: tuple[Step, ...]) -> Callable[[str], Scenario]:
    return lambda name: Scenario(name, machines(text, *names), steps, world)


_SMALL: dict[str, Callable[[str], Scenario]] = {
    "plain": of(PLAIN, "order", steps=(create("order", id="o-1"), send("o-1", "Pay", {"amount": 7}))),
    "timers": of(
        TIMERS, "order",
        steps=(create("order", id="o-1"), advance(60), sweep(), advance(60), sweep(), advance(900), sweep()),
    ),
    "born-forked": of(
        BORN, "order", steps=(create("order", id="o-1"), send("o-1", "Stock"), send("o-1", "Fraud"))
    ),
    "errors": of(ERRORS, "order", steps=(*PAY, advance(60), sweep(), send("o-1", "Again"))),
    "dead-letter": dead("first_declines", *PAY, advance(1000), sweep(), redrive("o-1", "Sending"), send("o-1", "Go")),
    "failed-commit": dead(
        "spoil", *PAY, REPAIR, redrive("o-1", "Cart"), send("o-1", "Pay", id="step-2"), send("o-1", "Go")
    ),
    "ttl": of(
        TTL.replace("EXPIRED", ""), "order",
        steps=(
            create("order", id="o-1"), advance(90), send("o-1", "Nudge"), advance(90), sweep(), advance(10), sweep()
        ),
    ),
    "ttl-handled": of(
        TTL.replace("EXPIRED", "from Checks to Gone on Expired"), "order",
        steps=(create("order", id="o-1"), send("o-1", "Nudge"), advance(100), sweep()),
    ),
    "purge": of(
        BORN, "order",
        steps=(create("order", id="o-1"), terminate("o-1"), purge("o-1", archive="keep")),
    ),
    "letters": lambda name: Scenario(
        name, [*machines(LETTERS, "order"), *machines(NOTE, "note")],
        (create("note", id="n-1"), create("order", id="o-2"), *PAY, CLEAN_UP),
        world,
    ),
    "suspend": of(
        TIMERS, "order",
        steps=(create("order", id="o-1"), suspend("o-1"), advance(60), sweep(), resume("o-1"), sweep()),
    ),
}  # fmt: skip

_LARGE: dict[str, Callable[[str], Scenario]] = {
    "fork": of(
        FORK, "order",
        steps=(*PAY, send("o-1", "Stock", {"n": 3}), send("o-1", "Fraud"), advance(60), sweep()),
    ),
    "fork-times-out": of(FORK, "order", steps=(*PAY, advance(900), sweep())),
    "fan-out": of(
        FAN_OUT, "order", "parcel",
        steps=(
            create("order", id="o-1"), send("o-1", "Go"),
            *(send(f"o-1/Shipping:{n}/1", "Scan", {"item": "x"}) for n in (3, 0, 4, 1, 2)),
        ),
    ),
    "nested": of(
        NESTED, "order", "payment", "bank",
        steps=(
            create("order", id="o-1"), send("o-1", "Go"),
            send("o-1/Paying/1/Asking/2", "Paid", {"amount": 9}),
        ),
    ),
    "child-error": of(CHILD_ERROR, "order", steps=(*PAY, send("o-1", "Pay"), send("o-1", "Stock"))),
    "cancel": cancelled("from Checks to Off on Cancel", *PAY, cancel("o-1", "changed my mind")),
    "cancel-forced": cancelled("", *PAY, cancel("o-1", "changed my mind")),
    "terminate": cancelled("", *PAY, terminate("o-1"), purge("o-1", archive="keep")),
    "suspend-tree": cancelled(
        "", *PAY, suspend("o-1"), advance(60), sweep(), resume("o-1"), sweep(), send("o-1", "Stock")
    ),
    "deferred": of(
        DEFERRED, "order",
        steps=(
            create("order", id="o-1"), send("o-1", "Pay", {"n": 1}), send("o-1", "Go"), send("o-1", "Pay", {"n": 2}),
            send("o-1", "Pay", {"n": 3}), advance(10), sweep(),
        ),
    ),
    "called-off": of(
        CALLED_OFF, "order", "parcel", steps=(*PAY, send("o-1", "Refuse"), advance(60), sweep()),
    ),
    "again": of(
        AGAIN, "order",
        steps=(
            *PAY, send("o-1", "Stock"), send("o-1", "Back"), send("o-1", "Pay"), send("o-1", "Stock"), advance(5),
            sweep(), send("o-1", "Stock"),
        ),
    ),
    "redrive-child": of(
        CHILD_REDRIVE, "order",
        steps=(
            *PAY, send("o-1", "Take"), send("o-1", "Stock"), redrive("o-1/Checks.Money/1", "Checks.Money.Waiting"),
            advance(30), sweep(),
        ),
    ),
    "publish": lambda name: Scenario(
        name, versions(1),
        (
            publish(*versions(1)), create("order", id="o-1"), send("o-1", "Go"), deploy(*versions(2)),
            publish(*versions(2)), advance(10), sweep(), send("o-1", "Go"), create("order", id="o-2"),
        ),
        world,
    ),
}  # fmt: skip

SMALL = tuple(_SMALL)
ALL = (*_SMALL, *_LARGE)


@cache
def scenario(name: str) -> Scenario:
    """The scenario of that name."""
    return {**_SMALL, **_LARGE}[name](name)


def main(name: str, points: str = "") -> None:
    calm = run(scenario(name))
    for number, call in enumerate(calm.calls, 1):
        print(f"{number:4} {call}")
    compared(scenario(name), calm, parse_points(points))
    print("ends like the calm run")


if __name__ == "__main__":
    main(*sys.argv[1:])
