"""WMMA: fragments of matrices whose places among lanes and registers PTX leaves open.

So they lie at places of a permutation, one of many: what a kernel computes must be the same for all of them, and one
that computes something else for another permutation relies on what is not to be relied on. What is done to all elements
alike is done to the matrix.
"""

from __future__ import annotations

import re

import numpy as np

from cuda_out.ptx.instructions.operation import InstructionForm
from cuda_out.ptx.instructions.table import form
from cuda_out.ptx.kinds import width
from cuda_out.ptx.running.matrices import Matrices
from cuda_out.ptx.running.memory import Broken, Lanes, Region, Seen
from cuda_out.ptx.running.registers import Register
from cuda_out.ptx.syntax import Group, Instruction, NotInterpreted, Operand
from symbolic.ir.matrices import PRODUCTS, MatrixProduct, Places
from symbolic.ir.program import LANES

_SHAPES = {
    "m16n16k16": ("f16", "bf16", "s8", "u8"), "m32n8k16": ("f16", "bf16", "s8", "u8"),
    "m8n32k16": ("f16", "bf16", "s8", "u8"), "m16n16k8": ("tf32",), "m8n8k4": ("f64",),
}  # fmt: skip
"""The types of A and B that there are of each shape."""
_ALIGNED = 32
_STRIDE = 16
"""Bytes of which an address and a stride must be a multiple."""


class Fragments:
    """Loads, multiplies and stores fragments for some whole warps at a time; `seed` says where elements lie, 0 that
    such instructions are refused."""

    def __init__(self, matrices: Matrices, seed: int) -> None:
        self.matrices, self.seed = matrices, seed
        self.transfers, self.registers = matrices.transfers, matrices.registers

    def execute(self, instruction: Instruction, place: int, at: Lanes) -> None:
        if not self.seed:
            raise NotInterpreted(str(instruction))
        self.matrices.whole_warps(instruction, at)
        match instruction.op[1]:
            case "mma":
                self._multiply(instruction, at)
            case "load":
                target, source, *stride = instruction.operands
                self._load(instruction, place, at, target, source, stride)
            case _:
                target, source, *stride = instruction.operands
                self._store(instruction, place, at, target, source, stride)

    def _multiply(self, instruction: Instruction, at: Lanes) -> None:
        said = [word for word in instruction.op[6:] if word != "rn"][1:]
        shape = instruction.op[6]
        d, a, b, c = said if len(said) == 4 else (said[0], "f16", "f16", said[-1])
        product = MatrixProduct(*_sizes(shape), a, b, c)
        if a not in _SHAPES.get(shape, ()) or a != b or c != d or c not in PRODUCTS[a].sums:
            raise NotInterpreted(f"{instruction}, a product of other types")
        result, *operands = instruction.operands
        left, right = (
            self.matrices.gathered(
                instruction, operand, PRODUCTS[a].bits, self._shape(which, product),
                self._places(instruction, which, order, product, a, operand), at,
            )
            for operand, which, order in zip(operands[:2], "ab", instruction.op[4:6], strict=True)
        )  # fmt: skip
        places = self._places(instruction, "c", "", product, c, result)
        total = self.matrices.gathered(instruction, operands[2], width(c), self._shape("c", product), places, at)
        self.matrices.spread(result, width(c), self.matrices.product(product, left, right, total), places, at)

    def _load(
        self, instruction: Instruction, place: int, at: Lanes, target: Operand, source: Operand, stride: list[Operand]
    ) -> None:
        kind, product, which, order = _of_memory(instruction)
        shape = self._shape(which, product)
        bits = np.zeros((len(at) // LANES, *shape), np.uint64)
        terms = np.zeros((len(at) // LANES, *shape), np.int64)
        places = self._places(instruction, which, order, product, kind, target)
        for (row, column), where in zip(places, self._addresses(instruction, at, source, stride, places), strict=True):
            warp = np.arange(len(at)) // LANES
            row, column = np.tile(row, len(at) // LANES), np.tile(column, len(at) // LANES)
            for region, some, first in self._cells(instruction, at, where, writes=False):
                pieces = moved_bytes(instruction) // region.cell
                taken = self.transfers.taken(instruction, place, region, at[some], first, pieces)
                bits[warp[some], row[some], column[some]], terms[warp[some], row[some], column[some]] = taken
        self.matrices.spread(target, 8 * moved_bytes(instruction), (bits, terms), places, at)

    def _store(
        self, instruction: Instruction, place: int, at: Lanes, target: Operand, source: Operand, stride: list[Operand]
    ) -> None:
        kind, product, which, order = _of_memory(instruction)
        places = self._places(instruction, which, order, product, kind, source)
        size = moved_bytes(instruction)
        bits, terms = self.matrices.gathered(instruction, source, 8 * size, self._shape(which, product), places, at)
        for (row, column), where in zip(places, self._addresses(instruction, at, target, stride, places), strict=True):
            own: Register = bits[:, row, column].reshape(-1), terms[:, row, column].reshape(-1)
            for region, some, first in self._cells(instruction, at, where, writes=True):
                self.transfers.put(place, region, at[some], first, size // region.cell, (own[0][some], own[1][some]))

    def _cells(
        self, instruction: Instruction, at: Lanes, where: Lanes, *, writes: bool
    ) -> list[tuple[Region, Lanes, Lanes]]:
        how = form(instruction.op)
        assert how is not None
        one = InstructionForm(f"b{8 * moved_bytes(instruction)}", "", how.space, 1, ())
        return self.transfers.memory.cells(instruction, at, where, one, writes=writes)

    def _addresses(
        self, instruction: Instruction, at: Lanes, operand: Operand, stride: list[Operand], places: Places
    ) -> list[Lanes]:
        """Return where each element of a lane is; a warp has one address and one stride."""
        _, product, which, order = _of_memory(instruction)
        size, warps = moved_bytes(instruction), len(at) // LANES
        base = self.transfers.addresses(instruction, operand, at)
        shape = self._shape(which, product)
        step = np.full(len(at), shape[1] if order == "row" else shape[0], np.int64)
        if stride:
            given = self.registers.read(stride[0], "u32", at)
            step = self.registers.known(instruction, given, at, "a stride").astype(np.uint32).astype(np.int64)
        for what, each in (("addresses", base), ("strides", step)):
            if (each.reshape(warps, LANES) != each[::LANES, None]).any():
                raise Broken(f"{instruction}: the lanes of a warp have several {what}")
        if (step * size % _STRIDE).any():
            raise Broken(f"{instruction}: a stride of {int(step[0]) * size} bytes, not a multiple of {_STRIDE}")
        self._aligned(instruction, at, base)
        found = []
        for row, column in places:
            row, column = np.tile(row, warps), np.tile(column, warps)
            found.append(base + size * (row * step + column if order == "row" else column * step + row))
        return found

    def _aligned(self, instruction: Instruction, at: Lanes, base: Lanes) -> None:
        """Raise Broken where an address is no multiple of 32 bytes; of a global array's own, that is remembered."""
        memory = self.transfers.memory
        seen, memory.seen = memory.seen, None
        touched = self._cells(instruction, at, base, writes=False)
        memory.seen = seen
        for region, some, first in touched:
            offset = (first - region.instance[at[some]]) * region.cell
            if (offset % _ALIGNED).any() or (region.space == "shared" and 0 < region.align < _ALIGNED):
                raise Broken(
                    f"{instruction}: the address of a matrix in {region.name} is not a multiple of {_ALIGNED} bytes"
                )
            if seen is not None and region.space == "global":
                epochs = memory.block_epoch[at[some]], memory.warp_epoch[at[some]]
                seen.append(Seen(region.name, "global", instruction, False, at[some], offset, _ALIGNED, *epochs, False))

    def _shape(self, which: str, product: MatrixProduct) -> tuple[int, int]:
        return {"a": (product.m, product.k), "b": (product.k, product.n), "c": (product.m, product.n)}[which]

    def _places(
        self, instruction: Instruction, which: str, order: str, product: MatrixProduct, kind: str, operand: Operand
    ) -> Places:
        """Return for each element of a lane its row and its column; several may be one element of A or B."""
        assert isinstance(operand, Group)
        count = len(operand.items) * max(1, 32 // _bits(kind))
        rows, columns = self._shape(which, product)
        if count * LANES % (rows * columns) or (which == "c" and count * LANES != rows * columns):
            raise NotInterpreted(f"{instruction} (fragments of other sizes)")
        name = f"{which} {order if which != 'c' else ''} {product.m} {product.n} {product.k} {kind}"
        order_ = np.random.default_rng([self.seed, *name.encode()]).permutation(count * LANES) % (rows * columns)
        return [(part // columns, part % columns) for part in order_.reshape(count, LANES)]


def moved_bytes(instruction: Instruction) -> int:
    """Return the bytes of an element that a fragment's load or store moves."""
    return max(8, _bits(instruction.op[-1])) // 8


def _bits(kind: str) -> int:
    return PRODUCTS[kind].bits if kind in PRODUCTS else width(kind) if kind in ("f32", "s32") else 8


def _sizes(shape: str) -> tuple[int, int, int]:
    m, n, k = map(int, re.findall(r"\d+", shape))
    return m, n, k


def _of_memory(instruction: Instruction) -> tuple[str, MatrixProduct, str, str]:
    """Return the type of a load or store, its product's sizes, its matrix and the order of its elements."""
    which, order, shape, kind = instruction.op[2], instruction.op[5], instruction.op[6], instruction.op[-1]
    known = _SHAPES.get(shape, ())
    if kind not in known and not any(kind in PRODUCTS[each].sums for each in known):
        raise NotInterpreted(f"{instruction}, a fragment of another type")
    return kind, MatrixProduct(*_sizes(shape), kind, kind, kind), "c" if which == "d" else which, order
