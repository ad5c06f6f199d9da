"""Texts of strangers: kernels, what is left out of them, shared arrays and their uses."""

from __future__ import annotations

import pytest

from swizzle.strangers.doctor.shared import array_uses, named, shared_arrays
from swizzle.strangers.reading.launch import arguments_of, example_of, flags_of, parse_launch, said_kernel
from swizzle.strangers.reading.shown import for_device
from swizzle.strangers.reading.text import CudaText
from symbolic.errors import SwizzleError

TEXT = """#include <vector>
#include <cuda_fp16.h>  // "kept
#define TILE 32 /* { */
/* __global__ void hidden() { */
// swizzle doctor: --kernel second --launch 4,64
template <int N = 4, typename T>
__global__ void __launch_bounds__(256, 2) first(const T* __restrict__ a, float b[], int n = 3) {
  extern __shared__ float s[];
  s[n] = '{';
}
namespace own { extern "C" {
__global__ __launch_bounds__(64) void second(const __half* x, unsigned long long k, float alpha) {
  __shared__ __align__(16) float tile[2][TILE + (1)], other[3];
  { __shared__ float tile[7]; tile[0] = 1; }
  atomicAdd(&tile[1][1], 1);
  float v = *(float4*)&tile[0][1] + reinterpret_cast<const float4*>(&tile[1][0])[0] + (k & tile[0][0]);
  auto p = v && tile[1][other[0]] > 0;
}
} }
__device__ __constant__ float table[2] = {1, 2};
static float host_only(std::vector<int> v) { return printf("}{") + v[0]; }
std::vector<int> things = {1, 2};
int main() { own::second<<<1, 64>>>(nullptr, 1, 2); }
"""


def test_kernels_and_their_parameters() -> None:
    """Names, types without promises, templates; an example of `--args` for each."""
    first, second = CudaText("k.cu", TEXT).kernels()
    assert (first.name, first.template, first.line) == ("first", True, 7)
    assert [(p.type, p.name) for p in first.parameters] == [("const T*", "a"), ("float*", "b"), ("int", "n")]
    assert example_of(first) == "f32[4096],f32.out[4096],i32=64"
    assert (second.name, second.template) == ("second", False) and example_of(second) == "f16[4096],u64=64,f32"


def test_what_is_compiled() -> None:
    """Host code, other kernels and other headers are blanks; each line is where it was."""
    text = CudaText("k.cu", TEXT)
    device = for_device(text, text.kernels()[1])
    assert device.count("\n") == TEXT.count("\n") and text.headers_left_out == ["<vector>"]
    for gone in ("<vector>", "first", "main", "std::", "printf"):
        assert gone not in device
    for kept in ("#include <cuda_fp16.h>", "#define TILE 32", 'extern "C"', "second(", "table[2] = {1, 2};"):
        assert kept in device
    assert device.split("\n")[11] == TEXT.split("\n")[11]


def test_instances_of_templates() -> None:
    """Those of the file go where another one is asked for, which may be the same."""
    text = CudaText("k.cu", "template <int n> __global__ void k() {}\ntemplate __global__ void k<32>();\nstruct S {};")
    (kernel,) = text.kernels()
    gone = for_device(text, kernel, instances=False)
    assert "k<32>" in for_device(text, kernel) and "k<32>" not in gone
    assert "template <int n> __global__" in gone and "struct S" in gone


def test_shared_arrays_and_their_uses() -> None:
    """Extents, owners, scopes; addresses that are used at once; names that are something else."""
    text = CudaText("k.cu", TEXT)
    arrays = shared_arrays(text)
    assert [(a.name, a.owner, len(a.dims), a.dynamic) for a in arrays] == [
        ("s", "first", 1, True), ("tile", "second", 2, False),
        ("other", "second", 1, False), ("tile", "second", 1, False),
    ]  # fmt: skip
    assert [TEXT[begin:end] for begin, end in arrays[1].dims] == ["2", "TILE + (1)"]
    with pytest.raises(SwizzleError, match="tile is used as a pointer"):  # the inner array of the same name
        array_uses(text, arrays[1])
    plain = CudaText("k.cu", TEXT.replace("{ __shared__ float tile[7]; tile[0] = 1; }", ""))
    uses = [plain.text[use.begin : use.end] for use in array_uses(plain, shared_arrays(plain)[1])]
    assert uses == ["tile[1][1]", "tile[0][1]", "tile[1][0]", "tile[0][0]", "tile[1][other[0]]"]
    assert named("_ZZN3own6secondE4tile", arrays[1]) and named("_ZZN3own6secondE4tile_0", arrays[1])
    assert not named("_ZZN3own6secondE5stile", arrays[1]) and not named("_ZZN3own5otherE4tile", arrays[1])


def test_flags_in_comments() -> None:
    """One that names a kernel is its own; a flag that is given goes before it."""
    text = CudaText("k.cu", TEXT)
    first, second = text.kernels()
    assert said_kernel(text) == "second"
    assert flags_of(text, second, None, "1") == ("4,64", "1", "line 5")
    assert flags_of(text, second, "1,32", None) == ("1,32", None, "") and flags_of(text, first, None, None)[0] is None
    words = arguments_of(text, second, "f16.out[4,8], u64=0x10, f32")
    assert [(a.kind, a.role, a.shape, a.value) for a in words] == [
        ("f16", "out", (4, 8), None), ("u64", "in", (), 16), ("f32", "in", (), None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "launch"),
    [
        ("2x2,32x8", ((2, 2, 1), (32, 8, 1), 0)),
        ("4,256", ((4, 1, 1), (256, 1, 1), 0)),
        ("4,256,8192", ((4, 1, 1), (256, 1, 1), 8192)),
        ("2,2,32,8", ((2, 2, 1), (32, 8, 1), 0)),
        ("2,2,2,32,8,1", ((2, 2, 2), (32, 8, 1), 0)),
        ("(2, 2), (32, 8), 64", ((2, 2, 1), (32, 8, 1), 64)),
        ("dim3(2,2),dim3(32,8)", ((2, 2, 1), (32, 8, 1), 0)),
    ],
)
def test_launches(words: str, launch: tuple[object, ...]) -> None:
    """As people write them."""
    found = parse_launch(words)
    assert (found.grid, found.block, found.dynamic) == launch


@pytest.mark.parametrize("words", ["", "4", "a,b", "1,2,3,4,5", "0,32", "1x1x1x1,32", "4,256,"])
def test_launches_that_are_none(words: str) -> None:
    """One error, with an example."""
    with pytest.raises(SwizzleError) as raised:
        parse_launch(words)
    assert "--launch" in raised.value.found and raised.value.fix == "--launch 2x2,32x8"
