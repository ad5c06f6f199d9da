"""A kernel of somebody's own, run by the PTX interpreter over input elements that are variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np
from msgspec import Struct

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import Bits, untyped, width
from cuda_out.ptx.running.arguments import LaunchArray, LaunchRecord, LaunchScalar
from cuda_out.ptx.running.machine import WIDEST, PtxMachine
from cuda_out.ptx.running.memory import Lanes, ReadOnly, Seen
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.syntax import Kernel
from swizzle.strangers.reading.launch import GivenArgument, KernelLaunch, number_of
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError
from symbolic.ir.program import LANES
from symbolic.machine.launch_shape import LaunchShape

MOST_THREADS = 1 << 17


class Ran(Struct, frozen=True):
    """A run that ended: what it touched, the machine as it was left, and a race, if there is one."""

    machine: PtxMachine
    seen: tuple[Seen, ...]
    races: tuple[str, ...]


def flat_arguments(arguments: Sequence[GivenArgument]) -> list[GivenArgument]:
    """Return the arguments, of a structure its fields."""
    return [each for argument in arguments for each in (argument.fields or (argument,))]


class Inputs:
    """What a kernel is given, the same variables in every run, so that two runs can be compared.

    As an `example`, arrays hold random numbers, whole ones from 0 to `below`.
    `held` is what some arrays and numbers hold, each element bits or a term of the `notes`, where it is not variables.
    """

    def __init__(
        self, arguments: Sequence[GivenArgument], launch: KernelLaunch, *, example: bool = False, below: int = 64,
        notes: Notes | None = None, held: Mapping[str, tuple[Bits, Lanes]] = {},
    ) -> None:  # fmt: skip
        self.launch, self.example, self.held = launch, example, held
        self.written = set[str]()  # variables of the module that the kernel writes
        flat = flat_arguments(arguments)
        self.below = min([below, *(each.size for each in flat if each.shape)])
        kinds, limits = {a.name: a.kind for a in flat}, {a.name: a.below for a in flat if a.below}
        self.notes = notes or Notes(Normal(Terms(), kinds, limits))
        self.terms, self.random = self.notes.normal.terms, np.random.default_rng(0)
        self.align = WIDEST if notes else 0
        self.shape = LaunchShape(launch.block, launch.grid, LANES)
        if self.shape.count > MOST_THREADS:
            raise SwizzleError(
                f"--launch {launch} has {self.shape.count} threads", expected=f"at most {MOST_THREADS}: each is run",
                fix="a small grid: conflicts are the same in every block",
            )  # fmt: skip
        self.given = [self._given(each) for each in arguments]

    def _given(self, argument: GivenArgument) -> LaunchRecord | LaunchArray | LaunchScalar | np.generic:
        if argument.fields:
            return self._record(argument)
        if argument.value is not None:
            return number_of(argument)
        size, filled = argument.size if argument.shape else 1, argument.role != "out"
        if argument.name in self.held:
            (bits, terms), filled = self.held[argument.name], True
        elif self.example:
            bits, terms = self._numbers(argument, size), np.zeros(size, np.int64)
        else:
            bits = np.zeros(size, np.uint64)
            terms = np.array([self.terms.atom(argument.name, i) for i in range(size)], np.int64)
        if argument.shape:
            writable = argument.role in ("out", "inout")
            return LaunchArray(argument.name, argument.kind, bits, terms, filled, writable, self.align)
        if not terms.any():
            item: np.generic = bits.astype(f"u{width(argument.kind) // 8}")[0]
            return item
        return LaunchScalar(argument.kind, int(terms[0]))

    def _numbers(self, argument: GivenArgument, size: int) -> Bits:
        """Return numbers as an example has them: floats of both signs, small whole numbers."""
        kind = argument.kind
        if kind == "b16":  # bf16
            return untyped(self.random.standard_normal(size).astype(np.float32), "f32") >> np.uint64(16)
        if kind.startswith("f"):
            return untyped(self.random.standard_normal(size), kind)
        return self.random.integers(0, argument.below or self.below, size).astype(np.uint64)

    def _record(self, argument: GivenArgument) -> LaunchRecord:
        """Return a structure by C++'s rules: each field at a multiple of its size."""
        at, most, parts = 0, 1, []
        for each in argument.fields:
            given = self._given(each)
            size = 8 if isinstance(given, LaunchArray) else width(each.kind) // 8
            if isinstance(given, LaunchRecord):
                raise SwizzleError(
                    f"--args: a structure in the structure {argument.name}", expected="fields that are none",
                    fix="write its fields in their place",
                )  # fmt: skip
            at += -at % size
            parts.append((at, given))
            at, most = at + size, max(most, size)
        return LaunchRecord(at + -at % most, tuple(parts))

    def run(self, kernel: Kernel, kind: Callable[..., PtxMachine] = PtxMachine) -> Ran:
        """Run a kernel on some kind of machine, again where it turns out to write a variable of its module. Raises
        Broken, NotInterpreted."""
        while True:
            machine = kind(
                kernel, self.shape, self.given, self.notes, dynamic=self.launch.dynamic, any_order=self.example,
                early_returns=True, written=self.written,
            )  # fmt: skip
            machine.memory.seen, machine.memory.split = [], machine.split_cells
            try:
                machine.run()
                break
            except ReadOnly as error:
                if error.region in self.written or error.region not in {
                    each.name for each in kernel.arrays if each.space == "global"
                }:
                    raise
                self.written.add(error.region)
        return Ran(machine, tuple(machine.memory.seen), tuple(islice(machine.races(), 1)))
