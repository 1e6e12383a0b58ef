"""Values and texts as Python source: strings, tables laid out in lines, docstrings (build.md section 3).

Every text of a source passes through `literal` or `docstring`, so that none can become code. Nothing here knows what
the tables mean.
"""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 88
"""The longest line, where it can be broken: black's own default, so that the modules are content with it anywhere."""

DEEPEST = 40
"""How deep parentheses may be nested in one constant: CPython's tokenizer gives up at 200, counting what is around."""

_STEP = 4


class Name(str):
    """The name of a constant, which stands in a table in place of a value."""

    __slots__ = ()


def literal(value: object) -> str:
    """A value of the tables on one line: None, bool, int, float, str, or a tuple of such; strings in double quotes."""
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, str):
        text = repr(value)
        return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in value else text
    if not isinstance(value, tuple):
        return repr(value)
    parts = []
    for item in value:
        parts.append(literal(item))
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def lines(value: object, indent: int, end: str = ",") -> Iterator[str]:
    """A value as lines within the width, as far as its strings allow: one line, or parentheses around filled lines."""
    margin = " " * indent
    whole = f"{margin}{literal(value)}{end}"
    if len(whole) <= WIDTH or isinstance(value, Name) or not isinstance(value, tuple) or not value:
        yield whole
        return
    yield f"{margin}("
    yield from _filled(value, indent + _STEP)
    yield f"{margin}){end}"


def _filled(items: tuple[object, ...], indent: int) -> Iterator[str]:
    margin = " " * indent
    line = ""
    for item in items:
        text = literal(item)
        if line and len(margin) + len(line) + len(text) + 2 <= WIDTH:
            line = f"{line} {text},"
            continue
        if line:
            yield margin + line
        line = f"{text},"
        if len(margin) + len(line) > WIDTH:
            yield from lines(item, indent)
            line = ""
    if line:
        yield margin + line


def one_per_line(items: tuple[object, ...]) -> Iterator[str]:
    """A table: each row on a line of its own, or on several where it is too long for one."""
    for item in items:
        yield from lines(item, _STEP)


class Shallow:
    """Cuts what is nested too deep out of tables, into constants of its own that come before them."""

    def __init__(self) -> None:
        self.constants: list[tuple[Name, tuple[object, ...]]] = []

    def cut(self, value: tuple[object, ...]) -> tuple[object, ...]:
        """The value with names in place of what was cut out of it."""
        return self._cut(value)[0]

    def _cut(self, value: tuple[object, ...]) -> tuple[tuple[object, ...], int]:
        items: list[object] = []
        height = 0
        for item in value:
            if isinstance(item, tuple):
                item, inner = self._cut(item)
                if inner >= DEEPEST:
                    name = Name(f"_DEEP_{len(self.constants) + 1}")
                    self.constants.append((name, item))
                    item, inner = name, 0
                height = max(height, inner)
            items.append(item)
        return tuple(items), height + 1


def docstring(text: str, indent: int) -> str:
    """A docstring, its quotes included, whose value is the text, its lines indented; blank lines around it are dropped.

    A single line closes on itself, more lines have the closing quotes on a line of their own. Formatters leave it as it
    is: what they would strip or shift is escaped.
    """
    first, *rest = [_escaped(row) for row in text.strip("\n").split("\n")]
    if first[:1] in ('"', " "):
        first = _hex(first[0]) + first[1:]
    if not rest:
        return f'"""{first[:-1]}{_hex(first[-1])}"""' if first.endswith('"') else f'"""{first}"""'
    if all(row.startswith(" ") for row in rest if row):
        rest = [_hex(row[0]) + row[1:] if row else row for row in rest]
    if indent == 0:
        rest = [_hex(row[0]) + row[1:] if row.startswith("#") else row for row in rest]
    margin = " " * indent
    return "\n".join([f'"""{first}', *(f"{margin}{row}" if row else "" for row in rest), f'{margin}"""'])


def _escaped(row: str) -> str:
    """A line of a docstring: backslashes, what is not printable, a blank at the end and runs of quotes are escaped.

    Python takes no lone surrogate in a docstring: there its escape is shown.
    """
    encodable = row.encode("utf-8", "backslashreplace").decode()
    escaped = "".join(
        char if char.isprintable() and char != "\\" else literal(char)[1:-1] for char in encodable
    ).replace('"""', '""\\x22')
    return escaped[:-1] + _hex(" ") if escaped.endswith(" ") else escaped


def _hex(char: str) -> str:
    """The escape of a character. A line that begins with a hash could be a comment to a type checker, not with this."""
    return f"\\x{ord(char):02x}"
