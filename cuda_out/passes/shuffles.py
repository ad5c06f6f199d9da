"""Give every shuffle's delta the same meaning in CUDA as in the language.

The hardware uses the low five bits of a delta or mask. In the language, a lane whose source is out of range reads its
own value. If the ranges do not show that the two agree, the source lane is computed.
"""

from __future__ import annotations

from msgspec.structs import replace

from cuda_out.analysis.facts import Facts, launch_facts, range_of
from cuda_out.analysis.flow import rewrite
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, map_own, rebuild


def legal_shuffles(program: Program) -> Program:
    """Return the same program with every shuffle's delta within the warp."""

    def visit(stmt: Stmt, facts: Facts) -> Body:
        return (map_own(stmt, lambda expr: _in_range(expr, facts, program.warp_size)),)

    return replace(program, body=rewrite(program.body, launch_facts(program), visit))


def _in_range(expr: Expr, facts: Facts, warp_size: int) -> Expr:
    expr = rebuild(expr, lambda child: _in_range(child, facts, warp_size))
    if not isinstance(expr, ir.Shuffle) or expr.mode == "idx":
        return expr
    if range_of(expr.lane, facts).within(0, warp_size - 1):
        return expr
    place = expr.place
    here = ir.Coordinate("laneid", "x", place)
    op: ir.BinaryOp = "-" if expr.mode == "up" else "+" if expr.mode == "down" else "^"
    source = ir.Binary(op, here, expr.lane, DType.INDEX, place)
    inside = ir.Logic(
        "and",
        ir.Compare(">=", source, ir.Const(0, DType.INDEX, place), place),
        ir.Compare("<", source, ir.Const(warp_size, DType.INDEX, place), place),
        place,
    )
    return replace(expr, mode="idx", lane=ir.Select(inside, source, here, DType.INDEX, place))
