"""A chosen function, read as a formula, is the same function."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates.chooser import OneChoice
from templates.formula import formula
from templates.holes import Point, Space
from templates.registry import template

HERE = Place("test", 1, 1)
GRID = list(itertools.product(range(6), range(4)))


def hole(kind: str, size: int, *arguments: str) -> Hole:
    return Hole("h", kind, size, arguments, HERE)


CASES: list[tuple[Hole, list[Point]]] = [
    (hole("xform", 6, "i", "k"), GRID),
    (hole("xform", 6, "i"), [(i,) for i in range(6)]),
    (hole("xform", 1, "i", "k"), [(0, k) for k in range(4)]),
    (hole("cond", 2, "i", "k"), GRID),
    (hole("cond", 2, "i"), [(i,) for i in range(6)]),
    (hole("part", 2, "i", "k"), GRID),
    (hole("part", 3, "i", "k"), GRID),
    (hole("part", 1, "i", "k"), GRID),
    (hole("xform", 6, "i + 0", "k * 1"), GRID),
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_text_evaluates_to_the_function(data: st.DataObject) -> None:
    """Python's value of the printed formula is the template's value at every point."""
    some, points = data.draw(st.sampled_from(CASES))
    space: Space = data.draw(st.sampled_from(["1", "2", "3"]))
    made = template(some, points, space)
    choice = tuple(data.draw(st.sampled_from(c)) for c in made.components)
    text = formula(some, made, choice)
    for point in points:
        names: dict[str, Any] = dict(zip("ik", point, strict=False))
        assert eval(text, names) == made.at(OneChoice(choice), point), (text, choice)
    assert all(isinstance(v, int) for v in made.constants(choice).values())


@pytest.mark.parametrize(
    ("some", "points", "function", "text"),
    [
        (CASES[0][0], GRID, lambda i, k: (i + k) % 6, "(i + k) % 6"),
        (CASES[0][0], GRID, lambda i, k: (2 - i - k) % 6, "(2 - i - k) % 6"),
        (CASES[0][0], GRID, lambda i, k: -2 * i % 6, "-2 * i % 6"),
        (CASES[0][0], GRID, lambda i, k: i, "i"),
        (CASES[0][0], GRID, lambda i, k: 3, "3"),
        (CASES[0][0], GRID, lambda i, k: i // 3 * 3 + (i % 3 + k) % 3, "i // 3 * 3 + (i % 3 + k) % 3"),
        (CASES[3][0], GRID, lambda i, k: i >= k, "i >= k"),
        (CASES[3][0], GRID, lambda i, k: i + k > 4, "i + k > 4"),
        (CASES[3][0], GRID, lambda i, k: i != 2, "i != 2"),
        (CASES[3][0], GRID, lambda i, k: True, "True"),
        (CASES[3][0], GRID, lambda i, k: i < k - 2, "i <= k - 3"),
        (CASES[5][0], GRID, lambda i, k: 0 if i >= k else 1, "0 if i >= k else 1"),
        (CASES[6][0], GRID, lambda i, k: min(i, 2), "0 if i <= 0 else 1 if i <= 1 else 2"),
    ],
)
def test_the_simplest_formula_reads_well(some: Hole, points: list[Point], function: Any, text: str) -> None:
    """The simplest formula of a function is what a person would write."""
    made = template(some, points, "3")
    choice = made.simplest(points, [function(*p) for p in points])
    assert choice is not None
    assert formula(some, made, choice) == text


@pytest.mark.parametrize("extent", [2, 3, 4, 5])
@pytest.mark.parametrize("low", [-1, 0, 1])
def test_an_argument_that_is_an_index_needs_no_remainder(low: int, extent: int) -> None:
    """`k` alone is read where it lies in 0..n-1 at every point, `k % n` where it does not."""
    points = [(i, k) for i in range(4) for k in range(low, extent)]
    some = hole("xform", 4, "i", "k")
    made = template(some, points, "1")
    for choice in itertools.product(*made.components):
        if all(made.at(OneChoice(choice), (i, k)) == k % 4 for i, k in points):
            text = formula(some, made, choice)
            assert [eval(text, {"i": i, "k": k}) for i, k in points] == [k % 4 for _, k in points]
            if text in ("k", "k % 4"):
                assert text == ("k" if all(0 <= k < 4 for _, k in points) else "k % 4")
                return
    assert extent - low == 1  # then it is read as a number
