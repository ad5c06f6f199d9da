"""Operators of the second reading: formulas of constants, and cases of numbers, are what NumPy computes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pysmt.shortcuts import FALSE

from symbolic.ir.program import DType
from symbolic.second.numbers import Cased, NumberValues, bits

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.remainder,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "min": np.minimum,
    "max": np.maximum,
}
UNARY: dict[str, Callable[[Any], Any]] = {"-": np.negative, "abs": np.abs, "~": np.invert}
EDGES = [0, 1, 2, 3, 7, 31, 1 << 20, -1, -2, -7, -(1 << 31), (1 << 31) - 1]


def ways(op: str, operands: list[Any], dtype: DType) -> list[Any]:
    """Return the value as a number of one case, and as a formula that PySMT folds."""
    values = NumberValues({}, lambda array, index: None)
    numbers = [values.number(each, dtype) for each in operands]
    cases = values.apply(op, numbers, dtype).value
    assert isinstance(cases, dict)
    formulas = [Cased(values.formula(number), dtype, FALSE()) for number in numbers]
    found: Any = values.apply(op, formulas, dtype).value
    constant = found.simplify().constant_value()
    if not dtype.is_float:
        constant %= 1 << bits(dtype)
        return [*(number % (1 << bits(dtype)) for number in cases), constant]
    return [*cases, Fraction(constant)]


@pytest.mark.parametrize("dtype", [DType.I32, DType.U32, DType.I64, DType.U64])
@pytest.mark.parametrize("op", BINARY)
def test_whole_numbers_are_numpys(op: str, dtype: DType) -> None:
    """At the edges of their types; not divided by 0, shifted within their width."""
    kind = np.dtype(f"{'int' if dtype.value[0] == 'i' else 'uint'}{bits(dtype)}").type
    for a in EDGES:
        for b in EDGES:
            if (op in ("//", "%") and b == 0) or (op in ("<<", ">>") and not 0 <= b < 32):
                continue
            with np.errstate(all="ignore"):
                left, right = (np.array(each).astype(kind) for each in (a, b))
                if op in ("//", "%") and (int(left), int(right)) == (np.iinfo(kind).min, -1):
                    continue  # no number of the type
                wanted = int(BINARY[op](left, right)) % (1 << bits(dtype))
            assert ways(op, [a, b], dtype) == [wanted, wanted], (a, b)


@pytest.mark.parametrize("dtype", [DType.I32, DType.I64])
@pytest.mark.parametrize("op", UNARY)
def test_signs_are_numpys(op: str, dtype: DType) -> None:
    """Negation, absolute value, complement; the least number has no opposite."""
    for a in EDGES:
        wanted = int(UNARY[op](np.int64(a))) % (1 << bits(dtype))
        assert ways(op, [a], dtype) == [wanted, wanted], a


@pytest.mark.parametrize("target", [DType.I32, DType.U32, DType.I64, DType.U64])
@pytest.mark.parametrize("source", [DType.I32, DType.U32, DType.I64, DType.U64])
def test_conversions_are_numpys(source: DType, target: DType) -> None:
    """A number keeps its sign when it grows, and its lowest bits when it shrinks; numbers and formulas alike."""
    values = NumberValues({}, lambda array, index: None)
    kinds = [np.dtype(f"{'int' if each.value[0] == 'i' else 'uint'}{bits(each)}") for each in (source, target)]
    for a in EDGES:
        given = np.array(a).astype(kinds[0])
        wanted = int(given.astype(kinds[1])) % (1 << bits(target))
        number = values.number(int(given), source)
        cases = values.cast(number, source, target).value
        assert isinstance(cases, dict)
        assert [each % (1 << bits(target)) for each in cases] == [wanted], a
        found: Any = values.cast(Cased(values.formula(number), source, FALSE()), source, target).value
        assert found.simplify().constant_value() % (1 << bits(target)) == wanted, a


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "min", "max"])
def test_floats_are_exact(op: str) -> None:
    """As fractions."""
    exact: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
    exact |= {"/": operator.truediv, "min": min, "max": max}
    some = [Fraction(n, 4) for n in (-7, -1, 2, 3, 9)]
    for a in some:
        for b in some:
            assert ways(op, [a, b], DType.F32) == [exact[op](a, b)] * 2
    for a in some:
        assert ways("abs", [a], DType.F32) == [abs(a)] * 2
        assert ways("-", [a], DType.F32) == [-a] * 2
