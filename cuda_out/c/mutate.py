"""Mutants of a printed kernel: its text with one swizzle deleted or altered, to try the checks on.

What is altered is read off the text alone, so that any printed kernel can be mutated: each shuffle's source lane and
the shuffle itself, each subscript, each comparison, each named index, each barrier, each accumulate. Indices stay
within their array, so that what gives a mutant away is the wrong value and not a crash, wherever that can be seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from cuda_out.c.kernel_text import arguments, blanked, closing, kernel_extent

_ARRAY = re.compile(r"^[ \t]*(?:__shared__ )?(?:__align__\(\d+\) )?[\w ]+? (\w+)((?:\[\d+\])+)(?: = \{[^;]*\})?;", re.M)
_NAMED = re.compile(r"^[ \t]*const (?:int|long long) (\w+) = ([^;]+);", re.M)
_STATEMENT = re.compile(r"^[ \t]*(?:if \([^;{}]*\) )?(\w+(?:\[[^;=]*\])?) ([-+*&|^])= [^;]*;", re.M)
_JOINED = re.compile(r"^[ \t]*(?:if \([^;{}]*\) )?(\w+(?:\[[^;=]*\])?) = \w+\(\1, [^;]*;", re.M)
_BARRIER = re.compile(r"__sync(?:threads|warp)\([^;]*\);")
_SHUFFLE = re.compile(r"__shfl(?:_up|_down|_xor)?_sync\(")
_COMPARISON = re.compile(r"(?<=[\w)\]] )(<=|>=|==|!=|<|>)(?= [\w(\-])")
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_WORD = re.compile(r"\b([A-Za-z_]\w*)\[")


class Mutant(Struct, frozen=True):
    """A printed text with one change, said with the line (of the original) that it stands on."""

    line: int
    change: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.change}"


def mutants(text: str, entry: str, sizes: Sequence[int]) -> tuple[Mutant, ...]:
    """Return the mutants of the kernel `entry`; `sizes` are the elements of its pointers, in order."""
    found: dict[str, Mutant] = {}
    for start, end, new, change in _changes(text, entry, sizes):
        mutated = text[:start] + new + text[end:]
        if text[start:end] != new and mutated not in found:
            found[mutated] = Mutant(text.count("\n", 0, start) + 1, change, mutated)
    return tuple(found.values())


def _changes(text: str, entry: str, sizes: Sequence[int]) -> Iterator[tuple[int, int, str, str]]:
    """Yield each change as (start, end, what stands there instead, what it does)."""
    begin, end = kernel_extent(text, entry)
    opening = text.index("(", text.index(entry + "(", begin))
    first = text.index("{", closing(text, opening)) + 1
    # Comments, pragmas and loop headers are blanked, so that every position is one of the original text.
    body = blanked(text[:end])
    for loop in re.finditer(r"\bfor \(", body[first:]):
        at = first + loop.end() - 1
        stop = closing(body, at) + 1
        body = body[:at] + re.sub(r"[^\n]", " ", body[at:stop]) + body[stop:]
    pointers = re.findall(r"\*[^,)]*?(\w+)\s*[,)]", body[opening:first])
    extents = {name: [size] for name, size in zip(pointers, sizes, strict=False)}
    declared = []
    for array in _ARRAY.finditer(body, first):
        extents[array[1]] = [int(size) for size in re.findall(r"\d+", array[2])]
        declared.append(array.span())
    yield from _shuffles(body, first)
    for start, stop, new, change in _subscripts(body, first, extents):
        if not any(a <= start < b for a, b in declared):
            yield start, stop, new, change
    for named in _NAMED.finditer(body, first):
        yield *named.span(2), f"({named[2]}) + 1", f"{named[1]} is one more"
    for comparison in _COMPARISON.finditer(body, first):
        opposite = _OPPOSITE[comparison[1]]
        yield *comparison.span(1), opposite, f"{comparison[1]} is {opposite}"
    for statement in (*_STATEMENT.finditer(body, first), *_JOINED.finditer(body, first)):
        shown = " ".join(statement[0].split())
        yield *statement.span(), "", f"without `{shown}`"
    for barrier in _BARRIER.finditer(body, first):
        yield *barrier.span(), "", f"without `{barrier[0]}`"


def _shuffles(body: str, first: int) -> Iterator[tuple[int, int, str, str]]:
    for shuffle in _SHUFFLE.finditer(body, first):
        stop = closing(body, shuffle.end() - 1)
        parts = arguments(body, shuffle.end(), stop)
        if len(parts) < 3:
            continue
        value, lane = body[slice(*parts[1])], body[slice(*parts[2])]
        shown = " ".join(lane.split())
        yield shuffle.start(), stop + 1, f"({value})", f"no shuffle from {shown}"
        yield *parts[2], f"({lane}) + 1", f"the shuffle from {shown} is from the next lane"
        yield *parts[2], "0", f"the shuffle from {shown} is from lane 0"


def _subscripts(body: str, first: int, extents: dict[str, list[int]]) -> Iterator[tuple[int, int, str, str]]:
    for word in _WORD.finditer(body, first):
        at = word.end() - 1
        for extent in extents.get(word[1], []):
            if at >= len(body) or body[at] != "[":
                break
            stop = closing(body, at)
            index = body[at + 1 : stop]
            shown = " ".join(index.split())
            if extent > 1:
                change = f"{word[1]}[{shown}] is the next element"
                yield at + 1, stop, f"({index} + 1) % {extent}", change
                yield at + 1, stop, "0", f"{word[1]}[{shown}] is element 0"
            at = stop + 1


def together(text: str, entry: str, variants: Sequence[Mutant], *, dispatch: bool) -> tuple[str, tuple[str, ...]]:
    """Put mutants into one text, each as a kernel of its own; return their names too.

    With `dispatch` there is one kernel, `entry`, that takes the mutant's number after its other arguments.
    """
    begin, end = kernel_extent(text, entry)
    names = tuple(f"{entry}_mutant_{number}" for number in range(len(variants)))
    kernels = []
    for name, variant in zip(names, variants, strict=True):
        start, stop = kernel_extent(variant.text, entry)
        kernel = variant.text[start:stop]
        head = kernel[: kernel.index(f" {entry}(")]
        new = "static __device__ void" if dispatch else head
        kernels.append(f"{new} {name}(" + kernel[len(head) + len(entry) + 2 :])
    if dispatch:
        kernel = text[begin:end]
        opening = kernel.index(f"{entry}(") + len(entry)
        stop = closing(kernel, opening)
        given = [kernel[slice(*part)] for part in arguments(blanked(kernel), opening + 1, stop)]
        names_given = ", ".join(re.findall(r"(\w+)\s*$", blanked(parameter).rstrip())[0] for parameter in given)
        cases = "".join(f"  if (mutant == {n}) {name}({names_given});\n" for n, name in enumerate(names))
        kernels.append(kernel[:stop].rstrip() + ", int mutant) {\n" + cases + "}\n")
    return text[:begin] + "\n\n".join(kernels) + text[end:], names
