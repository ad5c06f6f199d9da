"""A Python specification whose comprehensions are asked for as a whole, before Python runs them element by element.

Each outermost comprehension of the function becomes a call that gets the comprehension itself as a function. The code
is compiled from the file's text, if that still is what Python runs; otherwise nothing is rewritten.
"""

from __future__ import annotations
import __future__

import ast
import copy
import linecache
import operator
import types
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, reduce
from typing import Any, Final

from msgspec import Struct

from swizzle.language.source.kernel_source import parse
from symbolic.errors import SwizzleError

ASK: Final = "ask for a comprehension"
"""The parameter that the rewritten function has: no identifier, so no name of a user's is this one."""
_FUTURE: Final = reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
_REFUSED = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)


class Comprehension(Struct, frozen=True, eq=False):
    """A comprehension, or a sum of one: the function's own variables in it, and the names that it binds itself."""

    node: ast.expr
    names: tuple[str, ...]
    bound: frozenset[str]


class Rewritten(Struct, frozen=True, eq=False):
    """A function with its comprehensions. `call` takes what the function takes, and `ASK`.

    `ASK` is called with a comprehension's number, a function that returns the values of its names, and one that runs it
    as Python does.
    """

    call: Callable[..., Any]
    comprehensions: tuple[Comprehension, ...]
    environment: Mapping[str, Any]


def rewritten(function: types.FunctionType) -> Rewritten | None:
    """Rewrite a function; None if its text is not at hand, or has no comprehensions that can be asked for."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    made = _asking(text, code) if text else None
    if made is None:
        return None
    changed, comprehensions = made
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    if set(cells) != set(changed.co_freevars):
        return None
    closure = tuple(cells[name] for name in changed.co_freevars)
    call = types.FunctionType(changed, function.__globals__, function.__name__, function.__defaults__, closure)
    return Rewritten(call, comprehensions, function.__globals__)


@lru_cache(maxsize=16)
def _asking(text: str, code: types.CodeType) -> tuple[types.CodeType, tuple[Comprehension, ...]] | None:
    """Return the code of a rewritten function, and what it asks for."""
    try:
        tree = parse(text, code.co_filename)
    except SwizzleError:
        return None
    flags = code.co_flags & _FUTURE  # a file may have been compiled by code that has a `from __future__` itself
    same = [found for found in _codes(_compiled(tree, code.co_filename, flags)) if found == code]
    if len(same) != 1:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _first_line(node) == code.co_firstlineno:
            asked = _Asking({*code.co_varnames, *code.co_cellvars, *code.co_freevars})
            node.body = [asked.visit(statement) for statement in node.body]
            if not asked.found:
                return None
            node.args.kwonlyargs.append(ast.arg(ASK))
            node.args.kw_defaults.append(None)
            changed = _compiled(ast.fix_missing_locations(tree), code.co_filename, flags)
            at = (code.co_firstlineno, code.co_name)
            (made,) = (c for c in _codes(changed) if (c.co_firstlineno, c.co_name) == at and ASK in c.co_varnames)
            return made, tuple(asked.found)
    return None


def _compiled(tree: ast.Module, file: str, flags: int) -> types.CodeType:
    found: types.CodeType = compile(tree, file, "exec", flags=flags, dont_inherit=True)
    return found


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from _codes(part)


class _Asking(ast.NodeTransformer):
    """Makes each outermost comprehension, or sum of one, a call of `ASK`."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.found: list[Comprehension] = []

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._asked(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if is_sum(node):
            return self._asked(node)
        return self.generic_visit(node)

    def _asked(self, node: ast.expr) -> ast.AST:
        inside = list(ast.walk(node))
        if any(isinstance(part, _REFUSED) for part in inside):
            return node
        used = dict.fromkeys(
            part.id for part in inside if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        )
        bound = {part.id for part in inside if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        names = tuple(name for name in used if name in self.names and name not in bound)
        self.found.append(Comprehension(copy.deepcopy(node), names, frozenset(bound)))
        values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
        call = ast.Call(
            ast.Name(ASK, ast.Load()), [ast.Constant(len(self.found) - 1), _function(values), _function(node)], []
        )
        return ast.copy_location(call, node)


def _function(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def is_sum(node: ast.expr) -> bool:
    """Say whether a node is a sum of a comprehension, if `sum` is Python's."""
    match node:
        case ast.Call(ast.Name("sum"), [ast.GeneratorExp() | ast.ListComp()], []):
            return True
    return False
