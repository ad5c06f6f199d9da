"""Arrays that are used as pointers, or in macros: the patch gives the name to a view, which is subscripted as the array
was, and the array another name.

The types then say where the layout is to be applied: a macro's text, a row that is kept (`float* row = tile[t]`, now
`auto`), and a device function that is handed one (now a template) need no reading. What is more than subscripts and
sums does not compile, or is refused here: casts, sizes, and addresses of elements that are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from swizzle.strangers.doctor.shared import SharedArray, escapes, takes_address, used_at_once
from swizzle.strangers.reading.text import CudaKernel, CudaText

Change = tuple[int, int, str]
_POINTER: Final = r"(?:const\s+)?(?:auto|[\w:]+(?:\s+(?:int|char|short|long))?)\s*\*\s*(?:(?:const|__restrict__)\s+)*"
_INLINE: Final = "__device__ __forceinline__"


class ArrayView(Struct, frozen=True):
    """How an array is to be declared: the text before its kernel, and the changes of the text."""

    helper: str
    cells: str
    changes: list[Change]


def view_of(
    text: CudaText, kernel: CudaKernel, array: SharedArray, cell: str, count: int, names: tuple[str, str]
) -> ArrayView:
    """Return the changes that make an array a view; `cell` is the layout's function, `count` how many elements it has,
    `names` those of the view's type and of the array. Raises SwizzleError, at its place, for what no view follows."""
    view, cells = names
    begin, end = array.statement
    head = text.text[begin : array.at]
    kind = re.sub(r"\b(?:extern|static|__shared__)\b|\b(?:__align__|alignas)\s*\([^()]*\)", " ", head)
    if len(text.split(text.code.index("__shared__", begin), end - 1)) > 1 or "volatile" in kind:
        raise escapes(text, array, array.at, "is used as a pointer, and is volatile or declared together with others")
    size = "" if array.dynamic else str(count)
    made = f" {view}<{' '.join(kind.split())}> {array.name}{{{cells}{', 0' if len(array.dims) == 1 else ''}}};"
    changes: list[Change] = [(begin, end, f"{head}{cells}[{size}];{made if array.owner else ''}")]
    if not array.owner:
        changes.append((kernel.body, kernel.body, made))
    aliases = {array.name: len(array.dims)}
    while more := list(_kept(text, array, aliases)):
        for name, dims, change in more:
            aliases[name] = dims
            changes.append(change)
    _check(text, array, changes)
    changes += _templates(text, array, aliases)
    return ArrayView(_view(view, cell, len(array.dims)), cells, changes)


def _check(text: CudaText, array: SharedArray, changes: list[Change]) -> None:
    """Raise SwizzleError for what a view does not follow and a compiler may not see."""
    name = re.escape(array.name)
    wrong = re.compile(rf"\b(?:sizeof|decltype)\s*\(?\s*{name}\b|\*\s*>?\s*\)\s*\(?\s*{name}\b(?!\s*\[)")
    for begin, end in text.directives:
        macro = re.match(r"\s*#\s*define\b", text.plain[begin:end])
        found = re.search(rf"\b{name}\b", text.plain[begin:end])
        if found and (not macro or wrong.search(text.plain, begin, end) or "&" in text.plain[begin:end]):
            raise escapes(text, array, begin + found.start(), "is used in a macro, or hidden by a condition")
    for found in wrong.finditer(text.code, *array.scope):
        if not any(begin <= found.start() < end for begin, end, _ in changes):
            raise escapes(text, array, found.start(), "is used as a pointer of another type, or its size is asked for")
    for match in re.compile(rf"\b{name}\b").finditer(text.code, *array.scope):
        before, at = text.code[: match.start()].rstrip(), text.subscripted(match.end())[1]
        declares = re.search(rf"{_POINTER}\w+\s*=\s*&$", before)
        if takes_address(before) and not declares and not used_at_once(text, before, at):
            raise escapes(text, array, match.start(), "has the address of an element taken, which may lead elsewhere")


def _kept(text: CudaText, array: SharedArray, aliases: dict[str, int]) -> Iterator[tuple[str, int, Change]]:
    """Yield each pointer that is made of what is known already, with how many subscripts it takes, and its new text."""
    names = "|".join(map(re.escape, aliases))
    cast = r"(?:\(\s*(?P<c>[\w:\s]+?)\s*\*\s*\)|reinterpret_cast\s*<\s*(?P<r>[\w:\s]+?)\s*\*\s*>\s*(?=\())?\s*\(*\s*"
    for match in re.compile(rf"{_POINTER}(\w+)\s*=\s*{cast}(?P<a>&?)\s*(?P<n>{names})\b").finditer(
        text.code, *array.scope
    ):
        own, known = match[1], match["n"]
        if own in aliases:
            continue
        subscripts, at = text.subscripted(match.end())
        end = text.code.find(";", at)
        brackets = text.code.count("(", match.end(1), match.start("a")) - text.code.count(
            ")", match.end(1), match.start("a")
        )
        rest = text.text[at:end].rstrip()
        if rest.endswith(")" * brackets):
            rest = rest[: len(rest) - brackets].rstrip()
        if match["a"] and subscripts and not rest:
            (*outer, last), dims = subscripts, 1
            inner = "".join(f"[{text.text[a:b]}]" for a, b in outer)
            taken = f"{known}{inner} + ({text.text[slice(*last)]})"
        elif match["a"]:
            raise escapes(text, array, match.start("n"), "has its address taken")
        else:
            taken, dims = text.text[match.start("n") : at] + rest, aliases[known] - len(subscripts)
        if kind := match["c"] or match["r"]:
            taken = f"({taken}).template as<{kind.strip()}>()"
        yield own, dims, (match.start(), end, f"auto {own} = {taken}")


def _templates(text: CudaText, array: SharedArray, aliases: dict[str, int]) -> Iterator[Change]:
    """Yield the changes that let device functions take views where they are handed some."""
    for function in text.device_functions():
        calls = re.compile(rf"\b{re.escape(function.name)}\s*(?:<[^;(){{}}]*>)?\s*\(")
        handed = set[int]()
        for call in calls.finditer(text.code, *array.scope):
            arguments = text.split(call.end(), text.closing(call.end() - 1))
            for place, (begin, end) in enumerate(arguments):
                first = re.match(r"\s*([A-Za-z_]\w*)\b", text.code[begin:end])
                if first and first[1] in aliases:
                    subscripts, _ = text.subscripted(begin + first.end())
                    handed |= {place} if len(subscripts) < aliases[first[1]] else set()
        if not handed or function.begin <= array.at < function.end:
            continue
        made = []
        for place in sorted(handed & set(range(len(function.parameters)))):
            begin, end = function.parameters[place]
            name = re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$", text.code[begin:end])
            if name is None or "volatile" in text.code[begin:end] or "(" in text.code[begin:end]:
                raise escapes(text, array, begin, f"is handed to {function.name}, which takes it as something else")
            made.append(f"class {array.name}_{place}")
            yield begin, end, f"{' ' if place else ''}{array.name}_{place} {name[1]}"
        if function.template_end:
            yield function.template_end, function.template_end, f", {', '.join(made)}"
        else:
            yield function.begin, function.begin, f"template <{', '.join(made)}> "


def _view(name: str, cell: str, dims: int) -> str:
    """Return the type of a view of several axes: a row of a row, and so on, and at last a place in a row, which may be
    read as elements of another type, T, of as many of the array's own, E."""
    rows = [name, *(f"{name}_{level}" for level in range(1, dims))]
    found = ""
    for level in reversed(range(dims)):
        own, indices = rows[level], [f"i{k}" for k in range(level)]
        members = "".join(f" unsigned {each};" for each in indices)
        given = ", ".join(["cells", *indices])
        last = level == dims - 1
        types, element = ("class T, class E = T", "E") if last else ("class T", "T")
        found += f"template <{types}> struct {own} {{\n    {element}* cells;{members}"
        if not last:
            inner = f"{rows[level + 1]}<T>"
            at = ", 0" if level == dims - 2 else ""
            body = f"    {_INLINE} {inner} operator[](unsigned i) const {{ return {{{given}, i{at}}}; }}\n"
            found += f"\n{body}"
        else:
            place, ratio = ", ".join([*indices, "at"]), "(sizeof(T) / sizeof(E))"
            as_ = f"template <class U> {_INLINE} {own}<U, E> as() const {{ return {{{given}, at}}; }}\n"
            found += (
                f" unsigned at;\n"
                f"    {_INLINE} T& operator*() const {{ return reinterpret_cast<T&>(cells[{cell}({place})]); }}\n"
                f"    {_INLINE} T& operator[](unsigned i) const {{ return *(*this + i); }}\n"
                f"    {_INLINE} {own} operator+(unsigned i) const {{ return {{{given}, at + i * {ratio}}}; }}\n"
                f"    {_INLINE} {own}& operator+=(unsigned i) {{ return *this = *this + i; }}\n"
                f"    {_INLINE} {own}& operator++() {{ return *this += 1; }}\n"
                f"    {_INLINE} {own} operator++(int) {{ {own} was = *this; *this += 1; return was; }}\n"
                f"    {as_}"
            )
        found += "};\n"
    return found
