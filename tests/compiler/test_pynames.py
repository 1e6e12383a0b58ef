"""Python names for the names of a source: keywords, clashes, text that is no identifier."""

from __future__ import annotations

import pytest

from harelc.pynames import EVENT_SCOPE, MODULE_SCOPE, NameClash, module_name, python_name, python_names


@pytest.mark.parametrize("name", ["amount", "PaymentResult", "_private", "état", "match", "type", "cls", "print"])
def test_a_name_that_python_takes_stays(name: str) -> None:
    assert python_name(name) == name


@pytest.mark.parametrize("name", ["class", "from", "None", "True", "async", "lambda"])
def test_a_keyword_gets_an_underscore_behind(name: str) -> None:
    assert python_name(name) == f"{name}_"


@pytest.mark.parametrize("name", ["l", "O", "I"])
def test_a_name_that_linters_take_for_a_digit_gets_one_too(name: str) -> None:
    assert python_name(name) == f"{name}_"


@pytest.mark.parametrize("name", ["Event", "State", "DEFINITION", "bind", "str", "Any", "super", "ABSENT"])
def test_an_event_is_not_called_like_what_the_module_uses(name: str) -> None:
    assert python_name(name, MODULE_SCOPE) == f"{name}_"


@pytest.mark.parametrize("name", ["_STATES", "_DEEP_1", "_INLINE_1", "_TRANSITIONS_1_2"])
def test_nor_like_a_table(name: str) -> None:
    assert python_name(name, MODULE_SCOPE) == f"{name}_"


@pytest.mark.parametrize("name", ["self", "id", "kind", "data", "event_id", "super"])
def test_a_field_is_not_called_like_what_every_event_has(name: str) -> None:
    assert python_name(name, EVENT_SCOPE) == f"{name}_"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("on hold", "on_hold"),
        ("a: b; c", "a_b_c"),
        ("50 % done", "_50_done"),
        ("1", "_1"),
        ("ﬁne", "fine"),
        ("*) pwned = 1 #", "_pwned_1_"),
        ("", "_"),
    ],
)
def test_quoted_text_becomes_an_identifier(text: str, name: str) -> None:
    assert python_name(text) == name


@pytest.mark.parametrize(("text", "name"), [("__secret", "_secret_"), ("__init__", "_init___"), ("__", "_")])
def test_two_leading_underscores_become_one_for_classes_rename_such_names(text: str, name: str) -> None:
    assert python_name(text) == name


@pytest.mark.parametrize(("one", "other"), [("class", "class_"), ("on hold", "on_hold"), ("ﬁ", "fi"), ("id", "id_")])
def test_two_names_that_would_be_one_are_refused_with_both(one: str, other: str) -> None:
    with pytest.raises(NameClash, match="rename one") as refused:
        python_names([one, "other", other], EVENT_SCOPE, "fields")

    assert (refused.value.first, refused.value.second) == (one, other)


def test_the_same_name_twice_is_no_clash() -> None:
    assert python_names(["a", "b", "a"], (), "events") == {"a": "a", "b": "b"}


@pytest.mark.parametrize(
    ("machine", "module"),
    [
        ("order", "order"),
        ("class", "class_"),
        ("harel", "harel_"),
        ("typing", "typing_"),
        ("con", "con_"),
        ("LPT1", "LPT1_"),
    ],
)
def test_a_module_has_a_name_that_every_system_and_import_takes(machine: str, module: str) -> None:
    assert module_name(machine) == module
