"""The text of a complete assignment: a kernel that a person would have written, with holes where a layout is open."""

from __future__ import annotations

from pathlib import Path

from swizzle import load, solve
from swizzle.derive.schedules.decisions import KernelLimits
from swizzle.derive.schedules.schedule_space import ScheduleSpace
from symbolic.choices.conditions import Value
from symbolic.choices.propagation import Propagator
from symbolic.choices.search import assignments
from tests.swizzle.derive.schedules.kernels import schedules

TURNED: dict[str, Value] = {
    "memory(copy_x)": "SHARED",
    **{f"size({level})": size for level, size in (("i1", 16), ("i2", 1), ("j1", 16), ("j2", 1))},
    **{f"kind(store_y.{level}0)": "BLOCK" for level in "ij"},
    **{"kind(load_x.i1)": "THREAD.x", "kind(load_x.j1)": "THREAD.y"},
    **{"kind(store_y.j1)": "THREAD.x", "kind(store_y.i1)": "THREAD.y"},
}
"""A tile of sixteen by sixteen is loaded by rows, turned in shared memory and stored by rows."""


def turned(space: ScheduleSpace, **more: Value) -> str:
    """Return the text of a schedule with these decisions."""
    propagation = Propagator(space.space)
    candidate = space.decide(propagation, propagation.root(), TURNED | more)
    return space.text(propagation.assignment(next(assignments(propagation, candidate))))


def test_a_transposition_by_tiles() -> None:
    """It is the text that textbooks have."""
    text = turned(schedules("transposition"), **{"layout(copy_x)": "PLAIN"})
    assert text.startswith("from swizzle import accumulator, cuda, f32, math, maximum, parameter, sketch, spec\n")
    assert 'M = parameter("M", 32, domain=range(16, 1 << 27, 16))' in text
    assert text.endswith(
        """
@sketch(spec=transposed, block=(16, 16), grid=(M // 16, N // 16), x=f32[N, M], y=f32.out[M, N])
def transposition(x, y):
    x_tile = cuda.shared.array((16, 16), f32)
    bx, by = cuda.blockIdx.x, cuda.blockIdx.y
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x_tile[ty, tx] = x[by * 16 + ty, bx * 16 + tx]
    cuda.syncthreads()
    x_value = x_tile[tx, ty]
    y[bx * 16 + ty, by * 16 + tx] = x_value
"""
    )


def test_the_pitch_of_a_tile_is_a_hole(tmp_path: Path) -> None:
    """It is filled so that the lanes of a warp find their columns in different banks."""
    conflicts = {}
    for layout in ("PLAIN", "PADDED"):
        text = turned(schedules("transposition"), **{"layout(copy_x)": layout})
        assert ("X_PITCH = sw_pad(16)\n" in text) == (layout == "PADDED")
        path = tmp_path / f"{layout}.py"
        path.write_text(text)
        (sketch,) = load(path)
        conflicts[layout] = solve(sketch, cost="conflicts").best.cost["conflicts"]
    assert conflicts["PADDED"] < conflicts["PLAIN"]


def test_limits_hold() -> None:
    """No block has more threads than may be, and none fewer."""
    space = schedules("transposition", limits=KernelLimits(threads=(256, 256)))
    assert "block=(16, 16)" in turned(space)
