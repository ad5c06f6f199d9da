"""Kernels with loops, read: their statements and loops, and one error for what no schedule is made for."""

from __future__ import annotations

import linecache

import pytest

from swizzle.derive.schedules.schedule_space import ScheduleSpace
from swizzle.sketches.loading import SketchFile
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
    linecache.cache["<read>.py"] = (len(text), None, text.splitlines(keepends=True), "<read>.py")
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
