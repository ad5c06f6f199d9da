"""Ranges hold every value that Python's integers take, and are as narrow as the printer needs."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbolic.ir.facts import ANY, Range, binary_range
from tests.cuda_out.reference import OPERATORS

ends = st.one_of(st.integers(-70, 70), st.sampled_from([-math.inf, math.inf]))
small = st.integers(-60, 60)


@st.composite
def range_and_member(draw: st.DrawFn) -> tuple[Range, int]:
    member = draw(small)
    low, high = (
        draw(st.one_of(st.integers(-70, member), st.just(-math.inf))),
        draw(st.one_of(st.integers(member, 70), st.just(math.inf))),
    )
    return Range(low, high), member


@pytest.mark.sampled(5)
@pytest.mark.parametrize("operator", ["+", "-", "*", "//", "%", "&", "|", "^", "min", "max", "<<", ">>"])
def test_every_operator_is_sound(operator: str) -> None:
    """The result of two members lies in the range of the result."""

    @given(range_and_member(), range_and_member())
    def check(left: tuple[Range, int], right: tuple[Range, int]) -> None:
        if (operator in ("//", "%") and right[1] == 0) or (operator in ("<<", ">>") and right[1] < 0):
            return
        found = binary_range(operator, left[0], right[0])  # type: ignore[arg-type]
        value = OPERATORS[operator](left[1], right[1])
        assert found.within(-math.inf, math.inf)
        assert found.lo <= value <= found.hi, f"{left} {operator} {right} = {value}, not in {found}"

    check()


@given(range_and_member())
def test_unary_operations_are_sound(pair: tuple[Range, int]) -> None:
    """Negation and absolute value hold the member's."""
    known, member = pair
    assert (-known).lo <= -member <= (-known).hi
    assert known.absolute().lo <= abs(member) <= known.absolute().hi


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("%", Range(0, 7), Range(8, 8), Range(0, 7)),
        ("%", Range(-5, 100), Range(8, 8), Range(0, 7)),
        ("%", Range(33, 35), Range(32, 32), Range(1, 3)),
        ("%", Range(0, 3), Range(5, 9), Range(0, 3)),
        ("%", ANY, Range(-4, -4), Range(-3, 0)),
        ("//", Range(-3, 63), Range(32, 32), Range(-1, 1)),
        ("//", Range(10, 20), Range(0, 5), Range(2, 20)),
        ("//", Range(1, 1), Range(1, math.inf), Range(0, 1)),
        ("//", Range(1, 1), Range(-math.inf, -1), Range(-1, -1)),
        ("&", ANY, Range(7, 7), Range(0, 7)),
        ("^", Range(0, 31), Range(0, 5), Range(0, 31)),
        ("*", Range(0, 0), ANY, Range(0, 0)),
        (">>", Range(0, 31), Range(3, 3), Range(0, 3)),
        ("<<", Range(0, 31), Range(2, 2), Range(0, 124)),
        ("<<", Range(-3, 5), Range(0, 3), Range(-24, 40)),
    ],
)
def test_ranges_are_narrow(operator: str, left: Range, right: Range, expected: Range) -> None:
    """Common index arithmetic gives the exact range."""
    assert binary_range(operator, left, right) == expected  # type: ignore[arg-type]


def test_an_empty_range_is_a_bug() -> None:
    """A range holds at least one integer; narrowing to nothing keeps the range."""
    with pytest.raises(AssertionError):
        Range(3, 2)
    assert Range(0, 3).meet(7, 9) == Range(0, 3)


SHORT = [Range(low, high) for low in range(-5, 6) for high in range(low, 6)]


@pytest.mark.parametrize("operator", ["&", "|", "^"])
def test_bits_of_all_short_ranges(operator: str) -> None:
    """Values are held; of numbers that are not negative, an `and` is below both, an `or` above, within their bits."""
    compute = OPERATORS[operator]
    for left, right in itertools.product(SHORT, repeat=2):
        found = binary_range(operator, left, right)  # type: ignore[arg-type]
        sides = [range(int(side.lo), int(side.hi) + 1) for side in (left, right)]
        values = [compute(a, b) for a, b in itertools.product(*sides)]
        assert found.lo <= min(values) and max(values) <= found.hi, (left, right)
        if left.lo < 0 or right.lo < 0:
            continue
        bits = int(max(left.hi, right.hi)).bit_length()
        lowest = max(left.lo, right.lo) if operator == "|" else 0
        highest = min(left.hi, right.hi) if operator == "&" else (1 << bits) - 1
        assert found == Range(lowest, highest), (left, right)
