"""The module for numba.cuda beside a saved solution: read, not run, and compared with the specification.

Its kernel becomes a program (`cuda_out.numba.reading`), which the machine runs on terms at the lengths at which the
CUDA text is tried; where blocks can be seen to do the same, moved, at all lengths at which they differ. Its launch
function is interpreted on arrays without elements, whose lengths may be as large as they like.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from cuda_out.c.printer import MAX_BLOCKS, MAX_LENGTH
from cuda_out.numba.alike import Alike, alike
from cuda_out.numba.comparing import NotPrinted, parsed, python_text
from cuda_out.numba.identifiers import NUMBA_TYPE
from cuda_out.numba.kernel_reader import KernelReader
from cuda_out.numba.launching import (
    GivenArray,
    GivenNumber,
    GivenStream,
    Launcher,
    NumbaCall,
    NumbaLaunch,
    RaisedError,
)
from cuda_out.numba.mutate import module_mutants
from cuda_out.numba.reading import NumbaModule, read_module
from cuda_out.tiling.tiling import Tiling
from swizzle.commands.difference import in_doubles, numeric_difference
from swizzle.commands.exit_status import DONE, NO, UNDECIDED, worst
from swizzle.commands.on_disk import text_beside
from swizzle.commands.sizes import LaunchSize, at_the_lengths, size_at
from swizzle.commands.target import FilledKernel
from swizzle.emit.emitters import FILE_KINDS, numba_source
from swizzle.solution.words import count
from swizzle.specs.specification import inputs, symbolic_inputs
from swizzle.specs.verify import compare
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.numbers import Lanes
from symbolic.algebra.operator_laws import LAWS
from symbolic.errors import SwizzleError
from symbolic.ir.layout import cell_name
from symbolic.ir.program import Axis, DType, Program
from symbolic.machine.machine import Machine

Given: TypeAlias = "tuple[GivenArray | GivenNumber, ...]"
NOT_PRINTED: Final = "not shown equal: not what is printed"
WORDS: Final = {DONE: "equal", NO: "different", UNDECIDED: "unknown"}
SHOWN: Final = 3
MOST_LENGTHS: Final = 256
MOST_THREADS: Final = 1 << 17
"""All lengths at which blocks differ are tried where they are no more, and have no more threads together."""


class NumbaVerdict(Struct, frozen=True):
    """What was found out about the kernel, or the launch function: an exit status, and lines; the first one sums up."""

    status: int
    lines: tuple[str, ...]
    lengths: tuple[tuple[int, ...], ...] = ()
    everywhere: bool = False
    calls: int = 0

    def as_json(self) -> dict[str, Any]:
        said = {"status": WORDS[self.status], "findings": list(self.lines[1:] if self.status else ())}
        if self.calls:
            return {**said, "calls": self.calls}
        return {**said, "lengths": list(map(list, self.lengths)), "every_length": self.everywhere}


class NumbaText(Struct):
    """What was found out about a module: the worst exit status, lines for people, and JSON."""

    status: int
    lines: list[str]
    json: dict[str, Any]


def try_numba_text(filled: FilledKernel, saved: Path, sizes: Sequence[LaunchSize], *, mutate: bool) -> NumbaText | None:
    """Return what is found out about the module beside a saved solution, None where there is none."""
    path = saved.with_name(saved.stem + FILE_KINDS["numba"].suffix)
    if not path.exists():
        return None
    text = text_beside(path)
    try:
        checks = NumbaChecks(filled, sizes, str(path))
    except SwizzleError as error:
        said = f"{path}: not looked at: {error.found}"
        return NumbaText(UNDECIDED, [said], {"file": str(path), "status": WORDS[UNDECIDED]})
    try:
        text = python_text(text)
        different = first_difference(text, checks.printed.text)
    except NotPrinted as error:
        lines = [f"{path}: edited, or printed by another version", f"  {NOT_PRINTED}", f"    {error.at(str(path))}"]
        return NumbaText(UNDECIDED, lines, {"file": str(path), "edited": True, "status": WORDS[UNDECIDED]})
    said = (
        f"edited, or printed by another version ({different})"
        if different
        else "the text that is printed from this solution"
    )
    kernel, launch = checks.check(text)
    status = worst([kernel.status, launch.status])
    lines = [f"{path}: {said}", *(f"  {line}" for part in (kernel, launch) for line in part.lines)]
    json: dict[str, Any] = {"file": str(path), "edited": bool(different), "status": WORDS[status]}
    json |= {"kernel": kernel.as_json(), "launch": launch.as_json()}
    if mutate and status == DONE:
        found = checks.mutants(text)
        same, unseen = ([name for name, verdict in found if verdict == word] for word in ("same", "unseen"))
        refused = len(found) - len(same) - len(unseen)
        lines.append(
            f"  {count(len(found), 'mutant')} of it: {refused} refused, {len(same)} shown to change nothing, "
            f"{len(unseen)} unseen"
        )
        lines += [f"    changes nothing: {each}" for each in same] + [f"    unseen: {each}" for each in unseen]
        json["mutation"] = {"killed": refused, "same": same, "unseen": unseen}
        status = NO if unseen else status
    return NumbaText(status, lines, json)


def first_difference(text: str, printed: str) -> str:
    """Return the first line that is not as printed, '' where all are, comments and spaces aside; raises NotPrinted."""
    if ast.dump(parsed(text)) == ast.dump(parsed(printed)):
        return ""
    code = [[line.strip() for line in each.splitlines()] for each in (printed, text)]
    mine, yours = ([line for line in lines if line and line[0] != "#"] for lines in code)
    first = next((line for line, other in zip(yours, mine, strict=False) if line != other), yours[-1])
    return f"line {code[1].index(first) + 1}: {first}"


class NumbaChecks:
    """Checks modules for one solved kernel at some sizes."""

    def __init__(self, filled: FilledKernel, sizes: Sequence[LaunchSize], file: str) -> None:
        """Raises SwizzleError for a kernel that numba.cuda does not have."""
        self.filled, self.sizes, self.file = filled, sizes, file
        self.tiling = filled.sizes if isinstance(filled.sizes, Tiling) else None
        self.printed = numba_source(filled.program, filled.head, filled.sizes)
        self._told: dict[str, NumbaVerdict] = {}
        self._asked: dict[tuple[int, ...], LaunchSize | None] = {}

    def check(self, text: str) -> tuple[NumbaVerdict, NumbaVerdict]:
        """Return what is found out about the kernel and the launch function of a module."""
        try:
            module = read_module(text, self.printed, self.filled.program)
        except NotPrinted as error:
            return NumbaVerdict(UNDECIDED, (NOT_PRINTED, f"  {error.at(self.file)}")), NumbaVerdict(UNDECIDED, ())
        key = ast.dump(module.kernel)
        if key not in self._told:
            self._told[key] = self.kernel(module)
        return self._told[key], self.launch

    # ---- the kernel --------------------------------------------------------------------------------------------

    def kernel(self, module: NumbaModule) -> NumbaVerdict:
        """Compare a module's kernel with the specification: at the sizes, then wherever blocks may differ."""
        for size in self.sizes:
            if wrong := self._wrong(module, size):
                return wrong
        others = f"; {at_the_lengths(self.sizes[1:])} too" if self.sizes[1:] else ""
        outputs = sum(prod(p.shape) for p in self.filled.program.parameters if p.role in ("out", "inout"))
        said = f"kernel: equal to the specification, for all inputs ({count(outputs, 'output')}{others})"
        lengths = tuple(size.lengths for size in self.sizes if size.lengths)
        if self.tiling is None or self.tiling.of_loops:  # whose loops are run at the lengths
            return NumbaVerdict(DONE, (said,), lengths)
        try:
            blocks = alike(module, self.filled.program, self.tiling)
        except NotPrinted as error:
            return NumbaVerdict(UNDECIDED, ("kernel: not shown equal for every length", f"  {error}"), lengths)
        every = list(itertools.product(*(blocks.lengths(axis) for axis in self.tiling.axes)))
        if len(every) > MOST_LENGTHS or len(every) * prod(self.filled.program.block) > MOST_THREADS:
            if blocks != self._printed_blocks():
                why = f"  its blocks differ at up to {len(every)} lengths, more than are tried, and not as printed"
                return NumbaVerdict(UNDECIDED, ("kernel: not shown equal for every length", why), lengths)
            return NumbaVerdict(DONE, (said,), lengths)
        for each in every:
            size_ = self._size(each)
            if size_ is None:
                if blocks != self._printed_blocks():
                    at = " x ".join(map(str, each))
                    why = f"  its blocks differ at length {at}, of which the specification says nothing, not as printed"
                    return NumbaVerdict(UNDECIDED, ("kernel: not shown equal for every length", why), lengths)
                return NumbaVerdict(DONE, (said,), lengths)
            if wrong := self._wrong(module, size_):
                return wrong
        return NumbaVerdict(DONE, (f"{said}, for every block of every length",), lengths, everywhere=True)

    def _printed_blocks(self) -> Alike:
        """Return in what blocks of the printed module may differ."""
        printed, program = self.printed, self.filled.program
        assert self.tiling is not None
        return alike(read_module(printed.text, printed, program), program, self.tiling)

    def _size(self, lengths: tuple[int, ...]) -> LaunchSize | None:
        """Return the size of some lengths, None where the specification cannot be asked there."""
        if lengths not in self._asked:
            assert self.tiling is not None
            of_axis = {axis.axis: n for axis, n in zip(self.tiling.axes, lengths, strict=True)}
            self._asked[lengths] = size_at(self.filled, self.tiling, of_axis)
        return self._asked[lengths]

    def _wrong(self, module: NumbaModule, size: LaunchSize) -> NumbaVerdict | None:
        """Return how a kernel differs from the specification at some size, None where it is equal."""
        program, lengths = size.filled.program, size.lengths
        where = f"at length {size}, " if lengths and lengths != self.sizes[0].lengths else ""
        try:
            read = KernelReader(module, program, self.file).program
            terms = size.meaning.terms
            run = Machine(read, StartedTerms(terms), symbolic_inputs(read, terms)).run()
        except (NotPrinted, SwizzleError) as error:
            found = error.found if isinstance(error, SwizzleError) else str(error)
            found = found.replace("shift by a negative amount", "shift by less than 0 or by more than 63 bits")
            return NumbaVerdict(UNDECIDED, ("kernel: not shown equal: not read", f"  {where}{found}"))
        if run.violations:
            broken = [f"  {where}{v.message} (line {v.place.line})" for v in run.violations[:SHOWN]]
            return NumbaVerdict(NO, ("kernel: not equal to the specification", *broken))
        shapes = {p.name: p.shape for p in program.parameters}
        findings = [
            f"  {where}{cell_name(bad.array, shapes[bad.array], bad.address)} is {terms.show(bad.got)}, "
            f"the specification says {terms.show(bad.wanted)}"
            for bad in compare(program, run, size.meaning.wanted)[:SHOWN]
        ]
        if not findings:
            return None
        names = [p.name for p in inputs(program)]
        wide = _wide(size)
        difference = numeric_difference(read, lambda *arrays: wide.numbers(dict(zip(names, arrays, strict=True))))
        if difference is not None:
            return NumbaVerdict(NO, (f"kernel: not equal to the specification: {where}{difference}", *findings))
        return NumbaVerdict(UNDECIDED, ("kernel: not shown equal: the numbers agree, but the terms differ", *findings))

    # ---- the launch function -----------------------------------------------------------------------------------

    @cached_property
    def launch(self) -> NumbaVerdict:
        """What is found out about the printed launch function, run on arrays of many lengths, types and shapes."""
        launcher = Launcher(self.printed.text, self.printed.launcher, [self.printed.kernel])
        calls = list(self._calls())
        wrong = [why for given, stream in calls if (why := self._misbehaves(launcher, given, stream))]
        if wrong:
            said = f"launch function: wrong in {len(wrong)} of {count(len(calls), 'call')}"
            return NumbaVerdict(NO, (said, *(f"  {each}" for each in wrong[:SHOWN])), calls=len(calls))
        said = f"launch function: grid, block, stream, arguments and errors are right in {count(len(calls), 'call')}"
        return NumbaVerdict(DONE, (said,), calls=len(calls))

    def _calls(self) -> Iterator[tuple[Given, GivenStream | None]]:
        own = self._given(self.filled.program)
        yield own, None
        yield own, GivenStream()
        for at, each in enumerate(own):
            if isinstance(each, GivenArray):
                shapes = [(*each.shape, 1), each.shape[:-1]]
                for place in range(len(each.shape)):
                    for off in (-1, 1, each.shape[place]):
                        shapes.append((*each.shape[:place], each.shape[place] + off, *each.shape[place + 1 :]))
                for shape in shapes:
                    yield (*own[:at], replace(each, shape=shape), *own[at + 1 :]), None
                for dtype in sorted({*NUMBA_TYPE.values(), "float16", "complex64", "any other"} - {each.dtype}):
                    yield (*own[:at], replace(each, dtype=dtype), *own[at + 1 :]), None
        for axis in self.tiling.axes if self.tiling else ():
            most = MAX_LENGTH if axis.axis == "k" else axis.tile * MAX_BLOCKS[axis.axis]
            tile, step = axis.tile, axis.step
            wanted = {0, step, tile - step, tile, tile + step, 2 * tile - step, 7 * tile, axis.least, axis.least - 1}
            wanted |= {most - tile, most, most + step, 2**31, 2**31 + tile, 2**32 + tile, 2**40, 1, tile + 1, 2**20 + 1}
            for length in sorted(wanted):
                given = self._given(self._at({axis.axis: length}))
                if all(isinstance(each, GivenNumber) or min(each.shape) >= 0 for each in given):
                    yield given, GivenStream() if length % 2 else None

    def _at(self, lengths: Mapping[Axis, int]) -> Program:
        assert self.tiling is not None
        return self.tiling.at(self.filled.program, {**self.tiling.declared, **lengths})

    def _given(self, program: Program) -> Given:
        return tuple(
            GivenNumber(p.name) if p.is_scalar else GivenArray(p.name, NUMBA_TYPE[p.dtype], p.shape)
            for p in program.parameters
        )

    def _misbehaves(self, launcher: Launcher, given: Given, stream: GivenStream | None) -> str:
        """Return what a launch function does wrong in a call, '' for nothing."""
        try:
            launched: list[NumbaLaunch | NumbaCall] | None = launcher.call(given, stream)
        except RaisedError:
            launched = None
        named = ", ".join(f"{e.name}: {e.dtype}{list(e.shape)}" for e in given if isinstance(e, GivenArray))
        said, (grid, may_refuse) = f"called with {named}: it ", self._grid(given)
        if grid is None:
            if launched is None or (not launched and not may_refuse):
                return ""
            return f"{said}{'launches' if launched else 'returns'}, and must raise an error" * may_refuse or (
                f"{said}launches, and has nothing to do"
            )
        if launched is None:
            return "" if may_refuse else f"{said}raises an error, and must launch"
        program = self.filled.program
        whole = tuple(
            GivenNumber(p.name, NUMBA_TYPE[p.dtype]) if isinstance(each, GivenNumber) else replace(each, seen=True)
            for p, each in zip(program.parameters, given, strict=True)
        )
        if len(launched) != 1:
            return f"{said}launches {len(launched)} times, and must launch once"
        wanted = NumbaLaunch(self.printed.kernel, grid, program.block, 0 if stream is None else stream, whole)
        for what in ("kernel", "grid", "block", "stream", "arguments"):
            got, want = getattr(launched[0], what), getattr(wanted, what)
            if got != want:
                shown = [[e.name for e in each] if what == "arguments" and isinstance(each, tuple) else each
                         for each in (got, want)]  # fmt: skip
                return f"{said}launches with {what} {shown[0]}, and must with {shown[1]}"
        return ""

    def _grid(self, given: Given) -> tuple[tuple[int, int, int] | None, bool]:
        """Return the grid that must be launched, None where nothing must; and whether an error must be raised then, or
        may, as the driver refuses so large a grid."""
        program, tiling = self.filled.program, self.tiling
        lengths: dict[Axis, int] = {}
        if tiling is not None:
            spans = [
                (span, each.shape[at])
                for each in given if isinstance(each, GivenArray)
                for at, span in enumerate(tiling.spans[each.name]) if span is not None and at < len(each.shape)
            ]  # fmt: skip
            lengths = {span.axis: (extent - span.halo) // span.scale for span, extent in spans}
        own = self._at(lengths) if tiling is not None else program
        if self._given(own) != given:
            return None, True
        for axis in tiling.axes if tiling is not None else ():
            if lengths[axis.axis] % axis.step or 0 < lengths[axis.axis] < axis.least:
                return None, True
            if axis.axis == "k" and not axis.least <= lengths["k"] <= MAX_LENGTH:
                return None, True
        along = {axis: length for axis, length in lengths.items() if axis != "k"}
        if any(length <= 0 for length in along.values()):
            return None, False
        return own.grid, any(own.grid["xyz".index(axis)] > MAX_BLOCKS[axis] for axis in along)

    # ---- mutants -----------------------------------------------------------------------------------------------

    def mutants(self, text: str, at_most: int | None = None) -> list[tuple[str, Literal["refused", "same", "unseen"]]]:
        """Return what becomes of the mutants of a module, or of an even choice of them: one that is not refused must be
        shown to change nothing, for every block of every length."""
        multiples = any(axis.step > 1 for axis in self.tiling.axes) if self.tiling else False
        variants = module_mutants(text, self.printed.kernel, self.printed.launcher, multiples=multiples)
        if at_most is not None and len(variants) > at_most:
            variants = tuple(variants[number * len(variants) // at_most] for number in range(at_most))
        found: list[tuple[str, Literal["refused", "same", "unseen"]]] = []
        _, own = self.check(ast.unparse(ast.parse(text)))
        for mutant in variants:
            kernel, launch = self.check(mutant.text)
            if worst([kernel.status, launch.status]) != DONE:
                found.append((str(mutant), "refused"))
                continue
            everywhere = launch is own and (kernel.everywhere or self.tiling is None)
            found.append((str(mutant), "same" if everywhere else "unseen"))
        return found


def _wide(size: LaunchSize) -> LaunchSize:
    """Return a size at which the specification is asked in double precision."""
    filled, whole = (
        each if each is None else replace(each, program=in_doubles(each.program)) for each in (size.filled, size.whole)
    )
    assert filled is not None
    return replace(size, filled=filled, whole=whole)


class StartedTerms(Canonical):
    """Canonical terms, of which it is also known that the number which a reduction starts from changes nothing."""

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        if op not in ("min", "max", "&"):
            return super().binary(op, a, b, dtype)
        start = self.terms.const(LAWS[op].start(dtype))
        return np.where(a == start, b, np.where(b == start, a, super().binary(op, a, b, dtype)))
