"""Mutants of mends are refused: formulas, single uses, barriers, sizes, pointers into the array."""

from __future__ import annotations

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.strangers.doctor.diagnosis import Doctor
from swizzle.strangers.doctor.patch import patched, view_cells
from swizzle.strangers.reading.text import CudaText
from tests.slow_cases import slow_unless
from tests.swizzle.strangers.doctor.examined import COLUMNS_OUT, KERNELS, ROWS_IN, one_warp
from tests.swizzle.strangers.doctor.mutants import Patient, escape_is_refused, of_patch, with_escapes

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


OF_VIEWS = (
    ("at + i *", "at - i *"), ("at + i *", "0 * at + 2 * i *"), ("{cells, i, 0}", "{cells, i + 1, 0}"),
    ("{cells, i, 0}", "{cells, i, 1}"), ("{cells, i, 0}", "{cells, 0, i}"), ("_cell(i0, at)", "_cell(at, i0)"),
    ("tile_cell(i0, at)", "i0 * 32 + at"), ("{tile_cells}", "{tile_cells + 1}"), ("[1024]", "[1000]"),
    ("auto p = tile[t]", "auto p = tile[t ^ 1]"), ("auto p = tile[t]", "auto p = &tile_cells[32 * t]"),
    ("auto p = tile[t]", "auto p = tile[t] + 1"), ("view<float>", "view<int>"), ("__syncwarp();", ""),
)  # fmt: skip
"""What is replaced in a patch that makes an array a view."""


@pytest.mark.slow
def test_mutants_of_views_are_refused() -> None:
    """Views that count wrong, that forget the layout, that lie elsewhere, and a row that is kept without it."""
    read = COLUMNS_OUT.replace("tile[t][r]", "p[r]")
    text = one_warp(f"{ROWS_IN} __syncwarp(); float* p = tile[t]; {read}")
    doctor = Doctor(CudaText("kernel.cu", text))
    (each,) = doctor.diagnose().arrays
    assert each.array is not None
    mend = next(mend for mend in each.mends if mend.kind == "xor")
    view = patched(doctor.text, doctor.kernel, {each.array: mend}, views=True)
    cells = {each.region: view_cells(doctor.text, each.array)}

    def refused(new: str) -> str:
        return doctor.proved(doctor.ran, new, {each.region: (each.asked.tile, mend)}, cells)[0]

    assert refused(view) == ""
    for old, new in OF_VIEWS:
        assert old in view and refused(view.replace(old, new)), (old, new)
