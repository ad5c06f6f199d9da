"""The window average, the transposition and the matrix times a vector of the case studies, each at one size: with one
output a thread, and with several (sketches/)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isqrt

import numpy as np

from bench.gpu.contenders import Setup, solved, written
from bench.gpu.kernels import Kernel, Lengths, by_hand
from bench.gpu.problem import Array, ArraySpec, Case, Contender, Problem
from bench.gpu.solved import Sketch, sketch

HERE = "bench/gpu/sketches"
SIDE, ROWS, COLUMNS = 3, 32, 64
"""Of the window; of the matrix that is transposed; of the matrix that a vector is multiplied with."""
SMALL: tuple[Lengths, ...] = ({"x": 1}, {"x": 77}, {"x": 256})


def cases(setup: Setup) -> Iterator[Case]:
    yield _case(
        setup, "2D stencil (window average), window side", SIDE, average, _average_of,
        ({"x": 1, "y": 1}, {"x": 131, "y": 37}, {"x": 256, "y": 16}),
        lambda bytes_: {"x": isqrt(bytes_ // 4), "y": isqrt(bytes_ // 4)}, average_kernels, "pixels",
        {"direct": {
            f"{x} x {y}": by_hand("tiles.cu", "direct_average", (x, y), "xy", (x, y), X=x, Y=y)
            for x, y in ((32, 8), (64, 8))
        }},
    )  # fmt: skip
    yield _case(
        setup, "Transposition, rows", ROWS, transposition, lambda arrays: arrays["x"].T, SMALL,
        lambda bytes_: {"x": bytes_ // (4 * ROWS) - 1}, transposition_kernels, "elements",
        {
            "direct": {"256 threads": by_hand("tiles.cu", "direct_transpose", 256, "xy", (256 // ROWS,), X=256, Y=1)},
            "shared memory": {
                f"32 x {y} threads": by_hand("tiles.cu", "shared_transpose", (32, y), "xy", (32,), X=32, Y=y)
                for y in (4, 8)
            },
        },
    )  # fmt: skip
    yield _case(
        setup, "Matrix times vector, columns", COLUMNS, product, lambda arrays: arrays["a"] @ arrays["x"], SMALL,
        lambda bytes_: {"x": bytes_ // (4 * COLUMNS) - 1}, product_kernels, "rows",
        {"direct": {
            f"{x} threads": by_hand("tiles.cu", "direct_gemv", x, "axy", (x // 32,), X=x, Y=1) for x in (32, 128, 256)
        }},
    )  # fmt: skip


def _case(
    setup: Setup,
    group: str,
    at: int,
    problem: Callable[[Lengths], Problem],
    expected: Callable[[Mapping[str, Array]], Array],
    small: tuple[Lengths, ...],
    full: Callable[[int], Lengths],
    ours: Callable[[], Mapping[str, list[Sketch]]],
    unit: str,
    hand: Mapping[str, Mapping[str, Kernel]],
) -> Case:
    def contenders() -> list[Contender]:
        rivals = [written(name, kernels) for name, kernels in hand.items()]
        return [*rivals, *(solved(setup, name, variants) for name, variants in ours().items())]

    return Case(group, at, problem, expected, small, full, ours, contenders, unit)


# ---- the average of a window -----------------------------------------------------------------------------------


def average(lengths: Lengths) -> Problem:
    width, height = lengths["x"], lengths["y"]
    arrays = (
        ArraySpec("x", "float32", (height + SIDE - 1, width + SIDE - 1), "in"),
        ArraySpec("y", "float32", (height, width), "out"),
    )
    outputs = width * height
    return Problem(lengths, arrays, outputs, {"multiply-adds": SIDE**2 * outputs}, largest=4.0, tolerance=1e-6)


def _average_of(arrays: Mapping[str, Array]) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(arrays["x"].astype(np.float64), (SIDE, SIDE))
    found: Array = windows.mean(axis=(2, 3)).astype(np.float32)
    return found


def average_kernels() -> dict[str, list[Sketch]]:
    return {
        "ours: one output": [sketch("case_studies/stencil2d.py:stencil2d", K=SIDE, warps=4)],
        "ours: several outputs": [
            sketch(f"{HERE}/conv2d.py:average", K=SIDE, rows=rows, columns=columns, warps=2)
            for rows, columns in ((4, 4), (8, 4))
        ],
    }


# ---- transposition ---------------------------------------------------------------------------------------------


def transposition(lengths: Lengths) -> Problem:
    n = lengths["x"]
    arrays = (ArraySpec("x", "float32", (ROWS, n), "in"), ArraySpec("y", "float32", (n, ROWS), "out"))
    return Problem(lengths, arrays, ROWS * n)


def transposition_kernels() -> dict[str, list[Sketch]]:
    return {
        "ours: one element": [sketch("case_studies/transpose.py:transpose")],
        "ours: several elements": [sketch(f"{HERE}/transpose.py:several", rows=rows) for rows in (8, 4)],
    }


# ---- a matrix times a vector -----------------------------------------------------------------------------------


def product(lengths: Lengths) -> Problem:
    n = lengths["x"]
    arrays = (
        ArraySpec("a", "float32", (n, COLUMNS), "in"),
        ArraySpec("x", "float32", (COLUMNS,), "in"),
        ArraySpec("y", "float32", (n,), "out"),
    )
    return Problem(lengths, arrays, n, {"multiply-adds": COLUMNS * n}, largest=16.0 * COLUMNS)


def product_kernels() -> dict[str, list[Sketch]]:
    return {
        "ours: one row": [sketch("case_studies/gemv.py:gemv")],
        "ours: several rows": [sketch(f"{HERE}/gemv.py:packed", each=each) for each in (2, 4)],
    }
