"""Patterns as functions of Python: on lists, on NumPy's arrays, and on names."""

from __future__ import annotations

import numpy as np
import pytest

from swizzle import SwizzleError, gather, math, maximum, where
from swizzle.derive.patterns import (
    add,
    iterate,
    join,
    let,
    map,
    mul,
    pad,
    reduce,
    scan,
    slide,
    split,
    transpose,
    zip,
)
from swizzle.language.specs.spec import user_function
from swizzle.language.specs.traced import trace
from symbolic.elements import DType
from symbolic.patterns.text import pattern_text
from symbolic.patterns.types import F32, array_of


def dot(u, v):
    return reduce(add, map(mul, u, v), 0)


def gemv(A, x, z, a, b):
    return map(lambda row, v: a * dot(row, x) + b * v, A, z)


def text(function, **types) -> str:
    made, _ = trace(user_function(function), types)
    return pattern_text(made, list(types)).splitlines()[-1]


def array(*lengths):
    return array_of(F32, *lengths)


def test_on_lists_patterns_are_what_they_say() -> None:
    assert dot([1, 2, 3], [4, 5, 6]) == 32
    assert scan(add, [1, 2, 3], 10) == [11, 13, 16]
    assert split(2, [1, 2, 3, 4]) == [[1, 2], [3, 4]]
    assert join([[1, 2], [3]]) == [1, 2, 3]
    assert transpose([[1, 2], [3, 4], [5, 6]]) == [[1, 3, 5], [2, 4, 6]]
    assert slide(3, 2, [1, 2, 3, 4, 5]) == [[1, 2, 3], [3, 4, 5]]
    assert pad(2, 1, "clamp", [1, 2]) == [1, 1, 1, 2, 2]
    assert pad(2, 1, "mirror", [1, 2]) == [2, 1, 1, 2, 2]
    assert pad(2, 1, "wrap", [1, 2]) == [1, 2, 1, 2, 1]
    assert pad(1, 1, "zero", [1, 2]) == [0, 1, 2, 0]
    assert iterate(3, lambda x: map(lambda v: 2 * v, x), [1, 2]) == [8, 16]
    assert zip([1, 2], [3, 4]) == [(1, 3), (2, 4)]
    assert let(3, lambda v: v + v) == 6


def test_on_numpy_arrays_a_product_is_numpys() -> None:
    A, x, z = np.arange(12.0).reshape(3, 4), np.arange(4.0), np.ones(3)
    assert gemv(A, x, z, 2.0, 3.0) == list(2 * A @ x + 3 * z)


def test_on_names_it_is_an_expression_whose_positions_are_the_users_functions() -> None:
    given = {"A": array("m", "k"), "x": array("k"), "z": array("m"), "a": F32, "b": F32}
    assert text(gemv, **given) == (
        'map(lambda p2: a * at(reduce(add, 0, label="dot") o map(mul) o zip(p2[0], x), 0) + b * p2[1], '
        'label="gemv") o zip(A, z)'
    )


def test_functions_choices_and_gathers_are_traced() -> None:
    def one(x, i):
        return map(lambda k: where(gather(x, k) < 2, math.sqrt(gather(x, k)), maximum(gather(x, k), 1)), i)

    found = text(one, x=array("n"), i=array_of(DType.I32, 4))
    assert found == 'map(lambda k: sqrt(at(x, k)) if at(x, k) < 2 else max(at(x, k), 1), label="one") o i'


@pytest.mark.parametrize(
    "function, found",
    [
        (lambda x, y: map(add, x, y), "zip of lengths [n, k]"),
        (lambda x, y: list(x), "a loop over f32[n], while a pattern is traced"),
        (lambda x, y: map(lambda v: v if v > 0 else 0, x), "a branch on data, while a pattern is traced"),
        (lambda x, y: len(x), "len of f32[n], whose length n is left open"),
        (lambda x, y: x + y, "arithmetic of f32[n]"),
        (lambda x, y: map(add, x, [1]), "a pattern of a list"),
        (lambda x, y: {1: x}, "a dict where a pattern is traced"),
    ],
    ids=["lengths", "loop", "branch", "length", "arithmetic", "list", "dict"],
)
def test_what_does_not_fit_is_an_error_at_its_line(function, found: str) -> None:
    with pytest.raises(SwizzleError) as raised:
        text(function, x=array("n"), y=array("k"))
    assert found in raised.value.found
    assert raised.value.place is not None and raised.value.place.file == __file__
