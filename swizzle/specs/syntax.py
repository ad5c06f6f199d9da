"""Which syntax belongs to the sequential part; checked when a `.swz` file is loaded, before anything runs."""

from __future__ import annotations

import ast
from typing import Final

from swizzle.source.kernel_source import Source

STATEMENTS: Final = (ast.FunctionDef, ast.Return, ast.Assign, ast.AugAssign, ast.For, ast.If, ast.Expr, ast.Pass)
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
    "While": "write `for i in range(...)`",
    "Break": "put the rest of the loop's body under `if`, or `return`",
    "Continue": "put the rest of the loop's body under `if`",
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
    "While": "a `while` loop",
    "Break": "`break`",
    "Continue": "`continue`",
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
    "Assert": "`assert`",
}


def check_sequential(tree: ast.FunctionDef | ast.expr, source: Source) -> None:
    """Refuse what is outside the sequential part, with its place."""
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
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
        case ast.FunctionDef() if node is not tree:
            source.mistake(node, f"a function inside a function is {part}", fix="define it at the file's top level")
        case ast.FunctionDef(args=arguments) | ast.Lambda(args=arguments):
            if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
                source.mistake(node, "parameters with `*` or `/`", "plain parameters, with or without defaults")
        case ast.Name() if source.is_marked(node):
            source.mistake(node, "a hole in the sequential part", PART, "holes belong into the kernel")
        case ast.Constant(value=value):
            if id(node) not in docstrings and not isinstance(value, int | float | None):
                source.mistake(
                    node, f"a {type(value).__name__} is {part}", "ints, floats, lists and arrays", "leave it out"
                )
        case ast.Attribute(attr=attribute):
            if attribute not in ("shape", "append"):
                source.mistake(
                    node,
                    f"the attribute `{attribute}` is {part}",
                    "`.shape` of an array, `.append` of a list",
                    "leave it out",
                )
        case ast.For(orelse=orelse) if orelse:
            source.mistake(orelse[0], "`else` of a loop", fix="write it after the loop")
        case ast.comprehension(is_async=1):
            source.mistake(node, "`async`")
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            source.mistake(node, f"`@` is {part}", fix="write the sum of products")
        case ast.Compare(ops=ops):
            if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in ops):
                source.mistake(node, f"`is` and `in` are {part}", "== != < <= > >=")
        case ast.Assign(targets=targets):
            for target in targets:
                _check_target(target, source)
        case ast.AugAssign(target=target) | ast.For(target=target):
            _check_target(target, source)
        case ast.Call(keywords=keywords, func=function):
            if any(keyword.arg is None for keyword in keywords):
                source.mistake(node, "`**` in a call", fix="write the arguments one by one")
            if isinstance(function, ast.Attribute) and function.attr != "append":
                source.mistake(
                    function, f"a call of `.{function.attr}` is {part}", "`.append(value)` of a list", "write a loop"
                )
            if isinstance(function, ast.Attribute) and keywords:
                source.mistake(node, "a wrong call of append", "a_list.append(value)")
    called = node.func if isinstance(node, ast.Call) else None
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and child.attr == "append" and child is not called:
            source.mistake(child, "`.append` without a call", "a_list.append(value)")


def _check_target(target: ast.expr, source: Source) -> None:
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            _check_target(element, source)
    elif not isinstance(target, ast.Name | ast.Subscript):
        source.mistake(target, "an assignment to this", "a name or an element")
