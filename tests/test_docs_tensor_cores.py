"""The page on tensor cores: its tables of fragments and products, its example, and the case studies that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_out.tiling.tiling import Tiling
from swizzle import load, solve
from swizzle.answers.emit.calling import solution_sizes
from swizzle.solving.solution.solution import Limits
from symbolic.ir.matrices import PRODUCTS, SUMS, MatrixProduct
from tests.pages import text_of
from tests.sketches import kernel

PAGE = text_of("tensor-cores.md")
CASES = Path(__file__).parents[1] / "case_studies" / "tensor_cores"
PRODUCT = MatrixProduct(16, 8, 16, "f16", "f16", "f32")


def test_the_table_of_fragments_is_right() -> None:
    """Its formulas say in which row and column of a matrix each element of each lane is."""
    rows = dict(re.findall(r"^\| ([ABC]), .*? \| (.*) \|$", PAGE, re.MULTILINE))
    for operand in "ABC":
        formulas = [text.strip("`") for text in rows[operand].split(" | ")]
        for i, places in enumerate(PRODUCT.places(operand.lower())):  # type: ignore[arg-type]
            for lane, place in enumerate(zip(*places, strict=True)):
                assert place == tuple(eval(text, {"g": lane // 4, "t": lane % 4, "i": i}) for text in formulas)


def test_the_table_of_products_is_whole() -> None:
    """Every product of the house is listed with its types and its least architecture."""
    rows = re.findall(r"^\| (`m\d+.*?) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    listed = {(shape, kind) for shapes, kinds, _, _ in rows
              for shape in re.findall(r"`(\w+)`", shapes) for kind in re.findall(r"`(\w+)`", kinds)}  # fmt: skip
    held = {(f"m{m}n8k{k}", row.held.value) for row in PRODUCTS.values() if row.held for m, k in row.shapes}
    assert listed == held
    sums = {total for _, _, totals, _ in rows for total in re.findall(r"`(\w+)`", totals)}
    assert {SUMS[name].value for row in PRODUCTS.values() for name in row.sums} <= sums


def test_the_example_is_read() -> None:
    """The statements at the top are of the language."""
    (body,) = re.findall(r"```python\n(a = cuda.fragment.*?)```", PAGE, re.DOTALL)
    body = body.replace("= sw_xform", "= ?sw_xform").replace("y[row, column] = c[0, i].value", "y[0] = c[0, 0].value")
    sketch = kernel("tile = cuda.shared.array((16, 16), f16)\n" + body, arguments="x=f16[8], y=f32.out[8]", block=32,
                    warp_size=32)  # fmt: skip
    assert len(sketch.program.holes) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "formula"), [
    ("convolution", "lane"), ("attention", "(2 * (4 * i + t) + (4 * i + t) // 4) % 8"),
])  # fmt: skip
def test_products_of_what_is_nowhere_stored(name: str, formula: str) -> None:
    """A window of an image, and the sums of another product."""
    (sketch,) = load(CASES / f"{name}.py")
    found = solve(sketch, Limits(timeout=600))
    assert found.status == "sat" and [hole.formula for hole in found.best.holes] == [formula]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hgemm", "hgemm_stages", "int8_gemm", "gemm"])
def test_case_studies_are_solved_without_conflicts(name: str) -> None:
    (sketch,) = load(CASES / f"{name}.py")
    found = solve(sketch, Limits(cost=("conflicts",), timeout=1200))
    assert found.status == "sat" and found.optimal and found.best.cost == {"conflicts": 0}
    if name == "gemm":
        sizes = solution_sizes(found.best)
        assert isinstance(sizes, Tiling) and all(None not in spans for spans in sizes.spans.values())
