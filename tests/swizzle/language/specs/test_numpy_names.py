"""What a specification's names stand for while it runs on data, and that its module stays as it is."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from swizzle import spec
from swizzle.language.specs.data_array import DataArray
from swizzle.language.specs.numpy_names import Names
from swizzle.language.specs.typed_scalars import symbolic_array
from symbolic.algebra.terms import Terms
from symbolic.ir.program import DType
from tests.swizzle.language.specs.numbers_of_terms import Numbers

HELPERS = """
import numpy as np
TABLE = np.array([2, 0, 1])

def shifted(x, *, fill=7):
    o = np.full(len(x), float(fill))
    o[1:] = x[:-1]
    return o

def halving(x):
    return x[0] if len(x) == 1 else np.maximum(halving(x[::2]), halving(x[1::2]))
"""

MAIN = """
import numpy
import numpy as np
import helpers_of_mine
from functools import reduce
from numpy import exp as e, zeros
from helpers_of_mine import TABLE, halving
from swizzle import spec

def outer():
    scale = 3
    def inner(x):
        o = np.empty_like(x)
        for i in range(len(x)):
            o[i] = scale * x[i]
        return o
    return inner

inner = outer()

@spec
def other(x):
    o = zeros(3)
    o[:] = x[TABLE[np.array([0, 1, 2])]]
    return o

@spec
def wanted(x):
    y = helpers_of_mine.shifted(x) + helpers_of_mine.shifted(x, fill=2) + inner(x)
    top = halving(numpy.concatenate([x, [0]]))
    return other(x) + y * top + reduce(numpy.add, [e(v) for v in x])
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    helpers = types.ModuleType("helpers_of_mine")
    helpers.__file__ = "/somewhere/helpers_of_mine.py"
    exec(compile(HELPERS, helpers.__file__, "exec"), helpers.__dict__)
    monkeypatch.setitem(sys.modules, "helpers_of_mine", helpers)
    names: dict[str, Any] = {"__name__": "main_of_mine"}
    exec(compile(MAIN, "/somewhere/main_of_mine.py", "exec"), names)
    yield names


def test_helpers_modules_and_closures_are_seen_alike(module: dict[str, Any]) -> None:
    """Of the same module and of others, with keywords of their own, nested, recursive, and specifications."""
    before = dict(module)
    given = np.array([0.5, -1.0, 2.0])
    wanted = module["wanted"](given)
    terms = Terms()
    x = symbolic_array(terms, "x", (3,))
    found = Names().of_spec(module["wanted"])(x)
    assert isinstance(found, DataArray) and found.shape == wanted.shape
    numbers = Numbers(terms, {"x": given})
    assert [numbers.value(v) for v in found.tolist()] == pytest.approx(wanted.tolist())
    assert module == before and module["np"] is np


def test_floors_of_integers_are_the_integers() -> None:
    """Nothing but their terms."""
    terms = Terms()
    terms.types["n"] = DType.I32
    n = symbolic_array(terms, "n", (4,))
    assert [v.term for v in np.floor(n)] == [v.term for v in n]  # type: ignore[union-attr]


def test_a_specification_is_still_a_function_of_numbers() -> None:
    """Called with NumPy's arrays, it is Python's own."""

    @spec
    def doubled(x: Any) -> Any:
        return np.exp(x) * 2

    assert doubled(np.zeros(2)).tolist() == [2, 2]
