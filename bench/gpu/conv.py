"""Convolutions of single precision: one- and two-dimensional, and the moving average (paper, section 7.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isqrt

import numpy as np

from bench.gpu.contenders import Setup, solved, written
from bench.gpu.kernels import Kernel, Lengths, by_hand
from bench.gpu.libraries import average_1d, convolution_1d, convolution_2d
from bench.gpu.problem import Array, ArraySpec, Case, Contender, Problem
from bench.gpu.solved import Sketch, sketch

FILTERS = (3, 5, 7, 9, 11, 13, 15, 17)
SMALL_1D: tuple[Lengths, ...] = ({"x": 1}, {"x": 1000}, {"x": 2048})
BLOCKS_1D = (128, 256)
BLOCKS_2D = ((32, 8), (32, 16), (64, 8))


def cases(setup: Setup) -> Iterator[Case]:
    for k in FILTERS:
        yield Case(
            "2D convolution, filter side",
            k,
            partial(problem_2d, k),
            partial(expected_2d, k),
            ({"x": 1, "y": 1}, {"x": 131, "y": 37}, {"x": 256, "y": 16}),
            full_2d,
            partial(sketches_2d, k),
            partial(contenders_2d, setup, k),
            "pixels",
        )
    for k in FILTERS:
        yield Case(
            "1D convolution, weights",
            k,
            partial(problem_1d, k),
            partial(expected_1d, k),
            SMALL_1D,
            full_1d,
            partial(sketches_1d, k, "convolution"),
            partial(contenders_1d, setup, k),
            "elements",
        )
    for k in FILTERS:
        yield Case(
            "1D stencil (moving average), width",
            k,
            partial(problem_average, k),
            partial(expected_average, k),
            SMALL_1D,
            full_1d,
            partial(sketches_1d, k, "average"),
            partial(contenders_average, setup, k),
            "elements",
        )


def full_1d(bytes_: int) -> Lengths:
    return {"x": bytes_ // 4 - 1}


def full_2d(bytes_: int) -> Lengths:
    """A square of so many bytes: 16384 x 16384 for 1 GiB."""
    return {"x": isqrt(bytes_ // 4), "y": isqrt(bytes_ // 4)}


# ---- two dimensions --------------------------------------------------------------------------------------------


def problem_2d(k: int, lengths: Lengths) -> Problem:
    width, height = lengths["x"], lengths["y"]
    arrays = (
        ArraySpec("x", "float32", (height + k - 1, width + k - 1), "in"),
        ArraySpec("w", "float32", (k, k), "in"),
        ArraySpec("y", "float32", (height, width), "out"),
    )
    return Problem(lengths, arrays, width * height, {"multiply-adds": k * k * width * height}, largest=16.0 * k * k)


def expected_2d(k: int, arrays: Mapping[str, Array]) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(arrays["x"], (k, k))
    found: Array = np.einsum("rcij,ij->rc", windows, arrays["w"], dtype=np.float64).astype(np.float32)
    return found


def sketches_2d(k: int) -> dict[str, list[Sketch]]:
    """Return our kernels by name; of each, what it is tuned over: outputs per thread, warps to a block."""
    found = {}
    if k <= 7:
        columns = (32, 16, 8) if k == 3 else (8,)
        found["ours: one output"] = [
            sketch("case_studies/conv2d.py:conv2d", K=k, warp_columns=c, warps=4) for c in columns
        ]
    # Rows and columns of outputs per thread. A larger filter is bound by arithmetic, and `spread` by its shuffles.
    spread = ((4, 2), (8, 2), (4, 4)) if k == 3 else ((4, 2), (8, 2)) if k < 9 else ((4, 4),)
    # Much larger tiles than these are not unrolled any more, and their sums leave the registers.
    packed = {3: ((4, 4), (8, 2)), 13: ((4, 4), (4, 8)), 15: ((4, 4), (2, 4)), 17: ((4, 4), (2, 4))}
    for name, shapes in (("spread", spread if k < 11 else ()), ("packed", packed.get(k, ((4, 4), (8, 4))))):
        if not shapes:
            continue
        found[f"ours: {name}"] = [
            sketch(f"bench/gpu/sketches/conv2d.py:{name}", K=k, rows=rows, columns=columns, warps=2 if k < 9 else 1)
            for rows, columns in shapes
        ]
    return found


def contenders_2d(setup: Setup, k: int) -> list[Contender]:
    def kernels(entry: str) -> dict[str, Kernel]:
        return {f"{x} x {y}": by_hand("conv2d.cu", entry, (x, y), "xwy", (x, y), K=k, X=x, Y=y) for x, y in BLOCKS_2D}

    return [
        written("direct", kernels("direct_2d")),
        written("shared memory", kernels("shared_2d")),
        *convolution_2d(),
        *(solved(setup, name, variants) for name, variants in sketches_2d(k).items()),
    ]


# ---- one dimension ---------------------------------------------------------------------------------------------


def problem_1d(k: int, lengths: Lengths) -> Problem:
    n = lengths["x"]
    arrays = (
        ArraySpec("x", "float32", (n + k - 1,), "in"),
        ArraySpec("w", "float32", (k,), "in"),
        ArraySpec("y", "float32", (n,), "out"),
    )
    return Problem(lengths, arrays, n, {"multiply-adds": k * n}, largest=16.0 * k)


def expected_1d(k: int, arrays: Mapping[str, Array]) -> Array:
    x = arrays["x"].astype(np.float64)
    return np.correlate(x, arrays["w"].astype(np.float64), "valid").astype(np.float32)


def problem_average(k: int, lengths: Lengths) -> Problem:
    n = lengths["x"]
    arrays = (ArraySpec("x", "float32", (n + k - 1,), "in"), ArraySpec("y", "float32", (n,), "out"))
    return Problem(lengths, arrays, n, {"multiply-adds": k * n}, largest=4.0, tolerance=1e-6)


def expected_average(k: int, arrays: Mapping[str, Array]) -> Array:
    sums = np.correlate(arrays["x"].astype(np.float64), np.ones(k), "valid")
    return (sums / k).astype(np.float32)


def sketches_1d(k: int, name: str) -> dict[str, list[Sketch]]:
    """Return our kernels by name: `name` is 'convolution' or 'average'."""
    one = "conv1d.py:conv1d" if name == "convolution" else "stencil1d.py:stencil1d"
    packed = "packed" if name == "convolution" else "packed_average"
    return {
        "ours: one output": [sketch(f"case_studies/{one}", K=k, warps=warps) for warps in (4, 8)],
        "ours: several outputs": [
            sketch(f"bench/gpu/sketches/conv1d.py:{name}", K=k, columns=columns, warps=4) for columns in (2, 4, 8)
        ],
        "ours: packed": [
            sketch(f"bench/gpu/sketches/conv1d.py:{packed}", K=k, columns=columns, warps=4) for columns in (4, 8)
        ],
    }


def _one_dimension(entry: str, k: int, pointers: str, blocks: Sequence[int] = BLOCKS_1D) -> dict[str, Kernel]:
    return {f"{x} threads": by_hand("conv1d.cu", entry, x, pointers, (x,), K=k, X=x) for x in blocks}


def contenders_1d(setup: Setup, k: int) -> list[Contender]:
    return [
        written("direct", _one_dimension("direct_1d", k, "xwy")),
        written("shared memory", _one_dimension("shared_1d", k, "xwy")),
        *convolution_1d(),
        *(solved(setup, name, variants) for name, variants in sketches_1d(k, "convolution").items()),
    ]


def contenders_average(setup: Setup, k: int) -> list[Contender]:
    return [
        written("direct", _one_dimension("average_1d", k, "xy")),
        written("shared memory", _one_dimension("shared_average_1d", k, "xy")),
        *average_1d(k),
        *(solved(setup, name, variants) for name, variants in sketches_1d(k, "average").items()),
    ]
