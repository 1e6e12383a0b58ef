"""Syntax errors in the user's words: what was expected at a place, and what stands there (build.md section 2).

Turns what the parser could have read into names, keywords and signs that the language page knows; names of grammar
rules never show. Reads text without comments.
"""

from __future__ import annotations

from collections.abc import Iterator

from .parsing import END, Mismatch
from .slips import STATEMENT, advice
from .spelling import did_you_mean
from .tokens import token_at

STATEMENTS = frozenset(
    (
        *("from", "state", "on", "final", "initial", "timeout", "outcome", "carry", "defer", "context", "invoke"),
        *("use", "orthogonal", "ttl", "with", "no", "cancel_on_failure"),
    )
)
"""The words that begin a statement of a body."""

DECLARATIONS = ("import", "event", "guard", "bind", "machine", "fragment")
"""The words that begin a declaration of a file."""

_PHRASES = {
    "Name": "a name",
    "Ident": "a name",
    "Dotted": "a name",
    "Ref": "a name",
    "CaseLabel": "a label",
    "Verdict": "an outcome",
    "Path": "a state",
    "Value": "a value",
    "Scalar": "a value",
    "Number": "a number",
    "String": "a text in quotes",
    "Type": "a type (`string`, `int`, `float`, `bool` or `any`)",
    "CompareOp": "a comparison",
    "ArithOp": "an operator",
    "OnKeyword": "`on`",
}
_TOKEN_WORDS = {
    "Type": ("string", "int", "float", "bool", "any"),
    "HookKind": ("enter", "exit", "activity"),
    "JoinMode": ("all", "any"),
    "OnKeyword": ("on",),
    "CompareOp": ("in",),
    "Scalar": ("true", "false", "null"),
}
_SIGN_HINTS = {
    "=": ("CompareOp", "`==` compares"),
    "&": ("and", "write `and`"),
    "|": ("or", "write `or`"),
    "!": ("NotWord", "write `not`"),
    "'": ("", "texts and quoted names stand in double quotes"),
    ";": ("", "nothing stands between statements, or a line break"),
}


def expects_statement(mismatch: Mismatch) -> bool:
    return STATEMENTS.issubset(mismatch.words)


def expects_declaration(mismatch: Mismatch) -> bool:
    return set(DECLARATIONS).issubset(mismatch.words)


def message(mismatch: Mismatch, found: str) -> str:
    """`expected …, found …`."""
    return f"expected {_listed(list(dict.fromkeys(_alternatives(mismatch))))}, found {found}"


def found_at(text: str, position: int) -> str:
    """The token at a position as a message names it."""
    token = token_at(text, position)
    if token is None:
        return "the end of the file"
    if not token.text.isprintable():
        return f"the character U+{ord(next(c for c in token.text if not c.isprintable())):04X}"
    return f"`{token.text}`" if len(token.text) <= 40 else f"`{token.text[:39]}…`"


def hint(mismatch: Mismatch, text: str) -> str | None:
    """What the user may have meant, where something is near."""
    token = token_at(text, mismatch.position)
    if token is None:
        return None
    known = slip(mismatch, text, token.start)
    if known is not None:
        return known
    if expects_declaration(mismatch) and token.text in (*STATEMENTS, "}"):
        return "statements stand inside a machine: is there a `}` too many above?"
    if token.text in DECLARATIONS and expects_statement(mismatch):
        return f"`{token.text}` stands outside of machines"
    if token.kind == "word":
        candidates = [word for word in mismatch.words if word[0].isalpha()]
        candidates += [word for name in mismatch.tokens for word in _TOKEN_WORDS.get(name, ())]
        return None if token.text in candidates else did_you_mean(token.text, candidates, most=1)
    needs, remedy = _SIGN_HINTS.get(token.text, ("-", ""))
    if not needs or needs in mismatch.tokens or needs in mismatch.words:
        return remedy
    if token.text in ("==", "!=", "<", "<=", ">", ">=") and {",", ")"}.issubset(mismatch.words):
        return "a predicate as an argument stands in parentheses"
    return None


def slip(mismatch: Mismatch, text: str, position: int) -> str | None:
    """What to write instead where the text is another notation's."""
    fitting = frozenset((*mismatch.words, *mismatch.tokens, *([STATEMENT] if expects_statement(mismatch) else ())))
    return advice(text, position, fitting)


def _alternatives(mismatch: Mismatch) -> Iterator[str]:
    yield from (_PHRASES[name] for name in mismatch.tokens if name in _PHRASES)
    words = [*mismatch.words]
    if "HookKind" in mismatch.tokens and "Name" not in mismatch.tokens:
        words += _TOKEN_WORDS["HookKind"]
    if "JoinMode" in mismatch.tokens:
        words += _TOKEN_WORDS["JoinMode"]
    folds = expects_statement(mismatch)
    if folds:
        words = [word for word in words if word not in STATEMENTS]
    declares = expects_declaration(mismatch)
    if declares:
        words = [word for word in words if word not in DECLARATIONS]
        yield "a declaration (" + _listed([f"`{word}`" for word in DECLARATIONS]) + ")"
    yield from (f"`{word}`" for word in words if word[0].isalpha())
    if folds:
        yield "a statement"
    yield from (f"`{word}`" for word in words if not word[0].isalpha())
    if END in mismatch.tokens and not declares:
        yield "the end of the file"


def _listed(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else ", ".join(phrases[:-1]) + " or " + phrases[-1]
