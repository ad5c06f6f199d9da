"""Holes with more arguments besides their own: the thread, the block and the loops around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from symbolic.errors import Place
from symbolic.ir.program import Axis, Const, Coordinate, DType, Expr, For, HoleCall, If, Program, Stmt, Var
from symbolic.ir.walk import (
    own_expressions,
    rewrite_expression,
    rewrite_program,
    rewrite_statement,
    subexpressions,
    within_loops,
)

AXES: Final[tuple[Axis, ...]] = ("x", "y", "z")
THREAD: Final = tuple(f"{name}.{axis}" for name in ("threadIdx", "blockIdx") for axis in AXES)


def with_thread_and_loops(program: Program) -> Program:
    """Return the program whose holes also have the thread, the block and the loop variables as arguments."""
    calls, holes = 0, list(program.holes)

    def extend(place: Place, around: Sequence[For]) -> Callable[[Expr], Expr]:
        def rule(node: Expr) -> Expr:
            nonlocal calls
            if not isinstance(node, HoleCall):
                return node
            calls += 1
            names = (*THREAD, *(loop.variable for loop in around), "use")
            holes[node.hole] = replace(holes[node.hole], arguments=(*program.holes[node.hole].arguments, *names))
            where: list[Expr] = [Coordinate("threadIdx", axis, place) for axis in AXES]
            where += [Coordinate("blockIdx", axis, place) for axis in AXES]
            where += [Var(loop.variable, DType.INDEX, place) for loop in around]
            where.append(Const(calls, DType.INDEX, place))
            return replace(node, args=(*node.args, *where))

        return rule

    def go(body: tuple[Stmt, ...], around: tuple[For, ...]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for node in body:
            match node:
                case For():
                    found.append(replace(node, body=go(node.body, (*around, node))))
                case If():
                    condition = rewrite_expression(node.condition, extend(node.place, around))
                    then, otherwise = go(node.then, around), go(node.otherwise, around)
                    found.append(replace(node, condition=condition, then=then, otherwise=otherwise))
                case _:
                    found.append(rewrite_statement(node, extend(node.place, around)))
        return tuple(found)

    body = go(program.body, ())
    return replace(program, body=body, holes=tuple(holes))


def with_loops(program: Program, number: int) -> Program | None:
    """Return the program in which a hole also sees the loops around it; None if it sees them, or there are none.

    It sees them as other holes do, by what these are given that depends on nothing else (`1 << k`), or by their
    variables.
    """
    around = _around(program, number)
    hole = program.holes[number]
    others: dict[str, Expr] = {}
    seen: set[str] = set()
    for node in _calls(program):
        named = list(zip(program.holes[node.hole].arguments, node.args, strict=True))
        for name, given in named:
            used = _variables(given)
            if used and used <= around:
                if node.hole == number:
                    seen |= used
                else:
                    others[name] = given
    missing = around - seen
    more = {name: given for name, given in others.items() if _variables(given) <= missing}
    shown = {variable for given in more.values() for variable in _variables(given)}
    more |= {variable: Var(variable, DType.INDEX, hole.place) for variable in sorted(missing - shown)}
    if not more:
        return None

    def rule(node: Expr) -> Expr:
        if not isinstance(node, HoleCall) or node.hole != number:
            return node
        return replace(node, args=(*node.args, *more.values()))

    holes = list(program.holes)
    holes[number] = replace(hole, arguments=(*hole.arguments, *more))
    return replace(rewrite_program(program, rule), holes=tuple(holes))


def _around(program: Program, number: int) -> set[str]:
    """Return the variables of the loops that are around every call of a hole."""
    found: list[set[str]] = []
    for statement, loops in within_loops(program.body):
        for expr in own_expressions(statement):
            if any(isinstance(part, HoleCall) and part.hole == number for part in subexpressions(expr)):
                found.append({loop.variable for loop in loops})
    return set.intersection(*found) if found else set()


def _calls(program: Program) -> list[HoleCall]:
    some = (expr for statement, _ in within_loops(program.body) for expr in own_expressions(statement))
    return [part for expr in some for part in subexpressions(expr) if isinstance(part, HoleCall)]


def _variables(expr: Expr) -> set[str]:
    return {part.name for part in subexpressions(expr) if isinstance(part, Var)}
