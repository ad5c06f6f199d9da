"""Which syntax belongs to the sequential part; checked when a `.swz` file is loaded, before anything runs."""

from __future__ import annotations

import ast
from typing import Final

from swizzle.language.source.kernel_source import Source

STATEMENTS: Final = (
    ast.FunctionDef,
    ast.Return,
    ast.Assign,
    ast.AugAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.Break,
    ast.Continue,
    ast.Assert,
    ast.Expr,
    ast.Pass,
)
EXPRESSIONS: Final = (
    ast.Constant,
    ast.Name,
    ast.Tuple,
    ast.List,
    ast.ListComp,
    ast.GeneratorExp,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Subscript,
    ast.Attribute,
    ast.Slice,
    ast.Lambda,
    ast.Call,
)
PART: Final = "plain Python on ints, floats, lists and arrays: docs/language.md, 'The sequential part'"
_MENDS: Final[dict[str, str]] = {
    "Dict": "use a list",
    "Set": "use a list",
    "DictComp": "use a list comprehension",
    "SetComp": "use a list comprehension",
    "JoinedStr": "leave the string out",
    "ClassDef": "use functions and lists",
    "Import": "the language's names are built in; leave the import out",
    "ImportFrom": "the language's names are built in; leave the import out",
    "NamedExpr": "assign in a statement of its own",
    "Starred": "write the elements one by one",
}
_NAMES: Final[dict[str, str]] = {
    "Dict": "a dict",
    "Set": "a set",
    "DictComp": "a dict comprehension",
    "SetComp": "a set comprehension",
    "JoinedStr": "a string",
    "ClassDef": "a class",
    "Import": "an import",
    "ImportFrom": "an import",
    "NamedExpr": "`:=`",
    "Starred": "`*`",
    "With": "`with`",
    "Try": "`try`",
    "Raise": "`raise`",
    "Delete": "`del`",
    "Global": "`global`",
    "Nonlocal": "`nonlocal`",
}


METHODS: Final = ("append", "extend", "insert", "pop", "clear", "reverse", "copy", "count", "index", "bit_length")
"""The methods of lists, and one of ints."""
BUILTINS: Final = (
    "sum", "range", "len", "min", "max", "minimum", "maximum", "abs", "zip", "enumerate", "any", "all", "zeros", "list",
    "tuple", "reversed", "map", "sorted", "divmod", "pow", "bool", "int", "where", "gather",
)  # fmt: skip
"""The functions that the sequential part has without defining them."""
PATTERN_NAMES: Final = (
    "add", "iterate", "join", "let", "mul", "pad", "reduce", "reorder", "scan", "slide", "split", "transpose",
)  # fmt: skip
"""Patterns, `map` and `zip` apart; a file may give these names to functions of its own."""
NAMESPACES: Final = ("math",)
"""The names that hold others, without defining them."""


def check_sequential(tree: ast.FunctionDef | ast.expr, source: Source) -> None:
    """Refuse what is outside the sequential part, with its place."""
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    } | {id(node.msg) for node in ast.walk(tree) if isinstance(node, ast.Assert)}
    for node in ast.walk(tree):  # what lies beyond an array's ends
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pad":
            docstrings |= set(map(id, node.args))
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr):
            _check_node(node, tree, source, docstrings)


def _check_node(node: ast.stmt | ast.expr, tree: ast.AST, source: Source, docstrings: set[int]) -> None:
    allowed = STATEMENTS if isinstance(node, ast.stmt) else EXPRESSIONS
    part = "not part of the sequential language"
    if not isinstance(node, allowed):
        kind = type(node).__name__
        source.mistake(node, f"{_NAMES.get(kind, f'`{kind}`')} is {part}", PART, _MENDS.get(kind, "leave it out"))
    match node:
        case ast.FunctionDef(args=arguments) | ast.Lambda(args=arguments):
            if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
                source.mistake(
                    node,
                    "parameters with `*` or `/`",
                    "plain parameters, with or without defaults",
                    fix="leave `*` and `/` out",
                )
        case ast.Name() if source.is_marked(node):
            source.mistake(node, "a hole in the sequential part", PART, "holes belong into the kernel")
        case ast.Constant(value=value):
            if id(node) not in docstrings and not isinstance(value, int | float | None):
                source.mistake(
                    node, f"a {type(value).__name__} is {part}", "ints, floats, lists and arrays", "leave it out"
                )
        case ast.Attribute(value=ast.Name(id="math" | "gpu")):
            pass
        case ast.Attribute() if _is_of_operator(node):
            pass
        case ast.Attribute(attr=attribute):
            if attribute not in ("shape", *METHODS):
                source.mistake(
                    node,
                    f"the attribute `{attribute}` is {part}",
                    "`.shape` of an array, `.append` of a list",
                    "leave it out",
                )
        case ast.comprehension(is_async=1):
            source.mistake(node, "`async`", "plain loops", "leave `async` out")
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            source.mistake(node, f"`@` is {part}", "sums and products", fix="write the sum of products")
        case ast.Assign(targets=targets):
            for target in targets:
                _check_target(target, source)
        case ast.AugAssign(target=target) | ast.For(target=target):
            _check_target(target, source)
        case ast.Call(keywords=keywords, func=function):
            if any(keyword.arg is None for keyword in keywords):
                source.mistake(
                    node, "`**` in a call", "arguments by position or by name", fix="write the arguments one by one"
                )
            known = isinstance(function, ast.Attribute) and (
                function.attr in METHODS or _is_of_operator(function) or ast.unparse(function.value) == "math"
            )
            if isinstance(function, ast.Attribute) and not known:
                source.mistake(
                    function, f"a call of `.{function.attr}` is {part}", "`.append(value)` of a list", "write a loop"
                )
            if isinstance(function, ast.Attribute) and keywords:
                source.mistake(
                    node, f"a wrong call of {function.attr}", f"arguments without names: a_list.{function.attr}(value)",
                    "leave the names out",
                )  # fmt: skip
    called = node.func if isinstance(node, ast.Call) else None
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and child.attr in METHODS and child is not called:
            source.mistake(child, f"`.{child.attr}` without a call", f"a_list.{child.attr}(value)", "call it")


def _is_of_operator(node: ast.Attribute) -> bool:
    """Say whether an attribute may be a function of a scan's operator."""
    return isinstance(node.value, ast.Name) and node.attr in ("lift", "combine", "result", "scan")


def _check_target(target: ast.expr, source: Source) -> None:
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            _check_target(element, source)
    elif not isinstance(target, ast.Name | ast.Subscript):
        source.mistake(
            target, "an assignment to this", "a name or an element", fix="write `name = ...` or `values[i] = ...`"
        )
