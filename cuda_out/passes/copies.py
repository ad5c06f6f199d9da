"""Give two register arrays one name if one is a copy of the other; the copy then disappears.

A copy `for k: b[k] = a[k]` is dropped if neither array is written while elements of the other will still be read
(Chaitin's coalescing, on whole arrays). Arrays that remain are declared where they are first used.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from cuda_out.analysis.registers import is_overwritten, local_arrays, reads
from symbolic.ir import program as ir
from symbolic.ir.program import Expr, Program, Stmt
from symbolic.ir.walk import Body, bodies, map_bodies, map_own, own_expressions, rebuild, statements, subexpressions


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
