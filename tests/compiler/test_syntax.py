"""From text to tree: every construct of the language page, spans, values, depth (language.md sections 1 to 4)."""

from __future__ import annotations

import gc
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harelc import tokens, tree
from harelc.diagnostics import Finding, Source
from harelc.syntax import parse

CONFORMANCE = Path(__file__).parent.parent / "conformance"


def items(text: str) -> tuple[tree.Item, ...]:
    file, findings = parse(Source("order.stm", text))
    assert findings == ()
    return file.items


def body(text: str) -> tuple[tree.Statement, ...]:
    """The statements of a machine that holds the text."""
    (machine,) = items(f"machine order {{\n{text}\n}}")
    assert isinstance(machine, tree.Machine)
    return machine.body


def statement(text: str) -> tree.Statement:
    (only,) = body(text)
    return only


def transition(text: str) -> tree.Transition:
    node = statement(text)
    assert isinstance(node, tree.Transition)
    return node


def predicate(text: str) -> str:
    """A predicate, with every term in parentheses."""
    where = transition(f"from A to B on Go where {text}").where
    assert where is not None
    return written(where)


def written(node: tree.Predicate) -> str:
    match node:
        case tree.Compare(left, op, right):
            return f"{operand(left)} {op} {operand(right)}"
        case tree.GuardRef(name):
            return name.text
        case tree.Not(term):
            return f"not ({written(term)})"
        case tree.And(terms):
            return " and ".join(f"({written(term)})" for term in terms)
        case tree.Or(terms):
            return " or ".join(f"({written(term)})" for term in terms)


def operand(node: tree.Operand) -> str:
    if isinstance(node, tree.Literal):
        return repr(node.value)
    return f"{node.scope}.{node.name.text}" if node.scope else node.name.text


def names(nodes: tuple[tree.Name, ...]) -> list[str]:
    return [node.text for node in nodes]


def complaint(text: str) -> Finding:
    _, (finding,) = parse(Source("order.stm", text))
    return finding


# --- files


@pytest.mark.parametrize("text", ["", "\n \n", "# only\n// comments\n", "## and documentation\n"])
def test_a_file_without_declarations_is_empty(text: str) -> None:
    assert parse(Source("empty.stm", text)) == (tree.File("empty.stm", ()), ())


def test_every_conformance_source_parses_but_those_about_syntax() -> None:
    refused = [
        (case["name"], file)
        for path in sorted(CONFORMANCE.glob("*/*.json"))
        for case in json.loads(path.read_text(encoding="utf-8"))
        for file, lines in case["files"].items()
        if parse(Source(file, "\n".join(lines)))[1]
    ]

    assert refused == [
        ("keyword-misspelt", "main.stm"),
        ("errors-in-two-machines", "main.stm"),
        ("string-never-closed", "main.stm"),
        ("too-many-levels", "main.stm"),
    ]


def test_the_declarations_of_a_file() -> None:
    text = """
        import "lib.stm"
        import "pay/lib.stm" as pay
        event Paid { amount: int?, "paid by": string  data: any }
        guard enough = amount >= 100
        bind { charge = shop.payments.charge, ship = shop.ship }
        machine order version 2 { }
        fragment Retry(work: action, wait: value) { }
        fragment Plain { }
    """
    plain, aliased, event, guard, bind, machine, retry, bare = items(text)

    assert isinstance(plain, tree.Import)
    assert (plain.path.text, plain.alias) == ("lib.stm", None)
    assert isinstance(aliased, tree.Import)
    assert aliased.alias is not None
    assert aliased.alias.text == "pay"
    assert isinstance(event, tree.Event)
    assert [(field.name.text, field.type, field.optional) for field in event.fields] == [
        ("amount", "int", True),
        ("paid by", "string", False),
        ("data", "any", False),
    ]
    assert isinstance(guard, tree.Guard)
    assert written(guard.predicate) == "amount >= 100"
    assert isinstance(bind, tree.Bind)
    assert [(entry.name.text, entry.target.text) for entry in bind.entries] == [
        ("charge", "shop.payments.charge"),
        ("ship", "shop.ship"),
    ]
    assert isinstance(machine, tree.Machine)
    assert (machine.name.text, machine.version) == ("order", "2")
    assert isinstance(retry, tree.Fragment)
    assert [(each.name.text, each.kind.text) for each in retry.parameters] == [("work", "action"), ("wait", "value")]
    assert isinstance(bare, tree.Fragment)
    assert bare.parameters == ()


def test_documentation_goes_to_what_stands_below_it() -> None:
    event, guard, machine = items(
        "## Money came.\nevent Paid {}\n## Enough.\nguard all = paid\n## An order.\n## Two lines.\nmachine order {\n"
        "  ## Nobody paid yet.\n  state Open {}\n  ## The end.\n  final Done\n  ## By card.\n  from Open to Done\n"
        "  ## Again.\n  use Retry\n  state Plain {}\n}"
    )

    assert isinstance(event, tree.Event)
    assert event.doc == "Money came."
    assert isinstance(guard, tree.Guard)
    assert guard.doc == "Enough."
    assert isinstance(machine, tree.Machine)
    assert machine.doc == "An order.\nTwo lines."
    documented = [node for node in machine.body if isinstance(node, tree.State | tree.Transition | tree.Use)]
    assert [node.doc for node in documented] == ["Nobody paid yet.", "The end.", "By card.", "Again.", ""]


# --- statements


def test_states_nest_and_a_final_may_have_outcome_and_body() -> None:
    nested, parallel, short, full = body(
        'state "on hold" { initial A  state A {} }\n'
        "orthogonal Checks { cancel_on_failure  state Stock {} }\n"
        "final Delivered success\n"
        "final Cancelled cancelled { on enter refund }"
    )

    assert isinstance(nested, tree.State)
    assert nested.name.text == "on hold"
    assert [type(each).__name__ for each in nested.body] == ["Initial", "State"]
    assert isinstance(parallel, tree.State)
    assert parallel.keyword == "orthogonal"
    assert isinstance(short, tree.State)
    assert short.verdict is not None
    assert (short.keyword, short.verdict.text) == ("final", "success")
    assert isinstance(full, tree.State)
    assert [type(each).__name__ for each in full.body] == ["Hook"]


def test_the_small_statements() -> None:
    literal, keyed, parameter, ttl, outcome, carry, defer, plain, cancel = body(
        "timeout 15m  timeout context backoff  timeout wait  ttl 30d  outcome rejected\n"
        'carry score, "why not"  defer Paid, Shipped  no history  cancel_on_failure'
    )

    assert isinstance(literal, tree.Timeout)
    assert literal.raw == "15m"
    assert isinstance(keyed, tree.Timeout)
    assert keyed.key is not None
    assert keyed.key.text == "backoff"
    assert isinstance(parameter, tree.Timeout)
    assert parameter.parameter is not None
    assert parameter.parameter.text == "wait"
    assert isinstance(ttl, tree.Ttl)
    assert ttl.raw == "30d"
    assert isinstance(outcome, tree.Outcome)
    assert outcome.name.text == "rejected"
    assert isinstance(carry, tree.Carry)
    assert names(carry.names) == ["score", "why not"]
    assert isinstance(defer, tree.Defer)
    assert names(defer.kinds) == ["Paid", "Shipped"]
    assert isinstance(plain, tree.NoHistory)
    assert isinstance(cancel, tree.CancelOnFailure)


def test_hooks_take_inputs_and_dotted_paths() -> None:
    enter, leave, activity = body(
        'on enter wait(base: 5, into: "backoff", steps: [1, 2])  on exit shop.stock.release  on activity poll()'
    )

    assert isinstance(enter, tree.Hook)
    assert enter.when == "enter"
    assert [(each.name.text, operand(each.value)) for each in enter.action.inputs] == [
        ("base", "5"),
        ("into", "'backoff'"),
        ("steps", "(1, 2)"),
    ]
    assert isinstance(leave, tree.Hook)
    assert (leave.when, leave.action.name.text) == ("exit", "shop.stock.release")
    assert isinstance(activity, tree.Hook)
    assert (activity.when, activity.action.inputs) == ("activity", ())


def test_a_context_has_types_and_defaults() -> None:
    node = statement(
        'context { retries: int = 0  "on hold": bool = false, tags: any = ["a", [true, null]] note: string? }'
    )

    assert isinstance(node, tree.Context)
    assert [
        (each.name.text, each.type, each.optional, each.default and each.default.value) for each in node.fields
    ] == [
        ("retries", "int", False, 0),
        ("on hold", "bool", False, False),
        ("tags", "any", False, ("a", (True, None))),
        ("note", "string", True, None),
    ]


def test_an_invoke_names_a_machine_and_passes_context() -> None:
    invoke, with_ = body('invoke pay.payment with { amount: total  "to pay": context.rest, fixed: 3 }')

    assert isinstance(invoke, tree.Invoke)
    assert invoke.machine is not None
    assert (invoke.machine.text, invoke.body, invoke.item) == ("pay.payment", None, None)
    assert isinstance(with_, tree.With)
    assert [(each.child.text, operand(each.value)) for each in with_.entries] == [
        ("amount", "total"),
        ("to pay", "context.rest"),
        ("fixed", "3"),
    ]


@pytest.mark.parametrize(
    "text", ["invoke parcel for one in parcels", "invoke for one in parcels { }", "invoke { } for one in parcels"]
)
def test_a_fan_out_names_its_item_and_its_list(text: str) -> None:
    node = statement(text)

    assert isinstance(node, tree.Invoke)
    assert node.item is not None
    assert node.items is not None
    assert (node.item.text, operand(node.items)) == ("one", "parcels")
    assert (node.machine is None) == (node.body == ())


def test_an_inline_machine_has_a_body() -> None:
    node = statement("invoke { context { n: int = 1 } initial A  final A success }")

    assert isinstance(node, tree.Invoke)
    assert node.body is not None
    assert [type(each).__name__ for each in node.body] == ["Context", "Initial", "State"]


def test_the_arguments_of_a_use() -> None:
    node = statement(
        'use ns.Retry(work = charge(n: 1), ok = (status == "ok" or fine), wait = 5, out = Late, far = A.B,\n'
        '  quoted = "on hold", path = "on hold".A, deep = A."b c") as Charging'
    )

    assert isinstance(node, tree.Use)
    assert (node.fragment.text, node.name.text) == ("ns.Retry", "Charging")
    values = {each.name.text: each.value for each in node.arguments}
    assert isinstance(values["work"], tree.Action)
    assert len(values["work"].inputs) == 1
    assert isinstance(values["ok"], tree.Or)
    assert isinstance(values["wait"], tree.Literal)
    assert values["wait"].value == 5
    assert isinstance(values["out"], tree.Action)
    assert values["out"].name.text == "Late"
    assert isinstance(values["far"], tree.Action)
    assert values["far"].name.text == "A.B"
    assert isinstance(values["quoted"], tree.Literal)
    assert values["quoted"].value == "on hold"
    assert isinstance(values["path"], tree.Path)
    assert names(values["path"].parts) == ["on hold", "A"]
    assert isinstance(values["deep"], tree.Path)
    assert names(values["deep"].parts) == ["A", "b c"]


@pytest.mark.parametrize(("text", "name"), [("use F", "F"), ("use lib.F()", "F"), ("use F() as X", "X")])
def test_a_use_without_as_takes_the_name_of_the_fragment(text: str, name: str) -> None:
    node = statement(text)

    assert isinstance(node, tree.Use)
    assert node.arguments == ()
    assert node.name.text == name


# --- transitions


def test_a_plain_transition_has_all_its_parts() -> None:
    node = transition(
        "from A to B.C on Paid | error | Timeout where ok set context.n = context.n + 1, context.who = event.user"
    )

    assert (node.source.text, node.form, names(node.kinds)) == ("A", "to", ["Paid", "error", "Timeout"])
    assert node.where is not None
    assert written(node.where) == "ok"
    assert [str(branch.target) for branch in node.branches] == ["B.C"]
    first, second = node.sets
    assert (first.key.text, operand(first.left), first.op) == ("n", "context.n", "+")
    assert first.right is not None
    assert operand(first.right) == "1"
    assert (operand(second.left), second.op, second.right) == ("event.user", None, None)


def test_an_automatic_transition_has_no_kinds_and_its_where_is_kept_for_the_check() -> None:
    text = "from A to B where ok"
    node = transition(text)

    assert node.kinds == ()
    assert node.where_span is not None
    assert node.where_span.end - node.where_span.start == len("where ok")


def test_a_choose_has_a_test_for_each_branch() -> None:
    node = transition(
        "from A choose on Go where open set context.n = 1 {\n"
        "  when context.n > 1 to B set context.n = 2  when ok to C  else to D set context.n = 3 }"
    )

    assert (node.form, names(node.kinds), len(node.sets)) == ("choose", ["Go"], 1)
    assert [(str(each.target), each.is_else, len(each.sets)) for each in node.branches] == [
        ("B", False, 1),
        ("C", False, 0),
        ("D", True, 1),
    ]
    assert isinstance(node.branches[0].test, tree.Compare)


def test_a_select_has_labels_and_what_its_selector_returns() -> None:
    node = transition(
        'from A select pick(k: 1) returns {"x", y} on E set context.n = 1 { "x" to B  y to C  else to D  else to E }'
    )

    assert node.selector is not None
    assert node.selector.name.text == "pick"
    assert names(node.returns) == ["x", "y"]
    labels = [each.test.text if isinstance(each.test, tree.Name) else None for each in node.branches]
    assert labels == ["x", "y", None, None]
    assert [each.is_else for each in node.branches] == [False, False, True, True]


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_join_has_its_target_first(mode: str) -> None:
    node = transition(f"from Fork join {mode} to B set context.n = 1 else to C set context.n = 2")

    assert node.form == f"join_{mode}"
    assert [(str(each.target), each.is_else, len(each.sets)) for each in node.branches] == [
        ("B", False, 1),
        ("C", True, 1),
    ]
    assert node.sets == ()


# --- words that are names as well as keywords


def test_keywords_are_names_wherever_that_leaves_no_doubt() -> None:
    nodes = body(
        "initial state  state state {}  state on {}  state with {}  final from\n"
        "from state to on on error | on | enter where set == true set context.set = event.context\n"
        "on enter final  from on to from on to"
    )

    assert [type(node).__name__ for node in nodes] == [
        "Initial", "State", "State", "State", "State", "Transition", "Hook", "Transition",
    ]  # fmt: skip
    first, last = nodes[5], nodes[7]
    assert isinstance(first, tree.Transition)
    assert names(first.kinds) == ["error", "on", "enter"]
    assert isinstance(last, tree.Transition)
    assert names(last.kinds) == ["to"]


def test_a_statement_behind_a_final_is_no_outcome() -> None:
    nodes = body("final Done\nstate Open {}\nfinal Late\non enter refund\nfinal Lost\nfrom Open to Done")

    assert [type(node).__name__ for node in nodes] == ["State", "State", "State", "Hook", "State", "Transition"]


def test_a_hook_behind_an_automatic_transition_is_no_event() -> None:
    nodes = body("from A to B\non enter charge\nfrom B to C\non exit release(n: 1)")

    assert [type(node).__name__ for node in nodes] == ["Transition", "Hook", "Transition", "Hook"]


# --- predicates and values


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ('status == "ok"', "status == 'ok'"),
        ("event.n >= context.max", "event.n >= context.max"),
        ('context."on hold" != false', "context.on hold != False"),
        ('"paid by" in ["card", 1, null]', "paid by in ('card', 1, None)"),
        ("a or b and not c", "(a) or ((b) and (not (c)))"),
        ("(a or b) and c", "((a) or (b)) and (c)"),
        ("not not (a and b)", "not (not ((a) and (b)))"),
        ("not n == 1", "not (n == 1)"),
        ("not == 1", "not == 1"),
        ("n < -3", "n < -3"),
    ],
)
def test_not_binds_tightest_then_and(text: str, meaning: str) -> None:
    assert predicate(text) == meaning


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("-3", -3), ("0.5", 0.5), ("1e3", 1000.0), ("1E-2", 0.01), ("true", True), ("null", None),
        (r'"a\n\u00e9\"\\"', 'a\né"\\'), (r'"\ud83d\ude00"', "😀"), ("[]", ()), ('[1, "a", [true]]', (1, "a", (True,))),
        ("9" * 1000, int("9" * 1000)),
    ],
)  # fmt: skip
def test_a_literal_is_its_json_value(text: str, value: object) -> None:
    node = statement(f"context {{ n: any = {text} }}")

    assert isinstance(node, tree.Context)
    assert node.fields[0].default is not None
    assert node.fields[0].default.value == value
    assert type(node.fields[0].default.value) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e400", "`1e400` is too large for a number"),
        ("-1e400", "`-1e400` is too large for a number"),
        ("9" * 1001, "a whole number has at most 1000 digits, this one has 1001"),
        ("9" * 9999, "a whole number has at most 1000 digits, this one has 9999"),
        ("007", "`007` is not a number"),
        ("15m", "`15m` is not a number"),
        ("1.2.3", "`1.2.3` is not a number"),
        (r'"\ud800"', "this string holds half of a surrogate pair, which is no character"),
        (r'"\q"', "this string is not a JSON string: invalid \\escape"),
        ('"a\tb"', "this string is not a JSON string: invalid control character at"),
    ],
)
def test_what_is_no_value_is_a_finding_at_its_place(text: str, message: str) -> None:
    source = f"machine order {{ context {{ n: any = {text} }} }}"
    finding = complaint(source)

    assert (finding.code, finding.message) == ("syntax_error", message)
    assert source[finding.span.start : finding.span.end] == text


def test_in_an_assignment_a_sign_behind_an_operand_is_the_operator() -> None:
    node = transition("from A to B set context.n = context.n -1, context.m = 2 - -1")

    assert [(each.op, each.right and operand(each.right)) for each in node.sets] == [("-", "1"), ("-", "-1")]


@pytest.mark.parametrize(
    "text",
    [
        "from A to B on Go where n == m",
        "from A to B set context.n = m",
        "on enter wait(base: m)",
        "invoke { on enter wait(base: m) }",
    ],
)
def test_a_bare_name_is_no_value_in_a_machine(text: str) -> None:
    finding = complaint(f"machine order {{ {text} }}")

    assert finding.message == "expected a value, found the bare name `m`"
    assert finding.hint == 'write `event.m` or `context.m`; text stands in quotes: `"m"`'


def test_a_bare_name_is_a_value_where_it_is_a_parameter() -> None:
    (fragment,) = items("fragment Wait(base: value) { on enter wait(base: base)  from A to B on Go where n == base }")

    assert isinstance(fragment, tree.Fragment)
    assert not fragment.broken


def test_an_input_is_a_literal() -> None:
    assert complaint("machine m { on enter wait(base: event.n) }").message == "an input is a literal, not `event.n`"


def test_a_namespaced_reference_alone_is_no_predicate() -> None:
    finding = complaint("machine m { from A to B on Go where context.ok }")

    assert finding.message == "`context.ok` is compared with nothing"


# --- places


def test_every_span_covers_its_text() -> None:
    text = 'machine order version 3 {  # first\n  from "on hold" to A.B on Go where n == 1 and event.m < 2\n}'
    machine = items(text)[0]
    assert isinstance(machine, tree.Machine)
    assert machine.version_span is not None
    (node,) = machine.body
    assert isinstance(node, tree.Transition)
    assert isinstance(node.where, tree.And)
    assert node.where_span is not None
    right = node.where.terms[1]
    assert isinstance(right, tree.Compare)

    spans = [
        machine.name.span, machine.version_span, node.source.span, node.branches[0].target.span, node.kinds[0].span,
        node.where_span, node.where.span, right.left.span, right.left.name.span, right.right.span,
    ]  # fmt: skip
    assert [text[span.start : span.end] for span in spans] == [
        "order", "3", '"on hold"', "A.B", "Go",
        "where n == 1 and event.m < 2", "n == 1 and event.m < 2", "event.m", "m", "2",
    ]  # fmt: skip
    assert text[machine.span.start : machine.span.end] == text


def test_the_parts_of_a_path_have_their_own_places() -> None:
    text = 'machine order { initial A . "b c".D }'
    (machine,) = items(text)
    assert isinstance(machine, tree.Machine)
    assert isinstance(machine.body[0], tree.Initial)

    parts = machine.body[0].target.parts
    assert [(part.text, text[part.span.start : part.span.end]) for part in parts] == [
        ("A", "A"),
        ("b c", '"b c"'),
        ("D", "D"),
    ]


# --- depth and length


def nested(levels: int) -> str:
    return "machine m {" + "".join(f"state S{level} {{" for level in range(levels)) + "}" * levels + "}"


def guarded(text: str) -> str:
    return f"machine m {{ from A to B on Go where {text} }}"


@pytest.mark.parametrize(
    "text",
    [
        nested(64),
        guarded("(" * 200 + "a" + ")" * 200),
        guarded("not " * 200 + "a"),
        guarded(" or ".join(f"n == {number}" for number in range(2_000))),
        guarded("n in " + "[" * 200 + "]" * 200),
        guarded("n in [" + ", ".join(["1"] * 2_000) + "]"),
        nested(64).replace("{}", "{ from A choose { when n == 1 to A } }"),
        "machine m {" + "invoke {" * 199 + guarded("(" * 200 + "a" + ")" * 200)[11:-1] + "}" * 200,
    ],
)
def test_what_a_machine_can_hold_is_read(text: str) -> None:
    assert items(text)


def test_the_recursion_limit_and_garbage_collection_are_as_before() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1_234)
    parse(Source("a.stm", nested(64)))
    parse(Source("a.stm", "machine"))
    after = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)

    assert after == 1_234
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        (nested(65), "more than 64 levels of states", nested(65).index("S64") + 5),
        (nested(2_000), "more than 64 levels of states", nested(65).index("S64") + 5),
        (guarded("(" * 5_000 + "a" + ")" * 5_000), "more than 200 parentheses and lists within one another", 237),
        (guarded("n in " + "[" * 3_000), "more than 200 parentheses and lists within one another", 242),
        (guarded("not " * 5_000 + "a"), "more than 200 `not` within one another", 837),
        ("machine m " + "{" * 10_000, "more than 200 braces within one another", 211),
    ],
)
def test_what_is_nested_too_deeply_is_one_finding_at_the_first_step_too_far(
    text: str, message: str, column: int
) -> None:
    source = Source("deep.stm", text + "\nmachine other { initial A }\n")
    file, (finding,) = parse(source)

    assert (finding.code, finding.message) == ("too_deep", message)
    assert source.place(finding.span.start) == (1, column)
    assert [(each.name.text, each.broken) for each in file.items if isinstance(each, tree.Machine)] == [
        ("m", True),
        ("other", False),
    ]


def test_a_text_too_deep_and_a_mistake_elsewhere_are_both_told() -> None:
    _, findings = parse(Source("a.stm", guarded("(" * 5_000 + "a") + "\nmachine other { initial }\n"))

    assert sorted(finding.code for finding in findings) == ["syntax_error", "too_deep"]


def test_threads_may_parse_at_once() -> None:
    sources = [Source(f"{number}.stm", nested(60)) for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(parse, sources))

    assert [(file.name, findings) for file, findings in results] == [(source.name, ()) for source in sources]


# --- tokens


def test_tokens_hold_every_character_and_the_comments() -> None:
    text = 'state "on hold" { # why\n  timeout 15m }  // end "\nn>=-1e-5 "open'

    assert [(token.kind, token.text) for token in tokens.tokens(text)] == [
        ("word", "state"), ("string", '"on hold"'), ("sign", "{"), ("comment", "# why"), ("word", "timeout"),
        ("number", "15m"), ("sign", "}"), ("comment", '// end "'), ("word", "n"), ("sign", ">="),
        ("number", "-1e-5"), ("sign", '"'), ("word", "open"),
    ]  # fmt: skip
    assert all(text[token.start : token.end] == token.text for token in tokens.tokens(text))
