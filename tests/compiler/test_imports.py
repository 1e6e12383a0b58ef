"""From many files to one: what each name means, and imports that cannot be (language.md section 2; edges.md, Trees)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harelc import imports, syntax, tree
from harelc.compiler import compile_file, compile_text
from harelc.diagnostics import Finding, Source

from .sources import MAIN, ORDER, compiled, found, issues, only, pointed_at

GO = "event Go { amount: int }\n"
BANK = "machine bank { initial Asked  final Asked success {} }\n"


def invoking(machine: str) -> str:
    return f"""
event Go {{}}
machine order {{
  initial Cart
  state Cart {{}}
  state Paying {{ invoke {machine} }}
  final Done success {{}}
  from Cart to Paying on Go
  from Paying to Done on Returned
}}
"""


# --- what comes in, and under which name


def test_events_guards_and_bindings_come_in_bare_whatever_the_alias() -> None:
    order = ORDER.replace("on Go", "on Go where large").replace("state Cart {}", "state Cart { on enter charge }")
    library = GO + "guard large = amount > 100\nbind { charge = shop.payments.charge }\n"
    made = compiled({MAIN: 'import "lib.stm" as lib\n' + order, "lib.stm": library})
    definition = made.definitions["order"]

    assert made.issues == ()
    assert list(definition.events) == ["Go"]
    assert definition.guards["large"] == (">", ("event", "amount"), ("lit", 100))
    assert definition.binds == {"charge": "shop.payments.charge"}


def test_imports_are_transitive() -> None:
    files = {MAIN: 'import "a.stm"' + ORDER, "a.stm": 'import "b.stm" as b\n', "b.stm": 'import "c.stm"', "c.stm": GO}

    assert found(files) == []


@pytest.mark.parametrize(
    ("inner", "name"), [("", "bank"), (" as deep", "deep.bank")], ids=["without-inner-alias", "with-inner-alias"]
)
@pytest.mark.parametrize(("outer", "prefix"), [("", ""), (" as lib", "lib.")], ids=["bare", "alias"])
def test_a_machine_is_reached_through_every_alias_on_the_way_and_by_no_other_name(
    inner: str, name: str, outer: str, prefix: str
) -> None:
    reachable = prefix + name
    for written in ("bank", "deep.bank", "lib.bank", "lib.deep.bank"):
        main = f'import "lib.stm"{outer}\n' + invoking(written)
        codes = [
            code
            for code, _, _ in found({MAIN: main, "lib.stm": f'import "deep.stm"{inner}\n', "deep.stm": BANK})
            if code != "unused_event"
        ]

        assert codes == ([] if written == reachable else ["unknown_machine"])


def test_a_local_declaration_wins_silently() -> None:
    order = ORDER.replace("on Go", "on Go where large")
    main = 'import "lib.stm"\nguard large = amount > 5\n' + order
    made = compiled({MAIN: main, "lib.stm": GO + "guard large = amount > 100\n"})

    assert made.issues == ()
    assert made.definitions["order"].guards == {"large": (">", ("event", "amount"), ("lit", 5))}


@pytest.mark.parametrize(
    ("left", "right", "noun"),
    [
        ("event Go { a: int }", "event Go { a: string }", "event"),
        ("guard big = amount > 1", "guard big = amount > 2", "guard"),
        ("bind { charge = a.b }", "bind { charge = a.c }", "binding"),
    ],
)
def test_two_different_imports_of_one_name_are_a_warning_at_the_second(left: str, right: str, noun: str) -> None:
    main = 'import "l.stm"\nimport "r.stm"\n' + ORDER.replace("Go", "Pay") + "event Pay {}\n"
    (issue,) = [one for one in issues({MAIN: main, "l.stm": left, "r.stm": right}) if one.code == "import_shadowed"]

    assert (issue.severity, issue.line, [note.line for note in issue.notes]) == ("warning", 2, [1])
    assert f"another {noun}" in issue.message


def test_the_same_declaration_in_two_files_shadows_nothing() -> None:
    main = 'import "l.stm"\nimport "r.stm"\n' + ORDER

    assert found({MAIN: main, "l.stm": GO, "r.stm": "event Go { amount: int } # the same\n"}) == []


def test_the_earlier_import_wins() -> None:
    main = 'import "l.stm"\nimport "r.stm"\n' + ORDER
    made = compiled({MAIN: main, "l.stm": "event Go { a: int }", "r.stm": "event Go { b: int }"})

    assert [field.name for field in made.definitions["order"].events["Go"].fields] == ["a"]


def test_an_import_is_relative_to_the_file_it_stands_in() -> None:
    files = {MAIN: 'import "lib/pay.stm"' + ORDER, "lib/pay.stm": 'import "../base.stm"', "base.stm": GO}

    assert found(files) == []


# --- what cannot be imported


def test_a_missing_file_stands_at_its_import() -> None:
    files = {MAIN: '\nimport "gone.stm" as gone\n' + GO + ORDER}
    issue = only(files)

    assert (issue.code, issue.line) == ("import_not_found", 2)
    assert pointed_at(files, issue) == '"gone.stm"'


def test_a_missing_file_further_in_stands_where_it_must_change_and_says_how_it_was_reached() -> None:
    files = {MAIN: 'import "lib.stm"\n' + ORDER, "lib.stm": GO + '\nimport "gone.stm"\n'}
    issue = only(files)

    assert (issue.code, issue.file, issue.line) == ("import_not_found", "lib.stm", 3)
    assert [(note.file, note.line) for note in issue.notes] == [(MAIN, 1)]


@pytest.mark.parametrize(
    "path", ["../lib.stm", "sub/../../lib.stm", "/lib.stm", "C:/lib.stm", "sub\\\\lib.stm", "https://host/lib.stm"]
)
def test_a_path_out_of_the_project_is_refused_before_it_is_read(path: str) -> None:
    files = {MAIN: f'import "{path}"\n' + GO + ORDER}
    issue = only(files)

    assert (issue.code, issue.line) == ("import_outside", 1)


def test_the_letters_case_must_be_exact_on_every_file_system(tmp_path: Path) -> None:
    (tmp_path / "lib.stm").write_text(GO)
    made = compile_text('import "Lib.stm"\n' + GO + ORDER, base=tmp_path)

    assert [(issue.code, issue.line) for issue in made.issues] == [("import_not_found", 1)]


def test_a_folder_and_a_file_that_is_no_text_are_findings(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "latin.stm").write_bytes(b"event Caf\xe9 {}\n")
    main = tmp_path / MAIN
    main.write_text('import "lib"\nimport "latin.stm"\n' + GO + ORDER)

    assert [(issue.code, issue.file, issue.line) for issue in compile_file(main).issues] == [
        ("import_not_found", MAIN, 1),
        ("encoding_error", MAIN, 2),
    ]


# --- circles


def test_a_file_may_not_import_itself() -> None:
    issue = only({MAIN: f'import "{MAIN}"\n' + GO + ORDER})

    assert (issue.code, issue.line, issue.message) == (
        "import_cycle",
        1,
        "imports go in a circle: main.stm imports main.stm",
    )


def test_a_circle_through_the_first_file_stands_at_its_import() -> None:
    issue = only({MAIN: 'import "lib.stm"' + ORDER, "lib.stm": GO + f'import "{MAIN}"\n'})

    assert (issue.code, issue.file, issue.line) == ("import_cycle", MAIN, 1)
    assert [(note.file, note.line) for note in issue.notes] == [("lib.stm", 2)]


def test_a_circle_further_in_stands_in_the_file_where_it_begins_and_says_how_that_was_reached() -> None:
    files = {MAIN: 'import "a.stm"\n' + ORDER, "a.stm": 'import "b.stm"\n' + GO, "b.stm": '\nimport "a.stm"\n'}
    issue = only(files)

    assert (issue.code, issue.file, issue.line) == ("import_cycle", "a.stm", 1)
    assert sorted((note.file, note.line) for note in issue.notes) == [("b.stm", 2), (MAIN, 1)]


def test_two_ways_to_one_file_are_no_circle() -> None:
    main = 'import "a.stm"\nimport "b.stm"\n' + ORDER

    assert found({MAIN: main, "a.stm": 'import "c.stm"', "b.stm": 'import "c.stm"', "c.stm": GO}) == []


# --- faults of other files


def test_a_syntax_error_in_an_imported_file_stands_at_the_import_with_a_note_at_the_fault() -> None:
    issue = only({MAIN: 'import "lib.stm"\n' + ORDER, "lib.stm": GO + "\nguard large = \n"})

    assert (issue.code, issue.file, issue.line) == ("syntax_error", MAIN, 1)
    assert [(note.file, note.line) for note in issue.notes] == [("lib.stm", 3)]


def test_several_faults_of_one_imported_file_are_all_reported() -> None:
    library = GO + "guard a = \nevent B {}\nguard c = \nevent D {}\n"
    places = [
        [(note.file, note.line) for note in issue.notes]
        for issue in issues({MAIN: 'import "lib.stm"\n' + ORDER, "lib.stm": library})
    ]

    assert places == [[("lib.stm", 3)], [("lib.stm", 5)]]


def test_the_import_line_is_the_one_of_the_first_file_however_far_the_fault_is() -> None:
    files = {MAIN: 'import "a.stm"\nimport "b.stm"\n' + ORDER, "a.stm": GO, "b.stm": 'import "c.stm"', "c.stm": "ev"}
    (issue,) = [one for one in issues(files) if one.code == "syntax_error"]

    assert (issue.file, issue.line) == (MAIN, 2)
    assert [(note.file, note.line) for note in issue.notes] == [("c.stm", 1)]


def test_nothing_follows_from_a_file_that_could_not_be_imported() -> None:
    order = ORDER.replace("on Go", "on Gone where large").replace("state Cart {}", "state Cart { invoke pay }")

    assert found({MAIN: 'import "gone.stm"\n' + order}) == [("import_not_found", MAIN, 1)]


def test_a_faulty_import_does_not_hide_what_is_wrong_elsewhere() -> None:
    order = ORDER.replace("to Done", "to Don")

    assert found({MAIN: 'import "gone.stm"\n' + GO + order}) == [
        ("import_not_found", MAIN, 1),
        ("unknown_state", MAIN, 8),
    ]


def test_the_machines_of_an_imported_file_are_checked_with_that_file_only() -> None:
    broken = "machine other { initial A  state A {} }\n"

    assert found({MAIN: 'import "lib.stm"\n' + ORDER, "lib.stm": GO + broken}) == []


# --- long ways


def test_a_long_chain_of_imports_is_only_long() -> None:
    files = {f"f{number}.stm": f'import "f{number + 1}.stm"\n' for number in range(1_000)}
    files |= {MAIN: 'import "f0.stm"' + ORDER, "f1000.stm": GO}

    assert found(files) == []


def test_many_ways_to_one_machine_cost_neither_time_nor_memory() -> None:
    files = {
        f"f{number}.stm": 'import "f{0}.stm" as a\nimport "f{0}.stm" as b\n'.format(number + 1) for number in range(30)
    }
    files |= {MAIN: 'import "f0.stm" as f\n' + invoking("f." + "a.b." * 15 + "bank"), "f30.stm": BANK}
    start = time.perf_counter()
    codes = [code for code, _, _ in found(files)]

    assert codes == []
    assert time.perf_counter() - start < 5


# --- files on the disk


def test_a_file_that_many_import_is_parsed_once_and_again_when_its_text_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def parse(source: Source) -> tuple[tree.File, tuple[Finding, ...]]:
        parsed.append(source.name)
        return syntax.parse(source)

    monkeypatch.setattr(imports, "parse", parse)
    library = tmp_path / "shared-by-many.stm"
    library.write_text(GO)
    for name in ("first.stm", "second.stm"):
        (tmp_path / name).write_text(f'import "{library.name}"\n{ORDER}')
        assert compile_file(tmp_path / name).issues == ()
    library.write_text("event Stop {}\n")
    codes = [issue.code for issue in compile_file(tmp_path / "second.stm").issues if issue.severity == "error"]

    assert parsed == ["first.stm", library.name, "second.stm", "second.stm", library.name]
    assert codes == ["unknown_event"]


def test_a_link_that_leads_out_of_the_folder_is_compiled_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.stm").write_text(GO + ORDER + "oops\n")
    (tmp_path / "project").mkdir()
    link = tmp_path / "project" / "order.stm"
    link.symlink_to(tmp_path / "elsewhere.stm")

    (issue,) = compile_file(link, root=tmp_path / "project").issues

    assert (issue.code, issue.file) == ("syntax_error", "order.stm")


def test_a_file_outside_of_the_folder_that_imports_may_not_leave_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.stm").write_text(GO + ORDER)

    with pytest.raises(ValueError, match=r"elsewhere\.stm does not lie below .*project"):
        compile_file(tmp_path / "elsewhere.stm", root=tmp_path / "project")
