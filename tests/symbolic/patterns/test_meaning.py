"""Patterns on NumPy's arrays, against plain loops on Python's lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symbolic.errors import SwizzleError
from symbolic.patterns.meaning import lengths_of, value_of_term
from symbolic.patterns.reading import read_pattern, read_type

XS = list(range(1, 13))
ROWS = [[3 * i + j * j for j in range(4)] for i in range(3)]
ADD = "add = lambda a, b: a + b\n"

CASES: dict[str, tuple[str, Any]] = {
    "map": ("map(lambda v: v * 3 - 1) o xs", [v * 3 - 1 for v in XS]),
    "reduce": (ADD + "reduce(add, 5) o xs", [sum(XS) + 5]),
    "reduce in order": ("reduce_seq(lambda a, v: 2 * a + v, 1) o split(1) o xs", None),
    "horner": (
        "reduce_seq(lambda a, v: 2 * a + v, 1) o xs",
        [2**12 + sum(v * 2 ** (11 - i) for i, v in enumerate(XS))],
    ),
    "part-red": (ADD + "part_red(add, 0, 3) o xs", [sum(XS[i : i + 4]) for i in (0, 4, 8)]),
    "scan": (ADD + "scan(add, 0) o xs", [sum(XS[: i + 1]) for i in range(12)]),
    "zip": ("map(lambda p: p[0] * p[1]) o zip(xs, xs)", [v * v for v in XS]),
    "split and join": ("join o split(4) o xs", XS),
    "split": ("split(4) o xs", [XS[0:4], XS[4:8], XS[8:12]]),
    "transpose": ("transpose o rows", [list(column) for column in zip(*ROWS, strict=True)]),
    "slide": ("slide(3, 2) o split(1) o xs", None),
    "windows": ("slide(4, 2) o xs", [XS[i : i + 4] for i in range(0, 9, 2)]),
    "clamp": ('pad(2, 1, "clamp") o xs', [1, 1, *XS, 12]),
    "mirror": ('pad(2, 1, "mirror") o xs', [3, 2, *XS, 11]),
    "wrap": ('pad(1, 2, "wrap") o xs', [12, *XS, 1, 2]),
    "zero": ('pad(1, 2, "zero") o xs', [0, *XS, 0, 0]),
    "stride": ("reorder_stride(4) o xs", [XS[i // 3 + 4 * (i % 3)] for i in range(12)]),
    "iterate": (
        ADD + "iterate(2, join o map(reduce(add, 0)) o split(2)) o xs", [sum(XS[i : i + 4]) for i in (0, 4, 8)],
    ),
    "rows": (ADD + "map(lambda row: at(reduce(add, 0) o row, 0) * at(xs, 1)) o rows", [2 * sum(row) for row in ROWS]),
    "nested scan": (ADD + "map(scan(add, 0)) o rows", np.cumsum(ROWS, 1).tolist()),
    "vectors": ("asScalar o map(vect(4, lambda v: v + at(xs, 0))) o asVector(4) o xs", [v + 1 for v in XS]),
    "vector sums": ("asScalar o reduce(vect(4, lambda a, b: a + b), 0) o asVector(4) o xs",
                    [sum(XS[i::4]) for i in range(4)]),
    "gather": ("map(lambda i: at(xs, i)) o join o rows", None),
    "lanes alone": ("map(lambda v: 7) o xs", [7] * 12),
    "let": (ADD + "let(reduce(add, 0) o xs, lambda t: map(lambda v: v - at(t, 0)) o xs)", [v - sum(XS) for v in XS]),
    "of tuples": ("map(lambda p: p[1]) o join o split(3) o zip(xs, map(lambda v: -v) o xs)", [-v for v in XS]),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, (_, wanted) in CASES.items() if wanted is not None])
def test_pattern_is_its_loop(name: str) -> None:
    """Each pattern, alone and inside others, makes what a loop on lists makes."""
    text, wanted = CASES[name]
    found = value_of_term(read_pattern(text), {"xs": np.array(XS), "rows": np.array(ROWS)}, {})
    assert np.asarray(found).tolist() == wanted


def test_several_outputs_are_a_tuple() -> None:
    """A tuple of arrays of unlike lengths is a tuple of NumPy's arrays."""
    found = value_of_term(read_pattern("(split(2) o xs, reduce(lambda a, b: a + b, 0) o xs)"), {"xs": np.array(XS)}, {})
    assert [each.shape for each in found] == [(6, 2), (1,)]


def test_gathering_beyond_the_end_is_refused() -> None:
    """Data that is no index is one error."""
    with pytest.raises(SwizzleError, match="an index of 0 to 15 into 12 elements"):
        value_of_term(read_pattern("map(lambda i: at(xs, i)) o join o rows"), {"xs": np.array(XS), "rows": ROWS}, {})


def test_lengths_are_read_from_inputs() -> None:
    """Names get the numbers that arrays have, and arrays that do not fit are refused."""
    kinds = {"a": read_type("f32[n, 2 * k]"), "b": read_type("f32[k]")}
    assert lengths_of(kinds, {"a": np.zeros((3, 8)), "b": np.zeros(4)}) == {"n": 3, "k": 4}
    with pytest.raises(SwizzleError, match="a has 8 elements where"):
        lengths_of(kinds, {"a": np.zeros((3, 8)), "b": np.zeros(5)})
