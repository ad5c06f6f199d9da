"""Rules of index arithmetic: sums, products, and above all division and remainder by a constant.

Every rule holds in Python's integers, where `//` and `%` round down: for n > 0, (a * n + b) // n is a + b // n, and (a
* n + b) % n is b % n, whatever the signs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec.structs import replace
from typing_extensions import assert_never

from cuda_out.passes.linear import ScaledAtom, collected, sum_of, terms_of, without_remainders
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, range_of
from symbolic.ir.program import DType, Expr
from symbolic.ir.walk import same

Simplify: TypeAlias = Callable[[Expr], Expr]  # what simplifies a rewritten part anew

_FOLD: Mapping[ir.BinaryOp, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "min": min, "max": max,
}  # fmt: skip


def constant(value: int, place: Place) -> Expr:
    return ir.Const(value, DType.INDEX, place)


def simplify_binary(expr: ir.Binary, facts: Facts, again: Simplify) -> Expr:
    """Return a simpler form of an operation whose operands are already simplified."""
    left, right, place = expr.left, expr.right, expr.place
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        folded = _fold(expr.op, int(left.value), int(right.value))
        return expr if folded is None else constant(folded, place)
    match expr.op:
        case "+" | "-":
            return collected(expr, facts)
        case "*":
            return _product(expr)
        case "//" | "%":
            return _division(expr, facts, again)
        case "min" | "max":
            a, b = range_of(left, facts), range_of(right, facts)
            if a.hi <= b.lo or same(left, right):
                return left if expr.op == "min" else right
            if b.hi <= a.lo:
                return right if expr.op == "min" else left
            return expr
        case "<<" | ">>":
            return left if _is(right, 0) else expr
        case "&":
            if isinstance(right, ir.Const) and _covers(int(right.value), facts, left):
                return left
            return right if _is(right, 0) else left if same(left, right) else expr
        case "|" | "^":
            if _is(right, 0):
                return left
            return right if _is(left, 0) else expr
        case "/" | ir.OperatorName():
            return expr
        case _:
            assert_never(expr.op)


def _fold(op: ir.BinaryOp, left: int, right: int) -> int | None:
    if op == "/" or (op in ("//", "%") and right == 0) or (op in ("<<", ">>") and not 0 <= right < 32):
        return None
    return _FOLD[op](left, right)


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, ir.Const) and expr.value == value


def _covers(mask: int, facts: Facts, operand: Expr) -> bool:
    """Say whether `operand & mask` is the operand: the mask is 2**b - 1 and the operand fits."""
    return mask & (mask + 1) == 0 and range_of(operand, facts).within(0, mask)


def _product(expr: ir.Binary) -> Expr:
    left, right, place = expr.left, expr.right, expr.place
    if isinstance(left, ir.Const):
        left, right = right, left
    if not isinstance(right, ir.Const):
        return expr
    if right.value == 0:
        return constant(0, place)
    if right.value == 1:
        return left
    if right.value == -1:
        return ir.Unary("-", left, DType.INDEX, place)
    if isinstance(left, ir.Binary) and left.op == "*" and isinstance(left.right, ir.Const):
        return replace(left, right=constant(int(left.right.value) * int(right.value), place))
    return replace(expr, left=left, right=right)


def _division(expr: ir.Binary, facts: Facts, again: Simplify) -> Expr:
    """Simplify `a // n` and `a % n`, mostly for a constant n > 0."""
    left, right, place = expr.left, expr.right, expr.place
    if range_of(left, facts).within(0, range_of(right, facts).lo - 1):
        return left if expr.op == "%" else constant(0, place)
    if not isinstance(right, ir.Const) or int(right.value) <= 0:
        return expr
    n = int(right.value)
    if n == 1:
        return left if expr.op == "//" else constant(0, place)
    if expr.op == "%" and (stripped := without_remainders(left, n)) is not left:
        return again(replace(expr, left=stripped))
    multiple, rest = _multiples(left, n, facts)
    if multiple is not None:
        inner = again(replace(expr, left=rest))
        return inner if expr.op == "%" else collected(_plus(multiple, inner), facts)
    match left:
        case ir.Binary(op="//", left=inner, right=ir.Const(value=m)) if expr.op == "//" and int(m) > 0:
            return _division(replace(expr, left=inner, right=constant(int(m) * n, place)), facts, again)
        case _:
            return expr


def _plus(left: Expr, right: Expr) -> Expr:
    return ir.Binary("+", left, right, DType.INDEX, left.place)


def _multiples(expr: Expr, n: int, facts: Facts) -> tuple[Expr | None, Expr]:
    """Split `a * n + b` into (a, b); a is None when no term is a multiple of n. A constant splits by floor."""
    place = expr.place
    multiple: list[ScaledAtom] = []
    rest: list[ScaledAtom] = []
    shift = 0
    for each in terms_of(expr):
        if isinstance(each, int):
            shift += each
        elif each.factor % n == 0:
            multiple.append(ScaledAtom(each.factor // n, each.atom))
        else:
            rest.append(each)
    if not multiple and 0 <= shift < n:
        return None, expr
    found = sum_of(multiple, shift // n, place)
    return collected(found, facts), sum_of(rest, shift % n, place)
