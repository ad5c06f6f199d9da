"""Outputs that are wider than the inputs: a specification's terms and its numbers agree on where sums wrap."""

from __future__ import annotations

import numpy as np
import pytest

from swizzle.language.specs.specification import numbers
from swizzle.language.specs.verify import verify
from swizzle.solving.audit.random_check import disagreement
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.ir.program import DType
from tests.sketches import kernel

PAIRS = [("i32", "i64"), ("u32", "u64"), ("u32", "i64"), ("i32", "f64"), ("i16", "i64"), ("u16", "u32")]
SPEC = "[x[i] * x[i] - x[(i + 1) % 8] for i in range(8)]"
WIDE = "t = cuda.laneid\ny[t] = {to}(x[?sw_xform(t, 8)]) * {to}(x[t]) - {to}(x[(t + 1) % 8])"


@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_a_kernel_that_widens_before_it_computes_is_right(source: str, to: str) -> None:
    """In terms and, as `--certify` runs them, on random numbers of all magnitudes."""
    sketch = kernel(WIDE.format(to=to), spec=SPEC, arguments=f"x={source}[8], y={to}.out[8]", warp_size=8)
    result = solve(sketch, Limits(certify=True))
    assert (result.status, result.certificate["tried"]["verdict"]) == ("sat", "confirmed on random numbers")
    assert disagreement(result.best.program, sketch.spec) == ""


@pytest.mark.parametrize(("source", "to"), [("i32", "i64"), ("u32", "u64"), ("u32", "i64")])
def test_a_kernel_that_widens_what_has_wrapped_is_not(source: str, to: str) -> None:
    body = f"t = cuda.laneid\ny[t] = {to}(x[?sw_xform(t, 8)] * x[t] - x[(t + 1) % 8])"
    sketch = kernel(body, spec=SPEC, arguments=f"x={source}[8], y={to}.out[8]", warp_size=8)
    assert solve(sketch).status == "unsat"


def test_each_output_is_computed_in_its_own_type() -> None:
    """Of two outputs, the narrow one keeps the low bits of its own sums, and the wide one does not wrap."""
    arrays = "x=i32[8], y=i32.out[8], z=i64.out[8]"
    sketch = kernel("y[0] = x[0]\nz[0] = i64(x[0])", spec=f"({SPEC}, {SPEC})", arguments=arrays, warp_size=8)
    x = np.array([2**31 - 1, -(2**31), 46341, 7, -1, 0, 65536, 3], np.int32)
    found = numbers(sketch.program, sketch.spec, {"x": x})
    exact = [int(a) * int(a) - int(b) for a, b in zip(x, np.roll(x, -1), strict=True)]
    assert found["z"].tolist() == exact
    assert found["y"].tolist() == [(value + 2**31) % 2**32 - 2**31 for value in exact]


NARROWED = {
    "[(x[i] * x[i] * x[i]) // 2 for i in range(8)]": ("y[t] = {to}(v * v * v // 2)", lambda x: x * x * x // 2),
    "[minimum(x[i] - 30, 100) for i in range(8)]": ("y[t] = {to}(min(v - 30, 100))", lambda x: min(x - 30, 100)),
    "[u8(x[i]) + 1 for i in range(8)]": ("y[t] = {to}(i32(u8(v)) + 1)", lambda x: x % 256 + 1),
    "[u8(x[i] - 3) // 3 for i in range(8)]": ("y[t] = {to}(i32(u8(v - 3)) // 3)", lambda x: (x - 3) % 256 // 3),
    "[x[i] for i in range(8)]": ("y[t] = {to}(x[t])", lambda x: x),
}


@pytest.mark.parametrize("spec", NARROWED)
@pytest.mark.parametrize(("source", "to"), [("i8", "i16"), ("i8", "u8"), ("u16", "u8"), ("i8", "i32")])
def test_nothing_is_computed_in_8_or_16_bits(spec: str, source: str, to: str) -> None:
    """Neither elements of a narrow output nor what a specification converts wraps before the output does."""
    line, meaning = NARROWED[spec]
    body = f"t = cuda.laneid\nv = i32(x[t])\n{line.format(to=to)}"
    sketch = kernel(body, spec=spec, arguments=f"x={source}[8], y={to}.out[8]", warp_size=8)
    assert not verify(sketch.program, sketch.spec).mismatches
    assert disagreement(sketch.program, sketch.spec) == ""
    x = np.array([0, 1, 127, -128, -1, -2, 77, 30]).astype(NUMPY_DTYPES[DType(source)])
    wanted = np.array([meaning(int(v)) for v in x]).astype(NUMPY_DTYPES[DType(to)])
    assert numbers(sketch.program, sketch.spec, {"x": x})["y"].tolist() == wanted.tolist()


def test_bytes_in_an_output_of_16_bits_are_computed_in_32() -> None:
    spec, arrays = "[(x[i] * x[i] * x[i]) // 2 for i in range(8)]", "x=u8[8], y=u16.out[8]"
    sketch = kernel(
        "v = i32(x[cuda.laneid])\ny[cuda.laneid] = u16(v * v * v // 2)", spec=spec, arguments=arrays, warp_size=8
    )
    found = numbers(sketch.program, sketch.spec, {"x": np.full(8, 99, np.uint8)})
    assert found["y"].tolist() == [99**3 // 2 % 2**16] * 8


def test_a_conversion_to_fewer_bits_is_not_dropped() -> None:
    arrays = "x=i32[8], y=i32.out[8]"
    sketch = kernel(
        "t = cuda.laneid\ny[t] = i32(u8(x[t]))", spec="[x[i] for i in range(8)]", arguments=arrays, warp_size=8
    )
    assert verify(sketch.program, sketch.spec).mismatches
    arrays = "x=u32[8], y=i32.out[8]"
    sketch = kernel(
        "t = cuda.laneid\ny[t] = i32(u8(x[t] - 1))",
        spec="[u8(x[i] + -1) for i in range(8)]",
        arguments=arrays,
        warp_size=8,
    )
    assert not verify(sketch.program, sketch.spec).mismatches
    assert disagreement(sketch.program, sketch.spec) == ""


COMPUTED = [
    ("i32", "i64", "where(x[i] + 1 < 5, 1, 0)", "where({0} + 1 < 5, i64(1), i64(0))"),
    ("u32", "u64", "where(x[i] - 1 < 5, 1, 0)", "where({0} - 1 < 5, u64(1), u64(0))"),
    ("u32", "f64", "where(x[i] - 1 < 5, 1, 0)", "where({0} - 1 < 5, f64(1), f64(0))"),
    ("i32", "i64", "where(x[i] + x[i] == 0, 1, 0)", "where({0} + {0} == 0, i64(1), i64(0))"),
    ("i32", "i64", "gather(w, minimum(maximum(x[i] + 1, 0), 7))", "gather(w, min(max({0} + 1, 0), 7))"),
    ("u32", "f64", "f32(x[i] - 1)", "f64(f32({0} - 1))"),
]


@pytest.mark.parametrize(("source", "to", "said", "body"), COMPUTED)
def test_what_has_wrapped_is_neither_compared_nor_an_index_nor_a_float(
    source: str, to: str, said: str, body: str
) -> None:
    """Where the specification's number has 64 bits, the kernel's of 32 are widened first: in both readings."""
    arguments = f"x={source}[8], w={to}[8], y={to}.out[8]"
    for element, equal in ((f"{to if to != 'f64' else 'i64'}(x[t])", True), ("x[t]", False)):
        sketch = kernel(f"t = cuda.laneid\ny[t] = {body.format(element)}", spec=f"[{said} for i in range(8)]",
                        arguments=arguments, warp_size=8)  # fmt: skip
        assert verify(sketch.program, sketch.spec).equal is equal
        hole = kernel(f"t = cuda.laneid\ny[t] = {body.format(element.replace('[t]', '[?sw_xform(t, 8)]'))}",
                      spec=f"[{said} for i in range(8)]", arguments=arguments, warp_size=8)  # fmt: skip
        result = solve(hole, Limits(certify="f32" not in body))
        assert result.status == ("sat" if equal else "unsat")


KEPT = ["max({0}, 3)", "{0} & 12", "{0} // 4", "{0} >> 2", "{0} % 8", "where({0} < 3, {0}, 3)", "{0} ^ {0} | 6"]


@pytest.mark.parametrize("body", KEPT)
@pytest.mark.parametrize(("source", "to"), PAIRS[:3])
def test_what_cannot_wrap_may_be_widened_later(source: str, to: str, body: str) -> None:
    said = body.replace("max", "maximum").format("x[i]")
    for kept in (f"{to}({body})", body.replace("{0}", f"{to}({{0}})")):
        sketch = kernel(f"t = cuda.laneid\ny[t] = {kept.format('x[t]')}", spec=f"[{said} for i in range(8)]",
                        arguments=f"x={source}[8], y={to}.out[8]", warp_size=8)  # fmt: skip
        assert verify(sketch.program, sketch.spec).equal
        assert disagreement(sketch.program, sketch.spec) == ""
