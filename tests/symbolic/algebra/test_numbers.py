"""What a cast of data stands for, against NumPy's conversions."""

import itertools

import numpy as np
import pytest

from symbolic.algebra.numbers import NUMPY_DTYPES, conversion
from symbolic.ir.program import DType

DATA = [dtype for dtype in NUMPY_DTYPES if dtype not in (DType.BOOL, DType.INDEX)]


@pytest.mark.parametrize(("source", "target"), [*itertools.product(DATA, DATA)])
def test_only_what_changes_nothing_is_no_operator(source: DType, target: DType) -> None:
    """Nothing is left of a cast to the same type and of a widening between floats, which count as exact."""
    widens = source.is_float and target.is_float and np.can_cast(NUMPY_DTYPES[source], NUMPY_DTYPES[target])
    assert (conversion(source, target) is None) == (source is target or widens)
