"""Holes with more arguments: the thread, the block and the loop variables, besides their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from symbolic.errors import Place
from symbolic.ir.program import Axis, Const, Coordinate, DType, Expr, For, HoleCall, If, Program, Stmt, Var
from symbolic.ir.walk import rewrite_expression, rewrite_statement

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
