"""The text of a Python function, and what its free names stand for."""

from __future__ import annotations

import ast
import builtins
import linecache
import types
from collections import ChainMap
from collections.abc import Collection, Mapping
from functools import lru_cache

from swizzle.language.source.kernel_source import KernelSource, Source, parse, split_lines
from symbolic.errors import Place, SwizzleError


def kernel_source(function: types.FunctionType, options: Collection[str] = (), what: str = "kernel") -> KernelSource:
    """Find the text of a Python function; `options` are keywords that its decorator is known by."""
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    text = "".join(lines)
    source, definitions = _definitions(text, file)
    for node in definitions:
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        if node.name == function.__name__ and first == line:
            return KernelSource(source, node, _decorator(node, options), _environment(function))
    if not lines or file == "<string>":  # a text given to `exec`; of `python -c`, Python 3.13 keeps another one
        raise SwizzleError(
            f"the text of the {what} {function.__name__} is not at hand",
            place=Place(file, line, 1),
            expected=f"a {what} in a file or a notebook cell: its text is read, not run",
            fix="write it into a file and import it; Python 3.13's prompt keeps texts, and so does IPython's",
        )
    raise SwizzleError(
        f"the text of the {what} {function.__name__} is not where Python says it is",
        place=Place(file, line, 1),
        expected=f"a {what} defined with `def`, in a file that has not changed since it was loaded",
        fix=f"write `def` above the {what}'s body, without `async` or `lambda`, and load the file again",
    )


@lru_cache(maxsize=8)
def _definitions(text: str, file: str) -> tuple[Source, tuple[ast.FunctionDef, ...]]:
    """Return a text's functions, which nobody changes: a file with parameters runs once for each of their values."""
    found = (node for node in ast.walk(parse(text, file)) if isinstance(node, ast.FunctionDef))
    return Source(file, split_lines(text)), tuple(found)


def _decorator(node: ast.FunctionDef, options: Collection[str]) -> ast.Call | None:
    calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    likely = [call for call in calls if any(keyword.arg in options for keyword in call.keywords)]
    return next(iter(likely or calls), None)


def _environment(function: types.FunctionType) -> Mapping[str, object]:
    closure: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            closure[name] = cell.cell_contents
        except ValueError:
            continue
    return ChainMap(closure, function.__globals__, vars(builtins))
