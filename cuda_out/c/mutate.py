"""Mutants of a printed kernel: its text with one swizzle deleted or altered, to try the checks on.

What is altered is read off the text alone, so that any printed kernel can be mutated: each shuffle's source lane and
the shuffle itself, each subscript, each comparison, each named index, each barrier and its mask, each accumulate, each
constant. Indices stay within their array, so that what gives a mutant away is the wrong value and not a crash, wherever
that can be seen. Some mutants are wrong at a remainder or at blocks that no run is likely to have (`rare`). Mutants of
the host function are made apart (`host_mutants`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from cuda_out.c.kernel_text import argument_spans, blanked, closing, kernel_extent, parameters, signature
from symbolic.ir.functions import FUNCTIONS

_ARRAY = re.compile(r"^[ \t]*(?:__shared__ )?(?:__align__\(\d+\) )?[\w ]+? (\w+)((?:\[\d+\])+)(?: = \{[^;]*\})?;", re.M)
_NAMED = re.compile(r"^[ \t]*const (?:int|long long) (\w+) = ([^;]+);", re.M)
_STATEMENT = re.compile(r"^[ \t]*(?:if \([^;{}]*\) )?(\w+(?:\[[^;=]*\])?) ([-+*&|^])= [^;]*;", re.M)
_JOINED = re.compile(r"^[ \t]*(?:if \([^;{}]*\) )?(\w+(?:\[[^;=]*\])?) = \w+\(\1, [^;]*;", re.M)
_BARRIER = re.compile(r"__sync(?:threads|warp)\([^;]*\);")
_SHUFFLE = re.compile(r"__shfl(?:_up|_down|_xor)?_sync\(")
_COMPARISON = re.compile(r"(?<=[\w)\]] )(<=|>=|==|!=|<|>)(?= [\w(\-])")
_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_CONSTANT = re.compile(r"(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?)(f?)(?![\w.])")
_BLOCK = re.compile(r"\bblockIdx\.[xyz]\b")
_WIDE = re.compile(r"\bconst long long \w+ = ([^;]+);")
_LEFT = re.compile(r"\bconst int (\w+) = (\w+ - \w+ < (\d+) \? [^;]+);")
_REACH = re.compile(r"^[ \t]*if \(([^;{}]* [<>]= \d+)\)\s+\w+\(known<true>\(\)[^;]*\);", re.M)
_HOST_NUMBER = re.compile(r"(?<![\w.])(?<!- )(\d+)(?![\w.])")  # n - 2 rounds up as n - 1 does, of even numbers
_HOST_ERROR = re.compile(r"if \([^;{}]*\) return \w+;")
_FUNCTION = re.compile(rf"\b(chosen|{'|'.join(name for row in FUNCTIONS.values() for name in row.cuda.values())})\(")
_ROWS = list(FUNCTIONS.values())
_OTHER = {
    name: other.cuda[dtype]
    for row, other in zip(_ROWS, _ROWS[1:] + _ROWS[:1], strict=True)
    if len(row.operands) == len(other.operands)
    for dtype, name in row.cuda.items()
}
_WORD = re.compile(r"\b([A-Za-z_]\w*)\[")


class Mutant(Struct, frozen=True):
    """A printed text with one change, said with the line (of the original) that it stands on; a `rare` one is wrong at
    few lengths or blocks only, so that a run does not show it, and a `slight` one by what rounding may be."""

    line: int
    change: str
    text: str
    rare: bool = False
    slight: bool = False

    def __str__(self) -> str:
        return f"line {self.line}: {self.change}"


def mutants(text: str, entry: str, sizes: Sequence[int]) -> tuple[Mutant, ...]:
    """Return the mutants of the kernel `entry`; `sizes` are the elements of its pointers, in order."""
    found: dict[str, Mutant] = {}
    for rare, changes in ((False, _changes(text, entry, sizes)), (True, _rare_changes(text, entry))):
        for start, end, new, change in changes:
            mutated = text[:start] + new + text[end:]
            if text[start:end] != new and mutated not in found:
                slight = _CONSTANT.fullmatch(text[start:end]) is not None and float(text[start:end].rstrip("f")) != 0
                found[mutated] = Mutant(text.count("\n", 0, start) + 1, change, mutated, rare, slight)
    return tuple(found.values())


def host_mutants(text: str, launcher: str) -> tuple[Mutant, ...]:
    """Return the mutants of the function that launches a kernel: numbers, comparisons, errors, stream and arguments."""
    body = blanked(text)
    start = body.find(f"{launcher}(")
    if start < 0:
        return ()
    first = body.index("{", closing(body, body.index("(", start)))
    last = closing(body, first)
    found: list[tuple[int, int, str, str]] = []
    for number in _HOST_NUMBER.finditer(body, first, last):
        found.append((*number.span(), str(int(number[1]) + 1), f"{number[1]} is {int(number[1]) + 1}"))
    for comparison in _COMPARISON.finditer(body, first, last):
        found.append((*comparison.span(1), _OPPOSITE[comparison[1]], f"{comparison[1]} is {_OPPOSITE[comparison[1]]}"))
    for either in re.finditer(r"\|\|", body[first:last]):
        found.append((first + either.start(), first + either.end(), "&&", "|| is &&"))
    for error in _HOST_ERROR.finditer(body, first, last):
        found.append((*error.span(), "", f"without `{error[0]}`"))
    for old, new in ((", stream>>>", ", nullptr>>>"), ("return cudaGetLastError();", "return cudaSuccess;")):
        if (at := body.find(old, first, last)) >= 0:
            found.append((at, at + len(old), new, f"{old} is {new}"))
    if launch := re.search(r"<<<[^;]*>>>(?=\()", body[first:last]):
        opening = first + launch.end()
        parts = argument_spans(body, opening + 1, closing(body, opening))
        types = [" ".join(each.split()[:-1]) for each in _declared(body, start)]
        for place, (here, there) in enumerate(pairwise(parts)):
            if types[place] == types[place + 1]:
                a, b = body[slice(*here)], body[slice(*there)]
                found.append((here[0], there[1], f"{b}, {a}", f"{a} and {b} change places"))
    return tuple(
        Mutant(text.count("\n", 0, begin) + 1, change, text[:begin] + new + text[end:])
        for begin, end, new, change in found
    )


def _declared(body: str, start: int) -> list[str]:
    opening = body.index("(", start)
    return [body[slice(*part)] for part in argument_spans(body, opening + 1, closing(body, opening))]


def _rare_changes(text: str, entry: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield changes that are wrong at one remainder, or behind some block."""
    begin, end = kernel_extent(text, entry)
    body = blanked(text[:end])
    for block in _BLOCK.finditer(body, begin):
        yield *block.span(), f"({block[0]} & 0xfffff)", f"{block[0]} has 20 bits"
    for wide in _WIDE.finditer(body, begin):
        yield *wide.span(1), f"int({wide[1]})", f"`{wide[1]}` has 32 bits"
    for left in _LEFT.finditer(body, begin):
        cut = 5 * int(left[3]) // 8
        yield *left.span(2), f"({left[2]}) - (({left[2]}) == {cut})", f"{left[1]} is one less where it is {cut}"
    for reach in _REACH.finditer(body, begin):
        first, last = reach.span(1)
        for number in re.finditer(r"(?<=>= )\d+", body[first:last]):
            less = str(int(number[0]) - 1)
            yield first + number.start(), first + number.end(), less, f"a block is whole with {less} left"
        for number in re.finditer(r"(?<=<= )\d+", body[first:last]):
            yield first + number.start(), first + number.end(), "2147483647", "a stride of 32 bits may overflow"
        for op, other, says in ((">=", "<", "is not"), ("&&", "||", "along one axis is")):
            for found in re.finditer(op, body[first:last]):
                yield first + found.start(), first + found.end(), other, f"a block that {says} whole counts as such"


def _changes(text: str, entry: str, sizes: Sequence[int]) -> Iterator[tuple[int, int, str, str]]:
    """Yield each change as (start, end, what stands there instead, what it does)."""
    begin, end = kernel_extent(text, entry)
    opening = signature(text, entry)[1]
    first = text.index("{", closing(text, opening)) + 1
    # Comments, pragmas and loop headers are blanked, so that every position is one of the original text.
    body = blanked(text[:end])
    for loop in re.finditer(r"\bfor \(", body[first:]):
        at = first + loop.end() - 1
        stop = closing(body, at) + 1
        body = body[:at] + re.sub(r"[^\n]", " ", body[at:stop]) + body[stop:]
    pointers = re.findall(r"\*[^,)]*?(\w+)\s*[,)]", body[opening:first])
    extents = {name: [size] for name, size in zip(pointers, sizes, strict=False)}
    if passed := [int(size) for size in re.findall(r"^  [\w ]+ at\[(\d+)\];$", text[:begin], re.M)]:
        extents["at"] = [min(passed)]  # of what is passed by value
    declared = []
    for array in _ARRAY.finditer(body, first):
        extents[array[1]] = [int(size) for size in re.findall(r"\d+", array[2])]
        declared.append(array.span())
    yield from _shuffles(body, first)
    yield from _scalars(body, first, parameters(text, entry))
    for start, stop, new, change in _subscripts(body, first, extents):
        if not any(a <= start < b for a, b in declared):
            yield start, stop, new, change
    for named in _NAMED.finditer(body, first):
        yield *named.span(2), f"({named[2]}) + 1", f"{named[1]} is one more"
    reaches = [reach.span(1) for reach in _REACH.finditer(body, first)]
    for comparison in _COMPARISON.finditer(body, first):
        if any(a <= comparison.start() < b for a, b in reaches):
            continue  # what a block that is not whole counts as such loads is seen at few lengths (`_rare_changes`)
        opposite = _OPPOSITE[comparison[1]]
        yield *comparison.span(1), opposite, f"{comparison[1]} is {opposite}"
    for statement in (*_STATEMENT.finditer(body, first), *_JOINED.finditer(body, first)):
        shown = " ".join(statement[0].split())
        yield *statement.span(), "", f"without `{shown}`"
    for barrier in _BARRIER.finditer(body, first):
        yield *barrier.span(), "", f"without `{barrier[0]}`"
        if "warp" in barrier[0]:
            yield (
                *barrier.span(),
                "__syncwarp(threadIdx.x & 1 ? 0xaaaaaaaau : 0x55555555u);",
                "odd and even lanes wait apart",
            )
    for call in _FUNCTION.finditer(body, first):
        stop = closing(body, call.end() - 1)
        parts = argument_spans(body, call.end(), stop)
        other = _OTHER.get(call[1])
        if other:
            yield call.start(), call.end(), f"{other}(", f"{call[1]} is {other}"
        if len(parts) > 1:
            *rest, a, b = parts
            exchanged = ", ".join(body[slice(*part)].strip() for part in (*rest, b, a))
            yield call.end(), stop, exchanged, f"the last two arguments of {call[1]} are exchanged"
    for constant in _CONSTANT.finditer(body, first):
        value = float(constant[1])
        near = "1.0" if value == 0 else repr(value * (1 + (2.0**-22 if constant[2] else 2.0**-50)))
        yield *constant.span(), near + constant[2], f"{constant[0]} is {near + constant[2]}"


def _shuffles(body: str, first: int) -> Iterator[tuple[int, int, str, str]]:
    for shuffle in _SHUFFLE.finditer(body, first):
        stop = closing(body, shuffle.end() - 1)
        parts = argument_spans(body, shuffle.end(), stop)
        if len(parts) < 3:
            continue
        value, lane = body[slice(*parts[1])], body[slice(*parts[2])]
        shown = " ".join(lane.split())
        yield shuffle.start(), stop + 1, f"({value})", f"no shuffle from {shown}"
        yield *parts[2], f"({lane}) + 1", f"the shuffle from {shown} is from the next lane"
        yield *parts[2], "0", f"the shuffle from {shown} is from lane 0"


def _scalars(body: str, first: int, declared: Sequence[str]) -> Iterator[tuple[int, int, str, str]]:
    """Yield each use of a scalar parameter as that of another one of its type, or as twice itself. Lengths, which are
    `long long`, are left out."""
    numbers = [each.rpartition(" ") for each in declared if not re.search(r"\*|^const ", each)]
    types = {name: kind for kind, _, name in numbers}
    for name, kind in types.items():
        others = [other for other in types if types[other] == kind and other != name]
        if kind == "long long" or (kind in ("__half", "__nv_bfloat16") and not others):
            continue
        new = others[0] if others else f"({name} + {name})"
        for use in re.finditer(rf"(?<![\w.]){name}\b", body[first:]):
            yield first + use.start(), first + use.end(), new, f"the scalar {name} is {new}"


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
        opening = signature(variant.text, entry)[1]
        head = variant.text[start : variant.text.rindex(entry, start, opening)]
        new = "static __device__ void " if dispatch else head
        kernels.append(f"{new}{name}{variant.text[opening:stop]}")
    if dispatch:
        kernel, opening = text[begin:end], signature(text, entry)[1] - begin
        stop = closing(kernel, opening)
        given = [kernel[slice(*part)] for part in argument_spans(blanked(kernel), opening + 1, stop)]
        names_given = ", ".join(re.findall(r"(\w+)\s*$", blanked(parameter).rstrip())[0] for parameter in given)
        cases = "".join(f"  if (mutant == {n}) {name}({names_given});\n" for n, name in enumerate(names))
        kernels.append(kernel[:stop].rstrip() + ", int mutant) {\n" + cases + "}\n")
    return text[:begin] + "\n\n".join(kernels) + text[end:], names
