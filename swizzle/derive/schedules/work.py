"""What statements do however they are scheduled: the numbers of a kernel that a lower bound is made of."""

from __future__ import annotations

import ast
import math

from msgspec import Struct

from swizzle.derive.schedules.backbone import Backbone, Statement

WORD_BYTES = {"f64": 8, "i64": 8, "u64": 8, "f16": 2, "bf16": 2, "i16": 2, "u16": 2, "i8": 1, "u8": 1}
"""Bytes of an element, where they are not 4."""
SECTOR = 32
"""Bytes that memory moves at once."""


class StatementWork(Struct, frozen=True):
    """The work of a statement at all values of its loops.

    Attributes:
        count: how often it is executed at least.
        operations: arithmetic operations each time, of which two may be one instruction.
        special: functions each time, such as `exp`.
        bytes: what memory has to move for all of its elements; 0 of what touches no memory of the GPU.
        word: the bytes of its array's elements.
    """

    count: int
    operations: int
    special: int
    bytes: int
    word: int


def work_of(backbone: Backbone, statement: Statement) -> StatementWork:
    """Return a statement's work, which holds for all schedules."""
    count = math.prod(backbone.loops[loop].extent for loop in statement.loops)
    operations, special = _operations(backbone, statement)
    word = WORD_BYTES.get(backbone.arrays[statement.array].dtype, 4) if statement.array in backbone.arrays else 4
    moved = _elements(backbone, statement) * _bytes_each(backbone, statement, word) if statement.index else 0
    return StatementWork(count, operations, special, moved, word)


def _elements(backbone: Backbone, statement: Statement) -> int:
    """Return how many different elements an access touches, at least: along each index the longest of its loops."""
    product = 1
    for index in statement.index:
        names = {node.id for node in ast.walk(ast.parse(index, mode="eval")) if isinstance(node, ast.Name)}
        product *= max((backbone.loops[loop].extent for loop in names if loop in backbone.loops), default=1)
    return product


def _bytes_each(backbone: Backbone, statement: Statement, word: int) -> int:
    """Return the bytes that an element costs: a whole sector where no other element that is needed is in it."""
    last = ast.parse(statement.index[-1], mode="eval").body
    alone = isinstance(last, ast.Constant) and backbone.arrays[statement.array].shape[-1] * word >= 2 * SECTOR
    return SECTOR if alone else word


def _operations(backbone: Backbone, statement: Statement) -> tuple[int, int]:
    """Return the operations and functions that depend on all loops of a statement, so that none is shared by trips."""
    if not statement.text or statement.kind == "begin":
        return 0, 0
    loops_of = {
        name: set(backbone.result_loops(backbone.statement(name)))
        for name in statement.reads
        if backbone.statement(name).kind != "begin"
    }

    def whole(node: ast.AST) -> bool:
        names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        known = set().union(*(loops_of.get(name, set()) for name in names))
        return known >= set(statement.loops)

    tree = ast.parse(statement.text, mode="eval").body
    counted = [node for node in ast.walk(tree) if isinstance(node, (ast.BinOp, ast.Call)) and whole(node)]
    operations = sum(isinstance(node, ast.BinOp) for node in counted)
    if statement.kind == "accumulate":
        operations += 2 if isinstance(tree, ast.Tuple) else 1
    return operations, sum(isinstance(node, ast.Call) for node in counted)
