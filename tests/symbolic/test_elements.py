"""Rows of element types against NumPy, which knows all of them but bf16."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from symbolic.algebra.numbers import NUMPY_DTYPES, STORED, as_numbers, float_limits, from_memory
from symbolic.elements import DType, is_exact, limits, wrapped

DATA = [dtype for dtype in DType if dtype.is_data and dtype is not DType.STATE]


def telling_numbers(dtype: DType) -> list[Any]:
    """Return numbers of a type, the greatest, the least and those of most digits among them."""
    if not dtype.is_float:
        low, high = limits(dtype)
        return [low, high, high // 2, *([low + 1] if low else [])]
    if dtype is DType.BF16:
        return [from_memory(np.uint16(bits), dtype) for bits in (0x7F7F, 0x0001, 0x3F81)]
    info = np.finfo(NUMPY_DTYPES[dtype])
    return [info.max, info.smallest_subnormal, 1 + info.eps]


@pytest.mark.parametrize("source", DATA)
def test_what_another_type_holds_exactly(source: DType) -> None:
    """A number that shows it is lost in each type that does not hold all of them."""
    for target in DATA:
        kept = [_same(number, as_numbers(number, target)) for number in telling_numbers(source)]
        assert is_exact(source, target) == (all(kept) and source is not target), (source, target)


def _same(number: Any, other: Any) -> bool:
    exact = [Fraction(each.item() if hasattr(each, "item") else each) if np.isfinite(each) else None
             for each in (number, other)]  # fmt: skip
    return exact[0] == exact[1]


def test_rows_are_what_numpy_says() -> None:
    for dtype in DATA:
        kind = np.dtype(NUMPY_DTYPES[dtype])
        assert np.dtype(STORED[dtype]).itemsize * 8 == dtype.bits
        assert dtype.is_float == (kind.kind == "f") and dtype.is_unsigned == (kind.kind == "u")
        if kind.kind in "iu":
            assert limits(dtype) == (np.iinfo(kind).min, np.iinfo(kind).max)
            assert wrapped(limits(dtype)[1] + 1, dtype) == limits(dtype)[0]
        elif dtype is not DType.BF16:
            found = float_limits(dtype)
            info = np.finfo(kind)
            assert (found.eps, found.tiny, found.max) == (info.eps, info.smallest_subnormal, info.max)
    numbers = [float(from_memory(np.uint16(bits), DType.BF16)) for bits in (0x0001, 0x7F7F)]
    assert [float_limits(DType.BF16).tiny, float_limits(DType.BF16).max] == numbers
    spelled = [(dtype.row.c, dtype.row.numba or dtype.value) for dtype in DATA]
    assert all(a[0] != b[0] and a[1] != b[1] for a, b in product(spelled, repeat=2) if a is not b)
