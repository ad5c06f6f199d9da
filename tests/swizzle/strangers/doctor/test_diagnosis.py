"""The doctor as a whole: the kernels that it is made for, those that are well, and those that it leaves alone."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.doctor.mends import passes_under
from swizzle.strangers.reading.compiled import in_source
from swizzle.strangers.reading.shown import for_device
from swizzle.strangers.reading.text import CudaText
from symbolic.errors import SwizzleError
from symbolic.machine.accesses import WarpAccess
from tests.slow_cases import slow_unless
from tests.swizzle.strangers.doctor.examined import COLUMNS_OUT, KERNELS, ROWS_IN, TRANSPOSE, diagnosed, one_warp

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

CASES = {
    # name: turns before, after, and the formula of the mend of each array that was mended
    "transpose": (4224, 256, {"tile": "r * 32 + (c ^ r)"}),
    "rows": (288, 64, {"tile": "r * 8 + (c ^ (r & 7))"}),
    "scan": (2810, 673, {"tree": "x ^ ((x >> 5) & 31) ^ (x >> 10)"}),
    "product": (9344, 2176, {"columns": "r * 16 + (c ^ (r & 14))"}),
    "attention": (34912, 3168, {"keys": "r * 32 + (c ^ r)"}),
    "tensor": (
        616,
        168,
        {"tile": "r * 64 + (c ^ ((r << 3) & 56))"},
    ),  # cp.async, ldmatrix, mma; CuTe's Swizzle<3, 3, 3>
}


@pytest.mark.parametrize("name", slow_unless(CASES, lambda name: name not in ("attention", "product", "tensor")))
def test_a_kernel_is_mended_and_then_well(name: str) -> None:
    """Turns before and after, no extra bytes, fewest of all layouts; and the patched file is clean by itself."""
    text = (KERNELS / f"{name}.cu").read_text()
    before, after, formulas = CASES[name]
    found = diagnosed(text)
    assert found.verdict == "mended" and sum(each.passes for each in found.arrays) == before
    mended = {each.name: each.chosen for each in found.arrays if each.chosen is not None}
    assert {name: mend.layout.formula for name, mend in mended.items()} == formulas
    assert all(mend.least and mend.bytes == 0 and mend.kind == "xor" for mend in mended.values())
    again = diagnosed(found.patched)
    assert again.verdict == "clean" and not again.patched
    assert sum(each.passes for each in again.arrays) == after == sum(each.mended_passes for each in found.arrays)


SEVERAL = {
    # kernel: turns before and after
    "halves": (1088, 128), "doubles": (2176, 256), "buffers": (4224, 256), "outside": (1056, 64), "pairs": (1088, 128),
    "bytes": (1056, 64), "typed<float, 24>": (168, 48), "reduce": (150, 45), "strided": (144, 36),
}  # fmt: skip


@pytest.mark.parametrize("kernel", slow_unless(SEVERAL, lambda name: name == "typed<float, 24>"))
def test_kernels_of_many_kinds(kernel: str) -> None:
    """One file: other types, structures, three axes, arrays outside of functions, instances, host code."""
    found = diagnosed((KERNELS / "several.cu").read_text(), kernel)
    turns = [sum(getattr(each, part) for each in found.arrays) for part in ("passes", "mended_passes")]
    assert found.verdict == "mended" and tuple(turns) == SEVERAL[kernel]


@pytest.mark.parametrize("kernel, why", [("rowtype", "elements of 128 bytes"), ("histogram", "depends on data")])
def test_kernels_that_are_left_alone(kernel: str, why: str) -> None:
    """An array whose type hides an extent, and addresses that depend on data: one example is counted."""
    found = diagnosed((KERNELS / "several.cu").read_text(), kernel)
    assert found.verdict != "mended" and why in found.example + "".join(each.why for each in found.arrays)
    assert found.accesses and not found.patched


STRANGERS = {
    # kernel: the verdict, turns before and after, and words of why
    "early": ("mended", 1056, 64, ""), "record": ("mended", 1056, 64, ""), "pairs": ("mended", 576, 128, ""),
    "bins": ("undecided", None, None, "depends on data"), "sums": ("mended", 2112, 128, ""),
    "sort": ("undecided", 168, 168, "depends on data"),
    "limits": ("clean", 64, 64, ""), "unsynchronised": ("race", 4, 4, "race on s[0]"), "tail": ("mended", 272, 48, ""),
    "joined": ("mended", 288, 64, ""), "parts": ("mended", 1120, 128, ""),
}  # fmt: skip


@pytest.mark.parametrize("kernel", slow_unless(STRANGERS, lambda name: name in ("early", "bins")))
def test_kernels_of_strangers(kernel: str) -> None:
    """Early returns, structures by value, double2, atomic operations, branches on data, shared memory of a size that
    nothing says, constants of the headers of C, a race, copies of zeros, the compiler's vectors, pointers of a cast."""
    verdict, before, after, why = STRANGERS[kernel]
    found = diagnosed((KERNELS / "strangers.cu").read_text(), kernel)
    assert found.verdict == verdict and why in found.why + found.example
    if before is not None:
        turns = [sum(getattr(each, part) for each in found.arrays) for part in ("passes", "mended_passes")]
        assert turns == [before, after]


def test_no_words_beat_padding_in_the_scan() -> None:
    """Blelloch's scan: a map of bits in place has fewer turns than the best padding, which is what everybody writes."""
    (tree,) = diagnosed((KERNELS / "scan.cu").read_text()).arrays
    kinds = {mend.kind: mend for mend in tree.mends}
    assert kinds["xor"].passes == 605 < kinds["pad"].passes == 640 and kinds["pad"].bytes > kinds["xor"].bytes == 0


def test_turns_are_those_of_the_reference() -> None:
    """Each line's turns, before and under each mend, agree with `WarpAccess`, access by access."""
    for name in ("rows", "scan"):
        found = diagnosed((KERNELS / f"{name}.cu").read_text())
        (array,) = found.arrays
        tile = array.asked.tile
        for access in array.asked.accesses:
            for layout in [None, *(mend.layout for mend in array.mends)]:
                table = np.arange(prod(tile.shape)) if layout is None else layout.table().reshape(-1)
                places = np.where(access.offsets < 0, -1, table[np.maximum(access.offsets, 0) // tile.element])
                rows = [tuple(row) for row in places.tolist()]
                warps = [WarpAccess("tile", "shared", False, (table.size,), tile.element, row) for row in rows]
                found_turns = access.passes() if layout is None else passes_under(layout, tile, access)
                assert found_turns == sum(warp.passes for warp in warps)


def test_mends_are_ordered_and_all_proved_where_that_is_quick() -> None:
    """By turns, bytes and operations; a pitch of 33 is among them."""
    (tile,) = diagnosed(TRANSPOSE).arrays
    assert [mend.kind for mend in tile.mends] == ["xor", "rotate", "pad", "table"]
    assert [mend.bytes for mend in tile.mends] == [0, 0, 128, 2048] and set(tile.proved.values()) == {256}
    assert len(tile.proved) == 4


JOINED = """// swizzle doctor: --launch 1,32 --args u8[1024],u8.out[1024]
__global__ void k(const uchar4* x, unsigned char* y) {
  __shared__ __align__(4) unsigned char s[32][32];
  for (int i = threadIdx.x; i < 256; i += 32) *(uchar4*)&s[i / 8][i % 8 * 4] = x[i];
  __syncthreads();
  for (int i = 0; i < 32; i++) y[i * 32 + threadIdx.x] = s[threadIdx.x][i];
}
"""
"""The compiler joins the loads of bytes to vectors, also under a pad, but not under an xor."""


def test_the_mend_that_is_chosen_takes_the_fewest_turns_as_it_was_compiled() -> None:
    """The xor has as few turns on paper, and would be chosen for that; only the pad is said to have the fewest."""
    (array,) = diagnosed(JOINED).arrays
    turns = {mend.kind: array.turns_of(mend) for mend in array.mends}
    assert array.chosen is not None and array.mended_passes == min(turns.values()) == array.chosen.passes
    assert turns["xor"] > array.mended_passes and array.is_fewest(array.chosen)
    assert not any(array.is_fewest(mend) for mend in array.mends if turns[mend.kind] > array.least)


@pytest.mark.parametrize(
    "text",
    [
        TRANSPOSE.replace("tile[TILE][TILE]", "tile[TILE][TILE + 1]"),
        one_warp("tile[t][0] = x[t]; y[t] = tile[t][0];", "__shared__ float tile[32][33];"),
        one_warp("y[t] = x[t];", ""),
        one_warp("tile[0][t] = x[t]; __syncwarp(); y[t] = tile[0][0];"),
    ],
)
def test_nothing_wrong_is_said(text: str) -> None:
    """A pitch of 33 has no conflicts; neither has a kernel without shared memory, nor a broadcast."""
    found = diagnosed(text)
    assert found.verdict == "clean" and not found.patched and not any(each.mends for each in found.arrays)


def test_conflicts_that_nothing_removes() -> None:
    """Rows of float4 and columns of float: four turns a column in every layout that keeps the vectors whole."""
    text = one_warp(
        "for (int k = t; k < 256; k += 32) *reinterpret_cast<float4*>(&tile[k / 8][4 * (k % 8)]) = "
        "reinterpret_cast<const float4*>(x)[k]; __syncwarp();\n#pragma unroll 1\n" + COLUMNS_OUT,
        "__shared__ alignas(16) float tile[32][32];",
    )
    found = diagnosed(text)
    (tile,) = found.arrays
    assert found.verdict == "mended" and tile.chosen is not None and tile.chosen.least
    assert tile.chosen.passes == tile.least > tile.phases
    again = diagnosed(found.patched)
    assert again.verdict == "none" and "no layout takes fewer turns" in again.arrays[0].why


def test_what_no_layout_of_whole_structures_mends_is_said_of_those() -> None:
    """Members of structures of 16 bytes: four turns where structures stay whole, and one where they need not."""
    text = one_warp("s[t].x = x[t]; __syncwarp(); y[t] = s[31 - t].x;", "__shared__ S s[32];")
    found = diagnosed("struct S { float x, y, z, w; };\n" + text)
    (array,) = found.arrays
    assert found.verdict == "none" and (array.passes, array.phases) == (8, 2)
    assert array.why.startswith(
        "no layout that keeps elements of 16 bytes whole takes fewer turns; an array for each part"
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "before, read, why",
    [
        ("float* p = (float*)tile;", "p[32 * t + r]", "pointer"),
        ("int n = sizeof(tile) / 128;", "(n ? tile[t] : tile[0])[r]", "pointer"),
        ("", "(*tile)[32 * t + r]", "pointer"),
        ("", "(&tile[0][0])[32 * t + r]", "address"),
        ("const float& first = *(&tile[0][0] + 32 * t);", "(&first)[r]", "address"),
        ("\n#define AT(r, c) (&tile[0][0])[32 * (r) + (c)]\n", "AT(t, r)", "macro"),
    ],
)
def test_what_cannot_be_proved_is_not_patched(before: str, read: str, why: str) -> None:
    """Pointers into the array, and macros: conflicts are reported, and nothing is changed."""
    found = diagnosed(one_warp(f"{before} {ROWS_IN} __syncwarp(); {COLUMNS_OUT.replace('tile[t][r]', read)}"))
    (tile,) = found.arrays
    assert found.verdict == "undecided" and not found.patched and tile.passes > tile.least
    assert tile.mends and not tile.proved and why in tile.why


FOLLOWED = {
    # name: what stands before, the read, and what the patch has
    "row": ("float* p = tile[t];", "p[r]", "[33]"),
    "address": ("const float* p = &tile[t][0]; ++p, p++;", "p[r - 2]", "tile[t] + (0)"),
    "macro": ("\n#define AT(r, c) tile[r][c]\n", "AT(t, r)", "[33]"),
    "function": ("", "element(tile[t], r)", "[33]"),
    "words": ("", "words[0] + element(words + 32, 32 * t + r) - words[0]", "template <class words_0> "),
}


@pytest.mark.parametrize("name", slow_unless(FOLLOWED, lambda name: name == "row"))
def test_pointers_that_can_be_followed(name: str) -> None:
    """Rows that are kept or handed to a function, macros, a part of an array: the array becomes a view, where a longer
    pitch is not enough. The patched kernel is well."""
    before, read, patch = FOLLOWED[name]
    text = one_warp(f"{before} {ROWS_IN} __syncwarp(); {COLUMNS_OUT.replace('tile[t][r]', read)}")
    if name == "words":
        text = text.replace("tile[32][32]", "words[1056]").replace("tile[r][t]", "words[32 + 32 * r + t]")
        text = text.replace("int t = threadIdx.x;", "int t = threadIdx.x; words[t] = 0;")
    found = diagnosed("__device__ float element(const float* p, int i) { return p[i]; }\n" + text)
    (tile,) = found.arrays
    assert found.verdict == "mended" and patch in found.patched
    assert name in ("address", "words") or tile.viewed == {"xor", "rotate", "table"}
    again = diagnosed(found.patched)
    assert again.verdict == "clean" and again.arrays[0].passes == tile.mended_passes


SHARED_BY_TWO = """// swizzle doctor: --kernel k --launch 1,32 --args f32[32,32],f32.out[32,32]
__shared__ float t[32][32];
__device__ float at(int r, int c) { return t[r][c]; }
struct Cells { __device__ static float at(int r, int c) { return t[r][c]; } };
__global__ void k(const float* x, float* y) {
  for (int r = 0; r < 32; ++r) t[r][threadIdx.x] = x[32 * r + threadIdx.x];
  __syncwarp();
  for (int r = 0; r < 32; ++r) y[32 * r + threadIdx.x] = t[threadIdx.x][r];
}
__global__ void other(float* y) { OTHER }
"""


@pytest.mark.parametrize(
    "other", ["t[0][threadIdx.x] = y[0]; y[1] = t[1][0];", "y[0] = at(0, 40);", "y[0] = Cells::at(0, 40);", "y[0] = 1;"]
)
def test_an_array_that_another_kernel_uses_is_left_alone(other: str) -> None:
    """It may go beyond a row there, which is right as long as rows follow each other."""
    found = diagnosed(SHARED_BY_TWO.replace("OTHER", other))
    if other == "y[0] = 1;":
        assert found.verdict == "mended"
    else:
        assert found.verdict == "undecided" and "may be used by other, too" in found.arrays[0].why


def test_an_array_inside_a_kernel_is_its_own() -> None:
    """Another kernel that has a variable of the kernel's name does not use it."""
    array = "__shared__ float t[32][32];\n"
    text = re.sub(r"(?m)^(__device__|struct) .*\n", "", SHARED_BY_TWO).replace(array, "")
    text = text.replace("float* y) {\n", f"float* y) {{\n  {array}", 1)
    assert diagnosed(text.replace("OTHER", "float k = y[0]; y[1] = k;")).verdict == "mended"


@pytest.mark.slow
def test_a_function_that_another_kernel_calls() -> None:
    """It becomes a template, which may mean something else there: then nothing is patched."""
    function = """struct Off { const float* p; __device__ operator const float*() const { return p; }
  __device__ float operator[](int i) const { return p[i + 1]; } };
__device__ float at(const float* row, int i) { return row[i]; }
"""
    text = one_warp(
        "for (int r = 0; r < 32; ++r) s[32 * r + t] = x[32 * r + t]; __syncwarp(); "
        "for (int r = 0; r < 32; ++r) y[32 * r + t] = at(s + 32 * t, r);",
        "__shared__ float s[1024];",
    )
    same = f"{function}{text}__global__ void other(const float* x, float* y) {{ y[0] = at(x, 3); }}\n"
    assert diagnosed(same, "k").verdict == "mended"
    found = diagnosed(same.replace("at(x, 3)", "at(Off{x}, 3)"), "k")
    assert found.verdict == "undecided" and "other uses what the patch makes a template" in found.arrays[0].why


def test_subscripts_beyond_a_row() -> None:
    """Formulas of the row and the column mean other cells then: they are refused. A table is right, and no mend: lanes
    of a row read 16 words of it, those of a column 32, which is more than the conflicts take."""
    text = one_warp(f"{ROWS_IN} __syncwarp(); {COLUMNS_OUT.replace('tile[t][r]', 'tile[0][32 * t + r]')}")
    found = diagnosed(text)
    (tile,) = found.arrays
    assert found.verdict == "undecided" and tile.chosen is None and not found.patched
    assert [mend.waits for mend in tile.mends] == [0, 0, 0, 32 * 16 + 32 * 32]
    assert list(tile.proved) == ["table"] and {"xor", "pad"} < {mend.kind for mend in tile.mends}
    assert tile.refused == {mend.kind for mend in tile.mends} - {"table"}


def test_a_race_is_said_and_nothing_is_patched() -> None:
    """Without its barrier a kernel has no meaning that a patch could keep."""
    found = diagnosed(TRANSPOSE.replace("__syncthreads();", ""))
    assert found.verdict == "race" and "race on" in found.why and not found.patched and found.accesses
    well = diagnosed(one_warp("tile[0][t] = x[t]; y[t] = tile[0][31 - t];"))
    assert well.verdict == "race" and well.why.startswith("race on tile[")


def test_what_was_never_written_is_said_by_the_lines_of_the_file() -> None:
    """Not by those of the patched text, which has more lines above."""
    text = one_warp(f"{ROWS_IN.replace('r < 32', 'r < 31')} __syncwarp();\n{COLUMNS_OUT}")
    line = next(number for number, line in enumerate(text.splitlines(), 1) if COLUMNS_OUT in line)
    (tile,) = diagnosed(text).arrays
    assert "before it is written" in tile.why and tile.why.endswith(f"(line {line})")


def test_what_was_never_written_is_not_well() -> None:
    """A kernel without conflicts whose output depends on it."""
    found = diagnosed(one_warp("tile[0][t] = x[t]; __syncwarp(); y[t] = tile[1][t];"))
    assert found.verdict == "undecided" and "y[0] depends on tile[32], which" in found.why


def test_code_that_is_not_run() -> None:
    """Its lines are named; vectors that it moves are not proved to stay whole, so a mend may not take any apart."""
    four = "*reinterpret_cast<float4*>(&tile[t][0]) = make_float4(1, 2, 3, 4);"
    text = one_warp(f"if (blockDim.x > 32)\n  {four}\nelse {{ {ROWS_IN} }} __syncwarp();\n{COLUMNS_OUT}")
    found = diagnosed(text)
    (tile,) = found.arrays
    assert found.verdict == "undecided" and found.not_run == (6,)
    assert tile.mends and not tile.proved and "(line 6), and the mend takes some apart" in tile.why
    whole = diagnosed(text.replace(four, "tile[t][0] = 1;"))
    assert whole.verdict == "mended" and whole.not_run == (6,)


def test_headers_of_ones_own_are_named() -> None:
    """A macro of theirs may make another kernel of the file; those of the library of C++ cannot."""
    text = CudaText("k.cu", f'#include <vector>\n#include "mine.h"\n{TRANSPOSE}')
    for_device(text, text.kernels()[0])
    assert text.own_headers_left_out == ['"mine.h"']


def test_what_is_not_interpreted_is_undecided() -> None:
    """A clock."""
    found = diagnosed(one_warp("y[t] = clock();", ""))
    assert found.verdict == "undecided" and "not interpreted" in found.why and "%clock" in found.why


@pytest.mark.slow
def test_two_arrays_at_once_and_a_device_function() -> None:
    """Both are mended in one patch; one of them is declared, and used, in a function that is inlined."""
    text = """
// swizzle doctor: --launch 1,32 --args f32[32,32],f32.out[32,32]
__device__ float turned(const float* x, int t, int k) {
  __shared__ float own[32][32];
  own[k][t] = x[32 * k + t];
  __syncwarp();
  float sum = 0;
  if (k == 31) for (int r = 0; r < 32; ++r) sum += own[t][r];
  return sum;
}
__global__ void k(const float* x, float* y) {
  __shared__ float tile[32][32];
  int t = threadIdx.x;
  float sum = 0;
  for (int r = 0; r < 32; ++r) { tile[r][t] = x[32 * r + t]; sum += turned(x, t, r); }
  __syncwarp();
  for (int r = 0; r < 32; ++r) y[32 * r + t] = tile[t][r] + sum;
}
"""
    found = diagnosed(text)
    assert found.verdict == "mended" and {each.name: each.chosen is not None for each in found.arrays} == {
        "own": True, "tile": True,
    }  # fmt: skip
    assert diagnosed(found.patched).verdict == "clean"
    places = [found.patched.index(each) for each in ("unsigned own_cell", "float turned", "unsigned tile_cell")]
    assert places == sorted(places)


def test_dynamic_shared_memory() -> None:
    """Its size is the launch's third number; it cannot grow, so that no padding is offered."""
    text = one_warp(
        "for (int r = 0; r < 32; ++r) s[32 * r + t] = x[32 * r + t]; __syncwarp(); "
        "for (int r = 0; r < 32; ++r) y[32 * r + t] = s[32 * t + r];",
        "extern __shared__ float s[];",
    )
    found = diagnosed(text, launch="1,32,4096")
    (array,) = found.arrays
    assert found.verdict == "mended" and array.chosen is not None and array.chosen.layout.bytes == 4096
    assert "pad" not in {mend.kind for mend in array.mends} and "s[s_cell(32 * r + t)]" in found.patched
    unsaid = diagnosed(text)
    assert unsaid.launch is not None and unsaid.launch.touched and unsaid.launch.dynamic == 4096
    for said, guard in ((found, "!="), (unsaid, "<")):
        assert f"if (s_bytes() {guard} 4096u) __trap();" in said.patched
    with pytest.raises(SwizzleError, match="stops the launch"):
        diagnosed(found.patched, launch="1,32,8192")


@pytest.mark.slow
def test_the_size_that_a_formula_is_for_is_asserted() -> None:
    """Extents that are names may change; the patched file then does not compile."""
    found = diagnosed(TRANSPOSE)
    assert 'static_assert((TILE) == 32, "tile_cell is made for this size");' in found.patched
    with pytest.raises(SwizzleError, match="static assertion failed"):
        diagnosed(found.patched.replace("TILE = 32", "TILE = 16"))


def test_words_are_of_the_file() -> None:
    """What the interpreter says of PTX is said of the file's lines and names."""
    race = diagnosed(TRANSPOSE.replace("__syncthreads();", "")).why
    assert "race on tile[" in race and "(line 13)" in race and "(line 18)" in race and "_Z" not in race
    data = diagnosed(one_warp("if (x[t] > 1.0f) y[t] = x[t];", "")).example
    assert data.startswith("line 5, a branch or predicate that depends on data")
    ptx = """.loc 1 7 3
.loc 2 9 5, function_name $a, inlined_at 1 7 3
.loc 2 1 1
.loc 2 3 5, function_name $b, inlined_at 2 9 5
st.f32 [%r1], %f2;
.file 1 "kernel.cu\""""
    assert in_source(ptx, "written (line 5: st.f32 [%r1], %f2)") == "written (line 7)"  # a call within a call
    with pytest.raises(SwizzleError) as raised:
        diagnosed(one_warp("\ny[t + 1024] = x[t];", ""))
    assert str(raised.value).startswith(
        "kernel.cu:6:1: error: k cannot run like this: block (0, 0, 0), thread (0, 0, 0)"
    )
