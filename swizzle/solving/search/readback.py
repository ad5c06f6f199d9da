"""Read what a search found: find the simplest formulas, and verify them as they are printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from swizzle.language.specs.verify import Verification, run_canonical, verdict, verify
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.sketch import Sketch
from swizzle.solving.costs.cost import Filled, counted
from swizzle.solving.costs.goal import DEFAULT, Goal
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.many import Many, Values
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.sweep import sweep_around
from swizzle.solving.solution.filling import completed
from swizzle.solving.solution.solution import Solution
from symbolic.ir.program import Expr, Program
from symbolic.solve.engines import SolverName
from symbolic.values.vector import Lanes
from templates.chooser import Choice, Simplest
from templates.formula import fill, formula_text, length_of, plain, values_of
from templates.holes import Point, Space, kind_of
from templates.shortest import Shortest
from templates.template import Template

TOGETHER = 64  # solutions that are verified in one run


class Chosen(NamedTuple):
    """A function of a hole, and the formula by which it is printed."""

    template: Template
    choice: Choice
    formula: Expr


class Reading:
    """Makes solutions from candidates."""

    def __init__(self, sketch: Sketch, problem: Problem, solver: SolverName | None, goal: Goal = DEFAULT) -> None:
        """`solver` decides whether data is equal; if it is None, canonical terms do."""
        self.sketch, self.problem, self.solver, self.goal = sketch, problem, solver, goal
        self._read: dict[Candidate, list[Chosen]] = {}
        self._counted: dict[Candidate, tuple[int, ...]] = {}
        self._templates: dict[Space, list[Template]] = {}
        self.hurried = False  # a limit is reached: formulas are what the constants say, not the shortest
        self._judged: dict[Candidate, tuple[Program, Verification]] = {}
        self._simplest_of: dict[Template, Simplest] = {}
        self._shortest: dict[tuple[int, tuple[str, ...], Sequence[Point]], Shortest] = {}

    def solutions(self, candidates: Sequence[Candidate]) -> Iterator[tuple[Sequence[Solution], Mapping[str, Any]]]:
        """Yield candidates as solutions, first one and then several at once, and what was verified of them."""
        for first in (0, *range(1, len(candidates), TOGETHER)):
            some = candidates[first : first + TOGETHER] if first else candidates[:1]
            chosen = [self.chosen(candidate) for candidate in some]
            solutions = [self._solution(c, functions) for c, functions in zip(some, chosen, strict=True)]
            yield solutions, self._verify(some, solutions, chosen)

    @cached_property
    def _many(self) -> Many:
        return Many(self.problem)

    def judged(self, candidate: Candidate) -> Candidate | None:
        """Return a candidate with its cost, as it is printed; None if that is not right for all inputs."""
        chosen = self.chosen(candidate)
        program = fill(self.sketch.program, [each.formula for each in chosen])
        run = run_canonical(program, self.problem.terms)
        found = verdict(program, run, self.problem.meaning)
        if not found.equal:
            return None
        (cost,) = self.goal.lowered.of_copies(run, 1)
        right = replace(candidate, cost=cost)
        self._read[right], self._judged[right] = chosen, (program, found)
        return right

    def counted(self, candidate: Candidate) -> tuple[int, ...]:
        """Return the costs that are counted, on the kernel with the simplest formulas."""
        if not self.goal.counted:
            return ()
        if candidate not in self._counted:
            chosen = self.chosen(candidate)
            self._count(candidate, fill(self.sketch.program, [each.formula for each in chosen]), chosen)
        return self._counted[candidate]

    def _count(self, candidate: Candidate, program: Program, chosen: Sequence[Chosen]) -> tuple[int, ...]:
        """Count the costs of a candidate, whose program and formulas are known, once."""
        if candidate not in self._counted:
            formulas = [each.formula for each in chosen]
            filled = Filled(program, formulas, lambda whole: run_canonical(whole, self.problem.terms))
            self._counted[candidate] = tuple(counted(cost, filled) for cost in self.goal.counted)
        return self._counted[candidate]

    def formulas(self, candidate: Candidate) -> list[Expr]:
        """Return the formulas by which a candidate's functions are printed."""
        return [each.formula for each in self.chosen(candidate)]

    def length(self, candidate: Candidate) -> int:
        """Return how many terms a candidate's formulas have together."""
        return sum(map(length_of, self.formulas(candidate)))

    def know(self, candidate: Candidate, chosen: list[Chosen], costs: tuple[int, ...] | None = None) -> None:
        """Take what was read of a candidate elsewhere, and counted."""
        self._read[candidate] = chosen
        if costs is not None:
            self._counted[candidate] = costs

    def choice_of(self, space: Space, number: int, values: Sequence[Any]) -> Choice | None:
        """Return the simplest choice in a space that has these values at a hole's points, if there is one."""
        return self._simplest_in(self._templates_of(space)[number], self.problem.points[number]).of(values)

    def chosen(self, candidate: Candidate) -> list[Chosen]:
        """Return, of each of a candidate's functions, the template, the simplest choice and the shortest formula."""
        if candidate not in self._read:
            self._read[candidate] = self._newly_chosen(candidate)
        return self._read[candidate]

    def _newly_chosen(self, candidate: Candidate) -> list[Chosen]:
        templates, choices = self._templates_of(candidate.space), candidate.choices
        if candidate.values is not None and not self.problem.branches:  # then no point is free
            values: Sequence[Sequence[Any] | Lanes] = candidate.values
        else:
            answers = [dict(some) for some in self.problem.answers(templates, choices)]
            said = [[a.get(p) for p in some] for a, some in zip(answers, self.problem.points, strict=True)]
            choices = tuple(
                self._simplest(some, points, wanted) if points and not self.hurried else choice
                for some, choice, points, wanted in zip(templates, choices, self.problem.points, said, strict=True)
            )
            values = said
        return [
            Chosen(made, choice, self._formula(number, made, choice, wanted))
            for number, (made, choice, wanted) in enumerate(zip(templates, choices, values, strict=True))
        ]

    def _formula(self, number: int, template: Template, choice: Choice, values: Sequence[Any] | Lanes) -> Expr:
        """Return the shortest formula of a function, which has these values at a hole's points; None is free."""
        hole, points = self.problem.program.holes[number], self.problem.points[number]
        own = plain(hole, template, choice)
        if not kind_of(hole).moves or self.problem.naive or not points or self.hurried:
            return own
        asked = hole.size, hole.arguments, points
        if asked not in self._shortest:
            self._shortest[asked] = Shortest(*asked)
        sweep = sweep_around()
        if sweep is not None and isinstance(values, np.ndarray):
            return sweep.formula(self.problem.program.holes, number, self._shortest[asked], own, values)
        return self._shortest[asked].of(own, values)

    def _simplest(self, template: Template, points: Sequence[Point], values: Sequence[Any]) -> Choice:
        """Return the choice with the simplest formula that has these values at a hole's points; None is free."""
        found = self._simplest_in(template, points).of(values)
        assert found is not None, "a chosen function is not in its own space"
        return found

    def _simplest_in(self, template: Template, points: Sequence[Point]) -> Simplest:
        if template not in self._simplest_of:
            self._simplest_of[template] = Simplest(template, points)
        return self._simplest_of[template]

    def _templates_of(self, space: Space) -> list[Template]:
        if space not in self._templates:
            self._templates[space] = self.problem.templates(space)
        return self._templates[space]

    def _solution(self, candidate: Candidate, chosen: Sequence[Chosen]) -> Solution:
        program = self.sketch.program
        holes = tuple(
            HoleFormula(h.name, h.kind, h.place, formula_text(h, each.formula), each.template.constants(each.choice))
            for h, each in zip(program.holes, chosen, strict=True)
        )
        whole, _ = self._judged.get(candidate) or (fill(program, [each.formula for each in chosen]), None)
        cost = self.goal.by_name((candidate.cost, *self._count(candidate, whole, chosen)))
        return completed(Solution(whole, holes, cost, program, self.sketch), self.sketch)

    # -- verification ---------------------------------------------------------------------------------------

    def _verify(
        self, candidates: Sequence[Candidate], solutions: Sequence[Solution], chosen: Sequence[Sequence[Chosen]]
    ) -> Mapping[str, Any]:
        """Compare every printed solution with the specification, on all outputs.

        The first of them runs as the program that is printed, the others as the sketch whose holes give what their
        formulas do. What the search ran with the same answers of its holes need not run again.
        """
        whole, judged = solutions[0].program, self._judged.get(candidates[0])
        if judged is not None and judged[0] is whole:
            found = judged[1]
        else:
            found = verify(whole, self.sketch.spec, self.problem.meaning)
        if self.solver is None:
            others = [
                (candidate, self._as_printed(some)) for candidate, some in zip(candidates[1:], chosen[1:], strict=True)
            ]
            new = [
                (candidate, now)
                for candidate, now in others
                if not (candidate.values is not None and all(map(np.array_equal, candidate.values, now)))
            ]
            costs = self._many.costs([now for _, now in new], self.goal.lowered.of_copies) if new else []
            equal = found.equal and costs == [candidate.cost for candidate, _ in new]
        else:
            equal = all(self._equal_by_solver(solution) for solution in solutions)
        assert equal, f"a solution fails its own verification: {found}"
        return {
            "claim": "equal to the specification for all inputs",
            "outputs": found.elements,
            "blocks": found.blocks,
            "how": f"formulas, by {self.solver}" if self.solver else "the concrete machine over canonical terms",
        }

    def _as_printed(self, chosen: Sequence[Chosen]) -> Values:
        """Return what the printed formulas give."""
        return self._many.values(lambda number, arguments: values_of(chosen[number].formula, arguments))

    def _equal_by_solver(self, solution: Solution) -> bool:
        from swizzle.solving.audit.paper.uncanonical import difference

        assert self.solver is not None
        return difference(Problem.of(solution.program, self.sketch.spec), self.solver, None) is None
