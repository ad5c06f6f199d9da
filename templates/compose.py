"""`?sw_xform(i, n, k)` as a composition: rotate by an amount of k, then up to three steps (paper, section 8).

The steps are fans, and fans and rotations within groups or of whole units, with one more rotation before the last:
`last((then(first((i + R) % n)) + between) % n)`, R = c_r * k + k // d_r + c. Each such function permutes the places for
every k. There are far too many to be listed (10^12 for 32 places), but a function is recognised by its values: its
amounts of rotation follow from where one value goes, and the steps are peeled off (`templates/steps.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.chooser import Choice, Chooser
from templates.formula import binary, number, remainder, signed, times, total
from templates.points import HolePoints
from templates.rates import Int64s, rates_of
from templates.steps import FanStep, identity, peeled, steps
from templates.template import Point, Points, Template, TemplateFamily, ValuesThere, by_size, integers, known_values
from templates.words import nearest_to_zero, sum_of

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
