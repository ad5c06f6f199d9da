"""A vector access as CUDA C++ text: one load or store of a type such as `float4`, and a register for each word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cuda_out.c.types import HALF_BITS
from cuda_out.passes.vectors import VectorAccess
from symbolic.ir.program import Expr

Element = Callable[[str, tuple[Expr, ...]], str]
Stored = Callable[[str, tuple[Expr, ...], str], str]


def vector_lines(vector: VectorAccess, element: Element, value: Element, stored: Stored, name: str) -> Iterator[str]:
    """Yield the lines.

    `element` prints `array[...]` in memory, `value` what a register has, and `stored` the statement that stores a
    text in it; `name` is a new name for the loaded vector.
    """
    address, kind = f"&{element(vector.array, vector.indices)}", vector.type_name
    bits, number = HALF_BITS.get(vector.dtype, ("", ""))
    if vector.is_store:
        registers = [value(each.array, each.indices) for each in vector.registers]
        registers = [f"{bits}({each})" for each in registers] if vector.by_bits else registers
        yield f"*reinterpret_cast<{kind}*>({address}) = {vector.maker}({', '.join(registers)});"
        return
    yield f"const {kind} {name} = *reinterpret_cast<const {kind}*>({address});"
    for register, word in zip(vector.registers, "xyzw", strict=False):
        text = f"{name}.{word}"
        yield stored(register.array, register.indices, f"{number}({text})" if vector.by_bits else text)


def word_lines(vector: VectorAccess, element: Element, words: Sequence[str], name: str) -> Iterator[str]:
    """Yield the lines of a vector whose registers are whole words of several elements each."""
    address = f"&{element(vector.array, vector.indices)}"
    kind = {1: "unsigned int"}.get(len(words), f"uint{len(words)}")
    if vector.is_store:
        value = words[0] if len(words) == 1 else f"make_{kind}({', '.join(words)})"
        yield f"*reinterpret_cast<{kind}*>({address}) = {value};"
    elif len(words) == 1:
        yield f"{words[0]} = *reinterpret_cast<const {kind}*>({address});"
    else:
        yield f"const {kind} {name} = *reinterpret_cast<const {kind}*>({address});"
        for word, part in zip(words, "xyzw", strict=False):
            yield f"{word} = {name}.{part};"
