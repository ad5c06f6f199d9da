"""Tallies of values that a choice decides, against what the terms themselves hold."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import pytest

from symbolic.algebra.operator_laws import Law, law_of
from symbolic.algebra.orders import Odd, Pair, Projection, Times, accumulation
from symbolic.algebra.tally import (
    FALSE,
    TRUE,
    Coefficient,
    Constant,
    Held,
    Others,
    Present,
    Single,
    Size,
    Tally,
    Unwritten,
    amount,
)
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.values.guard import Guards


def holds(held: Held) -> dict[Any, bool]:
    """Return which amounts are there, where every guard is a constant."""
    assert set(held.values()) <= {TRUE, FALSE}
    return {number: guard == TRUE for number, guard in held.items() if guard == TRUE}


def random_term(random: Random, terms: Terms, op: str, some: list[Term]) -> Term:
    """Return a reduction of a few items, some of them several times, and at times a number."""
    parts = [random.choice(some) for _ in range(random.randint(1, 3))]
    if op == "+":
        parts = [terms.times(random.choice((-2, -1, 1, 2)), part) for part in parts]
    if random.random() < 0.4:
        parts.append(terms.const(random.randint(2, 3) if op == "*" else random.randint(-2, 2)))
    return terms.apply(op, parts)


def tallies_of(op: str, item: Term) -> list[Tally]:
    """Return what is asked of a reduction of one item: its number, and how often the item is there."""
    own: dict[str, list[Tally]] = {
        "+": [Coefficient(item)],
        "max": [Present(op, item)],
        "*": [Times(op, item, 1), Times(op, item, 3)],
        "^": [Odd(op, item)],
    }
    return [Constant(op), *own[op]]


@pytest.mark.parametrize("op", ["+", "max", "*", "^"])
@pytest.mark.parametrize("seed", range(40))
def test_what_two_values_hold_together_is_what_their_term_holds(op: str, seed: int) -> None:
    """Each tally of a reduction is made of those of its parts; so is one of a multiple."""
    random, terms, guards = Random(f"{op} {seed}"), Terms(), Guards()
    atoms = [terms.atom("x", index) for index in range(3)]
    a, b = (random_term(random, terms, op, atoms) for _ in range(2))
    item = atoms[0]
    tallies = tallies_of(op, item)
    for tally in tallies:
        joined = tally.joined(guards, tally.of(terms, a), tally.of(terms, b))
        assert holds(joined) == holds(tally.of(terms, terms.apply(op, (a, b)))), tally
    for number in (-1, 0, 3) if op == "+" else ():
        for tally in (*tallies, Others(op, frozenset((item,)))):
            scaled = tally.scaled(tally.of(terms, a), number)
            assert holds(scaled) == holds(tally.of(terms, terms.times(number, a))), (tally, number)


@pytest.mark.parametrize("op", ["+", "max", "*", "^"])
@pytest.mark.parametrize("seed", range(20))
def test_of_values_that_are_chosen_it_is_known_when_they_hold_what(op: str, seed: int) -> None:
    """Of two choices between two terms, `says` holds in just those cases in which the whole term has the amount."""
    random, terms, guards = Random(f"chosen {op} {seed}"), Terms(), Guards()
    atoms = [terms.atom("x", index) for index in range(3)]
    sides = [[random_term(random, terms, op, atoms) for _ in range(2)] for _ in range(2)]
    for tally in tallies_of(op, atoms[0]):
        for first, one in enumerate(sides[0]):
            for second, other in enumerate(sides[1]):
                when = [[TRUE if n == chosen else FALSE for n in range(2)] for chosen in (first, second)]
                held = [
                    tally.chosen(guards, [(g, tally.of(terms, v)) for g, v in zip(when[n], sides[n], strict=True)])
                    for n in range(2)
                ]
                found, whole = tally.joined(guards, *held), tally.of(terms, terms.apply(op, (one, other)))
                usual = law_of(op).identity if isinstance(tally, Constant) else 0
                right = max(whole) if isinstance(tally, Times) and whole else next(iter(whole), usual)
                most = tally.most if isinstance(tally, Times) else None
                for asked in {right, usual, 1} if most is None else range(most + 1):
                    assert tally.says(guards, found, asked) == (TRUE if asked == right else FALSE), (tally, asked)


def test_a_whole_number_of_times_a_value() -> None:
    """Of a natural multiple of a value, the item is there as many times as often."""
    terms = Terms()
    x, y = terms.atom("x", 0), terms.atom("x", 1)
    for number, times, most in itertools.product(range(4), range(4), range(1, 6)):
        tally, value = Times("+", x, most), terms.apply("+", (terms.times(times, x), y))
        assert tally.scaled(tally.of(terms, value), number) == tally.of(terms, terms.times(number, value))
    guards = Guards()
    once, twice = guards.fresh(), guards.fresh()
    assert Times("+", x, 4).scaled({1: once, 2: twice}, 2) == {1: once, 2: once, 3: twice, 4: twice}


def test_a_value_that_is_one_item() -> None:
    """Of a value known to be one item, a tally holds what it holds of that item, whichever it is."""
    terms = Terms()
    x, y, z = (terms.atom("x", index) for index in range(3))
    for op in ("+", "max", "*", "^"):
        for value in (x, y):
            for tally in (*tallies_of(op, x), Others(op, frozenset((x,))), Others(op, frozenset((y, z)))):
                assert holds(tally.whole(Guards(), partial(same, value))) == holds(tally.of(terms, value)), tally
    then = Law("then", lambda a, b: a, "sequence", own=True).name
    for value in (x, y):
        for tally in (Pair(then, x, y), Pair(then, y, x), Projection(then, (x, y), frozenset(((x, y, x),)))):
            assert holds(tally.whole(Guards(), partial(same, value))) == holds(tally.of(terms, value)), tally


def same(value: Term, term: Term, number: int = 1) -> int:
    return TRUE if value == term and number == 1 else FALSE


def test_what_was_never_written_spoils_all() -> None:
    """It is found where it is, and in what is made of it, whatever the operator."""
    terms, guards = Terms(), Guards()
    tally, x = Unwritten(), terms.atom("x", 0)
    assert holds(tally.of(terms, UNWRITTEN)) == {1: True} and tally.of(terms, x) == {}
    for one, other in itertools.product((x, UNWRITTEN), repeat=2):
        joined = tally.joined(guards, tally.of(terms, one), tally.of(terms, other))
        assert tally.says(guards, joined, 0) == (FALSE if UNWRITTEN in (one, other) else TRUE)


def test_numbers_fold_and_none_is_none() -> None:
    """Of an operator without an identity, no number beside a number is that number."""
    tally, guards = Constant("max"), Guards()
    assert tally.usual is None
    assert holds(tally.joined(guards, {2: TRUE}, {5: TRUE})) == {5: True}
    chance = guards.fresh()
    assert tally.joined(guards, {2: chance}, {5: TRUE}) == {5: TRUE}
    assert tally.joined(guards, {7: chance}, {5: TRUE}) == {7: chance, 5: -chance}
    assert tally.fold(None, 3) == tally.fold(3, None) == 3 and tally.fold(None, None) is None


def test_several_contributions_are_none_of_the_single_ones() -> None:
    """Two that cancel are still two; a multiple of several is several, but for nothing of them."""
    terms, guards = Terms(), Guards()
    item, other = terms.atom("x", 0), terms.atom("x", 1)
    tally = Single(item)
    twice = tally.joined(guards, {1: TRUE}, {-1: TRUE})
    assert holds(twice) == {None: True}
    assert holds(tally.scaled(twice, 3)) == {None: True} and tally.scaled(twice, 0) == {}
    assert holds(tally.scaled({1: TRUE}, 3)) == {3: True}
    assert tally.says(guards, twice, 0) == tally.says(guards, twice, 2) == FALSE
    assert holds(tally.joined(guards, tally.of(terms, other), tally.of(terms, item))) == {1: True}


def test_sizes_count_items_and_no_numbers() -> None:
    """By coefficients or once each; what was never written has none."""
    terms = Terms()
    x, y = terms.atom("x", 0), terms.atom("x", 1)
    term = terms.apply("+", (terms.times(2, x), y, terms.const(5)))
    each, by_coefficients = Size("+", 2, True, False), Size("+", 3, False, True)
    assert (each.of(terms, term), by_coefficients.of(terms, term)) == (2, 3)
    assert each.of(terms, UNWRITTEN) == 0 and each.less(1) == Size("+", 1, True, False)
    assert [each.fits(n) for n in (1, 2, 3)] == [False, True, True]
    assert [by_coefficients.fits(n) for n in (2, 3, 4)] == [True, True, False]


def test_others_are_neither_the_items_nor_numbers() -> None:
    """A number beside the items is nothing else."""
    terms = Terms()
    x, y = terms.atom("x", 0), terms.atom("x", 1)
    tally = Others("+", frozenset((x,)))
    assert tally.of(terms, terms.apply("+", (x, terms.const(5)))) == {}
    assert holds(tally.of(terms, terms.apply("+", (x, y)))) == {1: True}


def test_a_sum_may_be_a_multiple_of_another_one() -> None:
    """Twice a sum is that sum as a factor, once."""
    terms = Terms()
    x, y = terms.atom("x", 0), terms.atom("x", 1)
    whole = terms.apply("+", (x, y))
    assert amount(terms, "*", terms.times(2, whole), whole) == amount(terms, "*", whole, whole) == 1
    assert amount(terms, "*", terms.times(2, whole), x) == 0
    assert amount(terms, "*", terms.apply("*", (whole, x, x)), x) == 2


def test_only_whole_numbers_of_times_are_counted() -> None:
    """How often an item is there is counted where nothing else is asked; half of an item is a coefficient."""
    terms = Terms()
    x, order = terms.atom("x", 0), accumulation(terms, "+")
    assert order.tally(x, {1, 2}, True) == Times("+", x, 2)
    for answers, natural in (({1, Fraction(1, 2)}, True), ({-1, 1}, True), ({1, 2}, False)):
        assert order.tally(x, answers, natural) == Coefficient(x)
