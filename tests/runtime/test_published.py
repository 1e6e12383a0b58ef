"""What a store keeps of a machine version, and what a process may run of it (runtime.md section 6)."""

from __future__ import annotations

import copy
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harel import (
    Definition,
    DefinitionNotLoaded,
    DictStore,
    DurableRunner,
    Event,
    Status,
    StoreConflict,
    definition_from_dsl,
    publish_definitions,
)
from harel.errors import HarelError
from harel.published import document
from harel.tables import check_tables

ORDER = """
event Pay { amount: int }
event Go {}
guard large = event.amount > 100
machine order version NUMBER {
  context { paid: int = 0 }
  initial Cart
  state Cart { timeout 60 }
  state Paid { on enter ACTION }
  orthogonal Checks { with { n: paid } state A { initial X  state X {}  final Y success {}  from X to Y on Go } }
  state Inside { invoke { initial Q  state Q {}  final R success {}  from Q to R on Go } }
  final Done success {}
  from Cart to Paid on Pay where not large set context.paid = context.paid + event.amount
  from Cart to Done on Timeout
  from Paid choose on Go { when context.paid > 50 to Inside  else to Checks }
  from Checks join all to Done else to Done
  from Inside to Done on Returned
}
"""


def order(number: int = 1, action: str = "shop.payments.charge", **options: Any) -> Definition:
    return definition_from_dsl(ORDER.replace("NUMBER", str(number)).replace("ACTION", action), "order", **options)


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An importable package `shop`: `payments` and, under it, nothing; `mail`, which no machine calls."""
    package = tmp_path / "shop"
    (package / "payments").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "payments" / "__init__.py").write_text(
        "from os import system\n"
        "def charge(stm, event): stm.execution_ctx['paid'] += 1\n"
        "def refund(stm, event): stm.execution_ctx['paid'] = -1\n"
    )
    (package / "payments" / "cards.py").write_text("def swipe(stm, event): stm.execution_ctx['paid'] = 3\n")
    (package / "mail.py").write_text("def send(stm, event): stm.execution_ctx['paid'] = 4\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "shop"]:
        del sys.modules[name]


@pytest.fixture
def store() -> DictStore:
    return DictStore()


def started(store: DictStore, definition: Definition) -> None:
    """An order of that version in the store, and the version published."""
    publish_definitions(store, [definition])
    runner = DurableRunner(store, [definition], clock=lambda: 0.0, resolver=lambda path: lambda stm, event: None)
    runner.create("order", execution_id="o-1")


def pay(store: DictStore, *definitions: Definition, **options: Any) -> Any:
    """What a process with these machines makes of a payment."""
    runner = DurableRunner(store, definitions, clock=lambda: 0.0, **options)
    return runner.process("o-1", Event("Pay", {"amount": 5}, id="p-1"))


def test_a_version_that_is_not_loaded_is_read_from_the_store(store: DictStore) -> None:
    started(store, order(1))

    paid = pay(store, order(2))

    assert (paid.active_path, paid.definition_version, paid.context) == ("Paid", 1, {"paid": 6})


def test_a_version_is_published_once(store: DictStore) -> None:
    publish_definitions(store, [order(1), order(1)])
    with pytest.raises(StoreConflict, match="version 2"):
        publish_definitions(store, [order(1, "shop.mail.send")])

    assert store.list_definitions() == [("order", 1, order(1).digest)]


def test_a_document_holds_tables_sources_and_what_inline_machines_need(store: DictStore) -> None:
    stored = json.loads(document(order(1)))

    assert Definition.from_data(stored["definition"]) == order(1)
    assert [machine["id"] for machine in stored["definition"]["inline"]] == ["order:Inside"]


# --- which functions may be called


@pytest.mark.parametrize(
    "action",
    [
        "os.system",
        "shop.mail.send",
        "shop.payments.cards.swipe",
        "shop.payments.__init__.charge",
        "shop.payments.charge.__globals__",
        "shop.payments.__builtins__.eval",
        "shop.charge",
    ],
)
def test_a_function_of_a_module_that_is_not_allowed_is_not_even_imported(store: DictStore, action: str) -> None:
    started(store, order(1, action))
    before = store.load("o-1")
    with pytest.raises(DefinitionNotLoaded, match=r"does not allow.*HAREL_ACTION_MODULES"):
        pay(store, order(2))

    assert store.load("o-1") == before
    assert not store.is_processed("o-1", "p-1")
    assert [timer.path for timer in store.due_timers(60.0)] == ["Cart"]
    assert not {"shop.mail", "shop.payments.cards"} & set(sys.modules)


@pytest.mark.parametrize("path", ["shop.payments/../os.system", "shop.payments:charge", "shop..payments", ".os.system"])
def test_a_path_that_is_none_is_refused(store: DictStore, path: str) -> None:
    started(store, order(1))
    tampered(store, lambda data: data["states"][2][6].__setitem__(0, [path]))

    with pytest.raises(DefinitionNotLoaded, match="does not allow"):
        pay(store, order(2), action_modules=["shop"])


def test_a_function_that_an_allowed_module_merely_imported_is_not_its_own(store: DictStore) -> None:
    started(store, order(1, "shop.payments.system"))

    with pytest.raises(Exception, match=r"shop\.payments\.system.*does not allow"):
        pay(store, order(2))
    assert store.load("o-1").active_path == "Cart"


@pytest.mark.parametrize(
    ("allowed", "action"),
    [
        ("shop.mail", "shop.mail.send"),
        ("shop", "shop.mail.send"),
        ("shop.payments", "shop.payments.cards.swipe"),
        ("", "shop.payments.refund"),
    ],
)
def test_the_program_allows_modules_and_those_under_them(store: DictStore, allowed: str, action: str) -> None:
    started(store, order(1, action))

    assert pay(store, order(2), action_modules=[allowed]).active_path == "Paid"


def test_the_environment_allows_modules(store: DictStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAREL_ACTION_MODULES", "shop.other, shop.mail")
    started(store, order(1, "shop.mail.send"))

    assert pay(store, order(2)).context == {"paid": 4}


def test_a_name_that_only_begins_like_an_allowed_module_is_not_under_it(store: DictStore) -> None:
    started(store, order(1, "shop.mail.send"))

    with pytest.raises(DefinitionNotLoaded):
        pay(store, order(2), action_modules=["shop.mai"])


# --- handlers that the program binds


def test_handlers_are_bound_again_from_the_runners_own(store: DictStore) -> None:
    calls: list[str] = []
    started(store, order(1, "charge", actions={"charge": print}))
    newer = order(2, "charge", actions={"charge": lambda stm, event: calls.append("definition")})
    pay(store, newer, actions={"charge": lambda stm, event: calls.append("runner")})

    assert calls == ["runner"]


def test_a_handler_that_cannot_be_bound_counts_as_a_version_that_is_not_there(store: DictStore) -> None:
    started(store, order(1, "collect", actions={"collect": print}))

    with pytest.raises(DefinitionNotLoaded, match="collect"):
        pay(store, order(2))
    assert store.load("o-1").status is Status.RUNNING


# --- documents that were tampered with


def tampered(store: DictStore, change: Callable[[dict[str, Any]], object], *, checksum: bool = True) -> None:
    """Replace the published document by one with other tables, and a checksum that fits them unless told otherwise."""
    stored = json.loads(document(order(1)))
    change(stored["definition"])
    if checksum:
        text = json.dumps(stored["definition"], sort_keys=True, separators=(",", ":"))
        stored["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    replaced(store, json.dumps(stored))


def replaced(store: DictStore, text: str) -> None:
    store._definitions["order", 1] = (order(1).digest, text)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"definition": {}}', "[" * 100_000, '{"definition": NaN}'])
def test_a_document_that_is_none_is_damaged(store: DictStore, text: str) -> None:
    started(store, order(1))
    replaced(store, text)

    with pytest.raises(DefinitionNotLoaded, match="damaged"):
        pay(store, order(2))


def test_a_checksum_that_does_not_fit_is_damage(store: DictStore) -> None:
    started(store, order(1))
    tampered(store, lambda data: data.update(ttl=5), checksum=False)

    with pytest.raises(DefinitionNotLoaded, match="checksum"):
        pay(store, order(2))


def test_another_digest_is_another_machine(store: DictStore) -> None:
    started(store, order(1))
    tampered(store, lambda data: data.update(digest="0" * 64))

    failed = pay(store, order(2))

    assert (failed.status, (failed.error or "").partition(":")[0]) == (Status.FAILED, "DefinitionChanged")


@pytest.mark.parametrize(("key", "value"), [("id", "invoice"), ("version", 7)])
def test_the_document_of_another_version_is_refused(store: DictStore, key: str, value: object) -> None:
    started(store, order(1))
    tampered(store, lambda data: data.update({key: value}) or data.update(inline=[]))

    with pytest.raises(DefinitionNotLoaded, match="it is of machine"):
        pay(store, order(2))


def test_a_newer_format_says_what_to_install(store: DictStore) -> None:
    started(store, order(1))
    tampered(store, lambda data: data.update(format=99, states="of a kind that is not known yet"))

    with pytest.raises(DefinitionNotLoaded, match="newer harel-runtime"):
        pay(store, order(2))


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in JSON data, from the whole down to each value."""
    if path:
        yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places(value, (*path, key))


@pytest.mark.parametrize("junk", [None, -7, 10**6, "zz", True, [], {}, [[1]]], ids=repr)
def test_no_table_can_lead_the_engine_astray(junk: Any) -> None:
    """Whatever stands wherever: it is refused, or it is a machine, which may be another one."""
    data = json.loads(document(order(1)))["definition"]
    refused = 0
    for *outer, last in places(data):
        changed = copy.deepcopy(data)
        inner = changed
        for key in outer:
            inner = inner[key]
        inner[last] = junk
        try:
            check_tables(changed)
        except ValueError:
            refused += 1
        else:
            drive(changed)

    assert refused > 150


def drive(data: dict[str, Any]) -> None:
    """Start the machine and give it some events; nothing but errors that are meant comes of it."""
    with suppress(HarelError):
        definition = Definition.from_data(data).bound(None, {"zz": lambda context, event: True})
        runner = DurableRunner(
            DictStore(), [definition], clock=lambda: 0.0, resolver=lambda path: lambda stm, event: None
        )
        started = runner.create(definition.id, execution_id="o-1")
        for event in (Event("Pay", {"amount": 5}), Event("Go"), Event("Go")):
            runner.process(started.id, event)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data["states"].clear(), "the first state is not the machine"),
        (lambda data: data["states"][1].__setitem__(1, 5), "state 1 is a leaf with the parent 5"),
        (lambda data: data["states"][2].__setitem__(0, "Cart"), "name 'Cart', which is empty, has a dot or is taken"),
        (lambda data: data["states"][0].__setitem__(3, 4), "state 0 has the initial 4"),
        (lambda data: data["transitions"][0].__setitem__(0, 99), "transition 0 leads nowhere"),
        (lambda data: data["transitions"][0].__setitem__(2, "select"), "wrong branches or selector"),
        (lambda data: data["guards"].append(["large", ["guard", "large"]]), "the guards large ask one another"),
        (lambda data: data["inline"][0].__setitem__("id", "invoice"), "does not stand in 'order'"),
        (lambda data: data["states"][1].__setitem__(5, 10**20), "not a number of seconds"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(store: DictStore, change: Callable[[Any], object], said: str) -> None:
    started(store, order(1))
    tampered(store, change)

    with pytest.raises(DefinitionNotLoaded, match=said):
        pay(store, order(2))
