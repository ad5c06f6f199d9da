"""Races: what a barrier orders, and for whom."""

import numpy as np
import pytest

from symbolic.algebra.numbers import Numbers
from symbolic.machine.machine import Machine
from tests.sketches import kernel

HEAD = "t = cuda.threadIdx.x\ni = cuda.grid(1)\ns = cuda.shared.array(8, i32)\ns[t] = x[i]\n"
CASES = {
    "cuda.syncthreads()\ny[i] = s[7 - t]": False,
    "y[i] = s[7 - t]": True,
    "cuda.syncwarp()\ny[i] = s[t ^ 1]": False,
    "cuda.syncwarp()\ny[i] = s[7 - t]": True,
    "if cuda.blockIdx.x == 0:\n    cuda.syncthreads()\ny[i] = s[7 - t]": True,
    "if cuda.blockIdx.x == 0:\n    cuda.syncthreads()\nelse:\n    cuda.syncthreads()\ny[i] = s[7 - t]": False,
    "if t < 4:\n    cuda.syncwarp()\ny[i] = s[t ^ 1]": True,
    "cuda.syncthreads()\nv = s[7 - t]\ns[t] = v\ny[i] = v": True,
    "s[t] = x[i]\ny[i % 8] = s[t]": True,
    "y[i] = x[i]\ncuda.syncthreads()\nif t == 8:\n    y[0] = x[i]": False,
}


@pytest.mark.parametrize("body", list(CASES))
def test_barriers_order_those_who_pass_them(body: str) -> None:
    """Two blocks of two warps: a barrier that some of them skip orders nothing there."""
    program = kernel(HEAD + body, arguments="x=i32[16], y=i32.out[16]", grid=2).program
    run = Machine(program, Numbers(), {"x": np.arange(16, dtype=np.int32)}).run()
    assert bool(run.violations) == CASES[body]
