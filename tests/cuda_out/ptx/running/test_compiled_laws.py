"""The laws of parity and of linear forms, in PTX: what NVRTC makes of them is still the specification.

The text says the long way round what the specification says shortly, or the other way round; the compiler cancels,
shifts and fuses as it likes.
"""

from __future__ import annotations

import pytest

from cuda_out.c.printer import print_cuda
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.validate import validate
from swizzle.language.specs.specification import postcondition
from symbolic.algebra.terms import Terms
from tests.sketches import kernel

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

LAWS = [
    ("a ^ a ^ b", "b", "i32 u32 i64 u64"),
    ("b", "a ^ a ^ b", "i32 u64"),
    ("(a ^ b) ^ (b ^ c) ^ (a ^ 5)", "c ^ 5", "i32 u64"),
    ("a ^ a", "0", "u32 i64"),
    ("(a & b) ^ (b & a) ^ c", "c", "u32"),
    ("a + a", "2 * a", "i32 u32 i64 u64 f32 f64"),
    ("2 * a", "a + a", "i32 u64 f32"),
    ("4 * a - a", "a + a + a", "i32 u64 f32"),
    ("3 * a + 5 * a - 8 * a + b", "b", "i32 u32 f64"),
    ("2 * (a + b) - 2 * b", "a + a", "i32 u64 f32"),
    ("a - (b - (a - b))", "2 * a - 2 * b", "i32 u32 f32"),
    ("a * 8 + b * 8", "8 * (a + b)", "i32 u32 i64"),
    ("-a + a + c", "c", "i32 f32"),
    ("(a + b) * 3 - (a + b)", "2 * a + 2 * b", "i32 u64 f32"),
    ("a - a", "0", "i32 u64 f32"),
]
BODY = "i = cuda.grid(1)\na = x[i]\nb = x[(i + 1) % 8]\nc = x[(i + 3) % 8]\ny[i] = {value}"


def verdict(value: str, spec: str, dtype: str) -> str:
    spelled = spec.replace("a", "x[i]").replace("b", "x[(i + 1) % 8]").replace("c", "x[(i + 3) % 8]")
    body = BODY.format(value=value if "a" in value or "b" in value else f"a * 0 + {value}")
    sketch = kernel(body, spec=f"[{spelled} for i in range(8)]", arguments=f"x={dtype}[8], y={dtype}.out[8]",
                    warp_size=32)  # fmt: skip
    source, terms = print_cuda(sketch.program), Terms()
    wanted = postcondition(sketch.program, sketch.spec, terms)
    return validate(sketch.program, compile_to_ptx(source.text), source.entry, wanted, terms).verdict


@pytest.mark.parametrize(("value", "spec", "dtype"), [(v, s, d) for v, s, types in LAWS for d in types.split()])
def test_the_compiled_law_is_recognised(value: str, spec: str, dtype: str) -> None:
    assert verdict(value, spec, dtype) == "equal"


@pytest.mark.parametrize(("value", "spec", "dtype"), [
    ("a ^ a ^ b", "a ^ b", "i32"), ("a ^ b", "a | b", "u32"), ("a + a", "3 * a", "i32"), ("a + a", "a", "f32"),
    ("a - b", "b - a", "i64"), ("4 * a - a", "4 * a", "u32"), ("a * 8 + b * 8", "8 * (a + c)", "i32"),
])  # fmt: skip
def test_what_is_no_law_is_not(value: str, spec: str, dtype: str) -> None:
    assert verdict(value, spec, dtype) == "different"
