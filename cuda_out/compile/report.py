"""What a printed kernel needs on each GPU architecture: resources from ptxas, instruction counts from the disassembler.

Nothing here runs a kernel. The disassembler is NVIDIA's nvdisasm, from PyPI or a CUDA toolkit. Without it there are no
counts, and `disassembler` says so.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from cuda_out.compile.architectures import architectures_of
from cuda_out.compile.children import Done, TooLong, refused, run_child, scratch_folder
from cuda_out.compile.disassembly import parse
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import COMPILE_SECONDS, Resources, Tool, compile_cuda, compile_to_ptx, uses_local
from symbolic.errors import SwizzleError

COUNTED: Final = ("SHFL", "LDS", "STS", "LDG", "STG", "LDL", "STL", "BAR")
COUNTED_IF_ANY: Final = ("LDGSTS",)
NO_DISASSEMBLER: Final = "no instruction counts: nvdisasm is not installed (pip install 'swizzle-inventor[nvrtc]')"


class Report(Struct, frozen=True):
    """One kernel on one architecture, compiled without warnings; `instructions` is None without a disassembler.

    `instructions` has a count for each opcode, without padding (NOP). In `ptx` functions of mathematics are calls
    (`cuda_out.compile.opaque`).
    """

    architecture: str
    tool: Tool
    resources: Resources
    constant_bytes: int
    local_memory: bool
    instructions: Mapping[str, int] | None
    ptx: str

    def counts(self) -> dict[str, int]:
        """Return how often each opcode of COUNTED occurs, and the number of all instructions; {} if unknown."""
        if self.instructions is None:
            return {}
        named = (*COUNTED, *(op for op in COUNTED_IF_ANY if self.instructions.get(op)))
        return {**{op: self.instructions.get(op, 0) for op in named}, "total": sum(self.instructions.values())}

    def __str__(self) -> str:
        taken = self.resources
        parts = [f"{taken.registers} registers", f"stack frame {taken.stack_bytes} bytes"]
        if taken.spill_store or taken.spill_load:
            parts.append(f"spills {taken.spill_store} bytes stored and {taken.spill_load} loaded")
        parts.append("uses local memory" if self.local_memory else "no local memory")
        parts += [f"{size} bytes {what}" for what, size in self._memories() if size]
        counts = self.counts()
        if counts:
            named = ", ".join(f"{n} {op}" for op, n in counts.items() if n and op != "total")
            parts.append(f"{counts['total']} instructions" + (f" ({named})" if named else ""))
        return f"{self.architecture}: compiles without warnings, {', '.join(parts)}"

    def _memories(self) -> list[tuple[str, int]]:
        return [("shared", self.resources.shared_bytes), ("constant", self.constant_bytes)]


def report(text: str, entry: str, architectures: Sequence[str] = ()) -> tuple[tuple[Report, ...], list[str]]:
    """Compile a printed text for each architecture, unless given for all that have its instructions; return the
    reports, and why an architecture has none.

    Raises SwizzleError if there is no compiler, and CompileError on any warning.
    """
    found, missing, opaque = [], [], with_opaque_calls(text)
    for architecture in architectures or architectures_of(text):
        try:
            compiled = compile_cuda(text, architecture)
        except SwizzleError as error:
            if "does not compile for" not in error.found:
                raise
            missing.append(error.found)
            continue
        found.append(
            Report(
                architecture,
                compiled.tool,
                compiled.kernels[entry],
                constant_bytes(compiled.cubin, entry),
                uses_local(compiled.ptx),
                instruction_counts(compiled.cubin, entry),
                compiled.ptx if opaque == text else compile_to_ptx(opaque, architecture),
            )
        )
    return tuple(found), missing


@lru_cache(maxsize=1)
def disassembler() -> str | None:
    """Return the path of nvdisasm: beside the other NVIDIA wheels of this Python, or on the PATH."""
    spec = find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for found in sorted(Path(folder).glob("*/bin/nvdisasm*")):
            if found.suffix in ("", ".exe"):
                return str(found)
    return shutil.which("nvdisasm")


def instruction_counts(cubin: bytes, entry: str) -> Mapping[str, int] | None:
    """Count the instructions of one kernel by opcode, ignoring opcode modifiers; None without a disassembler."""
    listing = disassembled(cubin)
    if listing is None:
        return None
    return Counter(each.head for each in parse(listing, entry)[0] if each.head != "NOP")


def disassembled(cubin: bytes) -> str | None:
    """Return what the disassembler says of a cubin; None without one."""
    tool = disassembler()
    if tool is None or refused():
        return None
    with scratch_folder() as scratch:
        file = Path(scratch, "kernel.cubin")
        file.write_bytes(cubin)
        try:
            done = run_child([tool, "-c", str(file)], seconds=COMPILE_SECONDS, folder=scratch)
        except TooLong:
            done = Done(1, b"", b"it comes to no end")
    if done.status:
        raise SwizzleError(
            f"{tool} cannot read what the compiler made: {done.log.strip()}",
            expected="a disassembler as new as the compiler",
            fix="pip install -U nvidia-cuda-nvdisasm",
        )
    return done.text


def constant_bytes(cubin: bytes, entry: str) -> int:
    """Return the bytes of constant memory of a kernel, its parameters included: the ELF sections `.nv.constant*`."""
    start, size, count, names = (*struct.unpack_from("<Q", cubin, 40), *struct.unpack_from("<HHH", cubin, 58))
    headers = [struct.unpack_from("<IIQQQQ", cubin, start + size * n) for n in range(count)]
    strings = headers[names][4]
    total = 0
    for name, _, _, _, _, length in headers:
        at = strings + name
        text = cubin[at : cubin.index(b"\0", at)].decode()
        if re.fullmatch(rf"\.nv\.constant\d+(\.{re.escape(entry)})?", text):
            total += length
    return total
