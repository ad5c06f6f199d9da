"""Where every thread of a launch sits: thread, block, lane and warp coordinates as lanes over the whole grid.

Threads are numbered block by block (x fastest), inside a block by linear thread index (x fastest).
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from msgspec import Struct

from symbolic.errors import SwizzleError
from symbolic.ir.program import LANES, Coordinate, Program
from symbolic.values.vector import Lanes

_AXES = {"x": 0, "y": 1, "z": 2}
Number = TypeVar("Number", int, Lanes)


def require_hardware_warp(program: Program) -> None:
    """Refuse to print or run a program whose warp is larger than any NVIDIA GPU's."""
    if program.warp_size > LANES:
        raise SwizzleError(
            f"{program.name} has warps of {program.warp_size} lanes, which no NVIDIA GPU has",
            place=program.place,
            expected=f"a warp size up to {LANES} for what is printed or run; larger warps are a model to solve",
            fix=f"solve or check it without printing, or set the sketch's warp_size to {LANES}",
        )


class LaunchShape(Struct, frozen=True):
    """The threads of one launch; `count` of them, `block_threads` in a block.

    `copies` of the whole grid stand side by side: as many launches, whose threads have the same coordinates.
    """

    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    warp_size: int
    copies: int = 1

    @staticmethod
    def of(program: Program, copies: int = 1) -> LaunchShape:
        return LaunchShape(program.block, program.grid, program.warp_size, copies)

    @property
    def block_threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2] * self.copies

    @property
    def copy_of(self) -> Lanes:
        return self.thread // (self.count // self.copies)

    @property
    def count(self) -> int:
        return self.block_threads * self.blocks

    @property
    def thread(self) -> Lanes:
        return np.arange(self.count, dtype=np.int64)

    @property
    def block_of(self) -> Lanes:
        return self.thread // self.block_threads

    @property
    def lane(self) -> Lanes:
        return self.thread % self.block_threads % self.warp_size

    @property
    def warp_base(self) -> Lanes:
        """The number of each thread's lane 0."""
        return self.thread - self.lane

    @property
    def convergence_base(self) -> Lanes:
        """The number of the first thread that must be at a warp operation with each thread.

        A sketch's warp may be smaller than the hardware's 32 lanes; a shuffle or syncwarp is printed for all of those.
        """
        inner = self.thread % self.block_threads
        found: Lanes = self.thread - inner % max(self.warp_size, LANES)
        return found

    @property
    def warp_lanes(self) -> Lanes:
        """How many lanes each thread's warp has (the last warp of a block may be short)."""
        left = self.block_threads - self.warp_base % self.block_threads
        found: Lanes = np.minimum(left, self.warp_size)
        return found

    def coordinate(self, node: Coordinate) -> Lanes:
        """Return a coordinate for every thread."""
        axis = _AXES[node.axis]
        inner = self.thread % self.block_threads
        match node.name:
            case "threadIdx":
                return _axis(inner, self.block, axis)
            case "blockIdx":
                return _axis(self.block_of, self.grid, axis)
            case "blockDim":
                return np.full(self.count, self.block[axis], np.int64)
            case "gridDim":
                return np.full(self.count, self.grid[axis], np.int64)
            case "laneid":
                return self.lane
            case "warpid":
                return inner // self.warp_size
            case "warpsize":
                return np.full(self.count, self.warp_size, np.int64)
            case "before" | "left":
                raise AssertionError(f"{node.name}.{node.axis} is known of arrays of some length only")

    def describe(self, thread: int) -> str:
        """Return `block (1, 0, 0), thread (5, 0, 0), lane 5` for a thread number."""
        inner = thread % self.block_threads
        block = tuple(_axis(thread // self.block_threads, self.grid, axis) for axis in range(3))
        position = tuple(_axis(inner, self.block, axis) for axis in range(3))
        return f"block {block}, thread {position}, lane {inner % self.warp_size}"


def _axis(number: Number, extents: tuple[int, int, int], axis: int) -> Number:
    """Return one coordinate of a thread number, or of each in an array; the first axis counts fastest."""
    return number // math.prod(extents[:axis]) % extents[axis]
