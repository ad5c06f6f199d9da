"""The registers of a launch: for each thread bits, or a term, and what the pure instructions make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from cuda_out.ptx.columns import is_known
from cuda_out.ptx.instructions import symbolic
from cuda_out.ptx.instructions.halves import of_half
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.table import decode, packing
from cuda_out.ptx.kinds import Bits, typed, untyped, width
from cuda_out.ptx.running.memory import Broken, Lanes, PtxMemory
from cuda_out.ptx.running.notes import Notes
from cuda_out.ptx.syntax import Immediate, Instruction, Name, NotInterpreted, Operand
from symbolic.errors import Place
from symbolic.ir.program import LANES, Coordinate
from symbolic.machine.launch_shape import LaunchShape

WHOLE_MASK: Final = np.uint64((1 << LANES) - 1)
_COORDINATES: Final = {"%tid": "threadIdx", "%ctaid": "blockIdx", "%ntid": "blockDim", "%nctaid": "gridDim"}
_NOWHERE: Final = Place("", 0, 0)
Register: TypeAlias = "tuple[Bits, Lanes]"


class Registers:
    """What instructions read and write, for some threads at a time.

    `types` are those of the registers that were declared, `symbols` the addresses of variables.
    """

    def __init__(self, shape: LaunchShape, memory: PtxMemory, deferred: Notes, types: Mapping[str, str]) -> None:
        self.shape, self.memory, self.deferred, self.types = shape, memory, deferred, types
        self.every: Lanes = shape.thread
        self.symbols: dict[str, int] = {}
        self.registers: dict[str, Register] = {}
        self._unset = 0

    def read(self, operand: Operand, kind: str, at: Lanes) -> Register:
        """Return an operand's bits and terms for some threads; floats in decimal registers as they are."""
        match operand:
            case Immediate(bits, size):
                if size == 0 and kind[0] == "f":
                    raise NotInterpreted(f"the integer {bits} where {kind} is read")
                full = np.full(len(at), bits, np.uint64)
                return full, np.zeros(len(at), np.int64)
            case Name(text, negated, offset):
                if text in self.registers:
                    bits_, terms = self.registers[text]
                    found = bits_[at], terms[at]
                    if negated and kind == "pred":
                        return self.apply(decode(("not", "pred")), [found], at)
                    return found
                return np.full(len(at), 0, np.uint64) + self._constant(text, at) + np.uint64(offset), np.zeros(
                    len(at), np.int64
                )
            case _:
                raise NotInterpreted(f"the operand {operand}")

    def _constant(self, text: str, at: Lanes) -> Bits:
        if text in self.symbols:
            return np.full(len(at), self.symbols[text], np.uint64)
        lane = (self.shape.thread % self.shape.block_threads % LANES)[at].astype(np.uint64)
        if text == "%laneid":
            return lane
        if text.startswith("%lanemask_"):
            own = np.uint64(1) << lane
            masks = {"eq": own, "lt": own - np.uint64(1), "le": 2 * own - np.uint64(1)}
            masks |= {"gt": (masks["le"] ^ WHOLE_MASK) & WHOLE_MASK, "ge": (masks["lt"] ^ WHOLE_MASK) & WHOLE_MASK}
            return masks[text.removeprefix("%lanemask_")]
        if text == "WARP_SZ":
            return np.full(len(at), LANES, np.uint64)
        name, _, axis = text.partition(".")
        if name in _COORDINATES and axis in ("x", "y", "z"):
            node = Coordinate(_COORDINATES[name], axis, _NOWHERE)  # type: ignore[arg-type]
            return self.shape.coordinate(node)[at].astype(np.uint64)
        if text in self.types:
            nothing = self.memory.nothing(f"{text}, a register that was never set")
            raise Broken(self.memory.account(nothing))
        raise NotInterpreted(f"the operand {text}")

    def read_in_part(self, operand: Operand, kind: str, at: Lanes) -> Register:
        """Return an operand whose bytes may not be used: of a register that was never set, nothing is known.

        Compilers join two words of which one byte is to be taken by a permutation of which a byte is not.
        """
        if not isinstance(operand, Name) or operand.text not in self.types or operand.text in self.registers:
            return self.read(operand, kind, at)
        self._unset += 1  # it may be another number each time
        terms = self.deferred.normal.terms
        anything = terms.apply(f"{operand.text}, a register that was never set {self._unset}", (terms.const(0),))
        return np.zeros(len(at), np.uint64), np.full(len(at), anything, np.int64)

    def write(self, operand: Operand, value: Register, at: Lanes) -> None:
        assert isinstance(operand, Name)
        if operand.text == "_":
            return
        if at is self.every:
            self.registers[operand.text] = value
            return
        old = self.registers.get(operand.text)
        if old is None:
            nothing = self.memory.nothing(f"{operand.text}, a register that was never set")
            bits, terms = np.zeros(self.shape.count, np.uint64), np.full(self.shape.count, nothing, np.int64)
        else:
            bits, terms = old[0].copy(), old[1].copy()
        bits[at], terms[at] = value
        self.registers[operand.text] = bits, terms

    def extended(self, target: Operand, kind: str, value: Register, at: Lanes) -> Register:
        """Return a value as a register of more bits has it: narrow numbers are extended by their sign."""
        assert isinstance(target, Name)
        has = self.types.get(target.text, kind)
        if width(has) == width(kind):
            return value
        letter = "s" if kind[0] == "s" else "u"
        return self.apply(decode(("cvt", f"{letter}{width(has)}", f"{letter}{width(kind)}")), [value], at)

    def known(self, instruction: Instruction, value: Register, at: Lanes, what: str) -> Bits:
        """Return the numbers that a value is, which steers; refuse what is none."""
        bits, terms = self.deferred.written_out(*value)
        if terms.any():
            bad = int(np.flatnonzero(terms)[0])
            if terms[bad] < 0:
                raise Broken(
                    f"{instruction}: {what} of {self.shape.describe(int(at[bad]))} depends on "
                    f"{self.memory.account(int(terms[bad]))}"
                )
            shown = self.deferred.normal.terms.show(int(terms[bad]))
            raise NotInterpreted(f"{instruction}, {what} that depends on data: {shown[:200]}")
        return bits

    def numbers(self, value: Register) -> tuple[Bits, npt.NDArray[np.bool_]]:
        """Return values as numbers, as far as addresses are, and which are none but data."""
        return value[0], ~is_known(value[1])

    def apply(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        """Compute an operation; raise NotInterpreted where it asks what number an array's address is."""
        if operation.form is not None and (one := of_half(operation.form.op)) is not None:
            return self._of_halves(decode(one), values, at)
        result = self.computed(operation, values, at)
        if 64 not in map(width, operation.sources) or operation.name == "selp":
            return result
        numbers, data = zip(*map(self.numbers, values), strict=True)
        near = [self.memory.near(each) for each in numbers]
        if any(each.any() for each in near):
            made = self.memory.near(self.numbers(result)[0]) if width(operation.result) == 64 else 0 * near[0]
            rows = np.stack([*near, numbers[-1] == 0, made])[:, ~np.any(data, axis=0)]
            for *sides, null, of_result in _distinct(rows):
                if any(sides) and not _keeps(operation.name, sides, bool(null), of_result):
                    where = next(side for side in sides if side)
                    raise NotInterpreted(f"{operation.name} of the address of {self.memory.of_number(where)}")
        return result

    def _of_halves(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        """Compute an operation on both halves of pairs; a conversion to a pair is given its upper half first."""
        halves = [self.unpacked(value, 16, 2) for value in values]
        rows = [[value] for value in values[::-1]] if operation.sources == ("f32",) else [*zip(*halves, strict=True)]
        return self.packed([self.apply(operation, list(row), at) for row in rows], 16)

    def computed(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        """Compute an operation: on numbers all lanes at once; on terms it is noted."""
        data = np.zeros(len(at), np.bool_)
        for _, terms in values:
            data |= ~is_known(terms)
        some = bool(data.any())
        if some and operation.name == "selp" and not values[2][1].any():
            chosen = typed(values[2][0], "pred")
            (b, t), (other_b, other_t), _ = values
            return np.where(chosen, b, other_b), np.where(chosen, t, other_t)
        if some and data.all():
            return np.zeros(len(at), np.uint64), self.deferred.apply(operation, values)
        with np.errstate(all="ignore"):
            numbers = [typed(b, kind) for (b, _), kind in zip(values, operation.sources, strict=True)]
            bits = untyped(operation.compute(*numbers), operation.result)
        found = np.zeros(len(at), np.int64)
        if some:
            found[data] = self.deferred.apply(operation, [(b[data], t[data]) for b, t in values])
        return bits, found

    def packed(self, parts: list[Register], size: int) -> Register:
        """Return values of `size` bits side by side, the first one lowest."""
        return self.computed(packing(size, len(parts)), parts, parts[0][1])

    def unpacked(self, value: Register, size: int, count: int) -> list[Register]:
        """Return the pieces of `size` bits that a value has, the lowest first."""
        terms = value[1]
        if (parts := self.deferred.packed_of(terms, packing(size, count))) is not None:
            return parts
        bits, written = self.deferred.written_out(*value)
        value = bits, self.deferred.bits_of(size * count, terms, written)
        if self.memory.near(bits).any():
            raise NotInterpreted("a part of an array's address")
        rows = [symbolic.unpack(self.deferred.normal, row[0], size, count) for row in _rows([value])]
        return [_columns([row[place] for row in rows]) for place in range(count)]


def _distinct(rows: Lanes) -> list[list[int]]:
    """Return the columns of a few rows of small numbers, each once."""
    code = rows[0]
    for row in rows[1:]:
        code = code * (1 + int(row.max(initial=0))) + row
    alone = (code == code[:1]).all()
    first = slice(1) if alone else np.unique(code, return_index=True)[1]
    found: list[list[int]] = rows[:, first].T.tolist()
    return found


def _keeps(name: str, sides: Sequence[int], null: bool, result: int) -> bool:
    """Say whether an operation does the same wherever arrays stand; `sides` are the arrays that operands are near."""
    given = [side for side in sides if side]
    if name in ("add", "mad") or name.startswith("mad.wide"):
        return given == [result]
    if name == "sub":
        return given == [result] == [sides[0]] or (given == [given[0]] * 2 and not result)
    of_one = given == [given[0]] * 2 or (null and name.split(".")[1] in ("eq", "ne"))
    return name.startswith("setp.") and of_one


def _rows(values: Sequence[Register]) -> Iterator[tuple[symbolic.Value, ...]]:
    """Yield for each thread its values."""
    lists = [zip(bits.tolist(), terms.tolist(), strict=True) for bits, terms in values]
    return zip(*lists, strict=True)


def _columns(rows: Sequence[symbolic.Value]) -> Register:
    return np.array([b for b, _ in rows], np.uint64), np.array([t for _, t in rows], np.int64)
