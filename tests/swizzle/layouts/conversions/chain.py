"""The checked chain for a conversion: its text compiled, the PTX run on one variable an element."""

from __future__ import annotations

import numpy as np

from bench.conversions import kernel_text, words
from cuda_out.compile.toolchain import compile_cuda
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.running.arguments import LaunchArray
from cuda_out.ptx.running.machine import PtxMachine
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.running.run import kernel_of, launch_shape
from swizzle.layouts import Conversion
from symbolic.algebra.terms import Terms


def wrong_elements(conversion: Conversion, arch: str = "sm_90") -> list[str]:
    """Compile, run the PTX on variables, and return which elements are not what the target says."""
    ptx = compile_cuda(kernel_text(conversion), arch).ptx
    source, target, bits = conversion.source, conversion.target, conversion.bits
    kind, terms = f"u{min(bits, 32)}", Terms()
    per, halves = max(1, 32 // bits), max(1, bits // 32)
    threads = source.warps * 32

    def place(thread: int, slot: int, half: int) -> int:
        """Where an element, or a half of one of 64 bits, lies in an array of registers."""
        return ((slot // per * halves + half) * threads + thread) * per + slot % per

    size = words(source.slots, bits) * threads * per
    atoms = np.array([terms.atom("in", n) for n in range(size)], np.int64)
    given = LaunchArray("in", kind, np.zeros(size, np.uint64), atoms, True, False)
    made = words(target.slots, bits) * threads * per
    result = LaunchArray("out", kind, np.zeros(made, np.uint64), np.zeros(made, np.int64), False, True)
    notes = Notes(Normal(terms, {"in": kind, "out": kind}))
    machine = PtxMachine(kernel_of(ptx, "k"), launch_shape((1, 1, 1), (threads, 1, 1)), [given, result], notes)
    machine.run()
    problems = list(machine.races())
    _, found = machine.contents("out")
    homes: dict[tuple[int, int], set[int]] = {}
    for (thread, slot), cell in np.ndenumerate(source.cells.reshape(threads, -1)):
        for half in range(halves):
            homes.setdefault((int(cell), half), set()).add(int(atoms[place(thread, slot, half)]))
    for (thread, slot), cell in np.ndenumerate(target.cells.reshape(threads, -1)):
        for half in range(halves if cell >= 0 else 0):
            term = int(found[place(thread, slot, half)])
            if term not in homes[int(cell), half]:
                shown = terms.show(term) if term > 0 else str(term)
                problems.append(f"thread {thread}, element {slot}: {shown} instead of {target.cell(int(cell))}")
    return problems
