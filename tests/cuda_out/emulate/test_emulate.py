"""Kernels run on the CPU give the numbers that CUDA defines; NumPy is the oracle."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cuda_out.compile.toolchain import CompileError
from cuda_out.emulate.emulate import emulate, emulate_checked
from symbolic.errors import SwizzleError

pytestmark = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler (g++ or clang++)"
)

ONE, WARP = (1, 1, 1), (32, 1, 1)

CONVOLUTION = """
// A kernel in the shape that a reviewer would accept: namespace, launch bounds, guarded host wrapper.
namespace demo {
extern "C" __global__ void __launch_bounds__(64)
convolve(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int n)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31;
  const float first = x[i];
  const float second = lane < 2 ? x[i + 32] : 0.0f;
  float sum = w[0] * first;
#pragma unroll
  for (int k = 1; k < 3; ++k) {
    sum += w[k] * __shfl_sync(0xffffffffu, lane < k ? second : first, (lane + k) & 31);
  }
  if (i < n) y[i] = sum;
}
}  // namespace demo

#if !defined(__CUDACC_RTC__)
#include <cuda_runtime.h>
inline cudaError_t launch(const float* x, const float* w, float* y, int n, cudaStream_t stream) {
  demo::convolve<<<2, 64, 0, stream>>>(x, w, y, n);
  return cudaGetLastError();
}
#endif
"""


def test_register_cached_convolution() -> None:
    """Two blocks of two warps exchange their register cache by shuffles."""
    x = np.random.default_rng(1).standard_normal(130).astype(np.float32)
    w = np.array([0.5, -2.0, 3.0], np.float32)
    y = np.zeros(128, np.float32)
    emulate_checked(CONVOLUTION, "convolve", (2, 1, 1), (64, 1, 1), [x, w, y, np.int32(128)])
    np.testing.assert_array_equal(y, w[0] * x[:-2] + w[1] * x[1:-1] + w[2] * x[2:])


def test_two_kernels_in_one_text_and_in_one_process() -> None:
    """Each kernel of a text runs by its own name, one after the other on the same array."""
    text = """
      __global__ void twice(int* x) { x[threadIdx.x] *= 2; }
      namespace a { namespace b { __global__ void add(int* x, int n) { x[threadIdx.x] += n; } } }
    """
    x = np.arange(8, dtype=np.int32)
    emulate(text, "twice", ONE, (8, 1, 1), [x])
    emulate(text, "a::b::add", ONE, (8, 1, 1), [x, np.int32(3)])
    np.testing.assert_array_equal(x, np.arange(8) * 2 + 3)


def test_templates_are_instantiated_by_name() -> None:
    """A template kernel is run with explicit arguments, shared memory included."""
    text = """
      template <typename T, int N>
      __global__ void reverse(T* x) {
        __shared__ T s[N];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] = s[N - 1 - threadIdx.x];
      }
    """
    x = np.arange(40, dtype=np.float64)
    emulate_checked(text, "reverse<double, 40>", ONE, (40, 1, 1), [x])
    np.testing.assert_array_equal(x, np.arange(40)[::-1])


def test_threads_and_blocks_in_three_dimensions() -> None:
    """Every thread sees its own coordinates and the launch's sizes."""
    text = """
      __global__ void number(unsigned* y) {
        const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        y[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = block * 1000 + thread;
      }
    """
    y = np.zeros((24, 30), np.uint32)
    emulate_checked(text, "number", (2, 3, 4), (5, 3, 2), [y])
    np.testing.assert_array_equal(y, np.arange(24)[:, None] * 1000 + np.arange(30))


SHUFFLES = """
__global__ void shuffles(const int* x, int* y, int width) {
  const int t = threadIdx.x, n = blockDim.x, lane = t % width;
  const int v = x[t];
  y[0 * n + t] = __shfl_sync(0xffffffffu, v, lane + 3, width);
  y[1 * n + t] = __shfl_up_sync(0xffffffffu, v, 2, width);
  y[2 * n + t] = __shfl_down_sync(0xffffffffu, v, 2, width);
  y[3 * n + t] = __shfl_xor_sync(0xffffffffu, v, 1, width);
  y[4 * n + t] = warpSize;
}
"""


@pytest.mark.parametrize(("warp_size", "width"), [(4, 4), (8, 8), (16, 16), (32, 32), (32, 4), (64, 64), (64, 16)])
def test_shuffles_at_every_warp_size_and_width(warp_size: int, width: int) -> None:
    """idx wraps around its segment; up, down and xor read themselves at its ends."""
    x = np.random.default_rng(2).integers(0, 100, 128).astype(np.int32)
    y = np.zeros((5, 128), np.int32)
    emulate_checked(SHUFFLES, "shuffles", ONE, (128, 1, 1), [x, y, np.int32(width)], warp_size=warp_size)
    lane, base = np.arange(128) % width, np.arange(128) // width * width
    sources = [
        (lane + 3) % width,
        np.where(lane < 2, lane, lane - 2),
        np.where(lane + 2 >= width, lane, lane + 2),
        lane ^ 1,
    ]
    for row, source in zip(y, sources, strict=False):
        np.testing.assert_array_equal(row, x[base + source])
    assert set(y[4]) == {warp_size}


def test_masks_of_part_of_a_warp() -> None:
    """Halves of a warp shuffle apart, at two places of the text; a short last warp takes the full mask."""
    text = """
      __global__ void halves(int* y) {
        const int t = threadIdx.x;
        if (t < 16) y[t] = __shfl_sync(0x0000ffffu, t, 15 - t);
        else if (t < 32) y[t] = __shfl_sync(0xffff0000u, t, 16);
        else y[t] = __shfl_sync(0xffffffffu, t, 1);
      }
    """
    y = np.zeros(40, np.int32)
    emulate_checked(text, "halves", ONE, (40, 1, 1), [y])
    np.testing.assert_array_equal(y, [*range(15, -1, -1), *[16] * 16, *[33] * 8])


def test_votes() -> None:
    """ballot gathers one bit a lane; any and all are what their names say."""
    text = """
      __global__ void votes(const int* x, unsigned* y) {
        const int t = threadIdx.x;
        y[t] = __ballot_sync(0xffffffffu, x[t] > 4);
        y[32 + t] = __any_sync(0xffffffffu, x[t] > 8) * 2 + __all_sync(0xffffffffu, x[t] >= 0);
      }
    """
    x = (np.arange(32) * 7 % 10).astype(np.int32)
    y = np.zeros(64, np.uint32)
    emulate_checked(text, "votes", ONE, WARP, [x, y])
    assert set(y[:32]) == {sum(1 << i for i in range(32) if x[i] > 4)}
    assert set(y[32:]) == {2 * bool((x > 8).any()) + 1}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", np.float32), ("double", np.float64), ("int", np.int32), ("unsigned int", np.uint32),
        ("long long", np.int64), ("unsigned long long", np.uint64),
    ],
)  # fmt: skip
def test_dtypes(name: str, dtype: type[np.generic]) -> None:
    """Arithmetic and shuffles of 32 and 64 bits agree with NumPy, wrapping included."""
    text = """
      template <typename T> __global__ void mix(const T* x, T scale, T* y) {
        const int t = threadIdx.x;
        const T other = __shfl_xor_sync(0xffffffffu, x[t], 5);
        y[t] = min(x[t] * scale + other, max(x[t], other) * scale);
      }
    """
    info = np.random.default_rng(3)
    x = info.integers(0, 2**63, 32).astype(dtype) if np.dtype(dtype).kind in "iu" else info.random(32).astype(dtype)
    y, scale = np.zeros_like(x), dtype(3)
    emulate(text, f"mix<{name}>", ONE, WARP, [x, scale, y])
    other = x[np.arange(32) ^ 5]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(y, np.minimum(x * scale + other, np.maximum(x, other) * scale))


HALF = """
#include <cuda_fp16.h>
__global__ void half_sums(const __half* a, const __half* b, __half* y, float* wide, const double* d, __half* narrow) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  y[i] = a[i] + b[i];
  y[n + i] = __hsub(a[i], b[i]);
  y[2 * n + i] = a[i] * b[i];
  y[3 * n + i] = __shfl_xor_sync(0xffffffffu, a[i], 1);
  wide[i] = __half2float(a[i]);
  narrow[i] = __double2half(d[i]);
}
"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_half_precision_over_all_its_values() -> None:
    """Conversions are exact for every half; results round to nearest even, subnormals and infinities included."""
    a = np.arange(2**16, dtype=np.uint16).view(np.float16)
    b = np.random.default_rng(4).permutation(a)
    doubles = np.random.default_rng(5).standard_normal(2**16) * 2.0 ** np.random.default_rng(6).integers(-26, 17, 2**16)
    near_tie = np.nextafter((a[:31743].astype(float) + a[1:31744].astype(float)) / 2, np.inf)  # float alone loses it
    doubles[: len(near_tie)] = near_tie
    y, wide, narrow = np.zeros((4, 2**16), np.float16), np.zeros(2**16, np.float32), np.zeros(2**16, np.float16)
    emulate(HALF, "half_sums", (64, 1, 1), (1024, 1, 1), [a, b, y, wide, doubles, narrow])
    expected = [a + b, a - b, a * b, a.reshape(-1, 2)[:, ::-1].ravel()]
    for row, values in zip(y, expected, strict=True):
        np.testing.assert_array_equal(row, values)
    np.testing.assert_array_equal(wide, a.astype(np.float32))
    np.testing.assert_array_equal(narrow, doubles.astype(np.float16))


def test_vectors_constants_and_dynamic_shared_memory() -> None:
    """float4 loads, `__constant__`, `__ldg`, `__fmaf_rn`, two-dimensional and dynamic shared arrays work together."""
    text = """
      __constant__ float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
      __device__ __forceinline__ float dot(float4 v) {
        return __fmaf_rn(v.x, weights[0], __fmaf_rn(v.y, weights[1], v.z * weights[2] + v.w * weights[3]));
      }
      __global__ void gather(const float* x, float2* y) {
        extern __shared__ float dynamic[];
        __shared__ __align__(16) float tile[4][9];
        const int t = threadIdx.x;
        const float4 v = reinterpret_cast<const float4*>(x)[t];
        dynamic[t] = dot(v);
        tile[t / 8][t % 8] = __ldg(x + t);
        __syncthreads();
        y[t] = make_float2(dynamic[31 - t], tile[t % 4][t / 4]);
      }
    """
    x = np.random.default_rng(7).integers(-9, 9, 130).astype(np.float32)  # 520 bytes: no multiple of 16
    y = np.zeros((32, 2), np.float32)
    emulate_checked(text, "gather", ONE, WARP, [x, y], shared_bytes=32 * 4)
    dots = x[:128].reshape(32, 4) @ np.array([1, 2, 3, 4], np.float32)
    t = np.arange(32)
    np.testing.assert_array_equal(y, np.stack([dots[::-1], x[t % 4 * 8 + t // 4]], axis=1))


def test_arrays_need_not_be_contiguous_and_const_ones_need_not_be_writeable() -> None:
    """Results go through views; a read-only array may be an input, not an output."""
    text = "__global__ void copy(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }"
    x, y = np.arange(8, dtype=np.int32), np.zeros(16, np.int32)
    x.flags.writeable = False
    emulate_checked(text, "copy", ONE, (8, 1, 1), [x, y[::2]])
    np.testing.assert_array_equal(y[::2], x)
    assert not y[1::2].any()
    with pytest.raises(SwizzleError, match="argument 1 is a read-only array"):
        emulate(text, "copy", ONE, (8, 1, 1), [np.zeros(8, np.int32), x])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([np.zeros(8, np.int32)], "takes 2 arguments, not 1"),
        ([np.zeros(8, np.float32), np.int32(0)], "argument 0 is an array of type f4, but k takes an array of type i4"),
        ([np.zeros(8, np.int32), np.int64(0)], "argument 1 is a scalar of type i8, but k takes a scalar of type i4"),
        ([np.int32(0), np.int32(0)], "argument 0 is a scalar of type i4, but k takes an array of type i4"),
        ([np.zeros(8, np.int32), 5], "argument 1 is a int"),
        ([np.zeros(8, np.complex64), np.int32(0)], "argument 0 has dtype complex64"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: list[object], message: str) -> None:
    """Number, kind and dtype of the arguments are compared with the kernel's own parameters."""
    with pytest.raises(SwizzleError, match=message):
        emulate("__global__ void k(int* x, int n) {}", "k", ONE, WARP, arguments)  # type: ignore[arg-type]


def test_launches_that_cannot_be_are_refused() -> None:
    """Sizes, warp sizes, names and overlapping arrays that no launch can have are the caller's mistakes."""
    text, x = "__global__ void k(int* x, int* y) {}", np.zeros(8, np.int32)
    with pytest.raises(SwizzleError, match="block of"):
        emulate(text, "k", ONE, (1025, 1, 1), [x, x.copy()])
    with pytest.raises(SwizzleError, match="grid"):
        emulate(text, "k", (0, 1, 1), WARP, [x, x.copy()])
    with pytest.raises(SwizzleError, match="warp size 12"):
        emulate(text, "k", ONE, WARP, [x, x.copy()], warp_size=12)
    with pytest.raises(SwizzleError, match="arguments 0 and 1 share memory"):
        emulate(text, "k", ONE, WARP, [x, x[2:]])
    with pytest.raises(SwizzleError, match="no kernels named 'q'"):
        emulate(text, "q", ONE, WARP, [x, x.copy()])


def test_text_that_does_not_compile_is_quoted() -> None:
    """The error holds the compiler's words and the numbered line."""
    with pytest.raises(CompileError, match=r"2 >   undeclared = 3;"):
        emulate("__global__ void k(int* x) {\n  undeclared = 3;\n}\n", "k", ONE, WARP, [np.zeros(1, np.int32)])


@pytest.mark.slow
def test_compiled_programs_are_kept_in_the_cache_folder(tmp_path: Path) -> None:
    """A second run finds the program by content; another text gets another one; no unfinished file stays."""
    text, x = "__global__ void k(int* x) { x[threadIdx.x] += 1; }", np.zeros(32, np.int32)
    emulate(text, "k", ONE, WARP, [x], cache_dir=tmp_path)
    first = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    emulate(text, "k", ONE, WARP, [x], cache_dir=tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == first
    emulate(text.replace("1", "2"), "k", ONE, WARP, [x], cache_dir=tmp_path)
    assert len(list(tmp_path.iterdir())) == len(first) + 1
    assert set(x) == {4}


@pytest.mark.slow
def test_no_file_is_left_behind(tmp_path: Path) -> None:
    """The process's own folder of programs is gone when it ends."""
    script = """
import numpy as np
from cuda_out.emulate.emulate import emulate
emulate("__global__ void k(int* x) { x[0] = 1; }", "k", (1, 1, 1), (1, 1, 1), [np.zeros(1, np.int32)])
"""
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_a_compiler_gets_told_what_to_install(tmp_path: Path) -> None:
    """Where there is no compiler, the user is told so; no traceback."""
    script = """
import os
import numpy as np
from cuda_out.emulate.emulate import emulate
from symbolic.errors import SwizzleError
os.environ["PATH"] = os.environ["CXX"] = ""
try:
    emulate("__global__ void k(int* x) {}", "k", (1, 1, 1), (1, 1, 1), [np.zeros(1, np.int32)])
except SwizzleError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "no C++ compiler found" in done.stdout and "apt-get install g++" in done.stdout


def test_functions_of_float_are_cudas() -> None:
    """Where a name has an overload for float, it is there, and those for doubles and integers beside it."""
    text = """
#define SAME(call, type) static_assert(__is_same(decltype(call), type), #call)
extern "C" __global__ void k(float* y) {
    SAME(sqrt(y[0]), float); SAME(sqrt(1.0), double); SAME(fabs(y[0]), float); SAME(abs(y[0]), float);
    SAME(pow(y[0], 2.0f), float); SAME(fma(y[0], 1.0f, 1.0f), float); SAME(fmin(y[0], y[1]), float);
    SAME(max(y[0], y[1]), float); SAME(floor(1.5), double); SAME(exp(3), double); SAME(pow(y[0], 2), double);
    y[threadIdx.x] = isnan(y[1]) ? 0 : sqrt(y[0]) + exp(y[1]) + pow(y[0], 0.5f);
}
"""
    y = np.array([4, 0, 0], np.float32)
    emulate(text, "k", (1, 1, 1), (1, 1, 1), [y])
    assert y[0] == 5


def test_fast_functions_are_the_hosts() -> None:
    """`__expf` and its like, whose names C's <math.h> declares and no library defines."""
    text = """
extern "C" __global__ void k(const float* x, float* y) {
    const float a = x[0], b = x[1];
    y[0] = __expf(a); y[1] = __exp10f(a); y[2] = __logf(b); y[3] = __log2f(b); y[4] = __log10f(b); y[5] = __powf(b, a);
    y[6] = __sinf(a); y[7] = __cosf(a); y[8] = __tanf(a); y[9] = __tanhf(a); y[10] = __fdividef(a, b);
    y[11] = __frcp_rn(b); y[12] = __fsqrt_rn(b); y[13] = __frsqrt_rn(b); y[14] = __saturatef(b);
    y[15] = __saturatef(-a); y[16] = float(__drcp_rn(b)); y[17] = float(__dsqrt_rn(b));
}
"""
    y, a, b = np.zeros(18, np.float32), 0.75, 3.5
    emulate(text, "k", (1, 1, 1), (1, 1, 1), [np.array([a, b], np.float32), y])
    wanted = [np.exp(a), 10**a, np.log(b), np.log2(b), np.log10(b), b**a, np.sin(a), np.cos(a), np.tan(a), np.tanh(a)]
    wanted += [a / b, 1 / b, np.sqrt(b), 1 / np.sqrt(b), 1, 0, 1 / b, np.sqrt(b)]
    assert np.allclose(y, wanted, rtol=1e-6)
