"""Read what a search found: find the simplest formulas, and verify them as they are printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from swizzle.costs.cost import Filled, counted
from swizzle.costs.goal import DEFAULT, Goal
from swizzle.problem.candidate import Candidate
from swizzle.problem.many import Many, Values
from swizzle.problem.problem import Problem
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.sketch import Sketch
from swizzle.solution.filling import completed
from swizzle.solution.solution import Solution
from swizzle.specs.specification import Meaning
from swizzle.specs.verify import run_canonical, verify
from symbolic.ir.program import Program
from symbolic.solve.engines import SolverName
from templates.chooser import Choice
from templates.formula import fill, formula, printed_values
from templates.functions import Simplest
from templates.holes import Point, Space
from templates.template import Template

Chosen = tuple[Template, Choice]
TOGETHER = 64  # solutions that are verified in one run


class Reading:
    """Makes solutions from candidates."""

    def __init__(self, sketch: Sketch, problem: Problem, solver: SolverName | None, goal: Goal = DEFAULT) -> None:
        """`solver` decides whether data is equal; if it is None, canonical terms do."""
        self.sketch, self.problem, self.solver, self.goal = sketch, problem, solver, goal
        self._counted: dict[Candidate, tuple[int, ...]] = {}
        self._templates: dict[Space, list[Template]] = {}
        self._many = Many(problem)
        self._simplest_of: dict[Template, Simplest] = {}

    def solutions(self, candidates: Sequence[Candidate]) -> Iterator[tuple[Sequence[Solution], Mapping[str, Any]]]:
        """Yield candidates as solutions, first one and then several at once, and what was verified of them."""
        for first in (0, *range(1, len(candidates), TOGETHER)):
            some = candidates[first : first + TOGETHER] if first else candidates[:1]
            chosen = [self._chosen(candidate) for candidate in some]
            solutions = [self._solution(c, functions) for c, functions in zip(some, chosen, strict=True)]
            yield solutions, self._verify(some, solutions, chosen)

    def counted(self, candidate: Candidate) -> tuple[int, ...]:
        """Return the costs that are counted, on the kernel with the simplest formulas."""
        if not self.goal.counted:
            return ()
        if candidate not in self._counted:
            chosen = self._chosen(candidate)
            self._count(candidate, fill(self.sketch.program, [t for t, _ in chosen], [c for _, c in chosen]))
        return self._counted[candidate]

    def _count(self, candidate: Candidate, program: Program) -> tuple[int, ...]:
        """Count the costs of a candidate, whose program is known, once."""
        if candidate not in self._counted:
            filled = Filled(program, lambda whole: run_canonical(whole, self.problem.terms))
            self._counted[candidate] = tuple(counted(cost, filled) for cost in self.goal.counted)
        return self._counted[candidate]

    def _chosen(self, candidate: Candidate) -> list[Chosen]:
        """Return, of each of a candidate's functions, the template and the choice with the simplest formula."""
        if candidate.space not in self._templates:
            self._templates[candidate.space] = self.problem.templates(candidate.space)
        templates, choices = self._templates[candidate.space], candidate.choices
        if candidate.values is None or self.problem.branches:  # else no point is free
            answers = self.problem.answers(templates, choices)
            choices = tuple(
                self._simplest(some, points, dict(answered)) if points else choice
                for some, choice, points, answered in zip(templates, choices, self.problem.points, answers, strict=True)
            )
        return list(zip(templates, choices, strict=True))

    def _simplest(self, template: Template, points: Sequence[Point], answers: Mapping[Point, Any]) -> Choice:
        """Return the choice with the simplest formula that gives a hole's answers; at other points it is free."""
        if template not in self._simplest_of:
            self._simplest_of[template] = Simplest(template, points)
        found = self._simplest_of[template].of([answers.get(point) for point in points])
        assert found is not None, "a chosen function is not in its own space"
        return found

    def _solution(self, candidate: Candidate, chosen: Sequence[Chosen]) -> Solution:
        program = self.sketch.program
        holes = tuple(
            HoleFormula(h.name, h.kind, h.place, formula(h, t, c), t.constants(c))
            for h, (t, c) in zip(program.holes, chosen, strict=True)
        )
        whole = fill(program, [t for t, _ in chosen], [c for _, c in chosen])
        cost = self.goal.by_name((candidate.cost, *self._count(candidate, whole)))
        return completed(Solution(whole, holes, cost, program, self.sketch), self.sketch)

    # -- verification ---------------------------------------------------------------------------------------

    def _verify(
        self, candidates: Sequence[Candidate], solutions: Sequence[Solution], chosen: Sequence[Sequence[Chosen]]
    ) -> Mapping[str, Any]:
        """Compare every printed solution with the specification, on all outputs.

        The first of them runs as the program that is printed, the others as the sketch whose holes give what their
        formulas do. What the search ran with the same answers of its holes need not run again.
        """
        problem = self.problem
        verdict = verify(solutions[0].program, self.sketch.spec, Meaning(problem.terms, problem.wanted))
        if self.solver is None:
            printed = [self._as_printed(some) for some in chosen]
            new = [
                number
                for number, (candidate, now) in enumerate(zip(candidates, printed, strict=True))
                if number and not (candidate.values is not None and all(map(np.array_equal, candidate.values, now)))
            ]
            costs = self._many.costs([printed[number] for number in new], self.goal.lowered.of_copies)
            equal = verdict.equal and costs == [candidates[number].cost for number in new]
        else:
            equal = all(self._equal_by_solver(solution) for solution in solutions)
        assert equal, f"a solution fails its own verification: {verdict}"
        return {
            "claim": "equal to the specification for all inputs",
            "outputs": verdict.elements,
            "blocks": verdict.blocks,
            "how": f"formulas, by {self.solver}" if self.solver else "the concrete machine over canonical terms",
        }

    def _as_printed(self, chosen: Sequence[Chosen]) -> Values:
        """Return what the printed formulas give."""
        return self._many.values(lambda number, arguments: printed_values(*chosen[number], arguments))

    def _equal_by_solver(self, solution: Solution) -> bool:
        from swizzle.audit.paper.uncanonical import difference

        assert self.solver is not None
        return difference(Problem.of(solution.program, self.sketch.spec), self.solver, None) is None
