"""Fillings that are run on numbers: values that go through holes, operators and holes again."""

from __future__ import annotations

import pytest

from swizzle import solve
from swizzle.solving.problem.mixing import mixes
from swizzle.solving.search import screening
from tests.sketches import kernel

MERGE = """
lane = cuda.laneid
v = x[lane]
for k in range(3):
    o = cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(lane, 8, 4 >> k))
    v = min(v, o) if ?sw_cond(lane % (8 >> k), 4 >> k) else max(v, o)
y[lane] = v
"""
MERGED = """
def merged(x):
    v = list(x)
    for d in (4, 2, 1):
        v = [(minimum if i & d == 0 else maximum)(v[i], v[i ^ d]) for i in range(8)]
    return v
"""
GATHERED = """
lane = cuda.laneid
s = x[lane]
for k in range(2):
    s += cuda.shfl_sync(cuda.FULL_MASK, s, ?sw_xform(lane, 16, 1 << k))
s = cuda.shfl_sync(cuda.FULL_MASK, s, ?sw_xform(lane, 16))
if lane < 4:
    y[lane] = s
"""
GRADIENT = """
i = cuda.laneid
s = f32(0)
for k, w in enumerate((f32(1), f32(2), f32(1))):
    s += w * (x[k, i + ?sw_xform(k, 3)] - x[k, i + ?sw_xform(k, 3)])
y[i] = math.sqrt(s * s + x[0, i] * x[0, i])
"""
GRADIENTS = """
def gradient(x, i):
    s = x[0, i] + 2 * x[1, i] + x[2, i] - x[0, i + 2] - 2 * x[1, i + 2] - x[2, i + 2]
    return math.sqrt(s * s + x[0, i] * x[0, i])

"""
STEPS = """
a = cuda.shared.array(10, f32)
t = cuda.threadIdx.x
a[t] = x[t] + x[t + ?sw_xform(0, 3)]
cuda.syncthreads()
if t < 8:
    y[t] = a[t + ?sw_xform(0, 3)] + a[t + ?sw_xform(0, 3)]
"""
POSED = {  # a kernel, its specification, what stands above, elements of x, of y, threads
    "merge": (MERGE, "merged(x)", MERGED, "8", 8, 8),
    "gathered": (GATHERED, "[sum(x[4 * g + i] for i in range(4)) for g in range(4)]", "", "16", 4, 16),
    "gradient": (GRADIENT, "[gradient(x, i) for i in range(8)]", GRADIENTS, "3, 10", 8, 8),
    "steps": (STEPS, "[x[i] + 2 * x[i + 2] + x[i + 4] for i in range(8)]", "", "12", 8, 10),
}
ANSWERS = {
    "merge": ("lane ^ (4 >> k)", "(lane % (8 >> k)) < (4 >> k)"),
    "gathered": ("(lane + (1 << k)) % 16", "4 * lane % 16"),
    "gradient": ("0", "2"),
    "steps": ("2", "0", "2"),
}


@pytest.mark.parametrize("name", POSED)
def test_values_that_go_through_several_holes(name: str) -> None:
    """A network of minima and maxima, sums that are gathered, sums in a root, two steps of a stencil."""
    text, spec, head, elements, outputs, block = POSED[name]
    arguments = f"x=f32[{elements}], y=f32.out[{outputs}]"
    posed = kernel(text, spec=spec, arguments=arguments, head=head, block=block, warp_size=1 if block == 10 else block)
    assert mixes(posed.program)
    result = solve(posed)
    assert result.status == "sat" and result.best is not None and result.optimal
    assert tuple(hole.formula for hole in result.best.holes) == ANSWERS[name]


def test_agreement_on_numbers_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all numbers are alike, every filling agrees; those that are wrong on terms are left out all the same."""
    monkeypatch.setattr(screening, "LARGEST", 1)
    text, spec, head, elements, outputs, block = POSED["steps"]
    posed = kernel(
        text, spec=spec, arguments=f"x=f32[{elements}], y=f32.out[{outputs}]", head=head, block=block, warp_size=1
    )
    result = solve(posed)
    assert result.best is not None and [hole.formula for hole in result.best.holes] == list(ANSWERS["steps"])


def test_kernels_that_only_move_or_add_once_are_not_screened() -> None:
    """A product of loads and one sum of what holes choose are questions for a solver."""
    for body in ("y[i] = x[?sw_xform(i, 8)] * 2", "y[i] = x[?sw_xform(i, 8)] + x[?sw_xform(i, 8)]"):
        assert not mixes(kernel(f"i = cuda.laneid\n{body}", block=8, warp_size=8).program)
    twice = "i = cuda.laneid\ns = x[?sw_xform(i, 8)] + 1\ny[i] = cuda.shfl_sync(cuda.FULL_MASK, s, ?sw_xform(i, 8))"
    assert mixes(kernel(twice, block=8, warp_size=8).program)
