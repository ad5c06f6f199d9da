"""A chosen function, read as a formula, is the same function."""

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates.chooser import Choice, OneChoice
from templates.formula import formula_of_text, formula_text, plain, values_of
from templates.holes import Point, Space
from templates.registry import template
from templates.template import Template

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


def formula(some: Hole, made: Template, choice: Choice) -> str:
    return formula_text(some, plain(some, made, choice))


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
        (hole("cond", 2, "i", "4"), [(i, 4) for i in range(8)], lambda i, _: i >= 4, "i > 3"),
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


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_text_is_read_back(data: st.DataObject) -> None:
    """What is printed is read as a formula with the same text and the same values."""
    some, points = data.draw(st.sampled_from(CASES))
    made = template(some, points, data.draw(st.sampled_from(["1", "2", "3"])))
    own = plain(some, made, tuple(data.draw(st.sampled_from(c)) for c in made.components))
    text = formula_text(some, own)
    again = formula_of_text(some, text)
    assert formula_text(some, again) == text
    lanes = [np.array(column) for column in zip(*points, strict=True)]
    assert np.array_equal(values_of(again, lanes), values_of(own, lanes))


@pytest.mark.parametrize(
    ("some", "text", "complaint"),
    [
        (CASES[0][0], "i +", "is no expression"),
        (CASES[0][0], "i + j", "'j', which is neither an argument nor a number"),
        (CASES[0][0], "__import__('os')", "which is neither an argument nor a number"),
        (CASES[0][0], "i >= k", "'i >= k', which is neither"),
        (CASES[0][0], "i + (k < 2)", "'k < 2', which is neither"),
        (CASES[0][0], "i % k", "'k' on the right of %"),
        (CASES[0][0], "i // 0", "'0' on the right of //"),
        (CASES[0][0], "1 << 40", "'40' on the right of <<"),
        (CASES[0][0], "99999999999", "neither an argument nor a number"),
        (CASES[0][0], "True", "neither an argument nor a number"),
        (CASES[3][0], "i + k", "'i + k', which is no condition"),
        (CASES[3][0], "i < k < 3", "which is no condition"),
        (CASES[3][0], "1", "which is no condition"),
    ],
)
def test_what_is_no_formula(some: Hole, text: str, complaint: str) -> None:
    """A file may say anything; what is read is arithmetic over the hole's arguments."""
    with pytest.raises(ValueError, match=re.escape(complaint)):
        formula_of_text(some, text)
