"""Permutations of n places by the paper's primitives, and which compositions of a few of them a permutation is.

A step is a `fan`, or a `fan` or `rot` within groups (`group`, equation 4) or of whole units (`unit`, equation 9).
`peeled` finds three steps, with rotations before the first and before the last one. Compositions of two steps are kept
as tables, by what they are up to a rotation of their values. A third step is peeled off from outside.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from symbolic.column_keys import factors
from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.formula import binary, number, remainder, signed, times, total
from templates.primitives import fan
from templates.words import nearest_to_zero

_Numbers: TypeAlias = npt.NDArray[np.int64]
StepTables: TypeAlias = npt.NDArray[np.uint16]


class FanStep(NamedTuple):
    """`(c_f * x + x // d_f + c) % m`, of m places: `fan(c_f, d_f)`, then `rot(c)`; d_f = m leaves x // d_f out.

    Where n = m * u, the n places are taken as units of u. Else, if m < n, it works within groups of m.
    """

    m: int
    u: int
    c_f: int
    d_f: int
    c: int

    def inner(self, x: Any) -> Any:
        """Return where one of m places comes from."""
        return (fan(self.m, self.c_f, self.d_f, x) + self.c) % self.m

    def of(self, x: Any) -> Any:
        """Return where a place comes from."""
        if self.u > 1:
            return self.inner(x // self.u) * self.u + x % self.u
        return x // self.m * self.m + self.inner(x % self.m)

    @property
    def weight(self) -> int:
        """How heavy it is to read: the identity 0, what works in groups or units more than what does not."""
        near = min(self.c_f, self.m - self.c_f)
        terms = (self.c != 0) + (self.d_f != self.m) + (near > 1) + (self.c_f != 1 % self.m)
        return terms + 3 * (self.u > 1)

    def expression(self, x: Expr, n: int, place: Place) -> Expr:
        """Return it as an index expression."""
        if self.u > 1:
            whole = self._inner(binary("//", x, number(self.u, place)), place)
            unit = binary("*", whole, number(self.u, place))
            return total([unit, binary("%", x, number(self.u, place))], place)
        if self.m == n:
            return self._inner(x, place)
        start = binary("*", binary("//", x, number(self.m, place)), number(self.m, place))
        return total([start, self._inner(binary("%", x, number(self.m, place)), place)], place)

    def _inner(self, x: Expr, place: Place) -> Expr:
        later = binary("//", x, number(self.d_f, place)) if self.d_f != self.m else None
        return remainder(total([times(signed(self.c_f, self.m), x), later], place, signed(self.c, self.m)), self.m)

    def words(self, n: int) -> str:
        """Say what it does (see `templates/words.py`)."""
        parts = []
        if self.d_f != self.m:
            step = self.m // self.d_f
            spread = f"transpose a {self.d_f} x {step} matrix" if self.c_f == step % self.m else ""
            parts.append(spread or f"fan by {self.c_f}, one further after every {self.d_f}")
        elif self.c_f != 1 % self.m:
            parts.append(f"fan by {self.c_f}")
        if self.c:
            parts.append(f"rotate by {nearest_to_zero(self.c, self.m)}")
        where = f" in units of {self.u}" if self.u > 1 else f" in groups of {self.m}" if self.m < n else ""
        return ", then ".join(part + where for part in parts)


def identity(n: int) -> FanStep:
    return FanStep(n, 1, 1 % n, n, 0)


@lru_cache(maxsize=256)
def fans(m: int) -> tuple[FanStep, ...]:
    """Return the fans of m places that are permutations, once each, the identity first."""
    found: dict[bytes, FanStep] = {}
    x = np.arange(m)
    for d_f in [m, *(d for d in range(m - 1, 0, -1) if m % d == 0)]:
        for c_f in sorted(range(m), key=lambda c: (c != 1 % m, min(c, m - c), c)):
            if c_f % (m // d_f) == 0:
                step = FanStep(m, 1, c_f, d_f, 0)
                table = step.inner(x)
                if len(set(table.tolist())) == m:
                    found.setdefault(table.tobytes(), step)
    return tuple(found.values())


@lru_cache(maxsize=64)
def steps(n: int) -> tuple[tuple[FanStep, ...], StepTables]:
    """Return all steps of n places, once each and from light to heavy, and their tables, a line each."""
    parts = [(m, u) for m in range(2, n) if n % m == 0 for u in (1, n // m)]
    some = [step._replace(u=u) for m, u in [(n, 1), *parts] for step in fans(m)]
    some += [FanStep(m, u, 1, m, c) for m, u in parts for c in range(1, m)]
    some.sort(key=lambda step: (step.weight, step != identity(n)))
    found, x = dict[bytes, FanStep](), np.arange(n)
    for step in some:
        found.setdefault(step.of(x).astype(np.uint16).tobytes(), step)
    return tuple(found.values()), np.frombuffer(b"".join(found), np.uint16).reshape(-1, n)


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[_Numbers, _Numbers]:
    """Return the compositions of two steps up to a rotation of their values: their marks in order, and, for each, the
    number of the pair, the first one that has it."""
    tables = steps(n)[1]
    marks = [_marks(tables[:, table].astype(np.int64), n) for table in tables]
    found = np.unique(np.concatenate(marks), return_index=True)
    return found[0], found[1]


def _marks(lines: _Numbers, n: int) -> _Numbers:
    """Return a number for each line of values, the same for those that differ by a rotation; few others agree."""
    apart = lines - lines[:, :1]
    apart += (apart >> 63) & n  # modulo n, in less time
    found: _Numbers = apart @ factors(lines.shape[1])
    return found


class Peeled(NamedTuple):
    """`last((then(first((x + turn) % n)) + between) % n)`."""

    turn: int
    first: FanStep
    then: FanStep
    between: int
    last: FanStep


def peeled(permutation: npt.NDArray[np.int64]) -> Peeled | None:
    """Return the steps that make a permutation, those with the lightest last one first; None if there are none."""
    n = len(permutation)
    some, tables = steps(n)
    marks, pairs = _pairs(n)
    turned = permutation[(np.arange(n)[None, :] - np.arange(n)[:, None]) % n]  # a line for each rotation before
    for last, table in enumerate(tables):
        back = np.argsort(table)[turned]
        wanted = _marks(back, n)
        at = np.searchsorted(marks, wanted).clip(max=len(marks) - 1)
        found = []
        for turn in np.flatnonzero(marks[at] == wanted).tolist():
            first, then = divmod(int(pairs[at[turn]]), len(tables))
            between = (back[turn] - tables[then][tables[first]].astype(np.int64)) % n
            if (between == between[0]).all():
                offset = int(between[0])
                weight = some[first].weight + some[then].weight + (turn > 0) + (offset > 0)
                found.append((weight, Peeled(turn, some[first], some[then], offset, some[last])))
        if found:
            return min(found)[1]
    return None
