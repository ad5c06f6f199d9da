"""How fillings compare by the costs of a goal, and what is proved of the best: by counting, or by looking at all."""

from __future__ import annotations

from collections.abc import Mapping

from swizzle.solving.costs.cost import check_floor
from swizzle.solving.costs.goal import Goal
from swizzle.solving.costs.terms import FormulaTerms
from swizzle.solving.problem.candidate import Candidate
from swizzle.solving.search.reading import Reading


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
