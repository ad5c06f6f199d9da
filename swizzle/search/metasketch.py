"""Search: the spaces from small to large (metasketch order, paper section 5.4), the cost lowered until a proof.

In each space: find a filling, then ask for a cheaper one until none exists. The first space with an answer wins;
`--space all` goes on to Space 3 and proves the optimum there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from swizzle.audit.certificate import Claim, confirm, confirm_equal
from swizzle.costs.floor import floor
from swizzle.problem.candidate import Candidate, NoFilling
from swizzle.problem.problem import Problem
from swizzle.search.cegis import Cegis
from swizzle.search.plan import Plan
from swizzle.search.reading import Reading
from swizzle.search.tables import Tables, TooManyFunctions, TooManyNodes
from swizzle.sketches.sketch import Sketch
from swizzle.solution.filling import solve_filled
from swizzle.solution.solution import Limits, Progress, Result, Solution, SpaceName, Status, TemplateName
from swizzle.specs.specification import Meaning
from symbolic.solve.answer import Unknown
from symbolic.solve.engines import SolverName, quickest_boolean
from symbolic.values.guard import OutOfTime
from templates.holes import SPACES

if TYPE_CHECKING:
    from swizzle.audit.paper.uncanonical import Uncanonical

SpaceSearch: TypeAlias = "Cegis | Uncanonical"
News = Callable[[Progress], None]
NAIVE_DEPTH: Mapping[TemplateName, Literal[0, 1, 2]] = {"paper": 0, "naive-1": 1, "naive-2": 2}
BETWEEN_COUNTS = 0.3  # seconds
NARROWED = "fillings in which contributions to an accumulator cancel are too many to be looked at"


class _Search:
    """One solve job on its way."""

    def __init__(self, sketch: Sketch, limits: Limits, news: News | None, meaning: Meaning | None) -> None:
        self.sketch, self.limits, self.news, self.meaning = sketch, limits, news, meaning
        quickest: SolverName = quickest_boolean() if limits.canonical else "z3"
        self.solver: SolverName = quickest if limits.solver == "auto" else limits.solver
        self.started = time.monotonic()
        self.deadline = None if limits.timeout is None else self.started + limits.timeout
        self.seconds = {"interpret": 0.0, "search": 0.0, "verify": 0.0}
        self.best: Candidate | None = None
        self.all: list[Candidate] = []
        self.claims: list[Claim] = []
        self.floor = 0
        self.left_open: list[SpaceName] = []
        self.reason = ""
        self.narrowed = False  # a space is left that has fillings which were not looked at
        self.told = 0.0
        self.counterexamples = 0
        self.problem: Problem | None = None
        self.tables: Tables | None = None
        self.plan: Plan | None = None
        self.kept: Cegis | None = None  # of the space before, if it can go on in the next one

    def tell(self, space: SpaceName, doing: str) -> None:
        if self.news is not None:
            cost = self.best.cost if self.best else None
            self.news(Progress(space, doing, cost, self.counterexamples, time.monotonic() - self.started))

    def _tell_count(self, space: SpaceName) -> None:
        """Tell how many fillings were found, a few times a second."""
        if time.monotonic() - self.told >= BETWEEN_COUNTS:
            self.told = time.monotonic()
            self.tell(space, f"fillings so far: {len(self.all)}")

    # -- spaces ---------------------------------------------------------------------------------------------

    def run(self) -> Result:
        started = time.monotonic()
        optimal = False
        last: SpaceName = "1"
        try:
            self.tell("1", "interpreting the sketch")
            self.problem = Problem.of(self.sketch.program, self.sketch.spec, self.deadline, self.meaning)
            self.problem.naive = NAIVE_DEPTH[self.limits.template]
            self.floor = floor(self.problem) if self.limits.canonical else 0
            self.seconds["interpret"] = time.monotonic() - started
            started = time.monotonic()
            self.plan = Plan(self.problem, self.limits, self.floor)
            for space in self.plan.spaces:
                last = space
                done = self._search_space(space)
                if self.best is not None and (self.limits.space != "all" or not done):
                    optimal = done
                    break
                if not done:
                    break
                optimal = self.best is not None
        except OutOfTime as stopped:
            self.reason = str(stopped) or f"timeout after {self.limits.timeout:g} s"
            optimal = False
        except KeyboardInterrupt:
            self.reason = "interrupted"
            optimal = False
        finally:
            if self.tables is not None:
                self.tables.close()
            self._keep(None)
        self.seconds["search"] = time.monotonic() - started
        return self._result(last, optimal)

    def _search_space(self, space: SpaceName) -> bool:
        """Search one space, light parts first; return whether its question was answered for certain."""
        assert self.plan is not None
        self.counterexamples = 0
        for part in self.plan.light_parts(space):
            self.tell(space, "light constants: building the space")
            with self._cegis(part, light=True) as light:
                if isinstance(self._lower(light), Unknown):
                    return False
            if self._at_floor():
                return True
        self.tell(space, "building the space")
        if self.best is None and self.plan.suits_tables(space):
            try:
                return self._search_tables(space)
            except TooManyNodes:
                if self.plan.may_stay_open(space):
                    self.left_open.append(space)
                    return True
            except TooManyFunctions:
                pass
        waiting, self.left_open = [*self.left_open, space], []
        for each in waiting:
            if not self._search_by_solver(each):
                return False
            if self.best is not None:
                break
        return True

    def _search_by_solver(self, space: SpaceName) -> bool:
        """Search one space by a solver; return whether its question was answered for certain."""
        with ExitStack() as stack:
            cegis = self._whole(space)
            stack.enter_context(cegis)
            answer = self._lower(cegis)
            if isinstance(answer, Unknown):
                return False
            if isinstance(answer, NoFilling):
                self._claim(space, cegis, None if self.best is None else self.best.cost - 1)
            if isinstance(cegis, Cegis) and cegis.wider is not None:
                self._keep(cegis)
                stack.pop_all()
            if self.limits.all_solutions and self.best is not None:
                return self._enumerate(space, cegis)
            return True

    def _search_tables(self, space: SpaceName) -> bool:
        """Search one space by function tables; return True, as it is answered for certain."""
        assert self.problem is not None and self.plan is not None
        if self.tables is None:
            self.tables = Tables(self.problem, self.deadline, self._table_news)
        tables = self.tables
        for candidate in tables.candidates(space, self.plan.node_limit(space, tables.values)):
            self.best = self.best or candidate
            if not self.limits.all_solutions:
                return True
            self.all.append(candidate)
            self._tell_count(space)
        self.narrowed |= tables.shown.encoding.narrowed
        evidence = {"looked_at": len(tables.shown.demands), "nodes": tables.nodes}
        self.claims.append(Claim(space, None, tuple(self.all), "tables", evidence))
        return True

    def _table_news(self, doing: str) -> None:
        assert self.tables is not None
        self.counterexamples = self.tables.counterexamples
        self.tell(self.tables.space, doing)

    def _whole(self, space: SpaceName) -> SpaceSearch:
        """Return the search of a whole space: that of the space before, going on, where it can."""
        if self.kept is not None and self.kept.wider == space:
            cegis, self.kept = self.kept, None
            cegis.widen()
            return cegis
        assert self.plan is not None
        return self._cegis(space, wider=self.plan.wider(space))

    def _keep(self, cegis: Cegis | None) -> None:
        """Keep a search for the next space, or end the one that is kept."""
        if self.kept is not None:
            self.kept.close()
        self.kept = cegis

    def _cegis(self, space: SpaceName, light: bool = False, wider: SpaceName | None = None) -> SpaceSearch:
        assert self.problem is not None

        def news(doing: str) -> None:
            self.counterexamples += 1
            self.tell(space, doing)

        if self.limits.canonical:
            return Cegis(self.problem, space, self.solver, self.deadline, news, light=light, wider=wider)
        from swizzle.audit.paper.uncanonical import Uncanonical

        return Uncanonical(self.problem, space, self.solver, self.deadline, news, light=light)

    def _at_floor(self) -> bool:
        """Say whether no filling of any space can be cheaper than the best."""
        return self.best is not None and self.best.cost == self.floor

    def _lower(self, cegis: SpaceSearch) -> NoFilling | Unknown | None:
        """Look for cheaper and cheaper fillings; return why there is no more, None at the floor."""
        while not self._at_floor():
            bound = None if self.best is None else self.best.cost - 1
            self.tell(cegis.space, "looking for a filling" if bound is None else f"looking for cost {bound} or less")
            answer = cegis.find(bound)
            if isinstance(answer, Unknown):
                self.reason = self._why(answer)
            if not isinstance(answer, Candidate):
                return answer
            self.best = answer
        return None

    def _enumerate(self, space: SpaceName, cegis: SpaceSearch) -> bool:
        """Find every distinct filling of the space, cheapest or not."""
        found: list[Candidate] = []
        while True:
            answer = cegis.find()
            if isinstance(answer, Unknown):
                self.reason = self._why(answer)
                self.all = found
                return False
            if isinstance(answer, NoFilling):
                self._claim(space, cegis, None, tuple(found))
                self.all = sorted(found, key=lambda c: c.cost)
                return True
            found.append(answer)
            self.all = found
            self._tell_count(space)
            cegis.forbid(answer)

    def _why(self, answer: Unknown) -> str:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return f"timeout after {self.limits.timeout:g} s" if late else answer.reason

    def _claim(
        self, space: SpaceName, cegis: SpaceSearch, at_most: int | None, known: tuple[Candidate, ...] = ()
    ) -> None:
        self.narrowed |= isinstance(cegis, Cegis) and cegis.narrowed
        self.claims.append(Claim(space, at_most, known, self.solver, cegis.evidence()))

    # -- result ---------------------------------------------------------------------------------------------

    def _result(self, last: SpaceName, optimal: bool) -> Result:
        started = time.monotonic()
        candidates = self.all or ([self.best] if self.best else [])
        if self.best is not None and self.all and self.best.cost < self.all[0].cost:
            candidates = [self.best, *self.all]
        certificate: dict[str, Any] = {"proved": [claim.as_json() for claim in self.claims]}
        if self.best is not None and self.best.cost == self.floor:
            certificate["floor"] = f"accumulates that no filling can do without, by counting: {self.floor}"
        if self.best is not None and self.left_open:
            certificate["left_open"] = list(self.left_open)
        if self.narrowed and self.best is not None and not self._at_floor():
            certificate["cancelling"] = NARROWED
        elif self.narrowed and self.best is None:
            self.reason = self.reason or NARROWED
        solutions, verified = self._read(candidates) if candidates else ((), {})
        if solutions:
            certificate["verified"] = verified
        self.seconds["verify"] = time.monotonic() - started
        if self.limits.certify and self.reason == "":
            assert self.problem is not None
            certificate["confirmed"] = confirm(self.problem, [*self.claims, *self._counted(last)], self.deadline)
            if solutions and self.limits.canonical:
                certificate["tried"] = confirm_equal(self.problem, solutions, self.sketch.spec)
        status: Status = "sat" if solutions else ("unknown" if self.reason else "unsat")
        self.seconds["total"] = time.monotonic() - self.started
        return Result(
            sketch=self.sketch.name,
            status=status,
            space=self._space_of_best(last),
            optimal=self._at_floor() or (optimal and not self.reason),
            solutions=solutions,
            warp_size=self.sketch.program.warp_size,
            seconds=dict(self.seconds),
            certificate=certificate,
            reason=self.reason,
            posed=self.sketch,
        )

    def _read(self, candidates: Sequence[Candidate]) -> tuple[tuple[Solution, ...], Mapping[str, Any]]:
        """Return candidates as solutions, and what was verified of them; after Ctrl-C those that were read, or one."""
        assert self.problem is not None
        reading = Reading(self.sketch, self.problem, None if self.limits.canonical else self.solver)
        solutions: list[Solution] = []
        verified: Mapping[str, Any] = {}
        try:
            for some, about in reading.solutions(candidates):
                solutions, verified = [*solutions, *some], about
        except KeyboardInterrupt:
            self.reason = self.reason or "interrupted"
            if not solutions:
                some, verified = next(reading.solutions(candidates[:1]))
                solutions += some
        return tuple(solutions), verified

    def _space_of_best(self, last: SpaceName) -> SpaceName:
        """Return the space that the answer speaks of: the one asked for, or where the best was found."""
        return last if self.best is None or self.limits.space in SPACES else self.best.space

    def _counted(self, last: SpaceName) -> list[Claim]:
        """Return the claim that counting makes: nothing costs less than the best."""
        if not self._at_floor() or not self.floor or self.best is None:
            return []
        space = "3" if self.limits.space == "all" else self._space_of_best(last)
        return [Claim(space, self.floor - 1, (), "counting", {})]


def solve(
    sketch: Sketch, limits: Limits | None = None, progress: News | None = None, meaning: Meaning | None = None
) -> Result:
    """Fill the holes of a sketch so that it equals its specification, at the least cost.

    The sketches that it is filled from are solved first. `meaning` is the specification's, where it is known already.
    Returns a `Result` that is sat, unsat or unknown (timeout, or interrupted by Ctrl-C: the best so far is kept).
    Raises `SwizzleError` for a mistake in the sketch or its specification.
    """
    if sketch.filled_from:
        return solve_filled(sketch, limits or Limits(), progress, solve)
    search = _Search(sketch, limits or Limits(), progress, meaning)
    if search.limits.canonical:
        return search.run()
    from swizzle.audit.paper.uncanonical import not_covered
    from symbolic.second.forward import NotCovered

    try:
        return search.run()
    except NotCovered as reason:
        raise not_covered(sketch, reason) from None
