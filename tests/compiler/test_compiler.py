"""The pipeline: what a compilation holds, and what of it is there in spite of errors (design.md, the stages)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harelc.compiler import bound_check, compile_file, compile_text

from .sources import MAIN, ORDER, compiled, found

GO = "event Go {}\n"


def test_a_compilation_has_machines_in_source_order_sources_and_sorted_findings() -> None:
    second = ORDER.replace("machine order", "machine refund")
    made = compiled({MAIN: 'import "lib.stm"\nguard b = n == 1\nguard a = n == 1' + second + ORDER, "lib.stm": GO})

    assert (made.entry, list(made.definitions), list(made.sources)) == (MAIN, ["refund", "order"], [MAIN, "lib.stm"])
    assert [(issue.code, issue.line) for issue in made.issues] == [("unused_guard", 2), ("unused_guard", 3)]
    assert not made.has_errors and not made.blocked


def test_a_definition_carries_its_file_and_all_it_imports() -> None:
    files = {MAIN: 'import "lib.stm"' + ORDER, "lib.stm": 'import "deep.stm"\n', "deep.stm": GO}

    assert dict(compiled(files).definitions["order"].sources) == files


def test_an_error_in_one_machine_leaves_the_others() -> None:
    broken = ORDER.replace("machine order", "machine refund").replace("to Done", "to Gone")
    made = compiled(GO + ORDER + broken)

    assert (list(made.definitions), made.blocked) == (["order"], True)


def test_errors_of_the_rules_alone_do_not_block() -> None:
    made = compiled(GO + ORDER.replace("final Done success {}", "state Done {}"))

    assert [issue.code for issue in made.issues] == ["terminal_missing_outcome"]
    assert made.has_errors and not made.blocked and "order" in made.definitions


def test_a_syntax_error_hides_nothing_outside_its_statement() -> None:
    broken = ORDER.replace("state Cart {}", "state Cart { timeout }")
    other = ORDER.replace("machine order", "machine refund").replace("to Done", "to Gone")

    assert [code for code, _, _ in found(GO + broken + other)] == ["syntax_error", "unknown_state"]


def test_two_machines_of_one_name_are_one_finding() -> None:
    assert [code for code, _, _ in found(GO + ORDER + ORDER)] == ["duplicate_declaration"]


def test_an_empty_file_is_fine() -> None:
    assert (found(""), compiled("").definitions) == ([], {})


# --- files


def test_names_of_files_are_relative_to_the_root(tmp_path: Path) -> None:
    (tmp_path / "machines" / "lib").mkdir(parents=True)
    (tmp_path / "machines" / "lib" / "go.stm").write_text(GO)
    (tmp_path / "shared.stm").write_text("guard always = context.n == 1\n")
    source = tmp_path / "machines" / "order.stm"
    source.write_text('import "lib/go.stm"\nimport "../shared.stm"\n' + ORDER.replace("on Go", "on Go where always"))
    made = compile_file(source, root=tmp_path)

    assert made.issues == ()
    assert list(made.sources) == ["machines/order.stm", "machines/lib/go.stm", "shared.stm"]
    assert [issue.code for issue in compile_file(source).issues] == ["import_outside"]


def test_a_file_that_is_no_text_has_one_finding(tmp_path: Path) -> None:
    source = tmp_path / "order.stm"
    source.write_bytes(b"event Caf\xe9 {}\n")
    made = compile_file(source)

    assert [(issue.code, issue.line, issue.column) for issue in made.issues] == [("encoding_error", 1, 10)]
    assert (made.unit, made.blocked, made.definitions) == (None, True, {})


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    plain, windows = tmp_path / "plain.stm", tmp_path / "windows.stm"
    plain.write_bytes((GO + ORDER).encode())
    windows.write_bytes(b"\xef\xbb\xbf" + (GO + ORDER).replace("\n", "\r\n").encode())

    assert compile_file(plain).definitions == compile_file(windows).definitions


def test_a_text_imports_from_its_base_folder_and_without_one_from_nowhere(tmp_path: Path) -> None:
    (tmp_path / "lib.stm").write_text(GO)
    text = 'import "lib.stm"' + ORDER

    assert compile_text(text, base=tmp_path).issues == ()
    (issue,) = compile_text(text).issues
    assert (issue.code, "base_path" in issue.message) == ("import_not_found", True)


@pytest.mark.parametrize("bound", ["bind { charge = shop.charge }\n", ""])
def test_a_bound_build_refuses_open_handlers(bound: str) -> None:
    text = GO + bound + ORDER.replace("state Cart {}", "state Cart { on enter charge }")
    codes = [issue.code for issue in compile_text(text, rules=bound_check).issues]

    assert codes == ([] if bound else ["unbound_handler"])


# --- limits


def nested(levels: int) -> str:
    opened = "".join(f"state L{level} {{ initial L{level + 1} " for level in range(1, levels))
    inner = f"state L{levels} {{}} from L{levels} to Done on Go "
    return f"{GO}machine order {{ initial L1 {opened}{inner}{'}' * (levels - 1)} final Done success {{}} }}\n"


def test_64_levels_of_states_and_no_more() -> None:
    assert found(nested(64)) == []
    assert [code for code, _, _ in found(nested(65))] == ["too_deep"]
    assert [code for code, _, _ in found(nested(2_000))] == ["too_deep"]


def where(predicate: str) -> str:
    return "event Go { n: int }\n" + ORDER.replace("on Go", f"on Go where {predicate}")


@pytest.mark.parametrize(("left", "right"), [("(", ")"), ("not (", ")")])
def test_200_parentheses_and_no_more(left: str, right: str) -> None:
    assert found(where(left * 200 + "n == 1" + right * 200)) == []
    assert [code for code, _, _ in found(where(left * 201 + "n == 1" + right * 201))] == ["too_deep"]


def test_lists_count_like_parentheses() -> None:
    assert [code for code, _, _ in found(where("n in " + "[" * 200 + "1" + "]" * 200))] in (
        [],
        ["compare_type_mismatch"],
    )
    assert [code for code, _, _ in found(where("n in " + "[" * 201 + "1" + "]" * 201))] == ["too_deep"]


def test_there_is_no_limit_on_chains() -> None:
    assert found(where(" or ".join(f"n == {number}" for number in range(2_000)))) == []
    assert found(where(" and not ".join(["n == 1"] * 2_000))) == []
