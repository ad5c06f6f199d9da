"""`gather(x, c)` in a kernel: an element of a read-only array whose index is data within the array by a declared range.

Data steers nothing, so no check of the machine can say that such an index is inside. It is what the program's text
says of ranges: `c=i32.below(64)[130]` is assumed, and what is computed from it is bounded by intervals, which hold
wherever a variable or an array is assigned.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import inf
from typing import Final, TypeAlias

from typing_extensions import assert_never

from swizzle.frontend import operators
from swizzle.frontend.expressions import ExpressionReader
from swizzle.frontend.operators import INDEX
from swizzle.frontend.resolve import Launch, element
from swizzle.frontend.scope import ArrayName
from symbolic.algebra.functions import gather
from symbolic.errors import SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.program import Apply, Cast, DType, Expr, Hole, HoleCall, Load, Parameter, Stmt
from symbolic.ir.text import python_text
from symbolic.ir.walk import Body, own_expressions, statements, subexpressions

Interval: TypeAlias = tuple[float, float]
ROUNDS: Final = 8
"""Passes over a kernel in which intervals may grow; what still grows is not bounded."""
_NOTHING: Final[Interval] = (inf, -inf)


def read_gather(reader: ExpressionReader, nodes: Sequence[ast.expr], node: ast.Call) -> Expr:
    """Read `gather(x, i, ...)`; without data among the indices it is `x[i, ...]`."""
    array, *given = nodes
    meaning = reader.scope.meanings.get(array.id) if isinstance(array, ast.Name) else None
    if not isinstance(array, ast.Name) or not isinstance(meaning, ArrayName):
        reader.mistake(array, f"gather from {ast.unparse(array)}", "an array parameter of the kernel", "gather(x, c)")
    if meaning.role not in ("in", "const"):
        what = f"the {meaning.role} parameter" if meaning.role else f"the {meaning.memory} array"
        reader.mistake(
            node,
            f"gather from {what} {array.id}",
            "a read-only parameter: an in or const array",
            "read it with an index that is no data",
        )
    if len(given) != len(meaning.shape):
        reader.mistake(
            node,
            f"{len(given)} {'index' if len(given) == 1 else 'indices'} for {array.id}, which has {len(meaning.shape)} "
            f"{'dimension' if len(meaning.shape) == 1 else 'dimensions'}",
            f"gather({element(array.id, meaning.shape).replace('[', ', ').replace(']', '')})",
            "write one index for each dimension",
        )
    place, name = reader.kernel.source.place(node), reader.scope.named(array.id)
    values = [_wide(operators.settled(reader.value(each))) for each in given]
    kinds = list(dict.fromkeys(value.dtype for value in values if value.dtype.is_data))
    for value, extent in zip(values, meaning.shape, strict=True):
        if value.dtype.is_float or value.dtype is DType.BOOL:
            what = "a condition" if value.dtype is DType.BOOL else f"{value.dtype.value} data"
            fix = f"declare the indices as i32.below({extent})[...] in @sketch(...)"
            operators.fail(value.place, f"{what} as an index of gather", "integer data, or an index", fix)
    if len(kinds) > 1:
        mixed = f"{kinds[0].value} data and {kinds[1].value} data"
        operators.fail(
            place, f"gather mixes {mixed}", "indices of one dtype", f"convert one of them: {kinds[0].value}(...)"
        )
    if not kinds:
        return Load(name, tuple(values), meaning.dtype, place)
    operands = tuple(value if value.dtype.is_data else Cast(value, kinds[0], value.place) for value in values)
    return Apply(gather(name, meaning.shape).name, operands, meaning.dtype, place)


def _wide(value: Expr) -> Expr:
    """Return integers of 8 and 16 bits as 32, as places in an array may be more than they hold."""
    return Cast(value, DType.I32, value.place) if value.dtype.is_narrow else value


def check_gathers(body: Body, parameters: Sequence[Parameter], holes: Sequence[Hole], launch: Launch) -> None:
    """Refuse a gather whose index may be outside of its array by what the text says of ranges."""
    gathers = [
        part
        for stmt in statements(body)
        for expr in (*own_expressions(stmt), *_final(stmt))
        for part in subexpressions(expr)
        if isinstance(part, Apply) and part.function.row.array
    ]
    if not gathers:
        return
    ranges = _Ranges(parameters, holes, launch)
    ranges.settle(body)
    for node in gathers:
        for extent, operand in zip(node.function.row.shape, node.operands, strict=True):
            if not (isinstance(operand, Cast) and not operand.operand.dtype.is_data):
                _check(ranges, node, extent, operand)


def _check(ranges: _Ranges, node: Apply, extent: int, operand: Expr) -> None:
    low, high = ranges.of(operand)
    if (low, high) == _NOTHING:  # what an accumulator's final function is given
        low, high = _all(operand.dtype)
    if low >= 0 and high < extent:
        return
    array, dtype = node.function.row.array, operand.dtype
    loaded = next((p.array for p in subexpressions(operand) if isinstance(p, Load)), "")
    known = ranges.parameters.get(loaded)
    said = f"may be any {dtype.value}" if (low, high) == _all(dtype) else f"may be from {low:g} to {high:g}"
    holes = any(isinstance(part, HoleCall) for part in subexpressions(operand))  # which have no names yet
    spelled = "..." if holes else python_text(operand)
    clamp = f"min(max({spelled}, 0), {extent - 1})"
    declare = (
        f"declare {loaded}={known.dtype.value}.below({extent})[...] in @sketch(...), or "
        if known and not known.below
        else ""
    )
    raise SwizzleError(
        f"the index{'' if holes else f' {spelled}'} of gather {said}",
        place=operand.place,
        expected=f"data from 0 to {extent - 1}, within {array}",
        fix=f"{declare}clamp it: {clamp}",
    )


def _final(stmt: Stmt) -> tuple[Expr, ...]:
    return (stmt.final.body,) if isinstance(stmt, ir.DeclareAccumulator) and stmt.final else ()


class _Ranges:
    """Intervals of the values of variables and arrays, whatever runs when."""

    def __init__(self, parameters: Sequence[Parameter], holes: Sequence[Hole], launch: Launch) -> None:
        self.parameters = {p.name: p for p in parameters}
        self.holes, self.launch = holes, launch
        self.known: dict[str, Interval] = {}

    def settle(self, body: Body) -> None:
        """Let intervals grow until nothing changes; what does not stop growing may be anything."""
        for number in range(2 * ROUNDS):
            before = dict(self.known)
            for stmt in statements(body):
                match stmt:
                    case ir.Assign(name=name, value=value):
                        self._grow(name, value.dtype, self.of(value), number)
                    case ir.Store(array=name, value=value) if name not in self.parameters:
                        self._grow(name, value.dtype, self.of(value), number)
                    case ir.For(variable=name):
                        (a, b), (c, d) = self.of(stmt.start), self.of(stmt.stop)
                        self._grow(name, INDEX, (min(a, c), max(b, d)), number)
            if self.known == before:
                return

    def _grow(self, name: str, dtype: DType, found: Interval, number: int) -> None:
        old = self.known.get(name, _NOTHING)
        new = _hull(old, found)
        self.known[name] = _all(dtype) if new != old and number >= ROUNDS else new

    def of(self, expr: Expr) -> Interval:
        """Return bounds of an expression's value, which hold if the operands' do."""
        found = self._of(expr)
        low, high = _all(expr.dtype)
        return found if found == _NOTHING or (found[0] >= low and found[1] <= high) else (low, high)  # else it wraps

    def _of(self, expr: Expr) -> Interval:
        match expr:
            case ir.Const(value=value):
                return value, value
            case ir.Var(name=name) | ir.AccumulatorValue(accumulator=name):
                return self.known.get(name, _NOTHING if isinstance(expr, ir.Var) else _all(expr.dtype))
            case ir.Coordinate():
                return self._coordinate(expr)
            case ir.Unary(op=op, operand=operand):
                low, high = self.of(operand)
                if op == "-":
                    return -high, -low
                return (max(low, -high, 0), max(-low, high)) if op == "abs" else _all(expr.dtype)
            case ir.Binary(op=op, left=left, right=right):
                return self._binary(op, self.of(left), self.of(right), expr.dtype)
            case ir.Select(then=then, otherwise=otherwise):
                return _hull(self.of(then), self.of(otherwise))
            case ir.Apply(function=function, operands=operands):
                row = function.row
                if row.compares:
                    return _hull(*map(self.of, operands[2:]))
                return self._element(row.array, expr.dtype) if row.array else _all(expr.dtype)
            case ir.Cast(operand=operand):
                return _all(expr.dtype) if operand.dtype.is_float else self.of(operand)
            case ir.Load(array=array):
                return self._element(array, expr.dtype)
            case ir.Shuffle(value=value):
                return self.of(value)
            case ir.HoleCall(hole=hole):
                return 0, self.holes[hole].size - 1
            case ir.Lookup(entries=entries):
                return min(entries), max(entries)
            case ir.Compare() | ir.Logic():
                return 0, 1
            case _:
                assert_never(expr)

    def _element(self, array: str, dtype: DType) -> Interval:
        parameter = self.parameters.get(array)
        if parameter is None:
            return self.known.get(array, _NOTHING)
        return (0, parameter.below - 1) if parameter.below else _all(dtype)

    def _coordinate(self, expr: ir.Coordinate) -> Interval:
        at, launch = "xyz".index(expr.axis), self.launch
        least = {"blockDim": launch.block[at], "gridDim": launch.grid[at], "warpsize": launch.warp_size}
        if expr.name in least:
            return least[expr.name], least[expr.name]
        most = {
            "threadIdx": launch.block[at], "blockIdx": launch.grid[at], "laneid": launch.warp_size,
            "warpid": -(-launch.threads // launch.warp_size),
        }  # fmt: skip
        return 0, most[expr.name] - 1

    def _binary(self, op: str, left: Interval, right: Interval, dtype: DType) -> Interval:
        (a, b), (c, d) = left, right
        if _NOTHING in (left, right):
            return _NOTHING
        corners: list[float] = []
        match op:
            case "+":
                corners = [a + c, b + d]
            case "-":
                corners = [a - d, b - c]
            case "min":
                corners = [min(a, c), min(b, d)]
            case "max":
                corners = [max(a, c), max(b, d)]
            case "*" if inf not in map(abs, (a, b, c, d)):
                corners = [x * y for x in (a, b) for y in (c, d)]
            case "//" if c > 0 and inf not in map(abs, (a, b, c, d)):
                corners = [x // y for x in (a, b) for y in (c, d)]
            case "%" if c > 0:
                corners = [0, d - 1] if a < 0 or b >= c else [a, b]
            case "&" if c >= 0 or a >= 0:
                corners = [0, min(bound for low, bound in (left, right) if low >= 0)]
            case ">>" if c == d and inf not in map(abs, (a, b)):
                corners = [a // 2**c, b // 2**c]
        return (min(corners), max(corners)) if corners else _all(dtype)


def _hull(one: Interval, other: Interval) -> Interval:
    return min(one[0], other[0]), max(one[1], other[1])


def _all(dtype: DType) -> Interval:
    """Return the numbers of a type."""
    if not dtype.is_data or dtype.is_float:
        return -inf, inf
    bits = int(dtype.value[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.value[0] == "i" else (0, (1 << bits) - 1)
