"""The fewest turns of any layout, asked of a SAT solver, where neither counting nor an edge colouring settles it.

A literal says that a vector lies in a group of banks, of as many as it fills. Counters say how many vectors of a set
lie in one group (Bailleux and Boufkhad, Efficient CNF Encoding of Boolean Cardinality Constraints, 2003), and how many
turns all phases take beyond their least. More and more of these are allowed, until a layout is found: each 'no' proves
a turn. The n-th vector takes one of the first n groups, as groups can be exchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import product

import numpy as np
from msgspec import Struct

from swizzle.layouts.requests import Requests
from swizzle.layouts.tables import Vectors
from symbolic.solve.edge_colours import Ints
from symbolic.solve.sat import SatSolver

_MOST_LITERALS, _MOST_CONFLICTS = 1 << 15, 5_000  # of a question: in all sets, for each turn that is counted

Phase = tuple[int, tuple[tuple[int, ...], ...]]
"""Its least turns, and sets of vectors: it takes as many turns as the most vectors of a set that lie in one group."""


class Fewest(Struct, frozen=True):
    """The addresses of cells under a layout of the fewest turns, or None; the turns of every layout, at least."""

    addresses: Ints | None
    bound: int


def fewest(requests: Requests, known: int) -> Fewest:
    """Return a layout that takes fewer turns than `known`, and the fewest of all; or what is proved of all layouts."""
    bound, vectors = requests.least, Vectors.of(requests)
    if vectors is None:
        return Fewest(None, bound)
    phases = Counter((least, tuple(sets)) for least, sets in vectors.wanted(requests) if sets)
    literals = sum(len(some) for _, sets in phases for some in sets) * vectors.groups
    for above in range(min(known - bound, _MOST_LITERALS // max(1, literals))):
        with closing(_Question(phases, len(vectors.members), vectors.groups, above)) as question:
            found = question.answer()
            if found:
                return Fewest(vectors.addresses(question.chosen()), bound)
        if found is None:
            break
        bound += 1
    return Fewest(None, bound)


class _Question:
    """Whether groups for all vectors exist so that phases take at most `above` turns more than the least."""

    def __init__(self, phases: Mapping[Phase, int], count: int, groups: int, above: int) -> None:
        self.sat, self.last = SatSolver("glucose"), count * groups
        self.literals = 1 + np.arange(self.last).reshape(count, groups)
        self.sat.add(self.literals.tolist())
        first = dict.fromkeys(vector for _, sets in phases for some in sets for vector in some)
        for number, vector in enumerate(first):
            self.sat.add([-literal] for literal in self.literals[vector, number + 1 :].tolist())
        extra: list[int] = []
        for (least, sets), times in phases.items():
            more = self._fresh(above)  # it takes one turn more than its least, two, ...
            for some, group in product(sets, range(groups)):
                self._bound(self.literals[list(some), group].tolist(), least, more)
            if not above:  # a set that fills all groups leaves none empty
                full = [some for some in sets if len(some) == groups * least]
                self.sat.add(self.literals[list(some), group].tolist() for some in full for group in range(groups))
            extra += more * times
        self._bound(extra, above, [])

    def answer(self) -> bool | None:
        """Return None where that takes too long."""
        return self.sat.check([], None, conflicts=_MOST_CONFLICTS)

    def chosen(self) -> Ints:
        """Return the group of each vector."""
        holds = np.array(self.sat.model()[: self.literals.size]) > 0
        found: Ints = holds.reshape(self.literals.shape).argmax(axis=1)
        return found

    def close(self) -> None:
        self.sat.close()

    def _fresh(self, number: int) -> list[int]:
        self.last += number
        return list(range(self.last - number + 1, self.last + 1))

    def _bound(self, literals: Sequence[int], least: int, more: Sequence[int]) -> None:
        """Let at most `least` of the literals hold, or one more for each of `more` that holds."""
        counted = self._counted(literals, least + len(more) + 1)
        for number, literal in enumerate(counted[least:]):
            self.sat.add([[-literal, *more[number : number + 1]]])

    def _counted(self, literals: Sequence[int], most: int) -> list[int]:
        """Return literals that hold where at least one, two, ..., `most` of these do."""
        if len(literals) <= 1:
            return list(literals)
        half = len(literals) // 2
        left, right = self._counted(literals[:half], most), self._counted(literals[half:], most)
        found = self._fresh(min(most, len(literals)))
        for i, j in product(range(len(left) + 1), range(len(right) + 1)):
            if i + j:
                both = ([-left[i - 1]] if i else []) + ([-right[j - 1]] if j else [])
                self.sat.add([[*both, found[min(i + j, len(found)) - 1]]])
        return found
