"""The machine with numbers agrees with the plain interpreter on random kernels."""

import numpy as np
import pytest

from symbolic.algebra.numbers import NUMPY_DTYPES, Numbers
from symbolic.machine.machine import Machine
from tests.cuda_out.random_programs import RandomKernel
from tests.cuda_out.reference import run as reference


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(60))
def test_random_kernels(seed: int) -> None:
    """Same kernel, same numbers: every element of every output is the same, bit for bit."""
    program = RandomKernel(seed).program()
    numbers = np.random.default_rng(seed)
    arrays = {p.name: numbers.integers(-50, 50, p.shape).astype(NUMPY_DTYPES[p.dtype]) for p in program.parameters}
    expected = reference(program, arrays)
    run = Machine(program, Numbers(), {name: a.reshape(-1) for name, a in arrays.items()}).run()
    assert not run.violations
    for p in program.parameters:
        memory = run.memories[p.name]
        got = np.where(memory.written, memory.data, arrays[p.name].reshape(-1))
        np.testing.assert_array_equal(got.reshape(p.shape), expected[p.name], err_msg=f"seed {seed}, {p.name}")
