"""Every case study printed for numba.cuda: run on the stand-in, at its own lengths and at others, and compiled."""

from __future__ import annotations

import pytest

from cuda_out.numba.compiling import why_not_compiled
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from cuda_out.tiling.tiling import Tiling
from cuda_out.tiling.trips import one_tile
from swizzle.answers.checking.numba_text import NumbaChecks
from swizzle.answers.checking.trial import Array, sizes_to_try, trials
from swizzle.answers.emit.calling import solution_sizes
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.status import CheckStatus
from swizzle.language.specs.specification import Remembered
from tests.cuda_out.numba_stand_in import module
from tests.test_case_studies import SOLVED, answer, spelled


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("target", "parameters"), [(case[0], case[3]) for case in SOLVED], ids=spelled)
def test_the_printed_module_computes_the_specification(target: str, parameters: dict[str, int]) -> None:
    """As `Solution.to_numba` prints it: for any length where that is shown."""
    result, filled = answer(target, parameters)
    assert filled is not None
    best, sizes = result.best, solution_sizes(result.best)
    tiling = sizes if isinstance(sizes, Tiling) else None
    source = print_numba(optimize(one_tile(best.program, tiling) if tiling else best.program), tiling=tiling)
    assert best.to_numba().endswith(source.text.partition("\n\n")[2])
    launch = module(source.text)[source.launcher]

    def run(arrays: list[Array]) -> None:
        launch(*arrays)

    text = cuda_source(best.program, sizes=sizes)
    for size in sizes_to_try(FilledKernel(best.program, filled.spec, ()), text):
        found = list(trials(size.filled.program, size.numbers, run, 0))
        assert all(trial.equal for trial in found), (found, source.text)


@pytest.mark.sampled(8)
@pytest.mark.skipif(why_not_compiled() != "", reason=why_not_compiled())
@pytest.mark.parametrize(("target", "parameters"), [(case[0], case[3]) for case in SOLVED], ids=spelled)
def test_the_ptx_that_numba_makes_is_the_specification(target: str, parameters: dict[str, int]) -> None:
    """For every block of every length."""
    result, filled = answer(target, parameters)
    assert filled is not None
    kernel = FilledKernel(result.best.program, Remembered(filled.spec), (), solution_sizes(result.best))
    checks = NumbaChecks(kernel, sizes_to_try(kernel, cuda_source(kernel.program, sizes=kernel.sizes)), "numba.py")
    checks.architectures = ("sm_80",)
    found, launch = checks.check(checks.printed.text)
    assert (found.status, found.everywhere, launch.status) == (CheckStatus.EQUAL, True, CheckStatus.EQUAL), found.lines
