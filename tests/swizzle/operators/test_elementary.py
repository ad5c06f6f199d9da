"""The table of elementary operators: what is found in it."""

from __future__ import annotations

import itertools
import random
from math import inf

import numpy as np
import pytest

from bench.divide_and_conquer import times_of_the_greatest
from bench.rfactor import complex_product
from swizzle import f32, i32, serial, u32
from swizzle.operators import operator_of
from swizzle.operators.decomposition import subgraphs
from swizzle.operators.elementary import Together, matched, table
from swizzle.operators.proof import Prover
from swizzle.operators.serial import Serial
from symbolic.expressions.columns import FLOATS, on_columns
from symbolic.expressions.expression import subexpressions
from symbolic.expressions.text import text_of


def test_entries_together_are_entries_one_by_one() -> None:
    """What is computed for all of them at once is what each of them is."""
    rng = np.random.default_rng(2)
    for words in (1, 2):
        names = [f"{side}{place}" for side in "xy" for place in range(words)] + ["k"]
        columns = {name: rng.integers(-5, 6, 8).astype(float) for name in names}
        entries = table(words)[::7]
        values = Together([each.lists for each in entries]).values(columns)
        for entry, row in zip(entries, values, strict=True):
            for node, own in zip(entry.combine, row, strict=True):
                assert (own == on_columns(node, columns, FLOATS)).all(), entry


# ---- updates -----------------------------------------------------------------------------------------------------


@serial
def band(x: i32):
    s = 100
    for v in x:
        s = max(min(s, 1000), v * v)
    return s


@serial
def either_way(x: f32):
    s = 0
    for v in x:
        s = s * (1 - v) + v  # s + v - s * v, written in another way
    return s


@serial
def velocity(x: f32):
    s = 0
    for v in x:
        s = (s + v) / (1 + s * v)  # of -1 and 1 it divides by zero
    return s


@serial
def with_a_carry(low: u32, high: u32):
    a, b = 0, 0
    for v, w in zip(low, high, strict=True):
        s = a + v
        b = b + w + (1 if s < v else 0)
        a = s
    return a, b


@serial
def eight(x: f32, i: i32, n: i32):
    total, squares, most, at_most, least, at_least, product, count = 0, 0, -inf, 0, inf, 0, 1, 0
    for v, p, c in zip(x, i, n, strict=True):
        total, squares, product, count = total + v, squares + v * v, product * c, count + c
        if v > most:
            most, at_most = v, p
        if v < least:
            least, at_least = v, p
    return total, squares, most, at_most, least, at_least, product, count


@pytest.mark.parametrize(
    ("loop", "words", "how"),
    [(either_way, 1, ""), (velocity, 1, "the step itself"), (complex_product, 2, "the step itself"),
     (times_of_the_greatest, 2, "the step itself"),
     (with_a_carry, 2, "the step itself"), (eight, 8, "in parts")],
    ids=lambda each: getattr(each, "name", ""),
)  # fmt: skip
def test_updates_are_matched_and_taken_apart(loop: Serial, words: int, how: str) -> None:
    """As many words as the loop has; and random groupings give what the loop gives."""
    found = operator_of(loop.loop)
    assert found.status == "proved" and found.carrier is not None, found
    assert len(found.carrier.words) == words and found.carrier.how.startswith(how)
    rng = random.Random(3)
    for _ in range(30):
        rows = [tuple(rng.randrange(0, 9) for _ in loop.loop.elements) for _ in range(rng.randrange(2, 8))]
        words_of = [found.carrier.lifted(row) for row in rows]
        while len(words_of) > 1:
            at = rng.randrange(len(words_of) - 1)
            words_of[at : at + 2] = [found.carrier.joined(words_of[at], words_of[at + 1])]
        assert found.carrier.finished(words_of[0]) == pytest.approx(
            loop.loop.finished(loop.loop.after(rows)), rel=1e-12
        )


def test_the_table_knows_functions_not_spellings() -> None:
    """The same operator, whichever way it is written; none where there is none."""
    (found,) = list(matched(either_way.loop))[:1]
    assert text_of(found.combine["s"], lambda name: name.replace(".", "_")) == "a_s + b_s - a_s * b_s"
    found = next(matched(band.loop))  # a start of 100 comes before all parts
    assert text_of(found.state["s"]) == "max(s, 100)" and text_of(found.lift["s"]) == "v * v"
    assert Prover(found, "words").step().verdict == "proved"
    assert not list(matched(subtracted_from.loop))


@serial
def subtracted_from(x: i32):
    s = 0
    for v in x:
        s = v - s
    return s


@serial(length=20, where=lambda v: 0 <= v <= 2)
def greatest_product(x: i32):
    m, s = 0, 1
    for v in x:
        s = s * v
        m = max(m, s)
    return m


def test_an_operator_of_the_table_fits_the_first_element() -> None:
    """m_a + s_a * m_b - s_a is right of all states but the first one, of m = 0 and s = 1."""
    assert not list(matched(greatest_product.loop))


@serial
def least_of_some(x: i32):
    s = 10
    for v in x:
        if s > v and v > 2:
            s = v
    return s


@serial
def second_least(x: i32):
    m, t = 1000, 1000
    for v in x:
        t = min(t, max(m, v))
        m = min(m, v)
    return t


@pytest.mark.parametrize("loop", [least_of_some, second_least], ids=lambda each: each.name)
def test_words_that_wrap_have_limits_instead_of_infinities(loop: Serial) -> None:
    """Laws of such words are asked of words, and their identity is one of them."""
    found = operator_of(loop.loop)
    assert found.status == "proved" and found.carrier is not None and found.proofs is not None
    assert not any(node.infinite for each in found.carrier.lift.values() for node in subexpressions(each))
    assert {each.value for each in (found.proofs.identity or {}).values()} == {2**31 - 1}
    words = found.carrier
    for rows in itertools.product([-(2**31), 2, 3, 9, 10, 2**31 - 1], repeat=3):
        last = words.joined(words.lifted(rows[1:2]), words.lifted(rows[2:]))
        whole = words.finished(words.joined(words.lifted(rows[:1]), last))
        assert whole == loop.loop.finished(loop.loop.after([(v,) for v in rows])), rows


def test_subgraphs() -> None:
    """Of what needs what: an arg-maximum and an arg-minimum have two words each, and sums stand alone."""
    assert subgraphs(eight.loop) == [
        ("total",), ("squares",), ("most", "at_most"), ("least", "at_least"), ("product",), ("count",)
    ]  # fmt: skip
