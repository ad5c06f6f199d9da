"""Guards of many fillings side by side: of each filling it is known whether a guard may hold, and whether it may fail.

A filling that decides every hole decides every guard. One that leaves holes open leaves guards open, too (Kleene's
three values), so what it surely breaks is broken however the open holes are filled. What is asked backward of data is
thus asked of tens of thousands of fillings at once, and no solver is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from symbolic.values.guard import FALSE, TRUE, Guard, Guards

Bits: TypeAlias = npt.NDArray[np.uint64]
"""One bit for each filling."""


class FewLeft(Exception):
    """All fillings, or all but a few, break a clause for sure."""


class Outcomes(Guards):
    """Guards of `count` fillings; `left` are those that break no clause for sure.

    A clause after which at most `few` are left raises `FewLeft`: these are not worth more questions.
    """

    def __init__(self, count: int, few: int = 0) -> None:
        super().__init__()
        self.count, self.few = count, few
        self._every = packed(np.ones(count, np.bool_))
        self._none = np.zeros_like(self._every)
        self._may = {TRUE: (self._every, self._none)}
        self._left = self._every

    @property
    def left(self) -> npt.NDArray[np.bool_]:
        """Which fillings are left."""
        return np.unpackbits(self._left.view(np.uint8), count=self.count, bitorder="little").astype(np.bool_)

    def known(self, holds: npt.NDArray[np.bool_]) -> Guard:
        """Return a guard of which every filling decides whether it holds."""
        bits = packed(holds)
        return self._made(bits, self._every & ~bits)

    def _made(self, may_hold: Bits, may_fail: Bits) -> Guard:
        if not (may_hold & self._left).any():
            return FALSE
        if not (may_fail & self._left).any():
            return TRUE
        found = self.fresh()
        self._may[found] = may_hold, may_fail
        return found

    def _of(self, guard: Guard) -> tuple[Bits, Bits]:
        may_hold, may_fail = self._may.get(abs(guard), (self._every, self._every))
        return (may_hold, may_fail) if guard > 0 else (may_fail, may_hold)

    # -- building -------------------------------------------------------------------------------------------

    def add(self, clause: Iterable[Guard]) -> None:
        literals = set(clause)
        if TRUE in literals or any(-guard in literals for guard in literals):
            return
        self.clauses += 1
        self._keep(self._one_may(literals))

    def _keep(self, bits: Bits) -> None:
        self._left = self._left & bits
        if self._are_few(self._left):
            raise FewLeft

    def _are_few(self, bits: Bits) -> bool:
        if not self.few:
            return not bits.any()
        return int.from_bytes(bits.tobytes(), "little").bit_count() <= self.few

    def left_open(self, guard: Guard) -> Guard | None:
        if not self.few or guard in (TRUE, FALSE):
            return None
        may_hold = self._of(guard)[0] & self._left
        return self._made(may_hold, self._every) if self._are_few(may_hold) else None

    def _one_may(self, guards: Iterable[Guard]) -> Bits:
        found = self._none
        for guard in guards:
            found = found | self._of(guard)[0]
        return found

    def both(self, a: Guard, b: Guard) -> Guard:
        if a == b or b == TRUE:
            return a
        if a == TRUE:
            return b
        if FALSE in (a, b) or a == -b:
            return FALSE
        key = (a, b) if a < b else (b, a)
        found = self._and.get(key)
        if found is None:
            (may_hold, may_fail), (other_may, other_may_fail) = self._of(a), self._of(b)
            found = self._and[key] = self._made(may_hold & other_may, may_fail | other_may_fail)
        return found

    def any(self, guards: Iterable[Guard]) -> Guard:
        literals = set(guards)
        literals.discard(FALSE)
        if len(literals) < 2:
            return literals.pop() if literals else FALSE
        if TRUE in literals or any(-guard in literals for guard in literals):
            return TRUE
        key = tuple(sorted(literals))
        found = self._or.get(key)
        if found is None:
            may_hold, may_fail = self._none, self._every
            for guard in key:
                one, other = self._of(guard)
                may_hold, may_fail = may_hold | one, may_fail & other
            found = self._or[key] = self._made(may_hold, may_fail)
        return found

    def chosen(self, cases: Iterable[tuple[Guard, Guard]]) -> Guard:
        live = [(when, then) for when, then in cases if when != FALSE]
        results = {then for _, then in live}
        if len(results) == 1:
            return results.pop()
        may_hold = may_fail = self._none
        for when, then in live:
            (chosen, _), (holds, fails) = self._of(when), self._of(then)
            may_hold, may_fail = may_hold | chosen & holds, may_fail | chosen & fails
        return self._made(may_hold, may_fail)

    def tied(self, groups: Sequence[Sequence[tuple[Guard, Guard]]]) -> list[Guard]:
        found = []
        for group in groups:
            may_hold = self._none
            for a, b in group:
                may_hold = may_hold | self._of(a)[0] & self._of(b)[0]
            found.append(may_hold)
        return [
            self._made(may_hold, np.bitwise_or.reduce([self._none, *found[:at], *found[at + 1 :]]))
            for at, may_hold in enumerate(found)
        ]

    def _sum(self, a: Guard, b: Guard) -> Guard:
        (holds, fails), (other_holds, other_fails) = self._of(a), self._of(b)
        return self._made(holds & other_fails | fails & other_holds, holds & other_holds | fails & other_fails)

    # -- counting -------------------------------------------------------------------------------------------

    def at_most_one(self, guards: Sequence[Guard]) -> None:
        one = several = self._none
        for guard in guards:
            holds = self._every & ~self._of(guard)[1]
            one, several = one | holds, several | one & holds
        self._keep(~several)

    def at_most_one_by_rectangle(self, guards: Sequence[Guard]) -> None:
        self.at_most_one(guards)

    def named(self, guard: Guard) -> Guard:
        return guard


def packed(holds: npt.NDArray[Any]) -> Bits:
    """Return a bit for each case of the last axis, filled up by zeros."""
    padded = np.zeros((*holds.shape[:-1], -(-holds.shape[-1] // 64) * 64), np.bool_)
    padded[..., : holds.shape[-1]] = holds
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)
