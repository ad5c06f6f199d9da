"""Simplify index expressions and conditions with what the ranges say, and drop what can never run.

Every rule holds in Python's integers, where `//` and `%` round down: for n > 0, (a * n + b) // n is a + b // n, and (a
* n + b) % n is b % n, whatever the signs. Data is left as it is, because float arithmetic is not associative.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from cuda_out.passes.index_rules import constant, simplify_binary
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import INVERSE, Facts, decide, facts_where, launch_facts, range_of, rewrite, trip_range
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, map_own, rebuild, same, subexpressions


def simplify(program: Program) -> Program:
    """Return the same program with simpler index expressions, decided conditions and no dead branches."""
    return replace(program, body=rewrite(program.body, launch_facts(program), simplify_statement))


def simplify_statement(stmt: Stmt, facts: Facts) -> Body:
    """Return what is left of one statement whose nested bodies are already simplified."""
    stmt = map_own(stmt, lambda expr: simplify_expression(expr, facts))
    match stmt:
        case ir.If(condition=ir.Const(value=value), then=then, otherwise=otherwise):
            return then if value else otherwise
        case ir.Assign(name=name, value=ir.Var(name=source)) if name == source:
            return ()
        case ir.If(then=(), otherwise=()):
            return ()
        case ir.If(then=(), condition=condition, otherwise=otherwise):
            return (replace(stmt, condition=_negate(condition), then=otherwise, otherwise=()),)
        case ir.For() if trip_range(stmt, facts) is None:
            return ()
        case ir.Accumulate(condition=ir.Const(value=value)):
            return (replace(stmt, condition=None),) if value else ()
        case _:
            return (stmt,)


def simplify_expression(expr: Expr, facts: Facts) -> Expr:
    """Return an expression of the same value wherever the facts hold."""
    if isinstance(expr, ir.Select):
        return _select(expr, facts)
    if isinstance(expr, ir.Shuffle):
        # What is offered is read by other lanes, whose facts may differ; own facts hold where it is evaluated.
        return rebuild(expr, lambda child: simplify_expression(child, facts))
    if isinstance(expr, ir.Logic):
        return _logic(expr, facts)
    expr = rebuild(expr, lambda child: simplify_expression(child, facts))
    if expr.dtype is DType.INDEX and _is_pure(expr):
        value = range_of(expr, facts).value
        if value is not None:
            return ir.Const(value, DType.INDEX, expr.place)
    match expr:
        case ir.Binary(dtype=DType.INDEX):
            return simplify_binary(expr, facts, lambda part: simplify_expression(part, facts))
        case ir.Compare():
            return _compare(expr, facts)
        case ir.Unary(op="not", operand=operand):
            return _negate(operand)
        case ir.Unary(op="-", operand=ir.Unary(op="-", operand=inner), dtype=DType.INDEX):
            return inner
        case ir.Unary(op="abs", operand=operand, dtype=DType.INDEX) if range_of(operand, facts).lo >= 0:
            return operand
        case _:
            return expr


def _is_pure(expr: Expr) -> bool:
    return not any(isinstance(part, ir.Shuffle | ir.HoleCall) for part in subexpressions(expr))


def _truth(value: bool, place: Place) -> Expr:
    return ir.Const(value, DType.BOOL, place)


def _negate(condition: Expr) -> Expr:
    match condition:
        case ir.Const(value=value, place=place):
            return _truth(not value, place)
        case ir.Unary(op="not", operand=operand):
            return operand
        case ir.Compare(op=op):
            return replace(condition, op=INVERSE[op])
        case _:
            return ir.Unary("not", condition, DType.BOOL, condition.place)


def _select(expr: ir.Select, facts: Facts) -> Expr:
    condition = simplify_expression(expr.condition, facts)
    match condition:
        case ir.Const(value=value):
            return simplify_expression(expr.then if value else expr.otherwise, facts)
        case ir.Unary(op="not", operand=operand):
            condition, expr = operand, replace(expr, then=expr.otherwise, otherwise=expr.then)
        case _:
            pass
    then = simplify_expression(expr.then, facts_where(condition, True, facts))
    otherwise = simplify_expression(expr.otherwise, facts_where(condition, False, facts))
    if same(then, otherwise) and _is_pure(condition):
        return then
    if isinstance(then, ir.Const) and isinstance(otherwise, ir.Const) and expr.dtype is DType.BOOL:
        return condition if then.value else _negate(condition)
    return replace(expr, condition=condition, then=then, otherwise=otherwise)


def _logic(expr: ir.Logic, facts: Facts) -> Expr:
    """Simplify `and` / `or`; the right side may rely on the left one."""
    strong = expr.op == "or"
    left = simplify_expression(expr.left, facts)
    right = simplify_expression(expr.right, facts_where(left, not strong, facts))
    for side, other in ((left, right), (right, left)):
        if isinstance(side, ir.Const):
            return side if bool(side.value) is strong else other
    if same(left, right):
        return left
    simpler = replace(expr, left=left, right=right)
    decided = decide(simpler, facts)
    return simpler if decided is None else _truth(decided, expr.place)


def _compare(expr: ir.Compare, facts: Facts) -> Expr:
    decided = decide(expr, facts)
    if decided is None and same(expr.left, expr.right) and _is_pure(expr):
        decided = expr.op in ("==", "<=", ">=")
    if decided is not None and _is_pure(expr):
        return _truth(decided, expr.place)
    match expr:
        case ir.Compare(left=ir.Const(), right=right) if not isinstance(right, ir.Const):
            mirrored: Mapping[ir.CompareOp, ir.CompareOp] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
            return replace(expr, op=mirrored.get(expr.op, expr.op), left=right, right=expr.left)
        case ir.Compare(
            left=ir.Binary(op="+" | "-" as op, left=inner, right=ir.Const(value=shift)), right=ir.Const(value=bound)
        ):
            moved = int(bound) - int(shift) if op == "+" else int(bound) + int(shift)
            return replace(expr, left=inner, right=constant(moved, expr.place))
        case _:
            return expr
