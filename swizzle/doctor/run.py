"""A kernel of somebody's own, compiled and run by the PTX interpreter over input elements that are variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import numpy as np
from msgspec import Struct

from cuda_out.compile.toolchain import CompileError, compile_to_ptx
from cuda_out.ptx.machine import LaunchArray, LaunchScalar, PtxMachine
from cuda_out.ptx.memory import Seen
from cuda_out.ptx.normal import Normal
from cuda_out.ptx.notes import Notes
from cuda_out.ptx.parse import parse
from cuda_out.ptx.syntax import Kernel, NotInterpreted
from swizzle.doctor.launch import GivenArgument, KernelLaunch, number_of
from swizzle.doctor.text import CudaKernel, CudaText
from symbolic.algebra.terms import Terms
from symbolic.errors import Place, SwizzleError
from symbolic.machine.launch_shape import HARDWARE_WARP, LaunchShape

ARCHITECTURES = ("sm_80", "sm_90")
"""What is compiled for: the first that the text compiles for."""
MOST_THREADS = 1 << 17


class Undecided(Exception):
    """Why nothing can be said of a kernel."""


class Ran(Struct, frozen=True):
    """A run that ended: what it touched, the machine as it was left, and a race, if there is one."""

    machine: PtxMachine
    seen: tuple[Seen, ...]
    races: tuple[str, ...]


class Inputs:
    """What a kernel is given, the same variables in every run, so that two runs can be compared."""

    def __init__(self, arguments: Sequence[GivenArgument], launch: KernelLaunch) -> None:
        self.arguments, self.launch = arguments, launch
        self.terms = Terms()
        self.notes = Notes(Normal(self.terms, {each.name: each.kind for each in arguments}))
        self.shape = LaunchShape(launch.block, launch.grid, HARDWARE_WARP)
        if self.shape.count > MOST_THREADS:
            raise SwizzleError(
                f"--launch {launch} has {self.shape.count} threads", expected=f"at most {MOST_THREADS}: each is run",
                fix="a small grid: conflicts are the same in every block",
            )  # fmt: skip
        self.given: list[LaunchArray | LaunchScalar | np.generic] = []
        for each in arguments:
            if each.value is not None:
                self.given.append(number_of(each))
            elif not each.shape:
                self.given.append(LaunchScalar(each.kind, self.terms.atom(each.name, 0)))
            else:
                filled = each.role != "out"
                atoms = [self.terms.atom(each.name, i) for i in range(each.size)] if filled else [0] * each.size
                bits, terms = np.zeros(each.size, np.uint64), np.array(atoms, np.int64)
                writable = each.role in ("out", "inout")
                self.given.append(LaunchArray(each.name, each.kind, bits, terms, filled, writable))

    def run(self, kernel: Kernel) -> Ran:
        """Run a kernel. Raises Broken and NotInterpreted."""
        machine = PtxMachine(kernel, self.shape, self.given, self.notes, dynamic=self.launch.dynamic)
        machine.memory.seen = []
        machine.run()
        return Ran(machine, tuple(machine.memory.seen), tuple(islice(machine.races(), 1)))


def compiled(text: CudaText, source: str) -> str:
    """Return the PTX of what is compiled of a file, with lines; raise SwizzleError at the first mistake's place."""
    error: CompileError | None = None
    for architecture in ARCHITECTURES:
        try:
            return compile_to_ptx(source, architecture, by_hand=True)
        except CompileError as failed:
            error = error or failed
    assert error is not None
    first = re.search(r"kernel\.cu\((\d+)\)\s*:\s*(?:catastrophic )?error\s*:?\s*([^\n]*)", error.log)
    headers = text.headers_left_out
    fix = "compile it by itself: nvcc -ptx"
    if headers:
        fix = f"what it needs of {', '.join(headers)}, which is not read, belongs into this file"
    raise SwizzleError(
        f"the kernel does not compile: {first[2] if first else error.log.strip().splitlines()[0]}",
        place=Place(text.path, int(first[1]), 1) if first else None, expected="CUDA C++ for the GPU", fix=fix,
    )  # fmt: skip


def entry_of(ptx: str, kernel: CudaKernel) -> Kernel:
    """Return the kernel of a module that is compiled of one kernel's text."""
    try:
        kernels = parse(ptx)
    except NotInterpreted as error:
        raise Undecided(f"not interpreted: {in_source(ptx, str(error), instructions=True)}") from None
    if len(kernels) != 1:
        raise SwizzleError(
            f"{kernel.name} is compiled to {len(kernels)} kernels" + (f": {', '.join(kernels)}" if kernels else ""),
            expected="one kernel: of a template, one instance",
            fix=f"--kernel '{kernel.name}<...>'" + (", and no instances in the file" if kernels else ""),
        )
    (found,) = kernels.values()
    if found.refused:
        raise Undecided(f"not interpreted: {in_source(ptx, found.refused, instructions=True)}")
    return found


def in_source(ptx: str, message: str, *, instructions: bool = False) -> str:
    """Return what is said of lines of PTX as said of the lines of the file that they come from.

    The instructions are left out, unless it is them that matter.

    >>> ptx = '.loc 1 7 3\\nst.f32 [%r1], %f2;\\n.file 1 "kernel.cu"'
    >>> in_source(ptx, "race (line 2: st.f32 [%r1], %f2)"), in_source(ptx, "line 2: st.f32", instructions=True)
    ('race (line 7)', 'line 7: st.f32')
    """
    lines = ptx.splitlines()
    own = [number for number, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.M) if _is_own(name)]
    said: dict[str, str] = {}
    for number in map(int, re.findall(r"\bline (\d+): ", message)):
        locations = (line for line in reversed(lines[:number]) if line.lstrip().startswith(".loc"))
        places = re.findall(r"(?:\.loc|inlined_at)\s+(\d+)\s+(\d+)", next(locations, ""))
        where = next((f"line {line}" for file, line in places if file in own), "the compiler's own")
        text = " ".join(lines[number - 1].split("//")[0].strip().rstrip(";").split()) if number <= len(lines) else ""
        if text and not instructions:
            said[f"line {number}: {text}"] = where
        said[f"line {number}: "] = f"{where}: "
    return re.sub("|".join(map(re.escape, said)), lambda match: said[match[0]], message) if said else message


def _is_own(name: str) -> bool:
    return name.endswith("kernel.cu")


def line_of(kernel: Kernel, source: Sequence[tuple[int, int]]) -> int:
    """Return the line of the file that an instruction comes from: where it was inlined, if it is from a header."""
    for file, line in source:
        if _is_own(kernel.files.get(file, "")):
            return line
    return 0
