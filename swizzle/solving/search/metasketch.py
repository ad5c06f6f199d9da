"""Search: the spaces from small to large (metasketch order, paper section 5.4), the cost lowered until a proof.

The plan (`plan.py`) gives each space to an engine (`Engine`). The engine finds a filling, and is then asked for a
cheaper one until there is none. Costs that no solver can bound are counted on every solution of the space, one after
the other, until a solution is found that no other can beat. The search ends with the first space that has an answer;
`--space all` continues to the last space and proves the optimum there.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Literal

from msgspec.structs import replace

from swizzle.language.specs.specification import Meaning
from swizzle.sketches.sketch import Sketch, not_a_sketch
from swizzle.solving.audit.certificate import Claim
from swizzle.solving.costs.cost import floor_of
from swizzle.solving.costs.counted import Conflicts, FormulaTerms
from swizzle.solving.costs.registry import costs_of
from swizzle.solving.problem.candidate import Candidate, NoFilling
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search import lightest
from swizzle.solving.search.answer import result_of
from swizzle.solving.search.cegis import Cegis
from swizzle.solving.search.chain_search import fillings
from swizzle.solving.search.engine import Engine
from swizzle.solving.search.hopeless import hopeless
from swizzle.solving.search.layouts import improved_by_layouts, put_together, with_light_layouts
from swizzle.solving.search.plan import Plan
from swizzle.solving.search.readback import Reading
from swizzle.solving.search.screening import screened
from swizzle.solving.search.shorter import with_shorter_formulas
from swizzle.solving.search.state import Ranking, SearchState
from swizzle.solving.search.tables import Tables, TooManyFunctions, TooManyNodes
from swizzle.solving.search.trying import Exhaustion, TooMany
from swizzle.solving.solution.solution import Limits, Listener, Named, Progress, Result, SpaceName, TemplateName
from swizzle.solving.stages import staged
from symbolic.bottom_up import deep_stack
from symbolic.errors import SwizzleError
from symbolic.limits import Interruption, default_memory, limited, released, size_of
from symbolic.solve.answer import Unknown
from templates.holes import SPACES
from templates.registry import register
from templates.template import TemplateFamily

NAIVE_DEPTH: Mapping[TemplateName, Literal[0, 1, 2]] = {"paper": 0, "naive-1": 1, "naive-2": 2}
BETWEEN_COUNTS = 0.3  # seconds
COUNTED = 64  # light functions whose costs are counted


class _Search(SearchState):
    """A solve job that goes through the spaces."""

    def __init__(self, sketch: Sketch, limits: Limits, listener: Listener | None, meaning: Meaning | None) -> None:
        super().__init__(sketch, limits)
        self.listener, self.meaning = listener, meaning
        self.every = limits.all_solutions or bool(self.goal.counted)
        self.counted_at = 0.0
        self.counterexamples = 0
        self.recognised = False  # the best was found by its values, and is not looked for again among all functions
        self.tables: Tables | None = None
        self.tried: set[SpaceName] = set()  # those whose fillings, or light ones, were tried side by side
        self.last: SpaceName = "1"
        self.kept: Cegis | None = None  # of the space before, if it can go on in the next one

    def tell(self, space: SpaceName, doing: str) -> None:
        if self.listener is not None:
            best = None if self.best is None or self.ranking is None else self.ranking.by_name(self.best)
            self.listener(Progress(space, doing, best, self.counterexamples, time.monotonic() - self.started))

    def _tell_count(self, space: SpaceName, count: int) -> None:
        """Tell how many fillings were found, a few times a second."""
        if time.monotonic() - self.counted_at >= BETWEEN_COUNTS:
            self.counted_at = time.monotonic()
            self.tell(space, f"fillings so far: {count}")

    # -- spaces ---------------------------------------------------------------------------------------------

    def run(self) -> Result:
        """Search, and read what was found."""
        optimal = self.search()
        return result_of(self, self.last, optimal)

    def search(self) -> bool:
        """Look for the best filling; say whether it is known to be the best of those asked for."""
        started = time.monotonic()
        optimal = False
        try:
            self.tell("1", "interpreting the sketch")
            depth, families = NAIVE_DEPTH[self.limits.template], register(self.limits.families)
            posed = self.sketch.program, self.sketch.spec, self.meaning
            problem = self.problem = Problem.of(*posed, depth, families)
            costs = (self.goal.lowered, *self.goal.counted)
            floors = tuple(floor_of(cost, problem) if self.limits.canonical else 0 for cost in costs)
            self.reading = Reading(self.sketch, problem, None if self.limits.canonical else self.solver, self.goal)
            self.ranking = Ranking(self.goal, floors, self.reading)
            self.seconds["interpret"] = time.monotonic() - started
            started = time.monotonic()
            most = self.goal.lowered.most(problem)
            self.plan = Plan(problem, self.limits, floors[0], most, self.every)
            optimal = self._search_spaces()
            if self.unsigned and self.best is None and self.evident is None and not self.reason:
                problem.take_off()
                self.narrowed, self.claims, self.left_open = False, [], []
                self.tried.clear()
                self._keep(None)
                self.plan = Plan(problem, self.limits, floors[0], most, self.every)
                optimal = self._search_spaces()
            if self.narrowed and self.best is None and self.evident is None and self._screened(SPACES[0]):
                self.narrowed, self.claims, self.reason, optimal = False, [], "", True
            if self.best is None and self.left_out and self.evident is None:
                self.reason = self.reason or self.said_left_out
            paper = self.limits.canonical and not problem.naive
            if self.best is not None and not self.every and not self.recognised and paper and not self.reason:
                self.best = with_shorter_formulas(self.reading, self.best, self.goal.lowered)
        except Interruption as stopped:
            self.stopped(stopped)
            optimal = False
        except KeyboardInterrupt:
            self.reason = "interrupted"
            optimal = False
        finally:
            if self.tables is not None:
                self.tables.close()
            self._keep(None)
            self.tables = None
        if self.out_of_memory:
            released()
        self.seconds["search"] = time.monotonic() - started
        return optimal

    def _search_spaces(self) -> bool:
        """Search the spaces until one has an answer; say whether it is known to be the best of those asked for."""
        assert self.plan is not None
        for space in self.plan.spaces:
            self.last = space
            done = self._search_space(space)
            if self.evident is not None:
                self.last = self.claims[-1].space
                return False
            if self.best is not None and self._improved_by_tables():
                return True
            if self.best is not None and (self.limits.space != "all" or not done or self.is_settled()):
                return done
            if not done:
                return False
        if self.best is None:
            self._is_hopeless(self.last)  # for the reason
        return self.best is not None

    def _search_space(self, space: SpaceName) -> bool:
        """Search one space, light parts first; return whether its question was answered for certain."""
        assert self.problem is not None and self.plan is not None
        self.counterexamples, self.lowered = 0, False
        if self.plan.tries_chains(space) and self._found_by_chains(space):
            if self.goal.counted and not self.is_settled():
                self.reason = "one filling was counted: there are too many for all"
            return not self.reason
        if self.plan.leaves_out(space):
            self.left_out = True
            if self.plan.leaves_out_all(space):
                return False
            self.problem.leave_out_requests()
        if self.plan.looks_at_functions() and self.every and lightest.has_few(self.problem, space):
            return self._looked_at_all(space)
        if self.plan.tries_lightest(space) and self._found_from_light_to_heavy(space):
            return not self.goal.counted or self.is_settled()
        if self._found_apart(space):
            return True
        if not self.problem.by_items and self._screened(space):
            return True
        if self.problem.by_items and self._is_hopeless(space):  # counted in a moment
            return True
        for part in self.plan.light_parts(space):
            self.tell(space, "light constants: building the space")
            with closing(self._engine(part, light=True)) as light:
                if isinstance(self._lower(light), Unknown):
                    return False
            self._shorten()
            if self.goal.counted and improved_by_layouts(self):
                return True
            if self.is_settled() if self.goal.counted else self.at_floor():
                return True
        if self.plan.asks_whatever(space) and self._is_hopeless(space):
            return True
        self.tell(space, "building the space")
        if (self.best is None or self.goal.counted) and self.plan.suits_tables(space):
            try:
                return self._search_tables(space)
            except TooManyNodes:
                if self.plan.may_stay_open(space):
                    self.left_open.append(space)
                    return True
            except TooManyFunctions:
                pass
        if self.plan.tries_all():
            if self._tried(space):
                return True
            if self.plan.looks_ahead(space) and self._tried(SPACES[-1]):
                self.left_open += [space] * (self.best is not None and self.best.space != space)
                return True
            if self._screened(space):
                return True
        waiting, self.left_open = [*self.left_open, space], []
        for each in waiting:
            if not self._search_by_solver(each):
                return False
            if self.best is not None:
                break
        return True

    def _tried(self, space: SpaceName) -> bool:
        """Say whether all fillings were tried, or a right one was found that cannot be beaten in this space."""
        assert self.problem is not None and self.plan is not None
        if space in self.tried:
            return False
        self.tried.add(space)
        try:
            engine = Exhaustion(self.problem, space, self.goal.lowered, light=space == SPACES[-1])
            self.tell(space, "trying all fillings" if engine.complete else "trying light formulas")
            found = engine.candidates()
        except TooMany:
            return False
        best = min(found, key=lambda candidate: candidate.cost, default=None)
        if best is not None and (self.best is None or best.cost < self.best.cost):
            self.best = best
        if not engine.complete:
            return self.best is not None and self.at_floor()
        self.lowered = True
        if self.best is None or not self.at_floor():
            self._claim(space, engine, None if self.best is None else self.best.cost - 1)
        return True

    def _screened(self, space: SpaceName) -> bool:
        """Say whether a right filling is found by running fillings on numbers, those of all spaces before the first."""
        assert self.problem is not None and self.plan is not None and self.reading is not None
        if space != SPACES[0] or not self.plan.screens():
            return False
        self.tell(space, "running fillings on numbers")
        self.best = screened(self.problem, self.sketch.spec, self.plan.spaces, self.goal.lowered, self.reading.length)
        if self.best is None:
            return False
        self.last = self.best.space
        self.left_open = [each for each in self.plan.spaces if each < self.last]
        return True

    def _found_apart(self, space: SpaceName) -> bool:
        """Say whether a filling that cannot be beaten is found by looking for layouts behind all other holes."""
        light = None if self.limits.all_solutions else with_light_layouts(self, space)
        if light is None:
            return False
        assert self.problem is not None
        program, chosen = light
        limits = replace(self.limits, cost=Limits().cost, space=space)
        apart = _Search(replace(self.sketch, program=program), limits, self.listener, self.problem.meaning)
        apart.deadline = self.deadline
        apart.search()
        if apart.best is None or apart.reading is None:
            return False
        self.best = put_together(self, space, chosen, apart.best, apart.reading)
        return improved_by_layouts(self) if self.goal.counted else self.at_floor()

    def _found_by_chains(self, space: SpaceName) -> bool:
        """Say whether a filling is found by trying the functions of one hole; no filling changes the cost."""
        assert self.problem is not None and self.reading is not None
        self.tell(space, "trying what one hole may do")
        templates = self.problem.templates(space)
        for choices in fillings(self.problem, templates):
            some = zip(templates, choices, self.problem.points, strict=True)
            values = [made.tables([choice], list(points.table.T))[0] for made, choice, points in some]
            found = self.reading.judged(Candidate(space, choices, 0, values))
            if found is not None:
                self.best, self.recognised = found, True
                return True
            self.counterexamples += 1
        return False

    def _found_from_light_to_heavy(self, space: SpaceName) -> bool:
        """Say whether fillings are found among the light functions of a hole; the best of them is kept."""
        assert self.problem is not None and self.ranking is not None
        self.tell(space, "light functions first")
        for count, candidate in enumerate(lightest.candidates(self.problem, space, self.goal.lowered)):
            if self.best is None or self.ranking.of(candidate) < self.ranking.of(self.best):
                self.best = candidate
            if not self.goal.counted or self.is_settled() or count >= COUNTED:
                break
            self._tell_count(space, count + 1)
        if self.best is not None and self.goal.counted and not self.is_settled():
            self.reason = "only light functions were counted: there are too many for all"
        return self.best is not None

    def _looked_at_all(self, space: SpaceName) -> bool:
        """Look at every function of a hole that has few of them, until one is found that no other can beat."""
        assert self.problem is not None and self.ranking is not None
        self.tell(space, "looking at every function")
        for candidate in lightest.candidates(self.problem, space, self.goal.lowered):
            self.all = [*self.all, candidate]
            if self.best is None or self.ranking.of(candidate) < self.ranking.of(self.best):
                self.best = candidate
            if self.is_settled():
                return True
            self._tell_count(space, len(self.all))
        evidence = {"fillings": sum(part.size() for part in self.problem.templates(space)[0].parts)}
        self.claims.append(Claim(space, None, tuple(self.all), "exhaustion", evidence, self.goal.lowered.name))
        self.lowered = True
        self.all = sorted(self.all, key=self.ranking.of)
        return True

    def _improved_by_tables(self) -> bool:
        """Say whether a table has no conflicts where what was found has some, so that no other filling can beat it."""
        assert self.problem is not None and self.plan is not None and self.reading is not None
        cost = next(iter(self.goal.counted), None)
        if not isinstance(cost, Conflicts) or not self.plan.colours_tables() or self.is_settled():
            return False
        from swizzle.solving.search import coloured

        assert self.ranking is not None and self.best is not None
        self.tell(SPACES[-1], "tables without conflicts")
        for candidate in coloured.candidates(self.problem, cost):
            found = self.reading.judged(candidate)
            if found is not None and self.ranking.of(found) < self.ranking.of(self.best):
                self.best, self.last, self.recognised = found, SPACES[-1], True
            if self.is_settled():
                self.reason = ""
                return True
        return False

    def _is_hopeless(self, space: SpaceName) -> bool:
        """Say whether no values of the holes give what is asked, after spaces were searched in vain; ask that once."""
        assert self.problem is not None and self.plan is not None
        if self.best is not None or self.asked_whatever or not self.limits.canonical:
            return self.evident is not None
        self.asked_whatever = True
        self.tell(space, "looking whether any values do")
        self.evident = hopeless(self.problem, "glucose")
        if self.evident is None:
            return False
        found = {"looked_at": self.evident.looked_at, "clauses": self.evident.clauses}
        *_, widest = self.plan.spaces
        self.claims.append(Claim(widest, None, (), "glucose", found, self.goal.lowered.name))
        return True

    def _search_by_solver(self, space: SpaceName) -> bool:
        """Search one space by a solver; return whether its question was answered for certain."""
        with ExitStack() as stack:
            engine = self._whole(space)
            stack.enter_context(closing(engine))
            answer = self._lower(engine)
            if isinstance(answer, Unknown):
                return False
            self.lowered = True
            if isinstance(answer, NoFilling):
                self._claim(space, engine, None if self.best is None else self.best.cost - 1)
            if isinstance(engine, Cegis) and engine.wider:
                self._keep(engine)
                stack.pop_all()
            if self.every and self.best is not None:
                return self._enumerate(space, engine)
            return True

    def _search_tables(self, space: SpaceName) -> bool:
        """Search one space by function tables, where no filling changes the cost that is lowered."""
        assert self.problem is not None and self.plan is not None
        if self.tables is None:
            self.tables = Tables(self.problem, self.deadline, self._report_of_tables, self.goal.lowered)
        engine = self.tables.engine(space, self.plan.node_limit(space, self.tables.values))
        self.lowered = True
        if self.every:
            done = self._enumerate(space, engine)
        else:
            done, answer = True, engine.find()
            if isinstance(answer, NoFilling):
                self._claim(space, engine, None)
            else:
                self.best = answer
        if self.best is None:
            self.left_open = []  # this space holds all their functions
        return done

    def _report_of_tables(self, doing: str) -> None:
        assert self.tables is not None
        self.counterexamples = self.tables.counterexamples
        self.tell(self.tables.space, doing)

    # -- engines --------------------------------------------------------------------------------------------

    def _whole(self, space: SpaceName) -> Engine:
        """Return the search of a whole space: that of the space before, going on, where it can."""
        if self.kept is not None and self.kept.wider[:1] == [space]:
            cegis, self.kept = self.kept, None
            cegis.widen()
            return cegis
        assert self.plan is not None
        return self._engine(space, wider=self.plan.wider(space))

    def _keep(self, cegis: Cegis | None) -> None:
        """Keep a search for the next space, or end the one that is kept."""
        if self.kept is not None:
            self.kept.close()
        self.kept = cegis

    def _engine(self, space: SpaceName, light: bool = False, wider: Sequence[SpaceName] = ()) -> Engine:
        assert self.problem is not None

        def report(doing: str) -> None:
            self.counterexamples += 1
            self.tell(engine.space, doing)

        engine: Engine
        here = (self.problem, space, self.solver, self.deadline, report)
        if self.limits.canonical:
            engine = Cegis(*here, light=light, wider=wider, cost=self.goal.lowered)
            return engine
        from swizzle.solving.audit.paper.uncanonical import Uncanonical

        engine = Uncanonical(*here, light=light, cost=self.goal.lowered)
        return engine

    def _lower(self, engine: Engine) -> NoFilling | Unknown | None:
        """Look for cheaper and cheaper fillings; return why there is no more, None at the floor."""
        while not self.at_floor():
            bound = None if self.best is None else self.best.cost - 1
            self.tell(engine.space, "looking for a filling" if bound is None else f"looking for cost {bound} or less")
            answer = engine.find(bound)
            if isinstance(answer, Unknown):
                self.reason = self._why(answer)
            if not isinstance(answer, Candidate):
                return answer
            self._keep_best(answer)
        return None

    def _shorten(self) -> None:
        """Take shorter formulas that a few tries find, where these are asked for and others will take long."""
        assert self.ranking is not None and self.reading is not None
        if self.best is not None and any(isinstance(cost, FormulaTerms) for cost in self.goal.counted):
            shorter = with_shorter_formulas(self.reading, self.best, self.goal.lowered)
            if self.ranking.of(shorter) < self.ranking.of(self.best):
                self._keep_best(shorter)

    def _keep_best(self, found: Candidate) -> None:
        """Take a filling for the best; where a limit may end the search, it is read and verified at once."""
        self.best = found
        if self.deadline is not None and self.limits.canonical and self.reading is not None:
            self.reading.judged(found)

    def _enumerate(self, space: SpaceName, engine: Engine) -> bool:
        """Look at every distinct filling of the space, or at those that the costs which are counted decide between."""
        assert self.ranking is not None
        found: list[Candidate] = []
        while not self.is_settled():
            few = self.goal.lowers and not self.limits.all_solutions
            at_most = self.best.cost if few and self.best is not None else None
            answer = engine.find(at_most)
            if isinstance(answer, Unknown):
                self.reason = self._why(answer)
                self.all = found
                return False
            if isinstance(answer, NoFilling):
                self._claim(space, engine, at_most, tuple(found))
                self.all = sorted(found, key=self.ranking.of)
                return True
            found.append(answer)
            self.all = found
            if self.best is None or self.ranking.of(answer) < self.ranking.of(self.best):
                self._keep_best(answer)
            self._tell_count(space, len(found))
            engine.forbid(answer)
        return True

    def _why(self, answer: Unknown) -> str:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return self.timed_out if late else answer.reason

    def _claim(
        self, space: SpaceName, engine: Engine | Exhaustion, at_most: int | None, known: tuple[Candidate, ...] = ()
    ) -> None:
        self.narrowed |= engine.narrowed
        self.unsigned |= isinstance(engine, Cegis | Exhaustion) and engine.unsigned
        name = self.goal.lowered.name
        self.claims.append(Claim(space, at_most, known, engine.name, engine.evidence(), name, engine.narrowed))


def solve(
    sketch: Sketch,
    limits: Limits | None = None,
    progress: Listener | None = None,
    meaning: Meaning | None = None,
    *,
    space: SpaceName | Literal["all"] | None = None,
    cost: str | Named | type[Named] | Sequence[str | Named | type[Named]] | None = None,
    families: str | TemplateFamily | Sequence[str | TemplateFamily] = (),
    timeout: float | None = None,
    memory: int | str | None = None,
) -> Result:
    """Fill the holes of a sketch so that it equals its specification, at the least cost.

    `cost` says what should be small, instead of `limits.cost`: one cost, or several, the most important first. Each is
    a name, a cost or its class. Sketches named by `filled_from=` are solved first. `meaning` is the specification's, if
    it is known already. `families` are users' own families of templates, or their names, in addition to those of
    `limits`; they join Space 4. `space`, `timeout` (seconds) and `memory` (bytes, or '4G') are limits too.
    `progress` is called with each step of the search; `progress=print` shows them.

    Returns a `Result` that is sat, unsat or unknown (out of time or memory, or interrupted by Ctrl-C; it keeps the best
    solution so far). Raises `SwizzleError` for a mistake in the sketch or its specification.
    """
    if not isinstance(sketch, Sketch):
        raise not_a_sketch(sketch)
    if not isinstance(limits, Limits | None):
        raise SwizzleError(f"limits of {limits!r:.60}", expected="an object of Limits", fix="Limits(timeout=60)")
    limits = limits or Limits()
    limits = limits if space is None else replace(limits, space=space)
    limits = limits if cost is None else replace(limits, cost=costs_of(cost))
    limits = replace(limits, families=register((*limits.families, *register(families))))
    limits = limits if timeout is None else replace(limits, timeout=timeout)
    limits = limits if memory is None else replace(limits, memory=size_of(memory))
    costs_of(limits.cost)  # a mistake in it is found before anything is solved
    if (answer := staged(sketch, limits, progress, solve)) is not None:
        return answer
    search = _Search(sketch, limits, progress, meaning)
    try:
        memory = default_memory() if limits.memory is None else limits.memory
        with limited(search.deadline, memory, said=search.timed_out):
            return _answered(search)
    except Interruption as stopped:  # while what was found was put away
        return search.lost(stopped)


def _answered(search: _Search) -> Result:
    try:
        with deep_stack():
            return _searched(search)
    except RecursionError:
        raise SwizzleError(
            f"values of {search.sketch.name} that depend on holes are made of each other in too many steps",
            place=search.sketch.program.place,
            expected="a few hundred operations of several kinds within each other; sums may be as long as they like",
            fix="shorter loops, or an accumulator",
        ) from None


def _searched(search: _Search) -> Result:
    if search.limits.canonical:
        return search.run()
    from swizzle.solving.audit.paper.uncanonical import not_covered
    from symbolic.second.forward import NotCovered

    try:
        return search.run()
    except NotCovered as reason:
        raise not_covered(search.sketch, reason) from None
