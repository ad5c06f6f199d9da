"""All rows: which instruction of PTX a name is.

An instruction in no form, or whose operands have other types, is refused: what would be ignored might change what it
does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache, partial
from typing import Final

import numpy as np

from cuda_out.ptx.instructions.bits import BITS
from cuda_out.ptx.instructions.choices import CHOICES
from cuda_out.ptx.instructions.conversions import CONVERSIONS
from cuda_out.ptx.instructions.effects import AS_BITS, EFFECTS
from cuda_out.ptx.instructions.halves import HALVES
from cuda_out.ptx.instructions.operation import InstructionForm, InstructionRow, Operation
from cuda_out.ptx.instructions.quotients import QUOTIENTS
from cuda_out.ptx.instructions.sums import SUMS
from cuda_out.ptx.kinds import KINDS, Typed
from cuda_out.ptx.syntax import Instruction, NotInterpreted, names_of

ROWS: Final[tuple[InstructionRow, ...]] = (*SUMS, *QUOTIENTS, *HALVES, *BITS, *CHOICES, *CONVERSIONS)
"""The pure instructions."""
_PATTERNS: Final = [
    (re.compile(pattern), tuple(tuple(way.split()) for way in operands.split("|")), row)
    for row in (*ROWS, InstructionRow(EFFECTS))
    for pattern, operands in row.forms
]


@cache
def _found(op: tuple[str, ...]) -> tuple[InstructionForm, InstructionRow] | None:
    for pattern, ways, row in _PATTERNS:
        if found := pattern.fullmatch(".".join(op)):
            said = found.groupdict(default="")
            count = int((said.get("vector") or ".v1")[2:])
            space = said.get("space") or None
            kind = said.get("t") or AS_BITS.get(said.get("bits", ""), "")
            return InstructionForm(kind, said.get("s", ""), space, count, ways, op, said), row
    return None


def form(op: tuple[str, ...]) -> InstructionForm | None:
    """Return the form of an instruction's name, None for one that is not known."""
    found = _found(op)
    return found[0] if found else None


@cache
def decode(op: tuple[str, ...]) -> Operation:
    """Return what a pure instruction does; raise NotInterpreted for one that is not known."""
    known, row = _found(op) or (None, None)
    if known is None or row is None or row.numbers is None:
        raise NotInterpreted(".".join(op))
    result, *sources = map(known.type_of, known.ways[0])
    join = known.said.get("join")
    more = {"op": op[0], "whole": "_".join(op), "joined": f".{join}" if join else ""}
    name = row.name.format_map(defaultdict(str, {**known.said, **more}))
    operation = Operation(name, tuple(sources), result, row.numbers, None, row, known)
    operation.compute = partial(row.numbers, operation)
    return operation


@cache
def packing(size: int, count: int) -> Operation:
    """Return what puts values of `size` bits side by side, the first one lowest."""

    def joined(*values: Typed) -> Typed:
        parts = (value.astype(np.uint64) << np.uint64(size * place) for place, value in enumerate(values))
        found: Typed = np.bitwise_or.reduce(list(parts)).astype(KINDS[f"b{size * count}"])
        return found

    row = InstructionRow(term=lambda o, n, v: n.joined(size, v))
    return Operation(f"pack.b{size}", (f"b{size}",) * count, f"b{size * count}", joined, None, row)


def written_and_read(instruction: Instruction) -> tuple[list[str], list[str]]:
    """Return the registers that an instruction writes, and those that it reads, but for its guard."""
    known, operands = form(instruction.op), instruction.operands
    assert known is not None, "the reader knows every instruction that runs"
    if known.ways == (("label",),):
        return [], []
    way = next((way for way in known.ways if len(way) == len(operands)), ("=",))  # of a call, and of fragments
    written = 1 if known.space == "param" and "stored" in way else sum(says[0] == "=" for says in way)
    targets = [name for each in operands[:written] for name in names_of(each)]
    return targets, [name for each in operands[written:] for name in names_of(each)]
