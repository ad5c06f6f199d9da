"""Random specifications written with NumPy mean on data what NumPy makes of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from swizzle import SwizzleError
from symbolic.algebra.terms import Terms
from tests.swizzle.language.specs.numbers_of_terms import Numbers
from tests.swizzle.language.specs.random_numpy import Writer, is_tame
from tests.swizzle.language.specs.test_numpy_idioms import elements, function_of, inputs, on_data

STATEMENTS = 7


def compared(seed: int) -> str:
    """Return what was refused of a random specification, or ''; raises where it is not what NumPy says."""
    given = inputs(2 * seed + 1)
    function = function_of(f"random {seed}", Writer(seed, given).body(STATEMENTS))
    terms = Terms()
    try:
        returned = on_data(function, terms)
    except SwizzleError as error:
        return str(error.found)
    for other in (2 * seed + 1, 2 * seed + 3):
        given = inputs(other)
        with np.errstate(all="ignore"):
            wanted = function(*(np.array(value) if np.ndim(value) else value for value in given.values()))
        if not all(map(is_tame, wanted)):
            continue
        numbers = Numbers(terms, given)
        for at, (some, want) in enumerate(zip(returned, wanted, strict=True)):
            ours = [numbers.value(element) for element in elements(some)]
            theirs = elements(want)
            assert len(ours) == len(theirs), (seed, at)
            for x, y in zip(ours, theirs, strict=True):
                assert _same(x, y), (seed, other, at, x, y)
    return ""


def _same(x: Any, y: Any) -> bool:
    if isinstance(y, float):
        return bool(np.isclose(float(x), y, rtol=1e-6, atol=1e-6))
    return bool(x == y)


def check(seeds: range) -> None:
    refused = [said for seed in seeds if (said := compared(seed))]
    assert len(refused) <= len(seeds) // 20, refused


def test_random_specifications() -> None:
    """Nearly all are read."""
    check(range(60))


@pytest.mark.slow
def test_a_thousand_random_specifications() -> None:
    """As above."""
    check(range(60, 1060))
