"""Where the shared arrays of a block are, if they are too large to be declared with their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from msgspec import Struct

from symbolic.ir.program import DeclareArray, Program
from symbolic.ir.walk import statements

MOST_STATIC: Final = 48 * 1024
"""As many bytes may be declared with their sizes; more are dynamic shared memory, whose size the launch gives."""
MOST_SHARED: Final = {"sm_75": 65536, "sm_80": 166912, "sm_90": 232448, "sm_100": 232448}
"""As many bytes may a block have of an architecture, as CUDA's guide says (compute capabilities)."""
ALIGNMENT: Final = 16
"""What each array begins at a multiple of: the bytes of the widest vector."""


class DynamicShared(Struct, frozen=True):
    """Dynamic shared memory: where each array begins, and how many bytes they take together; 0 where there is none."""

    offsets: Mapping[str, int]
    bytes: int


def dynamic_shared(program: Program) -> DynamicShared:
    """Place the shared arrays of a program, as it is printed, one behind the other if they need to be dynamic."""
    arrays = [stmt for stmt in statements(program.body) if isinstance(stmt, DeclareArray) and stmt.memory == "shared"]
    sizes = {array.name: prod(array.shape) * array.dtype.bits // 8 for array in arrays}
    if sum(sizes.values()) <= MOST_STATIC:
        return DynamicShared({}, 0)
    offsets, end = {}, 0
    for name, size in sizes.items():
        offsets[name] = -(-end // ALIGNMENT) * ALIGNMENT
        end = offsets[name] + size
    return DynamicShared(offsets, end)
