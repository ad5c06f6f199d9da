"""Symbolic truth values, and what errors call a value; `symbolic.core.value_types` has the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast

from symbolic.core.refusals import Refusals, refuse
from symbolic.errors import SwizzleError
from symbolic.solve.floor_division import manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode


@dataclass(frozen=True, slots=True, eq=False)
class Boolean(Refusals):
    """A symbolic truth value: `&` `|` `^` `~` `==` `!=`."""

    formula: FNode

    __hash__ = Refusals.__hash__

    def __and__(self, other: BooleanLike) -> Boolean:
        return Boolean(manager().And(self.formula, as_condition(other)))

    def __or__(self, other: BooleanLike) -> Boolean:
        return Boolean(manager().Or(self.formula, as_condition(other)))

    def __xor__(self, other: BooleanLike) -> Boolean:
        return Boolean(manager().Not(manager().Iff(self.formula, as_condition(other))))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Boolean:
        return Boolean(manager().Not(self.formula))

    def __eq__(self, other: object) -> Boolean:  # type: ignore[override]
        return Boolean(manager().Iff(self.formula, as_condition(other)))

    def __ne__(self, other: object) -> Boolean:  # type: ignore[override]
        return self ^ cast(BooleanLike, other)

    def _number(self, *_: object) -> NoReturn:
        refuse("a symbolic Boolean is no number: it has no arithmetic and no order", "select(p, 1, 0), or sum of such")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _number
    __divmod__ = __rdivmod__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = (
        __rrshift__
    ) = _number
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __abs__ = _number


BooleanLike: TypeAlias = Boolean | bool


def as_condition(value: object) -> FNode:
    """Return the formula of a Boolean or a bool."""
    if isinstance(value, Boolean):
        return value.formula
    if isinstance(value, bool):
        return manager().Bool(value)
    raise SwizzleError(
        f"{describe(value)} stands for a condition",
        expected="a Boolean or a bool",
        fix="all_of(*conditions)" if isinstance(value, list | tuple) else "compare: x != 0",
    )


def describe(value: object) -> str:
    """Return what an error calls a value."""
    return value.described if isinstance(value, Refusals) else f"{type(value).__name__} {value!r}"
