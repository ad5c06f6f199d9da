"""What a free hole's table reads as: always a formula with these very values, and the one that a user would write."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swizzle.answers.explain.free_holes import formula_of_table
from symbolic.errors import Place
from symbolic.ir.program import Hole

NAMES = {"max": max, "min": min}


def hole(size: int, *arguments: str) -> Hole:
    return Hole("xform1", "xform", size, arguments, Place("file", 1, 1))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda lane, k: max(lane - 1, 0), "max(lane - 1, 0)"),
        (lambda lane, k: min(lane + k, 15), "min(k + lane, 15)"),
        (lambda lane, k: min(max(lane + 2 * k - 2, 0), 15), "min(max(2 * k + lane - 2, 0), 15)"),
        (lambda lane, k: lane * (2 * k + 1) % 16, "(2 * (lane * k) + lane) % 16"),
        (lambda lane, k: lane * lane % 16, "lane * lane % 16"),
        (lambda lane, k: lane ^ k, "k ^ lane"),
        (lambda lane, k: (lane * 7 + lane * lane * k) ** 3 % 13, ""),
    ],
)
def test_tables_read_as_a_user_writes_them(value: Callable[[int, int], int], text: str) -> None:
    table = {point: value(*point) for point in product(range(16), range(3))}
    assert formula_of_table(hole(16, "lane", "k"), table) == text


def test_a_hole_without_a_table_has_no_formula() -> None:
    condition = Hole("cond1", "cond", 2, ("lane",), Place("file", 1, 1))
    assert formula_of_table(condition, {(0,): True, (1,): False}) == ""
    assert formula_of_table(hole(8), {(): 3}) == ""


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=8, max_size=8), st.integers(1, 2))
def test_a_formula_has_the_values_of_its_table(values: list[int], width: int) -> None:
    """Of any table, random or nearly regular, also where the points leave gaps."""
    names = ("i", "j")[:width]
    table = {(n, n * n % 5)[:width]: value for n, value in enumerate(values)}
    text = formula_of_table(hole(8, *names), table)
    if text:
        assert all(eval(text, dict(zip(names, point, strict=True)), NAMES) == value for point, value in table.items())
