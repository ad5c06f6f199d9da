"""Functions on words in PTX: calls whose operands and results a compiler knows nothing of."""

from __future__ import annotations

import pytest

from cuda_out.c.printer import print_cuda
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.passes.pipeline import optimize
from cuda_out.ptx.running.validate import validate
from swizzle import cuda, i32, scan_operator, sketch, u64
from swizzle.language.specs.specification import postcondition
from swizzle.sketches.sketch import Sketch
from symbolic.algebra.terms import Terms
from tests.swizzle.operators import loops

seconds, widths = scan_operator(loops.second_largest_by_order), scan_operator(loops.spread)


@sketch(spec=lambda x: [seconds.result(*seconds.scan(x)[-1])], block=32, x=i32[32], y=i32.out[1])
def second(x, y):  # type: ignore[no-untyped-def]
    """Its `result` is the second word, as a compiler sees: a maximum with the least number."""
    s = seconds.lift(x[cuda.laneid])
    for k in range(5):
        s = seconds.combine(s, cuda.shfl_down_sync(cuda.FULL_MASK, s, 1 << k))
    if cuda.laneid == 0:
        y[0] = seconds.result(s)


@sketch(spec=lambda x: [widths.result(*widths.scan(x)[-1])], block=32, x=u64[32], y=u64.out[1])
def width(x, y):  # type: ignore[no-untyped-def]
    """Its `lift` has a minimum with the greatest number."""
    s = widths.lift(x[cuda.laneid])
    for k in range(5):
        s = widths.combine(s, cuda.shfl_down_sync(cuda.FULL_MASK, s, 1 << k))
    if cuda.laneid == 0:
        y[0] = widths.result(s)


@pytest.mark.skipif(not available_tools(), reason="no CUDA compiler here")
@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
@pytest.mark.parametrize("kernel", [second, width], ids=lambda each: each.name)
def test_a_result_that_is_an_operand(kernel: Sketch, arch: str) -> None:
    """The call stays where a compiler knows that it gives one of its operands; a wrong one is no such function."""
    text = print_cuda(optimize(kernel.program)).text

    def verdict(text: str) -> str:
        terms = Terms()
        wanted = postcondition(kernel.program, kernel.spec, terms)
        ptx = compile_to_ptx(with_opaque_calls(text), arch)
        return validate(kernel.program, ptx, kernel.program.name, wanted, terms).verdict

    assert verdict(text) == "equal"
    at = text.index("_result(")
    one = text.index("  return ", at)
    several = f"{text[:one]}  auto found = {text[one:].removeprefix('  return ').replace(';', '; return found;', 1)}"
    assert verdict(several.replace("; return found;", ";\n  return found;")) == "equal"
    assert verdict(f"{text[:one]}  return 1 + {text[one:].removeprefix('  return ')}") == "different"
