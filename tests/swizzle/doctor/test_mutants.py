"""Mutants of mends are refused: formulas, single uses, barriers, sizes, pointers into the array."""

from __future__ import annotations

import pytest

from cuda_out.compile.toolchain import available_tools
from tests.slow_cases import slow_unless
from tests.swizzle.doctor.examined import KERNELS
from tests.swizzle.doctor.mutants import Patient, escape_is_refused, of_patch, with_escapes

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
LEAST = {"rows": 80, "transpose": 75, "scan": 150, "product": 100, "attention": 80, "tensor": 80}
"""As many mutants as a kernel has at least."""


def test_some_mutants_are_refused() -> None:
    """One of each sort, of the lightest mend of a kernel; the mend itself is taken."""
    patient = Patient((KERNELS / "rows.cu").read_text())
    each, mend, text = patient.mended[0]
    assert patient.refused(each, mend, text) == ""
    sorts = {mutant.what.rstrip("0123456789").partition("formula")[0]: mutant for mutant in of_patch(each, mend, text)}
    assert len(sorts) >= 8
    for mutant in sorts.values():
        assert patient.refused(each, mend, mutant.text), mutant.what
    either = text.replace("(c ^ (r & 7))", "(c | (r & 7))")
    assert either != text and "race on tile" in patient.refused(each, mend, either)
    first = next(with_escapes(patient))
    assert escape_is_refused(first.text), first.what


@pytest.mark.parametrize("name", slow_unless(LEAST, lambda name: False))
def test_all_mutants_are_refused(name: str) -> None:
    """Of every mend of every kernel, 600 in all: none computes what the kernel does, or has the mend's accesses."""
    patient, count = Patient((KERNELS / f"{name}.cu").read_text()), 0
    for each, mend, text in patient.mended:
        assert patient.refused(each, mend, text) == ""
        for mutant in of_patch(each, mend, text):
            count += 1
            assert patient.refused(each, mend, mutant.text), (mend.kind, mutant.what)
    for mutant in with_escapes(patient):
        count += 1
        assert escape_is_refused(mutant.text), mutant.what
    assert count >= LEAST[name]
