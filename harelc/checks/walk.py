"""Walks over the syntax tree that more than one rule needs. They know nodes, not what names mean."""

from __future__ import annotations

from collections.abc import Iterator

from .. import tree

Owner = tree.Machine | tree.Fragment | tree.State | tree.Invoke
"""What has a body of its own; an `invoke` only if its machine is written inline."""

Declaration = tree.Machine | tree.Fragment


def declarations(file: tree.File) -> Iterator[Declaration]:
    """The file's machines and fragments that were read in full, in source order."""
    for item in file.items:
        if isinstance(item, (tree.Machine, tree.Fragment)) and not item.broken:
            yield item


def bodies(declaration: Declaration) -> Iterator[tuple[Owner, tuple[tree.Statement, ...]]]:
    """Every body in a machine or fragment with its owner, outer ones first, inline machines included."""
    waiting: list[Owner] = [declaration]
    while waiting:
        owner = waiting.pop()
        body = owner.body or ()
        yield owner, body
        inner = [part for part in body if isinstance(part, tree.State) or _is_inline(part)]
        waiting.extend(part for part in reversed(inner) if isinstance(part, (tree.State, tree.Invoke)))


def file_bodies(file: tree.File) -> Iterator[tuple[Owner, tuple[tree.Statement, ...]]]:
    """Every body of the file's machines and fragments."""
    for declaration in declarations(file):
        yield from bodies(declaration)


def file_transitions(file: tree.File) -> Iterator[tree.Transition]:
    """Every transition written in the file's machines and fragments."""
    for _, body in file_bodies(file):
        yield from (part for part in body if isinstance(part, tree.Transition))


def predicates(transition: tree.Transition) -> Iterator[tuple[tree.Predicate, tree.Span]]:
    """What decides whether and where a transition goes: its `where`, the `when` of its branches, each with its place.

    The place begins at the word; where the predicate was put in from another place, the word is all of it.
    """
    if transition.where is not None:
        yield transition.where, _place(transition.where_span or transition.span, transition.where)
    for branch in transition.branches:
        if branch.test is not None and not isinstance(branch.test, tree.Name):
            yield branch.test, _place(branch.span, branch.test)


def assigns(transition: tree.Transition) -> Iterator[tree.Assign]:
    """What a transition and its branches set."""
    yield from transition.sets
    for branch in transition.branches:
        yield from branch.sets


def has_states(body: tuple[tree.Statement, ...]) -> bool:
    """Whether a body has states of its own, written or used."""
    return any(isinstance(part, (tree.State, tree.Use)) for part in body)


def head(owner: Owner) -> tree.Span:
    """Where a body begins in the reader's eye: the name, or the word `invoke`."""
    if isinstance(owner, tree.Invoke):
        return tree.Span(owner.span.file, owner.span.start, owner.span.start + len("invoke"))
    return owner.name.span


def called(owner: Owner) -> str:
    """How a message calls the owner of a body."""
    return "the inline machine" if isinstance(owner, tree.Invoke) else f"`{owner.name.text}`"


def _place(span: tree.Span, predicate: tree.Predicate) -> tree.Span:
    is_written_here = predicate.span.file == span.file and span.start <= predicate.span.start < span.end
    return tree.Span(span.file, span.start, predicate.span.end if is_written_here else span.start + len("when"))


def _is_inline(part: tree.Statement) -> bool:
    return isinstance(part, tree.Invoke) and part.body is not None
