"""Mutants of a module for numba.cuda: its text with one thing altered, to try on it what reads it.

Changed are numbers, operators, comparisons, types, masks, barriers, memories, indices, what blocks are told of
themselves, and, in the launch function, arguments, errors, types, the grid and the stream.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from cuda_out.c.mutate import Mutant
from cuda_out.numba.module_text import TYPES

_TURNED = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_BESIDE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_OTHER = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitXor, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_CALLS = {
    "cuda.syncthreads": "cuda.syncwarp", "cuda.shared.array": "cuda.local.array", "min": "max", "max": "min",
    "cuda.local.array": "cuda.shared.array", "cuda.shfl_up_sync": "cuda.shfl_down_sync",
    "cuda.shfl_down_sync": "cuda.shfl_up_sync", "cuda.shfl_xor_sync": "cuda.shfl_sync",
    "cuda.shfl_sync": "cuda.shfl_xor_sync",
}  # fmt: skip
_TYPES = {"float32": "float64", "float64": "float32", "int32": "uint32", "uint32": "int32"}
_FULL = 0xFFFFFFFF


def module_mutants(text: str, kernel: str, launcher: str, *, multiples: bool = False) -> tuple[Mutant, ...]:
    """Return the mutants of a module's kernel and of its launch function.

    Of lengths that are `multiples`, n - 2 rounds up as n - 1 does, and n <= 1 is n <= 0: these are left out.
    """
    tree, found = ast.parse(text), dict[str, Mutant]()
    plain = ast.unparse(tree)
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name not in (kernel, launcher):
            continue
        for line, change in _changes(tree, function, launches=function.name == launcher):
            mutated = ast.unparse(tree)
            said = re.search(r"^(0 is 1|1 is 2)$", change) and multiples and function.name == launcher
            if mutated != plain and not (said and re.search(r" <= 1:| - 2\) //", mutated)):
                found.setdefault(mutated, Mutant(line, change, mutated))
    return tuple(found.values())


def _changes(tree: ast.Module, function: ast.FunctionDef, *, launches: bool) -> Iterator[tuple[int, str]]:
    """Change the tree for as long as a change is looked at."""
    for node in ast.walk(function):
        line = getattr(node, "lineno", 0)
        for name, new, change in _of_node(node, launches):
            old = getattr(node, name)
            setattr(node, name, new)
            yield line, change
            setattr(node, name, old)
        for name in ("body", "orelse"):
            body: Any = getattr(node, name, None)
            for at, stmt in enumerate(body) if isinstance(body, list) else ():
                if _may_go(stmt, launches):
                    body[at] = ast.copy_location(ast.Pass(), stmt)
                    yield stmt.lineno, f"without `{ast.unparse(stmt).splitlines()[0]}`"
                    body[at] = stmt


def _may_go(stmt: ast.stmt, launches: bool) -> bool:
    called = ast.unparse(stmt.value.func) if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else ""
    if launches:
        return isinstance(stmt, ast.If | ast.For | ast.Raise | ast.Return) or "[" in called
    return isinstance(stmt, ast.AugAssign) or bool(called) or _stores(stmt)


def _stores(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Subscript)


def _of_node(node: ast.AST, launches: bool) -> Iterator[tuple[str, Any, str]]:
    """Yield changes of one field of a node: its name, the new value, and words."""
    match node:
        case ast.Constant(value=bool() | None):
            pass
        case ast.Constant(value=int(value)):
            new = 0x55555555 if value == _FULL else value + 1
            yield "value", new, f"{value} is {new}"
        case ast.Constant(value=str(value)) if value in TYPES:
            yield "value", _TYPES.get(value, "int8"), f"{value!r} is another type"
        case ast.Compare(ops=[op, *rest]):
            for table in (_TURNED, _BESIDE):
                if type(op) in table:
                    yield "ops", [table[type(op)](), *rest], f"another comparison than in `{ast.unparse(node)}`"
        case ast.BinOp(op=op) if type(op) in _OTHER:
            yield "op", _OTHER[type(op)](), f"another operator than in `{ast.unparse(node)}`"
        case ast.BoolOp(op=op):
            yield "op", ast.And() if isinstance(op, ast.Or) else ast.Or(), f"`and` for `or` in `{ast.unparse(node)}`"
        case ast.IfExp(body=body, orelse=otherwise):
            yield "body", otherwise, f"never the first of `{ast.unparse(node)}`"
            yield "orelse", body, f"always the first of `{ast.unparse(node)}`"
        case ast.Subscript(slice=ast.Tuple(elts=[a, b, *rest])) if not launches:
            yield "slice", ast.Tuple([b, a, *rest], ast.Load()), f"indices of `{ast.unparse(node)}` change places"
        case ast.Assign(targets=[ast.Name()], value=ast.BinOp(left=ast.Attribute() as block) as value) if not launches:
            if ast.unparse(block).startswith("cuda.blockIdx"):
                for mask in (3, 2**20 - 1):
                    masked = ast.BinOp(ast.BinOp(block, ast.BitAnd(), ast.Constant(mask)), value.op, value.right)
                    yield "value", masked, f"the block's number & {mask}"
        case ast.Call(func=function, args=args):
            name = ast.unparse(function)
            if name in _CALLS or name in _TYPES:
                other = _CALLS.get(name) or _TYPES[name]
                yield "func", ast.parse(other, mode="eval").body, f"{other} for {name}"
            if name.startswith("cuda.shfl") and len(args) == 3:
                turned = ast.BinOp(args[2], ast.Add(), ast.Constant(1))
                yield "args", [*args[:2], turned], f"the next lane in `{ast.unparse(node)}`"
            if launches and isinstance(function, ast.Subscript):
                for at, (one, two) in enumerate(pairwise(args)):
                    swapped = [*args[:at], two, one, *args[at + 2 :]]
                    yield "args", swapped, f"{ast.unparse(one)} and {ast.unparse(two)} change places"
                how = function.slice
                if isinstance(how, ast.Tuple) and len(how.elts) == 3:
                    grid, threads, stream = how.elts
                    for given, words in (
                        ([grid, threads, ast.Constant(0)], "no stream"),
                        ([threads, grid, stream], "grid and block change places"),
                    ):
                        yield "func", ast.Subscript(function.value, ast.Tuple(given, ast.Load()), ast.Load()), words
        case _:
            pass
