"""Products of small matrices (mma): what their elements make. Which shapes and types there are, and where each lane's
elements lie, is in `symbolic.ir.matrices`.

An element of the result is a sum of products, of a row of A and a column of B, and an element of C. So it is one note,
a sum as other instructions have them. On numbers it is summed in double precision, or in 64 bits, and rounded once, to
the type of C: in which order the hardware sums, and how it rounds on the way, PTX leaves open.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final

import numpy as np
from msgspec import Struct

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import InstructionRow, Maybe, Operation
from cuda_out.ptx.kinds import KINDS, Typed, is_float
from symbolic.algebra.terms import Term


class FactorType(Struct, frozen=True):
    """A type of A's and B's elements: the type in which registers are read, and the number that bits are: of NumPy
    lanes, and of a term."""

    read: str
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
FACTORS: Final = {
    "f16": FactorType("f16", _as_it_is, lambda n, a: a),
    "bf16": FactorType("b16", _of_bf16, lambda n, a: n.bf16_number(a)),
    "tf32": FactorType("f32", _of_tf32, _before_tf32),
    "f64": FactorType("f64", _as_it_is, lambda n, a: a),
    "s8": FactorType("s8", _as_it_is, lambda n, a: n.extended("s8", a)),
    "u8": FactorType("u8", _as_it_is, lambda n, a: n.extended("u8", a)),
    "s4": FactorType("u8", lambda a: (a.astype(np.int64) ^ 8) - 8,
                     lambda n, a: n.extended("s4", n.narrowed("u4", a))),
    "u4": FactorType("u8", _as_it_is, lambda n, a: n.extended("u4", n.narrowed("u4", a))),
}  # fmt: skip


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
