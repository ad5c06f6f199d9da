"""mma, ldmatrix, stmatrix and movmatrix in sketches, in all that a kernel becomes."""

from __future__ import annotations

import shutil

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle import Sketch
from swizzle.language.specs.verify import verify
from tests.sketches import sketch_of

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

PRODUCT = """\
@spec
def product_spec(x, w):
    return [[sum({a} * {b} for k in range({k})) for n in range(8)] for r in range({m})]

K = {k} // {packed}

@sketch(spec=product_spec, block=32, x={held}[{m}, K], w={held}[8, K], y={total}.out[{m}, 8])
def product(x, w, y):
    a = cuda.fragment("A", "m{m}n8k{k}", {held})
    b = cuda.fragment("B", "m{m}n8k{k}", {held})
    c = cuda.fragment("C", "m{m}n8k{k}", {total})
    g, t = cuda.laneid // 4, cuda.laneid % 4
    for i in range({m} * {k} // {packed} // 32):
        a[i] = x[g + 8 * (i // {per} % ({m} // 8)), i // ({per} * ({m} // 8)) * {per} * 4 + {per} * t + i % {per}]
    for i in range(8 * {k} // {packed} // 32):
        b[i] = w[g, i // {per} * {per} * 4 + {per} * t + i % {per}]
    cuda.mma("m{m}n8k{k}", a, b, c)
    for i in range({m} // 4):
        y[g + 8 * (i // 2), 2 * t + i % 2] = c[i].value
"""
TYPES = [
    ("f16", "f32", 16, 16), ("f16", "f16", 16, 16), ("bf16", "f32", 16, 16), ("f16", "f32", 16, 8),
    ("f32", "f32", 16, 8), ("f64", "f64", 8, 4), ("i8", "i32", 16, 32), ("u8", "i32", 16, 32), ("i32", "i32", 16, 64),
]  # fmt: skip


def product(held: str, total: str, m: int, k: int) -> Sketch:
    """Return a sketch of one product; words of i32 hold eight numbers of four bits each, the lowest first."""
    packed = 8 if held == "i32" else 1
    bits = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i8": 8, "u8": 8, "i32": 32}[held]
    factors = {"a": "x[r, k]", "b": "w[n, k]"}
    if packed > 1:
        factors = {name: f"(({array}[{row}, k // 8] << (28 - 4 * (k % 8))) >> 28)"
                   for name, array, row in (("a", "x", "r"), ("b", "w", "n"))}  # fmt: skip
    return sketch_of(PRODUCT.format(held=held, total=total, m=m, k=k, packed=packed, per=max(1, 32 // bits), **factors))


def equal(sketch: Sketch) -> bool:
    return verify(sketch.program, sketch.spec).equal


@pytest.mark.parametrize(("held", "total", "m", "k"), TYPES)
def test_a_product_is_the_specifications(held: str, total: str, m: int, k: int) -> None:
    """Every shape and type of the table multiplies what its fragments hold."""
    assert equal(product(held, total, m, k))


CHANGED = [
    ("a[i] = x[g +", "a[i ^ 1] = x[g +"), ("a[i] = x[g + 8 * (i", "a[i] = x[g + 8 * (i + {per}"),
    ("b[i] = w[g", "b[i] = w[g ^ 1"), ("y[g + 8 * (i // 2), 2 * t + i % 2]", "y[g + 8 * (i // 2), 2 * t + 1 - i % 2]"),
    ("{per} * t + i % {per}]\n    for i in range(8", "{per} * (t ^ 1) + i % {per}]\n    for i in range(8"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_an_element_elsewhere_is_seen(old: str, new: str) -> None:
    """Registers, rows or columns exchanged give another product."""
    sizes = {"held": "f16", "total": "f32", "m": 16, "k": 16, "packed": 1, "per": 2}
    text = PRODUCT.format(**sizes, a="x[r, k]", b="w[n, k]")
    changed = text.replace(old.format(**sizes), new.format(**sizes))
    assert changed != text
    assert not equal(sketch_of(changed))
