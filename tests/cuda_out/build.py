"""Short spellings of the IR, for tests that build kernels by hand."""

from __future__ import annotations

from typing import Any

from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.program import DType

HERE = Place("test.py", 1, 1)
INDEX, F32 = DType.INDEX, DType.F32


def num(value: int) -> ir.Const:
    return ir.Const(value, INDEX, HERE)


def data(value: float, dtype: DType = F32) -> ir.Const:
    return ir.Const(value, dtype, HERE)


def as_expr(value: Any) -> ir.Expr:
    """Return an expression as it is, an int as an INDEX constant, a string as an INDEX variable."""
    if isinstance(value, str):
        return ir.Var(value, INDEX, HERE)
    return num(value) if isinstance(value, int) else value


def var(name: str, dtype: DType = INDEX) -> ir.Var:
    return ir.Var(name, dtype, HERE)


def where(name: Any, axis: Any = "x") -> ir.Coordinate:
    return ir.Coordinate(name, axis, HERE)


def op(operator: Any, left: Any, right: Any, dtype: DType | None = None) -> ir.Expr:
    """Return any operator of two operands; a Binary has its left operand's dtype."""
    left, right = as_expr(left), as_expr(right)
    if operator in ("and", "or"):
        return ir.Logic(operator, left, right, HERE)
    if operator in ("==", "!=", "<", "<=", ">", ">="):
        return ir.Compare(operator, left, right, HERE)
    return ir.Binary(operator, left, right, dtype or left.dtype, HERE)


def un(operator: Any, operand: Any) -> ir.Unary:
    operand = as_expr(operand)
    return ir.Unary(operator, operand, operand.dtype, HERE)


def select(condition: ir.Expr, then: Any, otherwise: Any) -> ir.Select:
    then = as_expr(then)
    return ir.Select(condition, then, as_expr(otherwise), then.dtype, HERE)


def load(array: str, *indices: Any, dtype: DType = F32) -> ir.Load:
    return ir.Load(array, tuple(map(as_expr, indices)), dtype, HERE)


def shuffle(value: ir.Expr, lane: Any, mode: Any = "idx") -> ir.Shuffle:
    return ir.Shuffle(mode, None, value, as_expr(lane), value.dtype, HERE)


def total(name: str, *indices: Any, dtype: DType = F32) -> ir.AccumulatorValue:
    return ir.AccumulatorValue(name, tuple(map(as_expr, indices)), dtype, HERE)


def assign(name: str, value: Any) -> ir.Assign:
    return ir.Assign(name, as_expr(value), HERE)


def store(array: str, *indices_and_value: Any) -> ir.Store:
    *indices, value = map(as_expr, indices_and_value)
    return ir.Store(array, tuple(indices), value, HERE)


def array(name: str, *shape: int, memory: Any = "local", dtype: DType = F32) -> ir.DeclareArray:
    return ir.DeclareArray(name, memory, shape, dtype, HERE)


def accumulator(
    name: str,
    outer: Any = "+",
    inner: Any = "*",
    *,
    init: Any = None,
    final: Any = None,
    shape: Any = (),
    dtype: Any = F32,
) -> ir.DeclareAccumulator:
    start = None if init is None else ir.Const(init, dtype, HERE)
    return ir.DeclareAccumulator(name, outer, inner, start, final, shape, dtype, HERE)


def accumulate(name: str, *operands: ir.Expr, at: Any = (), when: ir.Expr | None = None) -> ir.Accumulate:
    return ir.Accumulate(name, tuple(map(as_expr, at)), operands, when, HERE)


def loop(variable: str, stop: Any, *body: ir.Stmt, start: Any = 0, step: Any = 1) -> ir.For:
    return ir.For(variable, as_expr(start), as_expr(stop), as_expr(step), body, HERE)


def branch(condition: ir.Expr, then: Any, otherwise: Any = ()) -> ir.If:
    return ir.If(condition, tuple(then), tuple(otherwise), HERE)


def barrier(scope: Any = "block") -> ir.Barrier:
    return ir.Barrier(scope, HERE)


def copy(array: str, *indices_and_source: Any, width: int = 1) -> ir.CopyAsync:
    *indices, source = map(as_expr, indices_and_source)
    return ir.CopyAsync(array, tuple(indices), source, width, HERE)


def commit() -> ir.CopyGroup:
    return ir.CopyGroup(None, HERE)


def wait(left: int = 0) -> ir.CopyGroup:
    return ir.CopyGroup(left, HERE)


def parameter(name: str, *shape: int, role: Any = "in", dtype: DType = F32) -> ir.Parameter:
    return ir.Parameter(name, dtype, shape, role, HERE)


def kernel(
    name: str, parameters: Any, body: Any, *, block: Any = (64, 1, 1), grid: Any = (2, 1, 1), warp_size: int = 32
) -> ir.Program:
    return ir.Program(name, tuple(parameters), tuple(body), (), block, grid, warp_size, HERE)
