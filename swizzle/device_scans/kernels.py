"""The kernels of a device-wide scan, as sketches without holes: each with its own specification on ordered words.

A *part* is a piece of the input, one block's `TILE` elements unless it is the last. In three passes four kernels are
enough, each of which takes any length:

- *totals*: the words of each part that is whole;
- *first*: the scan of each part by itself;
- *rest*: the scan of each whole part, behind the words of all that came before it, `before[block]`;
- *tail*: the same of one part that need not be whole, behind `before[0]`.

Each exists for elements, which are lifted and of which results are stored, and for words, to scan the totals in turn.

In one pass (`look_back.py`) the words before a part are found while others are scanned:

- *linked*: two whole parts, of which the second is scanned behind `before[0]`; it has the words of both, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from cuda_out.c.identifiers import c_names
from swizzle.frontend.kernel import build_program
from swizzle.frontend.resolve import Launch
from swizzle.language.cuda_namespace import cuda
from swizzle.language.element_types import ArrayType
from swizzle.language.surface import ELEMENT_TYPES
from swizzle.language.words import ScanOperator
from swizzle.source.kernel_source import KernelSource, Source, parse, split_lines
from symbolic.ir.program import DType, Program

THREADS: Final = 128
ITEMS: Final = 4
TILE: Final = THREADS * ITEMS
WARP: Final = 32

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
    text = _text(name, level, kind, list(arguments), list(before), list(made), list(totals))
    environment = {**ELEMENT_TYPES, "cuda": cuda, "range": range, _mark(level, "op"): level.operator}
    file = f"<{name}>"
    (definition,) = parse(text, file).body
    source = KernelSource(Source(file, split_lines(text)), definition, None, environment)  # type: ignore[arg-type]
    program = build_program(source, arguments, Launch((THREADS, 1, 1), (2, 1, 1), WARP))
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
        name, number = wish, 1
        while name in taken or name in found:
            name, number = f"{wish}_{number}", number + 1
        found.append(name)
    return found


def _mark(level: Level, name: str) -> str:
    """Return a name that no array has."""
    marks = "_"
    while any(each.endswith(marks) for each in (*level.given, *level.made, *level.operator.words)):
        marks += "_"
    return name + marks


def _text(
    name: str, level: Level, kind: Kind, arguments: Sequence[str], before: Sequence[str], made: Sequence[str],
    totals: Sequence[str],
) -> str:  # fmt: skip
    types = [dtype.value for dtype in level.operator.words.values()]
    count, warps = len(types), THREADS // WARP

    def own(wish: str) -> str:
        return _mark(level, wish)

    def words(letter: str) -> str:
        return ", ".join(own(f"{letter}{k}") for k in range(count))

    def combined(target: str, a: str, b: str, indent: int) -> str:
        return f"{'    ' * indent}{words(target)} = {op}.combine({words(a)}, {words(b)})"

    def each(line: str, indent: int) -> list[str]:
        """One line for each word, of whose names it has the places."""
        return ["    " * indent + line.format(k=k, type=dtype, **letters(k)) for k, dtype in enumerate(types)]

    def letters(k: int) -> dict[str, str]:
        return {letter: own(f"{letter}{k}") for letter in "abcds"}

    def element(at: str) -> str:
        values = ", ".join(f"{register}[{at}]" for register in registers)
        return f"{op}.lift({values})" if level.lifts else values

    op, t, i, k, lane, warp = map(own, ("op", "t", "i", "k", "lane", "warp"))
    registers = [own(f"r{place}") for place in range(len(level.given))]
    lines = [f"def {name}({', '.join(arguments)}):", f"    {t} = cuda.threadIdx.x"]
    lines += [f"    {lane}, {warp} = {t} % {WARP}, {t} // {WARP}"]
    lines += [f"    {i} = {TILE} * cuda.blockIdx.x + {ITEMS} * {t}"]
    for register, (array, dtype) in zip(registers, level.given.items(), strict=True):
        lines += [f"    {register} = cuda.local.array({ITEMS}, {dtype.value})"]
        lines += [f"    for {k} in range({ITEMS}):", f"        {register}[{k}] = {array}[{i} + {k}]"]
    lines += each("{s} = cuda.shared.array(" + str(warps) + ", {type})", 1)
    lines += ["    # the words of a thread's elements", f"    {words('a')} = {element('0')}"]
    lines += [f"    for {k} in range(1, {ITEMS}):", f"        {words('b')} = {element(k)}", combined("a", "a", "b", 2)]
    if kind == "totals":
        lines += ["    # of a warp's: lane 0 has those of all", f"    for {k} in (1, 2, 4, 8, 16):"]
        lines += each(f"{{b}} = cuda.shfl_down_sync(cuda.FULL_MASK, {{a}}, {k})", 2)
        lines += [combined("a", "a", "b", 2), f"    if {lane} == 0:", *each(f"{{s}}[{warp}] = {{a}}", 2)]
        lines += ["    cuda.syncthreads()", "    # of the block's", f"    if {t} == 0:"]
        lines += [f"        for {k} in range(1, {warps}):", *each(f"{{b}} = {{s}}[{k}]", 3), combined("a", "a", "b", 3)]
        lines += [f"        {array}[cuda.blockIdx.x] = {letters(place)['a']}" for place, array in enumerate(made)]
        return "\n".join(lines) + "\n"
    lines += ["    # of all up to it in the warp", f"    for {k} in (1, 2, 4, 8, 16):"]
    lines += each(f"{{b}} = cuda.shfl_up_sync(cuda.FULL_MASK, {{a}}, {k})", 2)
    lines += [combined("b", "b", "a", 2), *each(f"{{a}} = {{b}} if {lane} >= {k} else {{a}}", 2)]
    lines += [f"    if {lane} == {WARP - 1}:", *each(f"{{s}}[{warp}] = {{a}}", 2), "    cuda.syncthreads()"]
    alone = kind in ("first", "linked")  # whether what came before is at first that of the part alone
    if totals:
        lines += ["    # of the block's", f"    if {t} == 0:", *each("{c} = {s}[0]", 2)]
        lines += [f"        for {k} in range(1, {warps}):", *each(f"{{b}} = {{s}}[{k}]", 3), combined("c", "c", "b", 3)]
        lines += [f"        {array}[cuda.blockIdx.x] = {letters(place)['c']}" for place, array in enumerate(totals)]
        lines += ["    cuda.syncthreads()"]
    lines += ["    # of all before its warp"]
    if not alone:
        at = "cuda.blockIdx.x" if kind == "rest" else "0"
        lines += [f"    {letters(place)['c']} = {array}[{at}]" for place, array in enumerate(before)]
    else:
        lines += each("{c} = {s}[0]", 1)
    lines += [f"    for {k} in range({1 if alone else 0}, {warps - 1}):", *each(f"{{b}} = {{s}}[{k}]", 2)]
    lines += [combined("b", "c", "b", 2), *each(f"{{c}} = {{b}} if {k} < {warp} else {{c}}", 2)]
    lines += ["    # of all before it", *each("{b} = cuda.shfl_up_sync(cuda.FULL_MASK, {a}, 1)", 1)]
    lines += [combined("d", "c", "b", 1)]
    if not alone:
        lines += each(f"{{c}} = {{d}} if {lane} > 0 else {{c}}", 1)
    else:
        lines += each(f"{{c}} = {{b}} if {warp} == 0 else {{d}} if {lane} > 0 else {{c}}", 1)
    if totals:
        lines += ["    # of the parts before, too", "    if cuda.blockIdx.x > 0:"]
        lines += [f"        {letters(place)['b']} = {array}[0]" for place, array in enumerate(before)]
        lines += [combined("d", "b", "c", 2), *each(f"{{c}} = {{d}} if {t} > 0 else {{b}}", 2)]
    lines += [f"    for {k} in range({ITEMS}):", f"        {words('b')} = {element(k)}", combined("d", "c", "b", 2)]
    behind = f"{t} > 0 or {k} > 0" + (" or cuda.blockIdx.x > 0" if totals else "")
    lines += each(f"{{c}} = {{d}} if {behind} else {{b}}" if alone else "{c} = {d}", 2)
    result = f"{op}.result({words('c')})" if level.lifts else words("c")
    targets = ", ".join(f"{array}[{i} + {k}]" for array in made)
    lines += [f"        {targets} = {result}"]
    return "\n".join(lines) + "\n"
