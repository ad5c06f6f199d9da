"""Launching: arguments are checked before a GPU is asked for; on a GPU the numbers are NumPy's.

Kernels are found in a text by the names that C++ outside their namespaces calls them.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.launch import compile_for, gpu_available, kernels_of, launch, qualified
from symbolic.errors import SwizzleError

AVAILABLE, REASON = gpu_available()
needs_gpu = pytest.mark.skipif(not AVAILABLE, reason=REASON)

SCALE = """
namespace demo {
extern "C" __global__ void rotate(const float* x, float* y, int n)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = __shfl_sync(0xffffffffu, x[i], (threadIdx.x + 3) & 31);
  if (i < n) y[i] = v;
}
template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }
}  // namespace demo
"""


def _device_array(shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Any:
    interface = {"shape": shape, "strides": strides, "typestr": "<f4", "data": (4096, False), "version": 3}
    return SimpleNamespace(__cuda_array_interface__=interface)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (np.zeros((4, 4), np.float32)[:, 1], "argument 0 is not contiguous"),
        (_device_array((4, 4), (4, 16)), "argument 0 is not contiguous"),
        (3, "argument 0 is a int"),
        ([1.0, 2.0], "argument 0 is a list"),
    ],
)
def test_arguments_that_cannot_be_passed_are_refused(argument: Any, message: str) -> None:
    """The refusal comes whether or not there is a GPU."""
    with pytest.raises(SwizzleError, match=message):
        launch(SCALE, "rotate", (1, 1, 1), (32, 1, 1), [argument])


def test_a_misaligned_device_array_is_refused() -> None:
    """Where a kernel loads vectors; NumPy arrays are copied to where the device likes them."""
    slice_ = SimpleNamespace(
        __cuda_array_interface__={"shape": (4,), "strides": None, "typestr": "<f4", "data": (4100, False), "version": 3}
    )
    with pytest.raises(SwizzleError, match="argument 1 starts at an address that is not a multiple of 16 bytes"):
        launch(SCALE, "rotate", (1, 1, 1), (32, 1, 1), [_device_array((4,)), slice_], alignment=(16, 16))


def test_launch_shapes_and_streams_that_cannot_be_are_refused() -> None:
    """A block too large, an empty grid, and a stream that is none."""
    with pytest.raises(SwizzleError, match="block of"):
        launch(SCALE, "rotate", (1, 1, 1), (32, 33, 1), [])
    with pytest.raises(SwizzleError, match="grid"):
        launch(SCALE, "rotate", (1, 0, 1), (32, 1, 1), [])
    with pytest.raises(SwizzleError, match="stream is a str"):
        launch(SCALE, "rotate", (1, 1, 1), (32, 1, 1), [], stream="default")


@pytest.mark.skipif(AVAILABLE, reason="this machine has a GPU")
def test_without_a_gpu_the_reason_is_given() -> None:
    """Contiguous arguments of every kind pass the checks, and then the missing GPU is named."""
    arguments = [np.zeros(32, np.float32), _device_array((4, 8)), _device_array((4, 8), (32, 4)), np.int32(32)]
    with pytest.raises(SwizzleError) as caught:
        launch(SCALE, "rotate", (1, 1, 1), (32, 1, 1), arguments)
    assert REASON and REASON in str(caught.value) and "--device cpu" in str(caught.value)


def test_asking_for_a_gpu_imports_nothing_heavy() -> None:
    """gpu_available answers without numba, without CUDA's bindings and without a solver."""
    script = """
import sys
from cuda_out.compile.launch import gpu_available
gpu_available()
print([name for name in ("numba", "cuda.core", "cuda.bindings", "pysmt", "z3", "cvc5") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
@pytest.mark.parametrize("kernel", ["demo::rotate", "demo::scale<float, 3>"])
def test_kernels_compile_to_a_cubin_without_a_driver(kernel: str) -> None:
    """Exported symbols in a namespace and instantiated templates are both found by name."""
    code = compile_for(SCALE, kernel, "sm_80")
    assert bytes(code.code)[:4] == b"\x7fELF"
    assert kernel in code.symbol_mapping


@needs_gpu
@pytest.mark.gpu
def test_numpy_arrays_are_copied_and_scalars_passed() -> None:
    """Two blocks rotate each warp by three lanes; elements past n stay."""
    x, y = np.arange(128, dtype=np.float32), np.full(128, -1, np.float32)
    launch(SCALE, "rotate", (2, 1, 1), (64, 1, 1), [x, y, np.int32(100)])
    expected = x.reshape(-1, 32)[:, (np.arange(32) + 3) % 32].ravel()
    np.testing.assert_array_equal(y, np.where(np.arange(128) < 100, expected, -1))


@needs_gpu
@pytest.mark.gpu
def test_device_arrays_are_used_in_place_on_a_stream() -> None:
    """A numba device array is changed where it lies, on the stream that was given."""
    from numba import cuda

    stream = cuda.stream()
    x = cuda.to_device(np.arange(32, dtype=np.float64))
    launch(SCALE, "scale<double, 5>", (1, 1, 1), (32, 1, 1), [x], stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(32) * 5.0)


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
