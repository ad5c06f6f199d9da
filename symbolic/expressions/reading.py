"""What a lifted function computed, read as expressions.

The meaning of a formula's node in its own domain is the meaning of the expression there: a sum of bit-vectors becomes
a sum, which wraps again when it is asked for as words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

import pysmt.operators as op
from pysmt.fnode import FNode

from symbolic.bottom_up import bottom_up
from symbolic.expressions import expression as e
from symbolic.expressions.expression import Expression
from symbolic.solve.evaluate import as_signed
from symbolic.solve.floor_division import manager, signed_floor_div, signed_floor_mod, unsigned_floor_div


class Unreadable(Exception):
    """A formula has a node that expressions have no word for."""


def expression_of(value: Any, names: Mapping[str, str] | None = None) -> Expression:
    """Return the expression that a symbolic value, or a plain number or truth value, is.

    `names` says what the symbols are called, where it is not as they are. Raises Unreadable for anything else.
    """
    if isinstance(value, bool | int | float | Fraction):
        if isinstance(value, float) and math.isnan(value):
            raise Unreadable("not a number")
        return e.constant(value)
    formula = getattr(value, "formula", None)
    if not isinstance(formula, FNode):
        raise Unreadable(f"a {type(value).__name__}")
    return read_formula(formula, getattr(value, "signed", True), names or {})


def cancelled_in(value: Any, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a symbolic number adds and takes away again, of real numbers: names, and numbers.

    So does `0 / v`, and so do the sides of a comparison that both have it: `t == s`, of `t = s + v`, is `v == 0`.
    Floating-point numbers leave there what rounding did to them, for which such differences may have been written.
    """
    formula = getattr(value, "formula", None)
    found: dict[str, None] = {}
    kind = manager().env.stc.get_type

    def note(node: FNode, inner: list[Expression], made: Expression) -> None:
        if node.is_equals() or node.is_le() or node.is_lt():
            if not kind(node.arg(0)).is_real_type():
                return
            one, other = ({what for _, what in e.terms(each)} for each in inner)
            left = {what for _, what in e.terms(e.subtract(*inner))}
            gone = [what for _, what in e.terms(inner[0]) if what in one & other - left]
        elif node.node_type() == op.DIV and kind(node).is_real_type():
            gone = (
                [inner[1]]
                if inner[1].names and not any(each.operator == "/" for each in e.subexpressions(made))
                else []
            )
        elif not (node.is_plus() or node.is_minus() or node.is_times()) or not kind(node).is_real_type():
            return
        elif node.is_times():
            gone = [each for each in inner if each.names] if made.constant else []
        else:
            left = {what for _, what in e.terms(made)}
            gone = [what for each in inner for _, what in e.terms(each) if what not in left and each is not e.ZERO]
        for each in gone:
            numbers = [str(side.value) for side in inner if each is e.ONE and side.constant]
            found.update(dict.fromkeys(sorted(each.names) or numbers or ["a number"]))

    if isinstance(formula, FNode):
        read_formula(formula, getattr(value, "signed", True), names, note)
    return tuple(found)


def read_formula(
    formula: FNode, signed: bool = True, names: Mapping[str, str] = MappingProxyType({}),
    note: Callable[[FNode, list[Expression], Expression], None] = lambda *_: None,
) -> Expression:  # fmt: skip
    """Return the expression that a formula is, of words that are signed or are not; `note` is told of each node."""
    divided: dict[FNode, tuple[Callable[..., Expression], FNode, FNode] | None] = {}

    def arguments(node: FNode) -> Sequence[FNode]:
        if node not in divided:
            divided[node] = _division_of_words(node, signed)
        found = divided[node]
        return node.args() if found is None else found[1:]

    def made(node: FNode, inner: list[Expression]) -> Expression:
        found = divided[node]
        expression = _node(node, inner, signed, names) if found is None else found[0](*inner)
        note(node, inner, expression)
        return expression

    return bottom_up(formula, arguments, made)


def _division_of_words(node: FNode, signed: bool) -> tuple[Callable[..., Expression], FNode, FNode] | None:
    """Return what divides which words, if a formula is a quotient or a remainder by a number.

    By one below 0 it is made of those by the number without its sign, which the least one of a type does not have.
    """
    inner = node
    while inner.is_ite():
        inner = inner.arg(2)
    if inner.node_type() not in _DIVISIONS or not inner.arg(1).is_bv_constant():
        return None
    value, by = inner.args()
    number = by.bv_signed_value() if signed else by.constant_value()
    if number == 0 or number == -(1 << (by.bv_width() - 1)):
        return None
    whole, rest = (signed_floor_div, signed_floor_mod) if signed else (unsigned_floor_div, manager().BVURem)
    quotient, remainder = (e.floor_divide, e.modulo) if number > 0 else (_quotient_by_negative, _remainder_by_negative)
    if node is whole(value, by):
        return quotient, value, by
    return (remainder, value, by) if node is rest(value, by) else None


def _quotient_by_negative(value: Expression, by: Expression) -> Expression:
    """Round the opposite of a quotient down; no word of it wraps but the least one by -1, as it must."""
    size = e.negate(by)
    whole = e.equal(e.modulo(value, size), e.ZERO)
    return e.subtract(e.negate(e.floor_divide(value, size)), e.select(whole, e.ZERO, e.ONE))


def _remainder_by_negative(value: Expression, by: Expression) -> Expression:
    rest = e.modulo(value, e.negate(by))
    return e.select(e.equal(rest, e.ZERO), e.ZERO, e.add(rest, by))


def _node(node: FNode, arguments: list[Expression], signed: bool, names: Mapping[str, str]) -> Expression:
    kind = node.node_type()
    if node.is_symbol():
        make = e.truth_name if node.symbol_type().is_bool_type() else e.number_name
        return make(names.get(node.symbol_name(), node.symbol_name()))
    if node.is_bv_constant():
        return e.constant(as_signed(node.constant_value(), node.bv_width()) if signed else node.constant_value())
    if kind in op.CONSTANTS:
        found = node.constant_value()
        return e.constant(found if isinstance(found, bool | int) else Fraction(found))
    if kind == op.DIV and node.arg(0).get_type().is_int_type():
        value, by = arguments
        # `floor_div` by a number below 0: the opposite of a word may wrap, and the quotient does not
        opposite = node.arg(0).is_minus() and node.arg(0).arg(0).is_constant(value=0)
        return (
            _quotient_by_negative(e.negate(value), e.negate(by)) if opposite and by.constant else _quotient(value, by)
        )
    if kind == op.FUNCTION:
        name = node.function_name().symbol_name().partition(":")[0]
        return {"exp": e.exponential, "log": e.logarithm}[name](*arguments)
    if kind == op.ITE:
        return _chosen(*arguments)
    if kind not in _MEANING:
        what = "a division or a remainder" if kind in _DIVISIONS else f"`{op.op_to_str(kind)}`"
        raise Unreadable(f"{what} of words" if node.get_type().is_bv_type() else what)
    return _MEANING[kind](*arguments)


_DIVISIONS: Final = (op.BV_UDIV, op.BV_SDIV, op.BV_UREM, op.BV_SREM)


def _quotient(a: Expression, b: Expression) -> Expression:
    """Read a division of integers; by what is positive it is the floor."""
    if not b.constant or b.value <= 0:
        raise Unreadable("a division by what may be negative")
    return e.floor_divide(a, b)


def _chosen(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """Read a choice; that between 0, where a divisor is 0, and a quotient is the quotient, as Python has none there."""
    if no.operator == "/" and yes is e.ZERO and condition.operator == "==":
        numerator, divisor = no.arguments
        if divisor.operator == "select" and divisor.arguments[:2] == (condition, e.ONE):
            return e.divide(numerator, divisor.arguments[2])
    return e.select(condition, yes, no)


def _difference(a: Expression, b: Expression) -> Expression:
    """Read a difference; `a - b * (a // b)` is a remainder."""
    for each in e.subexpressions(b):
        if each.operator == "//" and each.arguments[0] is a and e.multiply(each, each.arguments[1]) is b:
            return e.modulo(a, each.arguments[1])
    return e.subtract(a, b)


_MEANING: Final[Mapping[int, Callable[..., Expression]]] = {
    op.AND: e.both, op.OR: e.either, op.NOT: e.negation, op.IFF: e.equal, op.EQUALS: e.equal,
    op.IMPLIES: lambda a, b: e.either(e.negation(a), b), op.LT: e.less, op.LE: e.less_equal, op.PLUS: e.add,
    op.MINUS: _difference, op.TIMES: e.multiply, op.TOREAL: lambda a: a, op.DIV: e.divide,
    op.BV_ADD: e.add, op.BV_SUB: e.subtract, op.BV_MUL: e.multiply, op.BV_NEG: e.negate,
    op.BV_NOT: lambda a: e.subtract(e.constant(-1), a),
    op.BV_ULT: e.less, op.BV_ULE: e.less_equal, op.BV_SLT: e.less, op.BV_SLE: e.less_equal,
    op.BV_AND: lambda a, b: e.bits("&", a, b), op.BV_OR: lambda a, b: e.bits("|", a, b),
    op.BV_XOR: lambda a, b: e.bits("^", a, b), op.BV_LSHL: lambda a, b: e.bits("<<", a, b),
    op.BV_LSHR: lambda a, b: e.bits(">>", a, b), op.BV_ASHR: lambda a, b: e.bits(">>", a, b),
}  # fmt: skip
