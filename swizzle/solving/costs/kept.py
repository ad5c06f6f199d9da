"""Which accesses to shared memory does the printed kernel have, whatever the holes become?

The passes drop stores to names that nothing reads, and sides of choices that a filling decides. A name is *kept* if
what no filling drops reads it: a store to a parameter, or a statement that writes a kept name, if it runs for certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.passes.vectorize import LONGEST
from swizzle.solving.problem.problem import Problem
from symbolic.ir import program as ir
from symbolic.ir.program import Expr
from symbolic.ir.sites import Site, Sites, walk
from symbolic.ir.walk import Body, bodies, children, statements, trips_of

_Writing: TypeAlias = ir.Assign | ir.Store | ir.Accumulate


class KeptAccess(Struct, frozen=True):
    """An access that every filling's kernel has. `maybe_vectors` are those of the loops around it, by their places from
    outside inward, that may become vector accesses."""

    node: ir.Load | ir.Store
    site: Site
    maybe_vectors: tuple[int, ...]

    @property
    def writes(self) -> bool:
        """Whether it is a store."""
        return isinstance(self.node, ir.Store)


def kept_accesses(problem: Problem) -> Iterator[KeptAccess]:
    """Yield the accesses to shared memory that no filling drops, atomic ones excepted."""
    program = problem.program
    sites, often = Sites.in_program(program), Counter(id(node) for _, node in walk(program))
    shared = {s.name for s in statements(program.body) if isinstance(s, ir.DeclareArray) and s.memory == "shared"}
    runs = {key[0] for key, (mask, *_) in problem.run.accesses.items() if isinstance(mask, np.ndarray) and mask.any()}
    certain = [
        (stmt, loops)
        for stmt, loops, surely in _writing(program.body, (), True)
        if often[id(stmt)] == 1 and (surely or sites.of(stmt) in runs)
    ]
    kept = {parameter.name for parameter in program.parameters}
    while read := {name for stmt, _ in certain if _target(stmt) in kept for name in _read(stmt)} - kept:
        kept |= read
    for stmt, loops in certain:
        if _target(stmt) in kept:
            maybe = tuple(place for place, loop in enumerate(loops) if _may_be_vector(loop))
            for node in _own(stmt):
                if isinstance(node, ir.Load | ir.Store) and node.array in shared and often[id(node)] == 1:
                    yield KeptAccess(node, sites.of(node), maybe)


def _writing(
    body: Body, loops: tuple[ir.For, ...], certain: bool
) -> Iterator[tuple[_Writing, tuple[ir.For, ...], bool]]:
    """Yield what writes a name, with the loops around it, and whether it runs as often as it looks."""
    for stmt in body:
        match stmt:
            case ir.For():
                yield from _writing(stmt.body, (*loops, stmt), certain and bool(trips_of(stmt)))
            case ir.If():
                for side in bodies(stmt):
                    yield from _writing(side, loops, False)
            case ir.Accumulate(condition=condition):
                yield stmt, loops, certain and condition is None
            case ir.Assign():
                yield stmt, loops, certain
            case ir.Store(atomic=False):
                yield stmt, loops, certain
            case _:
                pass


def _target(stmt: _Writing) -> str:
    match stmt:
        case ir.Assign(name=name) | ir.Store(array=name) | ir.Accumulate(accumulator=name):
            return name


def _own(stmt: _Writing) -> Iterator[ir.Stmt | Expr]:
    """Yield a statement and the data that it computes in any case: without the sides of choices."""
    yield stmt
    waiting = list(stmt.operands) if isinstance(stmt, ir.Accumulate) else [stmt.value]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, ir.Select):
            waiting += [child for child in children(part) if child.dtype.is_data]


def _read(stmt: _Writing) -> Iterator[str]:
    for part in _own(stmt):
        match part:
            case ir.Var(name=name) | ir.Load(array=name) | ir.AccumulatorValue(accumulator=name):
                yield name
            case _:
                pass


def _may_be_vector(loop: ir.For) -> bool:
    """Say whether the passes may put rounds of a loop together (`cuda_out.passes.vectorize`)."""
    rounds = trips_of(loop)
    return rounds is None or (
        rounds.start == 0 and rounds.step == 1 and 2 <= len(rounds) <= LONGEST and not len(rounds) % 2
    )
