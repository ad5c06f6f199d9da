"""Where the elements of fragments lie, against the formulas of the PTX manual, shape by shape."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from symbolic.elements import DType
from symbolic.ir.matrices import PRODUCTS, SUMS, MatrixProduct, sketch_product

Place = Callable[[int, int, int], tuple[int, int]]  # of group, thread in the group and element: row and column


def c_places(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 0x1)


MANUAL: dict[str, tuple[MatrixProduct, Place, Place]] = {
    "m8n8k4 of f64": (
        MatrixProduct(8, 8, 4, "f64", "f64", "f64"),
        lambda g, t, i: (g, t),
        lambda g, t, i: (t, g),
    ),
    "m16n8k8 of tf32": (
        MatrixProduct(16, 8, 8, "tf32", "tf32", "f32"),
        lambda g, t, i: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4),
        lambda g, t, i: (t if i == 0 else t + 4, g),
    ),
    "m16n8k8 of f16": (
        MatrixProduct(16, 8, 8, "f16", "f16", "f32"),
        lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 0x1)),
        lambda g, t, i: (t * 2 + i, g),
    ),
    "m16n8k16 of bf16": (
        MatrixProduct(16, 8, 16, "bf16", "bf16", "f32"),
        lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 0x1) + (0 if i < 4 else 8)),
        lambda g, t, i: (t * 2 + (i & 0x1) + (0 if i < 2 else 8), g),
    ),
    "m16n8k32 of s8": (
        MatrixProduct(16, 8, 32, "s8", "s8", "s32"),
        lambda g, t, i: (g if 0 <= i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 0x3) + (0 if i < 8 else 16)),
        lambda g, t, i: (t * 4 + (i & 0x3) + (0 if i < 4 else 16), g),
    ),
    "m16n8k64 of s4": (
        MatrixProduct(16, 8, 64, "s4", "s4", "s32"),
        lambda g, t, i: (g if 0 <= i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 0x7) + (0 if i < 16 else 32)),
        lambda g, t, i: (t * 8 + (i & 0x7) + (0 if i < 8 else 32), g),
    ),
}


@pytest.mark.parametrize("name", MANUAL)
def test_fragments_lie_as_the_manual_says(name: str) -> None:
    """Every lane has as many elements as the manual gives it, in its rows and columns."""
    product, a, b = MANUAL[name]
    assert product.exists
    for operand, place in (("a", a), ("b", b), ("c", c_places)):
        found = product.places(operand)  # type: ignore[arg-type]
        for i, (rows, columns) in enumerate(found):
            wanted = [place(lane >> 2, lane % 4, i) for lane in range(32)]
            assert list(zip(rows, columns, strict=True)) == wanted, (operand, i)


def test_every_element_is_held_by_one_lane() -> None:
    """Fragments of every product of the table cover their matrix, each element once."""
    for factor, row in PRODUCTS.items():
        for m, k in row.shapes:
            product = MatrixProduct(m, 8, k, factor, factor, row.sums[0])
            for operand, size in (("a", (m, k)), ("b", (k, 8)), ("c", (m, 8))):
                places = product.places(operand)  # type: ignore[arg-type]
                held = [place for rows, columns in places for place in zip(rows, columns, strict=True)]
                assert sorted(held) == [(r, c) for r in range(size[0]) for c in range(size[1])]


def test_a_sketch_names_a_product_by_its_types() -> None:
    """Shape and types say which it is; no two are the same to a sketch."""
    seen = set()
    for factor, row in PRODUCTS.items():
        for m, k in row.shapes:
            for c in row.sums:
                product = MatrixProduct(m, 8, k, factor, factor, c)
                assert row.held is not None
                assert sketch_product(product.shape, row.held, SUMS[c]) == product
                seen.add((product.shape, row.held, c))
    assert len(seen) == sum(len(row.shapes) * len(row.sums) for row in PRODUCTS.values())
    assert sketch_product("m16n8k16", DType.F32, DType.F32) is None


@pytest.mark.parametrize(("product", "least"), [
    (MatrixProduct(16, 8, 8, "f16", "f16", "f32"), 75), (MatrixProduct(16, 8, 16, "f16", "f16", "f32"), 80),
    (MatrixProduct(8, 8, 4, "f64", "f64", "f64"), 80), (MatrixProduct(16, 8, 8, "f64", "f64", "f64"), 90),
    (MatrixProduct(8, 8, 16, "s8", "s8", "s32"), 75), (MatrixProduct(16, 8, 4, "tf32", "tf32", "f32"), 80),
])  # fmt: skip
def test_architectures(product: MatrixProduct, least: int) -> None:
    """The least architecture is the one that the PTX manual names ('Target ISA Notes')."""
    assert product.architecture == least
