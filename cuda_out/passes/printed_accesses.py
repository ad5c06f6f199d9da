"""What the warps of a printed kernel move at once: the machine's addresses, with the widths of the printed text.

The passes make vectors of neighbouring words (`cuda_out.passes.vectors`), so elements that the sketch moves word by
word may be one `float4` in the printed text. The optimized program is run as it is printed, without data, because no
address depends on data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.passes.packed_words import PackedWords
from cuda_out.passes.pipeline import optimize
from cuda_out.passes.vectors import arrays_in_memory, vector_accesses
from symbolic.errors import Place
from symbolic.ir.matrices import ROW_BYTES, MatrixMove
from symbolic.ir.program import (
    CopyAsync,
    DeclareArray,
    DType,
    Expr,
    For,
    FunctionName,
    Load,
    Parameter,
    Program,
    Select,
    Shuffle,
    Stmt,
    Store,
    WarpInstruction,
)
from symbolic.ir.warp_meaning import row_operand
from symbolic.machine.accesses import WORD, WarpAccess, bytes_of
from symbolic.machine.arrays import NamedRows
from symbolic.machine.machine import Machine
from symbolic.values.vector import Lanes
from symbolic.values.vector import Vector as Steering

Spot: TypeAlias = tuple[str, bool, Place]  # an array, whether it is written, and where in the sketch


class PrintedMoves(Struct, frozen=True):
    """What all warps of a kernel do as it is printed: accesses to memory, and how many words they shuffle, and choose
    by a condition or put together; 8 bytes are two words."""

    accesses: list[WarpAccess]
    shuffles: int
    selects: int


def printed_moves(program: Program) -> PrintedMoves:
    """Return what a program without holes moves, as it is printed."""
    listener = _run(program)
    size, threads = program.warp_size, listener.shape.block_threads
    warps = [slice(a, min(a + size, b + threads)) for b in range(0, listener.shape.count, threads)
             for a in range(b, b + threads, size)]  # fmt: skip
    found = []
    for (array, writes, _), width, cells in listener.heard:
        declared = listener.far[array]
        memory = "global" if isinstance(declared, Parameter) else "shared"
        every = cells.tolist()
        for lanes in warps:
            own = tuple(every[lanes])
            if max(own) >= 0:
                found.append(
                    WarpAccess(array, memory, writes, declared.shape, bytes_of(declared.dtype), own, width)  # type: ignore[arg-type]
                )
    return PrintedMoves(found, listener.shuffled, listener.selected)


def printed_widths(program: Program) -> dict[Spot, int]:
    """Return how many elements each access moves at once, if that is the same in every execution."""
    found: dict[Spot, int] = {}
    for spot, width, _ in _run(program).heard:
        found[spot] = width if found.get(spot, width) == width else 1
    return found


def _run(program: Program) -> _Listener:
    listener = _Listener(optimize(program))
    listener.run()
    return listener


class _NoData:
    """An algebra in which all data is nothing."""

    rounds = False

    def blank(self, size: int, dtype: DType) -> Lanes:
        return np.zeros(size, np.bool_)

    def constant(self, value: Any, dtype: DType) -> Any:
        return np.False_

    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes:
        return a

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        return a

    def apply(self, function: FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes:
        return operands[0]

    def gather(self, array: str, cells: Lanes, base: Lanes, at: Lanes) -> Lanes:
        return at

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        return a

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        return np.zeros(1, np.bool_)


class _Listener(Machine):
    """The machine, keeping what each access to memory asks of all threads: its cells, -1 where a thread is off."""

    def __init__(self, program: Program) -> None:
        inputs = {p.name: np.zeros(int(np.prod(p.shape, dtype=np.int64)), np.bool_) for p in program.parameters}
        super().__init__(program, _NoData(), inputs)
        self.arrays.on_access = self._hear
        self.arrays.on_rows = self._hear_rows
        self.far: dict[str, Parameter | DeclareArray] = arrays_in_memory(program)
        self.heard: list[tuple[Spot, int, Lanes]] = []
        self.shuffled = self.selected = 0
        self._vectors = vector_accesses(program)
        self._words = PackedWords(program)
        self._width = 1

    def execute(self, statement: Stmt, mask: Steering) -> None:
        if isinstance(statement, WarpInstruction):  # it is one instruction, and no data is asked for
            row = row_operand(statement)
            if row is not None:
                self.arrays.note_row(statement, row, self._indices(row, mask), mask)
            return
        move = self._words.moves.get(id(statement))
        if move is not None or id(statement) in self._words.parts:  # one instruction for the elements of a word
            known = self.shuffled, self.selected
            super().execute(statement, mask)
            self.shuffled, self.selected = known
            if move is not None:
                assert isinstance(mask, np.ndarray), "a filling leaves nothing open"
                warps = len(np.unique(self.shape.warp_base[mask]))
                self.shuffled += warps * (move.shuffle is not None)
                self.selected += warps * (move.shuffle is None and not move.is_copy)
            return
        if isinstance(statement, CopyAsync):
            before, self._width = len(self.heard), statement.width
            super().execute(statement, mask)
            self._width = 1
            del self.heard[before + 2 :]  # a load and a store for all elements that are copied at once
            return
        vector = self._vectors.get(statement) if isinstance(statement, For) else None
        if vector is None:
            super().execute(statement, mask)
            return
        before = len(self.heard)
        self._width = vector.width
        super().execute(statement, mask)
        self._width = 1
        del self.heard[before + 1 :]  # one access moves what the loop moves word by word

    def _hear(self, node: Load | Store | CopyAsync, mask: Steering, address: Steering) -> None:
        if node.array in self.far:
            assert isinstance(address, np.ndarray) and isinstance(mask, np.ndarray), "a filling leaves nothing open"
            cells = np.where(mask & (address >= 0), address - self.memories[node.array].base, -1)
            self.heard.append(((node.array, not isinstance(node, Load), node.place), self._width, cells))

    def _hear_rows(self, rows: NamedRows) -> None:
        """Note the rows that lanes name: 16 bytes each, which memory serves eight at a time, a matrix."""
        node, row, mask, cells = rows.node, rows.row, rows.naming, rows.cells
        assert isinstance(cells, np.ndarray) and isinstance(mask, np.ndarray), "a filling leaves nothing open"
        width = ROW_BYTES // bytes_of(row.dtype)
        stores = isinstance(node.row, MatrixMove) and node.row.kind == "stmatrix"
        self.heard.append(((row.array, stores, node.place), width, np.where(mask, cells, -1)))

    def value(self, node: Expr, mask: Steering) -> Any:
        if isinstance(node, Select) and node.dtype.is_data:
            assert isinstance(mask, np.ndarray), "a filling leaves nothing open"
            self.selected += len(np.unique(self.shape.warp_base[mask])) * max(1, bytes_of(node.dtype) // WORD)
        return super().value(node, mask)

    def _shuffle(self, node: Shuffle, mask: Steering) -> Any:
        assert isinstance(mask, np.ndarray), "a filling leaves nothing open"
        warps = len(np.unique(self.shape.warp_base[mask]))
        words = max(1, bytes_of(node.dtype) // WORD) if node.dtype.is_data else 1  # an index is a 32-bit integer
        self.shuffled += warps * words
        return super()._shuffle(node, mask)
