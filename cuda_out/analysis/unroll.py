"""Which loops must be unrolled so that local arrays are indexed by constants and stay in registers.

A value is *static* when it depends on constants and static loops only: after unrolling the compiler knows it.
"""

from __future__ import annotations

from collections.abc import Iterator

from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, names_in, own_expressions, statements, subexpressions


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
