"""Products of small matrices (mma): which shapes and types there are, where each lane's elements lie, what they make.

An element of the result is a sum of products, of a row of A and a column of B, and an element of C. So it is one note,
a sum as other instructions have them. On numbers it is summed in double precision, or in 64 bits, and rounded once, to
the type of C: in which order the hardware sums, and how it rounds on the way, PTX leaves open.

`FACTORS` is the table by the PTX ISA (matrix fragments for mma): of lane l, g = l // 4 is its group and t = l % 4 its
place in the group. A register of A holds neighbours along k, of row g or g + 8; one of B of column g.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import InstructionRow, Maybe, Operation
from cuda_out.ptx.kinds import KINDS, Typed, is_float
from symbolic.algebra.terms import Term
from symbolic.ir.program import LANES

Places: TypeAlias = "list[tuple[Typed, Typed]]"
"""For each element of a lane its row and its column, of all lanes."""


class FactorType(Struct, frozen=True):
    """A type of A's and B's elements: its bits, the type in which registers are read, the types of C, the shapes (m, k)
    that there are, of n = 8, and the number that bits are: of NumPy lanes, and of a term."""

    bits: int
    read: str
    sums: tuple[str, ...]
    shapes: tuple[tuple[int, int], ...]
    number: Callable[[Typed], Typed]
    term: Callable[[Normal, Term], Term]


def _as_it_is(a: Typed) -> Typed:
    return a


def _of_bf16(a: Typed) -> Typed:
    found: Typed = (a.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return found


def _of_tf32(a: Typed) -> Typed:
    """The lower 13 bits of a float are not looked at."""
    found: Typed = (np.ascontiguousarray(a).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return found


def _before_tf32(n: Normal, a: Term) -> Term:
    """A number as it was before it was rounded to tf32, which is an assumption (`tf32`)."""
    op, args = n.terms.nodes[a]
    before: Term = args[0] if op == TF32 else a
    return before


TF32: Final = "tf32:f32"
"""The operator that a conversion to tf32 is."""
_HALVES: Final = ((16, 8), (16, 16))
_BYTES: Final = ((8, 16), (16, 16), (16, 32))
_NIBBLES: Final = ((8, 32), (16, 32), (16, 64))
FACTORS: Final = {
    "f16": FactorType(16, "f16", ("f32", "f16"), _HALVES, _as_it_is, lambda n, a: a),
    "bf16": FactorType(16, "b16", ("f32",), _HALVES, _of_bf16, lambda n, a: n.bf16_number(a)),
    "tf32": FactorType(32, "f32", ("f32",), ((16, 4), (16, 8)), _of_tf32, _before_tf32),
    "f64": FactorType(64, "f64", ("f64",), ((8, 4), (16, 4), (16, 8), (16, 16)), _as_it_is, lambda n, a: a),
    "s8": FactorType(8, "s8", ("s32",), _BYTES, _as_it_is, lambda n, a: n.extended("s8", a)),
    "u8": FactorType(8, "u8", ("s32",), _BYTES, _as_it_is, lambda n, a: n.extended("u8", a)),
    "s4": FactorType(4, "u8", ("s32",), _NIBBLES, lambda a: (a.astype(np.int64) ^ 8) - 8,
                     lambda n, a: n.extended("s4", n.narrowed("u4", a))),
    "u4": FactorType(4, "u8", ("s32",), _NIBBLES, _as_it_is, lambda n, a: n.extended("u4", n.narrowed("u4", a))),
}  # fmt: skip


class MatrixProduct(Struct, frozen=True):
    """A product of a shape, of types of A, B and C."""

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str

    @property
    def exists(self) -> bool:
        """Whether it is one of the table; another one's meaning is not known."""
        one, other = FACTORS.get(self.a), FACTORS.get(self.b)
        if one is None or other is None or one.bits != other.bits or self.n != 8:
            return False
        same = self.a == self.b or one.sums == other.sums == ("s32",)
        return same and (self.m, self.k) in one.shapes and self.c in one.sums

    def places(self, operand: str) -> Places:
        """Return where a lane's elements of A, B or C (and the result) lie, in the order of its registers."""
        group, place = np.divmod(np.arange(LANES), 4)
        if operand == "c":
            return [(group + 8 * (i // 2), 2 * place + i % 2) for i in range(self.m * self.n // LANES)]
        per, high = max(1, 32 // FACTORS[self.a].bits), self.m // 8 if operand == "a" else 1
        size = (self.m if operand == "a" else self.n) * self.k // LANES
        found = []
        for register, element in (divmod(i, per) for i in range(size)):
            along = per * place + element + 4 * per * (register // high)
            across = group + 8 * (register % high)
            found.append((across, along) if operand == "a" else (along, across))
        return found


@cache
def dot_product(a: str, b: str, c: str, length: int) -> Operation:
    """Return what an element is: of so many elements of A, as many of B, and one of C."""
    sources = (*[FACTORS[a].read] * length, *[FACTORS[b].read] * length, c)
    row = InstructionRow(parts=partial(_parts, a, b), summands=(2 * length,), factors=2 * length)
    return Operation(f"product.{a}.{b}", sources, c, partial(_summed, a, b, c), None, row)


def _summed(a: str, b: str, c: str, *values: Typed) -> Typed:
    count, wide = len(values) // 2, np.float64 if is_float(c) else np.int64
    total: Typed = values[-1].astype(wide)
    for x, y in zip(values[:count], values[count:-1], strict=True):
        total = total + FACTORS[a].number(x).astype(wide) * FACTORS[b].number(y).astype(wide)
    return total.astype(KINDS[c])


def _parts(a: str, b: str, o: Operation, n: Normal, v: Maybe) -> Maybe:
    count, found = len(v) // 2, list(v[-1:])
    for x, y in zip(v[:count], v[count:-1], strict=True):
        assert x is not None and y is not None
        found.append(n.multiply(o.result, FACTORS[a].term(n, x), FACTORS[b].term(n, y)))
    return found
