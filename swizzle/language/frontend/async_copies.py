"""Asynchronous copies: `cuda.copy_async(tile[i], x[j])`, `cuda.commit_copies()`, `cuda.wait_copies(n)`."""

from __future__ import annotations

import ast
from typing import Final

from msgspec import Struct

from swizzle.language.frontend.calls import bind
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.operators import INDEX, FloatLiteral, VectorValue
from swizzle.language.frontend.resolve import spell
from swizzle.language.frontend.scope import ArrayName, VectorArrayName
from swizzle.language.frontend.vectors import read_vector
from symbolic.ir.program import Const, CopyAsync, CopyGroup, Expr, Load, Select

COPY_CALLS: Final = ("cuda.copy_async", "cuda.commit_copies", "cuda.wait_copies")
COPIED: Final = (4, 8, 16)
"""The bytes that one instruction copies."""


def read_copy(reader: ExpressionReader, name: str, function: object, node: ast.Call) -> CopyAsync | CopyGroup:
    """Read one of the calls of `COPY_CALLS`, a statement of its own."""
    arguments, place = bind(reader, name, function, node), reader.kernel.source.place(node)
    if name == "cuda.copy_async":
        return _copy(reader, arguments["dst"], arguments["src"], arguments.get("count"), node)
    if name == "cuda.commit_copies":
        return CopyGroup(None, place)
    given = arguments.get("n")
    left = 0 if given is None else reader.static(given, "the number of groups that a wait leaves under way")
    if left < 0:
        reader.mistake(
            given or node, f"a wait that leaves {left} groups under way", "0 or more",
            "write cuda.wait_copies(0) to wait for all of them",
        )  # fmt: skip
    return CopyGroup(left, place)


class _Side(Struct, frozen=True):
    """What is copied, or where it goes: the first number, its array, and how many numbers a vector of it has."""

    node: ast.expr
    first: Load
    array: ArrayName
    lanes: int


def _copy(
    reader: ExpressionReader, target: ast.expr, source: ast.expr, count: ast.expr | None, node: ast.Call
) -> CopyAsync:
    place, condition = reader.kernel.source.place(node), None
    if isinstance(source, ast.IfExp):
        condition = reader.condition(source.test, "the condition of `if ... else`")
        _require_zero(reader, source.orelse)
        source = source.body
    into, given = _side(reader, target, "destination"), _side(reader, source, "source")
    dtype = into.array.dtype
    if into.array.memory != "shared":
        _misplaced(reader, into, "destination", given)
    if given.array.memory != "parameter":
        _misplaced(reader, given, "source", into)
    if given.array.role in ("const", "by_value"):
        reader.mistake(
            source, f"an asynchronous copy from {spell(source)}, which is {given.array.role}",
            "an array in global memory", f"declare it {given.array.dtype.value}[...] in @sketch(...)",
        )  # fmt: skip
    if (dtype, into.lanes) != (given.array.dtype, given.lanes):
        names = [f"{side.array.dtype.value}{f' x {side.lanes}' if side.lanes > 1 else ''}" for side in (given, into)]
        reader.mistake(
            node, f"an asynchronous copy from {names[0]} to {names[1]}", "elements of one type",
            "declare both alike: bytes are copied as they are",
        )  # fmt: skip
    width = into.lanes * (1 if count is None else reader.static(count, "the count of a copy"))
    if width * dtype.bits not in [8 * size for size in COPIED]:
        widths = [8 * size // (dtype.bits * into.lanes) for size in COPIED if 8 * size >= dtype.bits * into.lanes]
        reader.mistake(
            count or node, f"an asynchronous copy of {width * dtype.bits // 8} bytes", "4, 8 or 16 bytes",
            f"copy neighbours at once: {' or '.join(f'count={n}' for n in widths)}",
        )  # fmt: skip
    chosen: Expr = given.first
    if condition is not None and not (isinstance(condition, Const) and condition.value):
        chosen = Select(condition, chosen, Const(0.0 if dtype.is_float else 0, dtype, place), dtype, place)
    return CopyAsync(into.first.array, into.first.indices, chosen, width, place)


def _side(reader: ExpressionReader, node: ast.expr, which: str) -> _Side:
    """Read an element of an array."""
    place, stored = reader.kernel.source.place(node), which == "destination"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        meaning = reader.scope.meanings.get(node.value.id)
        if isinstance(meaning, VectorArrayName):
            number = reader.vector_element(node, stored=stored)
            assert number is not None
            return _Side(node, number(Const(0, INDEX, place)), meaning.numbers, meaning.type.lanes)
        if isinstance(meaning, ArrayName):
            name, meaning, indices = reader.array_element(node)
            if not stored:
                reader.require_readable(node, name, meaning)
            return _Side(node, Load(reader.scope.named(name), indices, meaning.dtype, place), meaning, 1)
    reader.mistake(
        node, f"{spell(node)} as the {which} of an asynchronous copy", "an element of an array",
        "write cuda.copy_async(tile[i], x[j]): tile a shared array, x a parameter",
    )  # fmt: skip


def _misplaced(reader: ExpressionReader, side: _Side, which: str, other: _Side) -> None:
    kind = "a parameter" if side.array.memory == "parameter" else f"a {side.array.memory} array"
    into, given = (side, other) if which == "destination" else (other, side)
    reader.mistake(
        side.node, f"{spell(side.node)}, the {which} of an asynchronous copy, is an element of {kind}",
        "a copy from a parameter to a shared array", f"write {spell(into.node)} = {spell(given.node)}",
    )  # fmt: skip


def _require_zero(reader: ExpressionReader, node: ast.expr) -> None:
    """Refuse anything but 0, or a vector of zeros, in the place of what is not copied."""
    value = read_vector(reader, node)
    numbers = [value.number(lane) for lane in range(value.type.lanes)] if isinstance(value, VectorValue) else [value]
    if not all(isinstance(each, FloatLiteral | Const) and each.value == 0 for each in numbers):
        reader.mistake(
            node, f"{spell(node)} in the place of what is not copied", "0: other numbers cannot be filled in",
            "write 0, and choose where the element is used",
        )  # fmt: skip
