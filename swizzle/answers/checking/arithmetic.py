"""How the arithmetic of an edited text that is equal as real numbers differs from that of the printed one."""

from __future__ import annotations

import re
from typing import Final

from cuda_out.c.printer import CudaSource
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import CompileError, Tool, available_tools, compile_to_ptx
from cuda_out.ptx.running.arithmetic import differences
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.validate import Validator, WrittenOut
from cuda_out.ptx.syntax import NotInterpreted
from swizzle.answers.checking.compare import LaunchSize
from swizzle.answers.checking.on_disk import KernelText

CANCELS: Final = "a difference of what was just added, as in a compensated sum, is 0"


def arithmetic_differences(
    text: KernelText, size: LaunchSize, ptx: str, entry: str, tool: Tool | None
) -> tuple[str, ...]:
    """Return in what respects a PTX computes its floats otherwise than the printed text's, made by the same
    compiler (`tool`; None: whatever made a file) for the same architecture; none of a text that is as printed, or that
    computes none otherwise."""
    program, target = size.filled.program, re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    if (
        not (text.edited or text.edited_header or tool is None)
        or target is None
        or not any(p.dtype.is_float for p in program.parameters)
    ):
        return ()
    if tool is None and not available_tools():
        return ("what is not known: no compiler is installed",)
    try:
        printed = compile_to_ptx(with_opaque_calls(text.printed), target[1], tool=tool or "auto")
    except CompileError as error:
        return (f"what is not known: {str(error).splitlines()[0]}",)
    return compared_arithmetic(text.source, size, (ptx, entry), (printed, text.source.entry))


def compared_arithmetic(
    source: CudaSource, size: LaunchSize, own: tuple[str, str], printed: tuple[str, str]
) -> tuple[str, ...]:
    """Return in what respects one kernel of a PTX, which has a name, computes its floats otherwise than another one."""
    program = size.filled.program
    written = WrittenOut(size.meaning.terms, program.parameters)
    validator = Validator(program, size.meaning.wanted, written, source.alignment)
    try:
        mine, theirs = (
            validator.arithmetic(made, kernel, size.lengths, source.shared_bytes) for made, kernel in (own, printed)
        )
    except (NotInterpreted, Broken) as error:
        return (f"what is not known: {error}",)
    return differences(mine, theirs)
