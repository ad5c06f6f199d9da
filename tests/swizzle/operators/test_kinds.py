"""Operators of the loops of `kinds.py`, found and proved, and compared with plain Python in random bracketings."""

from __future__ import annotations

import random

import pytest

from swizzle import i32
from swizzle.operators import operator_of
from swizzle.operators.equations import prove, same_by_signs
from swizzle.operators.residues import same_residue
from swizzle.operators.samples import random_rows
from swizzle.operators.serial import Serial, serial
from symbolic.expressions.expression import (
    Expression,
    add,
    constant,
    divide,
    less_equal,
    maximum,
    minimum,
    modulo,
    multiply,
    number_name,
    power,
    subtract,
)
from symbolic.expressions.formulas import INTEGER, MORE, REALS, Sort, decide
from symbolic.expressions.quotients import TooManyTerms, expanded, same_ratio
from tests.slow_cases import slow_unless
from tests.swizzle.operators import kinds
from tests.swizzle.operators.test_operators import in_parts

LOOPS = {name: each for name, each in vars(kinds).items() if isinstance(each, Serial)}
LONG = ("least_product_of_a_run", "least_product_of_a_prefix", "longest_ones_of_even_length", "debounced")
U32 = Sort("word", 32, signed=False)
A, B, C, X, Y = (number_name(name) for name in "abcxy")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", slow_unless(LOOPS, lambda name: name not in LONG))
def test_an_operator_of_each_kind_is_proved(name: str) -> None:
    """Step and associativity are proved; in 150 random bracketings the words give what Python's loop gives."""
    loop, rng = LOOPS[name], random.Random(name)
    found = operator_of(loop.loop)
    assert found.status == "proved" and found.carrier is not None, found
    compared = 0
    for count in range(150):
        rows = random_rows(loop.loop, rng, 1 + count % 9)
        try:
            wanted = loop(*(list(column) for column in zip(*rows, strict=True)))
            result = found.carrier.finished(in_parts(found.carrier, rows, rng))
        except ZeroDivisionError:
            continue
        assert result == pytest.approx(wanted if isinstance(wanted, tuple) else (wanted,), rel=1e-6, abs=1e-6), rows
        compared += 1
    assert compared > 20


@serial(length=1 << 20)
def odd_of_a_maximum(x: i32):  # type: ignore[no-untyped-def]
    most, here = 0, 0
    for v in x:
        most = max(most, v)
        here = here + most % 3
    return here


@pytest.mark.slow
def test_a_remainder_of_a_maximum_is_no_word() -> None:
    """What a maximum leaves modulo 3 does not follow from what its words leave: nothing is claimed."""
    assert operator_of(odd_of_a_maximum.loop).status == "unknown"


def test_sums_under_a_maximum_are_no_law_of_words_that_wrap() -> None:
    """(max, +) distributes over integers, and not over words."""
    claim = [(add(A, maximum(B, C)), maximum(add(A, B), add(A, C)))]
    assert prove(claim, dict.fromkeys("abc", INTEGER)).verdict == "proved"
    assert prove(claim, dict.fromkeys("abc", Sort("word", 8))).verdict == "refuted"


def _never(claims: object, premises: object) -> bool:
    return False


def _alike(claims: list[tuple[Expression, Expression]], premises: object) -> bool:
    return all(a is b for a, b in claims)


def test_products_under_a_maximum_by_the_signs_of_factors() -> None:
    """A factor of either sign takes the greatest and the least; one alone is not enough."""
    high, low = maximum(B, C), minimum(B, C)
    both = maximum(multiply(A, high), multiply(A, low))
    right, wrong = maximum(multiply(A, B), multiply(A, C)), multiply(A, high)
    given = dict.fromkeys("abc", REALS)
    assert prove([(both, right)], given).verdict == "proved"
    assert not same_by_signs(wrong, right, [], _alike)
    assert same_by_signs(wrong, right, [less_equal(constant(0), A)], _alike)
    assert not same_by_signs(add(A, both), add(B, right), [], _never)
    assert prove([(wrong, right)], given).verdict == "refuted"


def test_remainders_of_words_that_wrap() -> None:
    """256 divides how many words there are, 255 does not: there, sums that wrap have other remainders."""
    for number, sort, same in ((256, U32, True), (255, U32, False), (255, INTEGER, True)):
        m = constant(number)
        one, other = modulo(add(modulo(add(A, B), m), C), m), modulo(add(A, modulo(add(B, C), m)), m)
        assert same_residue(one, other, dict.fromkeys("abc", sort)) is same
    m = constant(97)
    assert not same_residue(modulo(add(A, B), m), modulo(add(A, C), m), dict.fromkeys("abc", INTEGER))


def test_products_of_many_sums_end() -> None:
    """A sum of three to the sixtieth power is not written out; quotients over one divisor keep it once."""
    with pytest.raises(TooManyTerms):
        expanded(power(add(A, B, C, X, Y), 60))
    assert not same_ratio(divide(power(add(A, B, C, X, Y), 60), X), Y)
    assert same_ratio(add(divide(A, X), divide(B, X), divide(C, X)), divide(add(A, B, C), X))
    assert not same_ratio(add(divide(A, X), divide(B, X)), divide(add(A, C), X))


def test_more_work_decides_more() -> None:
    """A question that the solver's steps do not do for is unknown, on any machine; ten thousand times as many do."""
    claim = [(multiply(A, add(B, C)), add(multiply(A, B), multiply(A, C), constant(0)))]
    hard = [(multiply(X, X, A), subtract(multiply(X, X, add(A, B)), multiply(X, X, B)))]
    sorts = dict.fromkeys(("a", "b", "c", "x"), Sort("word", 8))
    assert decide([*claim, *hard], sorts, effort=1e-6).verdict == "unknown"
    token = MORE.set(1e7)
    try:
        assert decide([*claim, *hard], sorts, effort=1e-6).verdict == "proved"
    finally:
        MORE.reset(token)
