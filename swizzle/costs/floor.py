"""A cost that no filling can undercut, in any space, by counting.

An output element is a sum of so many items; an accumulate brings one item each time it runs, and runs so many times
for a thread. So many statements must stay, whatever the functions in the holes are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from swizzle.problem.problem import Problem

THREADS = 8  # of the first block, whose outputs are counted


@dataclass(slots=True)
class Group:
    """Statements that serve the same accumulators, and how many of them must stay."""

    statements: set[int]
    needed: int = 0
    always: set[int] = field(default_factory=set)


def floor(problem: Problem) -> int:
    """Return how many accumulate statements every filling keeps at least."""
    statements = problem.accumulates()
    always = {
        statement
        for statement, entries in statements.items()
        if any(isinstance(e.mask, np.ndarray) and e.mask.any() for e in entries)
    }
    if len(always) == len(statements):
        return len(always)
    groups: list[Group] = []
    for offers, items in _needs(problem):
        mine = Group(set(offers), _fewest(offers, items))
        for other in [g for g in groups if g.statements & mine.statements]:
            groups.remove(other)
            mine = Group(mine.statements | other.statements, max(mine.needed, other.needed))
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
            found.append((Counter(id(entry.statement) for entry in need.offers), need.items))
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
