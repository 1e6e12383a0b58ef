"""What people write who come from another notation gets the words to write instead (build.md section 2)."""

from __future__ import annotations

import pytest

from .sources import issues

TRANSITION = "a transition is written `from A to B on EVENT`"
ACTION = "actions stand in states: `on enter ACTION`, `on exit ACTION`"
NAME = "names hold letters, digits and `_`; those of states, events and fields may stand in double quotes"


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("Cart -> Paid", TRANSITION),
        ("from Cart -> Paid on Pay", TRANSITION),
        ("transition Cart to Paid on Pay", TRANSITION),
        ("state Open { on Pay to Paid }", TRANSITION),
        ("from Cart to Paid on Pay if amount > 1", "did you mean `where`?"),
        ("from Cart to Paid on Pay when amount > 1", "did you mean `where`?"),
        ("from Cart to Paid on Pay [amount > 1]", "a guard follows `where`"),
        ("from Cart choose on Pay { if amount > 1 to Paid else to Cart }", "did you mean `when`?"),
        ("from Cart to Paid on Pay, Ship", "several events are joined by `|`"),
        ("from Cart to Paid on Pay or Ship", "several events are joined by `|`"),
        ("from Cart to Paid on Pay / charge", ACTION),
        ("from Cart to Paid on Pay do charge", ACTION),
        ("state Open { entry / hold }", "write `on enter ACTION`"),
        ("state Open { exit hold }", "write `on exit ACTION`"),
        ("state Open { timeout 15 min }", "no space stands in a duration: `15m`"),
        ('state Open { timeout "15m" }', "a duration has no quotes: `15m`"),
        ("from Cart to Paid on Pay where amount not in [1]", "write `not n in […]`"),
        ("from Cart to Paid on Pay where 1 < amount", "the field stands on the left: `n > 1`"),
        ("from Cart to Paid on Pay where amount in (1, 2)", "a list stands in brackets: `[1, 2]`"),
        ("from Cart to Paid on Pay where amount = 1", "`==` compares"),
        ("from Cart to Paid on Pay where amount == None", "did you mean `null`?"),
        ("from Cart to Paid on Pay set total = 1", "`set` writes keys of the context: `set context.n = …`"),
        ("from Cart to Paid on Pay set context.n += 1", "write it out: `context.n = context.n + 1`"),
        (
            "from Cart to Paid on Pay set context.n = context.n + 1 + 2",
            "a `set` holds one operator: compute the rest in an action",
        ),
        ("state in-cart {}", NAME),
    ],
)
def test_a_slip_inside_a_machine_is_one_finding_with_its_remedy(line: str, advice: str) -> None:
    found = issues(
        f"""
        event Pay {{ amount: int }}
        event Ship {{}}
        machine order {{
          initial Cart
          state Cart {{}}
          final Paid success
          from Cart to Paid on Pay | Ship
          {line}
        }}
        """
    )

    assert [(finding.code, finding.hint) for finding in found] == [("syntax_error", advice)]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("event Pay\n", "an event without fields is written `event Go {}`"),
        ("event Pay(amount: int)\n", "fields stand in braces: `event Go { amount: int }`"),
        ("import lib.stm\n", 'the file stands in double quotes: `import "lib.stm"`'),
        ("/* orders */\n", "comments begin with `#` or `//`"),
        ("machine my-order {}\n", NAME),
        ('machine order version "2" {}\n', "a version has no quotes"),
    ],
)
def test_a_slip_in_a_declaration_tells_its_remedy(text: str, advice: str) -> None:
    assert advice in [finding.hint for finding in issues(text + MACHINE)]


MACHINE = "machine device { initial On  state On {}  final Off success  from On to Off on Timeout }\n"
