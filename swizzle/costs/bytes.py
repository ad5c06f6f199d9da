"""Bytes: how much shared memory a block needs, from the beginning of each array to the last word that is touched.

It is what the arrays could be cut down to. Accesses are those of the printed kernel, with vectors as wide as there.
"""

from __future__ import annotations

from swizzle.costs.cost import Cost, Filled


class Bytes(Cost):
    """How many bytes of shared memory are in use, in the block that uses most of each array."""

    name = "bytes"

    def of_run(self, filled: Filled) -> int:
        ends: dict[str, int] = {}
        for access in filled.accesses:
            if access.memory == "shared":
                last = max(access.wanted)
                end = (last // access.width + 1) * access.width * access.size
                ends[access.array] = max(end, ends.get(access.array, 0))
        return sum(ends.values())
