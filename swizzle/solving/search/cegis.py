"""One space, one question: is there a filling of the holes, of at most this cost?

Counterexamples are output elements (`solving.problem.demands`). The solver sees what is required of a few threads, and
a candidate is run for all threads. Two to five threads are usually enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from swizzle.solving.costs.accumulates import ACCUMULATES
from swizzle.solving.costs.cost import BoundedCost
from swizzle.solving.problem.candidate import Candidate, NoFilling, Stats
from swizzle.solving.problem.demands import Examples
from swizzle.solving.problem.open_holes import OpenHoles
from swizzle.solving.problem.problem import Problem
from symbolic.solve.answer import Excluded, Possible, Unknown
from symbolic.solve.engines import SolverName
from symbolic.solve.guard_solver import GuardSolver
from symbolic.values.guard import Guard, Guards
from templates.chooser import Choice
from templates.either import Either
from templates.holes import Space
from templates.template import matching

MATCHING_LIMIT = 20_000_000  # choices that are compared with a function one by one


class Cegis:
    """The search in one space, kept between questions; a context manager, because it holds a solver.

    If it knows wider spaces, it can continue there (`widen`) with everything that it has built and learnt.
    """

    def __init__(
        self,
        problem: Problem,
        space: Space,
        solver: SolverName,
        deadline: float | None,
        report: Callable[[str], None],
        *,
        light: bool = False,
        wider: Sequence[Space] = (),
        cost: BoundedCost = ACCUMULATES,
    ) -> None:
        """`light` restricts the search to the light constants of the space; `wider` are those it may continue in."""
        self.problem, self.space, self.deadline, self.report, self.cost = problem, space, deadline, report, cost
        self.guards = Guards()
        self.wider = list(wider)
        whole = problem.templates(space)
        templates = problem.light(space) if light else whole
        later = [problem.templates(each) for each in wider]
        self.holes = OpenHoles(self.guards, problem.program.holes, templates, later)
        self.stats = Stats()
        self.solver = GuardSolver(self.guards, solver, afresh=light)
        self.name: SolverName = solver
        self._bound = cost.bound(problem, self.guards)
        self._waiting = problem.first_demands()
        self.examples = Examples(problem, self.guards, self.holes.at, self._waiting[:1])
        del self._waiting[:1]
        self._bound.look(self.examples.encoding)

    def __enter__(self) -> Cegis:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the solver; may be called more than once."""
        self.solver.close()

    def widen(self) -> None:
        """Continue in the next space."""
        self.space = self.wider.pop(0)
        self.holes.widen()
        self.stats = Stats()
        while self._waiting:
            self._show_waiting()

    def find(self, at_most: int | None = None) -> Candidate | NoFilling | Unknown:
        """Find a filling of at most this cost, or say that none exists."""
        assumptions = self.holes.assumptions
        bound = None if at_most is None else self._bound.at_most(at_most)
        if bound is not None:
            assumptions.append(bound)
        while True:
            left = None if self.deadline is None else self.deadline - time.monotonic()
            if left is not None and left <= 0:
                return Unknown("out of time")
            answer = self.solver.check(assumptions, timeout=left)
            self.stats.queries += 1
            if not isinstance(answer, Possible):
                return NoFilling() if isinstance(answer, Excluded) else answer
            if self._waiting:
                self._show_waiting()
                continue
            choices = self.holes.chosen(answer.holds)
            run, wrong = self.problem.candidate(self.holes.templates, choices)
            refuted = self.examples.refute(run, wrong, partial(self._forbid, choices), near=at_most is None)
            self._bound.look(self.examples.encoding)
            cost = self.cost.of_copies(run, 1)[0]
            if not refuted and at_most is not None and cost > at_most:
                self._bound.refute(run, answer.holds, self.examples.encoding)
                refuted = True
            if not refuted:
                return Candidate(self.space, choices, cost)
            self.stats.counterexamples += 1
            self.report("looking for a filling")

    def forbid(self, candidate: Candidate) -> None:
        self._forbid(candidate.choices)

    def _forbid(self, choices: Sequence[Choice]) -> None:
        """Rule out all that run like a filling: some hole must differ at some point at which it is asked."""
        different: list[Guard] = []
        answers = self.problem.answers(self.holes.templates, choices)
        for number, (made, some) in enumerate(zip(self.holes.templates, answers, strict=True)):
            if not some:
                continue
            points, values = zip(*some, strict=True)
            few = made.size() <= MATCHING_LIMIT and not isinstance(made, Either)  # of which all parts would be combined
            same = matching(made, points, values) if few else None
            if same is not None and len(same) <= len(points):
                different.append(-self.holes.open[number].among(same))
            else:
                different += [-self.holes.at(number, p).is_(v) for p, v in some]
        self.guards.add(different)

    @property
    def narrowed(self) -> bool:
        """Say whether a filling may be right that the search does not look at."""
        return self.examples.encoding.narrowed

    @property
    def unsigned(self) -> bool:
        """Say whether it may be right because a value is an item that is taken off."""
        return self.examples.encoding.unsigned

    def evidence(self) -> dict[str, int]:
        """Return how large a proof was."""
        return {
            "looked_at": len(self.examples.demands),
            "queries": self.stats.queries,
            "clauses": self.guards.clauses,
        }

    # -- encoding -------------------------------------------------------------------------------------------

    def _show_waiting(self) -> None:
        """Look at the next of the first demands; that the ones before it cannot be met is often proved already."""
        self.examples.look_at(self._waiting.pop(0))
        self._bound.look(self.examples.encoding)
