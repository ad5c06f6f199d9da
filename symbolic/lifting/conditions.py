"""Path conditions: guards over Boolean formulas, simplified while they are built.

A guard is a literal as in `symbolic.values.guard`, a non-zero int whose negation is `-g`. Here it is an *atom*, some
Boolean formula that is taken as a whole, or a *cube*, the conjunction of several guards; a disjunction is a negated
cube. So paths that part at a test and meet again have the condition from before the test, without asking a solver.

Invariant: no cube holds a guard with its negation, a cube itself, a negated cube that its other parts decide, two
atoms that say that one term is different constants, or bounds of a term that exclude or imply each other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from math import inf
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from symbolic.solve.floor_division import manager
from symbolic.values.guard import FALSE, TRUE, Guard

if TYPE_CHECKING:
    from pysmt.fnode import FNode

_TABLES: WeakKeyDictionary[object, Conditions] = WeakKeyDictionary()


def conditions() -> Conditions:
    """Return the guards over the formulas of PySMT's current environment; like formulas, they are interned in it."""
    if "pysmt.environment" not in sys.modules:
        return _WITHOUT_FORMULAS
    found = _TABLES.get(manager())
    if found is None:
        found = _TABLES[manager()] = Conditions()
    return found


@cache
def _orders() -> dict[int, tuple[bool, str]]:
    """Return which comparisons are strict, and how they read bits, by PySMT's number."""
    import pysmt.operators as op

    return {
        op.LT: (True, ""), op.LE: (False, ""), op.BV_ULT: (True, ""), op.BV_ULE: (False, ""),
        op.BV_SLT: (True, "signed"), op.BV_SLE: (False, "signed"),
    }  # fmt: skip


class Conditions:
    """The memory that makes equal conditions one guard."""

    def __init__(self) -> None:
        self._last: Guard = TRUE
        self._formulas: dict[Guard, FNode] = {}
        self._guards: dict[FNode, Guard] = {}
        self._cubes: dict[Guard, frozenset[Guard]] = {TRUE: frozenset()}
        self._by_parts: dict[frozenset[Guard], Guard] = {frozenset(): TRUE}
        self._both: dict[tuple[Guard, Guard], Guard] = {}
        self._equalities: dict[Guard, tuple[FNode, FNode]] = {}
        """The atoms that say that a term is a constant: of those of one term at most one holds."""
        self._uppers: dict[Guard, tuple[object, int]] = {}
        self._bounded: dict[Guard, Sequence[Guard]] = {}
        """Of guards that say that a term is at most a number, both; the guard's negation says that it is more."""

    # -- guards and formulas ----------------------------------------------------------------------------------

    def guard(self, formula: FNode) -> Guard:
        """Return the guard that says what a Boolean formula says."""
        found = self._guards.get(formula)
        if found is None:
            if formula.is_bool_constant():
                found = TRUE if formula.is_true() else FALSE
            elif formula.is_not():
                found = -self.guard(formula.arg(0))
            elif formula.is_and():
                found = self.all(map(self.guard, formula.args()))
            elif formula.is_or():
                found = -self.all(-self.guard(argument) for argument in formula.args())
            elif formula.is_implies():
                found = -self.both(self.guard(formula.arg(0)), -self.guard(formula.arg(1)))
            else:
                found = self._name()
                self._formulas[found] = formula
                self._formulas[-found] = manager().Not(formula)
                self._guards[self._formulas[-found]] = -found
                self._note_equality(found, formula)
                self._note_bound(found, formula)
            self._guards[formula] = found
        return found

    def formula(self, guard: Guard) -> FNode:
        """Return the formula of a guard; asking for its guard gives this one again."""
        found = self._formulas.get(guard)
        if found is None:
            parts = sorted(self._needed(self._cubes[abs(guard)]), key=abs)  # none of TRUE
            if guard > 0:
                found = manager().And([self.formula(part) for part in parts])
            else:
                found = manager().Or([self.formula(-part) for part in parts])
            self._formulas[guard] = found
            self._guards.setdefault(found, guard)
        return found

    def parts(self, guard: Guard) -> frozenset[Guard]:
        """Return the guards whose conjunction this is: itself, or those of a cube."""
        return self._cubes.get(guard) or (frozenset() if guard == TRUE else frozenset({guard}))

    # -- a term that is compared with constants ---------------------------------------------------------------

    def _note_equality(self, guard: Guard, formula: FNode) -> None:
        if formula.is_equals():
            for term, constant in (formula.args(), reversed(formula.args())):
                if constant.is_constant():
                    self._equalities[guard] = term, constant

    def _constants(self, parts: Iterable[Guard]) -> dict[FNode, FNode] | None:
        """Return the terms that parts say are constants, and which; None where one would be two constants."""
        found: dict[FNode, FNode] = {}
        for part in parts:
            equality = self._equalities.get(part)
            if equality is not None and found.setdefault(*equality) is not equality[1]:
                return None
        return found

    def _needed(self, parts: frozenset[Guard]) -> Iterable[Guard]:
        """Return a cube's parts without 'the term is not 1' beside 'the term is 2'."""
        constants = self._constants(parts) or {}
        for part in parts:
            term, constant = self._equalities.get(-part, (None, None))
            if term is None or constants.get(term, constant) is constant:
                yield part

    # -- a term that has bounds -----------------------------------------------------------------------------------

    def _note_bound(self, guard: Guard, formula: FNode) -> None:
        order = _orders().get(formula.node_type())
        if order is None:
            return
        strict, (left, right) = order[0], formula.args()
        for constant, term, sign in ((right, left, 1), (left, right, -1)):
            if constant.is_int_constant() or constant.is_bv_constant():
                value = constant.bv_signed_value() if order[1] == "signed" else constant.constant_value()
                # left < c says left <= c - 1; c < right says that right <= c does not hold
                self._uppers[sign * guard] = (term, order[1]), value - strict if sign > 0 else value - (not strict)

    def _limits(self, parts: Iterable[Guard]) -> dict[object, tuple[float, float]] | None:
        """Return between which numbers parts say that terms are; None where there is none between them."""
        found: dict[object, tuple[float, float]] = {}
        for part in parts:
            upper, lower = self._uppers.get(part), self._uppers.get(-part)
            if upper is not None or lower is not None:
                term, number = upper or lower  # type: ignore[misc]
                low, high = found.get(term, (-inf, inf))
                low, high = (low, min(high, number)) if upper is not None else (max(low, number + 1), high)
                if low > high:
                    return None
                found[term] = low, high
        return found

    def _follows(self, part: Guard, limits: dict[object, tuple[float, float]]) -> bool:
        """Tell whether a part is implied by what is known of a term's bounds."""
        upper, lower = self._uppers.get(part), self._uppers.get(-part)
        if upper is not None:
            return limits.get(upper[0], (-inf, inf))[1] <= upper[1]
        return lower is not None and limits.get(lower[0], (-inf, inf))[0] > lower[1]

    def _bounds(self, cube: Guard) -> Sequence[Guard]:
        """Return which parts of a cube are bounds of terms."""
        if cube not in self._bounded:
            uppers = self._uppers
            self._bounded[cube] = [part for part in self._cubes[cube] if part in uppers or -part in uppers]
        return self._bounded[cube]

    def _strongest(self, parts: Iterable[Guard]) -> Iterable[Guard]:
        """Yield parts without bounds that others of them imply."""
        best: dict[tuple[object, bool], tuple[int, Guard]] = {}
        for part in parts:
            upper, lower = self._uppers.get(part), self._uppers.get(-part)
            if upper is None and lower is None:
                yield part
            else:
                term, number = upper or lower  # type: ignore[misc]
                key, size = (term, upper is None), number if upper is not None else -number
                best[key] = min(best.get(key, (size, part)), (size, part))
        yield from (part for _, part in best.values())

    # -- building ---------------------------------------------------------------------------------------------

    def both(self, a: Guard, b: Guard) -> Guard:
        """Return the guard `a and b`."""
        if a == b or b == TRUE:
            return a
        if a == TRUE:
            return b
        if a == FALSE or b == FALSE or a == -b:
            return FALSE
        key = (a, b) if a < b else (b, a)
        found = self._both.get(key)
        if found is None:
            found = self._both[key] = self._cube(self.parts(a) | self.parts(b))
        return found

    def all(self, guards: Iterable[Guard]) -> Guard:
        """Return the guard 'all of these hold'."""
        parts: set[Guard] = set()
        for guard in guards:
            if guard == FALSE:
                return FALSE
            parts |= self.parts(guard)
        return self._cube(frozenset(parts))

    def any(self, guards: Iterable[Guard]) -> Guard:
        """Return the guard 'one of these holds'; paths are given in the order of their tests."""
        pending = [guard for guard in dict.fromkeys(guards) if guard != FALSE]
        if not pending:
            return FALSE
        found = pending.pop()
        while pending:
            found = self.either(pending.pop(), found)
        return found

    def either(self, a: Guard, b: Guard) -> Guard:
        """Return the guard `a or b`."""
        if a in (b, TRUE) or b == FALSE:
            return a
        if b == TRUE or a == FALSE:
            return b
        if a == -b:
            return TRUE
        left, right = self.parts(a), self.parts(b)
        common = left & right
        left, right = left - common, right - common
        if not left or not right:
            return self._cube(common)
        if common:
            return self.both(self._cube(common), self.either(self._cube(left), self._cube(right)))
        return -self.both(-a, -b)

    def apart(self, paths: Iterable[Guard]) -> list[Guard]:
        """Return what tells exclusive paths apart: each one's parts that not all of them have."""
        found = [self.parts(path) for path in paths]
        common = frozenset.intersection(*found)
        return [self._cube(parts - common) for parts in found]

    def _name(self) -> Guard:
        self._last += 1
        return self._last

    def _cube(self, parts: frozenset[Guard]) -> Guard:
        """Return the conjunction of parts that are no cubes; unit propagation through the negated ones."""
        known = self._by_parts.get(parts)
        if known is not None:
            return known
        work, changed = set(parts), True
        work.discard(TRUE)
        while changed:
            changed = False
            limits = self._limits(work)
            against = {-guard for guard in work}
            if limits is None or FALSE in work or not against.isdisjoint(work):
                self._by_parts[parts] = FALSE
                return FALSE
            for guard in list(work):
                denied = self._cubes.get(-guard) if guard < 0 else None
                if not denied or guard not in work:
                    continue
                bounds = self._bounds(-guard) if limits else ()
                if not denied.isdisjoint(against) or any(self._follows(-part, limits) for part in bounds):
                    work.discard(guard)
                    continue
                unknown = denied.difference(work, [part for part in bounds if self._follows(part, limits)])
                if len(unknown) < len(denied):
                    work.discard(guard)
                    work |= self.parts(-self._cube(unknown))
                    against = {-guard for guard in work}
                    changed = True
        if self._constants(work) is None:
            self._by_parts[parts] = FALSE
            return FALSE
        key = frozenset(self._strongest(work) if limits else work)
        if len(key) == 1:
            found = next(iter(key))
        else:
            found = self._by_parts.get(key, 0)
            if not found:
                found = self._by_parts[key] = self._name()
                self._cubes[found] = key
        self._by_parts[parts] = found
        return found


_WITHOUT_FORMULAS = Conditions()
"""Where PySMT was never loaded nothing is symbolic, and every condition is TRUE or FALSE."""
