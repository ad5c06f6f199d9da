"""Products of matrices by mma on numbers: every shape and type, by the figures of the PTX ISA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.run import interpret

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
Place = Callable[[int, int, int], tuple[int, int]]
"""The row and the column of element i of a lane, by its group g and its place t in the group."""

FIGURES: dict[str, tuple[str, Place, Place]] = {
    "m16n8k16 f16 bf16": (
        "f32",
        lambda g, t, i: (g if i in (0, 1, 4, 5) else g + 8, 2 * t + (i & 1) + (8 if i >= 4 else 0)),
        lambda g, t, i: (2 * t + (i & 1) + (8 if i >= 2 else 0), g),
    ),
    "m16n8k8 f16 bf16": (
        "f32",
        lambda g, t, i: (g if i < 2 else g + 8, 2 * t + (i & 1)),
        lambda g, t, i: (2 * t + i, g),
    ),
    "m16n8k4 tf32 f64": ("f32", lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g)),
    "m16n8k8 tf32 f64": (
        "f32",
        lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
        lambda g, t, i: (t + 4 * i, g),
    ),
    "m8n8k4 f64": ("f64", lambda g, t, i: (g, t), lambda g, t, i: (t, g)),
    "m16n8k16 f64": (
        "f64",
        lambda g, t, i: (g if i % 2 == 0 else g + 8, i // 2 * 4 + t),
        lambda g, t, i: (t + 4 * i, g),
    ),
    "m8n8k16 s8 u8": ("s32", lambda g, t, i: (g, 4 * t + i), lambda g, t, i: (4 * t + i, g)),
    "m16n8k16 s8 u8": ("s32", lambda g, t, i: (g if i < 4 else g + 8, 4 * t + (i & 3)), lambda g, t, i: (4 * t + i, g)),
    "m16n8k32 s8 u8": (
        "s32",
        lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, 4 * t + (i & 3) + (16 if i >= 8 else 0)),
        lambda g, t, i: (4 * t + (i & 3) + (16 if i >= 4 else 0), g),
    ),
    "m8n8k32 s4 u4": ("s32", lambda g, t, i: (g, 8 * t + i), lambda g, t, i: (8 * t + i, g)),
    "m16n8k32 s4 u4": ("s32", lambda g, t, i: (g if i < 8 else g + 8, 8 * t + (i & 7)), lambda g, t, i: (8 * t + i, g)),
    "m16n8k64 s4 u4": (
        "s32",
        lambda g, t, i: (g if i < 8 or 16 <= i < 24 else g + 8, 8 * t + (i & 7) + (32 if i >= 16 else 0)),
        lambda g, t, i: (8 * t + (i & 7) + (32 if i >= 8 else 0), g),
    ),
}
CASES = [(shape, kind) for key in FIGURES for shape, *kinds in [key.split()] for kind in kinds]
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4}


def words(kind: str, numbers: np.ndarray) -> np.ndarray:
    """Return a lane's elements as the registers that hold them, the first one lowest."""
    if kind in ("f64", "f32", "s32", "tf32"):
        return numbers.astype({"f64": "f8", "s32": "i4"}.get(kind, "f4")).view("u8" if kind == "f64" else "u4")
    if kind == "bf16":
        return (numbers.astype("f4").view("u4") >> 16).astype("u2").view("u4")
    if kind == "f16":
        return numbers.astype("f2").view("u4")
    size = BITS[kind]
    fields = numbers.astype(np.int64).reshape(-1, 32 // size) & (1 << size) - 1
    return (fields << size * np.arange(32 // size)).sum(axis=1).astype("u4")


def lanes(kind: str, matrix: np.ndarray, place: Place) -> np.ndarray:
    """Return for each lane the registers that hold its elements of a matrix."""
    count = matrix.size // 32
    each = [[matrix[place(lane // 4, lane % 4, i)] for i in range(count)] for lane in range(32)]
    return np.array([words(kind, np.array(row)) for row in each])


def multiplied(name: str, inputs: list[np.ndarray], sums: str) -> np.ndarray:
    """Run one mma on registers of A, B and C, lane by lane; return those of the result."""
    counts = [each.shape[1] for each in inputs]
    letter, c_type = {"f32": ("f", "float"), "f64": ("d", "double")}.get(sums, ("r", "unsigned"))
    factor, in_letter = ("double", "d") if sums == "f64" else ("unsigned", "r")
    first, holes = 0, []
    for count in (counts[2], *counts):
        holes.append("{" + ", ".join(f"%{first + n}" for n in range(count)) + "}")
        first += count
    given = [f'"{letter if x == "c" else in_letter}"({x}[{counts["abc".index(x)]} * t + {n}])'
             for x in "abc" for n in range(counts["abc".index(x)])]  # fmt: skip
    gives = [f'"={letter}"(d[{counts[2]} * t + {n}])' for n in range(counts[2])]
    text = (
        f'extern "C" __global__ void k(const {factor}* a, const {factor}* b, const {c_type}* c, {c_type}* d) {{\n'
        f'  int t = threadIdx.x;\n  asm volatile("{name} {", ".join(holes)};"'
        f" : {', '.join(gives)} : {', '.join(given)});\n}}"
    )
    result = np.zeros_like(inputs[2])
    for each in inputs:
        each.flags.writeable = False
    interpret(compile_to_ptx(text), "k", (1, 1, 1), (32, 1, 1), [*inputs, result])
    return result


def accumulator(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), 2 * t + (i & 1)


@pytest.mark.parametrize(("shape", "kind"), CASES)
def test_a_product_of_each_shape_and_type(shape: str, kind: str) -> None:
    """On whole numbers, which every type holds: exactly A @ B + C."""
    key = next(key for key in FIGURES if key.split()[0] == shape and kind in key)
    sums, of_a, of_b = FIGURES[key]
    sums = "f64" if kind == "f64" else sums
    m, n, k = (int(each) for each in shape[1:].replace("n", " ").replace("k", " ").split())
    random, low = np.random.default_rng(m * n * k), 0 if kind[0] == "u" else -8
    a, b, c = (random.integers(low, 8, size) for size in ((m, k), (k, n), (m, n)))
    inputs = [lanes(kind, a, of_a), lanes(kind, b, of_b), lanes(sums, c, accumulator)]
    found = multiplied(f"mma.sync.aligned.{shape}.row.col.{sums}.{kind}.{kind}.{sums}", inputs, sums)
    np.testing.assert_array_equal(found, lanes(sums, a @ b + c, accumulator))


def test_signs_may_differ_and_sums_may_be_halves() -> None:
    """s8 times u8; a result of f16 is rounded to it."""
    random = np.random.default_rng(0)
    a, b, c = random.integers(-128, 128, (16, 32)), random.integers(0, 256, (32, 8)), random.integers(-9, 9, (16, 8))
    _, of_a, of_b = FIGURES["m16n8k32 s8 u8"]
    inputs = [lanes("s8", a, of_a), lanes("u8", b, of_b), lanes("s32", c, accumulator)]
    found = multiplied("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", inputs, "s32")
    np.testing.assert_array_equal(found, lanes("s32", a @ b + c, accumulator))
    x, y, z = random.standard_normal((16, 16)), random.standard_normal((16, 8)), random.standard_normal((16, 8))
    _, of_a, of_b = FIGURES["m16n8k16 f16 bf16"]
    inputs = [lanes("f16", x, of_a), lanes("f16", y, of_b), lanes("f16", z, accumulator)]
    wide: list[Any] = [each.astype(np.float16).astype(np.float64) for each in (x, y, z)]
    found = multiplied("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", inputs, "f16")
    np.testing.assert_array_equal(found, lanes("f16", wide[0] @ wide[1] + wide[2], accumulator))


def test_factors_of_tf32_lose_their_last_bits() -> None:
    """13 bits of a float are not looked at."""
    _, of_a, of_b = FIGURES["m16n8k8 tf32 f64"]
    a, b, c = np.full((16, 8), 1 + 2.0**-10 + 2.0**-12), np.eye(8), np.zeros((16, 8))
    inputs = [lanes("tf32", a, of_a), lanes("tf32", b, of_b), lanes("f32", c, accumulator)]
    found = multiplied("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", inputs, "f32")
    assert (found.view("f4") == 1 + 2.0**-10).all()
