"""Walks over the syntax tree that every stage needs. They know nodes, not what names mean (language.md 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator

from . import tree


def statements(body: tuple[tree.Statement, ...]) -> Iterator[tree.Statement]:
    """Every statement of a body, at any depth, inline machines included, in source order."""
    waiting = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, (tree.State, tree.Invoke)):
            waiting += reversed(statement.body or ())


def predicates(transition: tree.Transition) -> Iterator[tree.Predicate]:
    """Every predicate of a transition, in source order."""
    if transition.where is not None:
        yield transition.where
    for branch in transition.branches:
        if branch.test is not None and not isinstance(branch.test, tree.Name):
            yield branch.test


def tests(predicate: tree.Predicate) -> Iterator[tree.Compare | tree.GuardRef]:
    """The comparisons and the named guards a predicate is composed of, in source order."""
    waiting = [predicate]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tree.Not):
            waiting.append(node.term)
        elif isinstance(node, (tree.And, tree.Or)):
            waiting += reversed(node.terms)
        else:
            yield node


def guard_refs(predicate: tree.Predicate) -> Iterator[tree.GuardRef]:
    """The named guards in a predicate, in source order."""
    return (test for test in tests(predicate) if isinstance(test, tree.GuardRef))
