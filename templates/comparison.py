"""Families of `?sw_cond(v, ...)` whose conditions compare an expression of the arguments with a number.

The expression is `v % m`, or that of a sum or difference of two arguments: every second, every third one. Or it is `a *
v + b * v'` with small factors: dilated and strided stencils need it. A family says which expressions there are. The
number is every integer that makes a difference, and the six comparisons are `<=` and `==`, negated or not, as in
`templates/cond.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, ClassVar, Final, Protocol, TypeVar

import numpy as np

from symbolic.errors import Place
from symbolic.ir.program import Compare, DType, Expr, Var
from symbolic.ir.python_text import python_text
from templates.chooser import Choice, Chooser
from templates.formula import binary, length_of, number, parameters, times, total
from templates.template import Point, Template, TemplateFamily, columns_of, distinct_rows, integers

T = TypeVar("T")
COMPARED: Final = ("equal", "negated", "threshold")
_NOWHERE: Final = Place("", 0, 0)


class ComparedNumber(Protocol):
    """A number that is made of arguments; `of` works for ints and for lanes of them."""

    def of(self, arguments: Sequence[Any]) -> Any: ...
    def sides(self, arguments: Sequence[Expr], place: Place) -> tuple[Expr, Expr | None]:
        """Return what stands on the left, and what is subtracted from it and stands on the right."""

    @property
    def constants(self) -> Mapping[str, int]: ...


class Comparison(Template):
    """`form relation number`; `name` is the family's, `names` are those of a form's constants."""

    name: ClassVar[str]
    names: ClassVar[tuple[str, ...]]

    def __init__(self, arity: int, forms: Sequence[ComparedNumber], points: Sequence[Point]) -> None:
        self.arity = arity
        columns = columns_of(points, arity)
        kept = distinct_rows(forms, lambda some: np.stack([form.of(columns) for form in some]))
        reach = [form.of(columns) for form in kept] if points else []
        least, most = (
            min((int(some.min()) for some in reach), default=0),
            max((int(some.max()) for some in reach), default=0),
        )
        self.components = (
            kept,
            tuple(itertools.product(("<=", "=="), (False, True))),
            tuple(range(least - 1, most + 1)),
        )

    def form(self, constants: Sequence[int]) -> ComparedNumber:
        """Return the form of constants that a file has; ValueError where there is none."""
        raise NotImplementedError

    def at(self, chooser: Chooser[T], point: Point) -> T:
        stands = chooser.compare(chooser.pick(0, lambda form: form.of(point)), 2)
        return chooser.both(
            lambda s, r: ((s <= 0) if r[0] == "<=" else (s == 0)) != r[1], stands, chooser.pick(1, lambda r: r)
        )

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        form, (relation, negated), threshold = choice
        value = form.of(arguments)
        return (value <= threshold if relation == "<=" else value == threshold) != negated

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        form, (relation, negated), threshold = choice
        long = length_of(self.expression(choice, parameters([""] * self.arity), _NOWHERE))
        return long, relation == "==", abs(threshold), negated, tuple(form.constants.values())

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        form, (relation, negated), threshold = choice
        compared = {"equal": int(relation == "=="), "negated": int(negated), "threshold": threshold}
        return {self.name: 1, **form.constants, **compared}

    def parse(self, constants: Mapping[str, object]) -> Choice:
        *own, equal, negated, threshold = integers(constants, (*self.names, *COMPARED))
        return (self.form(own), ("==" if equal else "<=", bool(negated)), threshold)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        form, (relation, negated), threshold = choice
        left, right = form.sides(arguments, place)
        if relation == "==":
            return Compare("!=" if negated else "==", left, total([right], place, threshold), place)
        if threshold == -1:
            return Compare(">=" if negated else "<", left, total([right], place), place)
        return Compare(">" if negated else "<=", left, total([right], place, threshold), place)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        bare = [name[1:-1] if name.startswith("(") else name for name in names]
        shown = self.expression(choice, [Var(name, DType.INDEX, _NOWHERE) for name in bare], _NOWHERE)
        return f"keep when {python_text(shown)}"

    def argument(self, place: int) -> int:
        """Return the number of an argument that a file has; ValueError where the hole has none of this number."""
        if not 0 <= place < self.arity:
            raise ValueError(f"argument {place} of the hole, which takes {self.arity}")
        return place


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


def make_remainder(size: int, arity: int, points: tuple[Point, ...], space: str) -> RemainderCond | None:
    """Return the template; a hole whose arguments are at most 1 has none."""
    made = RemainderCond(arity, points) if arity else None
    return made if made is not None and made.components[0] else None


REMAINDER = TemplateFamily(
    "remainder", "cond", make_remainder, saved=lambda size, arity, points: RemainderCond(arity, ())
)


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


def make_scaled(size: int, arity: int, points: tuple[Point, ...], space: str) -> ScaledCond | None:
    """Return the template; a hole of one argument has none."""
    return ScaledCond(arity, points) if arity > 1 else None


SCALED = TemplateFamily("scaled", "cond", make_scaled, saved=lambda size, arity, points: ScaledCond(arity, ()))
