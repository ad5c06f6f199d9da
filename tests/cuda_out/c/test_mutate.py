"""Mutants of a printed text: what is altered, what is left alone, how they share a text."""

from __future__ import annotations

import pytest

from cuda_out.c.mutate import host_mutants, kernel_extent, mutants, together
from cuda_out.c.printer import print_cuda
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from tests.cuda_out.examples import EXAMPLES, conv1d
from tests.slow_cases import slow_unless

TEXT = """// k(x)[0] < 1
template <typename T> __device__ T helper(T a) { return a < 0 ? a[1] : a; }

extern "C" __global__ void __launch_bounds__(32) k(
    const float* __restrict__ x,  // in f32[8, 4]
    float* __restrict__ y) {  // out f32[32]
  __shared__ float s[2][16];
  float r[3];
  const int lane = int(threadIdx.x % 32);
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    r[i] = x[lane];  // x[0]
  }
  s[lane / 16][lane & 15] = r[0];
  __syncthreads();
  float out = 0.0f;
  if (lane < 7) out += __shfl_sync(0xffffffffu, r[2], (lane + 1) % 32, 16);
  y[lane] = out;
}
"""
EXPECTED = """
14: s[lane / 16] is the next element
14: s[lane / 16] is element 0
14: s[lane & 15] is the next element
14: s[lane & 15] is element 0
12: r[i] is the next element
12: r[i] is element 0
12: x[lane] is the next element
12: x[lane] is element 0
14: r[0] is the next element
17: r[2] is the next element
17: r[2] is element 0
18: y[lane] is the next element
18: y[lane] is element 0
17: no shuffle from (lane + 1) % 32
17: the shuffle from (lane + 1) % 32 is from the next lane
17: the shuffle from (lane + 1) % 32 is from lane 0
9: lane is one more
17: < is >=
17: without `if (lane < 7) out += __shfl_sync(0xffffffffu, r[2], (lane + 1) % 32, 16);`
15: without `__syncthreads();`
16: 0.0f is 1.0f
"""


def test_every_swizzle_is_altered_and_nothing_else() -> None:
    """Declarations, loop headers, comments, pragmas and helpers stay as they are."""
    found = mutants(TEXT, "k", [32, 32])
    assert {f"{m.line}: {m.change}" for m in found} == set(EXPECTED.strip().splitlines())
    assert len({m.text for m in found} | {TEXT}) == len(found) + 1
    changed = {m.change: m.text for m in found}
    assert "x[(lane + 1) % 32];" in changed["x[lane] is the next element"]
    assert "s[(lane / 16 + 1) % 2][lane & 15]" in changed["s[lane / 16] is the next element"]
    assert "out += (r[2]);" in changed["no shuffle from (lane + 1) % 32"]
    assert "r[2], ((lane + 1) % 32) + 1, 16)" in changed["the shuffle from (lane + 1) % 32 is from the next lane"]


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize("name", slow_unless(["conv1d", "transpose", "xor_min", "lookup"], "xor_min".__ne__))
def test_mutants_share_a_text_that_compiles(name: str) -> None:
    """As kernels of their own, and behind one kernel that is told which."""
    program = EXAMPLES[name]
    source = print_cuda(program)
    found = mutants(source.text, source.entry, [64 for _ in program.parameters])
    assert len(found) > 10
    text, names = together(source.text, source.entry, found, dispatch=False)
    ptx = compile_to_ptx(text)
    assert all(f".entry {each}(" in ptx for each in names) and f".entry {source.entry}(" not in ptx
    text, _ = together(source.text, source.entry, found, dispatch=True)
    ptx = compile_to_ptx(text)
    assert ptx.count(".entry") == 1 and f"{source.entry}_param_{len(program.parameters)}" in ptx


def test_the_extent_of_a_kernel() -> None:
    """From `extern` to its closing brace; the launch function is not part of it."""
    text = print_cuda(conv1d()).text
    begin, end = kernel_extent(text, "conv1d")
    assert text[begin:].startswith('extern "C"') and text[:end].endswith("}") and "<<<" in text[end:]


TILED = """extern "C" __global__ void k(const float* x, float* y, long long n, long long m) {
  const long long begin = blockIdx.x * 64ll;
  const int left = n - begin < 64 ? int(n - begin) : 64;
  const auto compute = [&](const auto whole) {
    __syncwarp();
    y[0] = x[0] / 9.0f;
  };
  if (n - begin >= 94 && m >= 8 && n <= 1000)
      compute(known<true>(), int(m));
  else compute(known<false>());
}
#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
inline cudaError_t launch_k(const float* x, float* y, long long n, long long m, cudaStream_t stream = nullptr) {
  if (n < 0 || m < 0) return cudaErrorInvalidValue;
  k<<<dim3(n, 1, 1), dim3(64, 1, 1), 0, stream>>>(x, y, n, m);
  return cudaGetLastError();
}
#endif
"""


def test_what_few_lengths_show_is_altered_too() -> None:
    """Blocks' numbers, widths and remainders; constants to the next number, barriers to some lanes."""
    found = mutants(TILED, "k", [64, 64])
    assert {m.change for m in found if m.rare} == {
        "blockIdx.x has 20 bits", "`blockIdx.x * 64ll` has 32 bits", "left is one less where it is 40",
        "a block is whole with 93 left", "a block is whole with 7 left", "a block that is not whole counts as such",
        "a block that along one axis is whole counts as such", "a stride of 32 bits may overflow",
    }  # fmt: skip
    assert {"9.0f is 9.000002145767212f", "odd and even lanes wait apart"} <= {m.change for m in found if not m.rare}


def test_host_functions_are_altered() -> None:
    """Each number, comparison, error, the stream, and arguments of one type; nothing outside the function."""
    found = host_mutants(TILED, "launch_k")
    assert {f"{m.line}: {m.change}" for m in found} == {
        "14: 0 is 1", "14: < is >=", "14: || is &&", "14: without `if (n < 0 || m < 0) return cudaErrorInvalidValue;`",
        "15: 1 is 2", "15: 64 is 65", "15: 0 is 1", "15: , stream>>> is , nullptr>>>", "15: n and m change places",
        "16: return cudaGetLastError(); is return cudaSuccess;",
    }  # fmt: skip
    assert len({m.text for m in found} | {TILED}) == len(found) + 1
    assert host_mutants(TEXT, "launch_k") == ()
