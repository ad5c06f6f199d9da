"""Kernels with loops, read: their statements and loops, and one error for what no schedule is made for."""

from __future__ import annotations

from itertools import islice

import pytest

from swizzle.derive.schedules.proof import prove_schedule
from swizzle.derive.schedules.schedule_space import ScheduleSpace
from swizzle.sketches.loading import SketchFile
from symbolic.choices.propagation import Propagator
from symbolic.choices.search import assignments
from symbolic.errors import SwizzleError
from tests.swizzle.derive.schedules.kernels import KERNELS, schedules


def test_statements_are_in_nests_of_their_own() -> None:
    """What is loaded once for several values of a loop has a copy; a sum begins outside its loop."""
    backbone = schedules("matmul").backbone
    assert [(statement.name, statement.loops) for statement in backbone.statements] == [
        ("begin_total", ("i", "j")),
        ("load_a", ("i", "k")),
        ("copy_a", ("i", "k")),
        ("load_b", ("j", "k")),
        ("copy_b", ("j", "k")),
        ("sum_total", ("i", "j", "k")),
        ("store_c", ("i", "j")),
    ]
    assert backbone.reduced(backbone.statement("sum_total")) == ("k",)


def test_loops_of_one_name_are_two() -> None:
    """The loops over columns of a softmax, and no level has the name of another loop."""
    backbone = schedules("softmax").backbone
    assert list(backbone.loops) == ["i", "k", "kb", "j"]
    inner = (
        KERNELS["matmul"].replace("k in range(K)", "i1 in range(K)").replace("[i, k], b[k, j])", "[i, i1], b[i1, j])")
    )
    assert list(read(inner).backbone.loops) == ["i", "j", "i1b"]


def read(text: str) -> ScheduleSpace:
    """Return the schedules of a text."""
    return ScheduleSpace(SketchFile("<read>.py", text))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("for i in range(N):\n        out", "for i in range(0, N, 2):\n        out", "a loop of another form"),
        ("for i in range(N):\n        out", "for i in range(N // 2):\n        out", "a loop to `N // 2`"),
        ("        out[i] = alpha * x[i] + y[i]", "        if i > 2:\n            out[i] = x[i]", "a statement that no"),
        (
            "        out[i] = alpha",
            "        s = x[i]\n        s = s + y[i]\n        out[i] = s + alpha",
            "a second time",
        ),
        ("        out[i] = alpha * x[i] + y[i]", "        out[0] = x[i]", "the same for all i"),
        ("block=1,", "block=32,", "a block of (32, 1, 1)"),
        (
            "        out[i] = alpha",
            "        total = accumulator(f32, outer='+')\n        for k in range(3):\n"
            "            total.accumulate(x[i])\n            out[i] = total.value + alpha",
            "is read where its loops are not",
        ),
    ],
)
def test_what_has_no_schedules_is_a_mistake(old: str, new: str, said: str) -> None:
    """With the line, what is expected and what to do."""
    text = KERNELS["axpy"]
    assert old in text
    with pytest.raises(SwizzleError) as caught:
        read(text.replace(old, new))
    assert said in str(caught.value)
    assert caught.value.place is not None
    assert caught.value.fix


@pytest.mark.parametrize(
    ("loop", "taps", "length"),
    [
        ("range(K)", "K = 3", "K"),
        ("range(2 * R + 1)", "R = 1", "3"),
        ("range(0, 3, 1)", "", "3"),
        ("range(0, 3)", "", "3"),
    ],
)
def test_a_loop_to_a_number_that_has_a_name(loop: str, taps: str, length: str) -> None:
    """It may be written as arithmetic, from 0 on: it has one level, and its schedules are right."""
    conv = KERNELS["conv2d"].replace("for r in range(3):\n", f"for r in {loop}:\n")
    head, _, rest = conv.partition("\n\n")
    space = read(f"{head}\n{taps}\n{rest}")
    assert space.backbone.loops["r"].length == length and len(space.backbone.loops["r"].tiles) == 1
    propagation = Propagator(space.space)
    (leaf,) = islice(assignments(propagation), 1)
    assert prove_schedule(space, propagation.assignment(leaf)).equal


def test_long_loops_over_numbers_are_strip_mined() -> None:
    """As those over parameters: by divisors, of which other lengths than powers of two have some, too."""
    text = KERNELS["axpy"].replace('parameter("N", 65536, domain=range(1, 1 << 27))', "1000")
    space = read(text)
    assert [level.sizes for level in space.backbone.loops["i"].tiles] == [
        (), (2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500, 1000), (1, 2, 4)
    ]  # fmt: skip
    propagation = Propagator(space.space)
    root = propagation.root()
    wide = {"size(i1)": 125, "kind(store_out.i1)": "THREAD.x", "kind(store_out.i0)": "BLOCK"}
    leaf = next(assignments(propagation, space.decide(propagation, root, wide)))
    assignment = propagation.assignment(leaf)
    assert prove_schedule(space, assignment).equal and "N // " in space.text(assignment)
