"""bf16 as architectures without instructions for it have it: numbers are upper halves, and roundings work on bits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_out.c.printer import print_cuda
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.validate import Validation, validate
from swizzle.sketches.loading import load
from symbolic.algebra.terms import Terms
from symbolic.ir.program import Program
from tests.cuda_out.ptx.kernels import machine_terms

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
KERNEL = """\
from swizzle import bf16, cuda, f32, sketch, spec

@spec
def multiplied(a, x, z):
    return [a[i] * x[i] + z[i] for i in range(32)]

@sketch(spec=multiplied, block=32, a=bf16[32], x=bf16[32], z=bf16[32], y=bf16.out[32])
def k(a, x, z, y):
    i = cuda.grid(1)
    y[i] = bf16(f32(a[i]) * f32(x[i]) + f32(z[i]))
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "k.py").write_text(KERNEL)
    return load(tmp_path / "k.py", "k", {})[0].program


def validated(program: Program, ptx: str) -> Validation:
    terms = Terms()
    return validate(program, ptx, "k", machine_terms(program, terms), terms)


def test_a_rounding_on_bits_is_one(program: Program) -> None:
    """To the nearest, ties to even, and one NaN: any other rule of it is another number."""
    ptx = compile_to_ptx(print_cuda(program).text, "sm_75")
    assert "cvt.rn.bf16" not in ptx
    found = validated(program, ptx)
    assert (found.verdict, found.findings) == ("equal", ())
    for old, new in (
        (r"2139095040", "2139095039"),  # an infinity is a NaN
        (r"32767", "32766"),
        (r"(setp\.gt\.u32\s+%p\d+, %r\d+, )-2147483648", r"\g<1>-2147418112"),
        (r"(and\.b16\s+%rs\d+, %rs\d+, )1;", r"\g<1>2;"),
        (r"(shr\.u32\s+%r\d+, %r\d+, )16;", r"\g<1>17;"),
    ):
        wrong, times = re.subn(old, new, ptx)
        assert times, old
        assert validated(program, wrong).verdict != "equal", old


def test_the_lower_half_of_a_number_counts(program: Program) -> None:
    """A word whose lower half is not 0 is no number of bf16."""
    ptx = compile_to_ptx(print_cuda(program).text, "sm_75")
    wrong, times = re.subn(r"mov\.b32 (%f\d+), \{0,(%rs\d+)\}", r"mov.b32 \1, {\2,\2}", ptx, count=1)
    assert times == 1 and validated(program, wrong).verdict != "equal"
