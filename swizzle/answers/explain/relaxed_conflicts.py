"""Smallest conflicts among requirements of one kind in a relaxed sketch, given other requirements."""

from __future__ import annotations

import time
from typing import Final

from swizzle.answers.explain.conflicts import Conflict, Met, MetOrNot, smallest
from swizzle.answers.explain.relaxed import Relaxed, RelaxedFilling
from swizzle.answers.explain.requirements import Requirement, Right

SHARES: Final = 4
"""One check may take this part of the time that is left."""


def smallest_of(
    relaxed: Relaxed,
    kind: type[Requirement],
    given: frozenset[Requirement],
    conflict: frozenset[Requirement],
    deadline: float,
    look_for: int,
    *,
    rules: bool = True,
) -> Conflict[Requirement]:
    """Return a smallest conflict among the requirements of one kind, given others; one conflict is known.

    With `rules`, all rules must be kept as well.
    """

    def own(parts: frozenset[Requirement]) -> frozenset[Requirement]:
        return frozenset(p for p in parts if isinstance(p, kind))

    universe = own(relaxed.holes | frozenset(relaxed.violations) | conflict)

    def check(some: frozenset[Requirement]) -> Met[Requirement] | Conflict[Requirement] | None:
        now = time.monotonic()
        answer = relaxed.check(given | some, now + (deadline - now) / SHARES, rules=rules)
        if isinstance(answer, RelaxedFilling):
            wrong: frozenset[Requirement] = frozenset(map(Right, answer.wrong))
            return Met(wrong if kind is Right else universe - some)
        return None if answer is None else Conflict(own(answer.parts))

    typed: MetOrNot[Requirement] = check
    return smallest(own(conflict), typed, relaxed.rank, look_for)
