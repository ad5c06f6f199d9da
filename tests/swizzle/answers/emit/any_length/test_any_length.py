"""Kernels at lengths that were not declared: which may run there, and that their printed text is right there."""

from __future__ import annotations

import itertools
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import CudaSource, print_cuda
from cuda_out.compile.toolchain import available_tools, compile_cuda, uses_local
from cuda_out.emulate.emulate import emulate, emulate_checked
from cuda_out.passes.pipeline import optimize
from cuda_out.tiling.tiling import Tiling
from cuda_out.tiling.trips import one_tile
from swizzle import load
from swizzle.answers.checking.trial import random_argument
from swizzle.answers.emit.any_length.conditions import FixedSize, any_length
from swizzle.answers.emit.emitters import sizes_text
from swizzle.answers.emit.sizes import larger_instances
from swizzle.language.parameters import Parameters
from swizzle.language.specs.specification import inputs, numbers, outputs
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.search.metasketch import solve
from symbolic.ir.program import Axis, Parameter, Program

CASES = Path(__file__).parents[5] / "case_studies"
needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")


def tiled(path: Path, sketch: Sketch) -> tuple[Program, Tiling | FixedSize]:
    """Solve a sketch and ask at which lengths it may run."""
    program = solve(sketch).best.program
    return program, any_length(program, sketch.spec, partial(larger_instances, sketch))


def printed(program: Program, tiling: Tiling) -> CudaSource:
    return print_cuda(optimize(one_tile(program, tiling)), tiling=tiling)


def nonzero(parameter: Parameter, rng: np.random.Generator) -> Any:
    """Return data that can be divided by."""
    array = random_argument(parameter, rng, "whole numbers")
    array[array == 0] = 7
    return array


def check_lengths(
    sketch: Sketch, program: Program, tiling: Tiling, larger: Sketch, lengths: list[dict[Axis, int]]
) -> None:
    """Emulate the printed text at each length; compare with a specification that is made for a larger one.

    Output elements inside a shorter array are those of the longer one, whatever stands behind the inputs' ends.
    """
    source, rng = printed(program, tiling), np.random.default_rng(0)
    for number, at in enumerate(lengths):
        assert tiling.valid(at)
        small = tiling.at(program, at)
        given = {p.name: nonzero(p, rng) for p in small.parameters}
        extended = {p.name: nonzero(p, rng) for p in inputs(larger.program)}
        for name, array in extended.items():
            array[tuple(slice(extent) for extent in given[name].shape)] = given[name]
        wanted = numbers(larger.program, larger.spec, extended)
        scalars = [np.int64(length) for length in source.lengths(at)]
        arguments = [*given.values(), *scalars]
        grid = tiling.grid(program, at)
        run = partial(emulate, order=number % 4) if number else partial(emulate_checked, orders=(0, 2))
        run(source.text, source.entry, grid, program.block, arguments, warp_size=program.warp_size)
        for parameter in outputs(small):
            cut = wanted[parameter.name][tuple(slice(extent) for extent in parameter.shape)]
            assert np.array_equal(given[parameter.name], cut), f"{parameter.name} at {at}"


CASE_STUDIES = [
    ("conv1d", {"warp_size": 8, "K": 5}, {"grid": 5}, 1),
    ("stencil1d", {"warp_size": 4, "K": 4}, {"grid": 5}, 1),
    ("conv2d", {"warp_size": 8}, {"grid_x": 3, "grid_y": 4}, 1),
    ("aos_store:crc", {"warp_size": 8, "warps": 2}, {"grid": 5}, 1),
    ("aos_store:rcr", {"warp_size": 4, "struct_size": 5}, {"grid": 5}, 1),
    ("aos_sum:crc", {"warp_size": 4}, {"grid": 5}, 1),
    ("mult32:shared", {"warp_size": 4}, {"grid": 5}, 4),
    ("transpose", {"rows": 5, "columns": 3}, {"grid": 5}, 1),
]


@pytest.mark.sampled(4)
@needs_gcc
@pytest.mark.parametrize(("target", "parameters", "larger", "step"), CASE_STUDIES, ids=[c[0] for c in CASE_STUDIES])
def test_case_studies_run_at_any_length(
    target: str, parameters: dict[str, int], larger: dict[str, int], step: int
) -> None:
    """Every case study qualifies; its text is right below a block, with tails, on many blocks."""
    file, _, name = target.partition(":")
    path = CASES / f"{file}.py"
    (sketch,) = load(path, name or None, parameters)
    program, tiling = tiled(path, sketch)
    assert isinstance(tiling, Tiling), tiling
    assert {axis.step for axis in tiling.axes} == {step}
    (other,) = load(path, name or None, {**parameters, **larger})
    most = {axis.axis: axis.tile * dict(zip("xyz", other.program.grid, strict=True))[axis.axis] for axis in tiling.axes}
    choices = []
    for axis in tiling.axes:
        tile, top = axis.tile, most[axis.axis]
        some = {step, tile - step, tile, tile + step, 2 * tile + step, top - step, top}
        choices.append([length for length in sorted(some) if 0 < length <= top])
    lengths = [dict(zip(most, choice, strict=True)) for choice in itertools.product(*choices)]
    check_lengths(sketch, program, tiling, other, lengths[:: 1 + len(lengths) // 8])
    if available_tools():
        compiled = compile_cuda(printed(program, tiling).text)
        assert not uses_local(compiled.ptx)


SKETCHES = """
from swizzle import accumulator, cuda, f32, i32, u32, sketch, spec, parameter, sw_xform, minimum

GX = parameter("GX", 2, domain=range(1, 9))
GY = parameter("GY", 2, domain=range(1, 9))
GZ = parameter("GZ", 2, domain=range(1, 9))
"""


def sketch_of(tmp_path: Path, text: str, **parameters: int) -> tuple[Path, Sketch]:
    path = tmp_path / "own.py"
    path.write_text(SKETCHES + text)
    (found,) = load(path, None, parameters)
    return path, found


OWN = {
    "two inputs for one output, two arrays": (
        '''
@spec
def s(x, z):
    return [x[2 * i] + x[2 * i + 1] + x[2 * i + 2] * z[i] for i in range(8 * GX)]

@sketch(spec=s, block=8, grid=GX, warp_size=8, x=i32[16 * GX + 1], z=i32[8 * GX], y=i32.out[8 * GX])
def down(x, z, y):
    i = cuda.grid(1)
    y[i] = x[2 * i] + x[2 * i + 1] + x[2 * i + 2] * z[i]
''', {"x": [1, 3, 7, 8, 9, 17, 40]}, {"GX": 5}),
    "four words a thread, as a vector where the array does not end within it": (
        '''
@spec
def s(x):
    return [x[i] + x[i + 3] for i in range(32 * GX)]

@sketch(spec=s, block=8, grid=GX, warp_size=8, x=i32[32 * GX + 3], y=i32.out[32 * GX])
def words(x, y):
    i = cuda.grid(1)
    for e in range(4):
        y[4 * i + e] = x[4 * i + e] + x[4 * i + e + 3]
''', {"x": [1, 2, 4, 31, 32, 33, 70, 90]}, {"GX": 5}),
    "four words a thread in rows that begin anywhere": (
        '''
@spec
def s(x):
    return [[x[r, c] + 1 for c in range(16 * GX)] for r in range(2 * GY)]

@sketch(spec=s, block=(4, 2), grid=(GX, GY), warp_size=8, x=i32[2 * GY, 16 * GX], y=i32.out[2 * GY, 16 * GX])
def rows(x, y):
    c, r = cuda.grid(2)
    for e in range(4):
        y[r, 4 * c + e] = x[r, 4 * c + e] + 1
''', {"x": [1, 6, 17, 40], "y": [1, 3]}, {"GX": 4, "GY": 3}),
    "two outputs for one input, through a shuffle that stands in the store": (
        '''
@spec
def s(x):
    return [x[i // 2] for i in range(16 * GX)], [x[i] for i in range(8 * GX)]

@sketch(spec=s, block=16, grid=GX, warp_size=16, x=u32[8 * GX], y=u32.out[16 * GX], z=u32.out[8 * GX])
def up(x, y, z):
    i = cuda.grid(1)
    v = x[cuda.blockIdx.x * 8 + cuda.laneid % 8]
    y[i] = cuda.shfl_sync(cuda.FULL_MASK, v, cuda.laneid // 2)
    if cuda.laneid < 8:
        z[cuda.blockIdx.x * 8 + cuda.laneid] = v
''', {"x": [1, 2, 7, 8, 9, 31, 40]}, {"GX": 5}),
    "a declared length that cuts the last block, overwritten in place": (
        '''
@spec
def s(x, z):
    return [z[i] + x[i] // z[i] for i in range(len(z))]

@sketch(spec=s, block=16, grid=2, warp_size=8, x=u32[21], z=u32.inout[21])
def cut(x, z):
    i = cuda.grid(1)
    if 0 <= i and i < len(z):
        z[i] = z[i] + x[i] // z[i]
''', {"x": [1, 15, 16, 17, 21, 33]}, {}),
    "three axes, with a halo along each": (
        '''
@spec
def s(x):
    return [[[x[a, b, c] - x[a + 1, b + 2, c + 3] for c in range(4 * GX)] for b in range(2 * GY)] for a in range(GZ)]

@sketch(spec=s, block=(4, 2), grid=(GX, GY, GZ), warp_size=8,
        x=i32[GZ + 1, 2 * GY + 2, 4 * GX + 3], y=i32.out[GZ, 2 * GY, 4 * GX])
def box(x, y):
    c, b, a = cuda.grid(3)
    y[a, b, c] = x[a, b, c] - x[a + 1, b + 2, c + 3]
''', {"x": [1, 5, 12], "y": [1, 2, 5], "z": [1, 3]}, {"GX": 3, "GY": 3, "GZ": 3}),
    "rows of a flat array: the rows are any number, their width is not": (
        '''
@spec
def s(x):
    return [x[i] + 1 for i in range(len(x))]

@sketch(spec=s, block=(8, 2), grid=(2, GY), warp_size=8, x=i32[32 * GY], y=i32.out[32 * GY])
def flat(x, y):
    c, r = cuda.grid(2)
    y[r * 16 + c] = x[r * 16 + c] + 1
''', {"y": [1, 15, 16, 33, 96]}, {"GY": 3}),
}  # fmt: skip


@pytest.mark.sampled(3)
@needs_gcc
@pytest.mark.parametrize("name", OWN)
def test_own_sketches_run_at_any_length(name: str, tmp_path: Path) -> None:
    """Scales, halos, several axes, integer division, in-place updates and tails of them."""
    text, choices, larger = OWN[name]
    path, sketch = sketch_of(tmp_path, text)
    program, tiling = tiled(path, sketch)
    assert isinstance(tiling, Tiling), tiling
    assert [axis.axis for axis in tiling.axes] == list(choices)
    lengths: list[Any] = [dict(zip(choices, each, strict=True)) for each in itertools.product(*choices.values())]
    if larger:
        _, other = sketch_of(tmp_path, text, **larger)
        check_lengths(sketch, program, tiling, other, lengths)
        return
    for at in lengths:
        again = tiling.at(program, at)
        check_lengths(sketch, program, tiling, Sketch(sketch.name, again, sketch.spec, {}, sketch.place), [at])


REFUSED = {
    "backwards": (
        "[x[16 * GX - 1 - i] for i in range(16 * GX)]",
        "y[i] = x[16 * GX - 1 - i]",
        "accesses to x move backwards along blockIdx.x",
    ),
    "a table that is read where the block stands": (
        "[x[i % 16] + x[i] for i in range(16 * GX)]",
        "y[i] = x[cuda.threadIdx.x] + x[i]",
        "accesses to x move by different distances from block to block along x, 0 and 16",
    ),
    "clamped": (
        "[x[min(i + 1, 16 * GX - 1)] for i in range(16 * GX)]",
        "y[i] = x[min(i + 1, len(x) - 1)]",
        "the specification gives nothing at length 2: write it with len(x), not with a number",
    ),
    "the number of blocks": (
        "[x[i] for i in range(16 * GX)]",
        "y[i] = x[i % (16 * cuda.gridDim.x)]",
        "gridDim.x changes with the number of blocks",
    ),
    "the block's number as data": (
        "[x[i] + i for i in range(16 * GX)]",
        "y[i] = x[i] + i32(i)",
        "a number that is made data depends on blockIdx.x",
    ),
    "padding": (
        "[x[i] + (x[i + 1] if i + 1 < 16 * GX else 0) for i in range(16 * GX)]",
        """v = i32(0)
    if i + 1 < len(x):
        v = x[i + 1]
    y[i] = x[i] + v""",
        "the specification gives nothing at length 2: write it with len(x), not with a number",
    ),
    "the length as a number": (
        "[x[i] * len(x) for i in range(len(x))]",
        "y[i] = x[i] * len(x)",
        "the specification's y[0] is not that of the first block, moved",
    ),
    "another length as a number, where only other parameters can show it": (
        "[x[i] * (16 * GX) for i in range(16 * GX)]",
        "y[i] = x[i] * (16 * GX)",
        "the specification's y[0] is not that of the first block, moved",
    ),
    "a stride of the declared grid": (
        "[x[i] for i in range(16 * GX)]",
        """for j in range(2):
        if i + 32 * j < len(y):
            y[i + 32 * j] = x[i + 32 * j]""",
        "a block writes y[32], which belongs to a later block",
    ),
    "something in the first ten elements only": (
        "[2 * x[i] if i < 10 else x[i] for i in range(16 * GX)]",
        """v = x[i]
    if i < 10:
        v = 2 * v
    y[i] = v""",
        "the specification gives nothing at length 11: write it with len(x), not with a number",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_copy_of_block_0_stays_at_its_size(name: str, tmp_path: Path) -> None:
    """The reason is one sentence about the place where copies end."""
    says, does, why = REFUSED[name]
    text = f"""
@spec
def s(x):
    return {says}

@sketch(spec=s, block=16, grid=GX, warp_size=16, x=i32[16 * GX], y=i32.out[16 * GX])
def k(x, y):
    i = cuda.grid(1)
    {does}
"""
    path, sketch = sketch_of(tmp_path, text)
    _, found = tiled(path, sketch)
    assert isinstance(found, FixedSize), found
    assert found.why == why
    assert str(found).endswith(f"(line {found.place.line})")


@pytest.mark.parametrize("role", ["out", "inout"])
def test_what_is_only_within_reach_is_not_written(role: str, tmp_path: Path) -> None:
    """An index whose range is wider than its values leaves later blocks alone: no reason to refuse."""
    text = f"""
@spec
def s({"x" if role == "out" else "x, z"}):
    return [x[i] for i in range(len(x))]

@sketch(spec=s, block=16, grid=2, warp_size=16, x=i32[32], z=i32.{role}[32])
def k(x, z):
    i = cuda.grid(1)
    for j in range(2):
        z[i + 32 * (j * (1 - j))] = x[i]
"""
    _, found = tiled(*sketch_of(tmp_path, text))
    assert isinstance(found, Tiling), found


def test_one_block_shows_nothing_about_the_next(tmp_path: Path) -> None:
    """With one block and fixed sizes nothing says how a specification goes on; with `len` it says so itself."""
    kernel = """
@spec
def s(x):
    return [x[i] for i in range({})]

@sketch(spec=s, block=16, warp_size=16, x=i32[16], y=i32.out[16])
def k(x, y):
    i = cuda.grid(1)
    y[i] = x[i]
"""
    _, fixed = tiled(*sketch_of(tmp_path, kernel.format("16")))
    assert isinstance(fixed, FixedSize)
    assert fixed.why == "one block along x, so nothing shows how the specification goes on there"
    _, any_size = tiled(*sketch_of(tmp_path, kernel.format("len(x)")))
    assert isinstance(any_size, Tiling)


def test_blocks_are_not_cut_where_an_output_needs_what_lies_behind(tmp_path: Path) -> None:
    """Pairs are swapped: a length is even; halves of a block are swapped: it is a whole number of blocks."""
    for reach, step in ((1, 2), (8, 16)):
        text = f"""
@spec
def s(x):
    return [x[i ^ {reach}] for i in range(16 * GX)]

@sketch(spec=s, block=16, grid=GX, warp_size=16, x=i32[16 * GX], y=i32.out[16 * GX])
def k(x, y):
    i = cuda.grid(1)
    y[i] = x[i ^ {reach}]
"""
        _, tiling = tiled(*sketch_of(tmp_path, text))
        assert isinstance(tiling, Tiling)
        assert tiling.axes[0].step == step


def test_a_tiled_text_predicates_what_may_lie_outside(tmp_path: Path) -> None:
    """Loads give 0 and stores are left out past the end; whole blocks need neither; shuffles stay outside of `if`."""
    path, sketch = sketch_of(tmp_path, OWN["two outputs for one input, through a shuffle that stands in the store"][0])
    program, tiling = tiled(path, sketch)
    assert isinstance(tiling, Tiling)
    text = printed(program, tiling).text
    kernel = text[text.index("  const long long") : text.index("#if defined")]
    assert (
        kernel
        == """\
  const long long begin = blockIdx.x * 8ll;
  // Only blocks in which an array ends ask where.
  const auto compute = [&](const auto whole, const auto begin) {
    const int left = n - begin < 8 ? int(n - begin) : 8;
    const int i = int(threadIdx.x);
    const unsigned int v = whole || (i & 7) < left ? x[begin + (i & 7)] : 0u;
    {
      const unsigned int stored = __shfl_sync(0xffffffffu, v, i >> 1, 16);
      if (whole || i < 2 * left) y[2 * begin + i] = stored;
    }
    if (i < 8) {
      if (whole || i < left) z[begin + i] = v;
    }
  };
  if (int(n - begin) >= 8 && n <= 1073741823) compute(known<true>(), int(begin));
  else compute(known<false>(), begin);
}

"""
    )


def test_the_host_checks_the_lengths(tmp_path: Path) -> None:
    """Negative lengths and cut blocks are invalid values, grids that are too large are invalid configurations."""
    path = CASES / "mult32.py"
    (sketch,) = load(path, "shared", {"warp_size": 4})
    program, tiling = tiled(path, sketch)
    assert isinstance(tiling, Tiling)
    for form, launch in (("cu", "shared_kernel<<<"), ("header", "shared_kernel<><<<")):
        text = print_cuda(optimize(one_tile(program, tiling)), tiling=tiling, form=form).text  # type: ignore[arg-type]
        body = text[text.index("  if (n < 0") : text.index("#endif")]
        assert body.splitlines()[:4] == [
            "  if (n < 0 || n % 4 != 0) return cudaErrorInvalidValue;",
            "  if (n == 0) return cudaSuccess;",
            "  const long long blocks_x = (n - 1) / 4 + 1;",
            "  if (blocks_x > 2147483647) return cudaErrorInvalidConfiguration;",
        ]
        assert launch in body or launch.replace("_kernel", "") in body, body


def test_a_sketch_that_ends_inside_a_step_stays_at_its_size(tmp_path: Path) -> None:
    """With a guard of its own the kernel is right where pairs end in half a pair; the text for whole pairs is not."""
    text = """
@spec
def s(x):
    return [x[i ^ 1] if i < 20 else x[i] for i in range(21)]

@sketch(spec=s, block=16, grid=2, warp_size=16, x=i32[21], y=i32.out[21])
def k(x, y):
    i = cuda.grid(1)
    if i < 20:
        y[i] = x[i ^ 1]
    elif i == 20:
        y[i] = x[i]
"""
    _, found = tiled(*sketch_of(tmp_path, text))
    assert isinstance(found, FixedSize)
    assert found.why == "the sketch's own length 21 along x ends inside a step of 2, where blocks cannot be cut alike"


def test_terms_of_any_depth_are_moved(tmp_path: Path) -> None:
    """A polynomial by Horner's rule nests deeper than Python calls."""
    text = """
@spec
def s(x):
    found = []
    for i in range(4 * GX):
        v = x[i]
        for k in range(400):
            v = (v + 1) * x[i]
        found.append(v)
    return found

@sketch(spec=s, block=4, grid=GX, warp_size=4, x=i32[4 * GX], y=i32.out[4 * GX])
def k(x, y):
    i = cuda.grid(1)
    v = x[i]
    for k in range(400):
        v = (v + 1) * x[i]
    y[i] = v
"""
    _, tiling = tiled(*sketch_of(tmp_path, text))
    assert isinstance(tiling, Tiling)


def test_a_length_is_called_n_unless_the_sketch_has_an_n(tmp_path: Path) -> None:
    """What the console says is what the text says."""
    text = """
@spec
def s(n):
    return [n[i + 1] for i in range(16 * GX)]

@sketch(spec=s, block=16, grid=GX, warp_size=16, n=i32[16 * GX + 1], begin=i32.out[16 * GX])
def k(n, begin):
    left = cuda.grid(1)
    begin[left] = n[left + 1]
"""
    program, tiling = tiled(*sketch_of(tmp_path, text))
    assert sizes_text(program, tiling) == "any length: n[n_2 + 1], begin[n_2]"
    source = printed(program, tiling)
    assert source.length_names == ("n_2",)
    for line in ("int* __restrict__ begin,  // out i32[n_2]", "long long n_2)", "begin[begin_2 + left]"):
        assert line in source.text


def test_vectors_stay_inside_and_aligned(tmp_path: Path) -> None:
    """Where every block begins at a multiple of the vector; rows of any length begin anywhere."""
    for name, vectors in (
        ("four words a thread, as a vector where the array does not end within it", True),
        ("four words a thread in rows that begin anywhere", False),
    ):
        program, tiling = tiled(*sketch_of(tmp_path, OWN[name][0]))
        assert isinstance(tiling, Tiling)
        source = printed(program, tiling)
        assert ("reinterpret_cast<const int4*>" in source.text) is vectors
        assert source.alignment == ((16, 16) if vectors else (1, 1))


def test_an_array_of_vectors_ends_between_two_of_them() -> None:
    """A vector is there or not: its words are not looked at one by one, as those of a view are."""
    text = """
@spec
def turned(p):
    return [[v[1], v[0]] for v in p]

@sketch(spec=turned, block=32, grid=2, p=cuda.int2[64], q=cuda.int2.out[64])
def turn(p, q):
    v = p[cuda.grid(1)]
    q[cuda.grid(1)] = cuda.int2(v.y, v.x)
"""
    (sketch,) = read_swz(text, "inline.swz", Parameters())
    program, tiling = tiled(Path("inline.swz"), sketch)
    assert isinstance(tiling, Tiling)
    text = printed(program, tiling).text
    kernel = text[: text.index("#if defined")]
    assert "for (" not in kernel and kernel.count("int2*>") == 2


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize("rows", [1, 2])
def test_the_distance_of_rows_is_there_where_it_is_used(rows: int) -> None:
    """Nothing asks how far apart the rows of a single one are: compilers would warn of it."""
    (sketch,) = load(CASES / "aos_store.py", "rcr", {"struct_size": rows, "warps": 2})
    program, tiling = tiled(CASES / "aos_store.py", sketch)
    assert isinstance(tiling, Tiling)
    text = printed(program, tiling).text
    assert ("const long long y_1 = n;" in text) == (rows > 1)
    compile_cuda(text, "sm_90")
