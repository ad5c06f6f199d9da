"""The layout: what stands under what, step by step."""

from __future__ import annotations

from swizzle.answers.show.panels import Panel, Strip
from swizzle.answers.show.picture import Picture, picture_of
from swizzle.solving.solution.solution import Solution
from tests.sketches import kernel
from tests.swizzle.answers.show.kernels import BUTTERFLY, CONVOLUTION, TRANSPOSE, TWO_SUMS, picture


def titles(panel: Panel) -> list[str]:
    return [("again " if strip.again else "") + strip.title for strip in panel.strips]


def labels(drawn: Picture, strip: Strip) -> list[str]:
    return ["/".join(drawn.labels.lines(term)) if term >= 0 else "-" for term in strip.terms]


def test_steps_of_a_convolution() -> None:
    """The helper is a step, each iteration is one, and the statements after the loop are one."""
    drawn = picture(CONVOLUTION)
    assert [panel.title for panel in drawn.panels] == ["line 11", "k = 0", "k = 1", "k = 2", "line 17"]
    assert titles(drawn.panels[0]) == ["inp[0]", "inp[1]"]
    assert titles(drawn.panels[2]) == [
        "inp[0]", "inp[1]", "mine = inp[part1]", "v = shfl_sync(mine, xform1)", "w[xform2]", "out += v * w[xform2]",
    ]  # fmt: skip
    assert titles(drawn.panels[4]) == ["out.value", "y[i] = out.value"]


def test_an_iteration_of_a_convolution() -> None:
    """The paper's Figure 1, cell by cell, in iteration 1: which register, which lane, which weight."""
    drawn = picture(CONVOLUTION)
    first, second, mine, received, weight, added = drawn.panels[2].strips
    assert (sorted(first.read), sorted(second.read)) == ([1, 2, 3], [0])
    assert labels(drawn, mine) == ["x4", "x1", "x2", "x3"]
    assert received.asked == (1, 2, 3, 0) and labels(drawn, received) == ["x1", "x2", "x3", "x4"]
    assert labels(drawn, weight) == ["w1"] * 4
    assert labels(drawn, added) == [f"w1/·x{i + 1}" for i in range(4)]


def test_registers_are_shown_as_they_stand() -> None:
    """Read, changed and read again in one step: the array is shown each time it has changed, and at the end."""
    body = """
mine = cuda.local.array(2, i32)
mine[0] = x[cuda.grid(1)]
mine[1] = mine[0]
mine[0] = mine[1] + 1
y[cuda.grid(1)] = mine[0]"""
    sketch = kernel(body, spec="[x[i] + 1 for i in range(8)]")
    drawn = picture_of(Solution(sketch.program, (), {}), sketch.spec)
    (panel,) = drawn.panels
    shown = [(s.title, labels(drawn, s)[0], 0 in s.read) for s in panel.strips if s.row < 0]
    assert shown == [
        ("mine[0]", "x0", True), ("mine[1]", "-", False),
        ("mine[0]", "x0", False), ("mine[1]", "x0", True),
        ("mine[0]", "1/+x0", True), ("mine[1]", "x0", False),
    ]  # fmt: skip
    assert [strip.title for strip in panel.strips if strip.starts] == ["mine[0]"] * 3


def test_a_large_array_is_shown_where_it_is_touched() -> None:
    """Of 16 registers those that a step reads or writes."""
    body = """
mine = cuda.local.array(16, i32)
for j in range(16):
    mine[j] = x[cuda.grid(1)]
y[cuda.grid(1)] = mine[cuda.laneid + 4]"""
    sketch = kernel(body, spec="[x[i] for i in range(8)]")
    drawn = picture_of(Solution(sketch.program, (), {}), sketch.spec)
    assert titles(drawn.panels[3]) == ["mine[3]"]
    assert [t for t in titles(drawn.panels[-1]) if t.startswith("mine[") and "laneid" not in t] == [
        f"mine[{4 + lane}]" for lane in range(4)
    ]


def test_what_is_shuffled_stands_above() -> None:
    """What a shuffle reads is repeated where something else, or another step, has come between."""
    first, second, third = picture(BUTTERFLY).panels[1:4]
    assert titles(first) == ["again v = x[lane]", "shfl_xor_sync(v, 1 << d)", "v = v + shfl_xor_sync(v, 1 << d)"]
    assert titles(second)[0] == titles(third)[0] == "again v = v + shfl_xor_sync(v, 1 << d)"
    for panel in (first, second, third):
        assert panel.strips[1].asked and panel.strips[0].row == panel.strips[1].row - 1


def test_several_accumulators() -> None:
    """Each accumulate names its own."""
    inside = titles(picture(TWO_SUMS).panels[1])
    assert inside[-1].startswith("best[0] max= shfl_sync(mine[1], xform")
    assert "total += a" in inside


def test_accesses_belong_to_their_step() -> None:
    """Registers are no memory accesses; every other access of the warp is in the step that makes it."""
    drawn = picture(TRANSPOSE)
    (panel,) = drawn.panels
    found = [drawn.trace.rows[row].access for row in panel.accesses]
    assert [(a.array, a.memory, a.writes) for a in found if a] == [
        ("x", "global", False), ("tile", "shared", True), ("tile", "shared", False), ("y", "global", True),
    ]  # fmt: skip
    assert not picture(CONVOLUTION).panels[3].accesses[1:]


def test_what_only_another_warp_does_is_kept_with_the_step_that_uses_it() -> None:
    """Warp 1 fills the tile; warp 0 has no strip for that, but its values come from there."""
    body = """
tile = cuda.shared.array(8, i32)
for j in range(2):
    if cuda.warpid == 1:
        tile[cuda.laneid + 4 * j] = x[cuda.laneid + 4 * j]
cuda.syncthreads()
y[cuda.grid(1)] = tile[cuda.grid(1)]"""
    sketch = kernel(body, spec="[x[i] for i in range(8)]")
    drawn = picture_of(Solution(sketch.program, (), {}), sketch.spec)
    (panel,) = drawn.panels
    assert not drawn.trace.wrong and panel.rows == tuple(range(len(drawn.trace.rows)))
    (read,) = (row for row in drawn.trace.rows if row.access and row.access.array == "tile" and not row.access.writes)
    assert read.sources[0].thread.tolist() == [4, 5, 6, 7]
