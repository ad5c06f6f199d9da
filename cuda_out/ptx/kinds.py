"""The types of PTX instructions as spelled there (`s32`, `b64`, `f16`, `pred`), and registers as NumPy lanes.

A register holds bits: one uint64 for each thread, of which an instruction reads as many as its type has.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from symbolic.ir.program import DType

Bits: TypeAlias = npt.NDArray[np.uint64]
Typed: TypeAlias = npt.NDArray[Any]
_TYPED: Final = re.compile(r"(\w+)\.([bsuf]\d+)")

KINDS: Final[dict[str, type]] = {
    **{f"{letter}{width}": getattr(np, f"uint{width}") for letter in "bu" for width in (8, 16, 32, 64)},
    **{f"s{width}": getattr(np, f"int{width}") for width in (8, 16, 32, 64)},
    **{f"f{width}": getattr(np, f"float{width}") for width in (16, 32, 64)},
    "pred": np.bool_,
}
KIND_OF: Final[dict[DType, str]] = {dtype: dtype.row.ptx for dtype in DType if dtype.row.ptx}
"""How PTX has the elements of a type; bf16 are bits, of which calls make numbers (`cuda_out.compile.opaque`)."""


def number_kind(dtype: DType) -> str:
    """Return the type that data is computed in."""
    return "f32" if dtype is DType.BF16 else KIND_OF[dtype]


def width(kind: str) -> int:
    """Return the bits of a type; a predicate has one."""
    return 1 if kind == "pred" else int(kind[1:])


def record_size(kind: str) -> int:
    """Return the bytes of a parameter that is a structure (`record24`), 0 of any other type."""
    return int(kind[6:]) if kind.startswith("record") else 0


def is_float(kind: str) -> bool:
    return kind.startswith("f")


def typed(bits: Bits, kind: str) -> Typed:
    """Read registers as values of a type."""
    if kind == "pred":
        found: Typed = bits != 0
        return found
    size = width(kind)
    low: Typed = bits.astype(f"u{size // 8}")  # a conversion between unsigned types keeps the low bits
    return low.view(KINDS[kind])


def untyped(values: Typed, kind: str) -> Bits:
    """Return values of a type as registers; narrow signed ones are extended, as loads and conversions do."""
    if kind == "pred":
        return values.astype(np.uint64)
    values = np.ascontiguousarray(values, KINDS[kind])
    if kind in ("s8", "s16"):
        values, kind = values.astype(np.int32), "s32"
    found: Bits = values.view(f"u{width(kind) // 8}").astype(np.uint64)
    return found


class TermOperator(NamedTuple):
    """The operator of a written-out term: `shr.u32` is `shr` of the type u32; an operator without a type has ''."""

    name: str
    kind: str


@lru_cache(maxsize=4096)
def typed_operator(op: str) -> TermOperator:
    """Return an operator as its name and its type."""
    found = _TYPED.fullmatch(op)
    return TermOperator(found[1], found[2]) if found else TermOperator(op, "")
