"""Solutions are verified as they are printed: what the search ran already is compared, everything else runs."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from swizzle import solve
from swizzle.commands.report import as_text
from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import Many, Values
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.readback import Reading
from swizzle.solving.search.tables import Tables
from tests.sketches import kernel
from tests.test_case_studies import CASES


@pytest.fixture(scope="module")
def found() -> tuple[Sketch, Problem, list[Candidate]]:
    """All solutions of a small sketch."""
    sketch = load(str(CASES / "aos_store.py"), "rcr", {"warp_size": 4, "struct_size": 3})[0]
    problem = Problem.of(sketch.program, sketch.spec)
    with Tables(problem, None, lambda _: None) as tables:
        return sketch, problem, list(tables.candidates("3"))


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many fillings each run of many had."""
    counts: list[int] = []
    costs = Many.costs

    def counting(self: Many, fillings: list[Values], of_copies: Any) -> list[int | None]:
        counts.append(len(fillings))
        return costs(self, fillings, of_copies)

    monkeypatch.setattr(Many, "costs", counting)
    return counts


def read(sketch: Sketch, problem: Problem, candidates: list[Candidate]) -> int:
    return sum(len(some) for some, _ in Reading(sketch, problem, None).solutions(candidates))


def test_what_the_search_ran_does_not_run_again(found: tuple[Sketch, Problem, list[Candidate]], ran: list[int]) -> None:
    """Nor does it need to: the printed formulas say at every point what the search ran."""
    _, _, candidates = found
    assert len(candidates) > 3 and read(*found) == len(candidates)
    assert sum(ran) == 0


def test_what_the_search_did_not_run_runs(found: tuple[Sketch, Problem, list[Candidate]], ran: list[int]) -> None:
    """A candidate without values, and one whose values are not those of its formulas."""
    sketch, problem, candidates = found
    *others, last_but_one, last = candidates
    assert last.values is not None
    other = replace(last, values=tuple(np.full_like(some, -1) for some in last.values))
    assert read(sketch, problem, [*others, replace(last_but_one, values=None), other]) == len(candidates)
    assert sum(ran) == 2


def test_a_formula_that_is_not_the_function_is_caught(
    found: tuple[Sketch, Problem, list[Candidate]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the printer of formulas had a mistake, the solution would not be given out."""

    def wrong(*_: Any) -> int:
        return 0

    monkeypatch.setattr("swizzle.solving.search.readback.values_of", wrong)
    with pytest.raises(AssertionError, match="a solution fails its own verification"):
        read(*found)


def test_points_that_a_solution_does_not_ask_are_free() -> None:
    """Where a condition keeps a hole from being asked, its formula need not be what the search happened to choose."""
    text = "i = cuda.laneid\ny[i] = x[?sw_xform(i, 8)] if ?sw_cond(i) else x[i]"
    posed = kernel(text, spec="[x[7] if i == 0 else x[i] for i in range(8)]", block=8, grid=1, warp_size=8)
    problem = Problem.of(posed.program, posed.spec)
    with Tables(problem, None, lambda _: None) as tables:
        candidate = next(tables.candidates("3"))
    ((solution,), _) = next(Reading(posed, problem, None).solutions([candidate]))
    assert [hole.formula for hole in solution.holes] == ["7", "i <= 0"]


def test_holes_that_decide_nothing_are_named() -> None:
    """One that is never asked, and one whose value nobody reads."""
    body = """
    i = cuda.laneid
    unused = ?sw_xform(i, 8)
    if i >= 8:
        y[?sw_xform(i, 8)] = x[0]
    y[i] = x[?sw_xform(i, 8)]
    """
    found = solve(kernel(dedent(body), spec="[x[7 - i] for i in range(8)]", block=8, warp_size=8))
    assert found.certificate["unused"] == ["xform1", "xform2"]
    assert "  unused  xform1, xform2: no output depends on it\n" in as_text(found, [])
