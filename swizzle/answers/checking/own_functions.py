"""Users' operators in a printed text: each function is run on the CPU and compared with the operator's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from cuda_out.c.expressions import function_name
from cuda_out.c.printer import CudaSource
from cuda_out.c.types import C_TYPE
from cuda_out.compile.toolchain import CompileError
from cuda_out.emulate.emulate import EmulationError, emulate
from symbolic.algebra.counterexample import first_difference, tried_columns
from symbolic.ir.program import DType, OperatorName, Program
from symbolic.ir.walk import operators_of

ENTRY = "swizzle_try_operator"


class Tried(Struct, frozen=True):
    """A function of a printed text: `wrong` says for which numbers it is not the operator, '' where for none tried;
    it is None where the text has no such function of two numbers."""

    name: str
    operator: str
    pairs: int
    wrong: str | None

    def __str__(self) -> str:
        if self.wrong is None:
            return f"{self.name}: no function of two numbers in the text, and not tried as the operator {self.operator}"
        if self.wrong:
            return f"{self.name} is not the operator {self.operator}: {self.wrong}"
        return f"{self.name}: the operator {self.operator} on {self.pairs} pairs of numbers (tried, not proved)"


def try_functions(program: Program, source: CudaSource) -> Iterator[Tried]:
    """Run the function of each operator of a program, as a printed text has it; needs a C++ compiler."""
    for op, dtype in operators_of(program):
        try:
            wrong: str | None = _difference(source, op, dtype)
        except CompileError:
            wrong = None
        yield Tried(function_name(op, dtype), str(op), len(tried_columns(dtype)[0]), wrong)


def _difference(source: CudaSource, op: OperatorName, dtype: DType) -> str:
    left, right = tried_columns(dtype)
    given, kind = np.zeros_like(left), C_TYPE[dtype]
    called = f"{source.namespace}::{function_name(op, dtype)}(a[i], b[i])"
    text = (
        f'{source.text}\nextern "C" __global__ void {ENTRY}(const {kind}* a, const {kind}* b, {kind}* c) {{\n'
        f"  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);\n  if (i < {len(left)}) c[i] = {called};\n}}\n"
    )
    try:
        emulate(text, ENTRY, (-(-len(left) // 32), 1, 1), (32, 1, 1), (left, right, given))
    except EmulationError as error:
        return str(error)
    return first_difference(op.law, dtype, given.tolist())
