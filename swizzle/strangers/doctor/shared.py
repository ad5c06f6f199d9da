"""The shared arrays of somebody's CUDA file: how each is declared, and what its uses are."""

from __future__ import annotations

import re

from msgspec import Struct

from swizzle.strangers.reading.text import CudaKernel, CudaText
from symbolic.errors import SwizzleError


class SharedArray(Struct, frozen=True):
    """A shared array as it is declared.

    `dims` are from where to where the text of each extent stands, between its brackets; `statement` is the declaration,
    up to its semicolon; `scope` where the name is known; `owner` the function around it, '' for none, which begins at
    `outside`.
    """

    name: str
    at: int
    dims: tuple[tuple[int, int], ...]
    statement: tuple[int, int]
    scope: tuple[int, int]
    owner: str
    outside: int
    line: int
    dynamic: bool


class ArrayUse(Struct, frozen=True):
    """A use of an array in all its subscripts: from the name to the last bracket, and each subscript's inside."""

    begin: int
    end: int
    subscripts: tuple[tuple[int, int], ...]


def shared_arrays(text: CudaText) -> list[SharedArray]:
    """Return the shared arrays, in order. Raises nothing: what cannot be read is not among them."""
    found: list[SharedArray] = []
    for match in re.finditer(r"\b__shared__\b", text.code):
        end = text.code.find(";", match.end())
        if end < 0:
            continue
        begin = max(text.code.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        begin += len(text.code[begin:]) - len(text.code[begin:].lstrip())
        parts = text.split(match.end(), end)
        dynamic = re.search(r"\bextern\b", text.code[begin : match.start()]) is not None
        for first, last in parts:
            each = _declarator(text, first, last)
            if each is not None:
                name, at, dims = each
                owner, outside = text.owner(at)
                scope = (last, _scope_end(text, at))
                line = text.line(at)
                array = SharedArray(name, at, dims, (begin, end + 1), scope, owner, outside, line, dynamic)
                found.append(array)
    return found


def _declarator(text: CudaText, begin: int, end: int) -> tuple[str, int, tuple[tuple[int, int], ...]] | None:
    dims: list[tuple[int, int]] = []
    last = end
    while text.code[begin:last].rstrip().endswith("]"):
        close = begin + len(text.code[begin:last].rstrip()) - 1
        opening = next((at for at in range(close, begin, -1) if text.code[at] == "[" and text.closing(at) == close), -1)
        if opening < 0:
            return None
        dims.insert(0, (opening + 1, close))
        last = opening
    name = re.search(r"([A-Za-z_]\w*)\s*$", text.code[begin:last])
    return None if name is None else (name[1], begin + name.start(), tuple(dims))


def _scope_end(text: CudaText, at: int) -> int:
    """Return where the innermost braces around an offset close, or the end of the text."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text.code, at):
        depth += 1 if match[0] == "{" else -1
        if depth < 0:
            return match.start()
    return len(text.code)


def array_uses(text: CudaText, array: SharedArray) -> list[ArrayUse]:
    """Return every use of an array; raises SwizzleError, at its place, for one that is more than an element.

    An element's address may be taken where it is used at once: for one access of another width, by a cast that is
    dereferenced, by an atomic operation, or by a copy or a matrix instruction (`__cvta_generic_to_shared`,
    `__pipeline_memcpy_async`).
    """
    found = []
    word = re.compile(rf"\b{re.escape(array.name)}\b")
    for begin, end in text.directives:
        if begin >= array.outside and (match := word.search(text.plain, begin, end)):
            raise escapes(text, array, match.start(), "is used in a macro, or hidden by a condition")
    for match in word.finditer(text.code, *array.scope):
        before = text.code[: match.start()].rstrip()
        if before.endswith((".", "->", "::")):
            continue
        subscripts, at = text.subscripted(match.end())
        if len(subscripts) != len(array.dims) or not subscripts:
            raise escapes(text, array, match.start(), "is used as a pointer")
        if takes_address(before) and not used_at_once(text, before, at):
            raise escapes(text, array, match.start(), "has the address of an element taken, which may lead elsewhere")
        found.append(ArrayUse(match.start(), at, tuple(subscripts)))
    return found


def in_macros(text: CudaText, array: SharedArray) -> bool:
    """Say whether a directive has an array's name."""
    return any(re.search(rf"\b{re.escape(array.name)}\b", text.plain[begin:end]) for begin, end in text.directives)


def check_rows(text: CudaText, array: SharedArray) -> None:
    """Raise SwizzleError, at its place, for a use of an array that means more than elements and rows of it."""
    for match in re.compile(rf"\b{re.escape(array.name)}\b").finditer(text.code, *array.scope):
        before = text.code[: match.start()].rstrip()
        if before.endswith((".", "->", "::")):
            continue
        subscripts, at = text.subscripted(match.end())
        element = len(subscripts) == len(array.dims)
        if len(subscripts) < len(array.dims) - 1 or (not element and re.search(r"[&)>]$", before)):
            raise escapes(text, array, match.start(), "is used as a pointer")
        if element and takes_address(before) and not used_at_once(text, before, at):
            raise escapes(text, array, match.start(), "has the address of an element taken, which may lead elsewhere")


def check_own(text: CudaText, array: SharedArray, kernel: CudaKernel) -> None:
    """Raise SwizzleError where another kernel may use an array, too: nothing is known of how that one does."""
    if array.owner == kernel.name:
        return
    for other in text.others_with({array.owner or array.name}, kernel):
        raise escapes(text, array, other.begin, f"may be used by {other.name}, too, which was not run")


def escapes(text: CudaText, array: SharedArray, at: int, why: str) -> SwizzleError:
    return SwizzleError(
        f"{array.name} {why}", place=text.place(at, at + len(array.name)),
        expected=f"uses of {array.name} with all its subscripts: nothing else is sure to follow the new layout",
        fix="write the subscripts out there",
    )  # fmt: skip


def used_at_once(text: CudaText, before: str, end: int) -> bool:
    """Say whether the address of an element is used for one access, where it stands."""
    head = before.rstrip()[:-1].rstrip()
    after = text.code[end:].lstrip()
    if re.search(r"\b(?:__cvta_generic_to_shared|__pipeline_memcpy_async|atomic[A-Z]\w*)\s*\(\s*$", head):
        return True
    if re.search(r"\*\s*\(\s*(?:const\s+)?[\w:]+(?:\s+const)?\s*\*\s*\)\s*\(?\s*$", head):
        return True
    cast = re.search(r"(\*?)\s*\breinterpret_cast\s*<\s*(?:const\s+)?[\w:]+(?:\s+const)?\s*\*\s*>\s*\(\s*$", head)
    if cast is not None:
        return bool(cast[1]) or re.match(r"\)\s*\[\s*0\s*\]", after) is not None
    c_cast = re.search(r"\(\s*\(\s*(?:const\s+)?[\w:]+(?:\s+const)?\s*\*\s*\)\s*$", head)
    return c_cast is not None and re.match(r"\)\s*\[\s*0\s*\]", after) is not None


def takes_address(before: str) -> bool:
    """Say whether what stands before an element is the operator that takes its address, and not `a & b`."""
    if not before.endswith("&") or before.endswith("&&"):
        return False
    left = before[:-1].rstrip()
    if not left or re.search(r"\b(?:return|case|else)$", left) or re.search(r"\*\s*\)$", left):
        return True
    return not (left[-1].isalnum() or left[-1] in "_)]")


def named(symbol: str, array: SharedArray) -> bool:
    """Say whether a variable of PTX is an array of this name, mangled or not."""
    name = array.name
    if symbol == name:
        return True
    if re.search(rf"(?<!\d){len(name)}{re.escape(name)}E?(?:_\d+)?$", symbol) is None:
        return False
    return not array.owner or f"{len(array.owner)}{array.owner}" in symbol
