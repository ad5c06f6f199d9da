"""Drop what nothing reads: variables, register arrays, accumulators, and bodies that become empty.

What must stay is what has an effect outside: stores to parameters, stores and copies to shared arrays that something
reads, barriers, and waits for copies.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from symbolic.ir import program as ir
from symbolic.ir.program import Program, Stmt
from symbolic.ir.walk import Body, bodies, names_in, own_expressions


def drop_dead(program: Program) -> Program:
    """Return the same program without statements that have no effect."""
    parameters = frozenset(parameter.name for parameter in program.parameters)
    while True:
        needs = list(_needs(program.body, frozenset()))
        live = set(parameters)
        while True:
            grown = live.union(*(reads for name, reads in needs if name is None or name in live))
            if grown == live:
                break
            live = grown
        body = _kept(program.body, frozenset(live))
        if body == program.body:
            return program
        program = replace(program, body=body)


def _target(stmt: Stmt) -> str | None:
    match stmt:
        case ir.Assign(name=name) | ir.DeclareArray(name=name) | ir.DeclareAccumulator(name=name):
            return name
        case ir.Store(array=name) | ir.CopyAsync(array=name) | ir.Accumulate(accumulator=name):
            return name
        case _:
            return None


def _needs(body: Body, around: frozenset[str]) -> Iterator[tuple[str | None, frozenset[str]]]:
    """Yield what each statement writes (None: it matters by itself) and the names it reads, conditions included."""
    for stmt in body:
        reads = around.union(*(names_in(expr) for expr in own_expressions(stmt)))
        match stmt:
            case ir.For() | ir.If():
                for inner in bodies(stmt):
                    yield from _needs(inner, reads)
            case ir.DeclareAccumulator(name=name, final=final) if final is not None:
                yield name, around | names_in(final.body) - {final.parameter}
            case ir.DeclareArray() | ir.DeclareAccumulator():
                pass
            case _:
                yield _target(stmt), reads


def _kept(body: Body, live: frozenset[str]) -> Body:
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case ir.For(body=inner):
                stmt = replace(stmt, body=_kept(inner, live))
            case ir.If(then=then, otherwise=otherwise):
                stmt = replace(stmt, then=_kept(then, live), otherwise=_kept(otherwise, live))
            case _:
                pass
        target = _target(stmt)
        if (target is None or target in live) and (not bodies(stmt) or any(bodies(stmt))):
            found.append(stmt)
    return tuple(found)
