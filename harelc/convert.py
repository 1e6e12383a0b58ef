"""From the parse tree of one declaration to the frozen nodes of `tree.py` (language.md sections 1 to 4).

Decodes names, strings and numbers; what is no value of the language becomes a finding and the node is made all the
same. Knows nothing of names' meaning, with one exception: a bare name stands for a value only where it is a fragment's
parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from . import tree
from .diagnostics import Finding
from .parsing import Node, Parts, end_of
from .tree import Span

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_REFERENCE = re.compile(r"(?:(event|context)\s*\.\s*)?(.+)", re.DOTALL)
_PATH_PART = re.compile(r'"(?:[^"\\\n]|\\.)*"|\w+')
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_WORDS_ELSEWHERE = {"True": "true", "False": "false", "None": "null", "nil": "null", "undefined": "null"}
_MAX_DIGITS = 1_000
_MAX_NOTS = 200


class Conversion:
    """The conversion of one declaration: `item` gives its node, `findings` what was wrong with its values.

    `offset` is where the parsed text begins in the file, `docs` the documentation by offset of what it belongs to.
    """

    def __init__(self, file: str, offset: int, docs: Mapping[int, str]) -> None:
        self.findings: list[Finding] = []
        self._file = file
        self._offset = offset
        self._docs = docs
        self._parameters: frozenset[str] = frozenset()
        self._items: Mapping[str, Callable[[Node], tree.Item]] = {
            "Import": self._import,
            "Event": self._event,
            "Guard": self._guard,
            "Bind": self._bind,
            "Machine": self._machine,
            "Fragment": self._fragment,
        }
        self._statements: Mapping[str, Callable[[Node], tree.Statement]] = {
            "Transition": self._transition,
            "State": self._state,
            "Orthogonal": self._state,
            "Final": self._state,
            "Hook": self._hook,
            "Initial": self._initial,
            "Timeout": self._timeout,
            "Ttl": self._ttl,
            "Outcome": self._outcome,
            "Carry": self._carry,
            "Defer": self._defer,
            "Context": self._context,
            "Invoke": self._invoke,
            "With": self._with,
            "Use": self._use,
            "NoHistory": self._no_history,
            "CancelOnFailure": self._cancel_on_failure,
        }

    def item(self, node: Node) -> tree.Item:
        return self._items[node.rule_name](node)

    # --- places and tokens

    def _span(self, node: Node) -> Span:
        return Span(self._file, node.position + self._offset, end_of(node) + self._offset)

    def _between(self, first: Node, last: Node) -> Span:
        return Span(self._file, first.position + self._offset, end_of(last) + self._offset)

    def _doc(self, node: Node) -> str:
        return self._docs.get(node.position + self._offset, "") if self._docs else ""

    def _wrong(self, span: Span, message: str, hint: str | None = None) -> None:
        self.findings.append(Finding("syntax_error", span, message, hint))

    def _name(self, token: Node) -> tree.Name:
        return self._name_at(token.value, self._span(token))

    def _name_at(self, raw: str, span: Span) -> tree.Name:
        if raw[0] == '"':
            return tree.Name(self._string(raw, span), span)
        return tree.Name(raw, span)

    def _names(self, tokens: list[Node]) -> tuple[tree.Name, ...]:
        return tuple(self._name(token) for token in tokens)

    def _dotted(self, token: Node) -> tree.Dotted:
        return tree.Dotted("".join(token.value.split()), self._span(token))

    def _path(self, token: Node) -> tree.Path:
        span = self._span(token)
        if token.value.isidentifier():
            return tree.Path((tree.Name(token.value, span),), span)
        parts = (
            self._name_at(part[0], Span(self._file, span.start + part.start(), span.start + part.end()))
            for part in _PATH_PART.finditer(token.value)
        )
        return tree.Path(tuple(parts), span)

    def _string(self, raw: str, span: Span) -> str:
        try:
            text: str = json.loads(raw)
        except json.JSONDecodeError as error:
            self._wrong(span, f"this string is not a JSON string: {error.msg.lower()}", "write `\\\\` for a backslash")
            return raw[1:-1]
        if _SURROGATE.search(text):
            self._wrong(span, "this string holds half of a surrogate pair, which is no character")
            return _SURROGATE.sub("\ufffd", text)
        return text

    def _scalar(self, token: Node) -> tree.Literal:
        raw, span = token.value, self._span(token)
        if raw[0] == '"':
            return tree.Literal(self._string(raw, span), span)
        if raw in _WORDS:
            return tree.Literal(_WORDS[raw], span)
        return tree.Literal(self._number(raw, span), span)

    def _number(self, raw: str, span: Span) -> int | float:
        match = _NUMBER.fullmatch(raw)
        if match is None:
            hint = "units stand only after `timeout` and `ttl`" if re.fullmatch(r"-?[\d.]+[smhdw]", raw) else None
            self._wrong(span, f"`{_short(raw)}` is not a number", hint)
        elif match[1] is None and match[2] is None:
            if len(raw.lstrip("-")) <= _MAX_DIGITS:
                return int(raw)
            self._wrong(span, f"a whole number has at most {_MAX_DIGITS} digits, this one has {len(raw.lstrip('-'))}")
        else:
            number = float(raw)
            if abs(number) != float("inf"):
                return number
            self._wrong(span, f"`{_short(raw)}` is too large for a number")
        return 0

    def _literal(self, node: Node) -> tree.Literal:
        part = node[0][0]
        return self._list(part) if part.rule_name == "List" else self._scalar(part)

    def _list(self, node: Node) -> tree.Literal:
        values = tuple(self._literal(part).value for part in Parts(node).many("items"))
        return tree.Literal(values, self._span(node))

    def _reference(self, token: Node) -> tree.Ref:
        span = self._span(token)
        scope, raw, start = "", token.value, span.start
        match = _REFERENCE.fullmatch(raw)
        if match is not None and match[1] is not None:
            scope, raw, start = match[1], match[2], span.start + match.start(2)
        return tree.Ref(scope, self._name_at(raw, Span(self._file, start, span.end)), span)

    def _operand(self, node: Node) -> tree.Operand:
        """A literal or a reference; a bare name, too."""
        part = node[0][0]
        if part.rule_name == "List":
            return self._list(part)
        raw = part.value
        if raw[0] in '"-0123456789' or raw in _WORDS:
            return self._scalar(part)
        return self._reference(part)

    def _value(self, node: Node) -> tree.Operand:
        """A literal or a reference; a bare name only if it is a parameter."""
        operand = self._operand(node)
        if isinstance(operand, tree.Ref) and not operand.scope and operand.name.text not in self._parameters:
            name = operand.name.text
            hint = f'write `event.{name}` or `context.{name}`; text stands in quotes: `"{name}"`'
            if name in _WORDS_ELSEWHERE:
                hint = f"did you mean `{_WORDS_ELSEWHERE[name]}`?"
            self._wrong(operand.span, f"expected a value, found the bare name `{name}`", hint)
        return operand

    # --- predicates

    def _predicate(self, node: Node, nots: int = 0) -> tree.Predicate:
        """Of an `Or` node. `nots` counts the `not` around it."""
        terms = tuple(self._conjunction(term, nots) for term in node[0] if term.rule_name != "sep")
        return terms[0] if len(terms) == 1 else tree.Or(terms, self._span(node))

    def _conjunction(self, node: Node, nots: int) -> tree.Predicate:
        terms = tuple(self._negation(term, nots) for term in node[0] if term.rule_name != "sep")
        return terms[0] if len(terms) == 1 else tree.And(terms, self._span(node))

    def _negation(self, node: Node, nots: int) -> tree.Predicate:
        parts = Parts(node)
        words = parts.many("nots")
        if nots + len(words) > _MAX_NOTS:
            span = self._span(words[_MAX_NOTS - nots])
            message = f"more than {_MAX_NOTS} `not` within one another"
            self.findings.append(Finding("too_deep", span, message, "two of them cancel each other out"))
            words = words[: _MAX_NOTS - nots]
        group = parts.maybe("group")
        if group is None:
            predicate = self._test(parts.one("test"))
        else:
            predicate = self._predicate(Parts(group).one("predicate"), nots + len(words))
        for word in reversed(words):
            predicate = tree.Not(predicate, self._between(word, node))
        return predicate

    def _test(self, node: Node) -> tree.Predicate:
        parts = Parts(node)
        left = self._reference(parts.one("left"))
        operator, right = parts.maybe("op"), parts.maybe("right")
        if operator is not None and right is not None:
            return tree.Compare(left, operator.value, self._value(right), self._span(node))
        if left.scope:
            self._wrong(left.span, f"`{left.scope}.{left.name.text}` is compared with nothing", "write `… == true`")
        return tree.GuardRef(left.name, left.span)

    # --- actions and assignments

    def _action(self, node: Node) -> tree.Action:
        parts = Parts(node)
        inputs = tuple(self._input(part) for part in parts.many("inputs"))
        return tree.Action(self._dotted(parts.one("name")), inputs, self._span(node))

    def _input(self, node: Node) -> tree.Input:
        parts = Parts(node)
        value = self._value(parts.one("value"))
        if isinstance(value, tree.Ref) and value.scope:
            hint = "the action gets event and context anyway"
            self._wrong(value.span, f"an input is a literal, not `{value.scope}.{value.name.text}`", hint)
        return tree.Input(self._name(parts.one("name")), value, self._span(node))

    def _sets(self, node: Node | None) -> tuple[tree.Assign, ...]:
        if node is None:
            return ()
        return tuple(self._assign(part) for part in Parts(node).many("assigns"))

    def _assign(self, node: Node) -> tree.Assign:
        parts = Parts(node)
        operator, right = parts.maybe("op"), parts.maybe("right")
        return tree.Assign(
            self._name(parts.one("key")),
            self._value(parts.one("left")),
            None if operator is None else operator.value,
            None if right is None else self._value(right),
            self._span(node),
        )

    # --- transitions

    def _transition(self, node: Node) -> tree.Transition:
        parts = Parts(node)
        move = parts.one("move")[0]
        moved = Parts(move)
        on, where, selector = moved.maybe("on"), moved.maybe("where"), moved.maybe("action")
        sets = self._sets(moved.maybe("sets"))
        form, branches = self._branches(move, moved, sets)
        return tree.Transition(
            source=self._name(parts.one("source")),
            form=form,
            kinds=() if on is None else self._names(Parts(on).many("kinds")),
            where=None if where is None else self._predicate(Parts(where).one("predicate")),
            sets=sets if form in ("to", "choose", "select") else (),
            branches=branches,
            span=self._span(node),
            where_span=None if where is None else self._span(where),
            selector=None if selector is None else self._action(selector),
            returns=self._names(moved.many("returns")),
            doc=self._doc(node),
        )

    def _branches(
        self, move: Node, parts: Parts, sets: tuple[tree.Assign, ...]
    ) -> tuple[str, tuple[tree.Branch, ...]]:
        """The form of a transition and its branches; `sets` are those behind a join's own target."""
        otherwise = tuple(self._branch(part, None, is_else=True) for part in parts.many("otherwise"))
        match move.rule_name:
            case "Choose":
                whens = parts.many("whens")
                tests = (self._predicate(Parts(when).one("predicate")) for when in whens)
                return "choose", (*map(self._branch, whens, tests), *otherwise)
            case "Select":
                cases = parts.many("cases")
                labels = (self._name(Parts(case).one("label")) for case in cases)
                return "select", (*map(self._branch, cases, labels), *otherwise)
            case "Join":
                target = self._path(parts.one("target"))
                own = tree.Branch(target, None, sets, target.span)
                return f"join_{parts.one('mode').value}", (own, *otherwise)
        target = self._path(parts.one("target"))
        return "to", (tree.Branch(target, None, (), target.span),)

    def _branch(self, node: Node, test: tree.Predicate | tree.Name | None, is_else: bool = False) -> tree.Branch:
        parts = Parts(node)
        return tree.Branch(
            self._path(parts.one("target")), test, self._sets(parts.maybe("sets")), self._span(node), is_else
        )

    # --- statements of a body

    def _body(self, nodes: list[Node]) -> tuple[tree.Statement, ...]:
        return tuple(self._statements[node[0].rule_name](node[0]) for node in nodes)

    def _state(self, node: Node) -> tree.State:
        parts = Parts(node)
        verdict = parts.maybe("verdict")
        return tree.State(
            keyword=node[0].value,
            name=self._name(parts.one("name")),
            body=self._body(parts.many("body")),
            span=self._span(node),
            verdict=None if verdict is None else self._name(verdict),
            doc=self._doc(node),
        )

    def _initial(self, node: Node) -> tree.Initial:
        return tree.Initial(self._path(Parts(node).one("target")), self._span(node))

    def _hook(self, node: Node) -> tree.Hook:
        parts = Parts(node)
        return tree.Hook(parts.one("when").value, self._action(parts.one("action")), self._span(node))

    def _timeout(self, node: Node) -> tree.Timeout:
        parts = Parts(node)
        after, key, parameter = parts.maybe("after"), parts.maybe("key"), parts.maybe("parameter")
        return tree.Timeout(
            self._span(node),
            raw=None if after is None else after.value,
            key=None if key is None else self._name(key),
            parameter=None if parameter is None else self._name(parameter),
        )

    def _ttl(self, node: Node) -> tree.Ttl:
        parts = Parts(node)
        after, parameter = parts.maybe("after"), parts.maybe("parameter")
        return tree.Ttl(
            self._span(node),
            raw=None if after is None else after.value,
            parameter=None if parameter is None else self._name(parameter),
        )

    def _outcome(self, node: Node) -> tree.Outcome:
        return tree.Outcome(self._name(Parts(node).one("name")), self._span(node))

    def _carry(self, node: Node) -> tree.Carry:
        return tree.Carry(self._names(Parts(node).many("names")), self._span(node))

    def _defer(self, node: Node) -> tree.Defer:
        return tree.Defer(self._names(Parts(node).many("kinds")), self._span(node))

    def _no_history(self, node: Node) -> tree.NoHistory:
        return tree.NoHistory(self._span(node))

    def _cancel_on_failure(self, node: Node) -> tree.CancelOnFailure:
        return tree.CancelOnFailure(self._span(node))

    def _context(self, node: Node) -> tree.Context:
        return tree.Context(tuple(self._field(part) for part in Parts(node).many("fields")), self._span(node))

    def _field(self, node: Node) -> tree.FieldDecl:
        parts = Parts(node)
        kind, default = parts.one("type"), parts.maybe("default")
        return tree.FieldDecl(
            name=self._name(parts.one("name")),
            type=kind.value.removesuffix("?"),
            optional=kind.value.endswith("?"),
            span=self._between(node, default or kind),
            default=None if default is None else self._literal(default),
        )

    def _invoke(self, node: Node) -> tree.Invoke:
        what = Parts(node).one("what")[0]
        parts = Parts(what)
        machine, fan = parts.maybe("machine"), parts.maybe("fan")
        item, items = (None, None) if fan is None else self._fan(fan)
        return tree.Invoke(
            machine=None if machine is None else self._dotted(machine),
            body=self._body(parts.many("body")) if machine is None else None,
            item=item,
            items=items,
            span=self._span(node),
        )

    def _fan(self, node: Node) -> tuple[tree.Name, tree.Ref]:
        parts = Parts(node)
        items = self._reference(parts.one("items"))
        if items.scope == "event":
            self._wrong(items.span, "a fan-out takes its items from the context, not from an event")
        return self._name(parts.one("item")), items

    def _with(self, node: Node) -> tree.With:
        return tree.With(tuple(self._with_entry(part) for part in Parts(node).many("entries")), self._span(node))

    def _with_entry(self, node: Node) -> tree.WithEntry:
        parts = Parts(node)
        value = parts.one("value")
        return tree.WithEntry(self._name(parts.one("child")), self._operand(value), self._between(node, value))

    def _use(self, node: Node) -> tree.Use:
        parts = Parts(node)
        fragment, name = self._dotted(parts.one("fragment")), parts.maybe("name")
        return tree.Use(
            fragment=fragment,
            arguments=tuple(self._argument(part) for part in parts.many("arguments")),
            name=self._own_name(fragment) if name is None else self._name(name),
            span=self._span(node),
            doc=self._doc(node),
        )

    def _own_name(self, fragment: tree.Dotted) -> tree.Name:
        text = fragment.text.rpartition(".")[2]
        return tree.Name(text, Span(self._file, fragment.span.end - len(text), fragment.span.end))

    def _argument(self, node: Node) -> tree.Argument:
        parts = Parts(node)
        return tree.Argument(self._name(parts.one("name")), self._argument_value(parts), self._span(node))

    def _argument_value(self, parts: Parts) -> tree.Predicate | tree.Literal | tree.Action | tree.Path:
        predicate, path, literal = parts.maybe("predicate"), parts.maybe("path"), parts.maybe("literal")
        if predicate is not None:
            return self._predicate(predicate)
        if path is not None:
            return self._path(path)
        if literal is not None:
            return self._literal(literal)
        return self._action(parts.one("action"))

    # --- top level

    def _import(self, node: Node) -> tree.Import:
        parts = Parts(node)
        alias = parts.maybe("alias")
        return tree.Import(
            self._name(parts.one("path")), None if alias is None else self._name(alias), self._span(node)
        )

    def _event(self, node: Node) -> tree.Event:
        parts = Parts(node)
        fields = tuple(self._field(part) for part in parts.many("fields"))
        return tree.Event(self._name(parts.one("name")), fields, self._span(node), self._doc(node))

    def _guard(self, node: Node) -> tree.Guard:
        parts = Parts(node)
        predicate = self._predicate(parts.one("predicate"))
        return tree.Guard(self._name(parts.one("name")), predicate, self._span(node), self._doc(node))

    def _bind(self, node: Node) -> tree.Bind:
        return tree.Bind(tuple(self._bind_entry(part) for part in Parts(node).many("entries")), self._span(node))

    def _bind_entry(self, node: Node) -> tree.BindEntry:
        parts = Parts(node)
        target = parts.one("target")
        return tree.BindEntry(self._name(parts.one("name")), self._dotted(target), self._between(node, target))

    def _machine(self, node: Node) -> tree.Machine:
        parts = Parts(node)
        version = parts.maybe("version")
        return tree.Machine(
            name=self._name(parts.one("name")),
            version=None if version is None else version.value,
            body=self._body(parts.many("body")),
            span=self._span(node),
            version_span=None if version is None else self._span(version),
            doc=self._doc(node),
        )

    def _fragment(self, node: Node) -> tree.Fragment:
        parts = Parts(node)
        parameters = tuple(self._parameter(part) for part in parts.many("params"))
        self._parameters = frozenset(parameter.name.text for parameter in parameters)
        return tree.Fragment(
            self._name(parts.one("name")), parameters, self._body(parts.many("body")), self._span(node), self._doc(node)
        )

    def _parameter(self, node: Node) -> tree.Parameter:
        parts = Parts(node)
        return tree.Parameter(self._name(parts.one("name")), self._name(parts.one("kind")), self._span(node))


def _short(raw: str) -> str:
    return raw if len(raw) <= 40 else raw[:39] + "…"
