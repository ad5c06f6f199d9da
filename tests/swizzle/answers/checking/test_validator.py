"""Numbers as evidence: what random inputs show of a kernel whose terms differ."""

from __future__ import annotations

import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from swizzle import cuda, f32, i32, sketch, u64
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.checking.validator import SizesValidator, numeric_difference
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from swizzle.language.specs import specification
from swizzle.language.specs.specification import Remembered
from swizzle.sketches.sketch import Sketch


def doubled(kernel_factor: float, spec_factor: float) -> Sketch:
    """A kernel that scales an inout array by one factor and the other array."""

    @sketch(spec=lambda x, y: [spec_factor * y[i] * x[i] for i in range(8)], block=4, grid=2, x=f32[8], y=f32.inout[8])
    def k(x, y):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        y[i] = y[i] * kernel_factor * x[i]

    return k


def test_inout_arrays_start_alike() -> None:
    """Kernel and specification see the same first content."""
    equal, other = doubled(2.0, 2.0), doubled(2.0, 2.5)
    assert numeric_difference(equal.program, equal.spec) is None
    found = numeric_difference(other.program, other.spec)
    assert found is not None and found.cell == "y[0]"


def test_rounding_is_no_difference_but_a_small_factor_is() -> None:
    """Floats are compared in double precision, up to what order and grouping change."""
    equal, other = doubled(0.1, 0.1), doubled(0.1, 0.10000001)
    assert numeric_difference(equal.program, equal.spec) is None
    assert numeric_difference(other.program, other.spec) is not None


def test_what_only_large_numbers_show() -> None:
    """A kernel that is wrong only at the ends of the range is found by extreme numbers."""

    @sketch(spec=lambda x: [(v << 1) >> 1 for v in x], block=8, x=i32[8], y=i32.out[8])
    def k(x, y):  # type: ignore[no-untyped-def]
        y[cuda.threadIdx.x] = x[cuda.threadIdx.x]

    found = numeric_difference(k.program, k.spec)
    assert found is not None and found.kind != "small numbers"
    assert str(found).startswith(f"on random input {found.seed} ({found.kind}), y[")


@pytest.mark.parametrize("factor", [2**63, 3])
def test_unsigned_products_wrap(factor: int) -> None:
    """64 bits without a sign are kept exact on both sides."""

    @sketch(spec=lambda x: [v * factor for v in x], block=8, x=u64[8], y=u64.out[8])
    def k(x, y):  # type: ignore[no-untyped-def]
        y[cuda.threadIdx.x] = x[cuda.threadIdx.x] * (factor - 1) + x[cuda.threadIdx.x]

    assert numeric_difference(k.program, k.spec) is None


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.parametrize("most", [1 << 20, 0])
def test_terms_of_many_sizes_are_let_go(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one table has too many, each size has its own while it is looked at; verdicts stay what they are."""
    monkeypatch.setattr(specification, "MOST_TERMS", most)

    @sketch(spec=lambda x: [2 * v for v in x], block=8, grid=2, x=f32[16], y=f32.out[16])
    def k(x, y):  # type: ignore[no-untyped-def]
        y[cuda.grid(1)] = x[cuda.grid(1)] * 2

    spec = Remembered(k.spec)
    filled = FilledKernel(k.program, spec, (), sizes_of(k.program, k, spec))
    source = cuda_source(filled.program, filled.head, filled.sizes)
    sizes = sizes_to_try(filled, source)
    validator, tables = SizesValidator(sizes, source), len({id(size.meaning.terms) for size in sizes})
    ptx = compile_to_ptx(source.text)
    for _ in range(2):
        found = validator.validate(ptx, source.entry)
        assert (found.verdict, found.everywhere) == ("equal", True)
    wrong = compile_to_ptx(source.text.replace("2.0f", "3.0f"))
    assert validator.validate(wrong, source.entry).verdict == "different"
    assert len(sizes) > 3 and tables == (1 if most else len(sizes))
    assert len(validator.validators) == (len(sizes) if most else 1)
