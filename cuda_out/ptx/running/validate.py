"""Translation validation: the PTX that a compiler made of printed text computes the specification, for all inputs.

The kernel runs for every thread of its grid on input elements that are variables; what it leaves in the output arrays
must be the specification's terms, up to the laws of `cuda_out.ptx.instructions.normal`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final, Literal

import numpy as np
from msgspec import Struct

from cuda_out.ptx.columns import NEVER
from cuda_out.ptx.instructions.cases import CaseSplit, MultipliedOut
from cuda_out.ptx.instructions.comparisons import KnownComparisons
from cuda_out.ptx.instructions.words import WordProofs
from cuda_out.ptx.kinds import KIND_OF, KINDS, number_kind, width
from cuda_out.ptx.running.arguments import LaunchArgument, LaunchArray, LaunchScalar, record_of
from cuda_out.ptx.running.arithmetic import Arithmetic, arithmetic, assumptions
from cuda_out.ptx.running.branches import BranchingMachine
from cuda_out.ptx.running.expected import Expected
from cuda_out.ptx.running.machine import WIDEST, PtxMachine
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.operators import recognised
from cuda_out.ptx.running.run import kernel_of, launch_shape
from cuda_out.ptx.syntax import Instruction, NotInterpreted
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.index import cell_name
from symbolic.ir.program import DType, Parameter, Program

SHOWN: Final = 3
"""How many wrong elements are reported."""
ANY_REGISTERS: Final = 256
"""The threads of a block that may each have the most registers (255): a block has 65536."""


class Validation(Struct, frozen=True):
    """`equal`, for all inputs; `different`, with findings; or `unknown`, with the reason as the only finding.

    Different terms are not different numbers yet: the laws are sound and incomplete. `broken` says that the findings
    are undefined behaviour, or a function that is not the operator it is called as, which no numbers need to confirm;
    `cancels` says that what is equal has differences that are 0 as real numbers, such as a compensation; `assumes` says
    in words what else counts as what it is not: approximations, arithmetic in few bits;
    `everywhere`, that it holds for every block of every length; `every_block_at`, where it is not 0, that it does so
    for the lengths of the grid where loops run along that number; `far` names blocks far out of which it holds where
    neither is shown, `long` blocks at huge lengths along loops.
    """

    verdict: Literal["equal", "different", "unknown"]
    outputs: int
    findings: tuple[str, ...]
    broken: bool = False
    everywhere: bool = False
    far: tuple[str, ...] = ()
    every_block_at: int = 0
    long: tuple[str, ...] = ()
    cancels: bool = False
    assumes: tuple[str, ...] = ()


def unknown(kind: str) -> str:
    """Return the name of an array of values of a type of which nothing is known."""
    return f"what .{kind} is unknown"


class WrittenOut:
    """What is written out of a table of terms, of kernels and of the specification, over arrays of some types.

    Validators at several sizes share it, as blocks have much in common.
    """

    def __init__(self, terms: Terms, parameters: Sequence[Parameter]) -> None:
        self.terms = terms
        limits = {p.name: p.below for p in parameters if p.below}
        kinds = {unknown(kind): kind for kind in KINDS} | {p.name: KIND_OF[p.dtype] for p in parameters}
        self.normal = KnownComparisons(terms, kinds, limits)
        self.deferred = Notes(self.normal)
        self.words = WordProofs(self.deferred.normal)
        self._arrays = {p.name: p.dtype for p in parameters}
        self._expected = dict[DType | None, Expected]()

    def expected_of(self, dtype: DType) -> Iterator[Expected]:
        """Yield what writes a specification out for an output: with constants of its type, and of 16 bits also with
        those of the other type that such numbers are computed in."""
        others = {DType.F16: DType.F32, DType.BF16: DType.BF16}
        for constants in (None, *([others[dtype]] if dtype in others else [])):
            if constants not in self._expected:
                self._expected[constants] = Expected(self.deferred.normal, self._arrays, constants)
            yield self._expected[constants]


class Validator:
    """Validates kernels against one specification; `wanted` are the terms that the output elements must be, row-major,
    over the variables `terms.atom(array, index)` of the inputs. `alignment` has, for each parameter, what an array's
    address is a multiple of, in bytes; nothing else is known of it."""

    def __init__(
        self,
        program: Program,
        wanted: Mapping[str, Sequence[Term]],
        written: WrittenOut,
        alignment: Sequence[int] | None = None,
    ) -> None:
        self.program, self.wanted, self.written = program, wanted, written
        terms, kinds = written.terms, {p.name: KIND_OF[p.dtype] for p in program.parameters}
        self.outputs = sum(len(values) for values in wanted.values())
        self.arguments: list[LaunchArgument] = []
        for parameter, align in zip(program.parameters, alignments(program, alignment), strict=True):
            if parameter.is_scalar:
                self.arguments.append(LaunchScalar(kinds[parameter.name], terms.atom(parameter.name, 0)))
                continue
            if parameter.by_value:
                self.arguments.append(elements_of(parameter, terms))
                continue
            size, given = prod(parameter.shape), parameter.role != "out"
            atoms = np.array([terms.atom(parameter.name, i) if given else 0 for i in range(size)], np.int64)
            writable = parameter.role in ("out", "inout")
            bits = np.zeros(size, np.uint64)
            array = LaunchArray(parameter.name, kinds[parameter.name], bits, atoms, given, writable, align)
            self.arguments.append(array)

    def validate(self, ptx: str, entry: str, scalars: Sequence[int] = (), shared_bytes: int = 0) -> Validation:
        """Compare the kernel `entry` of a PTX module; it takes the program's parameters in order, then `scalars`, and
        so many bytes of dynamic shared memory."""
        try:
            machine = self._machine(ptx, entry, scalars, shared_bytes)
            machine.run()
        except NotInterpreted as error:
            return Validation("unknown", self.outputs, (f"not interpreted: {error}",))
        except Broken as error:
            return Validation("different", self.outputs, (str(error),), broken=True)
        races = tuple(machine.races())
        if races:
            return Validation("different", self.outputs, races[:SHOWN], broken=True)
        findings, broken = _compare(self.program, machine, self.wanted, self.written)
        written = (machine.arrays[name].terms.tolist() for name in self.wanted)
        cancels = not findings and self.written.deferred.cancel(term for terms in written for term in terms)
        assumes = () if findings else assumptions(machine, self.wanted)
        verdict: Literal["different", "equal"] = "different" if findings else "equal"
        return Validation(verdict, self.outputs, tuple(findings), broken, cancels=cancels, assumes=assumes)

    def arithmetic(self, ptx: str, entry: str, scalars: Sequence[int] = (), shared_bytes: int = 0) -> Arithmetic:
        """Return what the outputs of a kernel are computed by; raise NotInterpreted or Broken as its machine does."""
        machine = self._machine(ptx, entry, scalars, shared_bytes)
        machine.run()
        return arithmetic(machine, self.wanted)

    def _machine(self, ptx: str, entry: str, scalars: Sequence[int], shared_bytes: int) -> PtxMachine:
        kernel, shape = kernel_of(ptx, entry), launch_shape(self.program.grid, self.program.block)
        if shape.block_threads > ANY_REGISTERS and kernel.most_threads is None and kernel.block is None:
            why = f"{shape.block_threads} threads may ask for more registers than a block has"
            raise NotInterpreted(f"{entry} says nothing of its block (.maxntid): {why}")
        given, known = [*self.arguments, *scalars], recognised(kernel, self.program)
        return BranchingMachine(kernel, shape, given, self.written.deferred, known, shared_bytes)


def elements_of(parameter: Parameter, terms: Terms) -> LaunchArgument:
    """Return what a launch is given for an array by value: its elements, each a variable."""
    kind = KIND_OF[parameter.dtype]
    elements = [LaunchScalar(kind, terms.atom(parameter.name, i)) for i in range(prod(parameter.shape))]
    return record_of(elements, width(kind) // 8)


def alignments(program: Program, given: Sequence[int] | None) -> Sequence[int]:
    """Return, for each parameter, what an array's address is a multiple of: an element's size at least; what is wanted
    of the widest vectors where nothing is given."""
    each = given or [WIDEST for _ in program.parameters]
    return [max(a, width(KIND_OF[p.dtype]) // 8) for a, p in zip(each, program.parameters, strict=True)]


def validate(
    program: Program, ptx: str, entry: str, wanted: Mapping[str, Sequence[Term]], terms: Terms,
    scalars: Sequence[int] = (), shared_bytes: int = 0, alignment: Sequence[int] | None = None,
) -> Validation:  # fmt: skip
    """Validate one kernel."""
    validator = Validator(program, wanted, WrittenOut(terms, program.parameters), alignment)
    return validator.validate(ptx, entry, scalars, shared_bytes)


class OutputDifference(Struct, frozen=True):
    """An output element that is not what it should be: what it is, what stores it, and which thread; both None where
    no thread does. `broken`: it depends on what was never written."""

    parameter: Parameter
    cell: int
    found: str
    writer: Instruction | None
    thread: str | None
    broken: bool

    @property
    def name(self) -> str:
        return cell_name(self.parameter.name, self.parameter.shape, self.cell)

    def __str__(self) -> str:
        where = "no thread stores it" if self.writer is None else f"stored by {self.thread}, {self.writer}"
        return f"{self.name} {self.found} ({where})"


def _compare(
    program: Program, machine: PtxMachine, wanted: Mapping[str, Sequence[Term]], written: WrittenOut
) -> tuple[list[str], bool]:
    found = list(
        itertools.islice(
            (
                difference
                for parameter in program.parameters
                if parameter.role in ("out", "inout")
                for difference in differences(machine, written, parameter, wanted[parameter.name])
            ),
            SHOWN,
        )
    )
    return list(map(str, found)), any(each.broken for each in found)


def differences(
    machine: PtxMachine, written: WrittenOut, parameter: Parameter, wanted: Sequence[Term]
) -> Iterator[OutputDifference]:
    """Yield the elements of an output that are not what a specification says."""
    forms = machine.forms(parameter.name)
    for cell, want in enumerate(wanted):
        readings = [(int(bits[cell]), int(terms[cell])) for bits, terms in forms]
        if found := output_difference(machine, written, parameter, readings, want):
            yield different_output(machine, parameter, cell, found)


def different_output(machine: PtxMachine, parameter: Parameter, cell: int, found: str) -> OutputDifference:
    """Return how an element of an output is told, with the thread and the instruction that it comes from."""
    region = machine.arrays[parameter.name]
    place = cell * (len(region.bits) // prod(parameter.shape))
    writer, broken = int(region.writer[place]), int(region.terms[place]) < 0
    if writer < 0:
        return OutputDifference(parameter, cell, found, None, None, broken)
    thread = machine.shape.describe(int(region.thread[place]))
    return OutputDifference(parameter, cell, found, machine.kernel.instructions[writer], thread, broken)


def output_difference(
    machine: PtxMachine, written: WrittenOut, parameter: Parameter, readings: Sequence[tuple[int, int]], want: Term
) -> str:
    """Return what an output element is and should be, '' where one reading of it, bits and a term, is that."""
    found = [_difference(machine, written, parameter, bits, term, want) for bits, term in readings]
    return found[0] if all(found) else ""


def _difference(
    machine: PtxMachine, written: WrittenOut, parameter: Parameter, bits: int, term: int, want: Term
) -> str:
    if want == UNWRITTEN and term == NEVER:
        return ""
    normal, terms = written.deferred.normal, written.terms
    if term < 0:
        return f"is {machine.memory.account(term)}, the specification says {terms.show(want)}"
    got, kind = output_term(written, parameter, bits, term), number_kind(parameter.dtype)
    goals = (expected.written_out(kind, want) for expected in written.expected_of(parameter.dtype))

    def same(got: Term, goal: Term) -> bool:
        return same_output(written, parameter, got, goal)

    for goal in goals:
        if same(got, goal) or CaseSplit(normal, same).equal(got, goal):
            return ""
        out = MultipliedOut(normal)
        if (pair := (out.written_out(got), out.written_out(goal))) != (got, goal) and same(*pair):
            return ""
    return f"is {normal.terms.show(got)}, the specification says {terms.show(want)}"


def output_term(written: WrittenOut, parameter: Parameter, bits: int, term: int) -> Term:
    """Return what an output element holds, bits or a term that is written out, as a number of its type."""
    own, normal = KIND_OF[parameter.dtype], written.deferred.normal
    got = normal.of_kind(own, term) if term else normal.lifted(own, bits)
    if parameter.dtype is not DType.BF16:
        return got
    number = written.words.rounded_to_bf16(got)
    return normal.bf16_number(got) if number is None else number


def same_output(written: WrittenOut, parameter: Parameter, got: Term, goal: Term) -> bool:
    """Tell whether two terms are the same number of an output's type, up to how it is rounded when it is stored."""
    dtype, normal = parameter.dtype, written.deferred.normal
    if got == goal or (dtype.is_float and normal.close(dtype.value, got, goal)):
        return True
    rounded = [normal.rounded(dtype.value, each) for each in (got, goal) if dtype.is_float]
    if rounded and normal.close(dtype.value, *rounded):
        return True  # what is stored is a number of the type, whoever rounds it
    return written.words.same(KIND_OF[dtype], got, goal)
