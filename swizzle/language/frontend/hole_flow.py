"""Check that no hole feeds a hole: a hole's arguments must not depend on what another hole becomes that is open then.

The check follows scalars: a variable depends on a hole when some assignment to it does, directly or through another
variable, or when a condition that does chooses among its assignments. Where all of them stand in one branch of such a
condition, nothing else may read it, and there it has one value. The order of statements is not looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NoReturn, TypeAlias

from typing_extensions import assert_never

from swizzle.language.frontend.operators import fail
from symbolic.errors import Place
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


def check_hole_arguments(body: Sequence[Stmt], holes: Sequence[Hole], found: Collection[Place] = ()) -> None:
    """Refuse a hole with an argument that depends on a hole.

    Those of a scan are filled before the others, and those at the places `found` by other sketches are before all.
    """
    tainted: set[str] = set()
    filled = {number for number, hole in enumerate(holes) if hole.place in found}
    asked = {number for number, hole in enumerate(holes) if hole.kind not in SCAN_KINDS} - filled
    size = -1
    while size != len(tainted):
        size = len(tainted)
        assigned: dict[str, set[_Branch]] = {}
        _spread(body, tainted, asked, assigned, branch=())
        tainted.update(name for name, branches in assigned.items() if len(branches) > 1)
    for expr in _expressions(body):
        for part in subexpressions(expr):
            if isinstance(part, HoleCall) and part.hole not in filled:
                for inner in (inner for argument in part.args for inner in subexpressions(argument)):
                    if _is_open(inner, tainted, asked):
                        _nested_hole(inner.place)


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
    return not expr.dtype.is_data and any(_is_open(part, tainted, asked) for part in subexpressions(expr))


def _is_open(part: Expr, tainted: set[str], asked: set[int]) -> bool:
    return (isinstance(part, HoleCall) and part.hole in asked) or (isinstance(part, Var) and part.name in tainted)


def _nested_hole(place: Place) -> NoReturn:
    """Refuse a hole whose argument depends on a hole."""
    fail(
        place,
        "a hole's argument cannot contain a hole",
        "thread coordinates, loop variables and constants",
        "a hole's argument must have one value, whatever the holes become; pass the variables themselves",
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
