"""Element types, one row each: what a bit pattern of the type is, and what NumPy, CUDA, PTX and numba call it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from msgspec import Struct


class HalfNames(Struct, frozen=True):
    """Of a float of 16 bits in CUDA: what rounds a float to it and gives it as one, its bits and a number of bits, and
    the header that has them."""

    rounded: str
    single: str
    bits: str
    of_bits: str
    header: str


class ElementRow(Struct, frozen=True):
    """What the house knows of an element type; '' or 0 is said of what a type does not have.

    `digits` are the bits of a float's significand, the first one among them; an integer has none. `numpy` is NumPy's
    type of its numbers, `stored` that of its bits in memory where it is another one. `c` is the name in C++, `suffix`
    that of a literal, `vector` CUDA's name of a vector without the number of its elements. `ptx` are elements in
    memory as PTX spells them. numba computes with no type that has no name in `numba`. `drawn` is the largest whole
    number of random data, small enough for exact sums.
    """

    bits: int
    numpy: str = ""
    c: str = ""
    ptx: str = ""
    numba: str = ""
    vector: str = ""
    suffix: str = ""
    digits: int = 0
    stored: str = ""
    half: HalfNames | None = None
    drawn: int = 100


class DType(Enum):
    """An element type. INDEX is a steering integer (a C `int`), BOOL a steering condition; the rest is data.

    Integers of 8 and 16 bits are moved and converted, and not computed with. A STATE is all words of an operator on
    several (`symbolic.algebra.states`); a program has such values only as long as it has holes. NumPy has no bf16: such
    numbers are single ones of which the lower half is 0; in PTX they are bits, of which calls make numbers.
    """

    INDEX = "index"
    BOOL = "bool"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"
    I8 = "i8"
    U8 = "u8"
    I16 = "i16"
    U16 = "u16"
    I32 = "i32"
    U32 = "u32"
    I64 = "i64"
    U64 = "u64"
    STATE = "state"

    @property
    def row(self) -> ElementRow:
        """What is known of the type."""
        return ROWS[self]

    @property
    def is_data(self) -> bool:
        return self not in (DType.INDEX, DType.BOOL)

    @property
    def is_float(self) -> bool:
        return self.row.digits > 0

    @property
    def is_unsigned(self) -> bool:
        return self.value.startswith("u")

    @property
    def bits(self) -> int:
        """How many bits an element of data has, a state excepted."""
        return self.row.bits

    @property
    def is_narrow(self) -> bool:
        """Whether it is an integer of 8 or 16 bits."""
        return 0 < self.row.bits < 32 and not self.row.digits


def _whole(dtype: DType, c: str, vector: str, suffix: str = "") -> ElementRow:
    """Return the row of an integer type: i8 is `int8` to NumPy and numba, and `s8` to PTX."""
    name = dtype.value
    python = name.replace("i", "int").replace("u", "uint")
    return ElementRow(int(name[1:]), python, c, name.replace("i", "s"), python, vector, suffix)


ROWS: Final[Mapping[DType, ElementRow]] = {
    DType.INDEX: ElementRow(32, "int64", "int", numba="int64"),
    DType.BOOL: ElementRow(0, "bool_", "bool", numba="bool_"),
    DType.F16: ElementRow(
        16, "float16", "__half", "f16", vector="half", digits=11, drawn=3,
        half=HalfNames("__float2half", "__half2float", "__half_as_ushort", "__ushort_as_half", "cuda_fp16.h"),
    ),
    DType.BF16: ElementRow(
        16, "float32", "__nv_bfloat16", "u16", vector="bfloat16", digits=8, stored="uint16", drawn=2,
        half=HalfNames(
            "__float2bfloat16", "__bfloat162float", "__bfloat16_as_ushort", "__ushort_as_bfloat16", "cuda_bf16.h"
        ),
    ),
    DType.F32: ElementRow(32, "float32", "float", "f32", "float32", "float", digits=24, drawn=8),
    DType.F64: ElementRow(64, "float64", "double", "f64", "float64", "double", digits=53),
    DType.I8: _whole(DType.I8, "signed char", "char"),
    DType.U8: _whole(DType.U8, "unsigned char", "uchar"),
    DType.I16: _whole(DType.I16, "short", "short"),
    DType.U16: _whole(DType.U16, "unsigned short", "ushort"),
    DType.I32: _whole(DType.I32, "int", "int"),
    DType.U32: _whole(DType.U32, "unsigned int", "uint", "u"),
    DType.I64: _whole(DType.I64, "long long", "longlong", "ll"),
    DType.U64: _whole(DType.U64, "unsigned long long", "ulonglong", "ull"),
    DType.STATE: ElementRow(0),
}  # fmt: skip


def limits(dtype: DType) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer type; an index is a C int."""
    bits = dtype.row.bits
    return (0, 2**bits - 1) if dtype.is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def wrapped(value: int, dtype: DType) -> int:
    """Return a number as an integer type has it.

    >>> wrapped(-1, DType.U32), wrapped(2**31, DType.I32)
    (4294967295, -2147483648)
    """
    least, greatest = limits(dtype)
    return (value - least) % (greatest - least + 1) + least


def is_exact(source: DType, target: DType) -> bool:
    """Say whether each number of a type of data is one of another type, too, which is not the same."""
    a, b = source.row, target.row
    if source is target or not (source.is_data and target.is_data) or DType.STATE in (source, target):
        return False
    if source.is_float:  # the bits that are no digits are the exponent's
        return a.digits <= b.digits and a.bits - a.digits <= b.bits - b.digits
    if target.is_float:
        return a.bits - (not source.is_unsigned) <= b.digits
    (low, high), (least, greatest) = limits(source), limits(target)
    return least <= low and high <= greatest
