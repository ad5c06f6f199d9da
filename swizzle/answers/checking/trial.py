"""Run a printed kernel on random data and compare every output element with the specification.

Several kinds of data for floats: small whole numbers, on which sums, products and quotients by constants are exact in
any order, so that the comparison is exact; arbitrary numbers of three magnitudes, compared with the specification in
double precision within a bound of the rounding errors of each output (`rounding.py`); and whole numbers with infinities
and NaNs among them. Integers are compared exactly: small ones, and where there are no floats, also ones of every
magnitude of their type, which wrap as the type does.

A text is run at several sizes: its own and, where it takes any length, others that cut its blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.c.printer import CudaSource
from cuda_out.compile.launch import launch, structure
from cuda_out.emulate.emulate import EmulationError, emulate_checked
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.run import interpret
from cuda_out.tiling.tiling import Tiling
from cuda_out.tiling.trips import with_length
from swizzle.answers.checking.rounding import SLACK, ElementBounds, Rounding
from swizzle.answers.emit.any_length.continuation import MeaningAt, meaning_cut, numbers_cut
from swizzle.answers.emit.emitters import in_runs, lengths_text
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.status import CheckStatus
from swizzle.language.specs.specification import Meaning, numbers
from swizzle.solving.solution.in_words import rounds_in_any_order
from symbolic.algebra.numbers import CONVERT, NUMPY_DTYPES, as_numbers, float_limits, from_memory, in_memory
from symbolic.algebra.states import word_functions_of
from symbolic.errors import SwizzleError
from symbolic.ir.functions import ChoiceFunction, External, Gather
from symbolic.ir.index import cell_name
from symbolic.ir.program import Apply, Axis, Binary, Const, DeclareAccumulator, DType, Parameter, Program

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Arrays: TypeAlias = Mapping[str, Array]
Specification: TypeAlias = Callable[[Arrays], Arrays]
"""From the inputs by name (in, const, inout) to the outputs by name (out, inout)."""
RunText: TypeAlias = Callable[[list[Array]], None]
"""Runs the printed kernel on its arguments, in the order of the parameters, changing outputs in place."""
Kind: TypeAlias = Literal[
    "whole numbers", "arbitrary numbers", "small numbers", "large numbers", "infinities", "all magnitudes"
]

KINDS: tuple[Kind, ...] = ("whole numbers", "arbitrary numbers", "small numbers", "large numbers", "infinities")
SCALES = {"small numbers": -1, "large numbers": 1}
"""Whether the powers of two that inputs are multiplied by are negative."""

NOT_A_NUMBER = 0.02
"""How many of the inputs are no numbers, beside the infinities."""


class ComparedOutput(Struct, frozen=True):
    """What came of one output: which elements differ, what they were allowed, relative to the largest expected
    magnitude, and how many are not compared (see RandomRun)."""

    different: Array
    tolerance: float = 0.0
    open: int = 0
    overflowed: int = 0


class RandomRun(Struct, frozen=True):
    """One run: `tolerance` is the most that an output was allowed, relative to the largest expected magnitude, 0 means
    exactly equal; `first_wrong` names the first element that differs, '' when none does. So many elements are not
    compared: `open` ones are whole numbers that rounding decides, `overflowed` ones large numbers that overflow in one
    order of parts or another."""

    data: Kind
    compared: int
    wrong: int
    tolerance: float
    first_wrong: str
    open: int = 0
    overflowed: int = 0

    @property
    def equal(self) -> bool:
        return self.wrong == 0

    def and_of(self, parameter: Parameter, got: Array, want: Array, one: ComparedOutput) -> RandomRun:
        """Return this run with one more output, and what came of it."""
        wrong, first = int(np.count_nonzero(one.different)), self.first_wrong
        if wrong and not first:
            at = tuple(int(i) for i in np.argwhere(one.different)[0])
            first = f"{parameter.name}[{', '.join(map(str, at))}] is {got[at]}, the specification says {want[at]}"
        return RandomRun(
            self.data, self.compared + got.size - one.open - one.overflowed, self.wrong + wrong,
            max(self.tolerance, one.tolerance), first, self.open + one.open, self.overflowed + one.overflowed,
        )  # fmt: skip

    def __str__(self) -> str:
        how = f"within {self.tolerance:.1e} of the largest" if self.tolerance else "exactly"
        if self.equal:
            more = f"; {self.open} more are decided by rounding" if self.open else ""
            more += f"; {self.overflowed} more overflow" if self.overflowed else ""
            return f"{self.data}: {self.compared} of {self.compared} outputs are the specification's, {how}{more}"
        return f"{self.data}: {self.wrong} of {self.compared} outputs are wrong; {self.first_wrong}"


def trials(
    program: Program, specification: Specification, run: RunText, seed: int, rounding: Rounding | None = None
) -> Iterator[RandomRun]:
    """Run `program`'s printed text once per kind of data that its element types ask for, each when it is asked for.

    Without `rounding` there are whole and arbitrary numbers only, the latter within one tolerance for all outputs.
    """
    for number, kind in enumerate(_kinds(program, rounding)):
        yield _trial(program, specification, run, np.random.default_rng([seed, number]), kind, rounding)


def _kinds(program: Program, rounding: Rounding | None) -> tuple[Kind, ...]:
    if not any(parameter.dtype.is_float for parameter in program.parameters):
        return ("whole numbers", "all magnitudes")
    if rounding is None:
        return KINDS[:2]
    return KINDS if rounding.keeps_infinities() else KINDS[:-1]


def first_wrong_trial(
    program: Program, specification: Specification, run: RunText, seed: int, rounding: Rounding | None = None
) -> str:
    """Return what is wrong on the first kind of data that shows a wrong element, '' when none does."""
    tried = trials(program, specification, run, seed, rounding)
    return next((trial.first_wrong for trial in tried if not trial.equal), "")


def _trial(
    program: Program,
    specification: Specification,
    run: RunText,
    rng: np.random.Generator,
    kind: Kind,
    rounding: Rounding | None,
) -> RandomRun:
    arguments = _arguments(program, rng, kind, rounding)
    inputs = {p.name: array for p, array in zip(program.parameters, arguments, strict=True) if p.role != "out"}
    bounds = None if rounding is None else rounding.bounds(inputs)
    undecided: Arrays = {} if rounding is None else rounding.undecided(inputs)
    exact = bounds is None and kind == "whole numbers" and stays_whole(program)
    inputs = inputs if exact else {name: _widened(array) for name, array in inputs.items()}
    converting = CONVERT.set(as_numbers if exact else _rounded)
    try:
        wanted = specification(inputs)
    finally:
        CONVERT.reset(converting)
    memory = [np.array(in_memory(array, p.dtype)) for p, array in zip(program.parameters, arguments, strict=True)]
    run(memory)
    found = RandomRun(kind, 0, 0, 0.0, "")
    for parameter, array in zip(program.parameters, memory, strict=True):
        if parameter.role not in ("out", "inout"):
            continue
        got, want = from_memory(array, parameter.dtype), np.asarray(wanted[parameter.name])
        if exact or not parameter.dtype.is_float:
            comparison = _exactly(parameter, got, want, undecided)
        elif rounding is not None and bounds is not None:
            comparison = _within(bounds[parameter.name], parameter, got, want, kind, rounding, inputs)
        else:
            comparison = _about(program, parameter, got, want, kind)
        found = found.and_of(parameter, got, want, comparison)
    return found


def _arguments(program: Program, rng: np.random.Generator, kind: Kind, rounding: Rounding | None) -> list[Array]:
    """Return data for all parameters: whole numbers as multiples of what the kernel divides by, and no numbers among
    infinities where they can be told from what is computed."""
    arguments = [random_argument(parameter, rng, kind) for parameter in program.parameters]
    floats = [pair for pair in zip(program.parameters, arguments, strict=True) if pair[0].dtype.is_float]
    if rounding is not None and kind in ("whole numbers", "infinities"):
        for parameter, array in floats:
            if parameter.role in ("in", "inout"):
                array[...] = as_numbers(array * array.dtype.type(rounding.divisor()), parameter.dtype)
    if rounding is not None and kind == "infinities" and rounding.spreads():
        for parameter, array in floats:
            if parameter.role != "out":
                array[rng.random(parameter.shape) < NOT_A_NUMBER] = np.nan
    return arguments


def _exactly(parameter: Parameter, got: Array, want: Array, undecided: Arrays) -> ComparedOutput:
    """Compare whole numbers, or integers, but for those that rounding decides."""
    open_ = undecided.get(parameter.name, np.zeros(got.shape, bool))
    different = (got != as_numbers(want, parameter.dtype)) & ~open_
    return ComparedOutput(different, open=int(np.count_nonzero(open_)))


def _within(
    allowed: ElementBounds,
    parameter: Parameter,
    got: Array,
    want: Array,
    kind: Kind,
    rounding: Rounding,
    inputs: Arrays,
) -> ComparedOutput:
    """Compare floats within the bound of each output's rounding errors."""
    largest, wide = _largest(want), got.astype(np.float64)
    with np.errstate(all="ignore"):
        bound = SLACK * allowed.bound
        own = float_limits(parameter.dtype).eps / 2 * np.abs(want)  # what is wanted has been rounded, too
        bound = np.where((bound > 0) & np.isfinite(own), bound + own, bound)
        near = (wide == want) | (np.abs(wide - want) <= bound) | (np.isposinf(bound) & (kind != "infinities"))
        near |= wide == allowed.product
    none = np.isnan(want) & (np.isnan(wide) | (not rounding.spreads())) if kind == "infinities" else np.False_
    different, tolerance = ~(near | none), _largest(allowed.bound)
    if different.any() and kind not in ("whole numbers", "infinities"):
        error = SLACK * rounding.computed(inputs).get(parameter.name, np.zeros(parameter.shape))
        different &= ~(np.abs(wide - want) <= bound + error)
        tolerance = max(tolerance, _largest(error))
    return ComparedOutput(different, tolerance / (largest or 1.0))


def _about(program: Program, parameter: Parameter, got: Array, want: Array, kind: Kind) -> ComparedOutput:
    """Compare floats of which no rounding errors are known, within one tolerance for all."""
    tolerance = 64 * max(float_limits(dtype).eps for dtype in (parameter.dtype, *_computing(program)))
    wide, said = got.astype(np.float64), want.astype(np.float64)
    largest = _largest(said)
    with np.errstate(all="ignore"):
        error = np.where((wide == said) | (np.isnan(wide) & np.isnan(said)), 0, np.abs(wide - said))
    different = ~(error <= tolerance * largest)
    if different.any() and _cancels(program):
        # a small difference of numbers near 1, such as log(1 + x), has their rounding error
        different = ~(error <= tolerance * max(1.0, largest))
        tolerance *= max(1.0, 1 / (largest or 1.0))
    if kind != "large numbers" or not word_functions_of(program):
        return ComparedOutput(different, tolerance)
    beyond = ~(np.isfinite(wide) & np.isfinite(said))  # which parts overflow depends on the grouping
    return ComparedOutput(different & ~beyond, tolerance, overflowed=int(np.count_nonzero(beyond)))


def _largest(values: Array) -> float:
    """Return the largest finite magnitude."""
    return float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))


def random_argument(parameter: Parameter, rng: np.random.Generator, kind: Kind) -> Array:
    """Return data for one parameter, of a scalar as an array of shape ().

    What the kernel must overwrite starts as a value that no output should keep.
    """
    dtype: np.dtype[Any] = np.dtype(NUMPY_DTYPES[parameter.dtype])
    if parameter.role == "out":
        return np.full(parameter.shape, np.nan if parameter.dtype.is_float else np.iinfo(dtype).max, dtype)
    if parameter.dtype.is_float and kind not in ("whole numbers", "infinities"):
        scale = 2.0 ** (SCALES.get(kind, 0) * (4 if parameter.dtype is DType.F16 else 20))
        return np.array(as_numbers(scale * rng.standard_normal(parameter.shape), parameter.dtype))
    if parameter.below:
        return np.asarray(rng.integers(0, parameter.below, parameter.shape)).astype(dtype)
    if kind == "all magnitudes" or (dtype.itemsize == 1 and kind not in ("whole numbers", "infinities")):
        bits: Array = np.asarray(rng.integers(0, 1 << 64, parameter.shape, np.uint64, endpoint=False)).astype(dtype)
        bits >>= rng.integers(0, 8 * dtype.itemsize, parameter.shape).astype(dtype)
        return bits
    largest = parameter.dtype.row.drawn
    smallest = 0 if parameter.dtype.is_unsigned else -largest
    found: Array = np.asarray(rng.integers(smallest, largest, parameter.shape, endpoint=True)).astype(dtype)
    if kind == "infinities" and parameter.dtype.is_float and parameter.role in ("in", "inout"):
        found[rng.random(parameter.shape) < 0.1] = rng.choice((-np.inf, np.inf))
    return found


def stays_whole(program: Program) -> bool:
    """Tell whether whole data gives whole results: no division of floats, no constant with a fraction."""
    for node in _nodes(program.body):
        match node:
            case Binary(op="/"):
                return False
            case Apply(function=function) if not isinstance(function.row, Gather):
                return False
            case Const(value=float(value)) if not value.is_integer():
                return False
    return True


def _computing(program: Program) -> set[DType]:
    """Return the types of floats in which a kernel computes."""
    kinds = (Binary, Apply, DeclareAccumulator)
    return {node.dtype for node in _nodes(program.body) if isinstance(node, kinds) and node.dtype.is_float}


def _cancels(program: Program) -> bool:
    """Tell whether an output may be a small difference, or a function of one: not where data is moved and scaled, and
    given to functions of the user's own, of which as much is asked for as their tolerance says."""
    for node in _nodes(program.body):
        match node:
            case Binary(op="+" | "-", dtype=dtype) if dtype.is_float:
                return True
            case Apply(function=function) if not isinstance(function.row, Gather | ChoiceFunction | External):
                return True
            case DeclareAccumulator():
                return True
    return False


def _nodes(value: object) -> Iterator[object]:
    """Yield every node of a tree of nodes and tuples."""
    match value:
        case tuple():
            for item in value:
                yield from _nodes(item)
        case _ if isinstance(value, Struct):
            yield value
            for name in value.__struct_fields__:
                yield from _nodes(getattr(value, name))


def _rounded(value: Any, dtype: DType) -> Any:
    """Return what a specification converts as a number in double precision, in which what follows is computed."""
    return np.asarray(as_numbers(value, dtype)).astype(np.float64)[()] if dtype.is_float else as_numbers(value, dtype)


def _widened(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


class LaunchSize(Struct, frozen=True, dict=True):
    """A text is launched with the arrays and the grid of `filled.program`, and `lengths` after the arrays.

    `filled.spec` says what it must compute there; where it is made for the `whole` arrays of the sketch only, that is
    cut off.
    """

    filled: FilledKernel
    lengths: tuple[int, ...]
    whole: FilledKernel | None = None
    launches: tuple[tuple[Program, tuple[str, ...]], ...] = ()
    """Of a host function at its own size: its kernels, and the names of the arrays that they run on."""

    def __str__(self) -> str:
        return lengths_text(self.lengths)

    @cached_property
    def meaning(self) -> Meaning:
        """What each output must be, for all inputs; raises SwizzleError as the specification does."""
        program, spec = self.filled.program, self.filled.spec
        if self.whole is None:
            return Meaning.of(program, spec)

        return meaning_cut(_told(self.whole), program)

    def forget(self) -> None:
        """Let go of what outputs must be where that is much; it is asked again when it is needed."""
        if self.meaning.is_large:
            for name in ("meaning", "rounding"):
                self.__dict__.pop(name, None)

    @cached_property
    def rounding(self) -> Rounding:
        """How far a right kernel's floats may be from these outputs."""
        return Rounding(self.filled.program, self.meaning, self.launches)

    def numbers(self, inputs: Arrays) -> Arrays:
        """Return what each output must be for these inputs."""
        program, spec = self.filled.program, self.filled.spec
        if self.whole is None:
            return numbers(program, spec, inputs)

        return numbers_cut(self.whole.program, spec, program, inputs)


def _told(filled: FilledKernel) -> MeaningAt:
    meaning = Meaning.of(filled.program, filled.spec)
    return MeaningAt({}, filled.program, meaning.terms, meaning.wanted)


def sizes_to_try(filled: FilledKernel, source: CudaSource) -> tuple[LaunchSize, ...]:
    """Return the size of the sketch, then the others at which its text is right and the specification can be asked."""
    return (LaunchSize(filled, source.lengths()), *other_sizes(filled, source.tiling))


def other_sizes(filled: FilledKernel, tiling: Tiling | None) -> Iterator[LaunchSize]:
    """Yield the sizes beside the sketch's own: those that a tiling cuts its blocks at."""
    if tiling is None:
        return
    axes = [each.axis for each in tiling.axes]
    evidence = [dict(zip(axes, lengths, strict=True)) for lengths in tiling.evidence]
    if any(each.edges for each in tiling.axes):  # which was compared at all short lengths
        evidence = [lengths for lengths in evidence if len(set(lengths.values())) == 1][:2]
    tails = tiling.tails()
    if tiling.of_loops:  # a cut grid is tried with a trip and with a few, and not with all of the sketch's
        cut = {tuple(lengths[each] for each in axes[:-1]) for lengths in tails}
        evidence = [
            each for each in evidence if each["k"] != tiling.declared["k"] or tuple(each.values())[:-1] not in cut
        ]
    wanted = evidence + tails
    if len(axes) > 1:  # every axis cut, where no more blocks can be had
        wanted.append({each.axis: each.declared - each.step for each in tiling.axes})
    tried = [tiling.declared]
    for lengths in wanted:
        if lengths in tried or not tiling.valid(lengths):
            continue
        tried.append(lengths)
        if (size := size_at(filled, tiling, lengths)) is not None:
            yield size


def size_at(filled: FilledKernel, tiling: Tiling, lengths: Mapping[Axis, int]) -> LaunchSize | None:
    """Return the size of some lengths, None where the specification cannot be asked there."""
    here = with_length(filled.program, tiling, lengths.get("k"))
    at = FilledKernel(tiling.at(here, lengths), filled.spec, filled.head)
    size = LaunchSize(at, tuple(lengths[each.axis] for each in tiling.axes))
    try:
        assert size.meaning
    except SwizzleError:  # the specification is made for the sketch's own size
        if any(lengths[axis] > declared for axis, declared in tiling.declared.items()):
            return None
        return LaunchSize(at, size.lengths, whole=filled)
    size.forget()
    return size


def at_the_lengths(lengths: Sequence[object]) -> str:
    """Return 'at the lengths 1, 31', or 'at the length 1'."""
    return f"at the length{'s' if len(lengths) > 1 else ''} {', '.join(in_runs(list(map(str, lengths))))}"


def most_ragged(sizes: Sequence[LaunchSize], source: CudaSource) -> LaunchSize | None:
    """Return, of the sizes after the first, one that cuts the last block of most axes and has blocks before it."""
    if source.tiling is None or len(sizes) == 1:
        return None
    axes = source.tiling.axes

    def raggedness(size: LaunchSize) -> tuple[int, int]:
        pairs = list(zip(axes, size.lengths, strict=True))
        return sum(n % axis.tile > 0 for axis, n in pairs), sum(axis.tile < n <= axis.declared for axis, n in pairs)

    return max(sizes[1:], key=raggedness)


Argument: TypeAlias = "Array | np.generic"
ORDERS = (0, 1, 2, 3)
"""In how many orders of lanes, warps and blocks the emulation runs a kernel: up, down, and two at random."""


class Runner(Struct, frozen=True):
    """`run` runs a text at a size on its arrays, in the order of the parameters, changing outputs in place.

    It raises EmulationError where the text does what CUDA leaves undefined; `watched` says what else was looked for.
    """

    run: Callable[[LaunchSize, list[Array]], None]
    watched: str = ""


class Compared(Struct, frozen=True):
    """How the numbers compare: an exit status, and lines for the user."""

    status: CheckStatus
    lines: tuple[str, ...]


def arguments(size: LaunchSize, arrays: Sequence[Array]) -> list[Argument]:
    """Return what the kernel takes: its arrays, scalars and structures, then its lengths."""
    given = zip(size.filled.program.parameters, arrays, strict=True)
    values = [structure(array) if p.by_value else array if p.shape else array[()] for p, array in given]
    return [*values, *map(np.int64, size.lengths)]


def on_cpu(source: CudaSource) -> Runner:
    """Run the text in the emulation, in several orders."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        grid = size.filled.program.grid
        alike = not rounds_in_any_order(size.filled.program)
        given = arguments(size, arrays)
        emulate_checked(
            source.text, source.entry, grid, source.block, given,
            orders=ORDERS, alike=alike, shared_bytes=source.shared_bytes,
        )  # fmt: skip

    return Runner(run, f"emulated in {len(ORDERS)} orders of lanes, warps and blocks: no race, no access out of bounds")


def on_gpu(source: CudaSource) -> Runner:
    """Run the text on a GPU."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        grid, given = size.filled.program.grid, arguments(size, arrays)
        launch(
            source.text, source.entry, grid, source.block, given,
            alignment=source.alignment, shared_bytes=source.shared_bytes,
        )  # fmt: skip

    return Runner(run)


def on_ptx(source: CudaSource, ptx: str) -> Runner:
    """Run the PTX that a compiler made of the text in the interpreter; raises NotInterpreted where it cannot."""

    def run(size: LaunchSize, arrays: list[Array]) -> None:
        try:
            given, shared = arguments(size, arrays), source.shared_bytes
            interpret(ptx, source.entry, size.filled.program.grid, source.block, given, shared)
        except Broken as error:
            raise EmulationError(str(error)) from None

    return Runner(run)


def compare(sizes: Sequence[LaunchSize], runner: Runner, seed: int) -> Compared:
    """Compare at the first size on all kinds of data, at the others on the first kind."""

    lines: list[str] = []
    also, status = [], CheckStatus.EQUAL
    for size in sizes:
        own, program = size is sizes[0], size.filled.program
        where = "" if own else f"at length {size}, "
        try:
            for trial in trials(program, size.numbers, partial(runner.run, size), seed, size.rounding):
                if own or not trial.equal:
                    lines.append(f"{where}{trial}")
                if not trial.equal:
                    status = CheckStatus.DIFFERENT
                if not own:
                    also += [str(size)] if trial.equal else []
                    break
            if not own:
                size.forget()
        except EmulationError as error:
            return Compared(CheckStatus.DIFFERENT, (f"{where}not equal: {with_names(str(error), program.parameters)}",))
    if also and status == CheckStatus.EQUAL:
        lines.append(f"{at_the_lengths(also)} too: all outputs are the specification's")
    return Compared(status, (*([runner.watched] if runner.watched else []), *lines))


def with_names(finding: str, parameters: Sequence[Parameter]) -> str:
    """Name the arrays in a finding of the emulation about 'argument 0', and the element where it says which."""

    def cell(match: re.Match[str]) -> str:
        parameter, at = parameters[int(match[1])], match[2]
        if at.startswith("("):
            return f"{parameter.name}[{at.strip('(,)')}]"
        return cell_name(parameter.name, parameter.shape, int(at))

    finding = re.sub(r"argument (\d+), element (\d+|\([\d, ]+\))", cell, finding)
    return re.sub(r"argument (\d+)", lambda match: parameters[int(match[1])].name, finding)
