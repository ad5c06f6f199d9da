"""What families have in common whose conditions compare an expression of the arguments with a number.

A family says which expressions there are. The number is every integer that makes a difference, and the six comparisons
are `<=` and `==`, negated or not, as in `templates/cond.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol, TypeVar

import numpy as np

from symbolic.errors import Place
from symbolic.ir.program import Compare, DType, Expr, Var
from symbolic.ir.python_text import python_text
from templates.chooser import Choice, Chooser
from templates.formula import length_of, parameters, total
from templates.template import Point, Template, columns_of, distinct_rows, integers

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
