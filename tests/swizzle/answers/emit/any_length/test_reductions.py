"""Lengths along loops: sums of rows, products, maxima, softmax, at lengths that the sketch does not have."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cuda_out.c.mutate import Mutant, together
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.emulate.emulate import EmulationError, emulate
from cuda_out.tiling.tiling import Tiling
from swizzle import load
from swizzle.answers.checking.trial import LaunchSize, sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.emit.any_length.conditions import FixedSize
from swizzle.answers.emit.emitters import cuda_source, numba_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from symbolic.ir.program import Program

needs_gcc = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")

HEAD = """
from functools import reduce
from swizzle import accumulator, cuda, f32, i32, maximum, minimum, math, sketch, spec

def softmax_of(row):
    m = reduce(maximum, row)
    powers = [math.exp(v - m) for v in row]
    s = sum(powers)
    return [p / s for p in powers]

@cuda.jit(device=True)
def total(v):
    for m in (4, 2, 1):
        v = v + cuda.shfl_xor_sync(cuda.FULL_MASK, v, m)
    return v

@cuda.jit(device=True)
def greatest(v):
    for m in (4, 2, 1):
        v = max(v, cuda.shfl_xor_sync(cuda.FULL_MASK, v, m))
    return v
"""


def row(what: str, loops: str, result: str, *, dtype: str = "f32", size: int = 24, out: str = "") -> str:
    """Return a kernel of a warp of 8 for each row, with the specification of one row."""
    return f"""{HEAD}
@spec
def s(x):
    return [{what} for row in x]

@sketch(spec=s, block=16, grid=2, warp_size=8, x={dtype}[4, {size}], y={dtype}.out[4{out}])
def k(x, y):
    lane, i = cuda.laneid, cuda.grid(1) // 8
{loops}
    {result}
"""


TILED = f"""{HEAD}
@spec
def s(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))] for i in range(len(a))]

@sketch(spec=s, block=(4, 4), grid=(2, 2), warp_size=8, a=i32[8, 12], b=i32[12, 8], c=i32.out[8, 8])
def k(a, b, c):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    ta = cuda.shared.array((4, 4), i32)
    tb = cuda.shared.array((4, 4), i32)
    acc = accumulator(i32, outer="+", inner="*")
    for t in range(0, 12, 4):
        ta[ty, tx] = a[i, t + tx]
        tb[ty, tx] = b[t + ty, j]
        cuda.syncthreads()
        for k in range(4):
            acc.accumulate(ta[ty, k], tb[k, tx])
        cuda.syncthreads()
    c[i, j] = acc.value
"""
SUM = "    acc = f32(0)\n    for k in range(3):\n        acc += x[i, 8 * k + lane]\n    acc = total(acc)"
MAX = "    m = x[i, lane]\n    for k in range(1, 3):\n        m = max(m, x[i, 8 * k + lane])\n    m = greatest(m)"
EXP = "    s = f32(0)\n    for k in range(3):\n        s += math.exp(x[i, 8 * k + lane] - m)\n    s = total(s)"
STORED = "    for k in range(3):\n        y[i, 8 * k + lane] = math.exp(x[i, 8 * k + lane] - m) / s"
HELD = (
    "    m = accumulator(i32, outer='max')\n    for k in range(3):\n"
    "        m.accumulate(x[i, 8 * k + lane])\n    g = greatest(m.value)"
)
ONE = "if lane == 0:\n        y[i] = "
SOFTMAX = "softmax_of(row)"
KERNELS = {
    "a sum": (row("sum(row)", SUM, ONE + "acc"), 1),
    "a mean": (row("sum(row) / len(row)", SUM, ONE + "acc / x.shape[1]"), 1),
    "bounds of its own": (
        row(
            "sum(row)", SUM.replace("acc +=", "if 8 * k + lane < x.shape[1]:\n            acc +="), ONE + "acc", size=21
        ),
        1,
    ),
    "a difference": (row("2 * row[0] - sum(row)", SUM.replace("acc +=", "acc -="), ONE + "acc + 2 * x[i, 0]"), 1),
    "a maximum": (row("reduce(maximum, row)", MAX, ONE + "m"), 1),
    "a maximum of integers": (row("reduce(maximum, row)", HELD, ONE + "g", dtype="i32"), 8),
    "a softmax": (row(SOFTMAX, f"{MAX}\n{EXP}\n{STORED}", "pass", out=", 24"), 1),
    "a product by tiles": (TILED, 1),
    "a product by threads": (
        TILED[: TILED.index("    ta = ")]
        + "    acc = i32(0)\n    for k in range(12):\n        acc += a[i, k] * b[k, j]\n    c[i, j] = acc\n",
        1,
    ),
}


def tiled(tmp_path: Path, text: str) -> tuple[Program, Tiling | FixedSize | None]:
    path = tmp_path / "own.py"
    path.write_text(text)
    (sketch,) = load(path, None, {})
    return sketch.program, sizes_of(sketch.program, sketch)


def along(tmp_path: Path, text: str) -> tuple[Program, Tiling]:
    program, found = tiled(tmp_path, text)
    assert isinstance(found, Tiling), found
    assert found.of_loops is not None, found.kept
    return program, found


def run(program: Program, tiling: Tiling, text: str, lengths: dict[str, int]) -> tuple[NDArray[np.generic], ...]:
    """Return the arrays after a run of a text at some lengths."""
    rng, source = np.random.default_rng(sum(lengths.values())), cuda_source(program, (), tiling)
    at = tiling.at(program, lengths)  # type: ignore[arg-type]
    given = [rng.integers(-9, 0, p.shape).astype("i4" if p.dtype.value == "i32" else "f4") for p in at.parameters]
    scalars = [np.int64(n) for n in source.lengths(lengths)]  # type: ignore[arg-type]
    emulate(text, source.entry, at.grid, at.block, [*given, *scalars], warp_size=at.warp_size)
    return tuple(given)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("text", "least"), KERNELS.values(), ids=KERNELS)
def test_lengths_along_loops_are_free(tmp_path: Path, text: str, least: int) -> None:
    """The length is an argument of both texts; chunks are cut everywhere, and there are more trips than declared."""
    program, tiling = along(tmp_path, text)
    loops = tiling.of_loops
    assert loops is not None
    assert loops.least == least
    tried = {lengths[-1] for lengths in tiling.evidence}
    assert {*range(least, 2 * loops.tile + 2), 3 * loops.tile} - tried <= set(range(loops.tile + 2, 2 * loops.tile - 1))
    assert max(tried) > loops.declared + loops.tile
    source = cuda_source(program, (), tiling)
    assert "n_k" in source.text
    assert "length" in numba_source(program, (), tiling).text


@needs_gcc
@pytest.mark.parametrize("name", ["a product by tiles", pytest.param("a softmax", marks=pytest.mark.slow)])
def test_texts_run_at_other_lengths(tmp_path: Path, name: str) -> None:
    """The emulated text gives NumPy's numbers at lengths that were not tried, of rows and along the loops."""
    program, tiling = along(tmp_path, KERNELS[name][0])
    text = cuda_source(program, (), tiling).text
    for rows, length in ((5, 19),):
        sizes = {axis.axis: rows for axis in tiling.of_grid}
        arrays = run(program, tiling, text, {**sizes, "k": length})
        if name == "a softmax":
            powers = np.exp(arrays[0] - arrays[0].max(axis=1, keepdims=True))
            np.testing.assert_allclose(arrays[1], powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
        else:
            np.testing.assert_array_equal(arrays[2], arrays[0] @ arrays[1])


KEEP = "    t = cuda.shared.array(16, f32)\n    t[cuda.threadIdx.x] = f32(0)"
LOOP = "        acc += x[i, 8 * k + lane]"
TRIPS = "line 32, in the loop along it, is not the same in each trip"
KEPT = {
    "a condition on the trip": (SUM.replace("acc +=", "if k < 5:\n            acc +="), "sum(row)", TRIPS),
    "a bound of another stride": (
        SUM.replace("acc +=", "if 4 * k + lane < x.shape[1]:\n            acc +="), "sum(row)", TRIPS
    ),
    "a trip that uses the one before": (
        SUM.replace("acc += x[i, 8 * k + lane]", "acc = acc * 2 + x[i, 8 * k + lane]"),
        "sum(row[8 * k + l] * 2 ** (len(row) // 8 - 1 - k) for k in range(len(row) // 8) for l in range(8))",
        "acc, which line 32 sets, is taken from one trip of the loop to the next",
    ),
    "the last trip alone": (
        SUM.replace(LOOP, "        v = x[i, 8 * k + lane]\n        acc += v") + "\n    acc = acc + (v - v)",
        "sum(row)",
        "v, which line 32 sets, is used behind the loop",
    ),
    "a specification of one size": (
        SUM, "sum(row[k] for k in range(24))",
        "the specification takes no more elements at length 32: write it with len(x), not with a number",
    ),
    "what an array was left": (
        SUM.replace("    acc = f32(0)", f"    acc = f32(0)\n{KEEP}")
        .replace(LOOP, "        t[cuda.threadIdx.x] = t[cuda.threadIdx.x] + f32(0) + x[i, 8 * k + lane]")
        .replace("    acc = total", "    acc = t[cuda.threadIdx.x]\n    acc = total"),
        "sum(row)",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("loops", "what", "why"), KEPT.values(), ids=KEPT)
def test_lengths_that_stay(tmp_path: Path, loops: str, what: str, why: str) -> None:
    """Where trips are not alike or share more than sums, the kernel keeps its size and says why."""
    _, tiling = tiled(tmp_path, row(what, loops, ONE + "acc"))
    assert isinstance(tiling, Tiling)
    assert tiling.of_loops is None
    if why:
        assert tiling.kept == f"24 stays: {why}"
    else:
        assert tiling.kept.startswith("24 stays: a trip of the loop uses what another one left: t[")


def test_trips_that_leave_elements_to_each_other_race(tmp_path: Path) -> None:
    """Without the barrier at the end of a trip, the kernel is wrong at its own size already."""
    last = "(ta[ty, k], tb[k, tx])"
    text = TILED.replace(f"{last}\n        cuda.syncthreads()", last)
    _, tiling = tiled(tmp_path, text)
    assert isinstance(tiling, FixedSize)
    assert "12 stays: at length 15, race on ta[0, 0]" in tiling.why, tiling


INSIDE, TRIPS_OF = "k_2 * 8 + lane < length", "k_2 < (length + 7) >> 3"
MUTANTS = {
    "a sum": [
        (INSIDE, f"{INSIDE} + 8"),
        (INSIDE, INSIDE.replace("<", "<=")),
        (INSIDE, f"{INSIDE} - 1"),
        (TRIPS_OF, "k_2 < length >> 3"),
        ("x_1 + k_2 * 8 + lane", "x_1 + k_2 * 7 + lane"),
        ("x_1 = n_k", "x_1 = 24"),
    ],
    "a maximum": [("-__int_as_float(0x7f800000)", "0.0f"), ("k_2 = 1;", "k_2 = 2;")],
    "a softmax": [(INSIDE, "true"), (INSIDE, "lane < length")],
    "a product by tiles": [
        ("t + tx < length ?", "true ?"),
        ("t + ty < length ?", "t + ty <= length ?"),
        ("t < length; t += 4", "t + 4 <= length; t += 4"),
        ("      }\n      __syncthreads();\n", "      }\n"),
        ("int length = int(n_k)", "int length = int(n_k) & 31"),
    ],
}


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize(("name", "old", "new"), [(name, *each) for name, every in MUTANTS.items() for each in every])
def test_wrong_texts_are_noticed(tmp_path: Path, name: str, old: str, new: str) -> None:
    """A text whose masks, trips, barriers or strides are wrong gives other numbers, or breaks a rule."""
    program, tiling = along(tmp_path, KERNELS[name][0])
    text = cuda_source(program, (), tiling).text
    assert old in text
    for length in (5, 16, 29, 53):
        sizes = {**{axis.axis: axis.tile for axis in tiling.of_grid}, "k": length}
        try:
            found = run(program, tiling, text.replace(old, new), sizes)
        except EmulationError:
            return
        if not all(map(np.array_equal, found, run(program, tiling, text, sizes))):
            return
    pytest.fail("nothing noticed it")


@pytest.mark.slow
@pytest.mark.skipif(not available_tools(), reason="no CUDA compiler here")
def test_distances_between_rows_of_every_length(tmp_path: Path) -> None:
    """Where loops run along a number, the PTX is right in every block of every length of the grid."""
    text = TILED.replace("(4, 4)", "(2, 2)").replace("[8, 12]", "[4, 4]").replace("[12, 8]", "[4, 4]")
    text = text.replace("[8, 8]", "[4, 4]").replace("range(0, 12, 4)", "range(0, 4, 2)").replace("range(4)", "range(2)")
    (tmp_path / "own.py").write_text(text)
    (sketch,) = load(tmp_path / "own.py", None, {})
    filled = FilledKernel(sketch.program, sketch.spec, (), sizes_of(sketch.program, sketch))
    source = cuda_source(filled.program, (), filled.sizes)
    validator = SizesValidator(sizes_to_try(filled, source), source)
    found = validator.validate(compile_to_ptx(source.text), source.entry)
    assert (found.verdict, found.everywhere, found.every_block_at) == ("equal", False, 3)
    assert found.long[0] == "block (1, 1, 0) at length 2146434996 along its loops"
    for old, new in (
        ("static_cast<long long>(t + ty) * b_1", "(t + ty) * int(b_1)"),
        ("c += begin_y * c_1", "c += int(begin_y) * int(c_1)"),
    ):
        assert old in source.text
        found = validator.validate(compile_to_ptx(source.text.replace(old, new)), source.entry)
        assert (found.verdict, found.every_block_at) == ("different", 0)
        assert found.findings[0].startswith("in block ("), found.findings


AT, LENGTH, ELEMENT = "x[i * x_1 + k_2 * 8 + lane]", "int length = int(n_k)", "*(const float*)((const char*)"
OVERFLOWS = {
    "a sum": [
        (AT, "x[int(i * x_1) + k_2 * 8 + lane]"),
        (AT, "x[i * x_1 + (k_2 * 8 & 0xffffff) + lane]"),
        (AT, f"{ELEMENT}x + unsigned((i * x_1 + k_2 * 8 + lane) * 4))"),
        (AT, f"{ELEMENT}(x + i * x_1) + unsigned((k_2 * 8 + lane) * 4))"),
        ("begin_x * x_1", "int(begin_x) * int(x_1)"),
        ("x_1 = n_k", "x_1 = int(n_k) & 0xfffff"),
    ],
    "a product by tiles": [
        ("static_cast<long long>(t + ty) * b_1", "(t + ty) * int(b_1)"),
        ("a[ty * a_1 + t + tx]", "a[int(ty * a_1) + t + tx]"),
        ("begin_y * a_1", "int(begin_y) * int(a_1)"),
        ("b_1 = n_x", "b_1 = n_k > 100000 ? n_x + 1 : n_x"),
    ],
}
CUT = {
    "a sum": [
        (LENGTH, "int length = int(n_k > 100000 ? 100000 : n_k)"),
        (LENGTH, "int length = int(n_k < 1073741824 ? n_k : 1073741824)"),
        (LENGTH, "int length = n_k == 2147483 ? 5 : int(n_k)"),
        (LENGTH, "int length = n_k == 61 ? 5 : int(n_k)"),
        (LENGTH, "int length = int(n_k) - (n_k > 2146435000)"),
        (LENGTH, "int length = n_k == 2146435072 ? 5 : int(n_k)"),
        (LENGTH, "int length = int(n_k < 2146435070 ? n_k : 2146435070)"),
        (TRIPS_OF, f"{TRIPS_OF} && k_2 < 65536"),
        (TRIPS_OF, "k_2 < (length > 1 << 20 ? length >> 3 : (length + 7) >> 3)"),
        (INSIDE, f"({INSIDE} || n_k - 5 == 4321)"),
        (INSIDE, f"{INSIDE} && k_2 != 70000"),
        ("int k_2 = 0", "int k_2 = length > 99999 ? 1 : 0"),
        ("++k_2", "k_2 += length > 99999 ? 2 : 1"),
        ("acc = acc +", "acc = acc * (k_2 == 77777 ? 2.0f : 1.0f) +"),
    ],
    "a product by tiles": [
        (LENGTH, "int length = int(n_k > 100000 ? 100000 : n_k)"),
        ("t < length; t += 4", "t < length; t += t == 400000 ? 8 : 4"),
        ("t + tx < length ?", "t + tx < (length & 0xffffff) ?"),
        (LENGTH, "int length = int(n_k > 2146435000 ? n_k - 1 : n_k)"),
    ],
}
RIGHT = {
    "a sum": [
        (TRIPS_OF, "k_2 * 8 < length"),
        ("int k_2 = 0; k_2 < (length + 7) >> 3; ++k_2", "int k_2 = ((length + 7) >> 3) - 1; k_2 >= 0; --k_2"),
    ],
    "a softmax": [("float", "float")],
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.skipif(not available_tools(), reason="no CUDA compiler here")
@pytest.mark.parametrize("name", ["a sum", "a product by tiles", pytest.param("a softmax", marks=pytest.mark.slow)])
def test_huge_lengths_along_loops(tmp_path: Path, name: str) -> None:
    """Offsets that overflow and trips that are cut at huge lengths only are not equal; other ways to say it are."""
    (tmp_path / "own.py").write_text(KERNELS[name][0])
    (sketch,) = load(tmp_path / "own.py", None, {})
    filled = FilledKernel(sketch.program, sketch.spec, (), sizes_of(sketch.program, sketch))
    source = cuda_source(filled.program, (), filled.sizes)
    validator = SizesValidator([LaunchSize(filled, source.lengths())], source)
    kept = (13, 25) if name == "a softmax" else (13,)  # it hands elements on through four places, four trips at once
    texts = []
    for old, new in (*OVERFLOWS.get(name, ()), *CUT.get(name, ()), *RIGHT.get(name, ())):
        assert old in source.text, old
        texts.append(Mutant(0, new, source.text.replace(old, new)))
    together_, names = together(source.text, source.entry, texts, dispatch=False)
    ptx = compile_to_ptx(with_opaque_calls(together_))
    for mutant, entry in zip(texts, names, strict=True):
        found = validator.along_loops(ptx, entry, kept)
        right = mutant.change in [new for _, new in RIGHT.get(name, ())]
        assert (found.verdict == "equal") == right, (mutant.change, found.findings)


COLUMNS = f"""{HEAD}
@spec
def s(x):
    return [sum(x[k][i] for k in range(len(x))) for i in range(len(x[0]))]

@sketch(spec=s, block=128, grid=2, x=f32[12, 256], y=f32.out[256])
def k(x, y):
    i = cuda.grid(1)
    acc = f32(0)
    for k in range(12):
        acc += x[k, i]
    y[i] = acc
"""


@pytest.mark.slow
@pytest.mark.skipif(not available_tools(), reason="no CUDA compiler here")
def test_a_length_at_which_arrays_have_no_room_is_not_passed_over(tmp_path: Path) -> None:
    """A text that asks for one is not shown equal; one that asks for none is equal at the lengths that are named."""
    (tmp_path / "own.py").write_text(COLUMNS)
    (sketch,) = load(tmp_path / "own.py", None, {})
    filled = FilledKernel(sketch.program, sketch.spec, (), sizes_of(sketch.program, sketch))
    source = cuda_source(filled.program, (), filled.sizes)
    validator = SizesValidator([LaunchSize(filled, source.lengths())], source)
    found = validator.along_loops(compile_to_ptx(with_opaque_calls(source.text)), source.entry, (13,))
    assert found.verdict == "equal" and found.long, found.findings
    assert LENGTH in source.text
    changed = source.text.replace(LENGTH, "int length = int(n_k) - (n_k > 2146435000)")
    found = validator.along_loops(compile_to_ptx(with_opaque_calls(changed)), source.entry, (13,))
    assert (found.verdict, found.findings[0]) == (
        "unknown", "the kernel asks for length 2146435000 along loops, at which arrays have no room"
    )  # fmt: skip
