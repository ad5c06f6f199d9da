"""Guards: Boolean conditions over the choices that fill the holes.

A guard is a literal, a non-zero int: `g` or its negation `-g`. TRUE and FALSE are literals too. What a guard means
is fixed by clauses kept here, which reach a solver in batches (`symbolic.guard_solver`), so that a large problem is a
flat conjunction of clauses and no engine has to normalise it again.

Invariant: every literal but TRUE and FALSE is a choice or is defined by clauses in both directions, except where a
docstring says one direction; simplification happens while a guard is built (constants, repeats, complements).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Guard: TypeAlias = int
TRUE: Guard = 1
FALSE: Guard = -1


class OutOfTime(Exception):
    """The deadline passed while guards were being built."""


class Guards:
    """A growing set of clauses over guards, and the memory that makes equal guards one.

    With a deadline (of `time.monotonic`), building past it raises `OutOfTime`.
    """

    def __init__(self, deadline: float | None = None) -> None:
        self.deadline = deadline
        self.variables = 1
        self.clauses = 1
        self._pending: list[list[Guard]] = [[TRUE]]
        self._and: dict[tuple[Guard, Guard], Guard] = {}
        self._or: dict[tuple[Guard, ...], Guard] = {}

    # -- building -------------------------------------------------------------------------------------------

    def fresh(self) -> Guard:
        """Return a new choice."""
        self.variables += 1
        if self.variables % 1024 == 0 and self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime
        return self.variables

    def add(self, clause: Iterable[Guard]) -> None:
        """Require that one of these guards holds."""
        literals = set(clause)
        if TRUE in literals or any(-g in literals for g in literals if g > 0):
            return
        literals.discard(FALSE)
        self.clauses += 1
        self._pending.append(sorted(literals))

    def both(self, a: Guard, b: Guard) -> Guard:
        """Return the guard `a and b`."""
        if a == b or b == TRUE:
            return a
        if a == TRUE:
            return b
        if a == FALSE or b == FALSE or a == -b:
            return FALSE
        key = (a, b) if a < b else (b, a)
        found = self._and.get(key)
        if found is None:
            found = self._and[key] = self.fresh()
            self._pending += ([-found, a], [-found, b], [found, -a, -b])
            self.clauses += 3
        return found

    def any(self, guards: Iterable[Guard]) -> Guard:
        """Return the guard 'one of these holds'."""
        literals = set(guards)
        literals.discard(FALSE)
        if TRUE in literals or any(-g in literals for g in literals if g > 0):
            return TRUE
        if not literals:
            return FALSE
        if len(literals) == 1:
            return literals.pop()
        key = tuple(sorted(literals))
        found = self._or.get(key)
        if found is None:
            found = self._or[key] = self.fresh()
            self._pending.append([-found, *key])
            self._pending += [[found, -g] for g in key]
            self.clauses += 1 + len(key)
        return found

    # -- counting -------------------------------------------------------------------------------------------

    def at_most_one(self, guards: Sequence[Guard]) -> None:
        """Require that at most one of these holds (sequential encoding: linear, unlike PySMT's AtMostOne)."""
        before: Guard | None = None
        for position, guard in enumerate(guards):
            if before is None:
                before = guard
                continue
            self.add([-before, -guard])
            if position < len(guards) - 1:
                after = self.fresh()
                self.add([-before, after])
                self.add([-guard, after])
                before = after

    def exactly_one(self, guards: Sequence[Guard]) -> None:
        """Require that exactly one of these holds."""
        self.add(guards)
        self.at_most_one(guards)

    def exactly(self, count: int, guards: Sequence[Guard], when: Guard = TRUE) -> None:
        """Require, where `when` holds, that exactly `count` of these hold."""
        if when == TRUE and count == 1:
            self.exactly_one(guards)
            return
        if count > len(guards):
            self.add([-when])
            return
        if count == 0:
            for guard in guards:
                self.add([-when, -guard])
            return
        totals = self.counter(guards, count + 1)
        self.add([-when, totals[count - 1]])
        if len(totals) > count:
            self.add([-when, -totals[count]])

    def counter(self, guards: Sequence[Guard], limit: int) -> list[Guard]:
        """Return guards t where t[j] holds exactly when at least j + 1 of these hold, for j < limit."""
        totals: list[Guard] = []
        for guard in guards:
            grown = []
            for j in range(min(len(totals) + 1, limit)):
                carry = guard if j == 0 else self.both(guard, totals[j - 1])
                grown.append(self.any((carry, totals[j])) if j < len(totals) else carry)
            totals = grown
        return totals

    # -- reaching the solver --------------------------------------------------------------------------------

    def take(self) -> list[list[Guard]]:
        """Return the clauses added since the last call."""
        batch, self._pending = self._pending, []
        return batch
