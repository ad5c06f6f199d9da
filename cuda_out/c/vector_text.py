"""A vector access as CUDA C++ text: one load or store of a type such as `float4`, and a register for each word."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cuda_out.passes.vectors import VectorAccess
from symbolic.ir.program import Expr

Element = Callable[[str, tuple[Expr, ...]], str]


def vector_lines(vector: VectorAccess, element: Element, name: str) -> Iterator[str]:
    """Yield the lines; `element` prints `array[...]`, and `name` is a new name for the loaded vector."""
    registers = [element(each.array, each.indices) for each in vector.registers]
    address, kind = f"&{element(vector.array, vector.indices)}", vector.type_name
    if vector.is_store:
        yield f"*reinterpret_cast<{kind}*>({address}) = {vector.maker}({', '.join(registers)});"
        return
    yield f"const {kind} {name} = *reinterpret_cast<const {kind}*>({address});"
    for register, word in zip(registers, "xyzw", strict=False):
        yield f"{register} = {name}.{word};"
