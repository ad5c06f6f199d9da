"""Kinds of kernels that people publish: variables of the module, shared memory by a class, vectors, padded tiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.doctor.diagnosis import Doctor
from swizzle.strangers.reading.text import CudaText
from symbolic.errors import SwizzleError
from tests.swizzle.strangers.doctor.examined import diagnosed, doctor

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


def test_variables_of_the_module_are_written() -> None:
    """They begin as the module is loaded, and are outputs: what is written to them is part of the proof."""
    text = (
        "// swizzle doctor: --launch 1,32 --args f32[1024]\n__device__ float sums[32];\n"
        "__global__ void k(const float* x) {\n  __shared__ float tile[32][32];\n  int t = threadIdx.x;\n"
        "  for (int r = 0; r < 32; r++) tile[r][t] = x[32 * r + t];\n  __syncthreads();\n"
        "  for (int r = 0; r < 32; r++) sums[t] += tile[t][r];\n}\n"
    )
    found = diagnosed(text)
    assert (found.verdict, found.arrays[0].passes, found.arrays[0].mended_passes) == ("mended", 1056, 64)
    wrong = text.replace("tile[t][r];", "tile[t][31 - r];")
    patient = doctor(text)
    patient.diagnose()
    why, _ = patient.proved(patient.ran, wrong, {})
    assert why


def test_a_vector_of_an_array_that_is_not_aligned() -> None:
    """Where the array is declared, and what to write there."""
    text = (
        "// swizzle doctor: --launch 1,64 --args f32[256],f32.out[256]\n"
        "__global__ void k(const float4* x, float4* y) {\n"
        "  __shared__ float s[256];\n  ((float4*)s)[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
        "  y[threadIdx.x] = ((float4*)s)[63 - threadIdx.x];\n}\n"
    )
    with pytest.raises(SwizzleError, match="16 bytes of s at once, which is aligned to 4") as raised:
        doctor(text).diagnose()
    fix, place = raised.value.fix, raised.value.place
    assert place and (place.line, place.column) == (4, 3)
    assert fix and "__align__(16)" in fix and "line 3" in fix and "--launch" not in fix
    found = diagnosed(text.replace("__shared__", "__shared__ __align__(16)"))
    assert found.verdict == "clean" and [each.passes() for each in found.accesses if each.space == "shared"] == [8, 8]


def test_an_array_that_is_only_read() -> None:
    """The flag that says that it is written."""
    text = "// swizzle doctor: --launch 1,32 --args f32[32]\n__global__ void k(float* x) { x[threadIdx.x] = 1; }\n"
    with pytest.raises(SwizzleError, match="writes x, which is read-only") as raised:
        doctor(text).diagnose()
    assert raised.value.fix and "f32.out" in raised.value.fix


SHARED = """\
template <class T> struct Shared {
  __device__ operator T*() { extern __shared__ int raw[]; return (T*)raw; }
  __device__ operator const T*() const { extern __shared__ int raw[]; return (T*)raw; }
};
__device__ double* doubles() { extern __shared__ double other[]; return other; }
template <class T> __global__ void k(const T* x, T* y) {
  T* s = Shared<T>();
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[2 * t % 64];
}
"""


@pytest.mark.parametrize("text", [SHARED, SHARED.replace("s[2 * t % 64]", "((T*)doubles())[2 * t % 64]")])
def test_shared_memory_by_a_class(text: str) -> None:
    """The arrays of its functions are one, also under several names."""
    found = diagnosed(text, "k<float>", "1,64,256", "f32[64],f32.out[64]")
    (array,) = found.arrays
    assert (array.passes, array.least) == (6, 4) and "arrays with the name" not in array.why


def test_padded_tiles() -> None:
    """A tile of odd rows by its columns: no layout of rows takes the fewest turns."""
    text = (
        "// swizzle doctor: --launch 1,16x16 --args u32[256],u32.out[256]\n"
        "__global__ void k(const unsigned* x, unsigned* y) {\n  __shared__ unsigned tile[16][17];\n"
        "  int r = threadIdx.y, c = threadIdx.x;\n  tile[r][c] = x[16 * r + c];\n  __syncthreads();\n"
        "  y[16 * r + c] = tile[c][r];\n}\n"
    )
    (array,) = diagnosed(text).arrays
    assert (array.passes, array.mended_passes, array.least) == (32, 16, 16)
    assert array.chosen and array.chosen.bytes == 0 and array.chosen.least
    assert array.chosen.layout.formula == "c * 16 + (r ^ (c & 14))"


@pytest.mark.parametrize(
    "body",
    [
        "int old = 0, seen; do { seen = old; old = atomicCAS(z, seen, max(seen, t)); } while (seen != old);",
        "if (x[t] > 0) y[atomicInc(&count, 63u)] = x[t];",
    ],
)
def test_what_the_order_of_threads_decides(body: str) -> None:
    """One order is counted, and said to be an example."""
    text = (
        "// swizzle doctor: --launch 1,64 --args f32[64],f32.inout[64]\n__device__ unsigned count;\n"
        f"__global__ void k(const float* x, float* y) {{\n  __shared__ float s[64];\n"
        f"  int t = threadIdx.x, *z = (int*)y;\n  {body}\n"
        "  s[t] = x[t];\n  __syncthreads();\n  y[t] = s[63 - t];\n}\n"
    )
    found = diagnosed(text)
    assert found.verdict == "undecided" and found.example


REFUSED = {
    "y[t] = tex1Dfetch<float>((cudaTextureObject_t)0, t);": "a texture; hand the kernel an array",
    "y[t] = clock();": "a clock",
    'asm volatile("bar.sync 1, 32;"); y[t] = 1;': "a barrier that not all threads of the block wait at",
    'asm("mov.u32 %0, %%smid;" : "=r"(t)); y[t] = 1;': "make it of threadIdx",
    "y[t] = *(volatile float*)malloc(4);": "memory that a kernel allocates",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_refused_says_what_to_write(body: str) -> None:
    """What it is, and where it stands, by line and column."""
    text = (
        "// swizzle doctor: --launch 1,64 --args f32.out[64]\n__device__ void other(float* y) {}\n"
        f"__global__ void k(float* y) {{\n  int t = threadIdx.x;\n  {body}\n}}\n"
    )
    found = diagnosed(text)
    assert found.verdict == "undecided" and REFUSED[body] in found.why
    assert re.search(r"\(kernel\.cu:5:\d+\)$", found.why)


def test_what_is_printed_changes_nothing() -> None:
    """`printf`, by threads that are here; an assertion that fails is an error."""
    text = (
        "#include <stdio.h>\n// swizzle doctor: --launch 1,64 --args f32[64],f32.out[64]\n"
        "__global__ void k(const float* x, float* y) {\n  __shared__ float s[64];\n  int t = threadIdx.x;\n"
        '  s[t] = x[t];\n  if (t == 3) printf("%d %s\\n", t, "three");\n  __syncthreads();\n  y[t] = s[63 - t];\n}\n'
    )
    assert diagnosed(text).verdict == "clean"


MATRICES = """\
// swizzle doctor: --launch 1,32 --args u32[32,4],u32.out[32,4]
__global__ void k(const uint4* x, uint4* y) {{
  __shared__ uint4 tile[64];
  int t = threadIdx.x;
  uint4 v = x[t];
  unsigned a = __cvta_generic_to_shared(&tile[t]);
  asm volatile("stmatrix.sync.aligned.{0}.shared.b16 [%0], {{%1, %2, %3, %4}};"
               :: "r"(a), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
  __syncwarp();
  asm volatile("ldmatrix.sync.aligned.{0}.shared.b16 {{%0, %1, %2, %3}}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(a) : "memory");
  y[t] = v;
}}
"""


@pytest.mark.parametrize("order", ["x4.m8n8", "x4.m8n8.trans", "x4.trans.m8n8", "m8n8.x4.trans"])
def test_matrices_in_any_order_of_words(order: str) -> None:
    """As CUTLASS writes them: what is stored is loaded again."""
    found = diagnosed(MATRICES.format(order))
    assert found.verdict == "clean" and [each.kind for each in found.accesses if each.space == "shared"] == [
        "store", "load",
    ]  # fmt: skip
    wanted = diagnosed(MATRICES.format("m8n8.x4.trans" if "trans" in order else "m8n8.x4"))
    assert [(each.array, each.passes()) for each in found.accesses] == [
        (each.array, each.passes()) for each in wanted.accesses
    ]


def test_an_array_of_a_header_is_counted_and_not_patched(tmp_path: Path) -> None:
    """Its accesses have the lines of the calls; the answer says where it is declared."""
    (tmp_path / "turn.cuh").write_text(
        "template <int N> __device__ void turn(const float* x, float* y, int t) {\n  __shared__ float tile[N][N];\n"
        "  for (int r = 0; r < N; r++) tile[r][t] = x[N * r + t];\n  __syncthreads();\n"
        "  for (int r = 0; r < N; r++) y[N * r + t] = tile[t][r];\n}\n"
    )
    text = '#include "turn.cuh"\n__global__ void k(const float* x, float* y) { turn<32>(x, y, threadIdx.x); }\n'
    read = CudaText(str(tmp_path / "k.cu"), text)
    found = Doctor(read, "k", "1,32", "f32[1024],f32.out[1024]").diagnose()
    (array,) = found.arrays
    assert (found.verdict, array.passes, array.least, array.name) == ("undecided", 1056, 64, "tile")
    assert f"declared at {(tmp_path / 'turn.cuh').resolve()}:2" in array.why
    assert {each.line for each in found.accesses} == {2}


@pytest.mark.parametrize("body", ["y[t] = __activemask();", "__trap();"])
def test_what_a_branch_on_data_does_not_reach(body: str) -> None:
    """Who is there depends on data, so that one example is looked at, or nothing is said."""
    text = (
        "// swizzle doctor: --launch 1,64 --args f32[64],f32.out[64]\n"
        f"__global__ void k(const float* x, float* y) {{\n  int t = threadIdx.x;\n  y[t] = 0;\n"
        f"  if (x[t] > 100) {{ {body} }}\n}}\n"
    )
    found = diagnosed(text)
    assert found.verdict == "undecided" and "data" in found.example + found.why
