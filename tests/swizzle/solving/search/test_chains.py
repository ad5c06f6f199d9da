"""Transpositions in three steps: one hole's function is tried, and says what the others must be (paper, section 8)."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from swizzle import Limits, SwizzleError, load, solve
from swizzle.sketches.loading import family_of
from swizzle.sketches.sketch import Sketch, SketchFamily
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.chain_search import _Sieve
from swizzle.solving.search.chains import Chains
from symbolic.algebra.terms import UNWRITTEN

FAMILIES = ("column_major", "compose")
CASE_STUDIES = Path(__file__).parents[4] / "case_studies"


@pytest.fixture(scope="module")
def transpositions() -> SketchFamily[Sketch]:
    (sketch,) = load(CASE_STUDIES / "transpose_steps.py")
    family = family_of(sketch)
    assert family is not None
    return family


@pytest.mark.parametrize(
    ("m", "n"), [(6, 4), (4, 6), (8, 12), (12, 8), (9, 6), (12, 18), (5, 7), (8, 8), (16, 4), (1, 6)]
)
def test_transpositions_of_all_sorts(transpositions: SketchFamily[Sketch], m: int, n: int) -> None:
    """A row of the paper's table 3 each, and those that Spaces 1 to 3 do not have."""
    result = solve(transpositions.at({"m": m, "n": n, "grid": 1}), Limits(space="4", families=FAMILIES))
    assert result.status == "sat"
    assert result.space == "4"


def test_which_cells_may_hold_a_term(transpositions: SketchFamily[Sketch]) -> None:
    """Cells that may hold the same share a row; each has just the terms that the machine says."""
    sketch = transpositions.at({"m": 6, "n": 4, "grid": 1})
    problem = Problem.of(sketch.program, sketch.spec)
    chains = Chains(problem)
    chains.ways(np.arange(chains.count), {2: np.zeros(len(problem.points[2]), np.int64)})
    terms = np.arange(len(problem.terms.nodes))
    shared = [(seen, some) for seen, some in chains._holders.items() if some is not None and some.pairs is not None]
    assert shared
    for seen, holders in shared:
        for cell in range(-1, len(seen.data)):
            may = problem.run.memories["columns"].cell_possible(seen, cell) if cell >= 0 else frozenset[int]()
            assert may is not None and set(terms[holders.may(np.array(cell), terms)].tolist()) == may - {UNWRITTEN}


def test_what_a_sieve_leaves_out(transpositions: SketchFamily[Sketch]) -> None:
    """A function goes if an output has no way with it, or if the only ways of two outputs contradict each other."""
    sketch = transpositions.at({"m": 6, "n": 4, "grid": 1})
    problem = Problem.of(sketch.program, sketch.spec)
    chains, outputs = Chains(problem), np.arange(0, 24, 2)
    template, points = problem.templates("3")[2], problem.points[2].table
    choices = list(itertools.islice(template.lightest(), 200))
    left = _Sieve(chains.ways(outputs, {}), 2).lets(template, choices, points)
    for choice, there in zip(choices, left.tolist(), strict=True):
        values = np.array([template.apply(choice, point) for point in points.tolist()])
        ways = chains.ways(outputs, {2: values})
        alone = [way for way, output in enumerate(ways.output) if (ways.output == output).sum() == 1]
        given = {
            (hole, points[way], values[way]) for (hole, _), (points, values) in ways.asked.items() for way in alone
        }
        agree = len({(hole, point) for hole, point, _ in given}) == len(given)
        assert there == (set(ways.output) == set(outputs) and agree), choice
    assert set(left.tolist()) == {True, False}


@pytest.mark.slow
def test_all_transpositions_up_to_24(transpositions: SketchFamily[Sketch]) -> None:
    """The paper's section 8, of which `bench/transposes.py` does all sizes up to 64."""
    for m in range(1, 25):
        for n in range(1, 25):
            result = solve(transpositions.at({"m": m, "n": n, "grid": 1}), Limits(space="4", families=FAMILIES))
            assert result.status == "sat", (m, n)


def test_structures_that_the_paper_cannot_transpose() -> None:
    """Six words, in registers: a shuffle, and register arrays at dynamic indices on both sides."""
    (sketch,) = load(CASE_STUDIES / "aos_store.py", "crc", {"struct_size": 6})
    result = solve(sketch, Limits(space="4", families=FAMILIES))
    assert result.best is not None
    assert [hole.formula for hole in result.best.holes][1:] == [
        "(6 * lane + (lane // 16 - r) % 6) % 32",
        "(lane // 16 - r) % 6",
    ]


def test_a_store_by_a_hole_is_left_to_others() -> None:
    """What is written where must not depend on holes; then nothing is claimed, and the other engines go on."""
    (sketch,) = load(CASE_STUDIES / "aos_store.py", "rcr", {"struct_size": 3, "warp_size": 8, "grid": 1})
    assert solve(sketch, Limits(space="4", families=("column_major",))).status == "sat"


def test_families_of_ours_that_need_not_be_asked_for() -> None:
    with pytest.raises(SwizzleError, match="the family 'xor' is Swizzle's own"):
        solve(load(CASE_STUDIES / "transpose_steps.py")[0], families="xor")
    with pytest.raises(SwizzleError, match="one of column_major, compose"):
        solve(load(CASE_STUDIES / "transpose_steps.py")[0], families="column_mayor")


def test_nothing_is_claimed_of_families_that_cannot_be_searched() -> None:
    """Without a filling the answer is undecided, as it is where only a hole that may be such a function is left."""
    (sketch,) = load(CASE_STUDIES / "aos_store.py", "rcr", {"struct_size": 6, "warp_size": 4, "grid": 1})
    assert solve(sketch).status == "unsat"
    result = solve(sketch, families=FAMILIES)
    assert result.status == "unknown"
    assert result.reason == "of column_major and compose, only functions that the outputs tell were looked at"


def test_a_cost_that_is_counted_is_not_proved() -> None:
    """One filling is counted; there are more, of which nothing is known."""
    (sketch,) = load(CASE_STUDIES / "aos_store.py", "crc", {"struct_size": 6, "warp_size": 4, "grid": 1})
    result = solve(sketch, Limits(space="4", families=FAMILIES), cost="shuffles")
    assert (result.status, result.optimal) == ("sat", False)
    assert result.reason == "one filling was counted: there are too many for all"
