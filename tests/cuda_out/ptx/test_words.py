"""Words that are equal although their terms are not: what is proved holds on numbers, what is wrong is not."""

from __future__ import annotations

import random

import pytest

from cuda_out.ptx.normal import Normal
from cuda_out.ptx.words import WordProofs
from symbolic.algebra.terms import Term, Terms


def moved_down(terms: Terms, x: Term, kind: str, factor: int, by: int) -> Term:
    """The upper half of x times a factor, x itself added where that is needed, moved down."""
    n = int(kind[1:])
    low = factor - (1 << n) if factor >> (n - 1) else factor
    high = terms.apply(f"mul.hi.{kind}:{kind}", (x, terms.const(low)))
    whole = terms.apply("+", (x, high)) if kind[0] == "s" and factor >> (n - 1) else high
    return terms.apply(f"shr.{kind}", (whole, terms.const(by))) if by else whole


@pytest.mark.parametrize("seed", range(3))
def test_a_product_that_is_moved_down_is_the_quotient_only_where_it_is(seed: int) -> None:
    """Factors near the right one, some of which are right: what is proved holds at the ends of a quotient's runs."""
    rng, proved, refuted = random.Random(seed), 0, 0
    for _ in range(12):
        kind, d = rng.choice(("u32", "s32")), rng.choice((3, 5, 7, 10, 11, 641, rng.randrange(3, 5000)))
        by = rng.randrange(0, d.bit_length() + 1)
        factor = (1 << 32 + by) // d + rng.randrange(0, 4)
        if factor >> (32 if kind[0] == "s" else 31) or not factor:
            continue
        terms = Terms()
        normal = Normal(terms, {"x": kind})
        x, divisor = terms.atom("x", 0), terms.const(d)
        quotient = normal.floor_divide(kind, x, divisor)
        wanted = quotient
        if kind[0] == "s":  # floor((x - 1) / d) + 1 of a negative x is what C calls the quotient
            less = normal.select(kind, normal.less(kind, x, terms.const(0)), terms.const(-1), terms.const(0))
            zero = normal.equal(kind, normal.modulo(kind, x, divisor), terms.const(0))
            wanted = normal.add(kind, quotient, normal.select(kind, zero, less, terms.const(0)))
        same = WordProofs(normal).same(kind, moved_down(terms, x, kind, factor, by), wanted)
        least, most = (-(1 << 31), (1 << 31) - 1) if kind[0] == "s" else (0, (1 << 32) - 1)
        ends = [least, least + 1, -1, 0, 1, most - 1, most, most // d * d, most // d * d - 1, -(-least // d) * d]
        ends += [rng.randrange(least, most) // d * d + off for _ in range(200) for off in (0, d - 1)]
        right = all(
            factor * n >> 32 + by == n // d - (n < 0 and n % d == 0) for n in ends if least <= n <= most
        )  # fmt: skip
        proved, refuted = proved + same, refuted + (not right)
        assert right or not same, (kind, d, factor, by)
    assert proved + refuted


def test_what_is_wrong_is_not_proved() -> None:
    """A remainder for a quotient, the quotient that C has, another divisor, bits of another word."""
    terms = Terms()
    normal = Normal(terms, {"x": "s32", "z": "s32", "b": "u8"})
    words, x, z = WordProofs(normal), terms.atom("x", 0), terms.atom("z", 0)
    seven, eight = terms.const(7), terms.const(8)
    assert not words.same("s32", normal.floor_divide("s32", x, seven), normal.modulo("s32", x, seven))
    assert not words.same("s32", normal.floor_divide("s32", x, seven), normal.floor_divide("s32", z, seven))
    assert not words.same("s32", normal.floor_divide("s32", x, seven), normal.floor_divide("s32", x, terms.const(9)))
    down, up = normal.shifted_right("s32", x, 3), normal.shifted_right("u32", x, 3)
    assert words.same("s32", down, normal.floor_divide("s32", x, eight)) and not words.same("s32", down, up)
    truncated = terms.apply("div.s32:s32", (x, z))
    assert not words.same("s32", truncated, normal.floor_divide("s32", x, z))
    b = terms.atom("b", 0)
    signed, unsigned = normal.real_of("s32", normal.add("s32", b, b)), normal.real_of("u32", normal.add("u32", b, b))
    assert words.same("f32", signed, unsigned)
    signed, unsigned = normal.real_of("s32", normal.add("s32", b, x)), normal.real_of("u32", normal.add("u32", b, x))
    assert not words.same("f32", signed, unsigned)


def test_an_absolute_value_is_no_maximum() -> None:
    """Of a negative number it is the number with the other sign, and its own least one of all."""
    terms = Terms()
    normal = Normal(terms, {"x": "s32", "z": "s32"})
    words, x, zero = WordProofs(normal), terms.atom("x", 0), terms.const(0)
    size, positive = normal.absolute("s32", x), normal.extreme("max", "s32", x, zero)
    assert not words.same("s32", size, positive)
    assert not words.same("s32", size, normal.extreme("min", "s32", x, zero)) and not words.same("s32", size, x)
    minus = normal.scaled("s32", -1, x)
    as_sum = normal.add("s32", positive, normal.extreme("max", "s32", minus, zero))
    assert not words.same("s32", size, as_sum)  # of the least number of all, which has no other sign
    assert words.same("s32", size, normal.extreme("max", "s32", x, minus))
