"""What a search knows: the question, what was prepared for it, the best so far, how fillings compare by the costs of a
goal, and what is proved of the best: by counting, or by looking at all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from swizzle.sketches.sketch import Sketch
from swizzle.solving.audit.certificate import Claim
from swizzle.solving.costs.cost import check_floor
from swizzle.solving.costs.counted import FormulaTerms
from swizzle.solving.costs.goal import Goal
from swizzle.solving.costs.registry import costs_of
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.hopeless import Hopeless
from swizzle.solving.search.plan import Plan
from swizzle.solving.search.readback import Reading
from swizzle.solving.solution.solution import Limits, Result, SpaceName
from symbolic.limits import Interruption, OutOfMemory
from symbolic.solve.engines import SolverName, quickest_boolean
from templates.registry import ON_REQUEST


class Ranking:
    """The order of the fillings of one problem; `floors` are the least values of the costs, the lowered one first."""

    def __init__(self, goal: Goal, floors: tuple[int, ...], reading: Reading) -> None:
        self.goal, self.floors, self._reading = goal, floors, reading

    def of(self, candidate: Candidate) -> tuple[int, ...]:
        """Return what a candidate costs, with the lowered cost first; less is better."""
        counted = self._reading.counted(candidate)
        for cost, floor, found in zip(self.goal.counted, self.floors[1:], counted, strict=True):
            check_floor(cost, floor, found)
        return (candidate.cost, *counted)

    def by_name(self, candidate: Candidate) -> Mapping[str, int]:
        """Return what a candidate costs, by the names of the costs asked for."""
        return self.goal.by_name(self.of(candidate))

    def is_lowest(self, best: Candidate | None) -> bool:
        """Say whether no filling of any space can be cheaper than the best, in the cost that is lowered."""
        return best is not None and best.cost == self.floors[0]

    def is_least(self, best: Candidate | None) -> bool:
        """Say whether no filling of any space can be cheaper than the best."""
        return best is not None and self.of(best) == self.floors

    def least(self, best: Candidate) -> str:
        """Say which costs of the best are as small as counting allows; '' if none is."""
        values, floors = self.by_name(best), self.goal.by_name(self.floors)
        return "; ".join(
            f"{name} that no filling can do without, by counting: {least}"
            for name, least in floors.items()
            if values[name] == least
        )

    def proved(self, best: Candidate, lowered: bool, done: bool) -> dict[str, bool]:
        """Say of each cost of the best whether it is proved minimal, among those that are best in the costs before it.

        `lowered`: no filling is cheaper in the cost that is lowered. `done`: no filling is cheaper in any of them.
        """
        values, floors = self.by_name(best), self.goal.by_name(self.floors)
        # a function that one of our families has is not counted with the formula that a user's family has for it
        open_terms = {FormulaTerms.name} if self._reading.problem.families else set[str]()
        found: dict[str, bool] = {}
        for name, value in values.items():
            by_search = (done and name not in open_terms) or (lowered and self.goal.lowers and not found)
            found[name] = all(found.values()) and (value == floors[name] or by_search)
        return found


class SearchState:
    """One solve job in progress: what is asked, what was prepared, and what was found and proved so far."""

    def __init__(self, sketch: Sketch, limits: Limits) -> None:
        self.sketch, self.limits = sketch, limits
        self.goal = Goal.of(costs_of(limits.cost), limits.canonical)
        quickest: SolverName = quickest_boolean() if limits.canonical else "z3"
        self.solver: SolverName = quickest if limits.solver == "auto" else limits.solver
        self.started = time.monotonic()
        self.deadline = None if limits.timeout is None else self.started + limits.timeout
        self.seconds = {"interpret": 0.0, "search": 0.0, "verify": 0.0}
        self.best: Candidate | None = None
        self.all: list[Candidate] = []
        self.claims: list[Claim] = []
        self.lowered = False  # whether nothing is cheaper in the space that was searched last, by the cost lowered
        self.left_open: list[SpaceName] = []
        self.reason = ""
        self.out_of_memory = False
        self.left_out = False  # whether some functions are too many to be searched
        self.asked_whatever = False  # whether it was looked for an evident 'no'
        self.evident: Hopeless | None = None
        self.narrowed = False  # a space is left that has fillings which were not looked at
        self.unsigned = False  # some of them because a value may be an item that is taken off
        self.problem: Problem | None = None
        self.reading: Reading | None = None
        self.ranking: Ranking | None = None
        self.plan: Plan | None = None

    @property
    def said_left_out(self) -> str:
        """Which families have functions that were not looked at."""
        asked = {family.name for family in self.problem.families} if self.problem is not None else set[str]()
        named = asked.union(*(hole.families for hole in self.sketch.program.holes))
        some = " and ".join(name for name in ON_REQUEST if name in named)
        return f"of {some}, only functions that the outputs tell were looked at"

    @property
    def timed_out(self) -> str:
        return "timeout" if self.limits.timeout is None else f"timeout after {round(self.limits.timeout, 2):g} s"

    def stopped(self, by: Interruption) -> None:
        """Note that a limit was reached: what was found is still to be read, in a hurry."""
        self.reason = self.reason or str(by) or self.timed_out
        self.out_of_memory |= isinstance(by, OutOfMemory)
        if self.reading is not None:
            self.reading.hurried = True

    def lost(self, by: Interruption) -> Result:
        """Return the answer where not even what was found could be put away."""
        self.stopped(by)
        self.seconds["total"] = time.monotonic() - self.started
        size = self.sketch.program.warp_size
        return Result(
            self.sketch.name,
            "unknown",
            None,
            False,
            (),
            size,
            dict(self.seconds),
            reason=self.unread,
            posed=self.sketch,
        )

    @property
    def unread(self) -> str:
        """Why there is no answer, where a filling was found, but no time to read it."""
        if self.best is None:
            return self.reason
        cost = f"{self.goal.lowered.name} {self.best.cost}"
        return f"{self.reason}; a filling with {cost} was found, too late to be verified"

    def at_floor(self) -> bool:
        """Say whether no filling of any space can be cheaper than the best, in the cost that is lowered."""
        return self.ranking is not None and self.ranking.is_lowest(self.best)

    def is_settled(self) -> bool:
        """Say whether no other filling of this or any space needs to be counted."""
        one = bool(self.goal.counted) and not self.limits.all_solutions
        return one and self.ranking is not None and self.ranking.is_least(self.best)
