"""What a cast of data stands for, against NumPy's conversions."""

import itertools

import numpy as np
import pytest

from symbolic.algebra.conversions import conversion
from symbolic.algebra.numbers import NUMPY_DTYPES, as_numbers, float_limits, from_memory, in_memory
from symbolic.algebra.terms import Terms
from symbolic.ir.program import DType

DATA = [dtype for dtype in NUMPY_DTYPES if dtype not in (DType.BOOL, DType.INDEX)]


@pytest.mark.parametrize(("source", "target"), [*itertools.product(DATA, DATA)])
def test_what_is_computed_in_a_type_is_a_number_of_it_elsewhere(source: DType, target: DType) -> None:
    """Nothing is left of a cast to the same type; a widening rounds to the type that the value was computed in, and
    what leaves 16 bits rounds to these first."""
    floats = source.is_float and target.is_float
    a, b = (float_limits(dtype) for dtype in ((source, target) if floats else (DType.F32, DType.F32)))
    widens = floats and a.eps >= b.eps and a.max <= b.max
    found = conversion(source, target)
    assert (found == ()) == (source is target)
    if source is not target and (widens or (source.is_float and source.bits == 16)):
        assert found[0] == f"to_{source.value}" and len(found) == 2 - widens


def test_only_what_a_type_may_not_hold_is_rounded() -> None:
    terms = Terms()
    terms.types = {"x": DType.F16, "v": DType.F32, "c": DType.I8}
    x, v, c = (terms.atom(name, 0) for name in "xvc")
    half, negative = terms.const(0.5), terms.apply("*", (terms.const(-1), x))
    for op, kept, rounded in (
        ("to_f16", (x, half, negative, c, terms.apply("max", (x, half))), (v, terms.const(0.1))),
        ("to_bf16", (half, c), (x, v)),
        ("to_f32", (x, v, c), (terms.apply("*", (x, x)), terms.apply("+", (v, x)))),
    ):
        for term in kept:
            assert terms.apply(op, (term,)) == term and (term,) in terms.spellings(op, term)
        for term in rounded:
            found = terms.apply(op, (term,))
            assert terms.nodes[found] == (op, (term,)) and terms.apply(op, (found,)) == found
            assert set(terms.spellings(op, found)) == {(term,), (found,)}


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
