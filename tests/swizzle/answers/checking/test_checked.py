"""`swizzle.check` and `Solution.check`: what `swizzle check --emitted` says, from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import swizzle
from cuda_out.emulate.emulate import missing_compiler
from swizzle import Result, SwizzleError, cuda, f32, sketch, solve, sw_part

CASES = Path(__file__).parents[4] / "case_studies"


@sketch(spec=lambda x: [2 * value for value in x], block=32, grid=1, x=f32[32], y=f32.out[32])
def doubled(x, y):
    y[cuda.grid(1)] = x[cuda.grid(1)] + x[cuda.grid(1)]


@sketch(spec=lambda x: [2 * value for value in x], block=32, grid=1, x=f32[32], y=f32.out[32])
def tripled(x, y):
    y[cuda.grid(1)] = 3.0 * x[cuda.grid(1)]


@sketch(spec=lambda x: [2 * value for value in x], block=32, grid=1, x=f32[32], y=f32.out[32])
def rearranged(x, y):
    y[cuda.grid(1)] = x[cuda.grid(1)] * (x[cuda.grid(1)] + 1.0) - x[cuda.grid(1)] * x[cuda.grid(1)] + x[cuda.grid(1)]


@sketch(spec=lambda x: [value + i for i, value in enumerate(x)], block=32, grid=1, x=f32[32], y=f32.out[32])
def rounding(x, y):
    i = cuda.grid(1)
    y[i] = x[i] + 4096.0 + f32(16777216 + i) - 16777216.0 - 4096.0


def test_lengths_are_asked_for_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """At which lengths a kernel may run takes longer than its proof, and a plain check does not say it."""
    monkeypatch.setattr("swizzle.answers.emit.sizes.sizes_of", lambda *_: pytest.fail("lengths are worked out"))
    assert swizzle.check(doubled, emitted=False)


@pytest.fixture(scope="module")
def conv1d() -> Result:
    (conv1d,) = swizzle.load(CASES / "conv1d.py")
    return solve(conv1d)


def test_a_solution_is_checked(conv1d: Result) -> None:
    """In terms alone, and with what is printed."""
    in_terms = conv1d.best.check(emitted=False)
    assert (
        in_terms
        and str(in_terms) == "conv1d: equal to its specification, verified for all inputs (128 outputs of 2 blocks)"
    )
    assert in_terms.as_json()["status"] == "equal" and "emitted" not in in_terms.as_json()
    if missing_compiler():
        pytest.skip("no C++ compiler")
    printed = swizzle.check(conv1d.best)
    assert printed and "validated for all inputs" in str(printed)
    assert printed.as_json()["emitted"]["host"]["status"] == "equal"


def test_a_kernel_without_holes_is_checked() -> None:
    """One that is wrong is false, and says on which numbers; its terms alone leave another one undecided."""
    assert swizzle.check(doubled, emitted=False)
    wrong = swizzle.check(tripled)
    assert not wrong and wrong.status.word == "different"
    assert wrong.lines[0] == "tripled: not equal to its specification" and "y[0]" in str(wrong)
    open_ = swizzle.check(rearranged)
    assert not open_ and open_.as_json()["status"] == "unknown"


def test_what_has_no_specification_or_has_holes_is_refused(conv1d: Result) -> None:
    """Each with one error that says what to do."""

    @sketch(spec=lambda x: list(x), block=32, grid=1, x=f32[32], y=f32.out[32])
    def holed(x, y):
        mine = cuda.local.array(1, f32)
        mine[0] = x[cuda.laneid]
        y[cuda.laneid] = mine[sw_part(1, cuda.laneid)]

    with pytest.raises(SwizzleError) as caught:
        swizzle.check(holed)
    assert "holed has 1 hole" in str(caught.value) and "swizzle.solve(sketch).best" in caught.value.fix
    program = conv1d.best.program
    with pytest.raises(SwizzleError, match="has no specification with it"):
        swizzle.Solution(program, (), {}).check()


def test_what_counts_as_a_real_number_is_said() -> None:
    """A difference of what was just added, and a number that its type does not have."""
    found = swizzle.check(rounding, emitted=False)
    assert found.lines[1:] == (
        "assumes real numbers: a difference of what was just added, as in a compensated sum, is 0",
        "assumes real numbers: f32(16777217) is 16777217",
    )
    details = found.as_json()
    assert (details["cancels"], details["unrounded"]) == (True, ["f32(16777217) is 16777217"])
