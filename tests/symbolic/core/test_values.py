"""Symbolic values: each operator against Python's own, and what they refuse."""

# ruff: noqa: SIM300 - upper case names are symbolic values here, not constants

import math
import operator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.core.query import obligations, solve, verify
from symbolic.core.structures import mapped
from symbolic.core.values import all_of, any_of, bitvector, boolean, implies, integer, lookup, select
from symbolic.errors import SwizzleError
from symbolic.solve.evaluate import as_signed, evaluate

A, B = integer("values_test_a"), integer("values_test_b")
P, Q = boolean("values_test_p"), boolean("values_test_q")
WIDTH = 5


def value_of(expression, **values):
    """Evaluate under values named without their prefix."""
    names = {f"values_test_{name}": value for name, value in values.items()}
    return evaluate(expression.formula, lambda symbol: names[symbol.symbol_name()])


def floor_div(a, b):
    """Python's, made total."""
    return a // b if b else 0


def floor_mod(a, b):
    """Python's, made total."""
    return a % b if b else a


ARITHMETIC = [
    (operator.add, operator.add),
    (operator.sub, operator.sub),
    (operator.mul, operator.mul),
    (operator.floordiv, floor_div),
    (operator.mod, floor_mod),
]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITWISE = [operator.and_, operator.or_, operator.xor]
small = st.integers(-12, 12)


@pytest.mark.parametrize(("build", "meaning"), [*ARITHMETIC, *((c, c) for c in COMPARISONS)])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(a=st.one_of(small, st.integers()), b=st.one_of(small, st.integers()))
def test_integers_are_pythons(build, meaning, a, b):
    """Symbolic with symbolic, and with a Python int on either side, give Python's result for every sign."""
    expected = meaning(a, b)
    assert value_of(build(A, B), a=a, b=b) == expected
    assert value_of(build(A, b), a=a) == expected
    assert value_of(build(a, B), b=b) == expected


@settings(max_examples=60, deadline=None, derandomize=True)
@given(a=small, n=st.integers(0, 6))
def test_integer_unary_power_and_shifts(a, n):
    """- + ~ abs ** << >> are Python's."""
    found = [value_of(f, a=a) for f in (-A, +A, ~A, abs(A), A**n, A << n, A >> n)]
    assert found == [-a, +a, ~a, abs(a), a**n, a << n, a >> n]


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_division_is_the_floor_for_all_integers(solver):
    """Both engines prove a == d * (a // d) + a % d with a remainder between 0 and the divisor, of its sign."""
    for d in (7, -7, 1, -1):
        whole, rest = A // d, A % d
        bounds = (0 <= rest) & (rest < d) if d > 0 else (d < rest) & (rest <= 0)
        assert verify((A == whole * d + rest) & bounds, solver=solver, timeout=30).status == "unsat"


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, -3), (5, 0)])
def test_solvers_agree_on_division(solver, a, b):
    """The engines' own arithmetic gives the same quotient and remainder as Python, symbolic divisor included."""
    outcome = solve(
        A == a, B == b, integer("values_test_q_") == A // B, integer("values_test_r_") == A % B, solver=solver
    )
    assert outcome[integer("values_test_q_")] == floor_div(a, b)
    assert outcome[integer("values_test_r_")] == floor_mod(a, b)


def numbers(signed):
    """Return every number of WIDTH bits."""
    half = 1 << (WIDTH - 1)
    return range(-half, half) if signed else range(2 * half)


def wrapped(value, signed):
    """Return the number of WIDTH bits that a Python result wraps around to."""
    bits = value % (1 << WIDTH)
    return as_signed(bits, WIDTH) if signed else bits


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("build", "meaning"), [*ARITHMETIC, *((b, b) for b in BITWISE)])
def test_bit_vectors_are_pythons_wrapped(build, meaning, signed):
    """All pairs of 5-bit numbers: Python's result, wrapped; also with a Python int on either side."""
    x, y = (bitvector(f"values_test_{n}", WIDTH, signed=signed) for n in "uv")
    both = build(x, y)
    for a in numbers(signed):
        right = build(a, y)
        for b in numbers(signed):
            bits = {"u": a % 32, "v": b % 32}
            expected = wrapped(meaning(a, b), signed)
            assert wrapped(value_of(both, **bits), signed) == expected
            assert wrapped(value_of(right, v=b % 32), signed) == expected
    left = build(x, 3)
    for a in numbers(signed):
        assert wrapped(value_of(left, u=a % 32), signed) == wrapped(meaning(a, 3), signed)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("compare", COMPARISONS)
def test_bit_vector_comparisons(compare, signed):
    """All pairs of 5-bit numbers compare as the numbers they are."""
    x, y = (bitvector(f"values_test_{n}", WIDTH, signed=signed) for n in "uv")
    for a in numbers(signed):
        for b in numbers(signed):
            expected = compare(a, b)
            assert value_of(compare(x, y), u=a % 32, v=b % 32) == expected
            assert value_of(compare(a, y), v=b % 32) == expected


@pytest.mark.parametrize("signed", [False, True])
def test_bit_vector_shifts_unary_and_sizes(signed):
    """Shifts by counts from 0 to past the width, symbolic or not; - ~; resize."""
    x, count = (bitvector(f"values_test_{n}", WIDTH, signed=signed) for n in "uv")
    for a in numbers(signed):
        u = a % 32
        for n in (0, 1, 4, 5, 6, 15):
            for f, expected in ((x << n, a << n), (x >> n, a >> n), (x << count, a << n), (x >> count, a >> n)):
                assert wrapped(value_of(f, u=u, v=n), signed) == wrapped(expected, signed)
        assert value_of(x >> 1000, u=u) == value_of(x >> 5, u=u)
        assert [wrapped(value_of(f, u=u), signed) for f in (-x, ~x)] == [wrapped(-a, signed), wrapped(~a, signed)]
        assert value_of(x.resize(9), u=u) == a % 512
        assert value_of(x.resize(3), u=u) == a % 8
    assert x.resize(WIDTH) is x
    assert (x.as_signed().signed, x.as_unsigned().signed) == (True, False)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(p=st.booleans(), q=st.booleans())
def test_booleans(p, q):
    """Connectives, mixed with Python bools, and the functions over many."""
    cases = [
        (P & Q, p and q), (P | Q, p or q), (P ^ Q, p != q), (~P, not p), (P == Q, p == q), (P != Q, p != q),
        (P & q, p and q), (q | P, p or q), (P == q, p == q), (implies(P, Q), not p or q), (implies(p, Q), not p or q),
        (all_of(P, Q, True), p and q), (any_of(P, Q, False), p or q), (all_of(), True), (any_of(), False),
    ]  # fmt: skip
    for expression, expected in cases:
        assert value_of(expression, p=p, q=q) == expected


@pytest.mark.parametrize("signed", [False, True])
def test_bits_taken_apart_and_put_together(signed):
    """Extraction, concatenation, rotation and the number itself, for all numbers of five bits."""
    v = bitvector("values_test_bits", WIDTH, signed=signed)
    for number in range(1 << WIDTH):

        def found(expression, number=number):
            return value_of(expression, bits=number)

        digits = f"{number:0{WIDTH}b}"
        assert found(v.extract(3, 1)) == int(digits[1:4], 2)
        assert found(v.concat(v.extract(1, 0))) == int(digits + digits[3:], 2)
        for count in range(-2, 7):
            turned = int(digits[count % WIDTH :] + digits[: count % WIDTH], 2)
            assert found(v.rotate_left(count)) == found(v.rotate_right(-count)) == turned
        assert found(v.to_integer()) == wrapped(number, signed)


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_engines_know_the_number_of_bits(solver):
    """Sums of numbers do not wrap around, as those of bits do."""
    v = bitvector("values_test_wide", 8, signed=True)
    outcome = solve(v.to_integer() + v.to_integer() < -200, v.extract(1, 0) == 3, solver=solver)
    assert outcome[v] < -100 and outcome[v] % 4 == 3
    assert verify(v.to_integer() * 2 == (v.resize(9) * 2).to_integer(), solver=solver).status == "unsat"


def test_select_and_lookup():
    """The symbolic forms of `if` and of indexing."""
    v = bitvector("values_test_small", 2)
    for p in (False, True):
        assert value_of(select(P, A, 3), p=p, a=8) == (8 if p else 3)
        assert value_of(select(P, 4, 3), p=p) == (4 if p else 3)
        assert value_of(select(P, True, Q), p=p, q=False) == p
    with obligations() as made:
        found, sure = lookup([5, A, 7, 8], B), lookup(range(10, 20), v)
    for i in range(4):
        assert value_of(found, a=6, b=i) == [5, 6, 7, 8][i]
        assert value_of(sure, small=i) == 10 + i
    for i in range(-2, 6):
        assert all(value_of(each, b=i) for each in made.assertions) == (0 <= i < 4)
    assert value_of(select(True, A, B), a=1, b=2) == 1


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        (lambda: bool(P), "select(condition, a, b)"),
        (lambda: 1 if A == 2 else 3, "select(condition, a, b)"),
        (lambda: P and Q, "`&` `|` `~`"),
        (lambda: not P, "`&` `|` `~`"),
        (lambda: 0 < A < 3, "all_of(...)"),
        (lambda: A in [B], "any_of(...)"),
        (lambda: [1, 2][A], "lookup(sequence, index)"),
        (lambda: range(A), "lookup(sequence, index)"),
        (lambda: int(A), "outcome[value]"),
        (lambda: float(A), "outcome[value]"),
        (lambda: {A: 1}, "key dictionaries by name"),
        (lambda: hash(bitvector("values_test_u", 5)), "key dictionaries by name"),
        (lambda: hash(P), "key dictionaries by name"),
        (lambda: list(A), "range over a Python integer"),
        (lambda: len(A), "a Python sequence"),
        (lambda: A / 2, "`//`"),
        (lambda: A & 3, "bitvector(name, width)"),
        (lambda: A << B, "bitvector(name, width)"),
        (lambda: A**-1, "from 0 to 1024"),
        (lambda: A + 1.5, "a Python int"),
        (lambda: A + True, "a Python int"),
        (lambda: A == P, "a Python int"),
        (lambda: P & A, "compare: x != 0"),
        (lambda: select(A, 1, 2), "compare: x != 0"),
        (lambda: select(P, A, Q), "an Integer or a Python int"),
        (lambda: lookup([], A), "at least one element"),
        (lambda: bitvector("values_test_u", 5) + bitvector("values_test_w", 6), "resize(width)"),
        (lambda: bitvector("values_test_u", 5) + bitvector("values_test_v", 5, signed=True), "as_signed()"),
        (lambda: bitvector("values_test_u", 5) + 32, "-16 to 31"),
        (lambda: bitvector("values_test_u", 5) < -1, "0 to 31"),
        (lambda: bitvector("values_test_u", 5, signed=True) == 31, "-16 to 15"),
        (lambda: bitvector("values_test_u", 5) << -1, "not negative"),
        (lambda: bitvector("values_test_z", 0), "from 1 to"),
        (lambda: bitvector("values_test_u", 5).extract(5, 0), "4 >= high >= low >= 0"),
        (lambda: bitvector("values_test_u", 5).concat(3), "a BitVector"),
        (lambda: bitvector("values_test_u", 5).rotate_left(A), "(v << n) | (v >> (width - n))"),
    ],
)
def test_refusals_name_the_right_call(use, advice):
    """What Python would decide at once raises, and the message says what to write instead."""
    with pytest.raises(SwizzleError) as caught:
        use()
    assert advice in str(caught.value)


def test_the_whole_text_of_a_refusal():
    """An error says what was found, what was expected and how to fix it."""
    with pytest.raises(SwizzleError) as caught:
        [1, 2][A]
    assert str(caught.value) == (
        "error: a symbolic Integer cannot index, slice or count a native sequence\n"
        "  expected: a value that is known while Python runs\n"
        "  fix: lookup(sequence, index), or outcome[value] once a query has answered"
    )


@pytest.mark.parametrize("choose", [lambda x, n: select(P, x, n), lambda x, n: lookup([x, n], A)])
def test_a_number_beside_a_bit_vector_keeps_its_sign(choose):
    """-1 and 31 are the same five bits: each is only taken where the other value's sign makes it that number."""
    unsigned = bitvector("values_test_unsigned", WIDTH, signed=False)
    signed = bitvector("values_test_signed", WIDTH, signed=True)
    with obligations():
        assert choose(unsigned, 31).width == choose(signed, -1).width == WIDTH
        with pytest.raises(SwizzleError, match="-1 does not fit"):
            choose(unsigned, -1)
        with pytest.raises(SwizzleError, match="31 does not fit"):
            choose(signed, 31)
        with pytest.raises(SwizzleError, match="a number of more than 512 bits does not fit"):
            choose(signed, 1 << 20000)


def test_a_record_is_made_anew_only_where_something_changes() -> None:
    """Of one field or of all; of a tuple likewise. Records may tell their identity."""

    @dataclass(frozen=True)
    class Pair:
        a: int
        b: int

    pair, named = Pair(1000, 2000), (1000, 2000)
    for value in (pair, named):
        assert mapped(lambda part: part, value) is value
    assert mapped(lambda part: min(part, 1500), pair) == Pair(1000, 1500)
    assert mapped(lambda part: part + 1, pair) == Pair(1001, 2001)
    assert mapped(lambda part: part + 1, named) == (1001, 2001)


def test_whole_numbers_are_divided_and_rounded_as_in_python():
    """`divmod`, `round` and the functions of `math` that leave a whole number alone."""
    x, v = integer("whole x"), bitvector("whole v", 8, signed=True)
    outcome = solve(x == -7, v == -7)
    for number in (x, v):
        assert outcome[divmod(number, 3)] == divmod(-7, 3) and outcome[divmod(100, number)] == divmod(100, -7)
        assert all(whole(number) is number for whole in (round, math.floor, math.ceil, math.trunc))
