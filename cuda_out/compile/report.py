"""What a printed kernel needs on each GPU architecture: resources from ptxas, instruction counts from the disassembler.

Nothing here runs a kernel. The disassembler is NVIDIA's nvdisasm, from PyPI or a CUDA toolkit. Without it there are no
counts, and `disassembler` says so.

Instructions are counted in the whole kernel, and on the way of a thread.
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

from cuda_out.compile.children import Done, TooLong, refused, run_child, scratch_folder
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import (
    COMPILE_SECONDS,
    Resources,
    Tool,
    architectures_of,
    compile_cuda,
    compile_to_ptx,
    uses_local,
)
from symbolic.errors import SwizzleError

BITS: Final = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}

_SECTION: Final = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
_LABEL: Final = re.compile(r"(\S+):\s*$")
_INSTRUCTION: Final = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);")


class MachineInstruction(Struct, frozen=True):
    """One line of the disassembly: its opcode with modifiers, whether it has a predicate, and the label it names."""

    opcode: str
    guarded: bool
    target: str

    @property
    def head(self) -> str:
        return self.opcode.partition(".")[0]

    @property
    def bytes(self) -> int:
        """What a thread moves from or to global memory."""
        if self.head not in ("LDG", "STG"):
            return 0
        return next((BITS[part] for part in self.opcode.split(".") if part in BITS), 4)


class ThreadWay(Struct, frozen=True):
    """The instructions on the way of a thread, those of called functions among them.

    `repeated` are those of them that stand in a loop; on the way, each stands once.
    """

    instructions: tuple[MachineInstruction, ...]
    repeated: tuple[MachineInstruction, ...]
    loops: bool


def parse(listing: str, entry: str) -> tuple[list[MachineInstruction], dict[str, int]]:
    """Return the instructions of a kernel's section, and where its labels stand."""
    code, labels, inside = list[MachineInstruction](), dict[str, int](), False
    for line in listing.splitlines():
        if section := _SECTION.match(line):
            inside = section[1] == entry
        elif inside and (label := _LABEL.match(line)):
            labels[label[1]] = len(code)
        elif inside and (found := _INSTRUCTION.match(line)):
            target = re.search(r"`\(([^)]*)\)", found[3])
            # A branch may have its predicate among its operands.
            guarded = bool(found[1]) or (found[2].startswith("BRA") and bool(re.match(r"\s*!?U?P\d", found[3])))
            code.append(MachineInstruction(found[2], guarded, target[1] if target else ""))
    return code, labels


def shortest(code: Sequence[MachineInstruction], labels: Mapping[str, int]) -> ThreadWay:
    """Return the shortest of the ways that move the most bytes; a loop on it is gone through once."""
    best: dict[int, tuple[int, int, bool]] = {}  # from here to the end: bytes, instructions, loops
    following: dict[int, int] = {}
    called: dict[int, ThreadWay] = {}
    open_ = set[int]()

    def after(at: int) -> list[int]:
        each = code[at]
        if each.head in ("EXIT", "RET"):
            return [at + 1] if each.guarded else []
        if each.head in ("BRA", "JMP") and "DIV" not in each.opcode:
            return [labels[each.target], at + 1] if each.guarded else [labels[each.target]]
        return [at + 1]

    stack = [0]
    while stack:
        at = stack[-1]
        open_.add(at)
        if todo := [other for other in after(at) if other not in best and other not in open_]:
            stack.append(todo[-1])
            continue
        each = code[at]
        ways = [(best[other], other) for other in after(at) if other in best]
        (moved, taken, loops), other = max(ways, key=lambda w: (w[0][0], -w[0][1]), default=((0, 0, False), -1))
        following[at] = other
        if each.head == "CALL":
            start = labels[each.target]
            called[at] = shortest(code[start:], {name: place - start for name, place in labels.items()})
            taken, loops = taken + len(called[at].instructions), loops or called[at].loops
        loops |= any(other in open_ for other in after(at))
        best[at] = moved + each.bytes, taken + (each.head != "NOP"), loops
        open_.discard(at)
        stack.pop()
    jumps = [(at, each.target) for at, each in enumerate(code) if each.head in ("BRA", "JMP") and each.target in labels]
    back = [(labels[target], at) for at, target in jumps if labels[target] <= at]
    found, repeated, at = list[MachineInstruction](), list[MachineInstruction](), 0
    while at >= 0:
        way = called[at].instructions if at in called else ()
        own = [*([code[at]] if code[at].head != "NOP" else []), *way]
        found += own
        if any(first <= at <= last for first, last in back):
            repeated += own
        at = following[at]
    return ThreadWay(tuple(found), tuple(repeated), best[0][2])


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
