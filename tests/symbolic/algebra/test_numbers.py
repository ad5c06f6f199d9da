"""What a cast of data stands for, against NumPy's conversions."""

import itertools

import numpy as np
import pytest

from symbolic.algebra.numbers import NUMPY_DTYPES, as_numbers, conversion, float_limits, from_memory, in_memory
from symbolic.ir.program import DType

DATA = [dtype for dtype in NUMPY_DTYPES if dtype not in (DType.BOOL, DType.INDEX)]


@pytest.mark.parametrize(("source", "target"), [*itertools.product(DATA, DATA)])
def test_only_what_changes_nothing_is_no_operator(source: DType, target: DType) -> None:
    """Nothing is left of a cast to the same type and of a widening between floats, which count as exact."""
    floats = source.is_float and target.is_float
    a, b = (float_limits(dtype) for dtype in ((source, target) if floats else (DType.F32, DType.F32)))
    widens = floats and a.eps >= b.eps and a.max <= b.max
    assert (conversion(source, target) is None) == (source is target or widens)


def test_bf16_rounds_to_nearest_even() -> None:
    """Each number of 16 bits is itself; what lies between two is the nearer one, or the even one; beyond them is
    infinity."""
    every = from_memory(np.arange(1 << 16, dtype=np.uint16), DType.BF16)
    finite = np.sort(every[np.isfinite(every)].astype(np.float64))
    same = in_memory(every, DType.BF16)[np.isfinite(every)]
    assert np.array_equal(same, np.arange(1 << 16)[np.isfinite(every)])
    low, high = finite[:-1], finite[1:]
    middle = as_numbers((low + high) / 2, DType.BF16).astype(np.float64)
    even = np.where(in_memory(low.astype(np.float32), DType.BF16) % 2 == 0, low, high)
    assert np.array_equal(middle, even)
    assert np.array_equal(as_numbers(low + (high - low) * 0.499, DType.BF16), low)
    assert np.array_equal(as_numbers(low + (high - low) * 0.501, DType.BF16), high)
    assert as_numbers(3.4e38, DType.BF16) == np.inf and np.isnan(as_numbers(np.nan, DType.BF16))
