"""What a diagnostic code means: the rules' own pages, for a terminal and for the docs (language.md section 6).

`docs/diagnostics.md` is written from here: `python -m harelc.explain > docs/diagnostics.md`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent

from .checks import PAGES
from .checks.registry import Page
from .spelling import did_you_mean

Files = Mapping[str, str]
"""Texts by file name; `main.stm` is the file that is checked."""

_FILE_MARK = "# file: "
_HEADINGS = ("Wrong:", "Right:")


class UnknownCode(LookupError):
    """There is no such code. The message names the nearest ones."""

    def __init__(self, code: str) -> None:
        near = did_you_mean(code, (page.code for page in PAGES), cutoff=0.5)
        hint = near or "`harelc check` prints the codes"
        super().__init__(f"no diagnostic is called `{code}`: {hint}")


@dataclass(frozen=True, slots=True)
class Explanation:
    """A page in its parts: the first line, the paragraphs below it, and the sources that are wrong and right.

    `wrong` and `right` are `None` for the few codes that no short text can show.
    """

    code: str
    severity: str
    title: str
    body: str
    wrong: Files | None
    right: Files | None


def pages() -> tuple[Explanation, ...]:
    """The explanations of all codes, by code."""
    return tuple(sorted(map(_explanation, PAGES), key=lambda one: one.code))


def page(code: str) -> str:
    """The page of one code as text for a terminal.

    Raises:
        UnknownCode: no rule has this code; the message names the nearest codes.
    """
    for one in PAGES:
        if one.code == code:
            return f"{one.severity}[{one.code}]\n\n{one.text}\n"
    raise UnknownCode(code)


def reference() -> str:
    """The page `docs/diagnostics.md`: every code with its explanation and examples."""
    parts = [_INTRODUCTION]
    for severity, heading in (("error", "Errors"), ("warning", "Warnings")):
        chosen = [one for one in pages() if one.severity == severity]
        parts.append(f"## {heading}\n")
        parts.append("\n".join(f"- [`{one.code}`](#{one.code}): {_lower(one.title)}" for one in chosen) + "\n")
        parts.extend(_section(one) for one in chosen)
    return "\n".join(parts)


_INTRODUCTION = """# Diagnostics

Every finding of `harelc check` has a code; `harelc explain CODE` prints the page of one. Errors stop a build, warnings
do not (unless `--strict` says so). Each wrong example below gives exactly this finding, each right one gives none.
"""


def _section(one: Explanation) -> str:
    parts = [f"### {one.code}\n", f"{one.title}\n"]
    if one.body:
        parts.append(f"{one.body}\n")
    for heading, files in (("Wrong", one.wrong), ("Right", one.right)):
        for name, text in (files or {}).items():
            label = f"{heading}:" if len(files or {}) == 1 else f"{heading} (`{name}`):"
            parts.append(f"{label}\n\n```stm\n{text}```\n")
    return "\n".join(parts)


def _lower(title: str) -> str:
    text = title.partition(" (")[0].rstrip(".")
    return text[:1].lower() + text[1:] if not text.startswith("`") else text


def _explanation(one: Page) -> Explanation:
    title, _, rest = one.text.partition("\n")
    blocks: dict[str, list[str]] = {"": []}
    current = ""
    for line in rest.split("\n"):
        if line in _HEADINGS:
            current = line
            blocks[current] = []
        else:
            blocks[current].append(line)
    wrong, right = (_files(blocks[heading]) if heading in blocks else None for heading in _HEADINGS)
    return Explanation(one.code, one.severity, title, "\n".join(blocks[""]).strip(), wrong, right)


def _files(lines: list[str]) -> Files:
    """The example's files: a line `# file: NAME` begins another one."""
    files: dict[str, str] = {}
    name = "main.stm"
    for line in dedent("\n".join(lines)).strip("\n").split("\n"):
        if line.startswith(_FILE_MARK):
            name = line.removeprefix(_FILE_MARK)
        else:
            files[name] = files.get(name, "") + line + "\n"
    return files


if __name__ == "__main__":
    print(reference(), end="")
