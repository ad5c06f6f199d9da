"""Which elements of register arrays does a statement always write? Loops with static bounds are run to find out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from cuda_out.analysis.values import evaluate, is_computable, leaves_in
from symbolic.ir import program as ir
from symbolic.ir.program import Expr, Program, Stmt
from symbolic.ir.walk import Body, fragments_in, names_in, own_expressions, statements

Elements: TypeAlias = dict[str, frozenset[tuple[int, ...]]]
KnownIndices: TypeAlias = dict[str, int]

MOST: Final = 4096  # iterations of loops that are run through


def local_arrays(program: Program) -> dict[str, ir.DeclareArray]:
    """Return the local arrays that are declared exactly once, by name, but those that instructions of warps name."""
    found = [stmt for stmt in statements(program.body) if isinstance(stmt, ir.DeclareArray)]
    names, kept = [stmt.name for stmt in found], fragments_in(program.body)
    return {
        stmt.name: stmt
        for stmt in found
        if stmt.memory == "local" and names.count(stmt.name) == 1 and stmt.name not in kept
    }


def elements(shape: tuple[int, ...]) -> frozenset[tuple[int, ...]]:
    return frozenset(product(*map(range, shape)))


def is_overwritten(stmt: Stmt, array: ir.DeclareArray) -> bool:
    """Say whether a statement writes every element of the array, in every lane that runs it."""
    return written((stmt,)).get(array.name, frozenset()) >= elements(array.shape)


def written(body: Body) -> Elements:
    """Return the elements of each array that the body writes at constant indices, whatever the data and the lane."""
    return _Runner().body(body, {})


def reads(stmt: Stmt, name: str) -> bool:
    """Say whether a statement, or one nested in it, reads the array."""
    return any(name in names_in(expr) for inner in statements((stmt,)) for expr in own_expressions(inner))


class _Runner:
    """Counts iterations, to give up on long loops."""

    def __init__(self) -> None:
        self._left = MOST

    def body(self, body: Body, known: KnownIndices) -> Elements:
        found: Elements = {}
        for stmt in body:
            for name, places in self.statement(stmt, known).items():
                found[name] = found.get(name, frozenset()) | places
        return found

    def statement(self, stmt: Stmt, known: KnownIndices) -> Elements:
        match stmt:
            case ir.Store(array=array, indices=indices):
                places = [_value(index, known) for index in indices]
                return {} if None in places else {array: frozenset({tuple(int(place or 0) for place in places)})}
            case ir.Assign(name=name, value=value):
                number = _value(value, known)
                known.pop(name, None)
                if number is not None:
                    known[name] = number
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                chosen = _value(condition, known)
                if chosen is not None:
                    return self.body(then if chosen else otherwise, known)
                first, second = (self.body(side, dict(known)) for side in (then, otherwise))
                _forget(known, stmt)
                return {name: first[name] & second[name] for name in first.keys() & second.keys()}
            case ir.For():
                return self._loop(stmt, known)
            case _:
                pass
        return {}

    def _loop(self, stmt: ir.For, known: KnownIndices) -> Elements:
        bounds = [_value(bound, known) for bound in (stmt.start, stmt.stop, stmt.step)]
        if None in bounds or 0 in bounds[2:]:
            _forget(known, stmt)
            return {}
        trips = range(*(int(bound or 0) for bound in bounds))
        self._left -= len(trips)
        if self._left < 0:
            _forget(known, stmt)
            return {}
        found: Elements = {}
        for trip in trips:
            known[stmt.variable] = trip
            for name, places in self.body(stmt.body, known).items():
                found[name] = found.get(name, frozenset()) | places
        known.pop(stmt.variable, None)
        return found


def _value(expr: Expr, known: Mapping[str, int]) -> int | None:
    """Return an expression's value where it is made of constants and known variables."""
    if not leaves_in([expr]) <= known.keys() or not is_computable(expr, {}):
        return None
    return int(evaluate(expr, {name: np.asarray(value) for name, value in known.items()}))


def _forget(known: KnownIndices, stmt: Stmt) -> None:
    for inner in statements((stmt,)):
        match inner:
            case ir.Assign(name=name) | ir.For(variable=name):
                known.pop(name, None)
            case _:
                pass
