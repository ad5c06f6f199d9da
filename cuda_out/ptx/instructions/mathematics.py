"""Functions of mathematics in PTX: calls of functions that are declared only (`cuda_out.compile.opaque`)."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from cuda_out.compile.opaque import BF16, FAST, PREFIX, SPELLED
from cuda_out.ptx.instructions.operation import InstructionRow, Operation
from cuda_out.ptx.kinds import KIND_OF, KINDS, width
from cuda_out.ptx.syntax import Kernel
from symbolic.algebra.numbers import from_memory, in_memory
from symbolic.ir.functions import External, FunctionRow, MathFunction
from symbolic.ir.program import DType


def term_name(row: FunctionRow) -> str:
    """Return the operator of a function in written-out terms. Floats are real numbers, so it is one for all types."""
    if isinstance(row, External):
        return f"external {row.symbol}:{'f64' if row.gives.is_float else KIND_OF[row.gives]}"
    return f"{row.symbol}:f64"


_FUNCTION: Final = InstructionRow(term=lambda o, n, v: n.function_of(o.operator, v, o.result), rounds_once=True)
_BF16_NUMBER: Final = InstructionRow(term=lambda o, n, v: n.bf16_number(v[0]), converts=("bf16", ""))
_BF16_BITS: Final = InstructionRow(term=lambda o, n, v: n.bf16_bits(v[0]), converts=("", "bf16"))


def operation_of(function: Kernel) -> Operation | None:
    """Return the function of mathematics that a function of a module stands for: one without a body."""
    if not function.declared or not function.name.startswith(PREFIX):
        return None
    if function.name.removeprefix(PREFIX) in BF16:
        return _of_bf16(function)
    name = function.name.removeprefix(PREFIX)
    found = SPELLED.get(name) or FAST.get(name)
    if found is None or function.result is None:
        return None
    row, dtype = found
    kind = KIND_OF[dtype]
    given = [kind for _, kind in function.parameters]
    if [width(each) for each in (*given, function.result[1])] != [width(kind)] * (len(row.operands) + 1):
        return None
    numbers = partial(_numbers, row, KINDS[kind])
    return Operation(f"math.{row.symbol}", (kind,) * len(given), kind, numbers, term_name(row), _FUNCTION)


def _of_bf16(function: Kernel) -> Operation | None:
    """Return the conversion of bf16 that a declared function is."""
    given, result = [kind for _, kind in function.parameters], function.result[1] if function.result else ""
    if list(map(width, (*given, result))) == [16, 32] and function.name.endswith("2float"):
        return Operation("bf16.number", ("b16",), "f32", partial(from_memory, dtype=DType.BF16), None, _BF16_NUMBER)
    if list(map(width, (*given, result))) == [32, 16] and not function.name.endswith("2float"):
        return Operation("bf16.bits", ("f32",), "b16", partial(in_memory, dtype=DType.BF16), None, _BF16_BITS)
    return None


def _numbers(row: MathFunction, kind: type, *values: Any) -> Any:
    return row.on_numbers(list(values)).astype(kind)
