"""A module for numba.cuda as anybody may have written it: its bytes as text, and where it is not what is printed.

Nothing of it is run. Two functions are the same up to spaces, comments, docstrings and the names of local variables.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from typing import Any, NoReturn

from cuda_out.numba.lines import COOKIE
from symbolic.errors import Portable


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
