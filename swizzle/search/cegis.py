"""One space, one question: is there a filling of the holes, of at most this cost?

Counterexamples are output elements (`swizzle.search.shown`): the solver sees what is required of a few threads, a
candidate is run for all threads. Two to five threads are usually enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from swizzle.search.problem import Problem, live_accumulates
from swizzle.search.shown import Shown
from symbolic.answer import Unknown
from symbolic.engines import SolverName
from symbolic.guard import FALSE, Guard, Guards
from symbolic.guard_solver import GuardSolver
from symbolic.run import Run
from symbolic.union import Union
from symbolic.vector import guard_at
from symbolic.verdict import Chosen, Excluded
from templates.chooser import Choice, Open
from templates.holes import Point, Space, matching

MATCHING_LIMIT = 20_000_000  # choices that are compared with a function one by one


@dataclass(frozen=True, slots=True)
class Candidate:
    """A verified filling: one choice per hole, of a space's templates, and how many accumulate statements stay."""

    space: Space
    choices: tuple[Choice, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class NoFilling:
    """There is no filling of that cost."""


@dataclass(slots=True)
class Stats:
    """What a search did."""

    queries: int = 0
    counterexamples: int = 0
    seconds_solving: float = 0.0
    seconds_checking: float = 0.0


class Cegis:
    """The search in one space, kept between questions; a context manager, as it holds a solver."""

    def __init__(
        self,
        problem: Problem,
        space: Space,
        solver: SolverName,
        deadline: float | None,
        news: Callable[[str], None],
        *,
        light: bool = False,
    ) -> None:
        """`light` looks at the part of the space that `Template.light` keeps."""
        self.problem, self.space, self.deadline, self.news = problem, space, deadline, news
        self.guards = Guards(deadline)
        whole = problem.templates(space)
        self.templates = [t.light() for t in whole] if light else whole
        self.open = [Open[Union](self.guards, t.components) for t in self.templates]
        self.stats = Stats()
        self.solver = GuardSolver(self.guards, solver)
        self._points: dict[tuple[int, Point], Union] = {}
        self._dead = {statement: self.guards.fresh() for statement in problem.accumulates()}
        self._noted = 0
        live = [-g for g in self._dead.values()]
        self._at_least = self.guards.counter(live, len(live)) if live else []
        self.shown = Shown(problem, self.guards, self._hole, problem.first_demands())
        self._note_active()

    def __enter__(self) -> Cegis:
        return self

    def __exit__(self, *exc: object) -> None:
        self.solver.close()

    def find(self, at_most: int | None = None) -> Candidate | NoFilling | Unknown:
        """Find a filling that keeps at most this many accumulate statements, or say that none exists."""
        limit: Guard | None = None
        if at_most is not None and at_most < len(self._at_least):
            limit = -self._at_least[at_most]
        assumptions = [limit] if limit is not None else []
        while True:
            started = time.monotonic()
            left = None if self.deadline is None else self.deadline - started
            if left is not None and left <= 0:
                return Unknown("out of time")
            answer = self.solver.check(assumptions, timeout=left)
            self.stats.queries += 1
            self.stats.seconds_solving += time.monotonic() - started
            if not isinstance(answer, Chosen):
                return NoFilling() if isinstance(answer, Excluded) else answer
            started = time.monotonic()
            choices = tuple(o.chosen(answer.holds) for o in self.open)
            run, wrong = self.problem.candidate(self.templates, choices)
            refuted = self.shown.refute(run, [(m.array, m.address) for m in wrong])
            self._note_active()
            cost = len(live_accumulates(run))
            if not refuted and at_most is not None and cost > at_most:
                refuted = self._refute_cost(run, answer.holds)
            self.stats.seconds_checking += time.monotonic() - started
            if not refuted:
                return Candidate(self.space, choices, cost)
            self.stats.counterexamples += 1
            self.news("looking for a filling")

    def forbid(self, candidate: Candidate) -> None:
        """Rule out all that run like a candidate: some hole must differ at some point at which it is asked."""
        different: list[Guard] = []
        answers = self.problem.answers(self.templates, candidate.choices)
        for number, (made, some) in enumerate(zip(self.templates, answers, strict=True)):
            if not some:
                continue
            points, values = zip(*some, strict=True)
            same = matching(made, points, values) if made.size() <= MATCHING_LIMIT else None
            if same is not None and len(same) <= len(points):
                different.append(-self.open[number].among(same))
            else:
                different += [-self._hole(number, p).is_(v) for p, v in some]
        self.guards.add(different)

    def evidence(self) -> dict[str, int]:
        """Return how much a proof took."""
        return {
            "looked_at": len(self.shown.demands),
            "queries": self.stats.queries,
            "clauses": self.guards.clauses,
        }

    # -- encoding -------------------------------------------------------------------------------------------

    def _hole(self, number: int, point: Point) -> Union:
        found = self._points.get((number, point))
        if found is None:
            found = self._points[number, point] = self.templates[number].at(self.open[number], point)
        return found

    def _note_active(self) -> None:
        """A dead accumulate is active for no thread that was looked at."""
        for entry, _, guard in self.shown.encoding.active[self._noted :]:
            self.guards.add((-self._dead[id(entry.statement)], -guard))
        self._noted = len(self.shown.encoding.active)

    # -- counterexamples ------------------------------------------------------------------------------------

    def _refute_cost(self, run: Run, holds: Callable[[Guard], bool]) -> bool:
        """A statement that the solver called dead runs for a thread it was not shown: show it."""
        entries = self.problem.accumulates()
        for entry in run.accumulated:
            statement = id(entry.statement)
            if not holds(self._dead[statement]) or not isinstance(entry.mask, np.ndarray) or not entry.mask.any():
                continue
            thread = int(np.flatnonzero(entry.mask)[0])
            for twin in entries[statement]:
                guard = guard_at(twin.mask, self.shown.encoding, thread)
                if guard != FALSE:
                    self.guards.add((-self._dead[statement], -guard))
            return True
        raise AssertionError("a candidate costs more than the solver was told, for no reason found")
