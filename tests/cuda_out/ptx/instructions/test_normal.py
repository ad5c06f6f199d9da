"""Written-out terms: the laws that hold, those that do not, and their values against plain arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cuda_out.ptx.instructions import symbolic
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.polynomials import signed
from cuda_out.ptx.instructions.symbolic import evaluate
from cuda_out.ptx.instructions.table import decode
from cuda_out.ptx.kinds import typed, untyped
from symbolic.algebra.terms import Term, Terms
from tests.cuda_out.ptx.instructions.evaluate import Evaluated

KINDS = {"a": "s32", "u": "u32", "b": "u8", "c": "s8", "n": "u32", "d": "u64", "x": "f32"}
OWN: dict[str, Callable[[int], int]] = {
    "a": int, "u": int, "b": lambda v: v & 255, "c": lambda v: signed(v, 8), "n": lambda v: v % 13,
}  # fmt: skip
"""What an element of an array is, of a number of 32 bits; those of n are declared to be below 13."""
SELECTORS = (0x3210, 0x6420, 0x7162, 0x9991, 0xDDDD, 0xA921 ^ 0x8888, 0xBBB3, 0xAA21, 0x9921, 0x0123)


def fresh() -> tuple[Normal, Terms]:
    terms = Terms()
    return Normal(terms, KINDS, {"n": 13}), terms


def test_a_zero_that_was_a_float_is_packed_as_bits() -> None:
    """Equal constants are one term, whichever came first: the filler of an array of halves, say."""
    terms = Terms()
    zero, x = terms.const(0.0), terms.atom("b", 3)
    normal = Normal(terms, KINDS)
    assert terms.const(0) == zero
    assert symbolic.pack(normal, ((0, x), (0, 0)), 16) == (0, normal.extended("u8", x))


def instruction(normal: Normal, name: str, *operands: int) -> Term:
    """Return an instruction of terms; a number behind two of them for `prmt` is one."""
    row = [(0, operand) for operand in operands]
    if name == "prmt.b32":
        row[2] = (operands[2], 0)
    row = [
        (int(normal.terms.nodes[t][1][0]) & 0xFFFFFFFF, 0) if t and normal.terms.is_const(t) else (v, t) for v, t in row
    ]
    bits, term = evaluate(normal, decode(tuple(name.split("."))), tuple(row))
    return term or normal.lifted("s32", bits)


def computing(name: str, *functions: Any) -> Any:
    """Return what the instruction gives of functions of the input, on numbers."""
    operation = decode(tuple(name.split(".")))

    def function(data: Any) -> int:
        values = [
            typed(np.array([f(data) & 0xFFFFFFFF], np.uint64), k)
            for f, k in zip(functions, operation.sources, strict=True)
        ]
        return int(untyped(operation.compute(*values), operation.result)[0])

    return function


def random_term(choose: random.Random, normal: Normal, depth: int) -> tuple[Term, Any]:
    """Return a term of 32-bit integers and the function of the input that it is."""
    terms = normal.terms
    if depth == 0:
        if choose.random() < 0.3:
            value = choose.choice([0, 1, -1, 2, 7, -5, 2**31, 255])
            return normal.lifted("s32", value & 0xFFFFFFFF), lambda data: value
        at, name = choose.randrange(4), choose.choice("aubcn")
        return terms.atom(name, at), lambda data: OWN[name](int(data[at]))
    (a, f), (b, g) = (random_term(choose, normal, depth - 1) for _ in range(2))
    by = choose.choice([1, 7, 16, 31])
    match choose.choice(
        ["+", "*", "-", "^", "&", "|", "~", "<<", ">>", "s>>", "rotate", "halves", "low", "prmt", "dp4a"]
    ):
        case "+":
            return normal.add("s32", a, b), lambda data: f(data) + g(data)
        case "*":
            return normal.multiply("s32", a, b), lambda data: f(data) * g(data)
        case "-":
            return normal.add("s32", a, normal.scaled("s32", -1, b)), lambda data: f(data) - g(data)
        case "^":
            return normal.exclusive_or("b32", a, b), lambda data: f(data) ^ g(data)
        case "&":
            return normal.conjunction("b32", a, b), lambda data: f(data) & g(data)
        case "|":
            return normal.disjunction("b32", a, b), lambda data: f(data) | g(data)
        case "~":
            return normal.inverted("b32", a), lambda data: ~f(data)
        case "<<":
            return normal.shifted_left("b32", a, by), lambda data: f(data) << by
        case ">>":
            return normal.shifted_right("u32", a, by), lambda data: (f(data) & 0xFFFFFFFF) >> by
        case "s>>":
            return normal.shifted_right("s32", a, by), lambda data: signed(f(data), 32) >> by
        case "rotate":
            left, right = normal.shifted_left("b32", a, by), normal.shifted_right("u32", a, 32 - by)
            both = normal.exclusive_or("b32", left, right)
            return both, lambda data: f(data) << by | (f(data) & 0xFFFFFFFF) >> 32 - by
        case "prmt":
            chosen = choose.choice(SELECTORS)
            return instruction(normal, "prmt.b32", a, b, chosen), computing("prmt.b32", f, g, lambda data: chosen)
        case "dp4a":
            name = choose.choice(["dp4a.s32.s32", "dp4a.u32.s32", "dp4a.u32.u32", "dp2a.lo.s32.u32", "dp2a.hi.s32.s32"])
            return instruction(normal, name, a, b, a), computing(name, f, g, f)
        case "halves":
            low, high = normal.split(16, 2, a)
            swapped = normal.joined(16, [high, low])
            return swapped, lambda data: (f(data) & 0xFFFF) << 16 | (f(data) & 0xFFFFFFFF) >> 16
        case _:
            return normal.conjunction("b32", a, normal.terms.const(6)), lambda data: f(data) & 6


@pytest.mark.parametrize("seed", range(5))
def test_terms_have_the_values_of_what_they_were_made_of(seed: int) -> None:
    """The evaluator of terms shares nothing with the rings."""
    choose = random.Random(seed)
    for _ in range(60):
        normal, terms = fresh()
        term, function = random_term(choose, normal, choose.randint(1, 4))
        for _ in range(3):
            data = np.array([choose.getrandbits(32) for _ in range(4)])
            arrays = {name: np.array([own(int(value)) for value in data]) for name, own in OWN.items()}
            assert Evaluated(terms, arrays).value(term) == function(data) & 0xFFFFFFFF, terms.show(term)


def test_the_laws_of_the_rings() -> None:
    """Products are distributed, sums collected, `x ^ x` cancels, `|` is `^` and `&`."""
    n, t = fresh()
    a, b, c = (t.atom("a", i) for i in range(3))
    assert n.multiply("s32", a, n.add("s32", b, c)) == n.add("s32", n.multiply("s32", a, b), n.multiply("s32", c, a))
    assert n.add("s32", a, a) == n.scaled("s32", 2, a)
    assert n.exclusive_or("b32", a, b, a) == b
    left = n.conjunction("b32", n.disjunction("b32", a, b), c)
    assert left == n.disjunction("b32", n.conjunction("b32", a, c), n.conjunction("b32", b, c))
    assert n.inverted("b32", n.inverted("b32", a)) == a
    assert n.scaled("s32", 1 << 31, n.scaled("s32", 2, a)) == t.const(0)


def test_what_is_not_the_same() -> None:
    """Sums of other widths, signs of comparisons and shifts, floats and their bits."""
    n, t = fresh()
    a, u, x = t.atom("a", 0), t.atom("u", 0), t.atom("x", 0)
    assert n.extended("u32", n.add("u32", u, u)) != n.add("u64", n.extended("u32", u), n.extended("u32", u))
    assert n.extended("s32", a) == a and n.extended("u32", a) != a and n.extended("u32", u) == u
    assert n.less("s32", a, u) != n.less("u32", a, u)
    assert n.extreme("min", "s32", a, u) != n.extreme("min", "u32", a, u)
    assert n.of_kind("s32", x) != x and n.of_kind("f32", n.of_kind("s32", x)) == x
    assert n.of_kind("f32", a) not in (a, t.apply("real.s32", (a,)))


def test_bits_that_are_moved_and_put_back() -> None:
    """The halves of a word side by side are the word; a rotation is `|` and `^`; what was cut off is gone."""
    n, t = fresh()
    u, d, x = t.atom("u", 0), t.atom("d", 0), t.atom("x", 0)
    for whole in (d, n.add("u64", d, u), n.exclusive_or("u64", d, u)):
        assert n.joined(32, n.split(32, 2, whole)) == whole
    assert n.of_kind("f32", n.joined(16, n.split(16, 2, x))) == x
    left, right = n.shifted_left("b32", u, 7), n.shifted_right("u32", u, 25)
    assert n.disjunction("b32", left, right) == n.exclusive_or("b32", left, right)
    assert n.shifted_left("b32", n.shifted_right("u32", u, 7), 7) == n.conjunction("b32", u, t.const(-128))
    assert n.shifted_right("u32", n.shifted_left("b32", u, 7), 7) != u
    assert n.shifted_right("u32", n.shifted_right("u32", u, 20), 20) == t.const(0)


@pytest.mark.parametrize("size", [8, 16])
def test_permuted_bytes(size: int) -> None:
    """Elements that are packed, permuted and taken out again are the elements; of other terms the values are right."""
    choose, operation = random.Random(size), decode(("prmt", "b32"))
    per, width = 32 // size, size // 8
    for _ in range(40):
        terms = Terms()
        normal = Normal(terms, {"e": f"u{size}", "a": "u32"})
        atoms = [terms.atom("e", n) for n in range(2 * per)]
        words = [symbolic.pack(normal, tuple((0, atom) for atom in half), size) for half in (atoms[:per], atoms[per:])]
        picks = [choose.randrange(2 * per) for _ in range(per)]
        selector = sum(p * width + b << 4 * (n * width + b) for n, p in enumerate(picks) for b in range(width))
        found = symbolic.evaluate(normal, operation, (*words, (selector, 0)))
        assert symbolic.unpack(normal, found, size, per) == tuple((0, atoms[p]) for p in picks)
        code, data = choose.randrange(0x10000) & 0x7777, np.array([choose.getrandbits(32) for _ in range(2)])
        _, term = symbolic.evaluate(normal, operation, ((0, terms.atom("a", 0)), (0, terms.atom("a", 1)), (code, 0)))
        wanted = operation.compute(*(np.array([n], np.uint32) for n in (*data.tolist(), code)))[0]
        assert Evaluated(terms, {"a": data}).value(term) == int(wanted)


@pytest.mark.parametrize("by", [24, 16, 20])
def test_what_is_moved_up_and_down_again_with_its_sign(by: int) -> None:
    """It is extended from the bits that are left, and has the value that the two shifts give."""
    normal, terms = fresh()
    a, c = terms.atom("a", 0), terms.atom("c", 0)
    for inner, value in (
        (normal.scaled("s32", 3, normal.conjunction("b32", a, terms.const(65535))), lambda a, c: 3 * (a & 65535)),
        (normal.add("s32", a, normal.multiply("s32", c, c)), lambda a, c: a + c * c),
        (c, lambda a, c: c),
    ):
        found = normal.shifted_right("s32", normal.shifted_left("b32", inner, by), by)
        if by != 20:
            kind = f"s{32 - by}"
            assert found == normal.extended(kind, normal.narrowed(kind, inner))
        for x, y in ((-1, -128), (43, 127), (0x12345678, 5), (-(2**31), -1)):
            arrays = {"a": np.array([x]), "c": np.array([y])}
            got = Evaluated(terms, arrays).value(found)
            assert got == signed(value(x, y) << by, 32) >> by & 0xFFFFFFFF, terms.show(found)


def test_conversions_that_round_are_the_functions_of_that_name() -> None:
    """`__float2int_rd(v)` is `int(floorf(v))`; each rounds in its own way."""
    normal, terms = fresh()
    x = terms.atom("x", 0)
    for mode, name in (("rmi", "floor"), ("rpi", "ceil"), ("rni", "rint"), ("rzi", "trunc")):
        whole = terms.apply(f"{name}:f64", (x,))
        assert instruction(normal, f"cvt.{mode}.f32.f32", x) == whole
        wanted = terms.apply("trunc.s32", (x if mode == "rzi" else whole,))
        assert instruction(normal, f"cvt.{mode}.s32.f32", x) == wanted


@pytest.mark.parametrize("name", ["u", "b", "c"])
def test_a_larger_number_less_a_smaller_one_is_a_distance_where_it_does_not_wrap(name: str) -> None:
    normal, terms = fresh()
    x, y = terms.atom(name, 0), terms.atom(name, 1)
    sides = normal.extreme("max", "s16", x, y), normal.scaled("s16", -1, normal.extreme("min", "s16", x, y))
    for source in ("u16", "s16"):
        found = instruction(normal, f"cvt.u32.{source}", normal.add("s16", *sides))
        wanted = normal.absolute("s32", normal.add("s32", x, normal.scaled("s32", -1, y)))
        assert (found == wanted) == (name != "u")
    assert normal.distance("u16", "u32", normal.add("s16", sides[0], sides[0])) is None
    assert normal.distance("u16", "u32", normal.scaled("s16", -1, normal.add("s16", *sides))) is None


def test_bounds_of_what_is_moved_up() -> None:
    """Sixteen bits times 2^16 are 32 bits and no more, so that they come back as they were; seventeen are cut off."""
    terms = Terms()
    normal = Normal(terms, {"h": "u16", "u": "u32"})
    h, u = terms.atom("h", 0), terms.atom("u", 0)
    assert normal.shifted_right("u32", normal.shifted_left("b32", h, 16), 16) == h
    assert normal.shifted_right("u32", normal.shifted_left("b32", h, 17), 17) != h
    both = normal.exclusive_or("b32", terms.atom("h", 1), h)
    up = normal.scaled("b32", 1 << 16, both)
    assert normal.shifted_right("u32", up, 24) == normal.shifted_right("u32", both, 8)
    assert normal.shifted_right("u32", normal.scaled("b32", 1 << 16, u), 24) != normal.shifted_right("u32", u, 8)


def test_truncation_is_a_reading_modulo_less() -> None:
    """The low half of a 64-bit sum is the 32-bit sum; that of an extension is what was extended."""
    n, t = fresh()
    u, d = t.atom("u", 0), t.atom("d", 0)
    total = n.add("u32", u, n.scaled("u32", 3, d))
    assert n.narrowed("u32", n.add("u64", u, n.scaled("u64", 3 + (1 << 32), d))) == total
    assert n.narrowed("u32", n.extended("u32", total)) == total
    assert n.narrowed("u16", n.add("u64", n.extended("u32", total), d)) == n.add("u16", total, d)
    shifted = t.apply("shr.s32", (t.atom("a", 0), t.const(4)))
    logical = t.apply("shr.u32", (t.atom("a", 0), t.const(4)))
    assert n.conjunction("b32", shifted, t.const(255)) == n.conjunction("b32", logical, t.const(255))
    assert n.conjunction("b32", shifted, t.const(1 << 30)) != n.conjunction("b32", logical, t.const(1 << 30))


def test_floats_are_rational() -> None:
    """A division by a constant is a product; constants agree within their rounding, and whole numbers only exactly."""
    n, t = fresh()
    x, y = t.atom("x", 0), t.atom("x", 1)
    ninth = n.inverse("f32", t.const(9))
    assert n.multiply("f32", x, ninth) == n.scaled("f32", Fraction(1, 9), x)
    near = n.scaled("f32", Fraction(float(np.float32(1 / 9))), x)
    assert near != n.multiply("f32", x, ninth) and n.close("f32", near, n.multiply("f32", x, ninth))
    for wrong in (np.nextafter(np.float32(1 / 9), np.float32(0)), np.nextafter(np.float32(1 / 9), np.float32(1))):
        assert not n.close("f32", n.scaled("f32", Fraction(float(wrong)), x), n.multiply("f32", x, ninth))
    assert not n.close("f32", n.scaled("f32", Fraction(1, 8), x), n.multiply("f32", x, ninth))
    assert not n.close("f32", n.add("f32", x, near), n.add("f32", y, near))
    whole = [t.apply("real.s32", (n.add("s32", t.atom("a", 0), t.const(1 << 24 | i)),)) for i in (0, 1)]
    assert not n.close("f32", *whole)
    assert n.bits("f32", n.real(float("inf"))) == 0x7F800000


def test_selects_that_are_extremes() -> None:
    """min, max and abs are recognised by what is compared, either way round."""
    n, t = fresh()
    for kind, a, b in (("s32", t.atom("a", 0), t.atom("a", 1)), ("f32", t.atom("x", 0), t.atom("x", 1))):
        below, zero = n.less(kind, a, b), t.const(0)
        assert n.select(kind, below, a, b) == n.extreme("min", kind, b, a)
        assert n.select(kind, n.inverted("pred", below), a, b) == n.extreme("max", kind, a, b)
        minus = n.scaled(kind, -1, a)
        assert n.select(kind, n.less(kind, a, zero), minus, a) == n.absolute(kind, a) == n.absolute(kind, minus)
        assert n.select(kind, n.less(kind, zero, a), minus, a) == n.scaled(kind, -1, n.absolute(kind, a))
        assert n.select(kind, below, a, zero) not in (a, zero)


@pytest.mark.parametrize("kind", ["s32", "f32"])
def test_conditions_of_one_choice_may_be_asked_in_any_order(kind: str) -> None:
    """Also where the inner choice is a minimum, a maximum or an absolute value, and where both sides choose alike."""
    n, t = fresh()
    name = "a" if kind == "s32" else "x"
    a, b, c, d = (t.atom(name, i) for i in range(4))
    p, zero = n.less(kind, c, d), t.const(0)
    for below, value in (
        (n.less(kind, a, b), a),
        (n.less(kind, b, a), a),
        (n.less(kind, a, zero), n.scaled(kind, -1, a)),
    ):
        other = a if value != a else b
        inner = n.select(kind, below, value, other)
        assert t.nodes[inner][0].startswith(("min", "max", "abs"))
        assert n.select(kind, p, inner, other) == n.select(kind, below, n.select(kind, p, value, other), other)
        not_p = n.inverted("pred", p)
        assert n.select(kind, not_p, other, inner) == n.select(kind, p, inner, other)
    q, r = n.less(kind, a, b), n.less(kind, b, c)
    inner = n.select(kind, r, a, d)
    for one, two in ((p, q), (q, p)):  # not the one, and the other: an interval
        both = n.select(kind, n.conjunction("pred", n.inverted("pred", one), two), d, zero)
        assert n.select(kind, two, n.select(kind, one, zero, d), zero) == both
    ways = [
        n.select(kind, first, inner, n.select(kind, second, inner, d)) for first, second in ((p, q), (q, p))
    ]  # fmt: skip
    assert ways[0] == ways[1] == n.select(kind, r, n.select(kind, n.disjunction("pred", p, q), a, d), d)


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
def test_comparisons_with_numbers_have_one_form(kind: str) -> None:
    """`4 < x` is not `x < 5`; at the least and the greatest number there is no next one."""
    terms = Terms()
    n = Normal(terms, {"x": kind})
    x = terms.atom("x", 0)
    least, greatest = (
        (0, (1 << int(kind[1:])) - 1) if kind[0] == "u" else (-(1 << int(kind[1:]) - 1), (1 << int(kind[1:]) - 1) - 1)
    )
    assert n.less(kind, n.lifted(kind, 4), x) == n.inverted("pred", n.less(kind, x, n.lifted(kind, 5)))
    assert n.select(kind, n.less(kind, n.lifted(kind, 4), x), n.lifted(kind, 4), x) == n.extreme(
        "min", kind, n.lifted(kind, 4), x
    )
    mask = (1 << int(kind[1:])) - 1
    for number in (least, greatest):
        one = n.lifted(kind, number & mask)
        assert n.select(kind, n.less(kind, x, one), x, one) == n.extreme("min", kind, x, one)
        assert n.select(kind, n.less(kind, one, x), one, x) == n.extreme("min", kind, x, one)
        other = n.lifted(kind, number - 1 & mask) if number == least else n.lifted(kind, number + 1 & mask)
        assert n.select(kind, n.less(kind, x, one), other, x) != n.extreme("max", kind, x, other)


def test_a_product_moved_down_is_a_quotient_only_where_it_is_one() -> None:
    """Of the right factor and of those beside it: whatever is said holds at the edges of quotients."""
    rng, said = random.Random(3), 0
    for _ in range(400):
        normal, terms = fresh()
        name, most = rng.choice((("u", (1 << 32) - 1), ("b", 255), ("n", 12)))
        x = terms.atom(name, 0)
        d, by = rng.choice((3, 7, 10, 11, 641, rng.randrange(3, 1 << 12))), rng.randrange(1, 32)
        m = -(-(1 << 32 + by) // d) + rng.choice((0, 0, 0, -1, 1, 2))
        if not 0 < m < 1 << 32:
            continue
        moved = normal.shifted_right("u64", normal.multiply("u64", normal.extended("u32", x), terms.const(m)), 32 + by)
        op, args = terms.nodes[moved]
        if op != "floordiv.u32":
            continue
        said += 1
        by_what = terms.nodes[args[1]][1][0] & 0xFFFFFFFF
        edges = [e for q in (1, 2, rng.randrange(1, most), most // by_what) for e in (q * by_what - 1, q * by_what)]
        for value in (0, most, *(e for e in edges if 0 <= e <= most)):
            assert m * value >> 32 + by == value // by_what, (name, m, by, value)
    assert said > 20


@pytest.mark.parametrize("d", [3, 5, 7, 13, 100, 641, 65537])
def test_quotients_by_constants_are_recognised(d: int) -> None:
    """In the forms of compilers: a wide product or its upper half moved down; with a bit more, where it takes one."""
    normal, terms = fresh()
    x, want = terms.atom("u", 0), lambda n, t: n.floor_divide("u32", t, n.terms.const(d))
    size = next(s for s in range(33, 65) if (-(-(1 << s) // d) * d - (1 << s)) * ((1 << 32) - 1) < 1 << s)
    m = -(-(1 << size) // d)
    upper = instruction(normal, "mul.hi.u32", x, normal.lifted("u32", m & 0xFFFFFFFF))
    if m < 1 << 32:
        found = normal.shifted_right("u32", upper, size - 32)
    else:
        half = normal.shifted_right("u32", normal.add("u32", x, normal.scaled("u32", -1, upper)), 1)
        found = normal.shifted_right("u32", normal.add("u32", half, upper), size - 33)
    assert found == want(normal, x)


def test_a_sum_has_a_bit_more_than_its_parts() -> None:
    """Two bytes together may not be a byte: what cuts the sum off is no operation without effect."""
    n = Normal(Terms(), {"b": "u8"})
    t = n.terms
    a, b = t.atom("b", 0), t.atom("b", 1)
    both = n.add("s32", a, b)
    assert (n.ranges.bound(a), n.ranges.bound(both)) == (8, 9)
    assert n.extended("u8", n.narrowed("u8", both)) != both and n.extended("u8", a) == a
    assert n.ranges.bound(n.add("s32", both, both, t.const(1))) == 10


def test_what_comparisons_and_extremes_are_is_what_they_say() -> None:
    """The other number of two, the other sign of a size, both sides of a distance, the outcome that was chosen."""
    n, t = fresh()
    for kind, x in (("s32", t.atom("a", 0)), ("f32", t.atom("x", 0))):
        zero, one, three, minus = t.const(0), t.const(1), t.const(3), n.scaled(kind, -1, x)
        for op, kept in (("min", one), ("max", three)):
            assert n.extreme(op, kind, one, n.extreme(op, kind, x, three)) == n.extreme(op, kind, x, kept)
        size = n.absolute(kind, x)
        assert n.select(kind, n.less(kind, x, zero), x, minus) == n.scaled(kind, -1, size) != size
        assert n.select(kind, n.less(kind, zero, x), minus, x) == n.scaled(kind, -1, size)
        assert n.select(kind, n.less(kind, x, zero), minus, x) == size
    x, one = t.atom("x", 0), t.const(1)
    far = n.disjunction("pred", n.less("f32", x, t.const(-1)), n.less("f32", one, x))
    assert n.less("f32", one, n.absolute("f32", x)) == far != n.less("f32", one, x)
    chosen = n.less("f32", x, one)
    for number, said in ((1, chosen), (3, n.inverted("pred", chosen)), (2, t.const(0))):
        assert n.equal("s32", n.select("s32", chosen, one, t.const(3)), t.const(number)) == said


def test_neither_type_of_16_bits_has_the_other_ones_numbers() -> None:
    n = Normal(Terms(), {"b": "u16", "h": "f16"})
    bf16, half = n.bf16_number(n.terms.atom("b", 0)), n.terms.atom("h", 0)
    assert n.rounded("f16", bf16) != bf16 and n.rounded("bf16", half) != half
    for kind in ("f32", "f64"):
        assert n.rounded(kind, bf16) == bf16 and n.rounded(kind, half) == half
    assert n.rounded("bf16", bf16) == bf16 and n.rounded("f16", half) == half


def test_a_maximum_has_the_bits_of_the_larger() -> None:
    """A minimum those of the smaller one."""
    normal, terms = fresh()
    byte, word = terms.atom("b", 0), terms.atom("u", 0)
    for op, bits in (("min", 8), ("max", 32)):
        assert normal.ranges.bound(normal.extreme(op, "u32", byte, word)) == bits
