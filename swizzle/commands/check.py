"""`swizzle check`: verify a kernel that has no holes, and on request its printed text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from textwrap import indent
from typing import TextIO

from swizzle.commands.console import count
from swizzle.commands.emit import cuda_source
from swizzle.commands.exit_status import DONE, NO, UNDECIDED
from swizzle.commands.run import try_kernel
from swizzle.commands.target import Filled, load_kernel
from swizzle.sketch import Sketch
from symbolic.errors import SwizzleError


@dataclass(frozen=True, slots=True)
class CheckArguments:
    """`swizzle check`."""

    target: str
    overrides: Mapping[str, int] = field(default_factory=dict)
    emitted: bool = False
    quiet: bool = False


def check(arguments: CheckArguments, out: TextIO, err: TextIO) -> int:
    """Verify a kernel without holes, or a saved solution, for all inputs; on request try its printed text too."""
    from swizzle.search.verify import explain_mismatch, verify

    with redirect_stdout(err):
        filled = load_kernel(arguments.target, arguments.overrides)
        if isinstance(filled, Sketch):
            raise SwizzleError(
                f"{filled.name} has {count(len(filled.program.holes), 'hole')}",
                place=filled.program.holes[0].place,
                expected="a kernel without holes, or a saved solution (NAME.json)",
                mend=f"swizzle solve {arguments.target} -o DIR, then swizzle check DIR/{filled.name}.json",
            )
        verdict = verify(filled.program, filled.spec)
        name = filled.program.name
        if not verdict.equal:
            lines = explain_mismatch(filled.program, filled.spec)
            return _say_unequal(filled, lines, out, broken=bool(verdict.violations))
        covered = f"{count(verdict.elements, 'output')} of {count(verdict.blocks, 'block')}"
        out.write(f"{name}: equal to its specification, verified for all inputs ({covered})\n")
        return _check_emitted(filled, out) if arguments.emitted else DONE


def _say_unequal(filled: Filled, lines: Sequence[str], out: TextIO, *, broken: bool) -> int:
    """Say how a kernel differs from its specification; different terms alone leave it undecided."""
    from swizzle.commands.difference import KINDS, numeric_difference

    found = None if broken else numeric_difference(filled.program, filled.spec)
    if found is None and not broken:
        agree = f"the numbers agree on {count(len(KINDS), 'random input')}, but the terms differ"
        out.write(f"{filled.program.name}: not shown equal: {agree}:\n")
    else:
        out.write(f"{filled.program.name}: not equal to its specification\n")
    for line in ([str(found)] if found else []) + list(lines):
        out.write(indent(line, "  ") + "\n")
    return NO if found or broken else UNDECIDED


def _check_emitted(filled: Filled, out: TextIO) -> int:
    """Compile the printed text, say what it takes, and try it on the CPU."""
    from cuda_out.toolchain import available_tools, compile_cuda, uses_local

    text = cuda_source(filled.program, filled.head).text
    for arch in ("sm_80", "sm_90") if available_tools() else ():
        compiled = compile_cuda(text, arch)
        local = "uses local memory" if uses_local(compiled.ptx) else "no local memory"
        for resources in compiled.kernels.values():
            out.write(
                f"  {arch}: compiles without warnings, {resources.registers} registers, "
                f"stack frame {resources.stack_bytes} bytes, {local}\n"
            )
    if not available_tools():
        out.write("  not compiled for a GPU: no NVRTC and no nvcc on this machine\n")
    return try_kernel(filled, "cpu", "", 0, out)
