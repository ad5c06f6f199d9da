"""Random pairs of sketches, one filled from the other: the large one gets the formula that the small one prints.

What the formula is at the points of the large one is worked out by Python's `eval`.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from swizzle import Sketch, SwizzleError, load, solve
from swizzle.language.parameters import Parameters
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.solution.filling import fill_from
from swizzle.solving.solution.saved import load_saved, saved_text
from tests.sketches import sketch_of
from tests.slow_cases import slow_unless

SIZES = (4, 5, 8)
HOLES = (
    "?sw_xform(i, {n}, j)",
    "?sw_xform(j, {n}, i)",
    "?sw_xform(i, {n})",
    '?sw_index(i, {n}, j, families="table, constant_table")',
    "?sw_part({n}, i, j)",
    "1 if ?sw_cond(i, j) else 0",
)
FUNCTIONS = (
    "(i + {a} * j + {b}) % {n}",
    "({a} * i + j + {b}) % {n}",
    "({a} - i - j) % {n}",
    "(i ^ j ^ {b}) % {n}",
    "(j ^ {b}) % {n}",
    "i % {n}",
    "i // 2 * 2 % {n}",
    "{b}",
    "({a} * i * i + j + {b}) % {n}",
    "min(i // {d}, {n} - 1)",
    "int(i + {a} * j < {b})",
    "int(i % {d} >= j)",
)

TEXT = """
@cuda.jit(device=True)
def source(i, j):
    return {hole}

@spec
def wanted(x):
    return [[x[v] for v in row] for row in {small}]

@sketch(spec=wanted, block={lanes}, x=f32[{n}], y=f32.out[{rows}, {lanes}])
def small(x, y):
    i = cuda.threadIdx.x
    for row, j in enumerate({asked}):
        y[row, i] = x[source(i % {n}, j)]
"""
LARGE = """
@spec
def other(x):
    return [[x[v] for v in row] for row in {large}]

@sketch(spec=other, filled_from=small, block={lanes}, x=f32[{n}], y=f32.out[{rows}, {lanes}])
def large(x, y):
    i = cuda.threadIdx.x
    for row, j in enumerate({asked}):
        y[row, i] = x[source(i, j)]
"""


class Pair(NamedTuple):
    """A small sketch, and the points at which a large one asks the same hole."""

    text: str
    n: int
    lanes: int
    asked: tuple[int, ...]

    def large(self, formula: str, changed: int = 0) -> tuple[str, bool]:
        """Return both sketches, of which the large one is to be what the formula says, but for `changed`, added to its
        last element; and whether the formula stays in bounds."""
        values = [[int(eval(formula, {}, {"i": i, "j": j})) for i in range(self.lanes)] for j in self.asked]
        fits = all(0 <= v < self.n for row in values for v in row)
        wanted = [[v % self.n for v in row] for row in values]
        wanted[-1][-1] = (wanted[-1][-1] + changed) % self.n
        about = {"large": wanted, "n": self.n, "lanes": self.lanes, "rows": len(self.asked), "asked": self.asked}
        return self.text + LARGE.format(**about), fits


def drawn(seed: int) -> Pair:
    random = Random(seed)
    n, lanes, hole = random.choice(SIZES), random.choice((4, 8)), random.choice(HOLES)
    asked = tuple(random.sample(range(n), random.choice((1, 1, 2, 3))))
    numbers = {"a": random.randrange(1, 4), "b": random.randrange(n), "d": random.choice((2, 3, 4)), "n": n}
    function = random.choice(FUNCTIONS).format(**numbers)
    small = [[eval(function, {}, {"i": i % n, "j": j, "min": min, "int": int}) for i in range(lanes)] for j in asked]
    if hole.startswith("1 if"):
        small = [[v % 2 for v in row] for row in small]
    about = {"hole": hole.format(n=n), "small": small, "n": n, "lanes": lanes, "rows": len(asked), "asked": asked}
    return Pair(TEXT.format(**about), n, random.choice((lanes, 16)), tuple(random.sample(range(14), 3)))


def filled(text: str, folder: Path | None) -> Sketch:
    """Return the large sketch of a text: as it is, or filled from the file of the small one's solution."""
    if folder is None:
        return read_swz(text, "pair.swz", Parameters())[1]
    file = folder / "pair.swz"
    file.write_text(text, encoding="utf-8")
    small, large = load(file)
    solution = folder / "small.json"
    solution.write_text(saved_text(solve(small), file, {}, folder), encoding="utf-8")
    return fill_from(large, load_saved(solution, {})[1])


@pytest.mark.parametrize("first", slow_unless(range(0, 1500, 30), (0).__eq__))
def test_the_formula_that_is_printed_is_handed_over(first: int, tmp_path: Path) -> None:
    """The large sketch is equal to what Python makes of the printed formula, and to nothing else."""
    solved = 0
    for seed in range(first, first + 30):
        pair = drawn(seed)
        small = solve(sketch_of(pair.text))
        if small.status != "sat":
            continue
        formula, folder = small.best.holes[0].formula, tmp_path if seed % 4 == 0 else None
        text, fits = pair.large(formula)
        if not fits:
            with pytest.raises(SwizzleError, match="is out of bounds"):
                solve(filled(text, folder))
            continue
        result = solve(filled(text, folder))
        assert result.status == "sat", text
        (hole,) = result.best.holes
        assert (hole.formula, hole.found_in) == (formula, "small")
        assert solve(filled(pair.large(formula, changed=1)[0], folder)).status == "unsat", text
        solved += 1
    assert solved >= 15
