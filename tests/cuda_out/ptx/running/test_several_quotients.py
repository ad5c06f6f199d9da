"""Quotients of one number by several divisors, in one sum, as compilers multiply them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_out.compile.toolchain import ARCHITECTURES, available_tools
from cuda_out.ptx.running.validate import validate
from symbolic.algebra.terms import Terms
from tests.cuda_out.ptx.kernels import compiled, machine_terms
from tests.cuda_out.ptx.running.test_coverage import kernel
from tests.slow_cases import slow_unless

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
SUMS = [
    ("by_7_and_5", "x[i] // 7 + x[i] % 5"),
    ("by_3_and_10", "x[i] // 3 - x[i] // 10"),
    ("of_two", "x[i] % 7 + z[i] // 5 + z[i]"),
    ("by_three", "x[i] % 3 + x[i] % 11 + 3 * (x[i] // 641) + x[i]"),
]


@pytest.mark.parametrize(
    ("dtype", "arch"),
    slow_unless(
        [(dtype, arch) for dtype in ("i32", "u32") for arch in ARCHITECTURES],
        lambda case: case in (("i32", "sm_80"), ("i32", "sm_100")),
    ),
)
def test_each_quotient_is_proved_by_itself(dtype: str, arch: str, tmp_path: Path) -> None:
    """And another factor is another quotient."""
    program, terms = kernel(dtype, "quotients", SUMS, tmp_path), Terms()
    source, ptx = compiled(program, arch)
    found = validate(program, ptx, source.entry, machine_terms(program, terms), terms)
    assert (found.verdict, found.findings) == ("equal", ())
    factors = set(re.findall(r"(?:mul\.(?:hi|wide)\.[us]32\s[^;]*, )(-?\d{9,})", ptx))
    assert len(factors) >= 3
    for factor in sorted(factors)[:2]:
        terms = Terms()
        wrong = re.sub(rf"(?<=, ){re.escape(factor)}(?=;)", str(int(factor) + 12345), ptx)
        assert validate(program, wrong, source.entry, machine_terms(program, terms), terms).verdict != "equal"
