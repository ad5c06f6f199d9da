"""The second reading of what warps must do together, against its definition."""

from __future__ import annotations

import pytest

from symbolic.algebra.terms import Terms
from symbolic.second.forward import Forward
from symbolic.second.terms import TermValues
from tests.sketches import kernel

BODY = """
t = cuda.threadIdx.x
v = x[t]
if t % 64 {relation} {bound}:
    v = cuda.shfl_sync(cuda.FULL_MASK, x[t], 0)
y[t] = v
"""


@pytest.mark.parametrize("relation", ["<", ">="])
@pytest.mark.parametrize("bound", [0, 5, 32, 40, 64])
def test_where_one_lane_shuffles_all_lanes_of_its_warp_do(relation: str, bound: int) -> None:
    """Every thread that is on asks this of all threads of its warp, those before it included."""
    body = BODY.format(relation=relation, bound=bound)
    sketch = kernel(body, arguments="x=i32[128], y=i32.out[128]", block=64, grid=2, warp_size=32)
    found = Forward(sketch.program, TermValues(Terms()), lambda *_: {})
    on = [(t % 64 < bound) == (relation == "<") for t in range(128)]
    whole = [all(on[t - t % 32 : t - t % 32 + 32]) for t in range(128)]
    assert [all(rule(t).is_true() for rule in found.must) for t in range(128)] == [
        whole[t] or not on[t] for t in range(128)
    ]
