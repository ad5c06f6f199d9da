"""How element types, literals and divisions by constants are written in CUDA C++.

Infinity is written with the compiler's builtin, because NVRTC has no headers.

Floats count as real numbers. Such a product is within 1.5 units in the last place of the quotient. IEEE's division is
within half a unit; it takes ten instructions, and a function of a hundred more for numbers that are not normal.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping

from cuda_out.passes.simplify import inline_finals
from symbolic.elements import DType, HalfNames, limits
from symbolic.ir.program import Binary, Const, Program, Stmt
from symbolic.ir.walk import own_expressions, statements, subexpressions

C_TYPE: Mapping[DType, str] = {dtype: dtype.row.c for dtype in DType if dtype.row.c}
_HALVES: Mapping[DType, HalfNames] = {dtype: dtype.row.half for dtype in DType if dtype.row.half}
TO_HALF: Mapping[DType, str] = {dtype: names.rounded for dtype, names in _HALVES.items()}
"""What rounds a float to a type of 16 bits."""
OF_HALF: Mapping[DType, str] = {dtype: names.single for dtype, names in _HALVES.items()}
HALF_BITS: Mapping[DType, tuple[str, str]] = {dtype: (names.bits, names.of_bits) for dtype, names in _HALVES.items()}
HALF_HEADER: Mapping[DType, str] = {dtype: names.header for dtype, names in _HALVES.items()}
TABLE_TYPES: Mapping[str, int] = {"unsigned char": 2**8 - 1, "unsigned short": 2**16 - 1, "unsigned": 2**32 - 1}
"""The types that a table's entries may have in constant memory, each with its largest number."""


def literal(value: int | float | bool, dtype: DType) -> str:
    """Return the C++ spelling of a constant; an integer that does not fit wraps, as NumPy's does.

    >>> literal(0.1, DType.F32), literal(-(2**31), DType.I32), literal(7, DType.U64)
    ('0.1f', '(-2147483647 - 1)', '7ull')
    """
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype.is_float:
        return _float_literal(float(value), dtype)
    number = int(value)
    low, high = limits(dtype)
    if dtype is DType.INDEX and high < number < 2**32:
        return f"0x{number:x}u"  # a 32-bit mask, which only bit operations and shuffle masks use
    number = (number - low) % (high - low + 1) + low
    suffix = dtype.row.suffix
    return f"({number + 1}{suffix} - 1)" if number == low < 0 else f"{number}{suffix}"


def reciprocal(value: float, dtype: DType) -> str:
    """Return 1 / value as a constant expression of a float type, '' where a quotient by it is as cheap or more exact.

    Powers of two are: compilers multiply by them, without an error. So are numbers that are not normal, or whose
    reciprocal is not, as it may then be far off. Halves are divided in single precision.

    >>> reciprocal(9, DType.F32), reciprocal(0.25, DType.F32), reciprocal(1e39, DType.F32)
    ('(1.0f / 9.0f)', '', '')
    """
    if dtype in TO_HALF:
        value, dtype = nearest_half(value, dtype), DType.F32
    value = _nearest_f32(value) if dtype is DType.F32 else value
    least = 2.0**-126 if dtype is DType.F32 else 2.0**-1022
    if not math.isfinite(value) or not least <= abs(value) <= 1 / least or abs(math.frexp(value)[0]) == 0.5:
        return ""
    return f"({_float_literal(1.0, dtype)} / {_float_literal(value, dtype)})"


def _float_literal(value: float, dtype: DType) -> str:
    if dtype in TO_HALF:
        return f"{TO_HALF[dtype]}({_float_literal(value, DType.F32)})"
    single = dtype is DType.F32
    if single:
        value = _nearest_f32(value)
    if not math.isfinite(value):  # by its bits: no compiler's header is needed
        infinity = "__int_as_float(0x7f800000)" if single else "__longlong_as_double(0x7ff0000000000000ll)"
        quiet = "__int_as_float(0x7fffffff)" if single else "__longlong_as_double(0x7fffffffffffffffll)"
        return quiet if math.isnan(value) else infinity if value > 0 else f"-{infinity}"
    text = _shortest_f32(value) if single else repr(value)
    return (text if "." in text or "e" in text else f"{text}.0") + ("f" if single else "")


def _nearest_f32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def nearest_half(value: float, dtype: DType) -> float:
    """Return the nearest number of a type of 16 bits.

    >>> nearest_half(0.1, DType.F16), nearest_half(0.1, DType.BF16)
    (0.0999755859375, 0.10009765625)
    """
    try:
        if dtype is DType.F16:
            return float(struct.unpack("e", struct.pack("e", float(value)))[0])
        bits = struct.unpack("I", struct.pack("f", value))[0]
        return float(struct.unpack("f", struct.pack("I", bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _shortest_f32(value: float) -> str:
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if _nearest_f32(float(text)) == value:
            return repr(float(text))
    return repr(value)


def products(program: Program) -> Iterator[tuple[Stmt, Binary]]:
    """Yield each quotient that is printed as a product, with the statement that it stands in."""
    if program.ieee_division:
        return
    for stmt in statements(inline_finals(program).body):
        for expr in own_expressions(stmt):
            for part in subexpressions(expr):
                match part:
                    case Binary(op="/", right=Const(value=value), dtype=dtype) if reciprocal(float(value), dtype):
                        yield stmt, part
                    case _:
                        pass
