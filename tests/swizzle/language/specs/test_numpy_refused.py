"""What a specification in NumPy may not do is refused, in words that say what to write."""

from __future__ import annotations

import pytest

from swizzle import SwizzleError
from symbolic.algebra.terms import Terms
from tests.swizzle.language.specs.test_numpy_idioms import function_of, on_data

REFUSED = {
    "np.sort(x)": ("np.sort of data", "network of np.minimum"),
    "x.argsort()": ("np.argsort of data", "np.where"),
    "np.median(x)": ("np.median of data", "network"),
    "np.quantile(x, 0.5)": ("np.quantile of data", "arithmetic"),
    "np.unique(n)": ("np.unique of data", "shapes do not depend on data"),
    "np.nonzero(x)": ("np.nonzero of data", "np.where(mask, x, 0)"),
    "np.where(x > 0)": ("np.where with a condition only", "np.where(mask, x, y)"),
    "x[x > 0]": ("selects elements by a mask", "np.where(mask, x, 0)"),
    "(2 * x)[n]": ("an array that it has computed", "read the inputs at the index"),
    "A[:, i]": ("among slices", "give each dimension an index"),
    "np.isnan(x)": ("np.isnan of data", "no NaN"),
    "np.nansum(x)": ("np.nansum of data", "x.sum()"),
    "np.fft.fft(x)": ("np.fft.fft of data", "arithmetic"),
    "np.linalg.inv(C)": ("np.linalg.inv of data", "arithmetic"),
    "np.linalg.norm(A, 2)": ("np.linalg.norm with ord=2", "sums and np.sqrt"),
    "np.array_equal(x, y)": ("np.array_equal of data", "decides nothing by data"),
    "np.histogram(x)": ("np.histogram of data", "np.arange(bins)"),
    "np.interp(x, x, y)": ("np.interp of data", "the interpolation"),
    "np.cbrt(x)": ("np.cbrt of data", "np.power"),
    "np.arctan2(x, y)": ("np.arctan2 of data", "np.where"),
    "np.fmod(n, 3)": ("np.fmod of data", "x % y"),
    "x.view(np.int32)": ("ndarray.view of data", "no bits"),
    "x.tobytes()": ("ndarray.tobytes of data", "no bits"),
    "x.astype(complex)": ("converts data to complex128", "leave the conversion out"),
    "x ** 100": ("takes a power with the data value", "math.pow"),
    "1 << n": ("shifts by the data value", "power of two"),
    "x if (x > 0).all() else y": ("compares the data value", "where(a < b, x, y)"),
    "x if x[:2] > 0 else y": ("takes the truth value of an array of data", "np.where"),
    "[v for v in range(n[0])]": ("indexes with the data value", "gather"),
    "np.pad(x, 1, mode='linear_ramp')": ("np.pad with mode='linear_ramp'", "np.concatenate"),
    "np.bincount(n)": ("np.bincount of data", "np.arange"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    """What is said of it, and how it is mended."""
    found, fix = REFUSED[text]
    with pytest.raises(SwizzleError) as caught:
        on_data(function_of(text, f"return {text}"), Terms())
    assert found in caught.value.found
    assert fix in caught.value.fix


FAILING = {
    "A @ x[:3]": (ValueError, "matmul"),
    "x + y[:4]": (ValueError, "broadcast"),
    "np.concatenate([x, A])": (ValueError, "dimensions"),
    "x >> 1": (TypeError, "right_shift"),
    "A.sum(axis=2)": (ValueError, "axis 2"),
    "A[4, 0]": (IndexError, "index 4 is out of bounds for A with size 4"),
    "np.max(x[:0])": (ValueError, "zero-size"),
    "n.copy().__iadd__(0.5)": (TypeError, "Cannot cast"),
}


@pytest.mark.parametrize("text", FAILING)
def test_what_numpy_refuses(text: str) -> None:
    """As NumPy says it."""
    kind, said = FAILING[text]
    with pytest.raises(kind, match=said):
        on_data(function_of(text, f"return {text}"), Terms())
