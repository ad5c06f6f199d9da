"""A module for numba.cuda as anybody may have written it, read without running anything of it: its bytes as text, its
functions, and where it is not what is printed.

All but the kernel's body is what `cuda_out.numba.printer` prints; the kernel says what it does in the same words, which
numba compiles without running anything: numbers, arrays, and the functions that a printed kernel may call.

Nothing of it is run. Two functions are the same up to spaces, comments, docstrings and the names of local variables.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from math import prod
from typing import Any, Final, NoReturn

from msgspec import Struct

from cuda_out.analysis.placement import MOST_STATIC
from cuda_out.numba.expressions import COOKIE, NUMBA_TYPE, OWN, python_name
from cuda_out.numba.printer import NumbaSource, word_function_lines
from cuda_out.tiling.tiling import AXES
from symbolic.algebra.states import word_functions_of
from symbolic.errors import Portable
from symbolic.ir.functions import FUNCTIONS, WordFunction
from symbolic.ir.program import FunctionName, OperatorName, Program
from symbolic.ir.walk import operators_of


class NotPrinted(Portable, Exception):
    """A text that is not of the printed kind: where, and what is found."""

    def __init__(self, line: int, column: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line, self.column, self.why = line, column, why

    def at(self, file: str) -> str:
        return f"{file}:{self.line}:{self.column}: {self.why}"


def python_text(text: str, at_most: int = 1 << 20) -> str:
    """Return the text of a Python file in the only way in which Python and whoever looks at it can read it.

    Raises NotPrinted where it says to be in another encoding, holds characters that are not seen, such as NUL, a form
    feed, a carriage return within a line, or one that turns the direction of writing, or takes long to parse.
    """
    if len(text) > at_most:
        raise NotPrinted(1, 1, f"{len(text)} characters, where {at_most} are more than enough")
    text = text.replace("\r\n", "\n")
    for number, line in enumerate(text.split("\n"), 1):
        for column, char in enumerate(line, 1):
            if not char.isprintable() and char != "\t":
                raise NotPrinted(
                    number, column, f"the character U+{ord(char):04X}, which is not seen, and may mean much"
                )
        if number <= 2 and (cookie := COOKIE.match(line)):
            raise NotPrinted(number, cookie.end(), "the name of an encoding, in which the text may be another one")
    return text


def parsed(text: str) -> ast.Module:
    """Return the tree of a text; raises NotPrinted for one that is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(text, "module", "exec", dont_inherit=True)  # which sees more mistakes, and runs nothing
    except SyntaxError as error:
        raise NotPrinted(error.lineno or 1, error.offset or 1, f"it is not Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotPrinted(1, 1, f"it is not Python: {error}") from None
    return tree


def refuse(node: ast.AST, why: str = "") -> NoReturn:
    """Raise NotPrinted at a node."""
    why = why or f"`{ast.unparse(node).splitlines()[0][:80]}` is not what is printed"
    raise NotPrinted(getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1, why)


def compare_functions(own: ast.FunctionDef, printed: ast.FunctionDef, *, parameters: bool) -> None:
    """Raise NotPrinted, at the first difference, if a function is not the printed one.

    `parameters` says that they are called by their names, which must be the printed ones, too.
    """
    names = _local_names(own, parameters), _local_names(printed, parameters)
    different = _difference(_code(own), _code(printed), own, names)
    if different is not None:
        line = ast.unparse(different).splitlines()[0][:80]
        refuse(different, f"`{line}` is not what is printed in {printed.name}")


def _local_names(function: ast.FunctionDef, parameters: bool) -> dict[str, str]:
    """Return numbers for the names that only the function knows, in the order in which it says them."""
    given = [] if parameters else [each.arg for each in function.args.args]
    kept = {each.arg for each in function.args.args} - set(given)
    stored = (n.id for n in _in_order(function.body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return {name: f"local {n}" for n, name in enumerate(dict.fromkeys([*given, *stored])) if name not in kept}


def _in_order(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    for node in nodes:
        yield node
        yield from _in_order(ast.iter_child_nodes(node))


def _code(function: ast.FunctionDef) -> dict[str, Any]:
    """Return the fields of a function that say what it does."""
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and type(body[0].value.value) is str:
        body = body[1:]
    fields = {name: getattr(function, name, None) for name in function._fields}
    return {**fields, "body": body}


def _difference(own: Any, printed: Any, here: ast.AST, names: tuple[dict[str, str], dict[str, str]]) -> ast.AST | None:
    """Return the innermost node with a place at which two trees differ first, None where they do not."""
    if type(own) is not type(printed):
        return own if hasattr(own, "lineno") else here
    if isinstance(own, ast.AST):
        here = own if hasattr(own, "lineno") else here
        own, printed = (
            {name: getattr(node, name, None) for name in type(node)._fields if name not in ("kind", "type_comment")}
            for node in (own, printed)
        )
    if isinstance(own, dict):
        for name, value in own.items():
            other = printed[name]
            if name in ("id", "arg") and type(value) is type(other) is str and not isinstance(here, ast.keyword):
                value, other = (given.get(each, each) for given, each in zip(names, (value, other), strict=True))
            if (found := _difference(value, other, here, names)) is not None:
                return found
        return None
    if isinstance(own, list):
        for value, other in zip(own, printed, strict=False):
            if (found := _difference(value, other, here, names)) is not None:
                return found
        if len(own) != len(printed):
            extra = own[len(printed)] if len(own) > len(printed) else here
            return extra if hasattr(extra, "lineno") else here
        return None
    return None if own == printed else here


TYPES: Final = frozenset(NUMBA_TYPE.values())
RESERVED: Final = frozenset(("cuda", "math", "libdevice", "range", "min", "max", "abs", "inf", "nan")) | TYPES
_VALUES: Final = frozenset(("inf", "nan")) | TYPES
_INDICES: Final = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_COORDINATES: Final = frozenset(("cuda.laneid", *(f"cuda.{name}.{axis}" for name in _INDICES for axis in AXES)))
_FUNCTIONS: Final = (
    TYPES
    | {"range", "min", "max", "abs", "cuda.syncthreads", "cuda.syncwarp"}
    | {f"cuda.atomic.{name}" for name in ("add", "min", "max", "and_", "or_", "xor")}
    | {
        f"cuda.{name}"
        for name in ("local.array", "shared.array", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")
    }
    | {
        name + end
        for name in {row.numba for row in FUNCTIONS.values()}
        for end in ("", "f" * name.startswith("libdevice."))
    }
)
_ELEMENTS: Final = {"cuda.shared.array": MOST_STATIC, "cuda.local.array": 4096}
"""So many elements an array has at most: each is there for every thread that is looked at, and nobody keeps more."""
_NO_OPERATORS: Final = (ast.MatMult, ast.Pow, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_NODES: Final = (
    ast.Assign,
    ast.AugAssign,
    ast.If,
    ast.For,
    ast.Expr,
    ast.Pass,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Subscript,
    ast.Tuple,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.expr_context,
)


class NumbaModule(Struct, frozen=True):
    """A module, taken apart: its kernel, and its device functions by their names, of users' operators and on words.

    `as_printed` says that the kernel is the printed one, up to its own names.
    """

    kernel: ast.FunctionDef
    as_printed: bool
    device: Mapping[str, ast.FunctionDef] = {}
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
    own = {f"{python_name(op)}": op for op, _ in operators_of(program)}
    functions: dict[str, ast.FunctionDef] = {}
    words: dict[str, FunctionName] = {}
    imported: set[str] = set()
    for node in parsed(text).body:
        if functions and isinstance(node, ast.Import | ast.ImportFrom):
            refuse(node, f"`{ast.unparse(node).splitlines()[0][:80]}` is behind a function, which may need it before")
        match node:
            case ast.Expr(value=ast.Constant(value=str())):  # a docstring
                pass
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
    try:
        compare_functions(functions[kernel], as_printed[kernel], parameters=False)
        same = True
    except NotPrinted:
        same = False
    device = {name: function for name, function in functions.items() if name not in (kernel, launcher)}
    types = {
        name: [NUMBA_TYPE[dtype] for each, dtype in operators_of(program) if each == op] for name, op in own.items()
    }
    read = _Kernel(functions[kernel], types, words, len(program.parameters)).read()
    return NumbaModule(read, same, device, own, words)


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


class _Kernel(ast.NodeTransformer):
    """Goes through a kernel, and refuses each node that no printed kernel has.

    Calls of an operator's function, which may give 64 bits, are converted to one of the `types` at once; they are left
    as calls of a function that gives this type (`converted`).
    """

    def __init__(
        self, kernel: ast.FunctionDef, types: Mapping[str, Sequence[str]], words: Iterable[str], parameters: int
    ) -> None:
        self.kernel, self.types, self.parameters = deepcopy(kernel), types, parameters
        self.arrays = {each.arg for each in kernel.args.args}
        stored = (n.id for n in ast.walk(kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        self.variables = self.arrays | set(stored)
        self.functions = _FUNCTIONS | set(words)

    def read(self) -> ast.FunctionDef:
        kernel, given = self.kernel, self.kernel.args
        if kernel.returns or any(each.annotation for each in given.args) or getattr(kernel, "type_params", None):
            refuse(kernel, f"{kernel.name} has annotations, which Python runs")
        if given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or given.defaults:
            refuse(kernel, f"the parameters of {kernel.name} are not as printed")
        if len(given.args) != self.parameters:
            refuse(kernel, f"{kernel.name} takes {len(given.args)} arguments, and must take {self.parameters}")
        for name in self.variables & (RESERVED | self.types.keys() | self.functions | {kernel.name}):
            refuse(kernel, f"`{name}` is assigned, a name that means something else here")
        kernel.body = [self.visit(stmt) for stmt in kernel.body]
        return kernel

    def generic_visit(self, node: ast.AST) -> ast.AST:
        operators = [getattr(node, "op", None), *getattr(node, "ops", ())]
        if not isinstance(node, _NODES) or any(isinstance(each, _NO_OPERATORS) for each in operators):
            refuse(node)
        return super().generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name | ast.Subscript):
            refuse(node)
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        called = (
            isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
        )
        if not called or not isinstance(node.target, ast.Name) or node.orelse:
            refuse(node)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if not isinstance(node.value, ast.Call | ast.Constant):
            refuse(node)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) not in (bool, int, float, str):
            refuse(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.variables | _VALUES:
            refuse(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        text = ast.unparse(node)
        extent = node.attr == "shape" and isinstance(node.value, ast.Name) and node.value.id in self.arrays
        if not extent and text not in _COORDINATES:
            refuse(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords:
            refuse(node)
        name = ast.unparse(node.func)
        match node.args:
            case [ast.Call(func=ast.Name(id=operator)) as call] if name in self.types.get(operator, ()):
                if call.keywords:
                    refuse(node)
                call.func = ast.copy_location(ast.Name(converted(operator, name), ast.Load()), call.func)
                call.args = [self.visit(each) for each in call.args]
                return node
            case _:
                pass
        if name not in self.functions:
            why = f"what `{name}` gives is not converted at once" if name in self.types else ""
            refuse(node, why)
        if name in _ELEMENTS:
            sizes = node.args[0].elts if node.args and isinstance(node.args[0], ast.Tuple) else node.args[:1]
            whole = [each.value for each in sizes if isinstance(each, ast.Constant) and type(each.value) is int]
            if len(node.args) != 2 or len(whole) != len(sizes) or not 0 < prod(whole) <= _ELEMENTS[name]:
                refuse(node, f"an array of other than 1 to {_ELEMENTS[name]} elements")
        node.args = [self.visit(each) for each in node.args]
        return node


def converted(operator: str, type_name: str) -> str:
    """Return the name by which a kernel calls an operator's function where it converts its value to a type at once."""
    return f"{operator} as {type_name}"
