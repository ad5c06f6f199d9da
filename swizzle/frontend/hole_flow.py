"""Check that no hole feeds a hole: a hole's arguments must not depend on what another hole becomes.

The check follows scalars: a variable depends on a hole when some assignment to it does, directly or through another
variable, or when a condition that does chooses among its assignments. Where all of them stand in one branch of such a
condition, nothing else may read it, and there it has one value. The order of statements is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from typing_extensions import assert_never

from swizzle.frontend.calls import nested_hole
from symbolic.ir.program import (
    Accumulate,
    Assign,
    Barrier,
    DeclareAccumulator,
    DeclareArray,
    Expr,
    For,
    Hole,
    HoleCall,
    If,
    Stmt,
    Store,
    Var,
)
from symbolic.ir.walk import subexpressions
from templates.holes import SCAN_KINDS

_Branch: TypeAlias = tuple[int, ...]  # of conditions that depend on holes, from the outermost: which, and which side


def check_hole_arguments(body: Sequence[Stmt], holes: Sequence[Hole]) -> None:
    """Refuse a hole with an argument that depends on a hole; those of a scan are filled before the others."""
    tainted: set[str] = set()
    asked = {number for number, hole in enumerate(holes) if hole.kind not in SCAN_KINDS}
    size = -1
    while size != len(tainted):
        size = len(tainted)
        assigned: dict[str, set[_Branch]] = {}
        _spread(body, tainted, asked, assigned, branch=())
        tainted.update(name for name, branches in assigned.items() if len(branches) > 1)
    if not tainted:
        return
    for expr in _expressions(body):
        for part in subexpressions(expr):
            if isinstance(part, HoleCall):
                for argument in part.args:
                    for inner in subexpressions(argument):
                        if isinstance(inner, Var) and inner.name in tainted:
                            nested_hole(inner.place)


def _spread(
    body: Sequence[Stmt], tainted: set[str], asked: set[int], assigned: dict[str, set[_Branch]], branch: _Branch
) -> None:
    """Add variables that are assigned what depends on a hole, and note in which branches of holes any are assigned."""
    for statement in body:
        match statement:
            case Assign(name=name, value=value):
                assigned.setdefault(name, set()).add(branch)
                if _depends(value, tainted, asked):
                    tainted.add(name)
            case For(body=inner):
                _spread(inner, tainted, asked, assigned, branch)
            case If(condition=condition, then=then, otherwise=otherwise):
                chosen = _depends(condition, tainted, asked)
                for side, inner in enumerate((then, otherwise)):
                    _spread(inner, tainted, asked, assigned, (*branch, id(statement), side) if chosen else branch)
            case Store() | Accumulate() | DeclareArray() | DeclareAccumulator() | Barrier():
                pass
            case _:
                assert_never(statement)


def _depends(expr: Expr, tainted: set[str], asked: set[int]) -> bool:
    return not expr.dtype.is_data and any(
        (isinstance(p, HoleCall) and p.hole in asked) or (isinstance(p, Var) and p.name in tainted)
        for p in subexpressions(expr)
    )


def _expressions(body: Sequence[Stmt]) -> Iterator[Expr]:
    for statement in body:
        match statement:
            case Assign(value=value):
                yield value
            case Store(indices=indices, value=value):
                yield from (*indices, value)
            case Accumulate(indices=indices, operands=operands, condition=condition):
                yield from (*indices, *operands)
                if condition is not None:
                    yield condition
            case For(start=start, stop=stop, step=step, body=inner):
                yield from (start, stop, step)
                yield from _expressions(inner)
            case If(condition=condition, then=then, otherwise=otherwise):
                yield condition
                yield from _expressions(then)
                yield from _expressions(otherwise)
            case DeclareArray() | DeclareAccumulator() | Barrier():
                pass
            case _:
                assert_never(statement)
