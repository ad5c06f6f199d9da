"""`?sw_xform(i, n, k)` as a composition: rotate by an amount of k, then up to three steps (paper, section 8).

The steps are fans, and fans and rotations within groups or of whole units, with one more rotation before the last:
`last((then(first((i + R) % n)) + between) % n)`, R = c_r * k + k // d_r + c. Each such function permutes the places for
every k. There are far too many to be listed (10^12 for 32 places), but a function is recognised by its values: its
amounts of rotation follow from where one value goes, and the steps are peeled off (`templates/compose.py`).

Permutations of n places by the paper's primitives, and which compositions of a few of them a permutation is.

A step is a `fan`, or a `fan` or `rot` within groups (`group`, equation 4) or of whole units (`unit`, equation 9).
`peeled` finds three steps, with rotations before the first and before the last one. Compositions of two steps are kept
as tables, by what they are up to a rotation of their values. A third step is peeled off from outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.chooser import Choice, Chooser
from templates.formula import binary, nearest_to_zero, number, remainder, signed, sum_of, times, total
from templates.primitives import Int64s, fan, rates_of
from templates.template import (
    HolePoints,
    Point,
    Points,
    Template,
    TemplateFamily,
    ValuesThere,
    by_size,
    factors,
    integers,
    known_values,
)

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
        """Say what it does (see `templates/formula.py`)."""
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


T = TypeVar("T")
LARGEST = 64  # places
PARTS = ("first", "then", "last")


class Compose(Template):
    """A composition of steps, as above; d_r is at most the largest k, and 0 leaves k // d_r out."""

    def __init__(self, n: int, largest: int) -> None:
        self.n, self.largest = n, largest

    @cached_property
    def components(self) -> tuple[tuple[Any, ...], ...]:  # type: ignore[override]
        """c_r, d_r, c, the first two steps, the rotation between, the last step."""
        some, n = steps(self.n)[0], self.n
        return by_size(n), tuple(range(self.largest + 1)), tuple(range(n)), some, some, tuple(range(n)), some

    @property
    def some(self) -> Choice:
        own = identity(self.n)
        return 0, 0, 0, own, own, 0, own

    def at(self, chooser: Chooser[T], point: Point) -> T:
        i, k = point[0], point[1] if len(point) > 1 else 0
        rate = chooser.both(
            lambda a, b: (a + b) % self.n,
            chooser.pick(0, lambda c_r: c_r * k % self.n),
            chooser.pick(1, lambda d_r: k // d_r if d_r else 0),
        )
        value = chooser.both(lambda a, c: (i + a + c) % self.n, rate, chooser.pick(2, lambda c: c))
        for component in (3, 4):
            value = chooser.both(lambda x, step: step.of(x), value, chooser.pick(component, lambda step: step))
        value = chooser.both(lambda x, c: (x + c) % self.n, value, chooser.pick(5, lambda c: c))
        return chooser.both(lambda x, step: step.of(x), value, chooser.pick(6, lambda step: step))

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        c_r, d_r, c, first, then, between, last = choice
        i, k = arguments[0], arguments[1] if len(arguments) > 1 else 0
        x = (i + c_r * k + (k // d_r if d_r else 0) + c) % self.n
        return last.of((then.of(first.of(x)) + between) % self.n)

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        c_r, d_r, c, first, then, between, last = choice
        some = (first, then, last)
        return sum(step != identity(self.n) for step in some), sum(s.weight for s in some), d_r, c_r, c, between

    def simplest(self, points: Points, values: ValuesThere) -> Choice | None:
        """Return a choice with these values: of the fewest steps, the lightest last one first.

        A value None is free. Unless all values are there for some k, None does not mean that there is no choice.
        """
        i, k, value = known_values(points, values)
        whole = np.flatnonzero(np.bincount(k) == self.n)
        if not len(whole):
            return None
        row = k == whole[0]
        source = np.full(self.n, -1)
        source[value[row]] = i[row]
        if (source < 0).any():
            return None  # no permutation
        amounts = (source[value] - i) % self.n  # by how much more k turns than `whole[0]` does
        of_k = np.full(int(k.max()) + 1, -1)
        of_k[k] = amounts
        if (of_k[k] != amounts).any():
            return None
        shifts: Int64s = np.flatnonzero(of_k >= 0)
        rates = rates_of(shifts, of_k[shifts], self.n, range(self.largest + 1))
        if not rates:
            return None
        rate = rates[0]
        permutation = np.empty(self.n, np.int64)
        permutation[(i[row] + _turn(rate, whole[0])) % self.n] = value[row]
        found = peeled(permutation)
        return None if found is None else (*rate, found.turn, found.first, found.then, found.between, found.last)

    def recognised(self, points: Points, values: ValuesThere) -> Choice | None:
        return self.simplest(points, values)

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        c_r, d_r, c, first, then, between, last = choice
        named = {"compose": 1, "c_r": c_r, "d_r": d_r, "c": c, "between": between}
        some = zip(PARTS, (first, then, last), strict=True)
        return named | {f"{part}_{name}": value for part, step in some for name, value in step._asdict().items()}

    def parse(self, constants: Mapping[str, object]) -> Choice:
        c_r, d_r, c, between = integers(constants, ("c_r", "d_r", "c", "between"))
        some = [FanStep(*integers(constants, [f"{part}_{name}" for name in FanStep._fields])) for part in PARTS]
        for step in some:
            if step.m < 1 or self.n % step.m or (step.u > 1 and step.m * step.u != self.n) or step.d_f < 1:
                raise ValueError(f"the hole has no step {step} of {self.n} places")
        if d_r < 0:
            raise ValueError(f"d_r of the hole is {d_r}")
        first, then, last = some
        return c_r % self.n, d_r, c % self.n, first, then, between % self.n, last

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        c_r, d_r, c, first, then, between, last = choice
        n, i = self.n, arguments[0]
        k = arguments[1] if len(arguments) > 1 else number(0, place)
        later = binary("//", k, number(d_r, place)) if d_r > 1 else k if d_r else None
        amount = [times(signed(c_r, n), k), later]
        value = remainder(total([i, *amount], place, signed(c, n)), n) if c_r or d_r or c else i
        for step, offset in ((first, 0), (then, between), (last, 0)):
            value = value if step == identity(n) else step.expression(value, n, place)
            value = remainder(total([value], place, signed(offset, n)), n) if offset else value
        return value

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        c_r, d_r, c, first, then, between, last = choice
        k = names[1] if len(names) > 1 else ""
        terms = [(nearest_to_zero(c_r, self.n), k)] + ([(1, f"{k} // {d_r}")] if d_r else [])
        amount = sum_of([term for term in terms if term[0] and k], nearest_to_zero(c, self.n))
        parts = [f"rotate by {amount}" if amount != "0" else ""]
        parts += ["" if step == identity(self.n) else step.words(self.n) for step in (first, then)]
        parts += [f"rotate by {nearest_to_zero(between, self.n)}" if between else ""]
        parts += ["" if last == identity(self.n) else last.words(self.n)]
        return ", then ".join(part for part in parts if part) or "as it is"


def _turn(rate: tuple[int, int], k: Any) -> Any:
    c_r, d_r = rate
    return c_r * k + (k // d_r if d_r else 0)


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> Compose | None:
    """Return the template, for up to `LARGEST` places."""
    shifts = HolePoints.of(points).shifts
    if not 2 <= size <= LARGEST or min(shifts, default=0) < 0:
        return None
    return Compose(size, min(LARGEST, max(shifts, default=0)))


def saved(size: int, arity: int, points: tuple[Point, ...]) -> Compose | None:
    """Return a template that reads constants from a file."""
    return Compose(size, 0) if 2 <= size <= LARGEST else None


FAMILY = TemplateFamily("compose", "xform", make, saved=saved)
