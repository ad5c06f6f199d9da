"""Functions of mathematics as calls, for translation validation.

A compiler puts `expf` in place, as a dozen instructions that nothing can be said of. So the text that is validated
calls a declared function instead, `swizzle_opaque_expf`, which its PTX still calls: everything else in it is the
compiler's work on the printed text. What is trusted beyond other validations: that the compiler puts CUDA's function
where the call stands (docs/checking.md).
"""

from __future__ import annotations

import re
from typing import Final

from symbolic.algebra.functions import FUNCTIONS, FunctionRow
from symbolic.ir.program import DType

_TYPE: Final = {DType.F32: "float", DType.F64: "double"}
PREFIX: Final = "swizzle_opaque_"
SPELLED: Final[dict[str, tuple[FunctionRow, DType]]] = {
    name: (row, dtype) for row in FUNCTIONS.values() if row.defined is None for dtype, name in row.cuda.items()
}
"""The functions that are made calls, by CUDA's names; of the others the instructions are known."""
_CALL: Final = re.compile(rf"(?<![\w.>:])(?:::\s*)?({'|'.join(sorted(SPELLED, key=len, reverse=True))})(?=\s*\()")


def with_opaque_calls(text: str) -> str:
    """Return CUDA C++ text in which functions of mathematics are declared only; the same text where it calls none."""
    used: dict[str, None] = {}

    def called(match: re.Match[str]) -> str:
        used[match[1]] = None
        return PREFIX + match[1]

    changed = _CALL.sub(called, text)
    declared = []
    for name in used:
        row, dtype = SPELLED[name]
        of = ", ".join([_TYPE[dtype]] * len(row.operands))
        declared.append(f'extern "C" __device__ {_TYPE[dtype]} {PREFIX}{name}({of});\n')
    return "".join(declared) + changed
