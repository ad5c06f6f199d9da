"""A scan as a kernel of one block: a sketch without holes, as a text, that the machine checks like any other.

Where an element may be taken in the step in which it changes, all read before any writes. An operator on several words
has a shared array for each word, all placed alike.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from typing_extensions import assert_never

from swizzle.language.element_types import ElementType
from swizzle.language.operators import HandedIn, Operator, ScanOperator, handing_in
from swizzle.language.parameters import Parameters
from swizzle.layouts import FoundLayout, Layout, best, row_major
from swizzle.scans.algorithm import Algorithm, ScanLoop, ScanStep, branch, shown
from swizzle.scans.block import BlockScan, DenseStep, block_scan
from swizzle.scans.network import mistake
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from symbolic.algebra.operator_laws import LAWS
from symbolic.expressions.expression import constant, substituted

INFIX: Final = ("+", "*", "&", "|", "^")
CALLED: Final = ("min", "max")
SYNC: Final = "cuda.syncthreads()"


class ScanKernel(Struct, frozen=True):
    """A scan of one block: `text` is the sketch, `sketch` the same as a `Sketch`.

    The text has the syntax of `.swz` files. With an operator on words, which no `.swz` file can name, it is Python, in
    which `op` is the operator. `placement` is the layout of the shared array: where element j is kept, and the proof.
    """

    name: str
    text: str
    threads: int
    placement: FoundLayout | None
    operator: Operator | ScanOperator | None = None

    @property
    def sketch(self) -> Sketch:
        """The kernel as a sketch without holes: check, solve, show and print it like any other."""
        if isinstance(self.operator, ScanOperator):
            return _run(self.text, self.name, self.operator)
        operators = {} if self.operator is None else {self.operator.name: self.operator}
        with handing_in(HandedIn(operators, {})):
            (found,) = read_swz(self.text, f"{self.name}.swz", Parameters(operators=operators))
        return found

    def save(self, path: str | Path) -> None:
        """Write the text to a file; to one of Python, write `op = scan_operator(...)` above it."""
        Path(path).write_text(self.text, encoding="utf-8")

    def __repr__(self) -> str:
        return self.text


def _run(text: str, name: str, operator: ScanOperator) -> Sketch:
    """Return the sketch of a text in Python."""
    file = f"<{name} of {operator.name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"op": operator}
    exec(compile(text, file, "exec"), names)  # our own text, no user's
    found: Sketch = names[name]
    return found


def kernel(
    name: str,
    algorithm: Algorithm,
    size: int,
    operator: str | Operator | ScanOperator,
    dtype: ElementType,
    threads: int | None,
    place: Any,
    known: str,
) -> ScanKernel:
    """Return a scan of one block. `place` is a layout, True for the best one, or False for none.

    `known` is what is known of the algorithm at other sizes.
    """
    own = isinstance(operator, Operator | ScanOperator)
    if not own and operator not in (*INFIX, *CALLED):
        known = ", ".join((*INFIX, *CALLED))
        what = f"one of {known}, an operator of your own, or scan_operator(...) of a loop"
        mistake(f"the operator is {operator!r}", what, fix="name one of these, or pass the operator itself")
    if not isinstance(dtype, ElementType):
        mistake(f"the type of the elements is {dtype!r}", "f32, i32, u32 or another type of data", fix="dtype=i32")
    scan = block_scan(algorithm, size, threads)
    found = None
    layout = place if isinstance(place, Layout) else row_major((size,))
    types = list(operator.words.values()) if isinstance(operator, ScanOperator) else [dtype.dtype]
    if place is True:
        bits = max(each.bits for each in types)
        found = best((size,), scan.accesses(), bits=bits, families=("xor", "rotate", "pad"))
        assert found.layout is not None, "row-major order is always one"
        layout = found.layout
    nothing = _identity(operator, dtype) if algorithm.exclusive else ()
    data: _OneWord = (
        _Words(scan, operator, nothing)
        if isinstance(operator, ScanOperator)
        else _OneWord(scan, operator.name if isinstance(operator, Operator) else operator, dtype.dtype.value, nothing)
    )
    text = _Text(name, scan, data, layout, known).text()
    return ScanKernel(name, text, scan.threads, found, operator if own else None)  # type: ignore[arg-type]


def _identity(operator: str | Operator | ScanOperator, dtype: ElementType) -> tuple[str, ...]:
    """Return the words that change nothing, as they are written; SwizzleError of an operator that has none."""
    found: tuple[int | float, ...] | None = None
    if isinstance(operator, ScanOperator):
        found = None if operator.operator is None else operator.operator.law.empty
    else:
        law = operator.law if isinstance(operator, Operator) else LAWS[operator]
        if law.identity is not None and (law.identity >= 0 or not dtype.dtype.value.startswith("u")):
            found = (law.identity,)
        elif law.bound and dtype.dtype.is_float:
            found = (law.start(dtype.dtype),)
    if found is None:
        name = f"{operator} of {dtype.dtype.value}" if isinstance(operator, str) else operator.name
        mistake(
            f"an exclusive scan by {name}, whose identity is not known",
            "an operator with one: the first element ends with it",
            fix="an operator of your own, @operator(identity=...), or an inclusive scan",
        )
    return tuple("-" * (each < 0) + "math.inf" if math.isinf(each) else repr(each) for each in found)


# ---- what is scanned -------------------------------------------------------------------------------------------------


class _OneWord:
    """Elements of one type that are words themselves, put together by an operator of the language."""

    def __init__(self, scan: BlockScan, operator: str, dtype: str, nothing: Sequence[str]) -> None:
        self.scan, self.operator, self.dtype, self.nothing = scan, operator, dtype, nothing
        self.words = {"a": dtype}
        self.given = {"x": dtype}
        self.made = {"y": dtype}

    def head(self) -> list[str]:
        return []

    def combined(self, first: Sequence[str], second: Sequence[str]) -> str:
        (a,), (b,) = first, second
        return f"{a} {self.operator} {b}" if self.operator in INFIX else f"{self.operator}({a}, {b})"

    def lifted(self, index: str) -> str:
        return f"x[{index}]"

    def result(self, words: Sequence[str]) -> str:
        return words[0]

    def specification(self) -> list[str]:
        size, backward = self.scan.size, self.scan.algorithm.backward
        one_more = self.combined(["x[i]"], ["s"]) if backward else self.combined(["s"], ["x[i]"])
        if self.scan.algorithm.exclusive:
            return [
                f"out = zeros({size})",
                f"s = {self.nothing[0]}",
                f"for i in range({f'{size - 1}, -1, -1' if backward else size}):",
                "    out[i] = s",
                f"    s = {one_more}",
                "return out",
            ]
        return [
            f"out = zeros({size})",
            f"s = x[{size - 1 if backward else 0}]",
            f"out[{size - 1 if backward else 0}] = s",
            f"for i in {f'range({size - 2}, -1, -1)' if backward else f'range(1, {size})'}:",
            f"    s = {one_more}",
            "    out[i] = s",
            "return out",
        ]


class _Words(_OneWord):
    """Elements that an operator lifts to words, and the results of these."""

    def __init__(self, scan: BlockScan, operator: ScanOperator, nothing: Sequence[str]) -> None:
        self.scan, self.op, self.nothing = scan, operator, nothing
        self.words = {f"a_{word}": dtype.value for word, dtype in operator.words.items()}
        self.given = {f"x_{name}": dtype.value for name, dtype in operator.elements.items()}
        types = [dtype.value for dtype in operator.result.types]
        self.made = {f"y_{at}" if len(types) > 1 else "y": each for at, each in enumerate(types)}

    def head(self) -> list[str]:
        types = sorted({*self.words.values(), *self.given.values(), *self.made.values()})
        imports = ", ".join(["cuda", *types, "sketch", "spec"])
        infinite = ["import math"] * any("inf" in word for word in self.nothing)
        return [*infinite, f"from swizzle import {imports}  # op = scan_operator({self.op.name})", ""]

    def combined(self, first: Sequence[str], second: Sequence[str]) -> str:
        return f"op.combine({', '.join((*first, *second))})"

    def lifted(self, index: str) -> str:
        return f"op.lift({', '.join(f'{each}[{index}]' for each in self.given)})"

    def result(self, words: Sequence[str]) -> str:
        return f"op.result({', '.join(words)})"

    def specification(self) -> list[str]:
        arrays = ", ".join(self.given)
        lines = [f"words = op.scan({arrays})"]
        if self.scan.algorithm.backward:
            lines = [
                f"words = [op.several(op.lift(*row)) for row in zip({arrays})]",
                f"for i in range({self.scan.size - 2}, -1, -1):",
                "    words[i] = op.several(op.combine(*words[i], *words[i + 1]))",
            ]
        if self.scan.algorithm.exclusive:
            nothing = f"({', '.join(self.nothing)},)"
            words = f"*words[1:], {nothing}" if self.scan.algorithm.backward else f"{nothing}, *words[:-1]"
            lines.append(f"words = [{words}]")
        if len(self.made) == 1:
            return [*lines, "return [op.result(*each) for each in words]"]
        rows = ", ".join(f'"{name}": [row[{at}] for row in rows]' for at, name in enumerate(self.made))
        return [*lines, "rows = [op.result(*each) for each in words]", f"return {{{rows}}}"]


# ---- the text --------------------------------------------------------------------------------------------------------


class _Text:
    def __init__(self, name: str, scan: BlockScan, data: _OneWord, layout: Layout, known: str) -> None:
        self.name, self.scan, self.data, self.layout, self.known = name, scan, data, layout, known
        self.plain = layout.formula == "x"

    def _at(self, index: str) -> list[str]:
        """Return the words of an element."""
        return [f"{array}[{index}]" if self.plain else f"{array}[place({index})]" for array in self.data.words]

    def _set(self, index: str, value: str) -> list[str]:
        """Return what sets the words of an element."""
        (first, *others) = self._at(index)
        if not others:
            return [f"{first} = {value}"]
        held = [f"w{number}" for number in range(len(others) + 1)]
        return [f"{', '.join(held)} = {value}", *(f"{a} = {b}" for a, b in zip((first, *others), held, strict=True))]

    def text(self) -> str:
        scan, data, size = self.scan, self.data, self.scan.size
        threads, own = scan.threads, "i" if scan.threads == scan.size else "t"
        cells = self.layout.bytes * 8 // self.layout.bits
        what = "An exclusive scan" if scan.algorithm.exclusive else "A scan"
        lines = [f"# {what} of {size} elements by {threads} threads.", f"# Its loops are {self.known}.", *data.head()]
        if not self.plain:
            formula = self.layout.formula.replace("x", "j")
            lines += ["@cuda.jit(device=True)", "def place(j):  # where element j is kept", f"    return {formula}", ""]
        arrays = [f"{name}={dtype}[{size}]" for name, dtype in data.given.items()]
        arrays += [f"{name}={dtype}.out[{size}]" for name, dtype in data.made.items()]
        lines += ["@spec", f"def prefixes({', '.join(data.given)}):"]
        lines += [f"    {line}" for line in data.specification()]
        lines += [
            "",
            f"@sketch(spec=prefixes, block={threads}, {', '.join(arrays)})",
            f"def {self.name}({', '.join((*data.given, *data.made))}):",
            f"    {own} = cuda.threadIdx.x",
        ]
        body = [f"{array} = cuda.shared.array({cells}, {dtype})" for array, dtype in data.words.items()]
        every = [own, *(f"t + {at}" for at in range(threads, size, threads))]
        for each in every:
            body += self._set(each, data.lifted(each))
        body.append(SYNC)
        for loop, forms in zip(scan.algorithm.loops, scan.steps, strict=True):
            body += self._loop(loop, forms)
        for each in every:
            results = [f"{name}[{each}]" for name in data.made]
            value = data.result(self._at(each))
            if len(results) == 1:
                body.append(f"{results[0]} = {value}")
            else:
                held = [f"r{number}" for number in range(len(results))]
                body += [f"{', '.join(held)} = {value}", *(f"{a} = {b}" for a, b in zip(results, held, strict=True))]
        return "\n".join([*lines, *(f"    {line}" for line in body), ""])

    def _loop(self, loop: ScanLoop, forms: tuple[DenseStep | None, ...]) -> list[str]:
        distances = loop.distances(self.scan.size)
        if not distances:
            return []
        lines = [f"for d in ({', '.join(map(str, distances))}{',' if len(distances) == 1 else ''}):"]
        for step, form in zip(loop.steps, forms, strict=True):
            lines += ["    " + line for line in self._step(step, form)]
        return lines

    def _step(self, step: ScanStep, form: DenseStep | None) -> list[str]:
        scan, size = self.scan, self.scan.size
        values = {"N": constant(size)}
        if form is not None:
            element, end = (shown(substituted(each, values)) for each in (form.element, form.end))
            on = f"t >= {form.first} and t < {end}" if form.first else f"t < {end}"
            change = [f"    {line}" for line in self._set("i", self._value(step))]
            return [f"if {on}:", f"    i = {element}", *change, SYNC]
        whens = [shown(substituted(move.when, values)) for move in step.moves]
        if scan.together:
            own = self._at("i")
            held = [f"v{number}" if len(own) > 1 else "v" for number in range(len(own))]
            before = [f"{a} = {b}" for a, b in zip(held, own, strict=True)]
            after = [f"{a} = {b}" for a, b in zip(own, held, strict=True)]
            for number, (when, move) in enumerate(zip(whens, step.moves, strict=True)):
                before += [f"{branch(number, when)}:", f"    {', '.join(held)} = {self._value(move)}"]
            return [*before, SYNC, *after, SYNC]
        change = [f"if {whens[0]}:", *(f"    {line}" for line in self._set("i", self._value(step)))]
        if scan.threads != size:
            inner = [f"i = t + {scan.threads} * r", *change]
            return [f"for r in range({size // scan.threads}):", *(f"    {each}" for each in inner), SYNC]
        return [*change, SYNC]

    def _value(self, move: ScanStep) -> str:
        """Return what an element's words become."""
        taken, own = self._at(shown(substituted(move.source, {"N": constant(self.scan.size)}))), self._at("i")
        match move.how:
            case "before":
                return self.data.combined(taken, own)
            case "behind":
                return self.data.combined(own, taken)
            case "instead":
                return ", ".join(taken)
            case "nothing":
                return ", ".join(self.data.nothing)
            case _:
                assert_never(move.how)
