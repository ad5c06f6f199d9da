"""What the lanes of a warp, or of a part of it, find out together: shuffles of parts, votes.

A program knows shuffles of whole warps only, by masks of constants. A shuffle with a `width` asks a lane that is
computed; a vote is the lanes' answers joined by five shuffles.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from swizzle.language.frontend import operators
from swizzle.language.frontend.calls_of_bits import require_statements
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.functions import chosen_by_data, is_of_data
from swizzle.language.frontend.operators import INDEX, Value
from symbolic.errors import Place
from symbolic.ir.program import (
    LANES,
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Compare,
    Const,
    Coordinate,
    DType,
    Expr,
    Logic,
    Select,
    Shuffle,
    Var,
)

VOTES: Final = ("cuda.any_sync", "cuda.all_sync", "cuda.ballot_sync")


def of_width(shuffle: Shuffle, width: int) -> Shuffle:
    """Return a shuffle in which each `width` lanes keep to themselves; a lane whose source is outside asks itself, but
    for an `xor` with a lane before its part, as in CUDA."""
    place, size = shuffle.place, Const(width, INDEX, shuffle.place)

    def binary(op: BinaryOp, left: Expr, right: Expr) -> Expr:
        return Binary(op, left, right, INDEX, place)

    own = Coordinate("laneid", "x", place)
    rank = binary("%", own, size)
    first = binary("-", own, rank)
    match shuffle.mode:
        case "idx":
            lane = binary("+", first, binary("%", shuffle.lane, size))
        case "xor":
            moved = binary("^", own, shuffle.lane)
            lane = Select(Compare("<", moved, binary("+", first, size), place), moved, own, INDEX, place)
        case _:
            moved = binary("-" if shuffle.mode == "up" else "+", rank, shuffle.lane)
            zero = Const(0, INDEX, place)
            inside = Logic("and", Compare(">=", moved, zero, place), Compare("<", moved, size, place), place)
            lane = Select(inside, binary("+", first, moved), own, INDEX, place)
    return Shuffle("idx", shuffle.mask, shuffle.value, lane, shuffle.dtype, place)


def read_vote(
    reader: ExpressionReader,
    name: str,
    mask: Expr | None,
    predicate: ast.expr,
    node: ast.Call,
    ballot: DType = DType.U32,
) -> Value:
    """Read `cuda.any_sync(mask, predicate)` and its kin: a condition where the predicate is one of indices, but for a
    ballot, which is u32 or what is asked for; an i32, 0 or 1, where it is one of data."""
    before, place = require_statements(reader, node, name), reader.kernel.source.place(node)
    by_data, lanes = is_of_data(reader, predicate), _joined_lanes(reader, mask, node)
    ops: dict[str, BinaryOp] = {"cuda.all_sync": "min", "cuda.any_sync": "max", "cuda.ballot_sync": "+"}
    dtype = ballot if name == "cuda.ballot_sync" else DType.I32 if by_data else INDEX
    yes: Expr = Const(1, dtype, place)
    if name == "cuda.ballot_sync":
        own = Coordinate("laneid", "x", place)
        yes = Binary("<<", Const(1, INDEX, place), own, INDEX, place)
        yes = yes if dtype is INDEX else Cast(yes, dtype, place)
    no = Const(0, dtype, place)
    found = _joined(reader, before, _answer(reader, predicate, yes, no, by_data), ops[name], mask, lanes, place)
    if dtype is INDEX and name != "cuda.ballot_sync":
        return Compare("!=", found, Const(0, INDEX, place), place)
    return found


def count_votes(reader: ExpressionReader, mask: Expr | None, predicate: ast.expr, node: ast.Call) -> Value:
    """Return how many lanes say yes: an index where the predicate is one of indices, else an i32."""
    before, place = require_statements(reader, node, "cuda.popc"), reader.kernel.source.place(node)
    by_data, lanes = is_of_data(reader, predicate), _joined_lanes(reader, mask, node)
    dtype = DType.I32 if by_data else INDEX
    yes, no = (Const(number, dtype, place) for number in (1, 0))
    return _joined(reader, before, _answer(reader, predicate, yes, no, by_data), "+", mask, lanes, place)


def _answer(reader: ExpressionReader, predicate: ast.expr, yes: Expr, no: Expr, by_data: bool) -> Expr:
    place = reader.kernel.source.place(predicate)
    if by_data:
        return operators.settled(chosen_by_data(reader, predicate, yes, no, place))
    return Select(reader.condition(predicate, "the predicate of a vote"), yes, no, yes.dtype, place)


def _joined(
    reader: ExpressionReader, before: list[Any], value: Expr, op: BinaryOp, mask: Expr | None, lanes: int, place: Place
) -> Expr:
    """Join the values of neighbouring lanes, of pairs of them, and so on."""
    name = reader.scope.fresh("vote")
    before.append(Assign(name, value, place))
    found: Expr = Var(name, value.dtype, place)
    distance = lanes // 2
    while distance:
        other = Shuffle("xor", mask, found, Const(distance, INDEX, place), value.dtype, place)
        name = reader.scope.fresh("vote")
        before.append(Assign(name, Binary(op, found, other, value.dtype, place), place))
        found = Var(name, value.dtype, place)
        distance //= 2
    return found


def _joined_lanes(reader: ExpressionReader, mask: Expr | None, node: ast.Call) -> int:
    """Return how many lanes vote: those of a warp, or of an aligned part of it with a power of two of them."""
    if mask is None:
        return reader.launch.warp_size
    if isinstance(mask, Const) and mask.value:
        named = int(mask.value)
        first, count = (named & -named).bit_length() - 1, named.bit_count()
        if named == (1 << count) - 1 << first and not count & count - 1 and first % count == 0:
            return count
    reader.mistake(
        node.args[0] if node.args else node, f"a vote of the lanes that {ast.unparse(node.args[0])} names",
        f"cuda.FULL_MASK, or a constant that names 1, 2, 4, 8 or 16 of {LANES} lanes, side by side, from a multiple of "
        "their number on", "let more lanes vote, and let those that do not count say no, or yes for all_sync",
    )  # fmt: skip
