"""The machine: what kernels compute for all inputs, and the rules that it holds them to."""

import pytest

from swizzle.language.specs.verify import explain_mismatch, verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.problem import Problem
from symbolic.errors import SwizzleError
from tests.sketches import kernel


def equal(sketch: Sketch) -> bool:
    return verify(sketch.program, sketch.spec).equal


def broken(sketch: Sketch) -> str:
    """Return the first message about a rule that a kernel breaks."""
    verdict = verify(sketch.program, sketch.spec)
    assert verdict.violations
    return verdict.violations[0].message


def test_a_copy_is_equal_and_a_shifted_copy_is_not() -> None:
    """The simplest kernel, right and wrong, with the evidence."""
    assert equal(kernel("i = cuda.grid(1)\ny[i] = x[i]", spec="[v for v in x]"))
    wrong = kernel("i = cuda.grid(1)\ny[i] = x[(i + 1) % 8]", spec="[v for v in x]")
    assert explain_mismatch(wrong.program, wrong.spec)[:1] == ["y[0] is x[1], the specification says x[0]"]


def test_blocks_and_axes() -> None:
    """Two-dimensional blocks and grids: x runs fastest, blocks come one after the other."""
    body = """
i, j = cuda.grid(2)
y[j, i] = x[i, j]
"""
    arguments = "x=i32[8, 4], y=i32.out[4, 8]"
    assert equal(
        kernel(
            body, spec="[[x[i, j] for i in range(8)] for j in range(4)]", arguments=arguments, block=(4, 2), grid=(2, 2)
        )
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("cuda.shfl_sync(cuda.FULL_MASK, v, (lane + 1) % 4)", "(t + 1) % 4"),
        ("cuda.shfl_sync(cuda.FULL_MASK, v, lane + 5)", "(t + 1) % 4"),
        ("cuda.shfl_up_sync(cuda.FULL_MASK, v, 1)", "max(t - 1, 0)"),
        ("cuda.shfl_down_sync(cuda.FULL_MASK, v, 2)", "t + 2 if t < 2 else t"),
        ("cuda.shfl_xor_sync(cuda.FULL_MASK, v, 3)", "t ^ 3"),
    ],
)
def test_shuffles_follow_cuda(call: str, expected: str) -> None:
    """Each shuffle reads the lane that CUDA reads, inside its own warp; out of range reads oneself."""
    body = f"i = cuda.grid(1)\nlane = cuda.laneid\nv = x[i]\ny[i] = {call}"
    assert equal(kernel(body, spec=f"[x[w * 4 + ({expected})] for w in range(2) for t in range(4)]"))


def test_a_shuffle_reads_what_the_source_lane_offers() -> None:
    """The offered register is chosen at the source, not at the reader (paper, Listing 1)."""
    body = """
lane = cuda.laneid
i = cuda.grid(1)
r = cuda.local.array(2, i32)
r[0] = x[i]
r[1] = x[(i + 1) % 8]
y[i] = cuda.shfl_sync(cuda.FULL_MASK, r[0 if lane == 0 else 1], 0)
"""
    assert equal(kernel(body, spec="[x[0], x[0], x[0], x[0], x[4], x[4], x[4], x[4]]"))


def test_a_shuffle_names_every_lane_of_its_warp() -> None:
    """Bits beyond the warp do not matter; a lane that is not named might not be there."""
    body = "i = cuda.grid(1)\ny[i] = cuda.shfl_sync({}, x[i], 0)"
    for mask in ("0xF", "0x1F"):
        assert equal(kernel(body.format(mask), spec="[x[i // 4 * 4] for i in range(8)]"))
    with pytest.raises(SwizzleError, match="does not name every lane"):
        equal(kernel(body.format("0x7"), spec="[x[i // 4 * 4] for i in range(8)]"))


def test_predication_keeps_old_values() -> None:
    """Lanes that are off keep scalars and cells."""
    body = """
i = cuda.grid(1)
v = x[i]
r = cuda.local.array(1, i32)
r[0] = v
if i % 2 == 0:
    v = v + x[0]
    r[0] = x[1]
else:
    v = v * x[2]
y[i] = v + r[0]
"""
    assert equal(kernel(body, spec="[x[i] + x[0] + x[1] if i % 2 == 0 else x[i] * x[2] + x[i] for i in range(8)]"))


def test_accumulators_reorder_sums() -> None:
    """Accumulating in another order than the specification is equal (section 4.2); another multiset is not."""
    body = """
i = cuda.grid(1)
a = accumulator(i32, outer="+", inner="*")
for k in range(3):
    a.accumulate(x[(i + 2 - k) % 8], x[2 - k], when=k < {limit})
y[i] = a.value
"""
    spec = "[sum(x[k] * x[(i + k) % 8] for k in range(3)) for i in range(8)]"
    assert equal(kernel(body.format(limit=3), spec=spec))
    assert not equal(kernel(body.format(limit=2), spec=spec))


def test_shared_memory_needs_its_barrier() -> None:
    """With the barrier a block reverses; without it, the race is named with both threads."""
    body = """
i = cuda.grid(1)
t = cuda.threadIdx.x
s = cuda.shared.array(8, i32)
s[t] = x[i]
{barrier}
y[i] = s[7 - t]
"""
    spec = "[x[7 - i] for i in range(8)]"
    assert equal(kernel(body.format(barrier="cuda.syncthreads()"), spec=spec))
    message = broken(kernel(body.format(barrier="pass"), spec=spec))
    assert message.startswith("race on s[0]: block (0, 0, 0), thread (0, 0, 0), lane 0 writes it (line 10) and ")
    assert message.endswith("lane 3 reads it (line 12) with no barrier between")


def test_syncwarp_orders_one_warp_only() -> None:
    """Between lanes of a warp syncwarp is enough, across warps it is not."""
    body = """
i = cuda.grid(1)
t = cuda.threadIdx.x
s = cuda.shared.array(8, i32)
s[t] = x[i]
cuda.syncwarp()
y[i] = s[{read}]
"""
    assert equal(
        kernel(body.format(read="t // 4 * 4 + 3 - t % 4"), spec="[x[i // 4 * 4 + 3 - i % 4] for i in range(8)]")
    )
    assert "race on s[" in broken(kernel(body.format(read="7 - t"), spec="[x[7 - i] for i in range(8)]"))


def test_blocks_race_on_global_memory() -> None:
    """No barrier orders blocks."""
    sketch = kernel("t = cuda.threadIdx.x\ny[t] = x[t]", spec="[v for v in x]", grid=2)
    assert "race on y[0]: block (0, 0, 0)" in broken(sketch)


def test_out_of_bounds_names_cell_and_lane() -> None:
    """An index past the end is reported with the thread that makes it."""
    message = broken(kernel("i = cuda.grid(1)\ny[i] = x[i + 1]", spec="[v for v in x]"))
    assert message == "x[8] is out of bounds: x has shape (8,) (block (0, 0, 0), thread (7, 0, 0), lane 3)"


def test_only_the_chosen_side_is_read() -> None:
    """A conditional expression guards its accesses."""
    body = "i = cuda.grid(1)\ny[i] = x[i + 1] if i < 7 else x[0]"
    assert equal(kernel(body, spec="[x[(i + 1) % 8] for i in range(8)]"))


def test_unwritten_reads_are_reported() -> None:
    """A register that some lane never wrote must not be read by it."""
    body = """
i = cuda.grid(1)
r = cuda.local.array(2, i32)
r[i % 2] = x[i]
y[i] = r[0]
"""
    message = broken(kernel(body, spec="[v for v in x]"))
    assert message == "r[0] is read before it is written (block (0, 0, 0), thread (1, 0, 0), lane 1)"


def test_an_output_that_is_not_written_is_wrong() -> None:
    """Every element of an out array must be stored."""
    wrong = kernel("i = cuda.grid(1)\nif i < 7:\n    y[i] = x[i]", spec="[v for v in x]")
    assert explain_mismatch(wrong.program, wrong.spec) == ["y[7] is an unwritten cell, the specification says x[7]"]


@pytest.mark.parametrize("statement", ["cuda.syncthreads()", "v = cuda.shfl_sync(cuda.FULL_MASK, x[i], 0)"])
def test_all_lanes_must_be_there(statement: str) -> None:
    """A barrier or shuffle under a lane's own condition is an error with the missing lane."""
    body = f"i = cuda.grid(1)\nif i != 5:\n    {statement}\ny[i] = x[i]"
    assert "block (0, 0, 0), thread (5, 0, 0), lane 1 is missing" in broken(kernel(body, spec="[v for v in x]"))


ONE_WARP = """
i = cuda.grid(1)
v = x[i]
if cuda.warpid == 1:
    v = cuda.shfl_sync(cuda.FULL_MASK, v, 0)
y[i] = v
"""


def test_a_whole_warp_may_skip_a_shuffle() -> None:
    """Conditions that are the same for all lanes of a warp are fine."""
    sketch = kernel(
        ONE_WARP,
        spec="[x[i] if i < 32 else x[32] for i in range(64)]",
        arguments="x=i32[64], y=i32.out[64]",
        block=64,
        warp_size=32,
    )
    assert equal(sketch)


def test_a_part_of_a_hardware_warp_may_not_skip_a_shuffle() -> None:
    """A sketch's smaller warps share the hardware's 32 lanes, all of which the printed mask names."""
    message = broken(kernel(ONE_WARP, spec="[x[i] if i < 4 else x[4] for i in range(8)]"))
    assert message == "not all lanes of the warp get here: block (0, 0, 0), thread (0, 0, 0), lane 0 is missing"


def test_division_by_zero_in_an_index_is_refused() -> None:
    """The message names the thread."""
    sketch = kernel("i = cuda.grid(1)\ny[i] = x[8 % (i - 3)]", spec="[v for v in x]")
    with pytest.raises(SwizzleError, match=r"division by zero \(block \(0, 0, 0\), thread \(3, 0, 0\)"):
        verify(sketch.program, sketch.spec)


def test_a_rule_broken_whatever_the_holes_are_is_an_error_of_the_sketch() -> None:
    """Nothing is searched when a sketch cannot work for a reason that no hole touches."""
    sketch = kernel("i = cuda.grid(1)\ny[i] = x[?sw_xform(i, 8)]\nv = x[i + 1]", spec="[v for v in x]")
    with pytest.raises(SwizzleError, match=r"x\[8\] is out of bounds"):
        Problem.of(sketch.program, sketch.spec)


def test_final_functions_and_initial_values() -> None:
    """`final` maps the reduced value, `init` joins the reduction."""
    body = """
i = cuda.grid(1)
a = accumulator(i32, outer="+", init=5, final=lambda s: s * 3)
a.accumulate(x[i])
y[i] = a.value
"""
    assert equal(kernel(body, spec="[(v + 5) * 3 for v in x]"))


def test_minimum_of_nothing_is_unwritten() -> None:
    """A minimum without values and without init is no value."""
    body = """
i = cuda.grid(1)
a = accumulator(i32, outer="min")
a.accumulate(x[i], when=i > 0)
y[i] = a.value
"""
    wrong = kernel(body, spec="[v for v in x]")
    assert explain_mismatch(wrong.program, wrong.spec) == ["y[0] is an unwritten cell, the specification says x[0]"]
