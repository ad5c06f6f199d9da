"""A function of mathematics is one row: with it sketches, specifications, printers and validation know the function."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symbolic.elements import DType
from symbolic.ir.functions import FUNCTIONS, External, MathFunction, WordFunction, gather, gathered, where

ROOT = Path(__file__).parents[3]
TRIAL = """
from symbolic.ir.functions import FUNCTIONS, mathematics

assert "cosh" not in FUNCTIONS
FUNCTIONS["cosh"] = mathematics("cosh", "cosh", 2, 2)

import numpy as np

from cuda_out.compile.opaque import with_opaque_calls
from swizzle import cuda, f32, math, sketch, solve, spec, sw_xform

@spec
def wanted(x):
    return [math.cosh(x[31 - i]) for i in range(32)]

@sketch(spec=wanted, block=32, x=f32[32], y=f32.out[32])
def k(x, y):
    lane = cuda.laneid
    y[lane] = np.cosh(cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, 32)))

assert np.allclose(wanted(np.zeros(32)), 1)
best = solve(k).best
text = best.to_cuda()
assert "coshf(" in text, text
assert 'extern "C" __device__ float swizzle_opaque_coshf(float);' in with_opaque_calls(text)
assert "math.cosh(" in best.to_numba()
print("known")
"""


def test_a_new_function_is_one_row(tmp_path: Path) -> None:
    """With a row for it, a function that nobody knew is read, proved, printed twice, and declared for validation."""
    trial = tmp_path / "trial.py"
    trial.write_text(TRIAL)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, trial], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "known\n", done.stderr


@pytest.mark.parametrize("row", [FUNCTIONS["exp"], where("<"), where(">=")], ids=lambda row: row.symbol)
def test_a_row_of_the_table_has_one_name(row: MathFunction) -> None:
    assert row.name is row.name and row.name.row is row


def test_functions_as_texts() -> None:
    """Each kind shows its calls as sketches write them."""
    shown = [
        FUNCTIONS["pow"].text(["a", "2"]), where("!=").text(["a", "b", "x", "y"]), gather("x", (4, 8)).text(["i", "j"]),
        gathered("x").row.text(["9"]),
    ]  # fmt: skip
    assert shown == ["math.pow(a, 2)", "where(a != b, x, y)", "gather(x, i, j)", "x[9]"]
    assert gather("x", (4, 8)).row == ("function", "gather x", 4, 8)
    assert gather("x", (4, 8)).name != gathered("x") == gathered("x")


def test_functions_on_numbers() -> None:
    """A choice gives what it chooses as it is, mathematics what it is given the precision of, words their own type."""
    smaller = where("<")
    assert smaller.on_numbers([1, 2, 3, 4]) == 3 and smaller.on_numbers([2, 1, 3, 4]) == 4
    assert smaller.on_numbers([np.array([1, 3]), 2, np.array([5, 6]), 7]).tolist() == [5, 7]
    assert FUNCTIONS["exp"].on_numbers([np.float32(0)]).dtype == np.float32
    assert FUNCTIONS["pow"].on_numbers([2, np.float16(3)]) == 8 == FUNCTIONS["pow"].on_numbers([2, 3])
    assert squared("x * x").on_numbers([np.int32(5)]) == 25
    half = external("return x / 2;", lambda x: x / 2)
    assert half.on_numbers([np.float32(3)]) == 1.5
    assert np.isnan(external("return 1 / x;", lambda x: 1 / float(x)).on_numbers([0.0]))


def test_functions_are_the_same_by_what_they_compute() -> None:
    """Two of the user's own, or two on words, of one name are one function only where their texts are the same."""
    one, other = external("return x / 2;", lambda x: x / 2), external("return x * 0.5f;", lambda x: x / 2)
    assert one.name != other.name and one.name == external("return x / 2;", abs).name
    assert one.row != other.row and squared("x * x").row != squared("x * x + 0").row
    assert (squared("x * x").text(["a"]), one.text(["a"])) == ("square(a)", "half(a)")


def squared(body: str) -> WordFunction:
    return WordFunction("square", ("x",), np.square, (DType.I32,), DType.I32, "square", body)


def external(body: str, function: Callable[[Any], Any]) -> External:
    return External("half", ("x",), (DType.F32,), DType.F32, body, function)
