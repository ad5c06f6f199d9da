"""The default cost: the number of accumulate statements whose predicate holds somewhere (paper, section 4.3).

The floor is found by counting, in all spaces at once. An output element is a sum of so many items. An accumulate adds
one item each time it runs, and runs so many times for a thread. So many statements are needed, whatever the holes are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from msgspec import Struct, field

from swizzle.solving.costs.cost import BoundedCost, CostBound
from swizzle.solving.problem.problem import Problem
from symbolic.ir.sites import Site
from symbolic.machine.run import Run
from symbolic.values.guard import FALSE, Guard, Guards
from symbolic.values.vector import Encoding, Lanes, guard_at

THREADS = 8  # of the first block, whose outputs are counted


class Accumulates(BoundedCost):
    """How many accumulate statements are kept."""

    name = "accumulates"

    def of_copies(self, run: Run, copies: int) -> Sequence[int]:
        live: dict[Site, Lanes] = {}
        for entry in run.accumulated:
            assert isinstance(entry.mask, np.ndarray), "a filling leaves no predicate open"
            on = np.asarray(entry.mask.reshape(copies, -1).any(axis=1))
            live[entry.site] = on | live.get(entry.site, on)
        found: list[int] = sum((on.astype(np.int64) for on in live.values()), np.zeros(copies, np.int64)).tolist()
        return found

    def floor(self, problem: Problem) -> int:
        return floor(problem)

    def most(self, problem: Problem) -> int:
        return len(problem.accumulates())

    def bound(self, problem: Problem, guards: Guards) -> CostBound:
        return _Live(problem, guards)


ACCUMULATES: Final = Accumulates()


# ---- in a search's encoding ------------------------------------------------------------------------------------


class _Live:
    """A guard for each statement, 'it is dead': then it is active for no thread that was looked at."""

    def __init__(self, problem: Problem, guards: Guards) -> None:
        self.problem, self.guards = problem, guards
        self._dead = {statement: guards.fresh() for statement in problem.accumulates()}
        self._noted = 0
        live = [-g for g in self._dead.values()]
        self._at_least = guards.counter(live, len(live)) if live else []

    def at_most(self, most: int) -> Guard | None:
        return -self._at_least[most] if most < len(self._at_least) else None

    def look(self, encoding: Encoding) -> None:
        for entry, _, guard in encoding.active[self._noted :]:
            self.guards.add((-self._dead[entry.site], -guard))
        self._noted = len(encoding.active)

    def refute(self, run: Run, holds: Callable[[Guard], bool], encoding: Encoding) -> None:
        """A statement that the solver called dead runs for a thread it was not shown: show it."""
        entries = self.problem.accumulates()
        for entry in run.accumulated:
            statement = entry.site
            if not holds(self._dead[statement]) or not isinstance(entry.mask, np.ndarray) or not entry.mask.any():
                continue
            thread = int(np.flatnonzero(entry.mask)[0])
            for twin in entries[statement]:
                guard = guard_at(twin.mask, encoding, thread)
                if guard != FALSE:
                    self.guards.add((-self._dead[statement], -guard))
            return
        raise AssertionError("a candidate costs more than the solver claimed, for no reason found")


# ---- the floor -------------------------------------------------------------------------------------------------


class AccumulateGroup(Struct):
    """Statements that serve the same accumulators, and how many of them must stay."""

    statements: set[int]
    needed: int = 0
    always: set[int] = field(default_factory=set)


def floor(problem: Problem) -> int:
    """Return how many accumulate statements every filling needs at least."""
    statements = problem.accumulates()
    always = {
        statement
        for statement, entries in statements.items()
        if any(isinstance(e.mask, np.ndarray) and e.mask.any() for e in entries)
    }
    if len(always) == len(statements):
        return len(always)
    groups: list[AccumulateGroup] = []
    for offers, items in _needs(problem):
        mine = AccumulateGroup(set(offers), _fewest(offers, items))
        for other in [g for g in groups if g.statements & mine.statements]:
            groups.remove(other)
            mine = AccumulateGroup(mine.statements | other.statements, max(mine.needed, other.needed))
        groups.append(mine)
    grouped = {statement for group in groups for statement in group.statements}
    return len(always - grouped) + sum(max(g.needed, len(always & g.statements)) for g in groups)


def _needs(problem: Problem) -> list[tuple[Counter[int], int]]:
    """Return, for the outputs of some threads, how often each statement may serve it and how many items it has."""
    found = []
    threads = set(np.linspace(0, problem.run.shape.block_threads - 1, THREADS, dtype=int).tolist())
    for output in problem.outputs:
        seen = problem.finals[output.array]
        writer, version = int(seen.writer[output.address]), int(seen.version[output.address])
        if seen.diffuse or version < 0 or writer not in threads:
            continue
        need = seen.values[version].need(writer, output.term)
        if need is not None:
            found.append((Counter(entry.site for entry in need.offers), need.items))
    return found


def _fewest(offers: Counter[int], items: int) -> int:
    """Return how many statements it takes to bring so many items: those that run most often first."""
    count = 0
    for _, times in offers.most_common():
        if items <= 0:
            break
        items -= times
        count += 1
    return count
