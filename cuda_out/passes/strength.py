"""Division and remainder by a constant as cheaper operations. Runs last: other passes know `//` and `%` better.

All of this holds in Python's integers, where `//` and `%` round down: for a power of two they are `>>` and `&`,
whatever the sign. For other divisors, a multiple of the divisor is added to a dividend that may be negative, so that
C's operators, which round towards zero, agree with Python's. A remainder of less than twice the divisor becomes a
subtraction under a condition. What the compiler computes while it unrolls loops is left alone.
"""

from __future__ import annotations

from msgspec.structs import replace

from cuda_out.analysis.unroll import is_static, loops_to_unroll, static_names
from cuda_out.analysis.values import leaves_in
from cuda_out.passes.index_rules import collected, constant
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, facts_where, launch_facts, range_of, rewrite
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, map_own, rebuild

FARTHEST = 1 << 20  # what is added to a dividend at most


def reduce_strength(program: Program) -> Program:
    """Return the same program with shifts and masks for powers of two, and no negative dividends."""
    unrolled = frozenset(loop.variable for loop in loops_to_unroll(program))
    rolled = static_names(program) - unrolled

    def visit(stmt: Stmt, facts: Facts) -> Body:
        return (map_own(stmt, lambda expr: strong(expr, facts, unrolled - rolled)),)

    return replace(program, body=rewrite(program.body, launch_facts(program), visit))


def strong(expr: Expr, facts: Facts, unrolled: frozenset[str] = frozenset()) -> Expr:
    """Return an expression of the same value with cheaper divisions; `unrolled` are the variables of unrolled loops."""
    if isinstance(expr, ir.Select):
        return replace(
            expr,
            condition=strong(expr.condition, facts, unrolled),
            then=strong(expr.then, facts_where(expr.condition, True, facts), unrolled),
            otherwise=strong(expr.otherwise, facts_where(expr.condition, False, facts), unrolled),
        )
    if is_static(expr, unrolled):
        return _not_negative(expr, facts)
    expr = rebuild(expr, lambda child: strong(child, facts, unrolled))
    match expr:
        case ir.Binary(op="//" | "%", dtype=DType.INDEX, right=ir.Const(value=value)) if value > 1:
            return _division(expr, int(value), facts)
        case _:
            return expr


def _not_negative(expr: Expr, facts: Facts) -> Expr:
    """Return a static expression in which no dividend may be negative; it costs nothing either way."""
    expr = rebuild(expr, lambda child: _not_negative(child, facts))
    match expr:
        case ir.Binary(op="//" | "%", dtype=DType.INDEX, right=ir.Const(value=value)) if value > 1:
            return _lifted(expr, int(value), facts)
        case _:
            return expr


def _division(expr: ir.Binary, n: int, facts: Facts) -> Expr:
    left, place = expr.left, expr.place
    if n & (n - 1) == 0:
        if expr.op == "%":
            return replace(expr, op="&", right=constant(n - 1, place))
        return replace(expr, op=">>", right=constant(n.bit_length() - 1, place))
    lifted = _lifted(expr, n, facts)
    known = range_of(left, facts)
    if expr.op == "%" and known.within(0, 2 * n - 1) and isinstance(left, ir.Var | ir.Coordinate):
        over = ir.Compare(">=", left, expr.right, place)
        rest = ir.Binary("-", left, expr.right, DType.INDEX, place)
        return ir.Select(over, rest, left, DType.INDEX, place)
    return lifted


def _lifted(expr: ir.Binary, n: int, facts: Facts) -> Expr:
    """Return the division with a multiple of n added to the dividend, so that it is never negative."""
    lowest = range_of(expr.left, facts).lo
    if not -FARTHEST <= lowest < 0 or not leaves_in([expr.left]):
        return expr
    times = -(int(lowest) // n)
    place = expr.place
    shifted = ir.Binary("+", expr.left, constant(times * n, place), DType.INDEX, place)
    found: Expr = replace(expr, left=collected(shifted, facts))
    if expr.op == "//":
        found = collected(ir.Binary("-", found, constant(times, place), DType.INDEX, place), facts)
    return found
