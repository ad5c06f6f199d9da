"""Functions on data in a kernel's expressions: `math.exp(v)`, and `where`, whose condition may compare data."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from swizzle.frontend import operators
from swizzle.frontend.expressions import ExpressionReader
from swizzle.frontend.operators import BOOL, INDEX, FloatLiteral, Value
from swizzle.language.words import FixedWord, WordsFunction
from symbolic.algebra.functions import External, FunctionRow, where
from symbolic.errors import Place
from symbolic.ir.program import Apply, Const, DType, Expr
from symbolic.ir.spelling import COMPARE_OPS

_BITS: Final = {ast.BitAnd: ast.And, ast.BitOr: ast.Or}


def read_function(reader: ExpressionReader, row: FunctionRow, nodes: Sequence[ast.expr], place: Place) -> Value:
    """Read a call of a function; its operands and its result have one type. Of numbers it is a number."""
    values = [reader.value(node) for node in nodes]
    if row.external is not None:
        return _external(row, row.external, values, place)
    name = row.text(["..."])
    if all(isinstance(v, FloatLiteral) or (isinstance(v, Const) and v.dtype is INDEX) for v in values):
        found = float(row.on_numbers([float(v.value) for v in values if isinstance(v, Const | FloatLiteral)]))
        return FloatLiteral(found, place)
    first = next((v for v in values if (operators.dtype_of(v) or INDEX).is_data), values[0])
    for value in values:
        operators.common_dtype(first, value, f"`{name}`", place)
    dtype = operators.dtype_of(first) or INDEX
    if not row.takes(dtype):
        kind = "an index" if dtype is INDEX else f"{dtype.value} data"
        *some, last = (each.value for each in DType if row.takes(each))
        takes = f"{', '.join(some)} or {last}"
        operators.fail(place, f"`{name}` of {kind}", f"{takes} data", "convert it: f32(...)")
    return Apply(row.name, tuple(operators.coerce(v, dtype, f"an operand of `{name}`") for v in values), dtype, place)


def _external(row: FunctionRow, own: External, values: Sequence[Value], place: Place) -> Value:
    """Return a call of a function of the user's own, whose operands have types of their own."""
    name = f"`{row.symbol}(...)`"
    if all(isinstance(v, FloatLiteral) or (isinstance(v, Const) and v.dtype is INDEX) for v in values):
        found = own.on_numbers([v.value for v in values if isinstance(v, Const | FloatLiteral)])
        return FloatLiteral(float(found), place) if own.gives.is_float else Const(int(found), own.gives, place)
    operands = [
        operators.coerce(value, kind, f"the argument {operand} of {name}")
        for value, kind, operand in zip(values, own.kinds, row.operands, strict=True)
    ]
    return Apply(row.name, tuple(operands), own.gives, place)


def read_words(
    reader: ExpressionReader, function: WordsFunction, nodes: Sequence[ast.expr], place: Place
) -> tuple[Value, ...]:
    """Read a call of a function on words, each of which has a type of its own; return its values."""
    words = tuple(
        operators.coerce(reader.value(node), dtype, f"{name} of `{function.name}`")
        for node, dtype, name in zip(nodes, function.given, function.operands, strict=True)
    )
    found: list[Value] = []
    for each in function.values:
        match each:
            case int():
                found.append(words[each])
            case FixedWord():
                found.append(Const(each.value, each.result, place))
            case _:
                found.append(Apply(each.name, words, each.result, place))
    return tuple(found)


def read_where(reader: ExpressionReader, nodes: Sequence[ast.expr], place: Place) -> Value:
    """Read `where(condition, x, y)`: comparisons of data become functions, those of indices `... if ... else ...`."""
    condition, then, otherwise = nodes
    yes, no = reader.value(then), reader.value(otherwise)
    if operators.dtype_of(yes) is BOOL or operators.dtype_of(no) is BOOL:
        operators.fail(place, "`where` of conditions", "data or indices", "combine conditions with `and` and `or`")
    return _chosen(reader, condition, yes, no, place)


def _chosen(reader: ExpressionReader, node: ast.expr, yes: Value, no: Value, place: Place) -> Value:
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand) if _compares(operand):
            return _chosen(reader, operand, no, yes, place)
        case ast.BoolOp(op=op, values=nodes):
            return _combined(reader, type(op), nodes, yes, no, place)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right) if _compares(left):
            return _combined(reader, _BITS[type(op)], [left, right], yes, no, place)
        case ast.Compare(left=left, ops=ops, comparators=nodes):
            sides = [reader.value(side) for side in (left, *nodes)]
            if any((operators.dtype_of(side) or INDEX).is_data for side in sides):
                for link, a, b in reversed(list(zip(ops, sides, sides[1:], strict=False))):
                    if type(link) not in COMPARE_OPS:
                        reader.mistake(node, "`is` or `in` in a kernel", "== != < <= > >=", "compare with one of these")
                    yes = _by_comparison(COMPARE_OPS[type(link)], a, b, yes, no, place)
                return yes
    condition = reader.condition(node, "the condition of `where`")
    if isinstance(condition, Const):
        return replace(yes if condition.value else no, place=place)
    return operators.select(condition, yes, no, place)


def _compares(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp)


def _combined(
    reader: ExpressionReader, op: type[ast.boolop], nodes: Sequence[ast.expr], yes: Value, no: Value, place: Place
) -> Value:
    first, *rest = nodes
    if not rest:
        return _chosen(reader, first, yes, no, place)
    inner = _combined(reader, op, rest, yes, no, place)
    return _chosen(reader, first, *((inner, no) if op is ast.And else (yes, inner)), place)


def _by_comparison(op: str, a: Value, b: Value, yes: Value, no: Value, place: Place) -> Expr:
    compared = operators.common_dtype(a, b, f"`{op}`", place)
    dtype = operators.common_dtype(yes, no, "`where`", place, moves=True)
    if all(
        isinstance(value, FloatLiteral) or (isinstance(value, Const) and value.dtype is INDEX) for value in (yes, no)
    ):
        dtype = compared  # as literals do beside data
    if not dtype.is_data:
        operators.fail(
            place, "data-dependent control: `where` chooses between indices by data",
            "data to choose between: data never steers an index or a branch",
            "convert them to data, as in where(a < b, f32(i), f32(j))",
        )  # fmt: skip
    sides = [operators.coerce(side, compared, f"an operand of `{op}`") for side in (a, b)]
    values = [operators.coerce(value, dtype, "a value of `where`") for value in (yes, no)]
    return Apply(where(op).name, (*sides, *values), dtype, place)
