"""The text of one kernel while it is written: statements, names, coordinates, who is alive where, and barriers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct, field

from swizzle.derive.patterns.numbers_text import NumberTexts
from swizzle.derive.patterns.views import ArrayCell, IndexRanges, number
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Expr
from symbolic.ir.python_text import python_text, shape_text
from symbolic.ir.walk import FreshNames

WARP: Final = 32
MOST_THREADS: Final = 1024
LOOPS: Final = "ijkpqruvw"
ThreadLevel = str
"""`block.x`, `local.y`, `warp`, `lane`: a coordinate along which a parallel map is spread."""
COORDINATES: Final[Mapping[ThreadLevel, str]] = {
    **{f"block.{axis}": f"cuda.blockIdx.{axis}" for axis in "xyz"},
    **{f"local.{axis}": f"cuda.threadIdx.{axis}" for axis in "xyz"},
    "warp": "cuda.warpid", "lane": "cuda.laneid",
}  # fmt: skip


class KernelShape(Struct, frozen=True):
    """How many blocks, threads and warps a kernel has along its levels; `flat` tells that one axis of each is used."""

    blocks: Mapping[str, int]
    threads: Mapping[str, int]
    warps: int = 0

    @property
    def flat(self) -> bool:
        return {*self.blocks, *self.threads} <= {"x"}

    @property
    def levels(self) -> frozenset[ThreadLevel]:
        """The levels of threads: where something stands in none of them, all threads do it."""
        own = {f"local.{axis}" for axis, count in self.threads.items() if count > 1}
        return frozenset(own | ({"lane"} | ({"warp"} if self.warps > 1 else set()) if self.warps else set()))

    def extent(self, level: ThreadLevel) -> int:
        kind, _, axis = level.partition(".")
        if kind in ("warp", "lane"):
            return self.warps if kind == "warp" else WARP
        return (self.blocks if kind == "block" else self.threads)[axis]

    @property
    def block(self) -> str:
        if self.warps:
            return str(self.warps * WARP)
        return _sizes(self.threads)

    @property
    def grid(self) -> str:
        return _sizes(self.blocks)


def _sizes(along: Mapping[str, int]) -> str:
    sizes = [along.get(axis, 1) for axis in "xyz"]
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return shape_text(sizes)


class KernelLines(Struct):
    """The lines of a kernel so far, and the device functions that it calls."""

    functions: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


class KernelWriter:
    """Emits statements of one kernel."""

    def __init__(self, shape: KernelShape, taken: Sequence[str], place: Place | None, known: FreshNames) -> None:
        self.shape, self.place, self.known = shape, place, known
        self.written, self.indices = KernelLines(), IndexRanges()
        self.fresh = FreshNames({*taken, "cuda"})
        self.numbers = NumberTexts(self.assign)
        self.depth, self.barriers, self.divergent = 1, 0, 0
        self.bound: list[ThreadLevel] = []
        self.loops: list[str] = []
        self.filled = set[str]()
        self._coordinates: dict[str, str] = {}

    # -- statements --------------------------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        if self.filled and not self.filled.isdisjoint(re.findall(r"\w+", line)):
            self.barrier()
        self.written.lines.append("    " * self.depth + line)

    def assign(self, text: str, wish: str = "v") -> str:
        """Emit a new variable with this value, and return its name."""
        name = self.fresh.take(wish)
        self.emit(f"{name} = {text}")
        return name

    def declare(self, wish: str, memory: str, shape: Sequence[int], dtype: str) -> str:
        name = self.fresh.take(wish)
        self.written.declared.append(f"    {name} = cuda.{memory}.array({shape_text(shape)}, {dtype})")
        return name

    def layout(self, array: str, width: int) -> str:
        """Return the name of a new device function, whose hole says where in its row of `width` an element is kept."""
        name = self.fresh.take(self.known.take(f"{array}_place"))
        self.written.functions += [
            "@cuda.jit(device=True)", f"def {name}(row, column):",
            f'    return sw_index(column, {width}, row, families="xor, rotate")', "", "",
        ]  # fmt: skip
        return name

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        if self.filled:
            self.barrier()
        self.emit(head)
        self.depth += 1
        before = len(self.written.lines)
        yield
        if len(self.written.lines) == before:
            self.emit("pass")
        if self.filled:
            self.barrier()
        self.depth -= 1

    def loop(self, count: int, body: Callable[[Expr], None]) -> None:
        """Emit a loop; barriers in it are followed by one at its end, so that no round overtakes another."""
        if count == 1:
            body(number(0))
            return
        name = next(each for each in LOOPS if each not in self.loops and each not in self.taken)
        self.loops.append(name)
        before = self.barriers
        with self.inside(f"for {name} in range({count}):"):
            body(self.indices.name(name, count))
            if self.barriers > before:
                self.barrier()
        self.loops.pop()

    @property
    def taken(self) -> set[str]:
        return self.fresh._taken

    def fill(self, array: str) -> None:
        """Note that a shared array is filled: a barrier, which all threads must reach, stands before it is read.

        It stands where the array was filled, or behind another one that is filled next.
        """
        if self.divergent:
            self.refuse(
                "a barrier in a place that some threads do not reach",
                "what is kept in shared memory outside of maps over fewer elements than there are threads",
                "choose as many threads as elements, or keep it in shared memory before",
            )
        self.filled.add(array)
        self.barriers += 1

    def barrier(self) -> None:
        """Emit a barrier."""
        self.filled.clear()
        self.written.lines.append("    " * self.depth + "cuda.syncthreads()")

    def guarded(self, index: Expr, count: int, body: Callable[[Expr], None]) -> None:
        """Emit a body for the threads whose index is below a count."""
        if self.indices.range(index).hi < count:
            body(index)
            return
        self.divergent += 1
        text = python_text(index)
        with self.inside(f"if {text} == 0:" if count == 1 else f"if {text} < {count}:"):
            facts = dict(self.indices.facts)
            if text in facts:
                self.indices.facts[text] = facts[text].meet(0, count - 1)
            body(number(0) if count == 1 else index)
            self.indices.facts = facts
        self.divergent -= 1

    # -- levels ------------------------------------------------------------------------------------------------------

    def coordinate(self, level: ThreadLevel) -> Expr:
        """Return the index of a block, thread, warp or lane; its variable is set at the kernel's beginning."""
        count = self.shape.extent(level)
        if count == 1:
            return number(0)
        if level not in self._coordinates:
            kind, _, axis = level.partition(".")
            flat = self.shape.flat or not axis
            wish = {"local": "t"}.get(kind, kind) if flat else f"{kind.removeprefix('local')[:1] or 't'}{axis}"
            self._coordinates[level] = self.fresh.take(wish)
        return self.indices.name(self._coordinates[level], count)

    @contextmanager
    def binding(self, *levels: ThreadLevel) -> Iterator[None]:
        for level in levels:
            if level in self.bound:
                self.refuse(f"a map over {level} inside another one", "each level once", "choose another kind of map")
        self.bound += levels
        yield
        del self.bound[len(self.bound) - len(levels) :]

    @property
    def unbound(self) -> list[ThreadLevel]:
        """The levels of threads that no map around spreads over."""
        return sorted(self.shape.levels - {*self.bound})

    def store(self, cell: ArrayCell, text: str, how: str = "=") -> None:
        """Emit a store; of what is not each thread's own, by one of the threads that are alive here."""
        others = [] if cell.private else self.unbound
        conditions = [f"{python_text(self.coordinate(level))} == 0" for level in others]
        line = f"{cell.text} {how} {text}"
        if not conditions:
            self.emit(line)
            return
        with self.inside(f"if {' and '.join(conditions)}:"):
            self.emit(line)

    def refuse(self, found: str, expected: str, fix: str) -> None:
        raise SwizzleError(found, place=self.place, expected=expected, fix=fix)

    def text(self, name: str, parameters: Sequence[tuple[str, str]], spec: str) -> str:
        """Return the kernel with its decorator; `parameters` are names and types."""
        options = [f"spec={spec}"] * bool(spec) + [f"block={self.shape.block}"]
        options += [f"grid={self.shape.grid}"] * (self.shape.grid != "1")
        options += [f"{own}={kind}" for own, kind in parameters]
        known = self._coordinates.items()
        heads = [f"    {own} = {COORDINATES[level]}" for level, own in sorted(known, key=lambda each: each[0])]
        body = [*heads, *self.written.declared, *self.written.heads, *self.written.lines]
        signature = ", ".join(own for own, _ in parameters)
        return "\n".join(
            [*self.written.functions, *wrapped("@sketch(", options), f"def {name}({signature}):", *body, ""]
        )


def wrapped(head: str, options: Sequence[str], width: int = 116) -> list[str]:
    line = f"{head}{', '.join(options)})"
    if len(line) <= width:
        return [line]
    lines, row = [head], "   "
    for option in options:
        if len(row) + len(option) > width:
            lines.append(row)
            row = "   "
        row += f" {option},"
    return [*lines, row, ")"]
