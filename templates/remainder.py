"""`?sw_cond(v, ...)` as `v % m cmp I`, or of a sum or difference of two arguments: every second, every third one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.comparison import ComparedNumber, Comparison
from templates.formula import binary, number
from templates.template import Point, TemplateFamily

LARGEST: Final = 32  # modulus


@dataclass(frozen=True, slots=True)
class Remainder:
    """`(v + sign * v') % modulus`; with the sign 0 of v alone."""

    left: int
    sign: int
    right: int
    modulus: int

    def of(self, arguments: Sequence[Any]) -> Any:
        return (arguments[self.left] + self.sign * arguments[self.right]) % self.modulus

    def sides(self, arguments: Sequence[Expr], place: Place) -> tuple[Expr, Expr | None]:
        left, right = arguments[self.left], arguments[self.right]
        value = binary("+" if self.sign > 0 else "-", left, right) if self.sign else left
        return binary("%", value, number(self.modulus, place)), None

    @property
    def constants(self) -> Mapping[str, int]:
        return {"left": self.left, "sign": self.sign, "right": self.right, "modulus": self.modulus}


class RemainderCond(Comparison):
    """`(v + v') % m cmp I`."""

    name = "remainder"
    names = ("left", "sign", "right", "modulus")

    def __init__(self, arity: int, points: Sequence[Point]) -> None:
        largest = min(LARGEST, max((abs(value) for point in points for value in point), default=0))
        values = [(v, 0, v) for v in range(arity)]
        values += [(a, sign, b) for a, b in itertools.combinations(range(arity), 2) for sign in (1, -1)]
        forms = [Remainder(*value, modulus) for value in values for modulus in range(2, largest + 1)]
        super().__init__(arity, forms, points)

    def form(self, constants: Sequence[int]) -> ComparedNumber:
        left, sign, right, modulus = constants
        if sign not in (-1, 0, 1) or modulus < 1:
            raise ValueError(f"sign {sign} and modulus {modulus} in the hole")
        return Remainder(self.argument(left), sign, self.argument(right), modulus)


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> RemainderCond | None:
    """Return the template; a hole whose arguments are at most 1 has none."""
    made = RemainderCond(arity, points) if arity else None
    return made if made is not None and made.components[0] else None


FAMILY = TemplateFamily("remainder", "cond", make, saved=lambda size, arity, points: RemainderCond(arity, ()))
