"""ldmatrix, stmatrix, movmatrix and mma: what a whole warp does with the fragments of small matrices.

A matrix has 8 rows of 16 bytes; lane 8 * j + i says where row i of matrix j begins. Of each matrix, lane l has the
halves 2 * (l % 4) and the next one of row l // 4; with `.trans`, of column l // 4. A product of matrices has its
meaning by the table of `symbolic.ir.matrices`; of one that is not there, nothing is known but that it is
a function of all fragments of the warp.
"""

from __future__ import annotations

import re

import numpy as np

from cuda_out.ptx.instructions.operation import InstructionForm, Operation
from cuda_out.ptx.instructions.products import dot_product
from cuda_out.ptx.kinds import Typed, width
from cuda_out.ptx.running.memory import Broken, Lanes, Region
from cuda_out.ptx.running.registers import Register
from cuda_out.ptx.running.transfers import Transfers
from cuda_out.ptx.syntax import Group, Immediate, Instruction, Name, NotInterpreted, Operand
from symbolic.ir.matrices import PRODUCTS, MatrixProduct, Places
from symbolic.ir.program import LANES

_ROW = InstructionForm("b32", "", "shared", 4, ())
_HALF = 2


class Matrices:
    """Moves and multiplies matrices for some whole warps at a time."""

    def __init__(self, transfers: Transfers) -> None:
        self.transfers, self.registers = transfers, transfers.registers
        self.memory, self.shape = transfers.memory, transfers.shape

    def load(self, instruction: Instruction, place: int, at: Lanes) -> None:
        target, source = instruction.operands
        assert isinstance(target, Group)
        rows = self._rows(instruction, source, at, len(target.items), writes=False)
        for item, (region, first) in zip(target.items, rows, strict=True):
            halves = []
            for row, half in self._places(instruction, at):
                cells = first[row] + half * _HALF // region.cell
                halves.append(self.transfers.taken(instruction, place, region, at, cells, _HALF // region.cell))
            self.registers.write(item, self.registers.packed(halves, 8 * _HALF), at)

    def store(self, instruction: Instruction, place: int, at: Lanes) -> None:
        target, source = instruction.operands
        assert isinstance(source, Group)
        rows = self._rows(instruction, target, at, len(source.items), writes=True)
        for item, (region, first) in zip(source.items, rows, strict=True):
            halves = self.registers.unpacked(self.registers.read(item, "b32", at), 8 * _HALF, 2)
            for (row, half), value in zip(self._places(instruction, at), halves, strict=True):
                cells = first[row] + half * _HALF // region.cell
                self.transfers.put(place, region, at, cells, _HALF // region.cell, value)

    def transpose(self, instruction: Instruction, at: Lanes) -> None:
        """Give each lane its part of the matrix that the warp holds, transposed."""
        self.whole_warps(instruction, at)
        target, source = instruction.operands
        halves = self.registers.unpacked(self.registers.read(source, "b32", at), 8 * _HALF, 2)
        bits = np.stack([half[0] for half in halves], axis=1).reshape(-1)
        terms = np.stack([half[1] for half in halves], axis=1).reshape(-1)
        taken: list[Register] = []
        for row, half in self._places(instruction, at):
            base = row // LANES * LANES
            place = 2 * base + 8 * (row - base) + half
            taken.append((bits[place], terms[place]))
        self.registers.write(target, self.registers.packed(taken, 8 * _HALF), at)

    def _places(self, instruction: Instruction, at: Lanes) -> list[tuple[Lanes, Lanes]]:
        """Return for the lower and the upper half of a register which row, as a place in `at`, and which half it is."""
        base = np.arange(len(at)) // LANES * LANES
        own, pair = (np.arange(len(at)) - base) // 4, (np.arange(len(at)) - base) % 4 * 2
        if "trans" in instruction.op:
            return [(base + pair + upper, own) for upper in (0, 1)]
        return [(base + own, pair + upper) for upper in (0, 1)]

    def _rows(
        self, instruction: Instruction, operand: Operand, at: Lanes, count: int, *, writes: bool
    ) -> list[tuple[Region, Lanes]]:
        """Return for each matrix its array, and for each lane of a warp where the row begins that it would name: of
        matrix j, the lanes 0 to 7 of what is returned are those that 8 * j to 8 * j + 7 name."""
        self.whole_warps(instruction, at)
        lane = np.arange(len(at)) % LANES
        naming = np.flatnonzero(lane < 8 * count)
        where = self.transfers.addresses(instruction, operand, at[naming])
        touched = self.memory.cells(instruction, at[naming], where, _ROW, writes=writes)
        if len(touched) != 1:
            raise NotInterpreted(f"{instruction}, rows of several arrays")
        ((region, some, cells),) = touched
        if region.cell > _HALF:
            raise NotInterpreted(f"{instruction}, halves of elements of {region.cell} bytes")
        first = np.zeros(len(at), np.int64)
        first[naming[some]] = cells
        by_warp = first.reshape(-1, LANES)
        return [(region, np.roll(by_warp, -8 * number, axis=1).reshape(-1)) for number in range(count)]

    def whole_warps(self, instruction: Instruction, at: Lanes) -> None:
        """Raise Broken where a lane of a warp is missing."""
        warps = self.shape.warp_base[at]
        if len(at) % LANES or (warps.reshape(-1, LANES) != warps[::LANES, None]).any():
            raise Broken(f"{instruction}: {self.shape.describe(int(at[0]))} is in a warp that is not there as a whole")

    # -- products ----------------------------------------------------------------------------------------------------

    def multiply(self, instruction: Instruction, at: Lanes) -> None:
        """Give each lane its part of a product."""
        self.whole_warps(instruction, at)
        shape = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", instruction.op[3])
        d, a, b, c = instruction.op[-4:]
        assert shape is not None
        product = MatrixProduct(int(shape[1]), int(shape[2]), int(shape[3]), a, b, c)
        if product.exists and d == c and "satfinite" not in instruction.op:
            self._product(instruction, product, at)
        else:
            self._function(instruction, at)

    def _product(self, instruction: Instruction, product: MatrixProduct, at: Lanes) -> None:
        result, *operands = instruction.operands
        sizes = PRODUCTS[product.a].bits, PRODUCTS[product.b].bits, width(product.c)
        shapes = (product.m, product.k), (product.k, product.n), (product.m, product.n)
        places = product.places("a"), product.places("b"), product.places("c")
        a, b, c = (
            self.gathered(instruction, operand, size, shape, own, at)
            for operand, size, shape, own in zip(operands, sizes, shapes, places, strict=True)
        )
        self.spread(result, width(product.c), self.product(product, a, b, c), places[2], at)

    def product(self, product: MatrixProduct, a: Register, b: Register, c: Register) -> Register:
        """Return A @ B + C, for each warp a matrix."""
        rows, columns = (each.reshape(-1) for each in np.indices((product.m, product.n)))
        values = [(bits.reshape(-1), terms.reshape(-1)) for k in range(product.k)
                  for bits, terms in [(a[0][:, rows, k], a[1][:, rows, k])]]  # fmt: skip
        values += [(bits.reshape(-1), terms.reshape(-1)) for k in range(product.k)
                   for bits, terms in [(b[0][:, k, columns], b[1][:, k, columns])]]  # fmt: skip
        values.append((c[0].reshape(-1), c[1].reshape(-1)))
        operation = dot_product(product.a, product.b, product.c, product.k)
        found = self.registers.computed(operation, values, np.arange(c[0].size))
        return found[0].reshape(c[0].shape), found[1].reshape(c[1].shape)

    def gathered(
        self, instruction: Instruction, operand: Operand, size: int, shape: tuple[int, int], places: Places, at: Lanes
    ) -> Register:
        """Return the elements that fragments have, for each warp a matrix."""
        assert isinstance(operand, Group)
        per = max(1, 32 // size)
        if len(operand.items) * per != len(places):
            raise NotInterpreted(f"{instruction} (fragments of other sizes)")
        bits = np.zeros((len(at) // LANES, *shape), np.uint64)
        terms = np.zeros((len(at) // LANES, *shape), np.int64)
        elements = list[Register]()
        for item in operand.items:
            kind = f"{'f' if isinstance(item, Immediate) and item.width else 'b'}{max(size, 32)}"
            value = self.registers.read(item, kind, at)
            elements += [value] if per == 1 else self.registers.unpacked(value, size, per)
        for (row, column), (own, term) in zip(places, elements, strict=True):
            bits[:, row, column], terms[:, row, column] = own.reshape(-1, LANES), term.reshape(-1, LANES)
        return bits, terms

    def spread(self, result: Operand, size: int, matrix: Register, places: Places, at: Lanes) -> None:
        """Give lanes the elements of each warp's matrix."""
        assert isinstance(result, Group)
        bits, terms = matrix
        elements = [(bits[:, row, column].reshape(-1), terms[:, row, column].reshape(-1)) for row, column in places]
        per = max(1, 32 // size)
        for number, item in enumerate(result.items):
            own = elements[number * per : (number + 1) * per]
            self.registers.write(item, own[0] if per == 1 else self.registers.packed(own, size), at)

    def _function(self, instruction: Instruction, at: Lanes) -> None:
        """Give each lane a function of all that the lanes of its warp have."""
        name, result = "_".join(instruction.op), instruction.operands[0]
        assert isinstance(result, Group)
        given: list[Register] = []
        kinds: list[str] = []
        for operand in instruction.operands[1:]:
            assert isinstance(operand, Group)
            for item in operand.items:
                kind = self.registers.types[item.text] if isinstance(item, Name) else "f32" if item.width else "b32"
                bits, terms = self.registers.read(item, kind, at)
                given += zip(bits.reshape(-1, LANES).T, terms.reshape(-1, LANES).T, strict=True)
                kinds += [kind] * LANES
        if not np.any([terms for _, terms in given], axis=0).all():
            raise NotInterpreted(f"{instruction} on numbers")
        notes = self.registers.deferred
        together = notes.apply(Operation(f"fragments.{name}", tuple(kinds), "b32", _unknown), given)
        none = np.zeros(len(together), np.uint64)
        for number, item in enumerate(result.items):
            assert isinstance(item, Name)
            kind = self.registers.types[item.text]
            own = [
                notes.apply(Operation(f"{name}.{number}.{lane}", ("b32",), kind, _unknown), [(none, together)])
                for lane in range(LANES)
            ]
            terms = np.stack(own, axis=1).reshape(-1)
            self.registers.write(item, (np.zeros(len(at), np.uint64), terms), at)


def _unknown(*values: Typed) -> Typed:
    raise NotInterpreted("a product of matrices on numbers")
