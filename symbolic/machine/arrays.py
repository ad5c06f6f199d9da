"""The arrays of a run: each thread's place in them, what it reads there, and what it writes or adds.

An index out of bounds and a read of an unwritten cell are violations where they are certain, and obligations where
they depend on open holes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, TypeGuard

import numpy as np
from msgspec import Struct

from symbolic.algebra.numbers import Algebra
from symbolic.elements import is_exact
from symbolic.errors import SwizzleError
from symbolic.ir.index import cell_name, extend, extend_lanes
from symbolic.ir.matrices import MATRIX_ROWS, ROW_BYTES, MatrixMove
from symbolic.ir.program import (
    Apply,
    Cast,
    CopyAsync,
    DeclareArray,
    DType,
    Expr,
    Load,
    Parameter,
    Program,
    Store,
    WarpInstruction,
)
from symbolic.machine.copies import Copies
from symbolic.machine.memory import Memory, Read
from symbolic.machine.rules import Rules
from symbolic.values.data import Data, DataVector
from symbolic.values.guard import FALSE, TRUE, Guard
from symbolic.values.vector import Deferred, Encoding, Lanes, Vector, at, conjunction, guard_at, lift


class NamedRows(Struct, frozen=True):
    """The rows that lanes name to one ldmatrix or stmatrix: which lanes do, and where in the array each row begins."""

    node: WarpInstruction
    row: Load
    naming: Vector
    cells: Vector


class LaunchArrays:
    """The parameters of a launch, and the arrays that its program declares."""

    def __init__(self, algebra: Algebra, rules: Rules) -> None:
        self.algebra, self.rules, self.shape, self.result = algebra, rules, rules.shape, rules.result
        self.memories = rules.result.memories
        self.copies = Copies(self.memories, rules)
        self.on_access: Callable[[Load | Store | CopyAsync, Vector, Vector], None] | None = None
        """Called with each access, the mask of the threads, and their addresses, -1 out of bounds."""
        self.on_rows: Callable[[NamedRows], None] | None = None
        """Called with each ldmatrix and stmatrix."""
        self.together = False
        """Whether the meaning of an instruction of a whole warp runs, which is no access of its own."""

    def pass_in(self, parameter: Parameter, inputs: Mapping[str, Lanes], copies: int) -> None:
        """Take what the caller gives for a parameter, flat; an output has nothing in it yet."""
        size = prod(parameter.shape)
        given = parameter.role != "out"
        data = np.array(inputs[parameter.name]) if given else self.algebra.blank(size, parameter.dtype)
        assert data.shape == (size,), f"{parameter.name} needs {size} elements, flat"
        self.memories[parameter.name] = Memory(
            parameter.name,
            parameter.dtype,
            parameter.shape,
            self.shape.copy_of * size,
            np.tile(data, copies) if copies > 1 else data,
            given,
            _sharers(size, self.shape.count // copies),
            parameter.place,
        )
        if parameter.role in ("out", "inout"):
            self.rules.watch(parameter.name, between_blocks=True)

    def declare(self, statement: DeclareArray) -> None:
        """Make room for a local array of each thread, or for a shared one of each block."""
        cells = prod(statement.shape)
        shape = self.shape
        if statement.memory == "local":
            owner, count, threads = shape.thread, shape.count, 1
        else:
            owner, count, threads = shape.block_of, shape.blocks, shape.block_threads
            self.rules.watch(statement.name, between_blocks=False)
        sharers = _sharers(cells, threads)
        data = self.algebra.blank(cells * count, statement.dtype)
        self.memories[statement.name] = Memory(
            statement.name, statement.dtype, statement.shape, owner * cells, data, False, sharers, statement.place
        )

    def _address(self, node: Load | Store | CopyAsync, indices: Sequence[Vector], mask: Vector) -> Vector:
        """Return each thread's address, -1 where it is out of bounds, which is a violation or an obligation."""
        memory = self.memories[node.array]
        address = self.offset(node, memory, indices, mask)
        if memory.base.any():
            address = _further(address, memory.base)
        if self.on_access is not None and not self.together:
            self.on_access(node, mask, address)
        return address

    def offset(
        self, node: Load | Store | CopyAsync | Apply, memory: Memory, indices: Sequence[Vector], mask: Vector,
        fix: str = "guard the access with `if`, or make the array larger",
    ) -> Vector:  # fmt: skip
        """Return each thread's place in an array, row-major, -1 where it is out of bounds; `fix` says what to do."""
        linear: Vector | None = None
        for extent, index in zip(memory.shape, indices, strict=True):
            step, steps = partial(extend, extent=extent), partial(extend_lanes, extent=extent)
            linear = (
                lift(partial(step, 0), partial(steps, 0), index) if linear is None else lift(step, steps, linear, index)
            )
        linear = np.zeros(self.shape.count, np.int64) if linear is None else linear
        if isinstance(linear, Deferred) or isinstance(mask, Deferred):
            inside = linear

            def oblige(encoding: Encoding, t: int, when: Guard = TRUE) -> None:
                encoding.guards.add((-when, -guard_at(mask, encoding, t), -at(inside, encoding, t).is_(-1)))

            self.result.obligations[self.rules.key(node, "bounds")] = oblige
        else:
            bad = np.flatnonzero(mask & (linear < 0))
            if len(bad):
                t = int(bad[0])
                given = [str(i[t]) for i in indices if isinstance(i, np.ndarray)]
                for axis, operand in enumerate(node.operands if isinstance(node, Apply) else ()):
                    given[axis] = given[axis] if steers(operand) else "..."
                where = ", ".join(given)
                self.rules.violate(
                    node,
                    "bounds",
                    t,
                    f"{memory.name}[{where}] is out of bounds: {memory.name} has shape {memory.shape} "
                    f"({self.shape.describe(t)})",
                    fix,
                )
        return linear

    def note_row(self, node: WarpInstruction, row: Load, indices: Sequence[Vector], mask: Vector) -> None:
        """Require that all lanes name a place in the array, and those whose rows are moved one where a row of 16 bytes
        may begin; note what they touch, and tell who listens.

        ldmatrix reads, too, in the name of the lanes that receive elements; stmatrix writes in that of the lanes which
        name rows alone, as nothing orders two rows of one instruction.
        """
        assert isinstance(node.row, MatrixMove), "a product names no rows"
        memory = self.memories[row.array]
        begins = self.offset(row, memory, indices, mask, "let each lane name a row of the array, the others' as well")
        elements = ROW_BYTES * 8 // memory.dtype.bits
        naming = conjunction(mask, self.shape.lane < MATRIX_ROWS * node.row.count)
        fix = f"let each lane name an element whose place in {row.array} is a multiple of {elements}: 16 bytes"
        what = f"a row that {node.row.kind} moves begins at {{}}, which is no multiple of {elements} elements"
        self._require_multiple(node, "aligned", row.array, naming, begins, elements, what, fix)
        outer = self.rules.loops
        for place in range(elements):
            self.rules.loops = (*outer, place)
            cells = _further(begins, memory.base + place)
            self.rules.note_access(row, naming, cells, writes=node.row.kind == "stmatrix")
        self.rules.loops = outer
        if self.on_rows is not None:
            self.on_rows(NamedRows(node, row, naming, begins))

    def load(self, node: Load, indices: Sequence[Vector], mask: Vector) -> DataVector:
        """Return what each thread reads."""
        return self._read(node, self._address(node, indices, mask), mask)

    def _read(self, node: Load, address: Vector, mask: Vector) -> DataVector:
        memory = self.memories[node.array]
        self.rules.note_access(node, mask, address, writes=False)
        found = memory.read(address)
        if isinstance(found, np.ndarray) and isinstance(mask, np.ndarray) and isinstance(address, np.ndarray):
            bad = np.flatnonzero(mask & memory.unwritten(address))
            if len(bad):
                t = int(bad[0])
                cell = cell_name(node.array, memory.shape, int(address[t] - memory.base[t]))
                why, fix = self.copies.account(node, cell, int(address[t]), t)
                self.rules.violate(node, "unwritten", t, f"{why} ({self.shape.describe(t)})", fix)
        if isinstance(found, Read) or isinstance(mask, Deferred):
            never = found.unwritten if isinstance(found, Read) else None
            certain = memory.unwritten(address) if isinstance(address, np.ndarray) else None

            def oblige(encoding: Encoding, t: int, when: Guard = TRUE) -> None:
                if never is not None:
                    unwritten = never(encoding, t)
                else:
                    assert certain is not None
                    unwritten = TRUE if certain[t] else FALSE
                encoding.guards.add((-when, -guard_at(mask, encoding, t), -unwritten))

            self.result.obligations[self.rules.key(node, "unwritten")] = oblige
        return found

    def store(self, node: Store, indices: Sequence[Vector], value: DataVector, mask: Vector) -> None:
        """Write what each thread gives, or add it."""
        address = self._address(node, indices, mask)
        if not self.together:
            self.rules.note_access(node, mask, address, writes=True)
        keep = mask if isinstance(address, Deferred) else conjunction(mask, address >= 0)
        self.copies.refuse(node, keep, address)
        if node.atomic:
            value = self._added(node, value, address, keep)
        self.memories[node.array].write(self.rules.key(node, "access"), keep, address, value, len(self.result.barriers))

    def copy(
        self,
        node: CopyAsync,
        to: Sequence[Vector],
        given: Sequence[Vector],
        mask: Vector,
        chosen: Vector,
        filled: Callable[[DataVector], DataVector],
    ) -> None:
        """Begin to copy `node.width` elements for each thread in `mask`: where `chosen` those at `given`, elsewhere
        what `filled` puts in their place."""
        wanted, outer = conjunction(mask, chosen), self.rules.loops
        for place in range(node.width):
            self.rules.loops = (*outer, place)
            into, source = (_neighbour(indices, place) for indices in (to, given))
            read = self._address(node.load, source, wanted)
            value = filled(self._read(node.load, read, wanted))
            address = self._address(node, into, mask)
            self.rules.note_access(node, mask, address, writes=True)
            keep = mask if isinstance(address, Deferred) else conjunction(mask, address >= 0)
            if place == 0 and node.width > 1:
                self._require_aligned(node, keep, address, node.width)
                self._require_aligned(node.load, wanted, read, node.width)
            self.copies.issue(node, keep, address, value, wanted, read)
        self.rules.loops = outer

    def _require_aligned(self, node: Load | CopyAsync, mask: Vector, address: Vector, width: int) -> None:
        """Require that what is copied at once begins at a multiple of its length, wherever an array begins."""
        cells = _further(address, -self.memories[node.array].base)
        fix = "let rows have a multiple of it as well, or copy fewer elements at once"
        what = f"{width} elements copied at once begin at {{}}"
        self._require_multiple(node, "begins", node.array, mask, cells, width, what, fix)

    def _require_multiple(
        self, node: Load | CopyAsync | WarpInstruction, rule: str, array: str, mask: Vector, cells: Vector, width: int,
        what: str, fix: str,
    ) -> None:  # fmt: skip
        """Require that each thread in `mask` names a multiple of `width` elements of an array, or no place in it;
        `what` names the place by {}."""

        def wrong(cell: Any) -> Any:
            return (cell >= 0) & (cell % width != 0)

        askew = conjunction(mask, lift(wrong, wrong, cells))
        if isinstance(askew, Deferred):

            def oblige(encoding: Encoding, t: int, when: Guard = TRUE) -> None:
                encoding.guards.add((-when, -guard_at(askew, encoding, t)))

            self.result.obligations[self.rules.key(node, rule)] = oblige
        elif len(bad := np.flatnonzero(askew)):
            t = int(bad[0])
            assert isinstance(cells, np.ndarray)
            cell = cell_name(array, self.memories[array].shape, int(cells[t]))
            self.rules.violate(node, rule, t, f"{what.format(cell)} ({self.shape.describe(t)})", fix)

    def _added(self, node: Store, value: DataVector, address: Vector, mask: Vector) -> Lanes:
        """Return what an atomic addition leaves in the cell of each thread: the sum of all that name the cell."""
        memory = self.memories[node.array]
        if isinstance(mask, Deferred) or isinstance(address, Deferred) or isinstance(value, Data):
            raise _open_addition(node)
        threads = np.flatnonzero(mask)
        missing = threads[memory.unwritten(address)[threads]]
        if len(missing):
            where = cell_name(node.array, memory.shape, int(address[missing[0]] - memory.base[missing[0]]))
            self.rules.violate(
                node, "unwritten", int(missing[0]), f"{where} is added to before it is written",
                "declare the array .inout, and start from what the caller has put there; write a shared array first",
            )  # fmt: skip
        if not memory.concrete:
            raise _open_addition(node)
        found, cells = np.array(value), address[threads]
        order = np.argsort(cells, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(cells[order])) + 1) if len(order) else ():
            values = found[threads[group]]
            total = memory.data[cells[group[:1]]]
            found[threads[group]] = self.algebra.reduce(
                node.joins, [np.ones(1, np.bool_)] * (len(group) + 1), [total, *values[:, None]], None, memory.dtype
            )[0]
        return found


def steers(operand: Expr) -> TypeGuard[Cast]:
    """Tell whether an operand of a gather is an index that was made data."""
    return isinstance(operand, Cast) and not operand.operand.dtype.is_data


def _further(cells: Vector, by: Lanes) -> Vector:
    """Return the places so many behind others, -1 where there is none."""
    return lift(lambda a, b: a + b if a >= 0 else -1, lambda a, b: np.where(a >= 0, a + b, -1), cells, by)


def _neighbour(indices: Sequence[Vector], place: int) -> Sequence[Vector]:
    """Return the indices of an element further along the last dimension."""
    if not place:
        return indices
    *rows, last = indices
    return [*rows, lift(lambda i: i + place, lambda i: i + place, last)]


def _sharers(cells: int, threads: int) -> Callable[[int], range]:
    """Return a function from a cell to the threads that reach it, for arrays of `cells` that so many share."""
    return lambda address: range(address // cells * threads, (address // cells + 1) * threads)


def _open_addition(node: Store) -> SwizzleError:
    return SwizzleError(
        f"an atomic addition to {node.array} depends on a hole",
        place=node.place,
        expected="additions whose element, value and condition are known",
        fix="find the holes in a sketch that stores the values; its functions fill these (filled_from=)",
    )


def specified_types(program: Program) -> dict[DType, DType]:
    """Return as what a specification computes with integers of 32 bits: as the output's type, if it has them all."""
    found: dict[DType, DType] = {}
    for parameter in program.parameters:
        if parameter.role in ("out", "inout"):
            for narrow in (DType.I32, DType.U32):
                if is_exact(narrow, parameter.dtype):
                    found.setdefault(narrow, DType.I64 if parameter.dtype.is_float else parameter.dtype)
    return found
