"""Choices by several comparisons of data: one term for every order of the comparisons, and no two that differ."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest

from symbolic.algebra.choices import EQUAL_TO, LESS_THAN
from symbolic.algebra.terms import Term, Terms

LEAVES = ("a", "b", "c", "d")
Node = Any
"""A letter, or (operator, node, node, node, node), as it is written."""


def term(terms: Terms, node: Node) -> Term:
    if isinstance(node, str):
        return terms.atom(node, 0)
    return terms.apply(node[0], [term(terms, each) for each in node[1:]])


def drawn(rng: Random, depth: int) -> Node:
    if depth == 0:
        return rng.choice("ab")
    x, y = drawn(rng, depth - 1), drawn(rng, rng.choice((0, depth - 1)))
    op, (a, b) = rng.choice((LESS_THAN, EQUAL_TO)), rng.sample(LEAVES[:3], 2)
    return (op, a, b, *rng.sample((x, y), 2))


def swapped(node: Node) -> set[Node]:
    """Return what one use of a law makes of a choice: two comparisons with one exit change places, or two sides."""
    if isinstance(node, str):
        return set()
    op, a, b, x, y = node
    found = {(op, b, a, x, y)} if op == EQUAL_TO else set()
    for place in range(1, 5):
        found |= {(*node[:place], other, *node[place + 1 :]) for other in swapped(node[place])}
    for outcome, (chosen, leaves_to) in enumerate(((y, x), (x, y))):
        if isinstance(chosen, tuple) and leaves_to in chosen[3:] and chosen[3] != chosen[4]:
            inner, then = chosen[:3], chosen[3] if chosen[4] == leaves_to else chosen[4]
            below = (op, a, b, *((then, leaves_to) if outcome else (leaves_to, then)))
            found.add((*inner, *((below, leaves_to) if chosen[4] == leaves_to else (leaves_to, below))))
    return found


def alike(node: Node) -> set[Node]:
    """Return every way of writing a choice."""
    found, new = {node}, [node]
    while new and len(found) < 3_000:
        more = swapped(new.pop()) - found
        found |= more
        new += more
    return found


@pytest.mark.parametrize("seed", range(100))
def test_terms_are_the_same_exactly_where_the_laws_say_so(seed: int) -> None:
    """The laws are tried one by one, on choices as they are written, until nothing new comes."""
    rng, terms = Random(seed), Terms()
    for letter in rng.sample(LEAVES, 4):
        terms.atom(letter, 0)
    nodes = [drawn(rng, 2) for _ in range(3)] + [drawn(rng, 3)]
    nodes += [rng.choice(sorted(swapped(node), key=str) or [node]) for node in nodes]
    classes = [alike(node) for node in nodes]
    found = [term(terms, node) for node in nodes]
    for (node, one), (other, two) in itertools.product(
        zip(classes, found, strict=True), zip(nodes, found, strict=True)
    ):
        assert (other in node) == (one == two)


@pytest.mark.parametrize("seed", range(60))
def test_spellings_are_all_arguments_that_make_a_term(seed: int) -> None:
    """Of all choices between a few terms, those and no others."""
    rng, terms = Random(seed), Terms()
    node = drawn(rng, 3)
    wanted = term(terms, node)
    parts = sorted({term(terms, part) for each in alike(node) if not isinstance(each, str) for part in each[1:]})
    for op in (LESS_THAN, EQUAL_TO):
        letters = [t for t in parts if terms.nodes[t][0] == "atom"]
        tried = itertools.product(letters, letters, parts, parts)
        right = {args for args in tried if terms.apply(op, args) == wanted}
        assert set(terms.spellings(op, wanted)) == right


def test_a_chain_may_end_in_another_one() -> None:
    """`x if p or q else y`, where `x` is a choice that leaves to `y` too: two exits for the same comparisons."""
    inner = (LESS_THAN, "c", "a", "a", "b")
    node = (LESS_THAN, "a", "b", inner, (LESS_THAN, "c", "d", inner, "b"))
    ways = alike(node)
    for letters in itertools.permutations(LEAVES):
        terms = Terms()
        for letter in letters:
            terms.atom(letter, 0)
        assert len({term(terms, each) for each in ways}) == 1 < len(ways)


def test_a_long_chain_grows_by_one_term_a_comparison() -> None:
    terms = Terms()
    x, y = terms.atom("x", 0), terms.atom("y", 0)
    atoms = [terms.atom("z", i) for i in range(300)]
    found = x
    for atom in atoms:
        found = terms.apply(LESS_THAN, (atom, x, found, y))
    assert len(terms.nodes) == 2 * len(atoms) + 4
