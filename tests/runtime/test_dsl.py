"""From text to a definition that runs: `definition_from_dsl` and its companions (runtime.md section 1, edges.md)."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import environment

from harel import (
    DictStore,
    DslError,
    DurableRunner,
    Event,
    ValidationError,
    definition_from_dsl,
    definition_from_dsl_file,
    load_definitions,
    read_definitions,
    render,
    validate,
    validate_or_raise,
)

ORDER = """
event Paid { amount: int }
machine order {
  initial Cart
  state Cart { on enter greet }
  final Done success { on enter shop.mail.thank }
  from Cart to Done on Paid where enough
}
guard enough = amount >= 100
"""
REFUND = "machine refund { initial Asked  final Asked success {} }\n"
UNSAFE = """
event Go {}
machine order {
  initial A
  state A {}
  state Asking {}
  final B success {}
  from A to B on Go
  from A to Asking on Cancel
  from Asking to B on Go
}
"""


def greet(stm: Any, event: Event) -> None:
    stm.execution_ctx["greeted"] = True


# --- handlers


def test_a_definition_runs_with_the_programs_handlers() -> None:
    order = definition_from_dsl(ORDER, actions={"greet": greet})
    execution = DurableRunner(DictStore(), [order]).create("order")

    assert (execution.active_path, execution.context) == ("Cart", {"greeted": True})


def test_all_handlers_that_nothing_binds_are_named_at_once_and_dotted_paths_are_not_imported() -> None:
    text = ORDER.replace("state Cart { on enter greet }", "state Cart { on enter greet  on exit wave }")

    with pytest.raises(DslError, match="greet, wave"):
        definition_from_dsl(text)


def test_the_program_may_bring_a_guard() -> None:
    text = ORDER.replace("guard enough = amount >= 100", "")
    with pytest.raises(DslError, match="unknown_guard"):
        definition_from_dsl(text, actions={"greet": greet})

    order = definition_from_dsl(
        text, actions={"greet": greet}, guards={"enough": lambda context, data: data["amount"] > 5}
    )

    assert order.open_guards == ("enough",)


# --- which machine


def test_a_name_is_needed_where_there_are_several_machines() -> None:
    two = ORDER + REFUND

    with pytest.raises(DslError, match="declares order, refund"):
        definition_from_dsl(two, actions={"greet": greet})
    with pytest.raises(DslError, match="declares no machine 'payment'; it declares order, refund"):
        definition_from_dsl(two, "payment")
    assert definition_from_dsl(two, "refund").id == "refund"


# --- what is refused


def test_a_source_that_cannot_be_compiled_is_refused_with_all_findings() -> None:
    with pytest.raises(DslError) as refused:
        definition_from_dsl(ORDER.replace("to Done", "to Dnoe").replace("initial Cart", "initial Crat"))

    assert [issue.code for issue in refused.value.issues if issue.is_error] == ["initial_unresolved", "unknown_state"]
    assert "main.stm:4:11" in str(refused.value)


def test_a_machine_that_only_the_rules_refuse_is_built_unless_validation_is_asked_for() -> None:
    assert definition_from_dsl(UNSAFE).id == "order"
    with pytest.raises(ValidationError, match="cancel_target_not_terminal"):
        definition_from_dsl(UNSAFE, validate=True)


def test_validation_refuses_names_that_are_not_found_in_the_same_way() -> None:
    with pytest.raises(ValidationError, match="unknown_state"):
        definition_from_dsl(UNSAFE.replace("to Asking", "to Asnikg"), validate=True)


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("machine order", "machine order version 0", "version_invalid"),
        ("machine order", f"machine order version {'9' * 5000}", "version_invalid"),
        ("state A {}", "state A { timeout 0s }", "timeout_invalid"),
        ("initial A", "", "missing_initial"),
        ("initial A", "initial A ttl 0", "ttl_not_positive"),
    ],
)
def test_what_has_no_meaning_in_the_tables_is_refused_without_validation_too(right: str, wrong: str, code: str) -> None:
    with pytest.raises(DslError, match=code):
        definition_from_dsl(UNSAFE.replace(right, wrong, 1))


def test_validate_lists_everything_and_validate_or_raise_only_passes_warnings() -> None:
    warned = UNSAFE.replace("  from A to Asking on Cancel\n", "")

    assert [issue.code for issue in validate(UNSAFE)] == ["cancel_target_not_terminal"]
    with pytest.raises(ValidationError):
        validate_or_raise(UNSAFE)
    assert [issue.code for issue in validate_or_raise(warned)] == ["unreachable"]


# --- files


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project whose machines import from a folder beside theirs."""
    (tmp_path / "pyproject.toml").write_text("")
    for name in ("machines", "shared"):
        (tmp_path / name).mkdir()
    (tmp_path / "shared" / "events.stm").write_text("event Paid { amount: int }\n")
    text = ORDER.replace("event Paid { amount: int }", 'import "../shared/events.stm"')
    (tmp_path / "machines" / "order.stm").write_text(text)
    return tmp_path


def test_a_file_may_import_from_everywhere_in_its_project(shop: Path) -> None:
    order = definition_from_dsl_file(shop / "machines" / "order.stm", actions={"greet": greet})

    assert [name for name, _ in order.sources] == ["machines/order.stm", "shared/events.stm"]


def test_a_base_path_is_a_fence(shop: Path) -> None:
    with pytest.raises(DslError, match="import_outside"):
        definition_from_dsl_file(shop / "machines" / "order.stm", base_path=shop / "machines")
    with pytest.raises(DslError, match="does not lie below"):
        definition_from_dsl_file(shop / "machines" / "order.stm", base_path=shop / "shared")


def test_a_text_imports_from_its_base_path_and_otherwise_from_nowhere(shop: Path) -> None:
    text = ORDER.replace("event Paid { amount: int }", 'import "shared/events.stm"')

    assert definition_from_dsl(text, base_path=shop, actions={"greet": greet}).id == "order"
    with pytest.raises(DslError, match="base_path"):
        definition_from_dsl(text)


def test_a_file_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DslError, match=r"gone\.stm"):
        definition_from_dsl_file(tmp_path / "gone.stm")


def test_a_fault_in_a_fragment_of_another_file_is_told_though_that_file_was_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "lib.stm").write_text("fragment Ask {\n  state A {}\n}\n")
    (tmp_path / "main.stm").write_text('import "lib.stm"\nmachine order { initial One  use Ask as One }\n')

    with pytest.raises(DslError, match="missing_initial") as refused:
        definition_from_dsl_file(tmp_path / "main.stm")
    (issue,) = (issue for issue in refused.value.issues if issue.code == "missing_initial")
    assert [(note.file, note.line) for note in issue.notes] == [("lib.stm", 1)]


# --- folders


def test_all_machines_below_a_folder_come_by_file_and_place_with_open_handlers(shop: Path) -> None:
    (shop / "machines" / "back").mkdir()
    (shop / "machines" / "back" / "refund.stm").write_text(REFUND + REFUND.replace("refund", "exchange"))
    machines = read_definitions(shop / "machines")

    assert [machine.id for machine in machines] == ["refund", "exchange", "order"]
    assert machines[2].handlers == ("greet",)
    assert list(load_definitions(str(shop / "machines"))) == [("refund", 1), ("exchange", 1), ("order", 1)]


def test_hidden_folders_and_virtual_environments_are_passed_over(shop: Path) -> None:
    for name in (".cache", "venv"):
        (shop / "machines" / name).mkdir()
        (shop / "machines" / name / "broken.stm").write_text("machine {")
    (shop / "machines" / "venv" / "pyvenv.cfg").write_text("")

    assert [machine.id for machine in read_definitions(shop / "machines")] == ["order"]


def test_a_folder_must_be_there_and_hold_sources(tmp_path: Path) -> None:
    with pytest.raises(DslError, match="no such file or folder"):
        read_definitions(tmp_path / "gone")
    with pytest.raises(DslError, match=r"no \.stm file is below"):
        read_definitions(tmp_path)


def test_a_source_with_an_error_stops_all(shop: Path) -> None:
    (shop / "machines" / "refund.stm").write_text(REFUND.replace("initial Asked", "initial Asekd"))

    with pytest.raises(ValidationError, match="initial_unresolved"):
        read_definitions(shop / "machines")


def test_two_files_may_not_declare_one_version_differently(shop: Path) -> None:
    (shop / "machines" / "a.stm").write_text(REFUND)
    (shop / "machines" / "b.stm").write_text(REFUND)
    assert ("refund", 1) in load_definitions(shop / "machines")

    (shop / "machines" / "b.stm").write_text(REFUND.replace("Asked success", "Asked refused"))
    with pytest.raises(DslError, match="machine refund version 1 is loaded twice with different content"):
        load_definitions(shop / "machines")


# --- the door


def test_a_diagram_is_drawn_from_the_tables() -> None:
    assert "stateDiagram" in render(definition_from_dsl(UNSAFE))


def test_without_the_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *arguments: Any) -> Any:
        if name.partition(".")[0] == "harelc":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", absent)

    with pytest.raises(DslError, match="pip install harelc"):
        definition_from_dsl(ORDER)


def test_importing_the_runtime_imports_no_compiler() -> None:
    program = "import harel, harel.dsl, sys; print(sorted({'harelc', 'textx', 'black', 'click'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
