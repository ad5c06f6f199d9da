"""Run the PTX of a printed kernel on NumPy arrays, as `cuda_out.emulate.emulate` runs its text."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cuda_out.compile.launch import Shape3, check_shapes
from cuda_out.ptx.columns import NEVER, is_unwritten
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import typed, untyped
from cuda_out.ptx.reading.parse import parse
from cuda_out.ptx.running.arguments import LaunchArgument, LaunchArray, record_of
from cuda_out.ptx.running.machine import PtxMachine
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.syntax import Kernel, NotInterpreted
from symbolic.algebra.terms import Terms
from symbolic.ir.program import LANES
from symbolic.machine.launch_shape import LaunchShape


def kernel_of(ptx: str, name: str) -> Kernel:
    """Return the kernel of this name; the module may have others."""
    kernels = parse(ptx)
    if name not in kernels:
        raise NotInterpreted(f"a module without {name}: it has {', '.join(kernels) or 'no kernel'}")
    if kernels[name].refused:
        raise NotInterpreted(kernels[name].refused)
    return kernels[name]


def launch_shape(grid: Shape3, block: Shape3) -> LaunchShape:
    """Return the launch as the hardware sees it, in warps of 32."""
    check_shapes(grid, block)
    return LaunchShape(block, grid, LANES)


def interpret(
    ptx: str, kernel: str, grid: Shape3, block: Shape3, arguments: Sequence[np.ndarray[Any, Any] | np.generic],
    shared_bytes: int = 0,
) -> None:  # fmt: skip
    """Run `kernel` of a PTX module on the CPU; arrays are changed in place, as device memory would be.

    `shared_bytes` is the size of its dynamic shared memory.

    Raises Broken for accesses out of bounds, races, absent lanes and the like, NotInterpreted for PTX that is not
    known here.
    """
    given: list[LaunchArgument] = []
    for number, argument in enumerate(arguments):
        if isinstance(argument, np.void):  # a structure of one array
            elements = np.ravel(argument["at"])
            given.append(record_of(list(elements), elements.itemsize))
            continue
        kind = f"{argument.dtype.kind if argument.dtype.kind != 'i' else 's'}{8 * argument.dtype.itemsize}"
        if isinstance(argument, np.ndarray):
            bits = untyped(np.ravel(argument), kind)
            terms = np.zeros(prod(argument.shape), np.int64)
            given.append(LaunchArray(f"argument {number}", kind, bits, terms, True, argument.flags.writeable))
        else:
            given.append(argument)
    notes = Notes(Normal(Terms(), {}))
    machine = PtxMachine(
        kernel_of(ptx, kernel), launch_shape(grid, block), given, notes, dynamic=shared_bytes, just_loaded=True
    )
    machine.run()
    for race in machine.races():
        raise Broken(race)
    for argument, placed in zip(arguments, given, strict=True):
        if not isinstance(placed, LaunchArray) or not isinstance(argument, np.ndarray) or not placed.writable:
            continue
        region = machine.arrays[placed.name]
        bits, terms = machine.contents(placed.name)
        bad = np.flatnonzero(terms)
        if len(bad):
            cell = int(bad[0])
            term = int(terms[cell])
            assert term < NEVER or term > 0
            on = machine.memory.account(term) if is_unwritten(term) else notes.normal.terms.show(term)
            raise Broken(f"{region.where(cell)} depends on {on}")
        argument[...] = typed(bits, placed.kind).reshape(argument.shape)
