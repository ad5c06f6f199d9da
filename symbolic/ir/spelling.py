"""How Python spells the operators of programs: what a node of its syntax tree stands for."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from symbolic.ir.program import BinaryOp, CompareOp

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
