"""A kernel of somebody's own, compiled and run by the PTX interpreter over input elements that are variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np
from msgspec import Struct

from cuda_out.compile.toolchain import CompileError, compile_to_ptx
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.kinds import Bits, untyped, width
from cuda_out.ptx.reading.parse import parse
from cuda_out.ptx.running.arguments import LaunchArray, LaunchRecord, LaunchScalar
from cuda_out.ptx.running.machine import PtxMachine
from cuda_out.ptx.running.memory import Seen
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.syntax import Kernel, NotInterpreted
from swizzle.strangers.doctor.launch import GivenArgument, KernelLaunch, number_of
from swizzle.strangers.doctor.text import CudaKernel, CudaText
from symbolic.algebra.terms import Terms
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import LANES
from symbolic.machine.launch_shape import LaunchShape

ARCHITECTURES = ("sm_80", "sm_90")
"""What is compiled for: the first that the text compiles for."""
MOST_THREADS = 1 << 17

_LIMITS: Final = {
    "INFINITY": " __int_as_float(0x7f800000)", "NAN": " __int_as_float(0x7fffffff)",
    "HUGE_VALF": " __int_as_float(0x7f800000)", "FLT_MAX": " 3.402823466e+38f", "FLT_MIN": " 1.175494351e-38f",
    "FLT_EPSILON": " 1.192092896e-07f", "DBL_MAX": " 1.7976931348623158e+308", "DBL_MIN": " 2.2250738585072014e-308",
    "DBL_EPSILON": " 2.2204460492503131e-16", "INT_MAX": " 2147483647", "INT_MIN": " (-2147483647 - 1)",
    "UINT_MAX": " 4294967295u", "LLONG_MAX": " 9223372036854775807ll", "CHAR_BIT": " 8",
    "M_PI": " 3.14159265358979323846", "INT32_MAX": " 2147483647", "UINT32_MAX": " 4294967295u",
    "assert": "(condition) ((void)0)", "uint": " unsigned int", "ushort": " unsigned short", "ulong": " unsigned long",
}  # fmt: skip
"""Macros and types of the headers of C and of its library, and what they stand for."""


class Undecided(Exception):
    """Why nothing can be said of a kernel."""


class Ran(Struct, frozen=True):
    """A run that ended: what it touched, the machine as it was left, and a race, if there is one."""

    machine: PtxMachine
    seen: tuple[Seen, ...]
    races: tuple[str, ...]


class Inputs:
    """What a kernel is given, the same variables in every run, so that two runs can be compared."""

    def __init__(self, arguments: Sequence[GivenArgument], launch: KernelLaunch, *, example: bool = False) -> None:
        self.launch, self.example = launch, example
        self.terms, self.random = Terms(), np.random.default_rng(0)
        flat = [each for argument in arguments for each in (argument.fields or (argument,))]
        self.below = min([64, *(each.size for each in flat if each.shape)])
        self.notes = Notes(Normal(self.terms, {each.name: each.kind for each in flat}))
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
        size = argument.size if argument.shape else 1
        if self.example:
            bits, terms = self._numbers(argument.kind, size), np.zeros(size, np.int64)
        else:
            bits = np.zeros(size, np.uint64)
            terms = np.array([self.terms.atom(argument.name, i) for i in range(size)], np.int64)
        if argument.shape:
            writable = argument.role in ("out", "inout")
            return LaunchArray(argument.name, argument.kind, bits, terms, argument.role != "out", writable)
        if self.example:
            item: np.generic = bits.astype(f"u{width(argument.kind) // 8}")[0]
            return item
        return LaunchScalar(argument.kind, int(terms[0]))

    def _numbers(self, kind: str, size: int) -> Bits:
        """Return numbers as an example has them: floats of both signs, small whole numbers."""
        if kind == "b16":  # bf16
            return untyped(self.random.standard_normal(size).astype(np.float32), "f32") >> np.uint64(16)
        if kind.startswith("f"):
            return untyped(self.random.standard_normal(size), kind)
        return self.random.integers(0, self.below, size).astype(np.uint64)

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

    def run(self, kernel: Kernel) -> Ran:
        """Run a kernel. Raises Broken and NotInterpreted."""
        machine = PtxMachine(
            kernel, self.shape, self.given, self.notes, dynamic=self.launch.dynamic, any_order=self.example,
            early_returns=True,
        )  # fmt: skip
        machine.memory.seen, machine.memory.split = [], machine.split_cells
        machine.run()
        return Ran(machine, tuple(machine.memory.seen), tuple(islice(machine.races(), 1)))


def compiled(text: CudaText, source: str) -> str:
    """Return the PTX of what is compiled of a file, with lines; raise SwizzleError at the first mistake's place."""
    error: CompileError | None = None
    for architecture in ARCHITECTURES:
        try:
            return compile_to_ptx(_with_limits(source), architecture, by_hand=True)
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


def _with_limits(source: str) -> str:
    """Return a text with those macros of the headers of C that it uses."""
    used = [
        f"#ifndef {name}\n#define {name}{value}\n#endif\n"
        for name, value in _LIMITS.items()
        if re.search(rf"\b{name}\b", source)
        and not re.search(rf"#\s*define\s+{name}\b|\btypedef\b[^;]*\b{name}\s*;|\busing\s+{name}\b", source)
    ]
    return "".join([*used, '#line 1 "kernel.cu"\n', source]) if used else source


def code_of(ptx: str) -> str:
    """Return PTX without what it says of its source: comments, places, and what follows behind the code.

    >>> code_of('// by a compiler\\n\\t.loc 1 2 3\\n\\tret;\\n\\t.file 1 "a.cu"\\n.section .debug_str')
    'ret;'
    """
    lines = (line.split("//")[0].strip() for line in ptx.split("\n\t.file")[0].splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(".loc"))


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
            fix=f"--kernel '{kernel.name}<...>'",
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
        line = _own_line(lines[:number], own)
        where = f"line {line}" if line else "the compiler's own"
        text = " ".join(lines[number - 1].split("//")[0].strip().rstrip(";").split()) if number <= len(lines) else ""
        if text and not instructions:
            said[f"line {number}: {text}"] = where
        said[f"line {number}: "] = f"{where}: "
    return re.sub("|".join(map(re.escape, said)), lambda match: said[match[0]], message) if said else message


def _own_line(lines: Sequence[str], own: Sequence[str]) -> str:
    """Return the line of the file that the last of some lines of PTX comes from, '' for none.

    Of a call within a call each place names the next one, which stood before by itself.
    """
    wanted = ""
    for line in reversed(lines):
        found = re.match(r"\s*\.loc\s+(\d+ \d+ \d+)(?:.*\binlined_at (\d+ \d+ \d+))?", line)
        if not found or wanted not in ("", found[1]):
            continue
        for place in filter(None, found.groups()):
            file, number, _ = str(place).split()
            if file in own:
                return number
        wanted = found[2]
        if not wanted:
            return ""
    return ""


def _is_own(name: str) -> bool:
    return name.endswith("kernel.cu")


def line_of(kernel: Kernel, source: Sequence[tuple[int, int]]) -> int:
    """Return the line of the file that an instruction comes from: where it was inlined, if it is from a header."""
    for file, line in source:
        if _is_own(kernel.files.get(file, "")):
            return line
    return 0
