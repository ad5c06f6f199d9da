"""Guards: Boolean conditions over the choices that fill the holes.

A guard is a literal, a non-zero int: `g` or its negation `-g`. TRUE and FALSE are literals too. What a guard means
is fixed by clauses kept here, which reach a solver in batches (`symbolic.solve.guard_solver`), so that a large problem
is a flat conjunction of clauses and no engine has to normalise it again.

A conjunction is a *cube*, which stays open until a clause needs its name: a conjunction of cubes is one cube of all
their parts, and under a negation it is spelt out. So a conjunction between the holes' choices and
a requirement adds no variables or clauses until it is named.

Invariant: every literal but TRUE and FALSE is a choice, an open cube, or equivalent, by its clauses, to what it stands
for; where only one implication is kept, the function's docstring says so. Guards are simplified while they are built
(constants, repeats, complements).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from symbolic.algebra.exact import folded
from symbolic.limits import OutOfMemory, look

Guard: TypeAlias = int
TRUE: Guard = 1
FALSE: Guard = -1
WIDEST_CUBE = 8  # parts
PAIRWISE = 6  # guards of which at most one holds, said of each pair
MOST_GUARDS, MOST_CLAUSES = 3_000_000, 7_000_000  # of one set: either takes some 1.8 GB


class TooLarge(OutOfMemory):
    """There are more guards or clauses than fit into memory; the message says how many."""


class Guards:
    """A growing set of clauses over guards, and the memory that makes equal guards one.

    Building looks at the limits of its thread; more than fits into any memory is `TooLarge`.
    """

    def __init__(self) -> None:
        self.variables = 1
        self.clauses = 1
        self._pending: list[list[Guard]] = [[TRUE]]
        self._and: dict[tuple[Guard, Guard], Guard] = {}
        self._cubes: dict[Guard, tuple[Guard, ...]] = {}
        self._by_parts: dict[tuple[Guard, ...], Guard] = {}
        self._open: set[Guard] = set()  # cubes without clauses, and their negations
        self._or: dict[tuple[Guard, ...], Guard] = {}

    # -- building -------------------------------------------------------------------------------------------

    def fresh(self) -> Guard:
        """Return a new literal, which nothing restricts yet."""
        self.variables += 1
        if self.variables % 1024 == 0:
            self._check_limits()
        return self.variables

    def _check_limits(self) -> None:
        look()
        if self.variables > MOST_GUARDS or self.clauses > MOST_CLAUSES:
            raise TooLarge(f"too large: {self.variables:,} conditions on the holes, {self.clauses:,} clauses")

    def add(self, clause: Iterable[Guard]) -> None:
        """Require that one of these guards holds."""
        literals = set(clause)
        literals.discard(FALSE)
        if not self._open.isdisjoint(literals):
            if len(literals) == 1 and (cube := self._cubes.get(next(iter(literals)))) is not None:
                for part in cube:
                    self.add((part,))
                return
            literals = self._spelt_out(literals)
        if TRUE in literals or len(set(map(abs, literals))) < len(literals):
            return
        self.clauses += 1
        if self.clauses % 1024 == 0:
            self._check_limits()
        self._pending.append(sorted(literals))

    def both(self, a: Guard, b: Guard) -> Guard:
        """Return the guard `a and b`, a cube."""
        if a == b or b == TRUE:
            return a
        if a == TRUE:
            return b
        if a == FALSE or b == FALSE or a == -b:
            return FALSE
        key = (a, b) if a < b else (b, a)
        found = self._and.get(key)
        if found is None:
            parts = {*self._parts(a), *self._parts(b)}
            found = self._and[key] = self._cube(parts) if len(set(map(abs, parts))) == len(parts) else FALSE
        return found

    def any(self, guards: Iterable[Guard]) -> Guard:
        """Return the guard 'one of these holds'."""
        literals = set(guards)
        literals.discard(FALSE)
        if len(literals) < 2:
            return literals.pop() if literals else FALSE
        if TRUE in literals or len(set(map(abs, literals))) < len(literals):
            return TRUE
        key = tuple(sorted(literals))
        found = self._or.get(key)
        if found is None:
            found = self._or[key] = self.fresh()
            if not self._open.isdisjoint(key):
                for guard in key:
                    self._define(guard)
            self._pending.append([-found, *key])
            self._pending += [[found, -g] for g in key]
            self.clauses += 1 + len(key)
        return found

    def chosen(self, cases: Iterable[tuple[Guard, Guard]]) -> Guard:
        """Return the guard that holds where that of the chosen case does; of each case, when it is chosen comes first.

        The cases are exclusive and exhaustive.
        """
        live = [(when, then) for when, then in cases if when != FALSE]
        results = {then for _, then in live}
        if len(results) == 1:
            return results.pop()
        if results <= {TRUE, FALSE}:
            return self.any(when for when, then in live if then == TRUE)
        for usual in (FALSE, TRUE):
            others = [(when, then) for when, then in live if then != usual]
            if len(others) == 1:
                ((when, then),) = others
                return self.both(when, then) if usual == FALSE else -self.both(when, -then)
        found = self.fresh()
        for when, then in live:
            self.add((-when, -then, found))
            self.add((-when, then, -found))
        return found

    def tied(self, groups: Sequence[Sequence[tuple[Guard, Guard]]]) -> list[Guard]:
        """Return for each group of pairs the guard that both of some pair hold; of all pairs, those of one do."""
        if len(groups) == 2:
            first = self.fresh()
            found = [first, -first]
        else:
            found = [self.fresh() for _ in groups]
            self.exactly_one(found)
        for guard, group in zip(found, groups, strict=True):
            for a, b in group:
                self.add((-a, -b, guard))
        return found

    def odd_one(self, a: Guard, b: Guard) -> Guard:
        """Return the guard 'one of these holds, and not the other'."""
        if FALSE in (a, b):
            return b if a == FALSE else a
        if TRUE in (a, b):
            return -b if a == TRUE else -a
        if abs(a) == abs(b):
            return FALSE if a == b else TRUE
        return self._sum(a, b)

    def left_open(self, guard: Guard) -> Guard | None:
        """Return a guard to go on with if it need not be worked out further where this one holds, else None.

        Only guards of many fillings side by side say so: of a few that are left, it may stay open whether it holds.
        """
        return None

    # -- cubes ----------------------------------------------------------------------------------------------

    def _parts(self, guard: Guard) -> tuple[Guard, ...]:
        """Return the guards whose conjunction this is: those of a small cube, else itself, defined."""
        if guard in self._open:
            cube = self._cubes.get(guard)
            if cube is not None and len(cube) <= WIDEST_CUBE // 2:
                return cube
            self._define(guard)
        return (guard,)

    def _cube(self, parts: set[Guard]) -> Guard:
        key = tuple(sorted(parts))
        found = self._by_parts.get(key)
        if found is None:
            found = self._by_parts[key] = self.fresh()
            self._cubes[found] = key
            self._open |= {found, -found}
        return found

    def _define(self, guard: Guard) -> None:
        """Give an open cube, or the negation of one, its clauses."""
        if guard in self._open:
            name = abs(guard)
            cube = self._cubes[name]
            self._open -= {name, -name}
            self._pending += [[-name, g] for g in cube]
            self._pending.append([name, *(-g for g in cube)])
            self.clauses += 1 + len(cube)

    def _spelt_out(self, literals: set[Guard]) -> set[Guard]:
        """Return a clause without open cubes: a negated one is the negations of its parts, the others are defined."""
        found: set[Guard] = set()
        for guard in literals:
            if guard < 0 and guard in self._open:
                found.update(-g for g in self._cubes[-guard])
            else:
                self._define(guard)
                found.add(guard)
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

    def at_most_one_by_rectangle(self, guards: Sequence[Guard]) -> None:
        """Require that at most one of these holds (product encoding: at most one row and one column have one).

        It has as many clauses as `at_most_one` and a third of its guards, so there is less to propagate; among
        thousands, of which a solver is to choose, the chain has served better.
        """
        if len(guards) <= PAIRWISE:
            for one, other in itertools.combinations(guards, 2):
                self.add([-one, -other])
            return
        width = math.isqrt(len(guards) - 1) + 1
        columns = [self.fresh() for _ in range(width)]
        rows = [self.fresh() for _ in range(0, len(guards), width)]
        for position, guard in enumerate(guards):
            self.add([-guard, rows[position // width]])
            self.add([-guard, columns[position % width]])
        self.at_most_one_by_rectangle(rows)
        self.at_most_one_by_rectangle(columns)

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

    def sums(self, uses: Sequence[tuple[Guard, Any]]) -> dict[Any, Guard]:
        """Return, for each number that a sum may be, the guard that it is: each guard brings its number, or nothing."""
        found: dict[Any, Guard] = {0: TRUE}
        for guard, number in uses:
            grown: dict[Any, list[Guard]] = {}
            for total, before in found.items():
                grown.setdefault(total, []).append(self.both(before, -guard))
                grown.setdefault(folded(operator.add, total, number), []).append(self.both(before, guard))
            found = {total: self.any(guards) for total, guards in grown.items()}
        return found

    def odd(self, guards: Sequence[Guard], when: Guard = TRUE, is_odd: bool = True) -> None:
        """Require, where `when` holds, that an odd number of these hold, or an even one; a guard twice is none.

        The sums so far are a chain of new guards, each defined by four clauses.
        """
        odd_ones: set[Guard] = set()
        for guard in guards:
            is_odd ^= guard < 0
            odd_ones ^= {abs(guard)}
        if TRUE in odd_ones:
            odd_ones.remove(TRUE)
            is_odd = not is_odd
        sums = [guard for guard in dict.fromkeys(map(abs, guards)) if guard in odd_ones]
        if not sums:
            if is_odd:
                self.add([-when])
            return
        before = sums[0]
        for guard in sums[1:-1]:
            before = self._sum(before, guard)
        last = sums[-1] if len(sums) > 1 else FALSE
        for a, b in ((before, last), (-before, -last)) if is_odd else ((before, -last), (-before, last)):
            self.add([-when, a, b])

    def _sum(self, a: Guard, b: Guard) -> Guard:
        """Return a new guard 'one of these holds, and not the other'."""
        found = self.fresh()
        for x, y in ((a, b), (-a, -b)):
            self.add([-found, x, y])
            self.add([found, x, -y])
        return found

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

    def named(self, guard: Guard) -> Guard:
        """Return a guard that clauses may speak of from outside: an assumption of a question, say."""
        self._define(guard)
        return guard

    def reader(self, holds: Callable[[Guard], bool]) -> Callable[[Guard], bool]:
        """Return the function that tells whether any guard holds, from one that knows what clauses speak of."""

        def reads(guard: Guard) -> bool:
            cube = self._cubes.get(abs(guard))
            return holds(guard) if cube is None else all(map(reads, cube)) == (guard > 0)

        return reads

    def take(self) -> list[list[Guard]]:
        """Return the clauses added since the last call."""
        batch, self._pending = self._pending, []
        return batch
