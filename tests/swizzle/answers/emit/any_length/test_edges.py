"""Kernels that pad, clamp or keep what is near the ends of arrays: at any length, and not where that is wrong."""

from __future__ import annotations

import re
import shutil
from functools import lru_cache

import numpy as np
import pytest

from cuda_out.c.printer import CudaSource
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.every_length.tiles import TileValidator
from cuda_out.ptx.running.validate import Validation, WrittenOut
from cuda_out.tiling.tiling import Tiling
from swizzle import accumulator, cuda, f32, i32, sketch, solve, spec
from swizzle.answers.checking.trial import LaunchSize
from swizzle.answers.checking.validator import tile_validators
from swizzle.answers.emit.any_length.conditions import FixedSize, any_length
from swizzle.answers.emit.emitters import cuda_source, sizes_as_json, sizes_text
from swizzle.answers.emit.filled import FilledKernel
from swizzle.sketches.sketch import Sketch
from symbolic.ir.program import Program


@spec
def clamped_spec(x):
    n = len(x)
    return [x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)] for i in range(n)]


@sketch(spec=clamped_spec, block=32, grid=3, x=f32[96], y=f32.out[96])
def clamped(x, y):
    i = cuda.grid(1)
    y[i] = x[max(i - 1, 0)] + x[i] + x[min(i + 1, len(x) - 1)]


@sketch(spec=clamped_spec, block=32, grid=3, x=f32[96], y=f32.out[96])
def whole_tiles(x, y):
    """The tile's own elements are read without a clamp, so blocks cannot be cut."""
    t, begin = cuda.threadIdx.x, cuda.blockIdx.x * 32
    s = cuda.shared.array(34, f32)
    s[t + 1] = x[begin + t]
    if t == 0:
        s[0] = x[max(begin - 1, 0)]
        s[33] = x[min(begin + 32, len(x) - 1)]
    cuda.syncthreads()
    y[begin + t] = s[t] + s[t + 1] + s[t + 2]


@spec
def padded_spec(x):
    n = len(x)
    return [(x[i - 1] if i > 0 else 0) + x[i] + (x[i + 1] if i + 1 < n else 0) for i in range(n)]


@sketch(spec=padded_spec, block=64, grid=2, x=f32[128], y=f32.out[128])
def shuffled(x, y):
    i, lane = cuda.grid(1), cuda.laneid
    own = x[i]
    before, after = cuda.shfl_up_sync(cuda.FULL_MASK, own, 1), cuda.shfl_down_sync(cuda.FULL_MASK, own, 1)
    if lane == 0:
        before = x[i - 1] if i > 0 else 0
    if lane == 31:
        after = x[i + 1] if i + 1 < len(x) else 0
    y[i] = before + own + after


@spec
def fir_spec(x, w):
    n = len(x)
    return [sum(w[k] * (x[i + k - 2] if 0 <= i + k - 2 < n else 7) for k in range(5)) for i in range(n)]


@sketch(spec=fir_spec, block=32, grid=3, x=i32[96], w=i32.const[5], y=i32.out[96])
def fir(x, w, y):
    """A tile with what is around it, padded with 7."""
    t, begin = cuda.threadIdx.x, cuda.blockIdx.x * 32
    s = cuda.shared.array(36, i32)
    for r in range(2):
        at = begin + r * 32 + t - 2
        if r * 32 + t < 36:
            s[r * 32 + t] = x[at] if 0 <= at < len(x) else 7
    cuda.syncthreads()
    out = accumulator(i32, outer="+", inner="*")
    for k in range(5):
        out.accumulate(w[k], s[t + k])
    if begin + t < len(x):
        y[begin + t] = out.value


@spec
def reflected_spec(x):
    n = len(x)
    return [x[abs(i - 2)] + x[n - 1 - abs(n - 1 - (i + 2))] for i in range(n)]


@sketch(spec=reflected_spec, block=16, grid=4, x=f32[64], y=f32.out[64])
def reflected(x, y):
    i, n = cuda.grid(1), len(x)
    if i < n:
        y[i] = x[abs(i - 2)] + x[n - 1 - abs(n - 1 - (i + 2))]


@spec
def kept_spec(u):
    h, w = u.shape
    rim = [[i in (0, h - 1) or j in (0, w - 1) for j in range(w)] for i in range(h)]
    return [
        [u[i, j] if rim[i][j] else u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] for j in range(w)]
        for i in range(h)
    ]


@sketch(spec=kept_spec, block=(8, 4), grid=(2, 3), u=f32[12, 16], v=f32.out[12, 16])
def kept(u, v):
    j, i = cuda.grid(2)
    h, w = u.shape
    if i < h and j < w:
        if i == 0 or i == h - 1 or j == 0 or j == w - 1:
            v[i, j] = u[i, j]
        else:
            v[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]


@sketch(spec=clamped_spec, block=32, grid=3, x=f32[96], y=f32.out[96])
def assigned(x, y):
    """Clamps as C has them, and a block that is asked for by its number."""
    i = cuda.grid(1)
    j, k = i - 1, i + 1
    if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0:
        j = 0
    if k >= len(x):
        k = len(x) - 1
    y[i] = x[j] + x[i] + x[k]


@spec
def end_reflected_spec(x):
    n = len(x)
    return [x[i] + x[i + 1 if i + 1 < n else n - 2] for i in range(n)]


@sketch(spec=end_reflected_spec, block=32, grid=2, x=f32[64], y=f32.out[64])
def end_reflected(x, y):
    """Of one element the specification, as Python does, takes the last; a kernel would read before the array."""
    i, n = cuda.grid(1), len(x)
    if i < n:
        y[i] = x[i] + x[i + 1 if i + 1 < n else n - 2]


@sketch(spec=end_reflected_spec, block=32, grid=2, x=f32[64], y=f32.out[64])
def whole_reflected(x, y):
    """A multiple of 32 is at least 2, which need not be said."""
    i, n = cuda.grid(1), len(x)
    after = cuda.shfl_down_sync(cuda.FULL_MASK, x[i], 1)
    if cuda.laneid == 31:
        after = x[i + 1 if i + 1 < n else n - 2]
    y[i] = x[i] + after


@spec
def along_rows_spec(u):
    h, w = u.shape
    return [[u[i, j] - (u[i, j + 2] if j + 2 < w else 4) for j in range(w)] for i in range(h)]


@sketch(spec=along_rows_spec, block=(8, 2), grid=(2, 2), u=i32[4, 16], v=i32.out[4, 16])
def along_rows(u, v):
    """Rows are alike, and have edges: both lengths are free."""
    j, i = cuda.grid(2)
    v[i, j] = u[i, j] - (u[i, j + 2] if j + 2 < u.shape[1] else 4)


@lru_cache
def sized(each: Sketch) -> tuple[Program, Tiling | FixedSize]:
    program = solve(each).best.program
    return program, any_length(program, each.spec)


SAID = {
    clamped: "x[n], y[n]",
    assigned: "x[n], y[n]",
    whole_tiles: "x[n], y[n]; n a multiple of 32",
    shuffled: "x[n], y[n]",
    fir: "x[n], w[5], y[n]",
    reflected: "x[n], y[n]; n at least 3",
    kept: "u[n_y, n_x], v[n_y, n_x]",
    end_reflected: "x[n], y[n]; n at least 2",
    whole_reflected: "x[n], y[n]; n a multiple of 32",
    along_rows: "u[n_y, n_x], v[n_y, n_x]",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("each", SAID, ids=lambda each: each.name)
def test_edges_take_any_length(each: Sketch) -> None:
    program, tiling = sized(each)
    assert sizes_text(program, tiling) == f"any length: {SAID[each]}"


def test_what_is_tried_in_some_places_only_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swizzle.answers.emit.any_length.edges.MOST_THREADS", 1 << 6)
    program = sized(clamped)[0]
    tiling = any_length(program, clamped.spec)
    assert sizes_text(program, tiling).endswith(
        "x[n], y[n]; not all that may be left for a block at the edges was tried"
    )
    assert sizes_as_json(program, tiling)["left_tried"] == {"n": [1, 2, 3, 16, 30, 31, 32, 33]}


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
def test_numpy_gives_the_same_at_other_lengths() -> None:
    """Two texts, each compiled once, at lengths around a block's and at random ones."""
    rng = np.random.default_rng(3)
    one, two = solve(fir).best, solve(kept).best
    for n in (1, 2, 3, 31, 32, 33, 34, 35, 64, 97, *rng.integers(1, 300, 3)):
        x, w = rng.integers(-9, 9, n, np.int32), rng.integers(-9, 9, 5, np.int32)
        y = np.zeros(n, np.int32)
        one(x, w, y)
        assert np.array_equal(y, np.correlate(np.pad(x, 2, constant_values=7), w, "valid")), n
    for shape in ((1, 1), (1, 9), (2, 2), (4, 8), (5, 7), (9, 17)):
        u, v = rng.integers(-9, 9, shape).astype(np.float32), np.zeros(shape, np.float32)
        two(u, v)
        want = u.copy()
        want[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        assert np.array_equal(v, want), shape


# ---- what keeps its size ----------------------------------------------------------------------------------------


@spec
def wrapped_spec(x):
    n = len(x)
    return [x[i - 1 if i > 0 else n - 1] for i in range(n)]


@sketch(spec=wrapped_spec, block=32, grid=3, x=f32[96], y=f32.out[96])
def wrapped(x, y):
    i = cuda.grid(1)
    y[i] = x[i - 1 if i > 0 else len(x) - 1]


@spec
def numbered_spec(x):
    return [x[max(i - 1, 0)] for i in range(96)]


@sketch(spec=numbered_spec, block=32, grid=3, x=f32[96], y=f32.out[96])
def numbered(x, y):
    i = cuda.grid(1)
    y[i] = x[max(i - 1, 0)]


@spec
def stopped_spec(x):
    return [x[max(i - 1, 0)] + x[min(i + 1, 95, len(x) - 1)] for i in range(len(x))]


@sketch(spec=stopped_spec, block=32, grid=3, x=f32[96], y=f32.out[96])
def stopped(x, y):
    i = cuda.grid(1)
    y[i] = x[max(i - 1, 0)] + x[min(i + 1, 95)]


@spec
def wide_spec(x):
    return [x[max(i - 40, 0)] for i in range(len(x))]


@sketch(spec=wide_spec, block=32, grid=6, x=f32[192], y=f32.out[192])
def wide(x, y):
    i = cuda.grid(1)
    y[i] = x[max(i - 40, 0)]


@spec
def cleared_spec(x):
    return [0 if i == 0 else x[i] for i in range(len(x))]


@spec
def far_reflected_spec(x):
    return [x[abs(i - 1)] + x[len(x) - 1 - abs(len(x) - 1 - i - 3)] for i in range(len(x))]


@sketch(spec=far_reflected_spec, block=32, grid=2, x=f32[64], y=f32.out[64])
def unguarded(x, y):
    """Where few elements are left, threads behind the end reflect to before the start."""
    i, n = cuda.grid(1), len(x)
    y[i] = x[abs(i - 1)] + x[n - 1 - abs(n - 1 - i - 3)]


@sketch(spec=cleared_spec, block=32, grid=3, x=f32.inout[96])
def cleared(x):
    i = cuda.grid(1)
    x[i] = x[i] if i > 0 else 0


KEPT = {
    wrapped: "an end that depends on the other one, or on the length, is not supported",
    numbered: "write it with len(x)",
    stopped: r"at length 129, the specification's y[95] is not that of other lengths",
    wide: "ends are 40 wide along x, and a block takes 32",
    cleared: "x is overwritten",
    unguarded: "x[-1] is out of bounds; have threads beyond the end clamp or skip it",
}


@pytest.mark.parametrize("each", KEPT, ids=lambda each: each.name)
def test_what_does_not_go_on_keeps_its_size(each: Sketch) -> None:
    _, found = sized(each)
    assert isinstance(found, FixedSize) and KEPT[each] in str(found)


# ---- what is wrong at some length --------------------------------------------------------------------------------


@lru_cache
def validators(each: Sketch) -> tuple[CudaSource, list[TileValidator]]:
    """Return a text, and what validates it for every block of every length."""
    program, tiling = sized(each)
    assert isinstance(tiling, Tiling)
    source = cuda_source(program, (), tiling)
    size = LaunchSize(FilledKernel(program, each.spec, ()), source.lengths())
    written = WrittenOut(size.meaning.terms, program.parameters)
    return source, list(tile_validators(size, tiling, written, source.alignment))


def validated(text: str, each: Sketch, arch: str) -> list[Validation]:
    ptx, (source, every) = compile_to_ptx(text, arch), validators(each)
    return [one.validate(ptx, source.entry) for one in every]


WRONG = [
    (clamped, r"left - 1\)", "left)", "out of bounds"),
    (clamped, r"-before\)\]", "-before - 1)]", "out of bounds"),
    (clamped, r"begin >= 1 \?", "begin >= 0 ?", "out of bounds"),
    (clamped, r"begin >= 1 && ", "", "out of bounds"),
    (clamped, r"n - begin\) >= 33 ", "n - begin) >= 32 ", "whether|out of bounds"),
    (along_rows, r"left_x - 2", "left_x - 1", "the specification says"),
    (along_rows, r"n_x - begin_x >= 10 &&", "n_x - begin_x >= 9 &&", "out of bounds"),
    (along_rows, r" : 4\)", " : 5)", "the specification says"),
    (fir, r": 7;", ": 1;", "the specification says"),
    (fir, r"< left( |\))", r"<= left\1", "out of bounds"),
    (fir, r">= -before", ">= 1 - before", "the specification says"),
    (fir, r"(begin >= 2 \?) 2", r"\1 1", "the specification says"),
    (fir, r"\? 62 : int", "? 33 : int", "the specification says"),
]


@pytest.mark.sampled(4)
@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize(("each", "old", "new", "complaint"), WRONG, ids=[f"{w[0].name}-{w[1]}" for w in WRONG])
def test_wrong_texts_are_not_validated(each: Sketch, old: str, new: str, complaint: str) -> None:
    text, count = re.subn(old, new, validators(each)[0].text)
    assert count
    found = validated(text, each, "sm_80")
    assert any(one.verdict != "equal" for one in found)
    assert re.search(complaint, " ".join(finding for one in found for finding in one.findings)), found


@pytest.mark.sampled(3)
@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize(
    "each", [clamped, whole_tiles, fir, kept, end_reflected, along_rows], ids=lambda each: each.name
)
def test_texts_are_validated_for_every_length(each: Sketch) -> None:
    found = validated(validators(each)[0].text, each, "sm_100")
    assert [(one.verdict, one.findings) for one in found] == [("equal", ())] * 2 ** (1 + (each in (kept, along_rows)))
