"""What nvdisasm says of a kernel: its instructions, and those on the way of a thread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

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
