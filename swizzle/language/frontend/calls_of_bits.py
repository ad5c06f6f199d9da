"""Counts of bits: `cuda.popc`, `cuda.clz`, `cuda.brev`, `v.bit_length()`."""

from __future__ import annotations

import ast
from typing import Any, Final

from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.operators import INDEX, Value, describe, settled
from symbolic.errors import Place
from symbolic.ir.program import Assign, Binary, BinaryOp, Cast, Const, DType, Expr, Var

BIT_CALLS: Final = ("cuda.popc", "cuda.clz", "cuda.brev")


def require_statements(reader: ExpressionReader, node: ast.AST, name: str) -> list[Any]:
    """Return where the statements of what is being read go; refuse places that have none before them."""
    if isinstance(reader.before, str):
        reader.mistake(
            node, f"{name} {reader.before}", "a statement of its own, or an expression that is evaluated once",
            "assign it to a variable on a line before",
        )  # fmt: skip
    return reader.before


def read_bits(reader: ExpressionReader, name: str, value: Value, node: ast.AST) -> Value:
    """Read a count of bits. Of an index they are those of a number of 32 bits that is not negative."""
    place, given = reader.kernel.source.place(node), settled(value)
    if given.dtype is INDEX:
        return _of_index(reader, name, given, node, place)
    if name not in ("cuda.popc", "cuda.brev") or given.dtype not in (DType.I32, DType.U32):
        reader.mistake(
            node, f"{name} of {describe(given)}",
            "an index, or data of 32 bits for cuda.popc and cuda.brev", "convert it: u32(...)",
        )  # fmt: skip
    held, dtype = _held(reader, given, node, name), DType.U32 if name == "cuda.brev" else DType.I32
    total: Expr | None = None
    for bit in range(32):
        one: Expr = Binary("&", _shifted(">>", held, bit), Const(1, held.dtype, place), held.dtype, place)
        one = one if held.dtype is dtype else Cast(one, dtype, place)
        if name == "cuda.brev":
            one = _shifted("<<", one, 31 - bit)
        total = one if total is None else Binary("+", total, one, dtype, place)
    assert total is not None
    return total


def _shifted(op: BinaryOp, value: Expr, by: int) -> Expr:
    return Binary(op, value, Const(by, value.dtype, value.place), value.dtype, value.place) if by else value


def _held(reader: ExpressionReader, value: Expr, node: ast.AST, name: str) -> Expr:
    """Return a value that is used several times as a variable."""
    if isinstance(value, Var | Const):
        return value
    held = reader.scope.fresh("bits")
    require_statements(reader, node, name).append(Assign(held, value, value.place))
    return Var(held, value.dtype, value.place)


def _of_index(reader: ExpressionReader, name: str, value: Expr, node: ast.AST, place: Place) -> Value:
    def number(by: int) -> Expr:
        return Const(by, INDEX, place)

    def binary(op: BinaryOp, left: Expr, right: Expr | int) -> Expr:
        return Binary(op, left, right if not isinstance(right, int) else number(right), INDEX, place)

    def kept(value: Expr) -> Expr:
        return _held(reader, value, node, name)

    if isinstance(value, Const):
        bits = int(value.value) & 0xFFFFFFFF
        found = {
            "cuda.popc": bits.bit_count(), "cuda.clz": 32 - bits.bit_length(), "bit_length": bits.bit_length(),
            "cuda.brev": int(f"{bits:032b}"[::-1], 2),
        }  # fmt: skip
        return number(found[name])
    held = kept(value)
    if name == "cuda.brev":
        for by, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)):
            high = binary("&", binary(">>", held, by), mask)
            held = kept(binary("|", high, binary("<<", binary("&", held, mask), by)))
        return held
    if name != "cuda.popc":
        for by in (1, 2, 4, 8, 16):
            held = kept(binary("|", held, binary(">>", held, by)))
    held = kept(binary("-", held, binary("&", binary(">>", held, 1), 0x55555555)))
    held = kept(binary("+", binary("&", held, 0x33333333), binary("&", binary(">>", held, 2), 0x33333333)))
    held = kept(binary("&", binary("+", held, binary(">>", held, 4)), 0x0F0F0F0F))
    held = kept(binary("+", held, binary(">>", held, 8)))
    count = binary("&", binary("+", held, binary(">>", held, 16)), 63)
    return binary("-", number(32), count) if name == "cuda.clz" else count
