"""Make every shuffle's delta mean in CUDA what it means in the language.

The hardware takes the low five bits of a delta or mask; the language says that a lane out of range reads itself.
Where the ranges do not show the two to agree, the source lane is computed.
"""

from __future__ import annotations

from msgspec.structs import replace

from cuda_out.analysis.facts import Facts, launch_facts, range_of
from cuda_out.analysis.flow import rewrite
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, map_own, rebuild


def legal_shuffles(program: Program) -> Program:
    """Return the same program in which every shuffle by a delta has it within the warp."""

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
