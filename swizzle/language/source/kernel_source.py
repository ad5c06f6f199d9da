"""Source text and the places in it: what a kernel was parsed from, with columns counted in characters."""

from __future__ import annotations

import ast
import linecache
import re
import warnings
from collections.abc import Mapping, Sequence
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
