"""A layout apart from the other holes. What a tile's cells are called hardly matters to where rows and results go, so
these are found first, in the simplest layout. Then all others stay as they are, and the layout's functions are looked
at from light to heavy. What is found so is right; where nothing can beat it, no search of all holes together is needed.
"""

from __future__ import annotations

from msgspec.structs import replace

from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search import lightest
from swizzle.solving.search.readback import Chosen, Reading
from swizzle.solving.search.state import SearchState
from symbolic.ir.program import Expr, Program
from templates.chooser import Choice
from templates.formula import fill_some, plain
from templates.holes import Space

COUNTED = 64  # light functions of a layout whose costs are counted


def with_light_layouts(state: SearchState, space: Space) -> tuple[Program, dict[int, Choice]] | None:
    """Return the program with the lightest function of each hole that names its families, and these functions; None
    where no such hole is asked at points that others decide."""
    assert state.problem is not None
    problem, chosen, formulas = state.problem, dict[int, Choice](), dict[int, Expr]()
    templates = problem.templates(space)
    for number, hole in enumerate(problem.program.holes):
        if hole.families and (choice := next(iter(templates[number].lightest()), None)) is not None:
            chosen[number], formulas[number] = choice, plain(hole, templates[number], choice)
    if not problem.nested or not chosen or len(chosen) == len(templates) or not state.limits.canonical:
        return None
    return fill_some(state.sketch.program, formulas), chosen


def put_together(
    state: SearchState, space: Space, layouts: dict[int, Choice], others: Candidate, reading: Reading
) -> Candidate:
    """Return the filling of all holes that is made of those of layouts and of the others, which `reading` has read."""
    assert state.problem is not None and state.reading is not None
    rest, holes, templates = iter(reading.chosen(others)), state.problem.program.holes, state.problem.templates(space)
    chosen = [
        Chosen(templates[number], layouts[number], plain(hole, templates[number], layouts[number]))
        if number in layouts
        else next(rest)
        for number, hole in enumerate(holes)
    ]
    found = Candidate(space, tuple(each.choice for each in chosen), others.cost)
    state.reading.know(found, chosen)
    return found


def improved_by_layouts(state: SearchState) -> bool:
    """Look at the functions of each layout; say whether a filling is found that no other can beat."""
    assert state.problem is not None and state.reading is not None and state.ranking is not None
    problem, holes = state.problem, state.problem.program.holes
    if len(holes) == 1 or state.best is None or not state.limits.canonical or state.limits.all_solutions:
        return False
    for number in (number for number, hole in enumerate(holes) if hole.families):
        best, space = state.best, state.best.space
        chosen = state.reading.chosen(best)
        others = {place: each.formula for place, each in enumerate(chosen) if place != number}
        sketch = replace(state.sketch, program=fill_some(state.sketch.program, others))
        alone = Problem.of(sketch.program, sketch.spec, problem.meaning, problem.naive, problem.families)
        reading, least = Reading(sketch, alone, None, state.goal), None
        found = lightest.candidates(alone, space, state.goal.lowered, problem.templates(space)[number])
        for count, candidate in enumerate(found):
            costs = (candidate.cost, *reading.counted(candidate))
            if least is None or costs < least:
                whole = [*chosen[:number], *reading.chosen(candidate), *chosen[number + 1 :]]
                least, state.best = costs, Candidate(space, tuple(each.choice for each in whole), candidate.cost)
                state.reading.know(state.best, whole, costs[1:])
            if state.is_settled() or count >= COUNTED:
                break
    return state.is_settled()
