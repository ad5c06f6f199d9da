"""An oracle for kernels without holes: a plain interpreter, one number a thread, all threads of a block in lockstep.

It shares no code with the symbolic machine, the passes or the printer. A read of something unwritten or out of
bounds is an AssertionError. A copy that a thread has begun reads its source when it arrives, at the wait.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from symbolic.ir import program as ir
from symbolic.ir.program import DType

NUMPY = {
    DType.INDEX: np.int64, DType.BOOL: np.bool_, DType.F16: np.float16, DType.F32: np.float32, DType.F64: np.float64,
    DType.I32: np.int32, DType.U32: np.uint32, DType.I64: np.int64, DType.U64: np.uint64,
}  # fmt: skip
OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "min": min, "max": max,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def run(program: ir.Program, arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Return every parameter after the kernel ran on copies of the arrays; what `out` arrays held is forgotten."""
    memory: dict[str, dict[Any, Any]] = {}
    for parameter in program.parameters:
        given = arrays[parameter.name].astype(NUMPY[parameter.dtype]).reshape(parameter.shape)
        memory[parameter.name] = {} if parameter.role == "out" else dict(np.ndenumerate(given))
    grid_x, grid_y, grid_z = program.grid
    for z, y, x in itertools.product(range(grid_z), range(grid_y), range(grid_x)):
        block = Block(program, (x, y, z), memory)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            block.body(program.body, list(range(block.count)))
    found = {}
    for parameter in program.parameters:
        array = arrays[parameter.name].astype(NUMPY[parameter.dtype]).reshape(parameter.shape).copy()
        for place, value in memory[parameter.name].items():
            array[place] = value
        found[parameter.name] = array
    return found


class Block:
    """One block: scalars[thread][name], arrays shared by name, local arrays and accumulators per thread."""

    def __init__(self, program: ir.Program, index: tuple[int, int, int], memory: dict[str, dict[Any, Any]]) -> None:
        self.program, self.index = program, index
        self.count = math.prod(program.block)
        self.memory = dict(memory)
        self.shapes = {parameter.name: parameter.shape for parameter in program.parameters}
        self.scalars: list[dict[str, Any]] = [{} for _ in range(self.count)]
        self.local: list[dict[str, dict[Any, Any]]] = [{} for _ in range(self.count)]
        self.types = {parameter.name: parameter.dtype for parameter in program.parameters}
        self.accumulators: dict[str, ir.DeclareAccumulator] = {}
        self.groups = [0] * self.count
        self.begun: list[tuple[int, int, str, tuple[int, ...], str, tuple[int, ...] | None]] = []

    def body(self, body: tuple[ir.Stmt, ...], lanes: list[int]) -> None:
        for stmt in body:
            if lanes:
                self.statement(stmt, lanes)

    def statement(self, stmt: ir.Stmt, lanes: list[int]) -> None:
        if isinstance(stmt, ir.Assign):
            for t, value in self.values(stmt.value, lanes).items():
                self.scalars[t][stmt.name] = value
        elif isinstance(stmt, ir.Store):
            places, values = self.places(stmt.array, stmt.indices, lanes), self.values(stmt.value, lanes)
            for t in lanes:
                cells, value = self.cells(stmt.array, t), NUMPY[self.types[stmt.array]](values[t])
                cells[places[t]] = OPERATORS[stmt.joins](cells[places[t]], value) if stmt.atomic else value
        elif isinstance(stmt, ir.DeclareArray):
            self.shapes[stmt.name], self.types[stmt.name] = stmt.shape, stmt.dtype
            if stmt.memory == "shared":
                self.memory[stmt.name] = {}
            for t in lanes:
                if stmt.memory == "local":
                    self.local[t][stmt.name] = {}
        elif isinstance(stmt, ir.DeclareAccumulator):
            self.accumulators[stmt.name], self.shapes[stmt.name] = stmt, stmt.shape
            for t in lanes:
                start = None if stmt.init is None else NUMPY[stmt.dtype](stmt.init.value)
                self.local[t][stmt.name] = dict.fromkeys(np.ndindex(stmt.shape), start)
        elif isinstance(stmt, ir.Accumulate):
            self.accumulate(stmt, lanes)
        elif isinstance(stmt, ir.For):
            bounds = [self.uniform(bound, lanes) for bound in (stmt.start, stmt.stop, stmt.step)]
            for value in range(*bounds):
                for t in lanes:
                    self.scalars[t][stmt.variable] = value
                self.body(stmt.body, lanes)
        elif isinstance(stmt, ir.If):
            chosen = self.values(stmt.condition, lanes)
            self.body(stmt.then, [t for t in lanes if chosen[t]])
            self.body(stmt.otherwise, [t for t in lanes if not chosen[t]])
        elif isinstance(stmt, ir.CopyAsync):
            self.copy(stmt, lanes)
        elif isinstance(stmt, ir.CopyGroup):
            for t in lanes:
                self.groups[t] += stmt.left is None
                if stmt.left is not None:
                    self.arrive([c for c in self.begun if c[0] == t and c[1] < self.groups[t] - stmt.left])
        else:
            assert isinstance(stmt, ir.Barrier), stmt

    def copy(self, stmt: ir.CopyAsync, lanes: list[int]) -> None:
        """Begin copies: for each element the thread, its group, where it goes and where it comes from, None for 0."""
        chosen = dict.fromkeys(lanes, True)
        if isinstance(stmt.source, ir.Select):
            chosen = self.values(stmt.source.condition, lanes)
        into = self.places(stmt.array, stmt.indices, lanes)
        given = self.places(stmt.load.array, stmt.load.indices, [t for t in lanes if chosen[t]])
        for array, places in ((stmt.array, into), (stmt.load.array, given)):
            for place in places.values():
                *_, last = place
                assert last + stmt.width <= self.shapes[array][-1] or stmt.width == 1
                assert np.ravel_multi_index(place, self.shapes[array]) % stmt.width == 0, f"{array}{place}"
        for t in lanes:
            for k in range(stmt.width):
                to = (*into[t][:-1], into[t][-1] + k)
                self.memory[stmt.array].pop(to, None)
                source = (*given[t][:-1], given[t][-1] + k) if chosen[t] else None
                self.begun.append((t, self.groups[t], stmt.array, to, stmt.load.array, source))

    def arrive(self, some: list[tuple[int, int, str, tuple[int, ...], str, tuple[int, ...] | None]]) -> None:
        """Let copies arrive."""
        for copy in some:
            _, _, array, place, given, source = copy
            zero = NUMPY[self.types[array]](0)
            self.memory[array][place] = zero if source is None else self.memory[given][source]
        self.begun = [copy for copy in self.begun if copy not in some]

    def accumulate(self, stmt: ir.Accumulate, lanes: list[int]) -> None:
        declared = self.accumulators[stmt.accumulator]
        if stmt.condition is not None:
            chosen = self.values(stmt.condition, lanes)
            lanes = [t for t in lanes if chosen[t]]
        operands = [self.values(operand, lanes) for operand in stmt.operands]
        places = self.places(stmt.accumulator, stmt.indices, lanes)
        for t in lanes:
            value = operands[0][t]
            for operand in operands[1:]:
                value = OPERATORS[declared.inner or ""](value, operand[t])
            cells = self.local[t][stmt.accumulator]
            old = cells[places[t]]
            cells[places[t]] = value if old is None else OPERATORS[declared.outer](old, value)

    def uniform(self, expr: ir.Expr, lanes: list[int]) -> int:
        values = set(self.values(expr, lanes).values())
        assert len(values) == 1, f"{values} differ between threads"
        return int(values.pop())

    def cells(self, array: str, t: int) -> dict[Any, Any]:
        return self.local[t][array] if array in self.local[t] else self.memory[array]

    def places(self, array: str, indices: tuple[ir.Expr, ...], lanes: list[int]) -> dict[int, tuple[int, ...]]:
        columns = [self.values(index, lanes) for index in indices]
        found = {t: tuple(int(column[t]) for column in columns) for t in lanes}
        for place in found.values():
            inside = [0 <= i < extent for i, extent in zip(place, self.shapes[array], strict=True)]
            assert all(inside), f"{array}{list(place)} is out of bounds"
        return found

    def values(self, expr: ir.Expr, lanes: list[int]) -> dict[int, Any]:
        """Return the expression's value for each of the lanes."""
        if isinstance(expr, ir.Const):
            return dict.fromkeys(lanes, expr.value if not expr.dtype.is_data else NUMPY[expr.dtype](expr.value))
        if isinstance(expr, ir.Var):
            return {t: self.scalars[t][expr.name] for t in lanes}
        if isinstance(expr, ir.Coordinate):
            return {t: self.coordinate(expr, t) for t in lanes}
        if isinstance(expr, ir.Unary):
            operand = self.values(expr.operand, lanes)
            unary = {"-": lambda v: -v, "~": lambda v: ~v, "not": lambda v: not v, "abs": abs}[expr.op]
            return {t: unary(operand[t]) for t in lanes}
        if isinstance(expr, ir.Binary | ir.Compare):
            left, right = self.values(expr.left, lanes), self.values(expr.right, lanes)
            return {t: OPERATORS[expr.op](left[t], right[t]) for t in lanes}
        if isinstance(expr, ir.Logic):
            left, right = self.values(expr.left, lanes), self.values(expr.right, lanes)
            return {t: left[t] and right[t] if expr.op == "and" else left[t] or right[t] for t in lanes}
        if isinstance(expr, ir.Select):
            chosen = self.values(expr.condition, lanes)
            then = self.values(expr.then, [t for t in lanes if chosen[t]])
            return {**then, **self.values(expr.otherwise, [t for t in lanes if not chosen[t]])}
        if isinstance(expr, ir.Cast):
            return {t: NUMPY[expr.dtype](value) for t, value in self.values(expr.operand, lanes).items()}
        if isinstance(expr, ir.Load):
            places = self.places(expr.array, expr.indices, lanes)
            return {t: self.cells(expr.array, t)[places[t]] for t in lanes}
        if isinstance(expr, ir.Shuffle):
            return self.shuffle(expr, lanes)
        assert isinstance(expr, ir.AccumulatorValue), expr
        places, final = self.places(expr.accumulator, expr.indices, lanes), self.accumulators[expr.accumulator].final
        reduced = {t: self.local[t][expr.accumulator][places[t]] for t in lanes}
        if final is None:
            return reduced
        for t in lanes:
            self.scalars[t][final.parameter] = reduced[t]
        return self.values(final.body, lanes)

    def shuffle(self, expr: ir.Shuffle, lanes: list[int]) -> dict[int, Any]:
        offered, lane, width = self.values(expr.value, lanes), self.values(expr.lane, lanes), self.program.warp_size
        found = {}
        for t in lanes:
            base, own, amount = t - t % width, t % width, lane[t]
            source = {"idx": amount % width, "up": own - amount, "down": own + amount, "xor": own ^ amount}[expr.mode]
            found[t] = offered[base + (source if 0 <= source < width else own)]
        return found

    def coordinate(self, expr: ir.Coordinate, t: int) -> int:
        size_x, size_y, _ = size = self.program.block
        thread = (t % size_x, t // size_x % size_y, t // size_x // size_y)
        width = self.program.warp_size
        axis = "xyz".index(expr.axis)
        return {
            "threadIdx": thread[axis], "blockIdx": self.index[axis], "blockDim": size[axis],
            "gridDim": self.program.grid[axis], "laneid": t % width, "warpid": t // width, "warpsize": width,
        }[expr.name]  # fmt: skip
