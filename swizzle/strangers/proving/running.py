"""A chain of kernels run by the PTX interpreter, on variables or on numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cuda_out.ptx.columns import NEVER
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import KIND_OF, Bits, typed, untyped
from cuda_out.ptx.running.branches import BranchingMachine
from cuda_out.ptx.running.machine import PtxMachine
from cuda_out.ptx.running.memory import Broken, Lanes, Misaligned
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.syntax import NotInterpreted
from swizzle.strangers.proving.launched import LaunchedKernel
from swizzle.strangers.proving.proof import ProofFinding
from swizzle.strangers.proving.subject import Subject
from swizzle.strangers.reading.compiled import Undecided, own_name, refusal
from swizzle.strangers.reading.run import Inputs, Ran
from symbolic.algebra.numbers import from_memory, in_memory
from symbolic.algebra.terms import Terms
from symbolic.ir.index import cell_name
from symbolic.ir.program import Parameter

Array = npt.NDArray[Any]
Held = Mapping[str, tuple[Bits, Lanes]]
_THREAD: Final = re.compile(r"block \([\d, ]+\), thread \([\d, ]+\), lane \d+")


_ORDERED: Final = ("exch", "cas", "inc", "dec")
"""Atomic operations of which several on one cell come to another value in another order."""


class Undefined(Exception):
    """A kernel that does what CUDA leaves undefined, or a race, and what was found."""

    def __init__(self, finding: ProofFinding, race: bool = False) -> None:
        super().__init__(finding, race)
        self.finding, self.race = finding, race

    def __str__(self) -> str:
        return str(self.finding)


class ChainRun(Struct, frozen=True):
    """A run that ended: the machine of each kernel, and for each array which of them had it last as an output."""

    machines: tuple[PtxMachine, ...]
    last: Mapping[str, int]
    widest: Mapping[str, int]
    """How many bytes of an array one access moves at most."""

    def machine(self, name: str) -> PtxMachine:
        return self.machines[self.last[name]]


def run_chain(kernels: Sequence[LaunchedKernel], notes: Notes, held: Held | None = None) -> ChainRun:
    """Run kernels one after the other, each on what those before it left. Raises Undefined, Undecided."""
    now, machines, last, widest = dict(held or {}), list[PtxMachine](), dict[str, int](), dict[str, int]()
    for number, kernel in enumerate(kernels):
        try:
            ran = _run(kernel, notes, now, 1)
            other = _run(kernel, notes, now, 2) if _has_fragments(kernel) else ran
        except NotInterpreted as error:
            raise Undecided(refusal(kernel.text.path, kernel.ptx, str(error))) from None
        except Broken as error:
            if "by data, out of bounds" in str(error):
                raise Undecided(f"{kernel.in_words(str(error))}: it depends on data") from None
            raise Undefined(_finding(kernel, f"{error}{_alignment(kernel, error)}")) from None
        if ran.races:
            raise Undefined(_finding(kernel, ran.races[0]), race=True)
        if why := _in_one_order(ran.machine):
            raise Undecided(f"not interpreted: {kernel.in_words(why)}")
        if why := _placed(kernel, ran.machine, other.machine):
            raise Undefined(_finding(kernel, why))
        machines.append(ran.machine)
        for access in ran.seen:
            widest[access.region] = max(widest.get(access.region, 0), access.size)
        for each in kernel.given:
            if each.role in ("out", "inout") and each.shape:
                last[each.name] = number
                bits, terms = ran.machine.elements(each.name)
                if len(bad := np.flatnonzero(terms < NEVER)):
                    why = f"{each.name}[{bad[0]}] depends on {ran.machine.memory.account(int(terms[bad[0]]))}"
                    raise Undefined(_finding(kernel, why))
                now[each.name] = bits, terms
    return ChainRun(tuple(machines), last, widest)


def _run(kernel: LaunchedKernel, notes: Notes, held: Held, fragments: int) -> Ran:
    machine = partial(BranchingMachine, fragments=fragments, steps=kernel.steps)
    return Inputs(kernel.arguments, kernel.launch, notes=notes, held=held).run(kernel.entry, machine)


def _has_fragments(kernel: LaunchedKernel) -> bool:
    return any(each.op[0] == "wmma" for each in kernel.entry.instructions)


def _placed(kernel: LaunchedKernel, one: PtxMachine, other: PtxMachine) -> str:
    """Return which element depends on where WMMA's fragments lie, '' for none."""
    for each in kernel.given:
        if one is not other and each.role in ("out", "inout") and each.shape:
            (bits, terms), (others, other_terms) = (machine.forms(each.name)[0] for machine in (one, other))
            if len(bad := np.flatnonzero((terms != other_terms) | (bits != others) & (terms == 0))):
                return (
                    f"{each.name}[{bad[0]}] depends on where WMMA's fragments lie, which is not to be relied on: do "
                    "the same to all elements of a fragment, and store it by store_matrix_sync"
                )
    return ""


def _in_one_order(machine: PtxMachine) -> str:
    """Return which cell several threads exchange, '' for none: the machine takes them in one order of many."""
    for region in machine.memory.regions:
        first: dict[int, int] = {}
        for each in region.accesses:
            if each.writes and each.atomic.startswith(_ORDERED):
                for thread, cell in zip(each.threads.tolist(), each.addresses.tolist(), strict=True):
                    if first.setdefault(cell, thread) != thread:
                        instruction = machine.kernel.instructions[each.key]
                        return f"{instruction}, several threads at {region.where(cell)}: it depends on their order"
    return ""


def _alignment(kernel: LaunchedKernel, error: Broken) -> str:
    """Return how an array is declared of which too many bytes are moved at once, '' for other errors."""
    if not isinstance(error, Misaligned):
        return ""
    name = own_name(error.region)
    declared = re.search(rf"__shared__[^;]*\b{re.escape(name)}\b", kernel.text.code)
    where = f", where it is declared (line {kernel.text.line(declared.end())})" if declared else ""
    return f"; add __align__({error.size}){where}: __shared__ __align__({error.size}) ... {name}[...]"


def _finding(kernel: LaunchedKernel, message: str) -> ProofFinding:
    """Return what the machine says, with the line, the thread and the array element that it names."""
    words = with_indices(kernel.in_words(message), {each.name: each.shape for each in kernel.given})
    line, thread = re.search(r"\bline (\d+)", words), _THREAD.search(words)
    where, said = re.search(r"\b[A-Za-z_]\w*\[[\d, ]+\]", words), re.sub(r"^line \d+: ", "", words)
    return ProofFinding(where[0] if where else "", int(line[1]) if line else 0, thread[0] if thread else "", said, "")


def with_indices(text: str, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return a text in which elements of arrays, counted through, have an index in each dimension.

    >>> with_indices("y[5] + z[5]", {"y": (2, 3)})
    'y[1, 2] + z[5]'
    """

    def element(match: re.Match[str]) -> str:
        shape, cell = shapes.get(match[1], ()), int(match[2])
        return cell_name(match[1], shape, cell) if cell < prod(shape) else match[0]

    return re.sub(r"\b([A-Za-z_]\w*)\[(\d+)\]", element, text)


def on_numbers(subject: Subject, given: Mapping[str, Array]) -> tuple[dict[str, Array], ChainRun]:
    """Return what a chain of kernels makes of numbers, by the names of its outputs; of elements that are never
    written, all bits are 1, as in floats that are no numbers. Raises Undefined, Undecided."""
    held = {each.name: _in_registers(each, given[each.name]) for each in subject.inputs}
    ran = run_chain(subject.kernels, Notes(Normal(Terms(), {})), held)
    found = {}
    for each in subject.outputs:
        (bits, terms), *_ = ran.machine(each.name).forms(each.name)
        if len(bad := np.flatnonzero(terms > 0)):
            why = ran.machine(each.name).deferred.normal.terms.show(int(terms[bad[0]]))
            raise Undecided(f"{each.name}[{bad[0]}] depends on {why}")
        bits = np.where(terms == NEVER, ~np.uint64(0), bits)
        array = _from_registers(each, bits)
        found[each.name] = array
    return found, ran


def _in_registers(parameter: Parameter, array: Array) -> tuple[Bits, Lanes]:
    memory = np.ravel(np.asarray(in_memory(array, parameter.dtype)))
    return untyped(memory, KIND_OF[parameter.dtype]), np.zeros(len(memory), np.int64)


def _from_registers(parameter: Parameter, bits: Bits) -> Array:
    found: Array = np.asarray(from_memory(typed(bits, KIND_OF[parameter.dtype]), parameter.dtype))
    return found.reshape(parameter.shape)
