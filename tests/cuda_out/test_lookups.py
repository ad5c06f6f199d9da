"""Tables of numbers in the text: random kernels that look indices up are what the machine says, and so is their PTX."""

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools
from cuda_out.passes.pipeline import optimize
from cuda_out.ptx.running.validate import validate
from symbolic.algebra.terms import Terms
from tests.cuda_out.ptx.kernels import compiled, machine_terms
from tests.cuda_out.random_programs import RandomKernel
from tests.slow_cases import slow_unless

SEEDS = [seed for seed in range(60) if seed not in (19, 41, 50)]  # which divide data, or take a minimum with 0


@pytest.mark.parametrize("seed", slow_unless(SEEDS, lambda seed: seed < 4))
def test_random_kernels(seed: int) -> None:
    """The optimized program says the same in terms, and so does what the compiler makes of its text."""
    program, terms = RandomKernel(seed, tables=True).program(), Terms()
    wanted = machine_terms(program, terms)
    again = machine_terms(optimize(program), terms)
    assert all(np.array_equal(wanted[name], again[name]) for name in wanted)
    if available_tools():
        source, ptx = compiled(program, "sm_100" if seed % 2 else "sm_80")
        found = validate(program, ptx, source.entry, wanted, terms)
        assert (found.verdict, found.findings) == ("equal", ())
