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


@pytest.mark.parametrize(("body", "shown"), [
    ("where(x[t] + 1 < 5, i64(1), i64(0))", "where(widen_to_i64(1 + x[0]) < 5, 1, 0)"),
    ("where(x[t] < 5, i64(1), i64(0))", "where(x[0] < 5, 1, 0)"),
    ("gather(w, min(max(x[t] + 1, 0), 7))", "w[widen_to_i64(min(7, max(0, 1 + x[0])))]"),
    ("i64(f32(x[t] + 1))", "to_i64(to_f32(widen_to_i64(1 + x[0])))"),
])  # fmt: skip
def test_what_has_wrapped_is_read_as_a_number_of_the_output(body: str, shown: str) -> None:
    sketch = kernel(
        f"t = cuda.laneid\ny[t] = {body}", arguments="x=i32[8], w=i64[8], y=i64.out[8]", block=8, warp_size=8
    )
    terms = Terms()
    (term,) = Forward(sketch.program, TermValues(terms), lambda *_: {}).output("y", 0)
    assert terms.show(term) == shown
