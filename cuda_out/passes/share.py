"""Compute an index only once if it is used more than once, and before a loop if the loop does not change it.

A subexpression of some weight (`weight`) gets a name where it is first needed, in the innermost body that contains all
its uses. If it stands in a loop only, it moves in front of the loop. What the compiler computes while it unrolls is
left alone.

Two register arrays get one name if one is a copy of the other, and the copy disappears: a copy `for k: b[k] = a[k]` is
dropped if neither array is written while elements of the other will still be read (Chaitin's coalescing, on whole
arrays). Arrays that remain are declared where they are first used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from cuda_out.analysis.registers import is_overwritten, is_static, local_arrays, loops_to_unroll, reads
from cuda_out.analysis.values import is_computable, leaves_in
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import (
    Body,
    FreshNames,
    all_names,
    assigned_in,
    bodies,
    children,
    map_bodies,
    map_own,
    own_expressions,
    rebuild,
    spelling,
    statements,
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


def merge_copies(program: Program) -> Program:
    """Return the same program without the copies of register arrays that one common name makes superfluous."""
    program = replace(program, body=_without_self_copies(program.body))
    refused: set[frozenset[str]] = set()
    while True:
        arrays = local_arrays(program)
        pairs = (pair for stmt in statements(program.body) if (pair := copied(stmt, arrays)) is not None)
        pair = next((pair for pair in pairs if frozenset(pair) not in refused), None)
        if pair is None:
            return replace(program, body=_declared_late(program.body))
        if _Liveness(arrays, pair).interfere(program.body):
            refused.add(frozenset(pair))
            continue
        merged = _merged(program, pair)
        if merged is None:
            refused.add(frozenset(pair))
        else:
            program = merged


def copied(stmt: Stmt, arrays: dict[str, ir.DeclareArray]) -> tuple[str, str] | None:
    """Return (target, source) of a statement that copies one whole array to another of the same type, else None."""
    inner = stmt
    while isinstance(inner, ir.For) and len(inner.body) == 1:
        inner = inner.body[0]
    match inner:
        case ir.Store(array=target, indices=indices, value=ir.Load(array=source, indices=read)):
            known = target in arrays and source in arrays and target != source and inner is not stmt
            if not known or len(indices) != len(read) or not _all_same(indices, read):
                return None
            first, second = arrays[target], arrays[source]
            if (first.shape, first.dtype) == (second.shape, second.dtype) and is_overwritten(stmt, first):
                return target, source
        case _:
            pass
    return None


def _all_same(left: tuple[Expr, ...], right: tuple[Expr, ...]) -> bool:
    return all(
        isinstance(a, ir.Var) and isinstance(b, ir.Var) and a.name == b.name for a, b in zip(left, right, strict=True)
    )


class _Liveness:
    """Which of two arrays may still be read, from the end of the body backwards."""

    def __init__(self, arrays: dict[str, ir.DeclareArray], pair: tuple[str, str]) -> None:
        self._arrays, self._pair = arrays, pair
        self._clash = False

    def interfere(self, body: Body) -> bool:
        """Say whether one array is written while the other is alive."""
        self._body(body, frozenset())
        return self._clash

    def _body(self, body: Body, live: frozenset[str]) -> frozenset[str]:
        for stmt in reversed(body):
            live = self._statement(stmt, live)
        return live

    def _statement(self, stmt: Stmt, live: frozenset[str]) -> frozenset[str]:
        pair = copied(stmt, self._arrays)
        if pair is not None and set(pair) == set(self._pair):
            return live - {pair[0]} | {pair[1]}
        match stmt:
            case ir.For(body=body):
                killed = {
                    name
                    for name in live & set(self._pair)
                    if is_overwritten(stmt, self._arrays[name]) and not reads(stmt, name)
                }
                inside = live
                while True:
                    grown = inside | self._body(body, inside)
                    if grown == inside:
                        break
                    inside = grown
                return (inside - killed) | self._read_by(stmt)
            case ir.If(then=then, otherwise=otherwise):
                return self._body(then, live) | self._body(otherwise, live) | self._read_by(stmt)
            case ir.Store(array=name) if name in self._pair:
                (other,) = set(self._pair) - {name}
                self._clash |= other in live
                return (live - {name} if is_overwritten(stmt, self._arrays[name]) else live) | self._read_by(stmt)
            case ir.DeclareArray(name=name):
                return live - {name}
            case _:
                return live | self._read_by(stmt)

    def _read_by(self, stmt: Stmt) -> frozenset[str]:
        return frozenset(name for expr in own_expressions(stmt) for name in self._pair if _loads(expr, name))


def _loads(expr: Expr, name: str) -> bool:
    return any(isinstance(part, ir.Load) and part.array == name for part in subexpressions(expr))


def _merged(program: Program, pair: tuple[str, str]) -> Program | None:
    """Return the program with one name for both; None when neither is declared in the kernel's own body."""
    declared = [stmt.name for stmt in program.body if isinstance(stmt, ir.DeclareArray) and stmt.name in pair]
    if not declared:
        return None
    kept = min(declared, key=len)  # names that passes made are longer than the names that they were made from
    (gone,) = set(pair) - {kept}
    declaration = next(stmt for stmt in program.body if isinstance(stmt, ir.DeclareArray) and stmt.name == kept)
    body = _without(program.body, {kept, gone})
    return replace(program, body=_without_self_copies((declaration, *_renamed(body, gone, kept))))


def _mentioned(stmt: Stmt) -> Iterator[str]:
    for expr in own_expressions(stmt):
        yield from (part.array for part in subexpressions(expr) if isinstance(part, ir.Load))
    if isinstance(stmt, ir.Store):
        yield stmt.array


def _without(body: Body, names: set[str]) -> Body:
    """Return the body without the arrays' declarations."""
    return tuple(
        map_bodies(stmt, lambda inner: _without(inner, names))
        for stmt in body
        if not (isinstance(stmt, ir.DeclareArray) and stmt.name in names)
    )


def _renamed(body: Body, old: str, new: str) -> Body:
    def change(expr: Expr) -> Expr:
        expr = rebuild(expr, change)
        return replace(expr, array=new) if isinstance(expr, ir.Load) and expr.array == old else expr

    found: list[Stmt] = []
    for stmt in body:
        stmt = map_own(stmt, change)
        if isinstance(stmt, ir.Store) and stmt.array == old:
            stmt = replace(stmt, array=new)
        found.append(map_bodies(stmt, lambda inner: _renamed(inner, old, new)))
    return tuple(found)


def _without_self_copies(body: Body) -> Body:
    """Drop `a[k] = a[k]`, and the loops around it."""
    found: list[Stmt] = []
    for stmt in body:
        changed = map_bodies(stmt, _without_self_copies)
        match changed:
            case ir.Store(array=target, indices=indices, value=ir.Load(array=source, indices=read)) if (
                target == source and indices and _all_same(indices, read)
            ):
                continue
            case ir.For(body=()) if bodies(stmt) != ((),):
                continue
            case _:
                found.append(changed)
    return tuple(found)


def _declared_late(body: Body) -> Body:
    """Move each local array's declaration in a body to where the body first mentions it."""
    names = {stmt.name: stmt for stmt in body if isinstance(stmt, ir.DeclareArray) and stmt.memory == "local"}
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, ir.DeclareArray) and stmt.name in names:
            continue
        mentioned = {name for inner in statements((stmt,)) for name in _mentioned(inner)}
        found += [names.pop(name) for name in list(names) if name in mentioned]
        found.append(map_bodies(stmt, _declared_late))
    return (*found, *names.values())
