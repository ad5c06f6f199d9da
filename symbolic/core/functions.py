"""Uninterpreted functions: equal arguments give equal values, and nothing else is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from symbolic.core.value_types import BitVector, Boolean, IntegerLike, Symbolic, as_condition, describe
from symbolic.core.values import boolean, integer, real, symbol_named
from symbolic.errors import SwizzleError
from symbolic.solve.answer import Model
from symbolic.solve.floor_division import manager
from symbolic.solve.tables import Table

if TYPE_CHECKING:
    from pysmt.fnode import FNode

Kind: TypeAlias = Callable[[str], Symbolic] | Symbolic
"""What values are like: `integer`, `boolean`, `real`, or any symbolic value of the same kind."""


class Function(Struct, frozen=True, eq=False):
    """A function that a query may choose; `outcome[f]` is the Table of what it has chosen."""

    name: str
    takes: tuple[Symbolic, ...]
    gives: Symbolic
    symbol: FNode

    def __call__(self, *arguments: Any) -> Any:
        """Return the value for some arguments, which may be Python numbers."""
        if len(arguments) != len(self.takes):
            raise SwizzleError(
                f"{self.name} is given {len(arguments)} arguments", expected=f"{len(self.takes)}", fix=repr(self)
            )
        given = [
            Boolean(as_condition(value)) if isinstance(like, Boolean) else like.lift(value, exact=True)
            for like, value in zip(self.takes, arguments, strict=True)
        ]
        formula = manager().Function(self.symbol, [each.formula for each in given])
        return Boolean(formula) if isinstance(self.gives, Boolean) else self.gives.like(formula)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(_kind_name, self.takes))}) -> {_kind_name(self.gives)}"

    def evaluated(self, model: Model) -> Table:
        """Return what the function is under a model."""
        found = model.value(self.symbol)
        assert isinstance(found, Table)
        entries = {tuple(map(_shown, self.takes, key)): _shown(self.gives, v) for key, v in found.entries.items()}
        return Table(entries, _shown(self.gives, found.default))


def function(name: str, takes: Sequence[Kind], gives: Kind) -> Function:
    """Return the uninterpreted function of that name, from some kinds of values to one.

    A kind is `integer`, `boolean`, `real`, or a symbolic value that has it: `function("f", [integer, v], v)`.
    """
    from pysmt.environment import get_env
    from pysmt.typing import FunctionType

    if not isinstance(takes, list | tuple) or not takes:
        raise SwizzleError(f"{name} takes {describe(takes)}", expected="a list of kinds", fix="[integer]")
    kinds = [_like(each) for each in [*takes, gives]]
    sorts = [get_env().stc.get_type(each.formula) for each in kinds]
    return Function(name, tuple(kinds[:-1]), kinds[-1], symbol_named(name, FunctionType(sorts[-1], sorts[:-1])))


def _like(kind: Kind) -> Symbolic:
    if isinstance(kind, IntegerLike | Boolean):
        return kind
    if kind in (integer, boolean, real):
        return kind("kind!")
    raise SwizzleError(
        f"{describe(kind)} stands for a kind of values", expected="integer, boolean, real, or a symbolic value",
        fix='bitvector("v", 8), for words of 8 bits',
    )  # fmt: skip


def _kind_name(like: Symbolic) -> str:
    return describe(like).removeprefix("a symbolic ").removeprefix("an ").removeprefix("a ")


def _shown(like: Symbolic, value: Any) -> Any:
    from symbolic.solve.evaluate import as_signed

    return as_signed(value, like.width) if isinstance(like, BitVector) and like.signed else value
