"""Kernels are found in a text by the names that C++ outside their namespaces calls them."""

from __future__ import annotations

import pytest

from cuda_out.compile.qualified import kernels_of, qualified
from symbolic.errors import SwizzleError

TEXT = """
// namespace comment { __global__ void no(int* x) {} }
/* __global__ void neither() { */
extern "C" __global__ void plain(int* x) { if (*x) { *x = 1; } const char* s = "namespace quoted {"; char c = '}'; }
namespace outer {
namespace inner::deep {
__device__ int helper(int x) { return x; }
template <typename T, int N>
__global__ void __launch_bounds__(128, 2) scale(T* __restrict__ x) { x[0] *= N; }
}
namespace { __global__ void hidden() {} }
extern "C" { __global__ void exported(float* y); }
extern "C" __global__ void exported(float* y) {}
}
namespace other { __global__ void exported(int) {} }
"""


def test_kernels_are_listed_with_their_namespaces() -> None:
    """Comments, literals, blocks and unnamed scopes do not confuse; a declaration counts once."""
    assert kernels_of(TEXT) == [
        "plain",
        "outer::inner::deep::scale",
        "outer::hidden",
        "outer::exported",
        "other::exported",
    ]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("plain", "plain"),
        ("scale<float, 3>", "outer::inner::deep::scale<float, 3>"),
        ("deep::scale<a::b, 3>", "outer::inner::deep::scale<a::b, 3>"),
        ("outer::exported", "outer::exported"),
    ],
)
def test_a_name_is_completed(kernel: str, expected: str) -> None:
    """Leading namespaces may be left out; template arguments stay as they are."""
    assert qualified(TEXT, kernel) == expected


@pytest.mark.parametrize(("kernel", "found"), [("ghost", "no kernels named 'ghost'"), ("exported", "2 kernels named")])
def test_a_name_that_is_not_one_kernel_is_refused(kernel: str, found: str) -> None:
    """An unknown or ambiguous name lists what there is."""
    with pytest.raises(SwizzleError, match=found) as caught:
        qualified(TEXT, kernel)
    assert "outer::hidden" in caught.value.expected
