"""The digest of a machine: what moves it and what does not (runtime.md section 6, edges.md)."""

from __future__ import annotations

import pytest

from harelc import tree
from harelc.diagnostics import Source
from harelc.digest import canonical
from harelc.syntax import parse

from .sources import MAIN, compiled

SOURCE = """import "lib.stm" as lib
event Paid { amount: int }
event Dropped {}
guard enough = amount >= 100
bind { charge = shop.payments.charge  refund = shop.payments.refund }
fragment Ask(out: state, go: event, text: value) {
  initial Asking
  state Asking { on enter note(text: text)  timeout 15m }
  from Asking to out on go
  from Asking to out on Timeout
}
machine order version 3 {
  context { note: string?  max: int = 3 }
  initial Waiting
  use Ask(out = Done, go = Paid, text = "now") as Waiting
  final Done success { on enter charge }
}
machine other { initial A  final A success {} }
"""
LIBRARY = 'import "base.stm"\nevent Shipped {}\nmachine parcel { initial A  final A success {} }\n'
BASE = "guard late = days > 3\n"


def digest(
    text: str = SOURCE, library: str = LIBRARY, base: str = BASE, names: tuple[str, str] = ("lib", "base")
) -> str:
    """The digest of `order`; `names` are those of the imported files."""
    lib, inner = (f"{name}.stm" for name in names)
    files = {
        MAIN: text.replace("lib.stm", lib),
        lib: library.replace("base.stm", inner),
        inner: base,
    }
    return compiled(files).definitions["order"].digest


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# first\n" + SOURCE.replace("machine order", "## The order.\nmachine order"), id="comments-docs"),
        pytest.param(" ".join(SOURCE.split()), id="layout"),
        pytest.param(SOURCE.replace("initial Waiting", 'initial "Waiting"'), id="quoted-name"),
        pytest.param(SOURCE.replace("out = Done, go = Paid", 'out = "Done", go = "Paid"'), id="quoted-arguments"),
        pytest.param(SOURCE.replace("timeout 15m", "timeout 900"), id="duration"),
        pytest.param(SOURCE.replace("max: int = 3", "max: int = 3,"), id="comma"),
        pytest.param("".join(lines(SOURCE)[:-1]), id="another-machine-goes"),
        pytest.param(SOURCE.replace("other {", "other version 2 {"), id="another-machine-changes"),
        pytest.param("".join([lines(SOURCE)[0], *lines(SOURCE)[3:], *lines(SOURCE)[1:3]]), id="order-of-declarations"),
        pytest.param(
            SOURCE.replace("charge = shop.payments.charge  refund", "refund").replace(
                "payments.refund }", "payments.refund  charge = shop.payments.charge }"
            ),
            id="order-of-bindings",
        ),
    ],
)
def test_it_stays(text: str) -> None:
    assert digest(text) == digest()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version 3", "version 4"),
        (">= 100", ">= 101"),
        ("amount: int", "amount: float"),
        ("event Dropped {}\n", ""),
        ("timeout 15m", "timeout 901"),
        ("Done success", "Done paid"),
        ("max: int = 3", "max: int = 4"),
        ("max: int = 3", "max: any = 3.0"),
        ("payments.refund", "payments.void"),
        ('text = "now"', 'text = "later"'),
        ("text: text", 'text: "text"'),
        ("as lib", "as library"),
    ],
)
def test_it_moves(old: str, new: str) -> None:
    assert digest(SOURCE.replace(old, new)) != digest()


def test_names_of_files_do_not_count_and_their_content_does() -> None:
    assert digest(names=("library", "ground")) == digest()
    assert digest(base="\n# three days\n" + BASE) == digest()
    assert digest(base=BASE.replace("3", "4")) != digest()
    assert digest(library=LIBRARY.replace("Shipped {}", "Shipped { n: int }")) != digest()


def test_a_parameter_handed_on_is_not_the_text_of_its_name() -> None:
    inner = "fragment Inner(text: value) { initial A  state A { on enter note(text: text) } }\n"
    outer = "fragment Outer(text: value) {{ initial X  use Inner(text = {}) as X }}\n"

    assert digest(inner + outer.format("text") + SOURCE) != digest(inner + outer.format('"text"') + SOURCE)


def test_the_digest_is_the_same_in_all_releases() -> None:
    """One that moves strands every execution under way: never change this value without a new `DIGEST_FORMAT`."""
    assert digest() == "217e0cc729ed610c5177edce4d1d48a8b52ac1e5fcdd2fdfc1cd0a16c1ec1fb4"


def test_what_is_not_written_plays_no_part_so_that_the_language_can_grow() -> None:
    """A part that nodes gain later does not move the digests of machines without it."""
    (state,) = (part for part in parsed("state Cart {}").body if isinstance(part, tree.State))

    assert canonical(state) == "State(keyword=5:state,name=4:Cart,)"


def parsed(statement: str) -> tree.Machine:
    file, _ = parse(Source(MAIN, f"machine order {{ {statement} }}"))
    (machine,) = file.items
    assert isinstance(machine, tree.Machine)
    return machine
