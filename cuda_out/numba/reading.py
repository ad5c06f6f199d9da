"""Read a module printed for numba.cuda back: take it apart into its functions. Nothing of it is run.

It reads what `cuda_out.numba.printer` prints and what is typed in the same way, and refuses anything else.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping
from typing import Final, NoReturn

from msgspec import Struct

from cuda_out.numba.identifiers import NUMBA_TYPE, OWN, python_name
from cuda_out.numba.printer import operator_lines, word_function_lines
from symbolic.algebra.word_functions import WordFunction, word_functions_of
from symbolic.errors import Portable
from symbolic.ir.program import FunctionName, OperatorName, Program
from symbolic.ir.walk import operators_of

TYPES: Final = {name: dtype for dtype, name in NUMBA_TYPE.items() if dtype.is_data}


class NotRead(Portable, Exception):
    """A text that is not of the printed kind: where, and what is not understood."""

    def __init__(self, node: ast.AST | None, why: str) -> None:
        self.line = getattr(node, "lineno", 0)
        super().__init__(f"line {self.line}: {why}" if self.line else why)


class NumbaModule(Struct, frozen=True):
    """A module, taken apart: its kernel, its launch function, and the users' operators, and functions on words, by
    their names in the text."""

    kernel: ast.FunctionDef
    launcher: ast.FunctionDef
    operators: Mapping[str, OperatorName] = {}
    words: Mapping[str, FunctionName] = {}


def refuse(node: ast.AST, why: str = "") -> NoReturn:
    raise NotRead(node, why or f"`{ast.unparse(node).splitlines()[0][:80]}` is not what is printed")


def read_module(text: str, kernel: str, launcher: str, program: Program) -> NumbaModule:
    """Take a module apart; raises NotRead for one that holds anything else than what is printed for the program."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotRead(None, f"it is not Python: {error}") from None
    operators = dict.fromkeys(op for op, _ in operators_of(program))
    own = {python_name(op): op for op in operators}
    functions: dict[str, ast.FunctionDef] = {}
    words: dict[str, FunctionName] = {}
    imported: set[str] = set()
    for node in tree.body:
        if functions and isinstance(node, ast.Import | ast.ImportFrom):
            refuse(node, f"`{ast.unparse(node).splitlines()[0][:80]}` is behind a function, which may need it before")
        match node:
            case ast.Import(names=[ast.alias(name="math", asname=None)]):
                imported.add("math")
            case ast.ImportFrom(module=module, names=names, level=0) if all(a.asname is None for a in names):
                given = {alias.name for alias in names}
                known = {"numba": {"cuda", *TYPES}, "numba.cuda": {"libdevice"}, "math": {"inf", "nan"}}
                if not given <= known.get(module or "", set()):
                    refuse(node)
                imported |= given
            case ast.FunctionDef(name=name) if name not in functions and name in (kernel, launcher, *own):
                functions[name] = node
            case ast.FunctionDef(name=name) if name not in functions and (row := _word_function(node, program)):
                functions[name], words[name] = node, row.name
            case _:
                refuse(node)
    for name in (kernel, launcher, *own):
        if name not in functions:
            raise NotRead(None, f"it has no function {name}")
    for name, op in own.items():
        printed = ast.parse("\n".join(operator_lines(op, program))).body[-1]
        if ast.dump(functions[name]) != ast.dump(printed):
            raise NotRead(functions[name], f"{name} is not the operator's own text")
    decorators = "\n".join(ast.unparse(each) for each in functions[kernel].decorator_list)
    if not re.fullmatch(r"cuda\.jit(\(max_registers=\d+\))?", decorators):
        raise NotRead(functions[kernel], f"the kernel {kernel} has other decorators than @cuda.jit")
    if functions[launcher].decorator_list:
        raise NotRead(functions[launcher], f"{launcher} is decorated")
    for function in functions.values():
        for part in ast.walk(function):
            name = part.id if isinstance(part, ast.Name) else ""
            if name in {"cuda", "math", "libdevice", "inf", "nan", *TYPES} and name not in imported:
                raise NotRead(part, f"{name} is not imported")
    return NumbaModule(functions[kernel], functions[launcher], own, words)


def _word_function(function: ast.FunctionDef, program: Program) -> WordFunction | None:
    """Return the function on words whose own text this is; of several with one text, the one that the name says."""
    name, text = function.name, ast.dump(function)
    if name in OWN or hasattr(builtins, name):
        return None
    found = [
        row
        for row in word_functions_of(program)
        if text == ast.dump(ast.parse("\n".join(word_function_lines(row, name))).body[-1])
    ]
    return max(found, key=lambda row: (row.spelled == name, name.startswith(row.spelled)), default=None)


def plain_parameters(function: ast.FunctionDef, defaults: int = 0) -> list[str]:
    """Return the names of a function's parameters; raises NotRead for other than plain ones."""
    names, given = [each.arg for each in function.args.args], function.args
    if function.returns or any(each.annotation for each in given.args) or getattr(function, "type_params", None):
        raise NotRead(function, f"{function.name} has annotations, which Python runs")
    if (
        given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or len(given.defaults) != defaults
        or len(set(names)) != len(names)
    ):  # fmt: skip
        raise NotRead(function, f"the parameters of {function.name} are not as printed")
    return names
