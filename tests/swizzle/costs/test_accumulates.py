"""The counting floor: no filling costs less, and it is not lower than it need be."""

import pytest

from swizzle import maximum
from swizzle.costs.accumulates import floor
from swizzle.problem.problem import Problem
from tests.sketches import kernel

BODY = """
lane = cuda.laneid
i = cuda.grid(1)
a = accumulator(i32, outer="{outer}")
for k in range(4):
    v = cuda.shfl_sync(cuda.FULL_MASK, x[i], ?sw_xform(lane, 4, k))
    a.accumulate(v, when=?sw_cond(lane, k))
    a.accumulate(v, when=?sw_cond(lane, k))
    a.accumulate(v, when=?sw_cond(lane, k))
y[i] = a.value{final}
"""


@pytest.mark.parametrize(
    ("items", "outer", "final", "expected"),
    [
        (4, "+", "", 1),
        (5, "+", "", 2),
        (8, "+", "", 2),
        (9, "+", "", 3),
        (9, "+", " * 2", 3),
        (9, "max", "", 0),
    ],
)
def test_each_statement_brings_an_item_a_round(items: int, outer: str, final: str, expected: int) -> None:
    """Four rounds bring four items a statement; a maximum may take an item twice, so nothing follows there."""

    def spec(x):  # type: ignore[no-untyped-def]
        found = []
        for i in range(8):
            total = x[i // 4 * 4]
            for j in range(1, items):
                item = x[(i // 4 * 4 + j) % 8]
                total = maximum(total, item) if outer == "max" else total + item
            found.append(total * 2 if final else total)
        return found

    sketch = kernel(BODY.format(outer=outer, final=final))
    assert floor(Problem.of(sketch.program, spec)) == expected
