"""Shuffles as the hardware does them: deltas that mean the same in CUDA as in the language, lanes without remainders.

The hardware uses the low five bits of a delta or mask. In the language, a lane whose source is out of range reads its
own value. If the ranges do not show that the two agree, the source lane is computed. A source lane counts modulo the
width of the warp, in the language and in hardware, so a remainder that it ends in need not be computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from cuda_out.passes.index_rules import collected, without_remainders
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, launch_facts, range_of, rewrite
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, map_own, own_expressions, rebuild, statements, subexpressions


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


def plain_lanes(program: Program) -> Program:
    """Return the same program with the remainders left out that a shuffle takes of its source lane anyway."""
    read = Counter(part.name for part in _parts(program) if isinstance(part, ir.Var))
    lanes = [part.lane for part in _parts(program) if isinstance(part, ir.Shuffle) and part.mode == "idx"]
    asked = Counter(lane.name for lane in lanes if isinstance(lane, ir.Var))
    only = {name for name, count in asked.items() if read[name] == count}  # variables that are source lanes, no more

    def visit(stmt: Stmt, facts: Facts) -> Body:
        if isinstance(stmt, ir.Assign) and stmt.name in only:
            stmt = replace(stmt, value=_plain(stmt.value, facts, program.warp_size))
        return (map_own(stmt, lambda expr: _plain_shuffles(expr, facts, program.warp_size)),)

    return replace(program, body=rewrite(program.body, launch_facts(program), visit))


def _parts(program: Program) -> Iterator[Expr]:
    for stmt in statements(program.body):
        for expr in own_expressions(stmt):
            yield from subexpressions(expr)


def _plain_shuffles(expr: Expr, facts: Facts, warp_size: int) -> Expr:
    expr = rebuild(expr, lambda child: _plain_shuffles(child, facts, warp_size))
    if isinstance(expr, ir.Shuffle) and expr.mode == "idx":
        return replace(expr, lane=_plain(expr.lane, facts, warp_size))
    return expr


def _plain(lane: Expr, facts: Facts, warp_size: int) -> Expr:
    """Return a lane that is equal modulo the width of the warp."""
    found = lane
    while (plain := without_remainders(found, warp_size)) is not found:
        found = collected(plain, facts)
        if not range_of(found, facts).within(-(2**31), 2**31 - 1):
            return lane
    return found
