"""Which elements of register arrays are always written, and which loops must be unrolled so that they are registers.

To find out what a statement always writes, loops with static bounds are run. Unrolled must be what indexes local
arrays, so that they are indexed by constants and stay in registers.

A value is *static* when it depends on constants and static loops only: after unrolling the compiler knows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from cuda_out.analysis.values import evaluate, is_computable, leaves_in
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, fragments_in, names_in, own_expressions, statements, subexpressions

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


def register_arrays(program: Program) -> frozenset[str]:
    """Return the names of the arrays that live in registers: local arrays and arrays of accumulators."""
    return frozenset(
        stmt.name
        for stmt in statements(program.body)
        if (isinstance(stmt, ir.DeclareArray) and stmt.memory == "local")
        or (isinstance(stmt, ir.DeclareAccumulator) and stmt.shape)
    )


def operand_arrays(program: Program) -> frozenset[str]:
    """Return the names of the arrays whose elements are operands of instructions where the index is a constant: those
    in registers, and those that are passed by value."""
    return register_arrays(program) | {parameter.name for parameter in program.parameters if parameter.by_value}


def by_value_at_run_time(program: Program) -> Iterator[ir.Load]:
    """Yield the reads of arrays by value at indices that are no constants once loops are unrolled.

    Old compilers copy the array to local memory for them; new ones read one element after the other.
    """
    given = {parameter.name for parameter in program.parameters if parameter.by_value}
    static = static_names(program)
    for stmt in statements(program.body) if given else ():
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                match part:
                    case ir.Load(array=array, indices=indices) if array in given:
                        if not all(is_static(index, static) for index in indices):
                            yield part
                    case _:
                        pass


def _definitions(body: Body, guards: tuple[Expr, ...]) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """Yield every definition of a scalar: its name, and the expressions that decide its value."""
    for stmt in body:
        match stmt:
            case ir.Assign(name=name, value=value):
                yield name, (value, *guards)
            case ir.For(variable=variable, start=start, stop=stop, step=step, body=inner):
                yield variable, (start, stop, step)
                yield from _definitions(inner, (*guards, start, stop, step))
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                yield from _definitions(then, (*guards, condition))
                yield from _definitions(otherwise, (*guards, condition))
            case _:
                pass


def static_names(program: Program) -> frozenset[str]:
    """Return the index variables whose value the compiler knows once the loops are unrolled."""
    definitions = list(_definitions(program.body, ()))
    static = frozenset(name for name, _ in definitions)
    while True:
        kept = static - {name for name, exprs in definitions if not all(is_static(expr, static) for expr in exprs)}
        if kept == static:
            return static
        static = kept


def is_static(expr: Expr, static: frozenset[str]) -> bool:
    """Say whether an expression is an index made of constants, launch dimensions and static variables."""
    for part in subexpressions(expr):
        match part:
            case ir.Var(name=name):
                known = name in static
            case ir.Coordinate(name=name):
                known = name == "warpsize"
            case ir.Load() | ir.Shuffle() | ir.Cast() | ir.AccumulatorValue() | ir.HoleCall():
                known = False
            case _:
                known = True
        if not known or part.dtype not in (DType.INDEX, DType.BOOL):
            return False
    return True


def steady_and_moved(index: Expr, static: frozenset[str]) -> tuple[Expr, Expr]:
    """Return what an index is the sum of: what no loop moves that compilers unroll, and what only such loops do."""
    zero = ir.Const(0, DType.INDEX, index.place)
    match index:
        case _ if is_static(index, static):
            return zero, index
        case ir.Binary(op="+", left=left, right=right) if is_static(right, static):
            return left, right
        case _:
            return index, zero


def register_indices(stmt: Stmt, arrays: frozenset[str]) -> Iterator[Expr]:
    """Yield the indices with which a statement itself addresses register arrays."""
    match stmt:
        case ir.Store(array=name, indices=indices) | ir.Accumulate(accumulator=name, indices=indices):
            if name in arrays:
                yield from indices
        case _:
            pass
    for expr in own_expressions(stmt):
        for part in subexpressions(expr):
            match part:
                case ir.Load(array=name, indices=indices) | ir.AccumulatorValue(accumulator=name, indices=indices):
                    if name in arrays:
                        yield from indices
                case _:
                    pass


def _assigned(body: Body) -> frozenset[str]:
    """Return what a body assigns; an inner loop's variable is known once that loop itself is unrolled."""
    return frozenset(stmt.name for stmt in statements(body) if isinstance(stmt, ir.Assign))


def loops_to_unroll(program: Program) -> frozenset[ir.For]:
    """Return the loops that decide the static indices of registers and of what is passed by value."""
    static, arrays = static_names(program), operand_arrays(program)
    definitions = list(_definitions(program.body, ()))
    needed: set[str] = set()
    for stmt in statements(program.body):
        for index in register_indices(stmt, arrays):
            needed |= names_in(index) & static
    loops = [stmt for stmt in statements(program.body) if isinstance(stmt, ir.For) and stmt.variable in static]
    while True:
        grown = set(needed)
        for name, exprs in definitions:
            if name in needed:
                grown |= frozenset[str]().union(*map(names_in, exprs)) & static
        chosen = frozenset(loop for loop in loops if (_assigned(loop.body) | {loop.variable}) & grown)
        for loop in chosen:
            grown |= frozenset[str]().union(*map(names_in, own_expressions(loop))) & static
        if grown == needed:
            return chosen
        needed = grown
