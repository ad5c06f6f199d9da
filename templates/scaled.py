"""`?sw_cond(v, ...)` as `a * v + b * v' cmp I`, with small factors: dilated and strided stencils need it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, Final

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.comparison import ComparedNumber, Comparison
from templates.formula import times, total
from templates.template import Point, TemplateFamily

SMALL, BESIDE_ONE = 4, 8
FACTORS: Final = tuple(
    (a, way * b)
    for a, b in itertools.product(range(1, BESIDE_ONE + 1), repeat=2)
    for way in (1, -1)
    if max(a, b) > 1 and gcd(a, b) == 1 and (min(a, b) == 1 or max(a, b) <= SMALL)
)
"""Up to 8 where the other factor is 1 or -1, up to 4 else; those of `templates/cond.py` are left out."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """`a * v + b * v'`: arguments by their numbers."""

    left: int
    a: int
    right: int
    b: int

    def of(self, arguments: Sequence[Any]) -> Any:
        return self.a * arguments[self.left] + self.b * arguments[self.right]

    def sides(self, arguments: Sequence[Expr], place: Place) -> tuple[Expr, Expr | None]:
        left, right = times(self.a, arguments[self.left]), times(abs(self.b), arguments[self.right])
        return (total([left, right], place), None) if self.b > 0 else (total([left], place), right)

    @property
    def constants(self) -> Mapping[str, int]:
        return {"left": self.left, "a": self.a, "right": self.right, "b": self.b}


class ScaledCond(Comparison):
    """`a * v + b * v' cmp I`."""

    name = "scaled"
    names = ("left", "a", "right", "b")

    def __init__(self, arity: int, points: Sequence[Point]) -> None:
        pairs = itertools.combinations(range(arity), 2)
        forms = [Scaled(left, a, right, b) for left, right in pairs for a, b in FACTORS]
        super().__init__(arity, forms, points)

    def form(self, constants: Sequence[int]) -> ComparedNumber:
        left, a, right, b = constants
        return Scaled(self.argument(left), a, self.argument(right), b)


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> ScaledCond | None:
    """Return the template; a hole of one argument has none."""
    return ScaledCond(arity, points) if arity > 1 else None


FAMILY = TemplateFamily("scaled", "cond", make, saved=lambda size, arity, points: ScaledCond(arity, ()))
