"""No hole feeds a hole, on whatever way."""

import pytest

from swizzle import SwizzleError, solve
from tests.sketches import kernel
from tests.swizzle.spelling import read


@pytest.mark.parametrize(
    "body",
    [
        "j = ?sw_part(2, cuda.laneid)\ny[?sw_part(2, j)] = x[0]",
        "j = 0\nif ?sw_cond(cuda.laneid):\n    j = 1\ny[?sw_part(2, j)] = x[0]",
        "a = ?sw_part(2, cuda.laneid)\nb = a + 1\nc = b * 2\ny[?sw_part(2, c)] = x[0]",
        "j = 0\nfor k in range(2):\n    y[?sw_part(2, j)] = x[0]\n    j = ?sw_part(2, k)",
        "c = ?sw_cond(cuda.laneid)\nif c:\n    j = 1\nelse:\n    j = 2\nif ?sw_cond(j):\n    y[0] = x[0]",
        "if ?sw_cond(1):\n    j = 1\n    if ?sw_cond(cuda.laneid):\n        j = 2\n    y[?sw_part(2, j)] = x[0]",
        "j = 1 if ?sw_cond(cuda.laneid) else 0\nfor k in range(2):\n    y[?sw_xform(k, 4, j)] = x[0]",
    ],
)
def test_a_hole_that_depends_on_a_hole_is_refused(body: str) -> None:
    """Directly, through variables, under a condition, or around a loop."""
    with pytest.raises(SwizzleError, match="a hole's argument cannot contain a hole"):
        read(body)


@pytest.mark.parametrize(
    "body",
    [
        "j = ?sw_part(2, cuda.laneid)\ny[j] = x[?sw_part(2, cuda.warpid)]",
        "v = x[?sw_part(2, cuda.laneid)]\nif ?sw_cond(cuda.laneid):\n    v = x[?sw_part(2, cuda.laneid)]\ny[0] = v",
    ],
)
def test_data_and_indices_may_depend_on_holes(body: str) -> None:
    """Only a hole's own arguments may not."""
    assert len(read(body).program.holes) >= 2


@pytest.mark.parametrize("argument", ["j", "moved(j - 1)"])
def test_a_variable_of_one_branch_is_an_argument_there(argument: str) -> None:
    """That a hole chooses the branch does not say what the variable is in it; so for what is passed to a function."""
    sketch = kernel(
        f"i = cuda.laneid\nif ?sw_cond(i):\n    j = i + 1\n"
        f"    y[i] = x[{'?sw_xform(i, 4, j)' if argument == 'j' else argument}]\nelse:\n    y[i] = x[i]",
        spec="[x[3], x[2], x[1], x[3]]",
        arguments="x=i32[4], y=i32.out[4]",
        head="@cuda.jit(device=True)\ndef moved(j):\n    return ?sw_xform(j, 4)\n\n",
        block=4,
    )
    assert solve(sketch).status == "sat"
