"""Words that are equal although their terms are not: what is proved holds on numbers, what is wrong is not."""

from __future__ import annotations

import itertools
import random
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.words import WordProofs
from symbolic.algebra.terms import Term, Terms

Values: TypeAlias = npt.NDArray[np.int64]


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


OPERATORS = ("+", "-", "&", "^", "|", "~", "min", "max", "abs", "select", "less", "equal", ">>", "<<", "//", "%")


class Grown:
    """A random expression over two words of 8 bits: its term, and its values for all words."""

    X, Z = (np.ravel(each) for each in np.meshgrid(*[np.arange(256, dtype=np.int64)] * 2))

    def __init__(self, normal: Normal, kind: str, rng: random.Random) -> None:
        self.normal, self.kind, self.rng = normal, kind, rng

    def read(self, values: Values, kind: str = "") -> Values:
        low = values & 255
        return low - 256 * (low >> 7) if (kind or self.kind)[0] == "s" else low

    def leaf(self) -> tuple[Term, Values]:
        terms = self.normal.terms
        number = self.rng.choice((0, 1, -1, 2, 7, -128, 127))
        constant = (self.normal.lifted(self.kind, number & 255), np.full_like(self.X, number))
        return self.rng.choice([(terms.atom("x", 0), self.X), (terms.atom("z", 0), self.Z)] * 2 + [constant])

    def grown(self, depth: int) -> tuple[Term, Values]:
        if depth == 0 or self.rng.random() < 0.1:
            return self.leaf()
        n, kind, rng = self.normal, self.kind, self.rng
        (a, x), (b, z) = self.grown(depth - 1), self.grown(depth - 1)
        left, right = self.read(x), self.read(z)
        match rng.choice(OPERATORS):
            case "+":
                return n.add(kind, a, b), x + z
            case "-":
                return n.add(kind, a, n.scaled(kind, -1, b)), x - z
            case "&":
                return n.conjunction(kind, a, b), x & z
            case "^":
                return n.exclusive_or(kind, a, b), x ^ z
            case "|":
                return n.disjunction(kind, a, b), x | z
            case "~":
                return n.inverted(kind, a), ~x
            case "min":
                return n.extreme("min", kind, a, b), np.minimum(left, right)
            case "max":
                return n.extreme("max", kind, a, b), np.maximum(left, right)
            case "abs" if kind[0] == "s":
                return n.absolute(kind, a), abs(left)
            case "select" | "abs":
                return n.select(kind, n.less(kind, a, b), b, a), np.where(left < right, z, x)
            case "less":
                c, other = self.leaf()
                return n.select(kind, n.less(kind, a, c), a, b), np.where(left < self.read(other), x, z)
            case "equal":
                c, other = self.leaf()
                return n.select(kind, n.equal(kind, a, c), b, a), np.where((x - other) & 255 == 0, z, x)
            case ">>":
                by, of = rng.randrange(8), rng.choice((kind, f"u{kind[1:]}"))
                return n.shifted_right(of, a, by), self.read(x, of) >> by
            case "<<":
                by = rng.randrange(8)
                return n.shifted_left(kind, a, by), x << by
            case "//":
                d = rng.choice((1, 2, 3, 5, 7, 8, 100))
                return n.floor_divide(kind, a, n.terms.const(d)), left // d
            case _:
                d = rng.choice((2, 3, 4, 7, 16))
                return n.modulo(kind, a, n.terms.const(d)), left % d

    def pool(self, first: tuple[Term, Values], second: tuple[Term, Values]) -> list[tuple[Term, Values]]:
        """Return ways to compute a few functions of two words, several of each, and nearly so."""
        n, kind = self.normal, self.kind
        (a, x), (b, z) = first, second
        left, right = self.read(x), self.read(z)
        low, high = n.extreme("min", kind, a, b), n.extreme("max", kind, a, b)
        least, most = np.minimum(left, right), np.maximum(left, right)
        apart = n.add(kind, high, n.scaled(kind, -1, low))
        other = self.rng.choice((low, high, a, b))
        less, known = n.less(kind, a, b), {low: least, high: most, a: x, b: z}
        pool = [
            (n.select(kind, less, n.add(kind, b, n.scaled(kind, -1, a)), n.add(kind, a, n.scaled(kind, -1, b))),
             np.where(left < right, z - x, x - z)),
            (apart, most - least),
            (n.add(kind, low, high), x + z),
            (n.add(kind, a, b), x + z),
            (n.exclusive_or(kind, a, b, n.scaled(kind, 2, n.conjunction(kind, a, b))), x + z),
            (n.add(kind, n.disjunction(kind, a, b), n.conjunction(kind, a, b)), x + z),
            (n.extreme("max", kind, low, high), most),
            (n.select(kind, n.equal(kind, low, a), high, a), np.where(least == left, most, x)),
            (n.select(kind, n.equal(kind, other, a), a, other), known[other]),
            (other, known[other]),
            (n.select(kind, n.equal(kind, a, b), a, high), np.where((x - z) & 255 == 0, x, most)),
            (n.select(kind, n.equal(kind, a, b), high, low), np.where((x - z) & 255 == 0, most, least)),
        ]  # fmt: skip
        if kind[0] == "s":
            minus, size = n.scaled(kind, -1, a), n.absolute(kind, a)
            sign = n.shifted_right(kind, a, 7)
            pool += [
                (size, abs(left)),
                (n.extreme("max", kind, a, minus), np.maximum(left, self.read(-x))),
                (n.add(kind, n.exclusive_or(kind, a, sign), n.scaled(kind, -1, sign)), abs(left)),
                (n.extreme("max", kind, a, n.terms.const(0)), np.maximum(left, 0)),
                (n.select(kind, n.less(kind, a, n.terms.const(0)), minus, a), abs(left)),
                (
                    n.select(kind, n.less(kind, a, n.terms.const(0)), n.terms.const(-1), n.terms.const(0)),
                    -1 * (left < 0),
                ),
                (
                    n.select(kind, n.less(kind, a, n.terms.const(0)), n.terms.const(0), n.terms.const(-1)),
                    -1 * (left >= 0),
                ),
                (sign, left >> 7),
            ]
        return pool


@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_what_is_proved_holds_for_all_words(kind: str) -> None:
    """Pairs of expressions over two words of 8 bits: of the proved ones, no word tells them apart."""
    rng, proved, differ = random.Random(7), 0, 0
    normal = Normal(Terms(), {"x": kind, "z": kind})
    words, grown = WordProofs(normal), Grown(normal, kind, rng)
    elements = [(normal.terms.atom(name, 0), values) for name, values in (("x", grown.X), ("z", grown.Z))]
    pairs = [*itertools.combinations(grown.pool(*elements), 2)]
    for _ in range(30):
        one, two = grown.grown(1), grown.grown(1)
        pairs += [tuple(rng.sample(grown.pool(one, two), 2)), (grown.grown(2), grown.grown(2))]
    for (a, x), (b, z) in pairs:
        alike, same = bool(((x - z) & 255 == 0).all()), words.same(kind, a, b)
        assert alike or not same, (normal.terms.show(a), normal.terms.show(b))
        proved, differ = proved + (same and a != b), differ + (not alike)
    assert proved > 8 and differ > 50


def test_each_part_of_a_sum_has_a_part_of_its_own() -> None:
    """Two words that are one, and a third one: what is left over is no partner of two."""
    terms = Terms()
    normal = Normal(terms, {"x": "s32", "z": "s32"})
    words, x, z = WordProofs(normal), terms.atom("x", 0), terms.atom("z", 0)
    size, largest = normal.absolute("s32", x), normal.extreme("max", "s32", x, normal.scaled("s32", -1, x))
    one, two, three = (normal.real_of("s32", each) for each in (size, largest, z))
    assert words.same("f32", one, two) and one != two
    assert not words.same("f32", normal.add("f32", one, two), normal.add("f32", one, three))
    assert words.same("f32", normal.add("f32", one, three), normal.add("f32", two, three))


def test_products_of_8_bits_that_are_moved_down_are_quotients_where_they_are() -> None:
    """Every factor of a number with a sign that is near a quotient: what is proved holds for all 256 numbers."""
    values, proved, refuted = np.arange(-128, 128, dtype=np.int64), 0, 0
    for factor in [f for f in range(-128, 128, 2) if f]:
        for by in (0, 1):
            terms = Terms()
            normal = Normal(terms, {"x": "s8"})
            x = terms.atom("x", 0)
            high = terms.apply("mul.hi.s8:s8", (x, terms.const(factor)))
            term = terms.apply("shr.s8", (high, terms.const(by))) if by else high
            d, zero = -(-(1 << 8 + by) // abs(factor)), terms.const(0)
            if abs(factor) * d - (1 << 8 + by) > 1 << by + 2:
                continue
            quotient = normal.floor_divide("s8", x, terms.const(d))
            rest = normal.equal("s8", normal.modulo("s8", x, terms.const(d)), zero)
            if factor > 0:
                below = normal.select("s8", normal.less("s8", x, zero), terms.const(-1), zero)
                said = normal.add("s8", quotient, normal.select("s8", rest, below, zero))
                right = values // d - ((values < 0) & (values % d == 0))
            else:
                exact = normal.select("s8", normal.less("s8", zero, x), terms.const(-1), zero)
                said = normal.add(
                    "s8", normal.scaled("s8", -1, quotient), normal.select("s8", rest, exact, terms.const(-1))
                )
                right = -(values // d) - np.where(values % d == 0, values > 0, 1)
            alike = bool((values * factor >> 8 + by == right).all())
            same = WordProofs(normal).same("s8", term, said)
            assert alike or not same, (factor, by, d)
            proved, refuted = proved + same, refuted + (not alike)
    assert proved >= 5 and refuted > 5, (proved, refuted)
