"""Symbolic values looked into: the constants in them, operators and arguments, the cases of a union."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from symbolic.core.obligations import current_place
from symbolic.core.structures import fields_of, has_fields
from symbolic.core.value_types import BitVector, Boolean, Integer, IntegerLike, Real, Symbolic, describe
from symbolic.core.values import Kind, kind_like
from symbolic.errors import SwizzleError
from symbolic.solve.floor_division import manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode


class TermParts(Struct, frozen=True, eq=False):
    """An operator and what it is applied to: symbolic values, and Python's numbers where they are constants."""

    operator: str
    arguments: tuple[Any, ...]


def is_term(value: object) -> bool:
    """Tell whether a value is symbolic: a constant of unknown value, or an expression of such."""
    return isinstance(value, IntegerLike | Boolean) and not value.formula.is_constant()


def term(value: Symbolic) -> TermParts:
    """Return the operator of a symbolic value, by SMT-LIB's name, and its arguments; a constant's operator is its name.

    Raises SwizzleError where it is no term.
    """
    if not is_term(value):
        raise SwizzleError(f"the operator of {describe(value)}", expected="a symbolic value", fix="is_term(x) first")
    formula, signed = value.formula, isinstance(value, BitVector) and value.signed
    if formula.is_symbol():
        return TermParts(str(formula.symbol_name()), ())
    import pysmt.operators as op

    name = formula.function_name().symbol_name() if formula.is_function_application() else (
        op.op_to_str(formula.node_type()).lower()
    )  # fmt: skip
    return TermParts(name, tuple(_value_of(each, signed) for each in formula.args()))


def _value_of(formula: FNode, signed: bool) -> Any:
    kind = manager().env.stc.get_type(formula)
    if formula.is_constant() and not kind.is_bv_type():
        return formula.constant_value()
    if kind.is_bv_type():
        return BitVector(formula, signed)
    return Boolean(formula) if kind.is_bool_type() else Real(formula) if kind.is_real_type() else Integer(formula)


def union_contents(value: Any) -> list[tuple[Boolean | bool, Any]]:
    """Return the cases of a value: when it is which. What is no union is one case, which is always so."""
    cases = getattr(type(value), "cases", None)
    return [(True, value)] if cases is None else list(cases(value))


def _parts(value: Any) -> Iterator[Any]:
    match value:
        case list() | tuple() | set() | frozenset():
            yield from value
        case dict():
            yield from value.values()
        case _ if has_fields(value):
            yield from fields_of(value).values()
        case _:
            for condition, part in union_contents(value):
                if part is not value:
                    yield from (condition, part)


class Symbols:
    """`symbolics(value)` are the constants of unknown value in it; `symbolics.fresh` and `symbolics.here` make some."""

    def __call__(self, *values: Any) -> list[Symbolic]:
        """Return the symbolic constants in values and in what they hold, sorted by their names; functions are none."""
        found: dict[FNode, Symbolic] = {}
        pending, met = list(values), set[int]()
        while pending:
            value = pending.pop()
            if not isinstance(value, IntegerLike | Boolean):
                if id(value) not in met:
                    met.add(id(value))
                    pending += _parts(value)
                continue
            signed = isinstance(value, BitVector) and value.signed
            for symbol in manager().env.fvo.get_free_variables(value.formula):
                if not symbol.symbol_type().is_function_type():
                    found.setdefault(symbol, _value_of(symbol, signed))
        return sorted(found.values(), key=lambda each: str(each.formula.symbol_name()))

    def fresh(self, kind: Kind, name: str = "fresh") -> Any:
        """Return a new symbolic constant of a kind at every call, unequal to all others whatever they are called.

        A kind is `integer`, `boolean`, `real`, or a symbolic value that has it (Rosette's `define-symbolic*`).
        """
        like = kind_like(kind)
        return _with(like, manager().FreshSymbol(manager().env.stc.get_type(like.formula), f"{_named(name)}$%d"))

    def here(self, kind: Kind, name: str = "here") -> Any:
        """Return the one symbolic constant of a kind that belongs to the place of this call: of all that call it the
        same, no other line and no other file gets it (Rosette's `define-symbolic`)."""
        like, place = kind_like(kind), current_place()
        sort = manager().env.stc.get_type(like.formula)
        return _with(like, manager().Symbol(f"{_named(name)} ({sort}, {place})", sort))


def _named(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise SwizzleError(f"a name that is {describe(name)}", expected="a text, not empty", fix='"x"')
    return name.replace("%", "%%")


def _with(like: Symbolic, formula: FNode) -> Symbolic:
    return Boolean(formula) if isinstance(like, Boolean) else like.like(formula)


symbolics: Final = Symbols()
