"""Bank conflicts and sectors, counted a second time: thread by thread, byte by byte.

The search counts them on the machine's arrays of all threads (`cuda_out.passes.printed_accesses`). Here a warp's lanes
execute the printed program one after the other, with Python's numbers for index values and nothing for data, and the
counts are the hardware's definitions. Which loops are one vector access is the printer's decision, as it is there.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from typing_extensions import assert_never

from symbolic.ir import program as ir
from symbolic.ir.matrices import MatrixMove
from symbolic.ir.program import Expr, Program, Stmt
from symbolic.limits import look

_OPERATORS: Final[dict[str, Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "min": min, "max": max, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_UNARY: Final[dict[str, Any]] = {"-": operator.neg, "~": operator.invert, "not": operator.not_, "abs": abs}


class Moved(Struct, frozen=True):
    """One access of one warp: for each lane that is on, the bytes [first, first + size) of an array."""

    array: str
    shared: bool
    size: int
    first: dict[int, int]


def extra_turns(program: Program, banks: int, word: int) -> int:
    """Return the bank conflicts of a program without holes: the turns beyond one of each group served together.

    A memory of `banks` banks that are `word` bytes wide serves as many lanes together as fill the banks once.
    """
    total = 0
    for moved in moves(program):
        if moved.shared:
            groups: dict[int, set[int]] = defaultdict(set)  # which words the lanes of a group want
            together = max(1, banks * word // max(moved.size, word))
            for lane, first in moved.first.items():
                groups[lane // together] |= {byte // word for byte in range(first, first + moved.size)}
            for words in groups.values():
                total += max(sum(1 for each in words if each % banks == bank) for bank in range(banks)) - 1
    return total


def touched_sectors(program: Program, sector: int = 32) -> int:
    """Return how many sectors the warps of a program without holes touch in global memory, over all accesses."""
    return sum(
        len({byte // sector for first in moved.first.values() for byte in range(first, first + moved.size)})
        for moved in moves(program)
        if not moved.shared
    )


def moves(program: Program) -> Iterator[Moved]:
    """Yield every access of every warp to global and shared memory, for a program without holes, as it is printed."""
    from cuda_out.passes.pipeline import optimize
    from cuda_out.passes.vectors import vector_accesses

    program = optimize(program)
    vectors = {id(loop): vector.width for loop, vector in vector_accesses(program).items()}
    threads, size = math.prod(program.block), program.warp_size
    for block in itertools.product(*map(range, program.grid)):
        for first in range(0, threads, size):
            look()
            warp = _Warp(program, block, range(first, min(first + size, threads)), vectors)
            warp.run(program.body, list(range(len(warp.scalars))))
            yield from warp.moved


class _Warp:
    """The lanes of a warp, one after the other: their index variables, and what they moved."""

    def __init__(self, program: Program, block: Sequence[int], threads: range, vectors: dict[int, int]) -> None:
        self.program, self.block, self.threads, self.vectors = program, block, threads, vectors
        self.scalars: list[dict[str, Any]] = [{} for _ in threads]
        self.arrays: dict[str, ir.Parameter | ir.DeclareArray] = {p.name: p for p in program.parameters}
        self.moved: list[Moved] = []
        self.width = 1

    def run(self, body: Sequence[Stmt], lanes: list[int]) -> None:
        for stmt in body if lanes else ():
            self.statement(stmt, lanes)

    def statement(self, stmt: Stmt, lanes: list[int]) -> None:
        match stmt:
            case ir.Assign(name=name, value=value):
                for lane, found in self.values(value, lanes).items():
                    self.scalars[lane][name] = found
            case ir.Store(array=array, indices=indices, value=value):
                self.values(value, lanes)
                self.access(array, indices, lanes)
            case ir.Accumulate(operands=operands, condition=condition):
                on = lanes if condition is None else [lane for lane, v in self.values(condition, lanes).items() if v]
                for operand in operands:
                    self.values(operand, on)
            case ir.For(variable=variable, body=body):
                ((start, stop, step),) = {
                    tuple(self.values(bound, [lane])[lane] for bound in (stmt.start, stmt.stop, stmt.step))
                    for lane in lanes
                }
                width = self.vectors.get(id(stmt), 0)
                self.width = width or self.width
                for number in (start,) if width else range(start, stop, step):  # a vector moves with its first element
                    for lane in lanes:
                        self.scalars[lane][variable] = number
                    self.run(body, lanes)
                self.width = 1 if width else self.width
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                chosen = self.values(condition, lanes)
                self.run(then, [lane for lane in lanes if chosen[lane]])
                self.run(otherwise, [lane for lane in lanes if not chosen[lane]])
            case ir.DeclareArray(name=name):
                self.arrays[name] = stmt
            case ir.CopyAsync(array=array, indices=indices, source=source):
                self.width = stmt.width
                self.values(source, lanes)
                self.access(array, indices, lanes)
                self.width = 1
            case ir.DeclareAccumulator() | ir.Barrier() | ir.CopyGroup():
                pass
            case ir.WarpInstruction(row=row, operands=operands):
                matrices = row.count if isinstance(row, MatrixMove) else 0
                for operand in operands if matrices else ():
                    declared = self.arrays[operand.array] if isinstance(operand, ir.Load) else None
                    if isinstance(declared, ir.DeclareArray) and declared.memory == "shared":
                        self.rows(operand, matrices, lanes)
            case never:
                assert_never(never)

    def access(self, array: str, indices: Sequence[Expr], lanes: list[int]) -> None:
        """Note what lanes move at once: an element, or the aligned vector of which they name the first one."""
        columns, declared = [self.values(index, lanes) for index in indices], self.arrays[array]
        apart = declared.is_scalar if isinstance(declared, ir.Parameter) else declared.memory == "local"
        if apart or not lanes:
            return
        size, first = declared.dtype.bits // 8, {}
        for lane in lanes:
            cell = 0
            for extent, column in zip(declared.shape, columns, strict=True):
                cell = cell * extent + column[lane]
            first[lane] = cell * size
        self.moved.append(Moved(array, isinstance(declared, ir.DeclareArray), size * self.width, first))

    def rows(self, operand: Expr, matrices: int, lanes: list[int]) -> None:
        """Note the rows of 16 bytes that lanes 0 to 8 * matrices name, which memory serves eight at a time."""
        assert isinstance(operand, ir.Load)
        before = len(self.moved)
        self.access(operand.array, operand.indices, lanes)
        (named,) = self.moved[before:]
        first = {lane: byte for lane, byte in named.first.items() if lane < 8 * matrices}
        self.moved[before:] = [Moved(named.array, True, 16, first)]

    def values(self, expr: Expr, lanes: list[int]) -> dict[int, Any]:
        """Return an index value of each lane, None where it is data; what is loaded on the way is noted."""
        match expr:
            case ir.Const(value=value, dtype=dtype):
                return dict.fromkeys(lanes, None if dtype.is_data else value)
            case ir.Var(name=name):
                return {lane: self.scalars[lane].get(name) for lane in lanes}
            case ir.Coordinate():
                return {lane: self.coordinate(expr, self.threads[lane]) for lane in lanes}
            case ir.Unary(op=op, operand=operand):
                found = self.values(operand, lanes)
                return {lane: None if found[lane] is None else _UNARY[op](found[lane]) for lane in lanes}
            case ir.Binary(left=left, right=right) | ir.Compare(left=left, right=right):
                one, other = self.values(left, lanes), self.values(right, lanes)
                if expr.dtype.is_data:
                    return dict.fromkeys(lanes)
                return {lane: _OPERATORS[expr.op](one[lane], other[lane]) for lane in lanes}
            case ir.Logic(op=op, left=left, right=right):
                one, other = self.values(left, lanes), self.values(right, lanes)
                return {lane: (all if op == "and" else any)((one[lane], other[lane])) for lane in lanes}
            case ir.Select(condition=condition, then=then, otherwise=otherwise):
                chosen = self.values(condition, lanes)
                found = self.values(then, [lane for lane in lanes if chosen[lane]])
                return found | self.values(otherwise, [lane for lane in lanes if not chosen[lane]])
            case ir.Lookup(entries=entries, index=index):
                found = self.values(index, lanes)
                return {lane: entries[min(max(found[lane], 0), len(entries) - 1)] for lane in lanes}
            case ir.Load(array=array, indices=indices):
                self.access(array, indices, lanes)
            case ir.Shuffle():
                return self.shuffled(expr, lanes)
            case ir.Apply(operands=operands):
                for operand in operands:
                    self.values(operand, lanes)
            case ir.Cast(operand=operand):
                self.values(operand, lanes)
            case ir.AccumulatorValue(accumulator=_):
                pass  # what it adds up was loaded where it was accumulated; the passes write its final function out
            case ir.HoleCall():
                raise AssertionError("a hole that is open")
            case never:
                assert_never(never)
        return dict.fromkeys(lanes)

    def shuffled(self, expr: ir.Shuffle, lanes: list[int]) -> dict[int, Any]:
        offered, asked, size = self.values(expr.value, lanes), self.values(expr.lane, lanes), self.program.warp_size
        if expr.dtype.is_data:
            return dict.fromkeys(lanes)
        found = {}
        for lane in lanes:
            at = {"idx": asked[lane] % size, "up": lane - asked[lane], "down": lane + asked[lane]}
            source = at.get(expr.mode, lane ^ asked[lane])
            found[lane] = offered[source if 0 <= source < size else lane]
        return found

    def coordinate(self, expr: ir.Coordinate, thread: int) -> int:
        axis, (wide, high, _) = "xyz".index(expr.axis), self.program.block
        match expr.name:
            case "threadIdx":
                return (thread % wide, thread // wide % high, thread // (wide * high))[axis]
            case "blockIdx":
                return self.block[axis]
            case "blockDim":
                return self.program.block[axis]
            case "gridDim":
                return self.program.grid[axis]
            case "laneid":
                return thread % self.program.warp_size
            case "warpid":
                return thread // self.program.warp_size
            case "warpsize":
                return self.program.warp_size
            case "before" | "left":
                raise AssertionError(f"{expr.name}.{expr.axis} is known of arrays of some length only")
            case never:
                assert_never(never)
