"""Functions from their constants: the same formulas and the same programs as the search gave."""

from __future__ import annotations

import pytest

from swizzle import solve
from swizzle.solution.refill import is_plain_k, refill
from tests.sketches import kernel, sketch_of

TURNING = """
@spec
def turned(x):
    return [[x[k % {size}] for k in range({rounds})] for i in range(4)]

@sketch(spec=turned, block=4, warp_size=4, x=f32[{size}], y=f32.out[4, {rounds}])
def turn(x, y):
    for k in range({rounds}):
        y[cuda.laneid, k] = x[?sw_xform(0, {size}, k)]
"""


@pytest.mark.parametrize(("rounds", "expected"), [(4, "k"), (8, "k % 4")])
def test_k_alone_where_it_stays_in_range(rounds: int, expected: str) -> None:
    """The points of a hole are not kept: whether its formula may be `k` alone is."""
    sketch = sketch_of(TURNING.format(size=4, rounds=rounds))
    best = solve(sketch).best
    (hole,) = best.holes
    assert hole.formula == expected
    plain = is_plain_k(sketch.program.holes[0], hole.formula)
    assert refill(sketch.program, [(hole.constants, plain)], best.cost) == best


@pytest.mark.parametrize(
    ("constants", "complaint"),
    [
        ({}, "gs of xform1 is None"),
        ({"gs": True}, "gs of xform1 is True"),
        ({"gs": 3}, "gs = 3, d_f = 8, d_r = 0 is not an xform of size 8"),
        ({"c": 1 << 40}, "c of xform1 is 1099511627776"),
    ],
)
def test_constants_that_are_no_function(constants: dict[str, object], complaint: str) -> None:
    """Whatever a file says, only a function of the hole's template fills it."""
    sketch = kernel("y[cuda.laneid] = x[?sw_xform(cuda.laneid, 8)]")
    right = dict.fromkeys(("gs", "d_f"), 8) | dict.fromkeys(("c_f", "wrap", "c_r", "d_r", "c"), 0)
    assert refill(sketch.program, [(right, True)], {}).holes[0].formula == "0"
    with pytest.raises(ValueError, match=complaint):
        refill(sketch.program, [(right | constants if constants else {}, True)], {})
