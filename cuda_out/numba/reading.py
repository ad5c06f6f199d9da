"""Read a module printed for numba.cuda back: take it apart into its functions. Nothing of it is run.

It reads what `cuda_out.numba.printer` prints and what is typed in the same way, and refuses anything else.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from cuda_out.numba.comparing import NotPrinted, compare_functions, parsed, refuse
from cuda_out.numba.identifiers import NUMBA_TYPE, OWN, python_name
from cuda_out.numba.printer import NumbaSource, word_function_lines
from symbolic.algebra.word_functions import WordFunction, word_functions_of
from symbolic.ir.program import FunctionName, OperatorName, Program
from symbolic.ir.walk import operators_of

TYPES: Final = {name: dtype for dtype, name in NUMBA_TYPE.items() if dtype.is_data}


class NumbaModule(Struct, frozen=True):
    """A module, taken apart: its kernel, its launch function, and the users' operators, and functions on words, by
    their names in the text."""

    kernel: ast.FunctionDef
    launcher: ast.FunctionDef
    operators: Mapping[str, OperatorName] = {}
    words: Mapping[str, FunctionName] = {}


def read_module(text: str, printed: NumbaSource, program: Program) -> NumbaModule:
    """Take a module apart; raises NotPrinted for one that holds anything else than what is printed for the program, but
    for what its kernel does."""
    try:
        return _read(text, printed, program)
    except RecursionError:
        raise NotPrinted(1, 1, "it is nested too deeply to be read") from None


def _read(text: str, printed: NumbaSource, program: Program) -> NumbaModule:
    kernel, launcher = printed.kernel, printed.launcher
    own = {python_name(op): op for op, _ in operators_of(program)}
    functions: dict[str, ast.FunctionDef] = {}
    words: dict[str, FunctionName] = {}
    imported: set[str] = set()
    for node in parsed(text).body:
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
            raise NotPrinted(1, 1, f"it has no function {name}")
    as_printed = {node.name: node for node in parsed(printed.text).body if isinstance(node, ast.FunctionDef)}
    for name in own:
        if ast.dump(functions[name]) != ast.dump(as_printed[name]):
            refuse(functions[name], f"{name} is not the operator's own text")
    if list(map(ast.dump, functions[kernel].decorator_list)) != list(map(ast.dump, as_printed[kernel].decorator_list)):
        refuse(functions[kernel], f"the kernel {kernel} has other decorators than @{_decorators(as_printed[kernel])}")
    compare_functions(functions[launcher], as_printed[launcher], parameters=True)
    for function in functions.values():
        for part in ast.walk(function):
            name = part.id if isinstance(part, ast.Name) else ""
            if name in {"cuda", "math", "libdevice", "inf", "nan", *TYPES} and name not in imported:
                refuse(part, f"{name} is not imported")
    return NumbaModule(functions[kernel], functions[launcher], own, words)


def _decorators(function: ast.FunctionDef) -> str:
    return ", ".join(map(ast.unparse, function.decorator_list))


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


def plain_parameters(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's parameters; raises NotPrinted for other than plain ones."""
    names, given = [each.arg for each in function.args.args], function.args
    if function.returns or any(each.annotation for each in given.args) or getattr(function, "type_params", None):
        refuse(function, f"{function.name} has annotations, which Python runs")
    if given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or given.defaults:
        refuse(function, f"the parameters of {function.name} are not as printed")
    return names
