"""Sources as a git revision has them: `git:REV:PATH` (build.md section 1).

`git` is asked, and nothing is checked out. PATH is meant as git means it: from the root of the repository, or from the
current folder where it begins with `./`. Whatever goes wrong is one line that says what to write instead.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from .console import Refusal
from .diagnostics import Finding, Source
from .project import SUFFIX
from .reading import Unreadable, source_from_bytes
from .tree import Span

PREFIX = "git:"
_FILES = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit by its full id, and how the user named it."""

    commit: str
    name: str

    def load(self, name: str) -> Source:
        """The text of a file by its path from the root of the repository. Raises `Unreadable`."""
        try:
            data = _git("cat-file", "blob", f"{self.commit}:{name}")
        except _GitFailed:
            finding = Finding(
                "unreadable_file", Span(name, 0, 0), f"`{name}` cannot be read: revision {self.name} has no such file"
            )
            raise Unreadable(finding, Source(name, "")) from None
        return source_from_bytes(data, name)


class _GitFailed(Exception):
    """`git` ended with another status than 0; `str()` is what it said."""


def open_revision(text: str) -> tuple[Revision, tuple[str, ...]]:
    """The revision that `git:REV:PATH` names, and the sources at PATH by their paths from the root of the repository.

    Raises:
        Refusal: the text has another form, git is not installed, there is no repository here, it has no such revision,
            or that has nothing at PATH or no source in it.
    """
    name, colon, path = text.removeprefix(PREFIX).partition(":")
    if not name or not colon or not path:
        raise Refusal(f"{text}: write git:REV:PATH, such as git:main:machines/order.stm")
    if name.startswith("-") or "\0" in text:
        raise Refusal(f"{name!r} is no revision")
    revision = Revision(_commit(name), name)
    inner = _from_root(path)
    sources = tuple(sorted(_sources(revision, inner)))
    if not sources:
        raise Refusal(_nothing(revision, path, inner))
    return revision, sources


def _commit(name: str) -> str:
    try:
        _git("rev-parse", "--git-dir")
    except _GitFailed:
        raise Refusal(f"{PREFIX}{name}: there is no git repository around {os.getcwd()}") from None
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()
    except _GitFailed:
        raise Refusal(f"git has no revision {name!r} here; `git log --oneline` lists some") from None


def _from_root(path: str) -> str:
    """The path from the root of the repository, `.` for the root itself."""
    if path.startswith("/"):
        raise Refusal(f"{path}: write the path from the root of the repository, or ./ and the path from here")
    if path.split("/")[0] in (".", ".."):
        path = f"{_git('rev-parse', '--show-prefix').decode().rstrip(chr(10))}{path}"
    inner = os.path.normpath(path).replace(os.sep, "/")
    if inner.split("/")[0] == "..":
        raise Refusal(f"{path} leads out of the repository")
    return inner


def _sources(revision: Revision, inner: str) -> Iterator[str]:
    """The file itself, or every source below the folder; hidden folders are passed over, as on the disk."""
    listed = _git("ls-tree", "-r", "-z", "--full-tree", revision.commit, "--", *([] if inner == "." else [inner]))
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, path = entry.partition("\t")
        if facts.split(" ")[0] not in _FILES:
            continue
        if path == inner:
            yield path
        elif path.endswith(SUFFIX):
            within = PurePosixPath(path) if inner == "." else PurePosixPath(path).relative_to(inner)
            if not any(part.startswith(".") for part in within.parts):
                yield path


def _nothing(revision: Revision, path: str, inner: str) -> str:
    if inner == "." or _git("ls-tree", "-z", "--full-tree", revision.commit, "--", inner):
        return f"there is no {SUFFIX} file in {path} at revision {revision.name}"
    hint = "" if path.startswith(".") else "; a path counts from the root of the repository, or begins with ./"
    return f"revision {revision.name} has no {path}{hint}"


def _git(*arguments: str) -> bytes:
    """What `git` writes.

    Raises:
        Refusal: it is not installed. _GitFailed: it ended with another status than 0.
    """
    environment = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ("git", *arguments), capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=False
        )
    except FileNotFoundError:
        raise Refusal("`git` is not installed, or not on the PATH: give a file or a folder in place of git:…") from None
    if done.returncode:
        raise _GitFailed(done.stderr.decode("utf-8", "replace").strip())
    return done.stdout
