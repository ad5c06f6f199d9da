"""The kernels of a device-wide scan, as sketches without holes: each with its own specification; and those of scans
from the end, whose arrays are read and stored from their ends.

A *part* is a piece of the input, one block's `TILE` elements unless it is the last. In three passes four kernels are
enough, each of which takes any length:

- *totals*: the words of each part that is whole;
- *first*: the scan of each part by itself;
- *rest*: the scan of each whole part, behind the words of all that came before it, `before[block]`;
- *tail*: the same of one part that need not be whole, behind `before[0]`.

Each exists for elements, which are lifted and of which results are stored, and for words, to scan the totals in turn.

In one pass (`look_back.py`) the words before a part are found while others are scanned:

- *linked*: two whole parts, of which the second is scanned behind `before[0]`; it has the words of both, too.

The kernels are those of a scan that goes forward, verified and printed as such, but for vector accesses: what they take
for element j of an array is its element n - 1 - j. So one that scans `x[n - 1], ..., x[0]` by `reversed(op)` has for
each element the words of all from it to the end, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.emitter import c_names
from cuda_out.c.kernel_text import kernel_extent
from cuda_out.c.printer import CudaSource
from cuda_out.tiling.tiling import Tiling
from swizzle.answers.emit.emitters import cuda_source
from swizzle.language.cuda_namespace import cuda
from swizzle.language.element_types import ArrayType
from swizzle.language.frontend.kernel import build_program
from swizzle.language.frontend.resolve import Launch
from swizzle.language.operators import ScanOperator
from swizzle.language.source.kernel_source import KernelSource, Source, parse, split_lines
from swizzle.language.surface import ELEMENT_TYPES
from swizzle.operators.loop import unused
from symbolic.ir.program import LANES, DType, Program

THREADS: Final = 128
ITEMS: Final = 4
TILE: Final = THREADS * ITEMS
_WARPS: Final = THREADS // LANES

Kind: TypeAlias = Literal["totals", "first", "rest", "tail", "linked"]
KINDS: Final[tuple[Kind, ...]] = ("totals", "first", "rest", "tail")
LOOK_BACK_KINDS: Final[tuple[Kind, ...]] = ("first", "linked", "tail")


class Level(Struct, frozen=True):
    """What a kernel reads and stores: elements and results, or words and words.

    `given` are the arrays that it reads, under names that C++ and the kernels' Python have for nothing else, `words`
    the types of an operator's words, `made` the arrays that scans store.
    """

    operator: ScanOperator
    lifts: bool
    given: dict[str, DType]
    made: dict[str, DType]

    @staticmethod
    def of_elements(operator: ScanOperator) -> Level:
        """Return the level of the elements of an input."""
        types = operator.result.types
        made = ["y"] if len(types) == 1 else [f"y{place}" for place in range(len(types))]
        named = c_names(operator.elements, taken=[*ELEMENT_TYPES, "cuda", "range"])
        given = {named[name]: dtype for name, dtype in operator.elements.items()}
        return Level(operator, True, given, dict(zip(_apart(made, given), types, strict=True)))

    @staticmethod
    def of_words(operator: ScanOperator) -> Level:
        """Return the level of the words of parts."""
        given = {f"x_{word}": dtype for word, dtype in operator.words.items()}
        return Level(operator, False, given, {f"y_{word}": dtype for word, dtype in operator.words.items()})

    @property
    def plain(self) -> bool:
        """Whether elements are words, and results, too: then both levels are one."""
        return all(
            isinstance(each, int) and each == place
            for some in (self.operator.lift, self.operator.result)
            for place, each in enumerate(some.values)
        ) and len(self.operator.elements) == len(self.operator.words) == len(self.operator.result.values)

    def named(self, prefix: str) -> dict[str, DType]:
        """Return an array for each word."""
        names = _apart([f"{prefix}_{word}" for word in self.operator.words], [*self.given, *self.made])
        return dict(zip(names, self.operator.words.values(), strict=True))

    # -- what the kernels compute, on any values -----------------------------------------------------------------

    def lifted(self, rows: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the words of each element of some arrays."""
        operator = self.operator
        return [operator.several(operator.lift(*row)) if self.lifts else row for row in zip(*rows, strict=True)]

    def stored(self, words: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what a scan stores of words."""
        return self.operator.several(self.operator.result(*words)) if self.lifts else words

    def after(self, words: Any, before: tuple[Any, ...] | None = None) -> list[tuple[Any, ...]]:
        """Return the words of each beginning of a part, behind what came before."""
        found: list[tuple[Any, ...]] = []
        for each in words:
            before = each if before is None else self.operator.several(self.operator.combine(*before, *each))
            found.append(before)
        return found


class PassKernel(Struct, frozen=True, eq=False):
    """One kernel: its program for two parts, and its specification for any number."""

    kind: Kind
    level: Level
    program: Program
    spec: Callable[..., Any]
    text: str


def kernel_of(level: Level, kind: Kind) -> PassKernel:
    """Return a kernel of a level."""
    name = f"{level.operator.name}_{'' if level.lifts else 'words_'}{kind}"
    before = level.named("before") if kind in ("rest", "tail", "linked") else {}
    made = level.named("total") if kind == "totals" else level.made
    totals = level.named("total") if kind == "linked" else {}
    arguments: dict[str, ArrayType | int] = {
        name: ArrayType(dtype, (2 * TILE,), "in") for name, dtype in level.given.items()
    }
    arguments |= {name: ArrayType(dtype, (2 if kind == "rest" else 1,), "in") for name, dtype in before.items()}
    size = 2 if kind == "totals" else 2 * TILE
    arguments |= {name: ArrayType(dtype, (size,), "out") for name, dtype in made.items()}
    arguments |= {name: ArrayType(dtype, (2,), "out") for name, dtype in totals.items()}
    text = _Text(level, kind, list(before), list(made), list(totals)).of(name, list(arguments))
    environment = {**ELEMENT_TYPES, "cuda": cuda, "range": range, _mark(level, "op"): level.operator}
    file = f"<{name}>"
    (definition,) = parse(text, file).body
    source = KernelSource(Source(file, split_lines(text)), definition, None, environment)  # type: ignore[arg-type]
    program = build_program(source, arguments, Launch((THREADS, 1, 1), (2, 1, 1), LANES))
    return PassKernel(kind, level, program, _specification(level, kind, list(made), list(totals)), text)


# ---- specifications ----------------------------------------------------------------------------------------------


def _specification(level: Level, kind: Kind, made: Sequence[str], linked: Sequence[str]) -> Callable[..., Any]:
    count = len(level.given)

    def totals(names: Sequence[str], *arrays: Any) -> Any:
        words = level.lifted(arrays)
        parts = [words[at : at + TILE] for at in range(0, len(words), TILE)]
        return _by_name(names, [level.after(part)[-1] for part in parts])

    def scanned(*arrays: Any) -> Any:
        words, before = level.lifted(arrays[:count]), list(zip(*arrays[count:], strict=True))
        found: list[tuple[Any, ...]] = []
        for block, at in enumerate(range(0, len(words), TILE)):
            carried = None if not before or (linked and at == 0) else before[block if kind == "rest" else 0]
            found += map(level.stored, level.after(words[at : at + TILE], carried))
        return _by_name(made, found)

    def both(*arrays: Any) -> Any:
        return {**scanned(*arrays), **totals(linked, *arrays[:count])}

    return partial(totals, made) if kind == "totals" else both if linked else scanned


def _by_name(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Mapping[str, list[Any]]:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


# ---- texts -------------------------------------------------------------------------------------------------------


def _apart(wishes: Any, taken: Any) -> list[str]:
    """Return names like these that are not taken."""
    found: list[str] = []
    for wish in wishes:
        found.append(unused(wish, [*taken, *found]))
    return found


def _mark(level: Level, name: str) -> str:
    """Return a name that no array has."""
    marks = "_"
    while any(each.endswith(marks) for each in (*level.given, *level.made, *level.operator.words)):
        marks += "_"
    return name + marks


class _Text:
    """The text of a kernel: one piece after the other, over names of variables that no array has."""

    def __init__(
        self, level: Level, kind: Kind, before: Sequence[str], made: Sequence[str], totals: Sequence[str]
    ) -> None:
        self.level, self.kind, self.before, self.made, self.totals = level, kind, before, made, totals
        self.types = [dtype.value for dtype in level.operator.words.values()]
        self.alone = kind in ("first", "linked")  # whether what came before is at first that of the part alone
        self.op, self.t, self.i, self.k, self.lane, self.warp = map(self._own, ("op", "t", "i", "k", "lane", "warp"))
        self.registers = [self._own(f"r{place}") for place in range(len(level.given))]

    def of(self, name: str, arguments: Sequence[str]) -> str:
        """Return the whole of it."""
        lines = [f"def {name}({', '.join(arguments)}):", *self._elements()]
        if self.kind == "totals":
            lines += [*self._of_warps(), *self._of_blocks("a", self.made)]
        else:
            lines += [*self._within_warps(), *self._before_warps(), *self._before_threads(), *self._results()]
        return "\n".join(lines) + "\n"

    # -- pieces ----------------------------------------------------------------------------------------------------

    def _elements(self) -> Iterator[str]:
        """Load what a thread has; combine its words."""
        t, i, k, lane, warp = self.t, self.i, self.k, self.lane, self.warp
        yield f"    {t} = cuda.threadIdx.x"
        yield f"    {lane}, {warp} = {t} % {LANES}, {t} // {LANES}"
        yield f"    {i} = {TILE} * cuda.blockIdx.x + {ITEMS} * {t}"
        for register, (array, dtype) in zip(self.registers, self.level.given.items(), strict=True):
            yield f"    {register} = cuda.local.array({ITEMS}, {dtype.value})"
            yield f"    for {k} in range({ITEMS}):"
            yield f"        {register}[{k}] = {array}[{i} + {k}]"
        yield from self._each("{s} = cuda.shared.array(" + str(_WARPS) + ", {type})", 1)
        yield "    # the words of a thread's elements"
        yield f"    {self._words('a')} = {self._element('0')}"
        yield f"    for {k} in range(1, {ITEMS}):"
        yield f"        {self._words('b')} = {self._element(k)}"
        yield self._combined("a", "a", "b", 2)

    def _of_warps(self) -> Iterator[str]:
        """Combine what the threads of a warp have; keep it in shared memory."""
        k = self.k
        yield "    # of a warp's: lane 0 has those of all"
        yield f"    for {k} in (1, 2, 4, 8, 16):"
        yield from self._each(f"{{b}} = cuda.shfl_down_sync(cuda.FULL_MASK, {{a}}, {k})", 2)
        yield self._combined("a", "a", "b", 2)
        yield f"    if {self.lane} == 0:"
        yield from self._each(f"{{s}}[{self.warp}] = {{a}}", 2)
        yield "    cuda.syncthreads()"

    def _of_blocks(self, letter: str, arrays: Sequence[str], start: bool = False) -> Iterator[str]:
        """Store the words of a block; those of its first warp are there, unless they are the `start`."""
        k = self.k
        yield "    # of the block's"
        yield f"    if {self.t} == 0:"
        if start:
            yield from self._each(f"{{{letter}}} = {{s}}[0]", 2)
        yield f"        for {k} in range(1, {_WARPS}):"
        yield from self._each(f"{{b}} = {{s}}[{k}]", 3)
        yield self._combined(letter, letter, "b", 3)
        yield from (f"        {array}[cuda.blockIdx.x] = {self._word(letter, n)}" for n, array in enumerate(arrays))

    def _within_warps(self) -> Iterator[str]:
        """Scan what the threads of a warp have; keep the words of all in shared memory."""
        k, lane = self.k, self.lane
        yield "    # of all up to it in the warp"
        yield f"    for {k} in (1, 2, 4, 8, 16):"
        yield from self._each(f"{{b}} = cuda.shfl_up_sync(cuda.FULL_MASK, {{a}}, {k})", 2)
        yield self._combined("b", "b", "a", 2)
        yield from self._each(f"{{a}} = {{b}} if {lane} >= {k} else {{a}}", 2)
        yield f"    if {lane} == {LANES - 1}:"
        yield from self._each(f"{{s}}[{self.warp}] = {{a}}", 2)
        yield "    cuda.syncthreads()"

    def _before_warps(self) -> Iterator[str]:
        """Combine what came before each warp."""
        k, warp = self.k, self.warp
        if self.totals:
            yield from self._of_blocks("c", self.totals, start=True)
            yield "    cuda.syncthreads()"
        yield "    # of all before its warp"
        if self.alone:
            yield from self._each("{c} = {s}[0]", 1)
        else:
            at = "cuda.blockIdx.x" if self.kind == "rest" else "0"
            yield from (f"    {self._word('c', place)} = {array}[{at}]" for place, array in enumerate(self.before))
        yield f"    for {k} in range({1 if self.alone else 0}, {_WARPS - 1}):"
        yield from self._each(f"{{b}} = {{s}}[{k}]", 2)
        yield self._combined("b", "c", "b", 2)
        yield from self._each(f"{{c}} = {{b}} if {k} < {warp} else {{c}}", 2)

    def _before_threads(self) -> Iterator[str]:
        """Combine what came before each thread."""
        lane = self.lane
        yield "    # of all before it"
        yield from self._each("{b} = cuda.shfl_up_sync(cuda.FULL_MASK, {a}, 1)", 1)
        yield self._combined("d", "c", "b", 1)
        if self.alone:
            yield from self._each(f"{{c}} = {{b}} if {self.warp} == 0 else {{d}} if {lane} > 0 else {{c}}", 1)
        else:
            yield from self._each(f"{{c}} = {{d}} if {lane} > 0 else {{c}}", 1)
        if self.totals:
            yield "    # of the parts before, too"
            yield "    if cuda.blockIdx.x > 0:"
            yield from (f"        {self._word('b', place)} = {array}[0]" for place, array in enumerate(self.before))
            yield self._combined("d", "b", "c", 2)
            yield from self._each(f"{{c}} = {{d}} if {self.t} > 0 else {{b}}", 2)

    def _results(self) -> Iterator[str]:
        """Store the result after each element."""
        k = self.k
        yield f"    for {k} in range({ITEMS}):"
        yield f"        {self._words('b')} = {self._element(k)}"
        yield self._combined("d", "c", "b", 2)
        behind = f"{self.t} > 0 or {k} > 0" + (" or cuda.blockIdx.x > 0" if self.totals else "")
        yield from self._each(f"{{c}} = {{d}} if {behind} else {{b}}" if self.alone else "{c} = {d}", 2)
        result = f"{self.op}.result({self._words('c')})" if self.level.lifts else self._words("c")
        yield f"        {', '.join(f'{array}[{self.i} + {k}]' for array in self.made)} = {result}"

    # -- words -----------------------------------------------------------------------------------------------------

    def _own(self, wish: str) -> str:
        return _mark(self.level, wish)

    def _word(self, letter: str, place: int) -> str:
        return self._own(f"{letter}{place}")

    def _words(self, letter: str) -> str:
        return ", ".join(self._word(letter, place) for place in range(len(self.types)))

    def _combined(self, target: str, a: str, b: str, indent: int) -> str:
        combined = f"{self.op}.combine({self._words(a)}, {self._words(b)})"
        return f"{'    ' * indent}{self._words(target)} = {combined}"

    def _each(self, line: str, indent: int) -> Iterator[str]:
        """Yield one line for each word, of whose names `line` has the places."""
        for place, dtype in enumerate(self.types):
            yield "    " * indent + line.format(type=dtype, **{letter: self._word(letter, place) for letter in "abcds"})

    def _element(self, at: str) -> str:
        values = ", ".join(f"{register}[{at}]" for register in self.registers)
        return f"{self.op}.lift({values})" if self.level.lifts else values


VIEW: Final = """\
/// An array from its end: element 0 is the last one.
template <typename T>
struct FromTheEnd {
  T* last;
  __device__ T& operator[](long long i) const { return last[-i]; }
  __device__ void operator+=(long long by) { last -= by; }
};
"""


def backward_source(kernel: PassKernel, tiling: Tiling | None, form: Literal["cu", "header"] = "cu") -> CudaSource:
    """Return the printed text of a kernel of elements, which goes through them from their ends."""
    source = cuda_source(kernel.program, (), tiling, form=form, vectors=False)
    lengths = {}
    for parameter in kernel.program.parameters:
        if parameter.name in (*kernel.level.given, *kernel.level.made):
            span = tiling.spans[parameter.name][0] if tiling is not None else None
            if span is None or not source.length_names:
                lengths[parameter.name] = str(parameter.shape[0])
            else:
                assert span.halo == 0
                lengths[parameter.name] = f"{span.scale} * {source.length_names[0]}"
    opening = f"namespace {source.namespace} {{\n"
    text = _from_the_end(source.text, source.entry, lengths)
    return replace(source, text=text.replace(opening, f"{opening}\n{VIEW}", 1))


def _from_the_end(text: str, entry: str, lengths: Mapping[str, str]) -> str:
    """Return a text whose kernel has views of some arrays, of these lengths, under their names."""
    start, end = kernel_extent(text, entry)
    kernel, views = text[start:end], ""
    for name, length in lengths.items():
        memory = f"{name}_memory"
        while re.search(rf"\b{memory}\b", kernel):
            memory += "_"
        declared = re.search(rf"([\w ]+)\* __restrict__ {name}\b", kernel)
        assert declared is not None, "the kernel has no such array"
        kernel = kernel.replace(declared[0], f"{declared[1]}* __restrict__ {memory}", 1)
        views += f"  FromTheEnd<{declared[1].strip()}> {name}{{{memory} + ({length}) - 1}};\n"
    body = re.search(r"\) \{[^\n]*\n", kernel)
    assert body is not None and "reinterpret_cast" not in kernel
    return text[:start] + kernel[: body.end()] + views + kernel[body.end() :] + text[end:]
