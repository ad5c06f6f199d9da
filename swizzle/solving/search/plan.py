"""What is searched in which order, and how: the spaces, their light parts, function tables or a solver.

The plan depends only on the question: on the size of its spaces, and on whether a filling changes the cost. It does not
depend on measured time, so it is the same on every machine. (Which of equally good fillings a solver finds may still
differ.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from swizzle.solving.problem.problem import Problem
from swizzle.solving.solution.solution import Limits, SpaceName
from templates import table
from templates.holes import SPACES
from templates.registry import TABLES, in_space, requested

LIGHT: Final[tuple[SpaceName, ...]] = ("1", "2")  # the spaces that have a light part worth a search of its own
# Each of these is varied by an experiment: python bench/tuned.py plan.LARGE 32 128 512
WORTH_IT = 1.5  # times the constants of its light part, from which on a space is searched in two steps
LARGE = 128  # constants of all holes together, from which on a space is not small
NODE_LIMIT = 20_000  # of a search by function tables, before a solver is asked instead
OF_SMALL_SPACE = 20_000_000  # values at points, times nodes, before a small space is left open


class Plan:
    """The order of one search; it remembers which light parts were wanted."""

    def __init__(self, problem: Problem, limits: Limits, floor: int, most: int, every: bool) -> None:
        """`floor` is what every filling of every space costs at least, `most` what no filling exceeds.

        `every`: all fillings of a space may have to be looked at, not only the cheapest.
        """
        self.problem, self.floor, self.most = problem, floor, most
        self.light = limits.light and not limits.all_solutions
        # Where fillings were forbidden in a space, the next one begins afresh: they are right in it, too.
        self.all_solutions = limits.all_solutions
        self.goes_on = not every or (not limits.all_solutions and limits.space is None)
        self.limits = replace(limits, all_solutions=every)
        self._searched: dict[SpaceName, bool] = {}
        self._light_done: set[SpaceName] = set()

    @property
    def spaces(self) -> Iterator[SpaceName]:
        """The spaces to search, without those that add nothing to the one before."""
        return (space for space in SPACES if self._searches(space))

    def _searches(self, space: SpaceName) -> bool:
        """Say whether a space is searched. Its templates are made for that, and large ones need not be looked at."""
        if self.limits.space in SPACES:
            return space == self.limits.space
        if space not in self._searched:
            before = SPACES[SPACES.index(space) - 1]
            self._searched[space] = space == SPACES[0] or self.problem.has_more(space, before)
        return self._searched[space]

    def asks_whatever(self, space: SpaceName) -> bool:
        """Say whether it is asked before this space if any values do: before a large space that a solver will search.

        It takes a while. Function tables see as much before they begin.
        """
        return space not in LIGHT and not self.suits_tables(space)

    def light_parts(self, space: SpaceName) -> list[SpaceName]:
        """Return the spaces up to this one, of those in LIGHT, whose light part is searched before the whole space.

        An answer there ends the search only if no filling of any space is cheaper.
        """
        if not self.light:
            return []
        found = [part for part in LIGHT if part < space and part not in self._light_done]
        if space in LIGHT and self._worth_a_light_part(space):
            found.append(space)
        self._light_done |= {space, *found}
        return found

    def _worth_a_light_part(self, space: SpaceName) -> bool:
        """Say whether a space is so large that its light part is searched on its own."""
        constants = self._constants(space)
        if constants < LARGE:
            return False
        light = sum(len(c) for t in self.problem.light(space) for c in t.components)
        return WORTH_IT * light < constants

    def suits_tables(self, space: SpaceName) -> bool:
        """Say whether function tables are tried before a solver: for a large question that is not about cost.

        Tables work best if data is only moved, because what is required at a point is then a clause of a few values. A
        solver finds as much where there is an answer, and comes to no end with sums of 18 words and more where there
        is none.
        They tell functions apart at all points, so they list too much if one hole decides whether another is asked.
        """
        large = space not in LIGHT or self.limits.all_solutions or self._constants(space) >= LARGE
        return (
            self.limits.canonical
            and large
            and not self.problem.by_items
            and not (self.limits.all_solutions and self.problem.branches)
            and self.floor == self.most
        )

    def tries_all(self) -> bool:
        """Say whether fillings are tried side by side before a solver is asked (`trying.py`)."""
        return self.problem.by_items and self.limits.canonical and not self.limits.all_solutions

    def screens(self) -> bool:
        """Say whether fillings are run on numbers before a solver is asked (`screening.py`): values go through several
        holes and operators, so that there are too many for each to be asked about, and no filling changes the cost."""
        alone = self.limits.canonical and not self.all_solutions and not self.problem.families
        return alone and self.floor == self.most and self.limits.space is None and self.problem.mixes

    def looks_ahead(self, space: SpaceName) -> bool:
        """Say whether light formulas of the last space are tried before a solver looks for this one's: no filling costs
        less, and the proof that this space has none may become long."""
        last = SPACES[-1]
        return space not in LIGHT and space != last and self.floor == self.most and self._searches(last)

    def tries_chains(self, space: SpaceName) -> bool:
        """Say whether fillings of a space are first looked for by trying the functions of one hole (`chain_search.py`).

        It is quick, but proves nothing: where families were asked for that have too many functions for a proof anyway.
        """
        last, holes = space == SPACES[-1], self.problem.program.holes
        families = (last and bool(self.problem.families)) or self.leaves_out(space)
        # the outputs often tell a table's entries, of which a solver finds few
        families |= last and not self.limits.all_solutions and any(table.NAME in hole.families for hole in holes)
        return families and self.limits.canonical and not self.all_solutions and self.floor == self.most

    def leaves_out(self, space: SpaceName) -> bool:
        """Say whether some functions of this space are too many for any search but that by `chain_search.py`."""
        some = self.problem.families if space == SPACES[-1] else ()
        holes = zip(self.problem.program.holes, self.problem.points, strict=True)
        return any(requested(hole, points, space, some) for hole, points in holes)

    def leaves_out_all(self, space: SpaceName) -> bool:
        """Say whether all functions of a hole are too many for any search of this space but `chain_search.py`."""
        holes = zip(self.problem.program.holes, self.problem.points, strict=True)
        return any(
            hole.families and requested(hole, points, space) == in_space(hole.families, space) for hole, points in holes
        )

    def tries_lightest(self, space: SpaceName) -> bool:
        """Say whether fillings are looked at from light to heavy: those of a single hole that names its families.

        If it names tables, the last space has only these besides what was looked at before.
        """
        again = self.limits.space != space == SPACES[-1]
        return self.looks_at_functions() and not self.all_solutions and not again

    def looks_at_functions(self) -> bool:
        """Say whether functions may be looked at one by one: of a single hole that names its families."""
        holes = self.problem.program.holes
        one = len(holes) == 1 and bool(holes[0].families)
        return one and self.limits.canonical and self.floor == self.most

    def colours_tables(self) -> bool:
        """Say whether tables without conflicts are looked for (`coloured.py`), beyond what outputs tell."""
        named = all(not set(TABLES).isdisjoint(hole.families) for hole in self.problem.program.holes)
        asked = self.limits.space in (None, "all", SPACES[-1])
        return self.looks_at_functions() and not self.all_solutions and named and asked

    def may_stay_open(self, space: SpaceName) -> bool:
        """Say whether a space is left open when its search by tables becomes long: Space 3 contains all its functions.

        No filling changes the cost, so fillings of both spaces cost the same, and a long proof that a small space has
        none is not worth it.
        """
        return space in LIGHT and self._searches("3") and not self.limits.all_solutions

    def node_limit(self, space: SpaceName, values: int) -> int:
        """Return how many nodes a search by tables may take, given the number of values of holes at points."""
        return max(1, OF_SMALL_SPACE // max(1, values)) if self.may_stay_open(space) else NODE_LIMIT

    def wider(self, space: SpaceName) -> list[SpaceName]:
        """Return the spaces in which a solver's search of this one continues.

        It goes beyond Space 2 where outputs are asked item by item and no filling changes the cost: what takes long is
        then to say what is asked, which is said once for all spaces.
        """
        last = "3" if self.problem.by_items and self.floor == self.most else "2"
        return [each for each in SPACES if space < each <= last and self._searches(each)] if self.goes_on else []

    def _constants(self, space: SpaceName) -> int:
        """Return how many constants the holes' templates have together."""
        return sum(len(c) for t in self.problem.templates(space) for c in t.components)
