"""The registers of a launch: for each thread bits, or a term, and what the pure instructions make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np

from cuda_out.ptx import symbolic
from cuda_out.ptx.concrete import Operation, decode
from cuda_out.ptx.kinds import Bits, typed, untyped
from cuda_out.ptx.memory import Broken, Lanes, Memory
from cuda_out.ptx.normal import Normal
from cuda_out.ptx.parse import Immediate, Instruction, Name, NotInterpreted, Operand
from symbolic.errors import Place
from symbolic.launch_shape import HARDWARE_WARP, LaunchShape
from symbolic.program import Coordinate

_COORDINATES: Final = {"%tid": "threadIdx", "%ctaid": "blockIdx", "%ntid": "blockDim", "%nctaid": "gridDim"}
_NOT_COORDINATES: Final = ("%clock", "%globaltimer", "%smid", "%warpid", "%lanemask")
_NOWHERE: Final = Place("", 0, 0)
Register: TypeAlias = "tuple[Bits, Lanes]"


class Registers:
    """What instructions read and write, for some threads at a time; `symbols` are the addresses of variables."""

    def __init__(self, shape: LaunchShape, memory: Memory, normal: Normal) -> None:
        self.shape, self.memory, self.normal = shape, memory, normal
        self.every: Lanes = shape.thread
        self.symbols: dict[str, int] = {}
        self.registers: dict[str, Register] = {}

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
        if text == "%laneid":
            return (self.shape.thread % self.shape.block_threads % HARDWARE_WARP)[at].astype(np.uint64)
        if text == "WARP_SZ":
            return np.full(len(at), HARDWARE_WARP, np.uint64)
        name, _, axis = text.partition(".")
        if name in _COORDINATES and axis in ("x", "y", "z"):
            node = Coordinate(_COORDINATES[name], axis, _NOWHERE)  # type: ignore[arg-type]
            return self.shape.coordinate(node)[at].astype(np.uint64)
        if text.startswith("%") and not text.startswith(_NOT_COORDINATES):
            nothing = self.memory.nothing(f"{text}, a register that was never set")
            raise Broken(self.memory.account(nothing))
        raise NotInterpreted(f"the operand {text}")

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

    def known(self, instruction: Instruction, terms: Lanes, at: Lanes, what: str) -> None:
        """Refuse what steers and is no number."""
        if terms.any():
            bad = int(np.flatnonzero(terms)[0])
            if terms[bad] < 0:
                raise Broken(
                    f"{instruction}: {what} of {self.shape.describe(int(at[bad]))} depends on "
                    f"{self.memory.account(int(terms[bad]))}"
                )
            shown = self.normal.terms.show(int(terms[bad]))
            raise NotInterpreted(f"{instruction}, {what} that depends on data: {shown[:200]}")

    def apply(self, operation: Operation, values: list[Register], at: Lanes) -> Register:
        """Compute an operation: on numbers all lanes at once, on terms each distinct row of operands."""
        terms = np.stack([t for _, t in values])
        with np.errstate(all="ignore"):
            numbers = [typed(b, kind) for (b, _), kind in zip(values, operation.sources, strict=True)]
            bits = untyped(operation.compute(*numbers), operation.result)
        found = np.zeros(len(at), np.int64)
        lanes = np.flatnonzero(terms.any(axis=0))
        if len(lanes) == 0:
            return bits, found
        if operation.name == "selp" and not terms[2].any():
            chosen = numbers[2]
            return np.where(chosen, values[0][0], values[1][0]), np.where(chosen, terms[0], terms[1])
        for lane in lanes.tolist():
            row = tuple((0, int(t)) if t else (int(b), 0) for b, t in ((b[lane], t[lane]) for b, t in values))
            key = (operation.name, operation.sources, row)
            value = self.normal.memo.get(key)
            if value is None:
                value = self.normal.memo[key] = symbolic.evaluate(self.normal, operation, row)
            bits[lane], found[lane] = value
        return bits, found

    def packed(self, parts: list[Register], size: int) -> Register:
        rows = [symbolic.pack(self.normal, row, size) for row in _rows(parts)]
        return _columns(rows)

    def unpacked(self, value: Register, size: int, count: int) -> list[Register]:
        rows = [symbolic.unpack(self.normal, row[0], size, count) for row in _rows([value])]
        return [_columns([row[place] for row in rows]) for place in range(count)]


def _rows(values: Sequence[Register]) -> Iterator[tuple[symbolic.Value, ...]]:
    """Yield for each thread its values."""
    lists = [zip(bits.tolist(), terms.tolist(), strict=True) for bits, terms in values]
    return zip(*lists, strict=True)


def _columns(rows: Sequence[symbolic.Value]) -> Register:
    return np.array([b for b, _ in rows], np.uint64), np.array([t for _, t in rows], np.int64)
