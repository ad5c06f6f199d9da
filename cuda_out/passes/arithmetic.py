"""Rules of index arithmetic: sums, products, and above all division and remainder by a constant.

Every rule holds in Python's integers, where `//` and `%` floor: for n > 0, (a * n + b) // n is a + b // n, and
(a * n + b) % n is b % n, whatever the signs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from typing_extensions import assert_never

from cuda_out.facts import Facts, range_of
from cuda_out.walk import same
from symbolic import program as ir
from symbolic.errors import Place
from symbolic.program import DType, Expr

Simplify: TypeAlias = Callable[[Expr], Expr]  # what simplifies a rewritten part anew

_FOLD: Mapping[ir.BinaryOp, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "min": min, "max": max,
}  # fmt: skip


def constant(value: int, place: Place) -> Expr:
    return ir.Const(value, DType.INDEX, place)


def simplify_binary(expr: ir.Binary, facts: Facts, again: Simplify) -> Expr:
    """Return a simpler form of an operation whose operands are simple already."""
    left, right, place = expr.left, expr.right, expr.place
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        folded = _fold(expr.op, int(left.value), int(right.value))
        return expr if folded is None else constant(folded, place)
    match expr.op:
        case "+" | "-":
            return _sum(expr)
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
        case "/":
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


def _sum(expr: ir.Binary) -> Expr:
    left, right, place = expr.left, expr.right, expr.place
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        return constant(_FOLD[expr.op](int(left.value), int(right.value)), place)
    if isinstance(left, ir.Const) and expr.op == "+":
        return _sum(replace(expr, left=right, right=left))  # the constant stands right
    if isinstance(right, ir.Const):
        shift = int(right.value) if expr.op == "+" else -int(right.value)
        if isinstance(left, ir.Binary) and left.op in ("+", "-") and isinstance(left.right, ir.Const):
            shift += int(left.right.value) if left.op == "+" else -int(left.right.value)
            left = left.left
        if shift == 0:
            return left
        return replace(expr, op="+" if shift > 0 else "-", left=left, right=constant(abs(shift), place))
    match right:
        case ir.Unary(op="-", operand=operand):
            return replace(expr, op="-" if expr.op == "+" else "+", right=operand)
        case _ if expr.op == "-":
            if same(left, right):
                return constant(0, place)
            if isinstance(left, ir.Binary) and left.op == "+":  # (a + b) - a
                if same(left.left, right):
                    return left.right
                if same(left.right, right):
                    return left.left
            return ir.Unary("-", right, DType.INDEX, place) if _is(left, 0) else expr
        case _:
            return expr


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
    multiple, rest = _multiples(left, n)
    if multiple is not None:
        inner = again(replace(expr, left=rest))
        return inner if expr.op == "%" else _sum(ir.Binary("+", multiple, inner, DType.INDEX, place))
    match left:
        case ir.Binary(op="//", left=inner, right=ir.Const(value=m)) if expr.op == "//" and int(m) > 0:
            return _division(replace(expr, left=inner, right=constant(int(m) * n, place)), facts, again)
        case ir.Binary(op="%", left=inner, right=ir.Const(value=m)) if expr.op == "%" and int(m) % n == 0 < int(m):
            return _division(replace(expr, left=inner), facts, again)
        case ir.Binary(op="+" | "-", left=ir.Binary(op="%", left=inner, right=ir.Const(value=m)), right=shift) if (
            expr.op == "%" and int(m) % n == 0 < int(m)
        ):
            return again(replace(expr, left=replace(left, left=inner, right=shift)))
        case _:
            return expr


def _multiples(expr: Expr, n: int) -> tuple[Expr | None, Expr]:
    """Split `a * n + b` into (a, b); a is None when no term is a multiple of n. A constant splits by floor."""
    place = expr.place
    match expr:
        case ir.Const(value=value) if abs(int(value)) >= n or int(value) < 0:
            return constant(int(value) // n, place), constant(int(value) % n, place)
        case ir.Binary(op="*", right=ir.Const(value=factor)) if int(factor) % n == 0:
            return _product(replace(expr, right=constant(int(factor) // n, place))), constant(0, place)
        case ir.Binary(op="+", left=left, right=right):
            first, rest_left = _multiples(left, n)
            second, rest_right = _multiples(right, n)
            rest = _sum(ir.Binary("+", rest_left, rest_right, DType.INDEX, place))
            if first is None or second is None:
                return first if second is None else second, rest
            return _sum(ir.Binary("+", first, second, DType.INDEX, place)), rest
        case ir.Binary(op="-", left=left, right=ir.Const(value=value)):
            return _multiples(replace(expr, op="+", right=constant(-int(value), place)), n)
        case ir.Binary(op="-", left=left, right=right):
            first, rest = _multiples(left, n)
            return first, replace(expr, left=rest)
        case _:
            return None, expr
