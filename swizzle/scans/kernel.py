"""A scan as a kernel of one block: a sketch without holes, as a text, that the machine checks like any other.

A step whose elements can be counted is done by threads without gaps (`dense.py`), so that half as many threads as
elements are enough; any other step by a thread for each element. Where an element may be taken in the step in which it
changes, all read before any writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from swizzle.language.element_types import ElementType
from swizzle.language.operators import HandedIn, Operator, handing_in
from swizzle.language.parameters import Parameters
from swizzle.layouts import Access, FoundLayout, Layout, best, row_major
from swizzle.layouts.access import Asked
from swizzle.scans.algorithm import Algorithm, ScanLoop, ScanStep, evaluate, sizes
from swizzle.scans.dense import DenseStep, dense, elements
from swizzle.scans.mistakes import mistake
from swizzle.scans.text import shown
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from symbolic.expressions.expression import constant, substituted

INFIX: Final = ("+", "*", "&", "|", "^")
CALLED: Final = ("min", "max")
LARGEST: Final = 1024
"""Threads of a block."""
LANES: Final = 32
NONE: Final = -1


class ScanKernel(Struct, frozen=True):
    """A scan of one block: `text` is the sketch in the syntax of `.swz` files, `sketch` the same as a `Sketch`.

    `placement` is the layout of the shared array: where element j is kept, with its proof.
    """

    name: str
    text: str
    threads: int
    placement: FoundLayout | None
    operator: Operator | None = None

    @property
    def sketch(self) -> Sketch:
        """The kernel as a sketch without holes: check, solve, show and print it like any other."""
        operators = {} if self.operator is None else {self.operator.name: self.operator}
        with handing_in(HandedIn(operators, {})):
            (found,) = read_swz(self.text, f"{self.name}.swz", Parameters(operators=operators))
        return found

    def save(self, path: str | Path) -> None:
        """Write the text to a `.swz` file."""
        Path(path).write_text(self.text, encoding="utf-8")

    def __repr__(self) -> str:
        return self.text


class BlockScan(Struct, frozen=True):
    """A scan at a size, with the threads that do it."""

    algorithm: Algorithm
    size: int
    threads: int
    together: bool
    """Whether elements may be read in a step in which they change, so that all are read first."""
    steps: tuple[tuple[DenseStep | None, ...], ...]

    def accesses(self) -> list[Access]:
        """Return what warps ask of the shared array: one access for what is taken and one for each element's own.

        An element's own is read and written, so it counts twice.
        """
        rows = [np.arange(at, at + self.threads) for at in range(0, self.size, self.threads)]
        found = [_access("load and store", rows * 2)]
        for loop, own in zip(self.algorithm.loops, self.steps, strict=True):
            for step, form in zip(loop.steps, own, strict=True):
                taken, changed = [], []
                for d in loop.distances(self.size):
                    for element, source in self._cells(step, form, d):
                        taken.append(source)
                        own_cells = np.arange(self.size) if self.together else element
                        changed += [own_cells, own_cells]
                found += [
                    _access(f"taken where {shown(step.when)}", taken),
                    _access(f"changed where {shown(step.when)}", changed),
                ]
        return found

    def _cells(self, step: ScanStep, form: DenseStep | None, d: int) -> list[tuple[Any, Any]]:
        """Return the elements of a step and what they take by thread, NONE where a thread is off."""
        if form is not None:
            row = np.full(self.threads, NONE)
            own = elements(step, self.size, d)
            row[form.first : form.first + len(own)] = own
            rows = [row]
        else:
            every = np.arange(self.size)
            on = np.broadcast_to(evaluate(step.when, {"i": every, "d": d, "N": self.size}), (self.size,))
            rows = list(np.where(on, every, NONE).reshape(-1, self.threads))
        return [
            (row, np.where(row == NONE, NONE, evaluate(step.source, {"i": row, "d": d, "N": self.size})))
            for row in rows
        ]


def block_scan(algorithm: Algorithm, size: int, threads: int | None) -> BlockScan:
    """Return a scan of one block by so many threads, or by as few as are kept busy."""
    base = algorithm.base
    if not isinstance(size, int) or size not in sizes(base, LARGEST * base):
        mistake(f"the size is {size!r}", f"a power of {base}, up to {sizes(base, LARGEST * base)[-1]}")
    network = algorithm.network(size)
    if isinstance(network, str):
        mistake(f"the scan is none: {network}", "a scan that was found")
    few, forms = size // base, dense(algorithm, size)
    some = [(form, loop) for loop, own in zip(algorithm.loops, forms, strict=True) for form in own if form is not None]
    fits = network.apart and len(some) > 0 and size > base
    fits = fits and all(_end(form, size, d) <= few for form, loop in some for d in loop.distances(size))
    if threads not in (None, size, *([few] if fits else [])):
        mistake(
            f"{threads!r} threads for a scan of {size} elements",
            f"{few} threads, or {size}" if fits else f"{size} threads, as there are elements",
        )
    chosen = threads or (few if fits else size)
    if chosen > LARGEST:
        mistake(f"the scan takes {chosen} threads", f"at most {LARGEST}", "a smaller size")
    if chosen == size:
        forms = tuple((None,) * len(own) for own in forms)
    return BlockScan(algorithm, size, chosen, not network.apart, forms)


def _end(form: DenseStep, size: int, d: int) -> int:
    return int(evaluate(form.end, {"d": d, "N": size}))


def _access(name: str, rows: list[Any]) -> Access:
    """Return an access of warps: each row has a cell for each thread of a block."""
    threads = len(rows[0])
    whole = -(-threads // LANES) * LANES
    lanes = np.full((len(rows), whole), NONE, np.int64)
    for row, cells in zip(lanes, rows, strict=True):
        row[:threads] = cells
    starts = lanes.reshape(-1, LANES, 1)
    starts = starts[(starts >= 0).any(axis=(1, 2))]
    return Access(name, lambda shape, bits: Asked(starts, 1, 0))


def kernel(
    name: str,
    algorithm: Algorithm,
    size: int,
    operator: str | Operator,
    dtype: ElementType,
    threads: int | None,
    place: Any,
) -> ScanKernel:
    """Return a scan of one block. `place` is a layout, True for the best one, or False for none."""
    if not isinstance(operator, Operator) and operator not in (*INFIX, *CALLED):
        known = ", ".join((*INFIX, *CALLED))
        mistake(f"the operator is {operator!r}", f"one of {known}, or an operator of your own", "@operator(...)")
    scan = block_scan(algorithm, size, threads)
    found = None
    layout = place if isinstance(place, Layout) else row_major((size,))
    if place is True:
        found = best((size,), scan.accesses(), bits=int(dtype.dtype.value[1:]), families=("xor", "rotate", "pad"))
        assert found.layout is not None, "row-major order is always one"
        layout = found.layout
    text = _Text(name, scan, operator, dtype, layout).text()
    return ScanKernel(name, text, scan.threads, found, operator if isinstance(operator, Operator) else None)


class _Text:
    def __init__(
        self, name: str, scan: BlockScan, operator: str | Operator, dtype: ElementType, layout: Layout
    ) -> None:
        self.name, self.scan, self.dtype, self.layout = name, scan, dtype, layout
        self.operator = operator.name if isinstance(operator, Operator) else operator
        self.plain = layout.formula == "x"

    def _combined(self, earlier: str, later: str) -> str:
        a, b = (later, earlier) if self.scan.algorithm.backward else (earlier, later)
        return f"{a} {self.operator} {b}" if self.operator in INFIX else f"{self.operator}({a}, {b})"

    def _at(self, index: str) -> str:
        return f"a[{index}]" if self.plain else f"a[place({index})]"

    def text(self) -> str:
        scan, dtype, size = self.scan, self.dtype.dtype.value, self.scan.size
        backward, threads = scan.algorithm.backward, scan.threads
        cells = self.layout.bytes * 8 // int(dtype[1:])
        lines = [f"# A scan of {size} elements by {threads} threads."]
        if not self.plain:
            formula = self.layout.formula.replace("x", "j")
            lines += ["@cuda.jit(device=True)", "def place(j):  # where element j is kept", f"    return {formula}", ""]
        order = f"range({size - 2}, -1, -1)" if backward else f"range(1, {size})"
        first = size - 1 if backward else 0
        lines += [
            "@spec",
            "def prefixes(x):",
            f"    out = zeros({size})",
            f"    s = x[{first}]",
            f"    out[{first}] = s",
            f"    for i in {order}:",
            f"        s = {self._combined('s', 'x[i]')}",
            "        out[i] = s",
            "    return out",
            "",
            f"@sketch(spec=prefixes, block={threads}, x={dtype}[{size}], y={dtype}.out[{size}])",
            f"def {self.name}(x, y):",
            f"    {'i' if threads == size else 't'} = cuda.threadIdx.x",
            f"    a = cuda.shared.array({cells}, {dtype})",
        ]
        own = ["i"] if threads == size else ["t", *(f"t + {at}" for at in range(threads, size, threads))]
        lines += [f"    {self._at(each)} = x[{each}]" for each in own]
        lines.append("    cuda.syncthreads()")
        for loop, forms in zip(scan.algorithm.loops, scan.steps, strict=True):
            lines += self._loop(loop, forms)
        lines += [f"    y[{each}] = {self._at(each)}" for each in own]
        return "\n".join([*lines, ""])

    def _loop(self, loop: ScanLoop, forms: tuple[DenseStep | None, ...]) -> list[str]:
        distances = loop.distances(self.scan.size)
        if not distances:
            return []
        lines = [f"    for d in ({', '.join(map(str, distances))}{',' if len(distances) == 1 else ''}):"]
        for step, form in zip(loop.steps, forms, strict=True):
            lines += ["        " + line for line in self._step(step, form)]
        return lines

    def _step(self, step: ScanStep, form: DenseStep | None) -> list[str]:
        scan, size = self.scan, self.scan.size
        values = {"N": constant(size)}
        when, source = (shown(substituted(each, values)) for each in (step.when, step.source))
        change = f"{self._at('i')} = {self._combined(self._at(source), self._at('i'))}"
        sync = "cuda.syncthreads()"
        if form is not None:
            element, end = (shown(substituted(each, values)) for each in (form.element, form.end))
            on = f"t >= {form.first} and t < {end}" if form.first else f"t < {end}"
            return [f"if {on}:", f"    i = {element}", f"    {change}", sync]
        if scan.threads != size:
            inner = [f"i = t + {scan.threads} * r", f"if {when}:", f"    {change}"]
            return [f"for r in range({size // scan.threads}):", *(f"    {each}" for each in inner), sync]
        if scan.together:
            both = self._combined(self._at(source), self._at("i"))
            return [f"v = {both} if {when} else {self._at('i')}", sync, f"{self._at('i')} = v", sync]
        return [f"if {when}:", f"    {change}", sync]
