"""Expressions and operators as Python spells them: an index as text, with no more parentheses than needed, as solutions
and messages show it; and what a node of Python's syntax tree stands for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from typing_extensions import assert_never

from symbolic.ir.program import (
    AccumulatorValue,
    Apply,
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Coordinate,
    Expr,
    HoleCall,
    Load,
    Logic,
    Lookup,
    Program,
    Select,
    Shuffle,
    Unary,
    Var,
)

_SELECT, _OR, _AND, _NOT, _COMPARE, _ATOM = 1, 2, 3, 4, 5, 20
_BINARY = {"|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "//": 11, "%": 11}
_ARITHMETIC, _UNARY = 10, 12


def shape_text(sizes: Sequence[int | str]) -> str:
    """Return sizes as a sketch writes them: one alone, or several in parentheses."""
    return str(sizes[0]) if len(sizes) == 1 else f"({', '.join(map(str, sizes))})"


def python_text(node: Expr, program: Program | None = None) -> str:
    """Return an expression as Python; holes are named when the program is given."""
    return _text(node, program)[0]


def _text(node: Expr, program: Program | None) -> tuple[str, int]:
    """Return the text and how tightly its outermost operator binds."""

    def at_least(level: int, part: Expr) -> str:
        text, binds = _text(part, program)
        return text if binds >= level else f"({text})"

    def listed(parts: tuple[Expr, ...]) -> str:
        return ", ".join(python_text(p, program) for p in parts)

    match node:
        case Const(value):
            return str(value), _ATOM if (not isinstance(value, bool) and value >= 0) or isinstance(
                value, bool
            ) else _UNARY
        case Var(name):
            return name, _ATOM if name.isdigit() or name.replace(".", "").isidentifier() else _SELECT
        case Coordinate(name, axis):
            whole = name in ("laneid", "warpid", "warpsize")
            return f"cuda.{name}" if whole else f"cuda.{name}.{axis}", _ATOM
        case Unary("abs", operand):
            return f"abs({python_text(operand, program)})", _ATOM
        case Unary("not", operand):
            return f"not {at_least(_NOT, operand)}", _NOT
        case Unary(op, operand):
            return f"{op}{at_least(_UNARY, operand)}", _UNARY
        case Binary(op, left, right) if op not in _BINARY:
            return f"{op}({listed((left, right))})", _ATOM
        case Binary(op, left, right):
            level = _BINARY[op]
            if op in ("&", "|", "^"):  # Python needs no parentheses around shifts and other bits, readers do
                chained = isinstance(left, Binary) and left.op == op
                return f"{at_least(level if chained else _ARITHMETIC, left)} {op} {at_least(_ARITHMETIC, right)}", level
            return f"{at_least(level, left)} {op} {at_least(level + 1, right)}", level
        case Apply(function, operands):
            return function.row.text([python_text(each, program) for each in operands]), _ATOM
        case Compare(op, left, right):
            return f"{at_least(_COMPARE + 1, left)} {op} {at_least(_COMPARE + 1, right)}", _COMPARE
        case Logic(op, left, right):
            level = _AND if op == "and" else _OR
            return f"{at_least(level, left)} {op} {at_least(level + 1, right)}", level
        case Select(condition, then, otherwise):
            head = f"{at_least(_SELECT + 1, then)} if {at_least(_SELECT + 1, condition)}"
            return f"{head} else {at_least(_SELECT, otherwise)}", _SELECT
        case Lookup(entries, index):
            return f"{entries}[{python_text(index, program)}]", _ATOM
        case Cast(operand, dtype):
            return f"{dtype.value}({python_text(operand, program)})", _ATOM
        case Load(array, indices):
            return f"{array}[{listed(indices)}]" if indices else array, _ATOM
        case Shuffle(mode, mask, value, lane):
            name = "shfl_sync" if mode == "idx" else f"shfl_{mode}_sync"
            full = "cuda.FULL_MASK" if mask is None else python_text(mask, program)
            return f"cuda.{name}({full}, {listed((value, lane))})", _ATOM
        case HoleCall(hole, args):
            name = f"?{program.holes[hole].name}" if program else f"?hole{hole}"
            return f"{name}({listed(args)})", _ATOM
        case AccumulatorValue(accumulator, indices):
            return f"{accumulator}[{listed(indices)}].value" if indices else f"{accumulator}.value", _ATOM
        case _:
            assert_never(node)


BINARY_OPS: Final[Mapping[type[ast.operator], BinaryOp]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
COMPARE_OPS: Final[Mapping[type[ast.cmpop], CompareOp]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
