"""Transpositions at many sizes in one sweep: what holes became at some is tried first at others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.sweeps import SizeSweep, sweeping
from swizzle import Limits, load, solve
from swizzle.language.specs.verify import verify
from swizzle.sketches.loading import family_of
from swizzle.sketches.sketch import Sketch, SketchFamily
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.chain_search import _Sieve
from swizzle.solving.search.chains import Ways
from symbolic.ir.program import Expr
from templates.chooser import Choice
from templates.shortest import Shortest
from templates.template import Points, ValuesThere
from templates.xform import Xform

FAMILIES = ("column_major", "compose")
CASE_STUDIES = Path(__file__).parents[1] / "case_studies"


@pytest.fixture(scope="module")
def transpositions() -> SketchFamily[Sketch]:
    (sketch,) = load(CASE_STUDIES / "transpose_steps.py")
    family = family_of(sketch)
    assert family is not None
    return family


def test_a_sweep_tries_first_what_was_right_at_other_sizes(
    transpositions: SketchFamily[Sketch], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Constants that follow the sizes are guessed, and nothing else is tried; a wrong guess takes no answer away."""
    sieves, made = list[tuple[int, int]](), _Sieve.__init__

    def counted(self: _Sieve, ways: Ways, hole: int) -> None:
        sieves.append(size)
        made(self, ways, hole)

    searched, of = list[tuple[int, int]](), Shortest.of

    def shortest(self: Shortest, own: Expr, values: Sequence[int | None]) -> Expr:
        searched.append(size)
        return of(self, own, values)

    monkeypatch.setattr(_Sieve, "__init__", counted)
    monkeypatch.setattr(Shortest, "of", shortest)
    with sweeping() as around:
        for size in ((6, 4), (9, 6), (10, 4), (15, 6)):
            sketch = transpositions.at({"m": size[0], "n": size[1], "grid": 1})
            result = solve(sketch, Limits(space="4", families=FAMILIES))
            assert result.status == "sat"
            assert result.best is not None
            assert verify(result.best.program, sketch.spec).equal
        assert set(sieves) <= {(6, 4), (9, 6)}  # two sizes say what constants are made of
        assert searched.count((6, 4)) == 3 > searched.count((15, 6))
        around.learn(sketch.program.holes, 2, {"gs": 15, "c_f": 1, "d_f": 15, "wrap": 0, "c_r": 0, "d_r": 0, "c": 0})
        size = (21, 6)
        sketch = transpositions.at({"m": 21, "n": 6, "grid": 1})
        assert solve(sketch, Limits(space="4", families=FAMILIES)).status == "sat"


def test_what_a_hole_was_recognised_as_is_compared_first(
    transpositions: SketchFamily[Sketch], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a rule says at other sizes is taken where it has the values, and no template is asked; else it is."""
    asked, sweep = list[int](), SizeSweep()
    for m, by in ((5, 1), (7, 1), (9, 1), (11, 3)):
        problem = Problem.of((sketch := transpositions.at({"m": m, "n": 8, "grid": 1})).program, sketch.spec)
        template, points = problem.templates("3")[0], problem.points[0].table
        assert isinstance(template, Xform)

        def recognised(points: Points, values: ValuesThere, m: int = m, made: Xform = template) -> Choice | None:
            asked.append(m)
            return Xform.recognised(made, points, values)

        monkeypatch.setattr(template, "recognised", recognised)
        i, k = points.T
        values = (i + by * k + m - 1) % m
        values[3] = -1  # free
        found = sweep.recognised(sketch.program.holes, 0, template, points, values)
        assert found is not None
        assert (np.delete(template.apply(found, (i, k)) - values, 3) == 0).all()
    assert asked == [5, 11]


def test_a_sweep_over_sketches_with_other_holes(tmp_path: Path) -> None:
    """What the second hole of one sketch became says nothing of one that has one hole."""
    text = (CASE_STUDIES / "transpose_steps.py").read_text()
    two = text.replace("sw_xform(j, N, i)", "j").replace("[flat[i::M] for i in range(M)]", "[list(r) for r in x]")
    one = two.replace(" + sw_xform(i, M, j), j]", " + i, j]")
    with sweeping():
        for name, each in (("two", two), ("one", one)):
            (tmp_path / f"{name}.py").write_text(each)
            (sketch,) = load(tmp_path / f"{name}.py")
            family = family_of(sketch)
            assert family is not None
            result = solve(family.at({"m": 6, "n": 4, "grid": 1}), Limits(space="4", families=FAMILIES))
            assert result.status == "sat"
