"""Lengths along loops that accumulate states: recurrences, pairs of sums, at lengths that a sketch has not."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.validate import Validation
from cuda_out.tiling.tiling import Tiling
from swizzle import load
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from tests.swizzle.answers.emit.any_length.test_reductions import along, run, tiled

HEAD = """
from swizzle import accumulator, cuda, f32, i32, scan_operator, serial, sketch, spec

@serial
def smoothed(x: i32, a: i32):
    h = 0
    for v, g in zip(x, a):
        h = g * h + v
    return h

@serial
def counted(x: i32):
    n, s = 0, 0
    for v in x:
        n += 1
        s += v * v
    return n, s

@serial(length=1024, where=lambda v: -1000 <= v <= 1000)
def best_run(x: i32):
    here, best = 0, 0
    for v in x:
        here = max(0, here + v)
        best = max(best, here)
    return best
"""
FILTERS = f"""{HEAD}
op = scan_operator(smoothed)

@spec
def s(x, g):
    return [op.result(*op.scan(list(a), list(b))[-1]) for a, b in zip(x, g)]

@sketch(spec=s, block=8, grid=2, warp_size=8, x=i32[16, 12], g=i32[16, 12], y=i32.out[16])
def k(x, g, y):
    i = cuda.grid(1)
    mine = accumulator(op)
    for k in range(12):
        mine.accumulate(op.lift(x[i, k], g[i, k]))
    y[i] = op.result(mine.value)
"""
SUMS = f"""{HEAD}
op = scan_operator(counted)

@spec
def s(x):
    return [op.result(*op.scan(list(a))[-1])[1] for a in x]

@sketch(spec=s, block=8, grid=4, warp_size=8, x=i32[4, 24], y=i32.out[4])
def k(x, y):
    i, lane = cuda.blockIdx.x, cuda.laneid
    mine = accumulator(op)
    for k in range(3):
        mine.accumulate(op.lift(x[i, 8 * k + lane]))
    s = mine.value
    for k in range(3):
        s = op.combine(s, cuda.shfl_xor_sync(cuda.FULL_MASK, s, 1 << k))
    n, q = op.result(s)
    if lane == 0:
        y[i] = q
"""


PROMISED = f"""{HEAD}
op = scan_operator(best_run)

@spec
def s(x):
    return [op.result(*op.scan(list(a))[-1]) for a in x]

@sketch(spec=s, block=8, grid=2, warp_size=8, x=i32[16, 12], y=i32.out[16])
def k(x, y):
    i = cuda.grid(1)
    mine = accumulator(op)
    for k in range(12):
        mine.accumulate(op.lift(x[i, k]))
    y[i] = op.result(mine.value)
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
@pytest.mark.parametrize("text", [FILTERS, SUMS], ids=["in order", "masked"])
def test_lengths_along_loops_are_free(tmp_path: Path, text: str) -> None:
    """They are what the loop of the file says, at lengths that were not tried, in which chunks are cut."""
    program, tiling = along(tmp_path, text)
    source, chunk = cuda_source(program, (), tiling).text, tiling.of_loops
    assert chunk is not None and chunk.least == 1 and "n_k" in source
    for length in (13,):
        sizes = {**{axis.axis: 3 * axis.tile for axis in tiling.of_grid}, "k": length}
        *given, found = run(program, tiling, source, sizes)
        if text is SUMS:
            assert np.array_equal(found, (given[0].astype(np.int64) ** 2).sum(axis=1).astype(np.int32))
            continue
        total = np.zeros(len(found), np.int64)
        for place in range(length):
            total = (given[1][:, place] * total + given[0][:, place]).astype(np.int32).astype(np.int64)
        assert np.array_equal(found, total.astype(np.int32))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PROMISED, "12 stays: line 38: best_run is proved of a number of elements"),
        (
            FILTERS.replace("mine.accumulate(op.lift(x[i, k]", "mine.accumulate(op.lift(op.result(mine.value)"),
            "12 stays: mine",
        ),
    ],
    ids=["a promised number of elements", "what was accumulated is read"],
)
def test_lengths_that_stay(tmp_path: Path, text: str, why: str) -> None:
    """An operator that is proved of so many elements says nothing of more; trips share what they add to only."""
    spec = "    return [op.result(*op.scan(list(a), list(b))[-1]) for a, b in zip(x, g)]"
    text = (
        text
        if "op.result(mine.value), g" not in text
        else text.replace(spec, "    return [a[-1] + b[-1] for a, b in zip(x, g)]")
    )
    _, found = tiled(tmp_path, text)
    if isinstance(found, Tiling):
        assert found.of_loops is None and found.kept.startswith(why), found.kept
    else:
        assert found is not None and why in found.why, found


@pytest.mark.slow
@pytest.mark.skipif(not available_tools(), reason="no CUDA compiler here")
def test_huge_lengths(tmp_path: Path) -> None:
    """The PTX is right where most trips are left out, and trips that are cut at huge lengths only are noticed."""
    (tmp_path / "own.py").write_text(FILTERS)
    (sketch,) = load(tmp_path / "own.py", None, {})
    filled = FilledKernel(sketch.program, sketch.spec, (), sizes_of(sketch.program, sketch))
    source = cuda_source(filled.program, (), filled.sizes)
    validator = SizesValidator(sizes_to_try(filled, source), source)

    def validated(text: str) -> Validation:
        return validator.validate(compile_to_ptx(with_opaque_calls(text)), source.entry)

    assert validated(source.text).verdict == "equal" and "along its loops" in validated(source.text).long[0]
    for old, new in (
        ("int length = int(n_k)", "int length = int(n_k > 100000 ? 100000 : n_k)"),
        ("int k_2 = 0", "int k_2 = length > 99999 ? 1 : 0"),
        ("x[i * x_1 + k_2]", "x[i * x_1 + (k_2 == 70000 ? 7 : k_2)]"),
    ):
        assert old in source.text
        assert validated(source.text.replace(old, new)).verdict != "equal", new
