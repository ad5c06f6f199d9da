"""Compute an index only once if it is used more than once, and before a loop if the loop does not change it.

A subexpression of some weight (`weight`) gets a name where it is first needed, in the innermost body that contains all
its uses. If it stands in a loop only, it moves in front of the loop. What the compiler computes while it unrolls is
left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from cuda_out.analysis.unroll import is_static, loops_to_unroll
from cuda_out.analysis.values import is_computable, leaves_in
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    assigned_in,
    children,
    map_bodies,
    map_own,
    rebuild,
    spelling,
    subexpressions,
    surely_assigned,
)

LOOKUP = 4  # simple operations that a read of constant memory costs at least
Key: TypeAlias = tuple[object, ...]


class _Uses(Struct):
    """Where an expression stands in a body: numbers of statements, how often, whether a loop computes it anew."""

    expr: Expr
    wish: str
    statements: set[int] = field(default_factory=set)
    count: int = 0
    in_loop: bool = False


def share_values(program: Program) -> Program:
    """Return the same program with index expressions computed once."""
    return replace(program, body=_Sharer(program).body(program.body, frozenset()))


def operation_count(expr: Expr) -> int:
    """Return what an index expression costs, in simple operations."""
    own = 0
    match expr:
        case ir.Binary(op="//" | "%", right=ir.Const(value=value)) if (
            int(value) > 0 and int(value) & (int(value) - 1) == 0
        ):
            own = 1
        case ir.Binary(op="//" | "%"):
            own = 4
        case ir.Lookup():
            own = LOOKUP
        case ir.Binary() | ir.Unary() | ir.Select() | ir.Compare() | ir.Logic():
            own = 1
        case _:
            pass
    return own + sum(map(operation_count, children(expr)))


def _is_worth_it(expr: Expr) -> bool:
    divides = any(isinstance(part, ir.Binary) and part.op in ("//", "%") for part in subexpressions(expr))
    return operation_count(expr) >= (2 if divides else 4)


class _Sharer:
    def __init__(self, program: Program) -> None:
        self._fresh = FreshNames(all_names(program))
        self._unrolled = frozenset(loop.variable for loop in loops_to_unroll(program))

    def body(self, body: Body, defined: frozenset[str]) -> Body:
        """Return the body with values shared in it, outermost first; `defined` are the variables that have a value."""
        while True:
            uses = self._best(body, defined)
            if uses is None:
                return self._nested(body, defined)
            name = self._fresh.take(uses.wish)
            first, last = min(uses.statements), max(uses.statements)
            value = ir.Var(name, DType.INDEX, uses.expr.place)
            changed = [_swapped(stmt, spelling(uses.expr), value) for stmt in body[first : last + 1]]
            body = (*body[:first], ir.Assign(name, uses.expr, uses.expr.place), *changed, *body[last + 1 :])

    def _nested(self, body: Body, defined: frozenset[str]) -> Body:
        found: list[Stmt] = []
        for stmt in body:
            own = frozenset({stmt.variable}) if isinstance(stmt, ir.For) else frozenset()
            found.append(map_bodies(stmt, lambda inner, known=defined | own: self.body(inner, known)))  # type: ignore[misc]
            defined |= surely_assigned((stmt,))
        return tuple(found)

    def _best(self, body: Body, defined: frozenset[str]) -> _Uses | None:
        """Return the heaviest value that is worth a name in this body."""
        found: dict[Key, _Uses] = {}
        for number, stmt in enumerate(body):
            for expr, wish, in_loop in self._candidates(stmt, frozenset(), False, False):
                uses = found.setdefault(spelling(expr), _Uses(expr, wish))
                uses.statements.add(number)
                uses.count += 1
                uses.in_loop |= in_loop
        fit = [uses for uses in found.values() if self._is_shared(uses, body, defined)]
        return max(fit, key=lambda uses: operation_count(uses.expr), default=None)

    def _is_shared(self, uses: _Uses, body: Body, defined: frozenset[str]) -> bool:
        first, last = min(uses.statements), max(uses.statements)
        variables = {part.name for part in subexpressions(uses.expr) if isinstance(part, ir.Var)}
        if not variables <= defined | surely_assigned(body[:first]):
            return False
        own = isinstance(body[first], ir.For | ir.If)
        if assigned_in(body[first : last + 1]) & leaves_in([uses.expr]):
            return False
        return uses.in_loop or len(uses.statements) > 1 or (uses.count > 1 and not own)

    def _candidates(
        self, stmt: Stmt, bound: frozenset[str], in_loop: bool, guarded: bool
    ) -> Iterator[tuple[Expr, str, bool]]:
        """Yield the heavy parts of a statement, what to call them, and whether a loop computes them anew."""
        match stmt:
            case ir.Assign(name=name, value=value):
                yield from self._parts(value, f"{name}_base", bound, in_loop and not guarded)
            case (
                ir.Store(array=array, indices=indices, value=value)
                | ir.CopyAsync(array=array, indices=indices, source=value)
            ):
                for index in indices:
                    yield from self._parts(index, f"{array}_index", bound, in_loop and not guarded)
                yield from self._parts(value, "offset", bound, in_loop and not guarded)
            case ir.Accumulate(operands=operands, condition=condition):
                for expr in (*operands, *([] if condition is None else [condition])):
                    yield from self._parts(expr, "offset", bound, in_loop and not guarded)
            case ir.WarpInstruction(operands=operands):
                for expr in operands:
                    yield from self._parts(expr, "offset", bound, in_loop and not guarded)
            case ir.For(variable=variable, body=inner):
                for each in inner:
                    yield from self._candidates(each, bound | assigned_in(inner) | {variable}, True, guarded)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                yield from self._parts(condition, "offset", bound, in_loop and not guarded)
                for each in (*then, *otherwise):
                    yield from self._candidates(each, bound | assigned_in((stmt,)), in_loop, True)
            case _:
                pass

    def _parts(self, expr: Expr, wish: str, bound: frozenset[str], in_loop: bool) -> Iterator[tuple[Expr, str, bool]]:
        leaves = leaves_in([expr])
        is_free = expr.dtype is DType.INDEX and bool(leaves) and not leaves & bound and is_computable(expr, {})
        if is_free and _is_worth_it(expr) and not is_static(expr, self._unrolled):
            yield expr, wish, in_loop
        match expr:
            case ir.Select(condition=condition):
                yield from self._parts(condition, wish, bound, in_loop)
                for side in (expr.then, expr.otherwise):
                    yield from self._parts(side, wish, bound, False)
            case ir.Load(array=array, indices=indices):
                for index in indices:
                    yield from self._parts(index, f"{array}_index", bound, in_loop)
            case ir.Shuffle(value=value, lane=lane):
                yield from self._parts(value, wish, bound, in_loop)
                yield from self._parts(lane, "source_lane", bound, in_loop)
            case _:
                part = wish.replace("_index", "_base").replace("_lane", "_base")
                for child in children(expr):
                    yield from self._parts(child, part, bound, in_loop)


def _swapped(stmt: Stmt, key: Key, value: Expr) -> Stmt:
    def change(expr: Expr) -> Expr:
        if expr.dtype is DType.INDEX and spelling(expr) == key:
            return value
        return rebuild(expr, change)

    return map_bodies(map_own(stmt, change), lambda inner: tuple(_swapped(each, key, value) for each in inner))
