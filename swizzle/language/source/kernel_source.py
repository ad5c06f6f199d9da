"""Source text and the places in it: what a kernel was parsed from, with columns counted in characters; and the text of
a Python function, with what its free names stand for.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import types
import warnings
from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final, NoReturn

from msgspec import Struct

from symbolic.errors import Place, SwizzleError


class Source(Struct, frozen=True):
    """One file's text. `marks` holds the (line, column) of each hole's `?` in a `.swz` file; None for Python.

    While the text of the device function `function` is read for a call, `called_from` is the place of the call.
    """

    file: str
    lines: tuple[str, ...]
    marks: frozenset[tuple[int, int]] | None = None
    called_from: Place | None = None
    function: str = ""

    def place(self, node: ast.AST) -> Place:
        """Return the span of `node` (its first line, when it has several)."""
        line: int = getattr(node, "lineno", 1)
        end_line: int = getattr(node, "end_lineno", None) or line
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        end = len(text.rstrip()) if end_line != line else end if text.isascii() else _characters(text, end)
        start = start if text.isascii() else _characters(text, start)
        return Place(self.file, line, start + 1, max(end, start + 1) + 1, self.called_from, self.function)

    def is_marked(self, node: ast.AST) -> bool:
        """Say whether `node` begins with a hole's `?`."""
        place = self.place(node)
        return self.marks is not None and (place.line, place.column) in self.marks

    def mistake(self, node: ast.AST, found: str, expected: str, fix: str) -> NoReturn:
        """Raise the user's mistake at `node`."""
        raise SwizzleError(found, place=self.place(node), expected=expected, fix=fix)


class KernelSource(Struct, frozen=True):
    """A kernel or device function as text: its definition, the `@sketch(...)` call above a kernel, and what its free
    names stand for."""

    source: Source
    definition: ast.FunctionDef
    decorator: ast.Call | None
    environment: Mapping[str, object]

    def keyword_place(self, name: str) -> Place:
        """Return the place of the decorator's argument `name`, or of the decorator when it has none."""
        for keyword in self.decorator.keywords if self.decorator else []:
            if keyword.arg == name:
                return self.source.place(keyword)
        return self.source.place(self.decorator or self.definition)

    @property
    def place(self) -> Place:
        """The place of the function's name."""
        header = self.source.place(self.definition)
        column = header.column + len("def ")
        return Place(header.file, header.line, column, column + len(self.definition.name))


def split_lines(text: str) -> tuple[str, ...]:
    """Split as Python's parser counts lines."""
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def parse(text: str, file: str) -> ast.Module:
    """Parse Python text; what is not Python is a `SwizzleError` with its place."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, filename=file)
    except SyntaxError as error:
        raise syntax_mistake(error, file) from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        fix = "split its expressions" if not isinstance(error, ValueError) else "look for characters that are no text"
        raise SwizzleError(
            f"the file cannot be parsed: {reason}", place=Place(file, 1, 1), expected="Python", fix=fix
        ) from None


def check_names_once(tree: ast.AST, source: Source) -> None:
    """Refuse a name that one list of parameters or arguments has twice: Python's compiler does, its parser doesn't."""
    for node in ast.walk(tree):
        parts: Sequence[ast.arg | ast.keyword] = ()
        if isinstance(node, ast.arguments):
            parts = [*node.posonlyargs, *node.args, *node.kwonlyargs]
        elif isinstance(node, ast.Call):
            parts = node.keywords
        for k, part in enumerate(parts):
            if part.arg is not None and any(part.arg == before.arg for before in parts[:k]):
                what = "parameter" if isinstance(part, ast.arg) else "argument"
                source.mistake(
                    part, f"the {what} {part.arg} is given twice", "each name once", "leave one out, or rename it"
                )


def syntax_mistake(error: SyntaxError, file: str) -> SwizzleError:
    """Say where Python's parser stopped."""
    line, column = error.lineno or 1, max(error.offset or 1, 1)
    end = error.end_offset or 0
    end = end if error.end_lineno == error.lineno and end > column else column + 1
    return SwizzleError(
        f"the text is not Python: {error.msg}",
        place=Place(file, line, column, end),
        expected="Python" + (", with a `?` before each hole" if file.endswith(".swz") else ""),
        fix="a .py file has no `?` before its holes: leave it out"
        if "?sw_" in (error.text or "") and not file.endswith(".swz")
        else _as_python(error.text or "", column, linecache.getline(file, line - 1))
        or "correct the syntax here, or just before",
    )


def _as_python(line: str, column: int, before: str) -> str:
    """Say what Python has for what C++ writes here, or at the end of the line before; '' where it is something else."""
    if before.rstrip().endswith("{"):
        return _BLOCK
    for cpp, python in _OF_CPP:
        if any(found.start() < column <= found.end() + 1 for found in re.finditer(cpp, line)):
            return python
    return ""


_BLOCK: Final = "a block is indented, under a line that ends in `:`"
_OF_CPP: Final = (
    (r"&&", "write `and`"),
    (r"\|\|", "write `or`"),
    (r"!(?!=)", "write `not`"),
    (r"\?\?", "a hole has a name: sw_xform(i, n), sw_part(n, v), sw_cond(v)"),
    (r"\?(?!sw_).*", "write `a if condition else b`"),
    (r"//.*|/\*.*", "a comment begins with `#`"),
    (r"\bfor\s*\(.*", "write `for j in range(n):`"),
    (r"\+\+|--", "write `i += 1`, or `for i in range(n)`"),
    (r"\b\d+\.?\d*[fF]\b", "a number has no suffix: 2.0, or f32(2.0)"),
    (r"\b(?:0x[0-9a-fA-F]+|\d+)[uUlL]+\b", "a number has no suffix: 7, or u32(7)"),
    (r"->", "an array's elements are its own: x[i]"),
    (r"^\s*(?:const\s+)?(?:float|int|unsigned|double|half|auto|bool|void|size_t)\b.*", "leave the type out: v = x[i]"),
    (r"[{}].*", _BLOCK),
)
"""What Python's parser stops at in a line of C++, and what to write."""


def _characters(text: str, byte_column: int) -> int:
    return len(text.encode()[:byte_column].decode(errors="ignore"))


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
