"""Rows of arithmetic on bf16, which NumPy lacks, and on pairs of floats of 16 bits.

A number of bf16 is 16 bits in a register, computed in f32. What is computed on pairs is so on each half (`of_half`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import InstructionRow, Operation
from cuda_out.ptx.kinds import Typed
from cuda_out.ptx.syntax import NotInterpreted
from symbolic.algebra.numbers import from_memory, in_memory
from symbolic.algebra.terms import Term
from symbolic.ir.program import DType

_NUMBERS: Final[dict[str, Callable[..., Any]]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a,
    "fma": lambda a, b, c: (a.astype(np.float64) * b + c).astype(np.float32), "abs": np.abs, "min": np.fmin,
    "max": np.fmax, "ex2": np.exp2, "tanh": np.tanh,
}  # fmt: skip
_TERMS: Final[dict[str, Callable[..., Term]]] = {
    "add": lambda n, a, b: n.add("f32", a, b),
    "sub": lambda n, a, b: n.add("f32", a, n.scaled("f32", -1, b)),
    "mul": lambda n, a, b: n.multiply("f32", a, b),
    "neg": lambda n, a: n.scaled("f32", -1, a),
    "fma": lambda n, a, b, c: n.add("f32", n.multiply("f32", a, b), c),
    "abs": lambda n, a: n.absolute("f32", a),
    "min": lambda n, a, b: n.extreme("min", "f32", a, b),
    "max": lambda n, a, b: n.extreme("max", "f32", a, b),
    "ex2": lambda n, a: n.function_of("exp2:f64", [a], "f32"),
    "tanh": lambda n, a: n.function_of("tanh:f64", [a], "f32"),
}
"""What an operation is on numbers in f32, and on their terms."""
_HALF: Final = {"f16x2": "f16", "bf16x2": "bf16"}


def _of_bf16(o: Operation, *values: Typed) -> Any:
    found = _NUMBERS[o.says("op")](*(np.asarray(from_memory(each, DType.BF16)) for each in values))
    return in_memory(np.fmax(found, np.float32(0)) if o.says("relu") else found, DType.BF16)


def _term_of_bf16(o: Operation, n: Normal, v: list[Term]) -> Term:
    found = _TERMS[o.says("op")](n, *map(n.bf16_number, v))
    return n.bf16_bits(n.extreme("max", "f32", found, n.terms.const(0)) if o.says("relu") else found)


def _rounded(o: Operation, a: Typed) -> Any:
    return in_memory(np.fmax(a, np.float32(0)) if o.says("relu") else a, DType.BF16)


def _rounded_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    return n.bf16_bits(n.extreme("max", "f32", v[0], n.terms.const(0)) if o.says("relu") else v[0])


def _of_pairs(o: Operation, *values: Typed) -> Any:
    raise NotInterpreted(f"{o.name}: the machine computes each half")


def of_half(op: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the instruction that one on pairs is for each half, None for any other.

    >>> of_half(("fma", "rn", "bf16x2"))
    ('fma', 'rn', 'bf16')
    """
    if op[0] in ("atom", "red") or _HALF.keys().isdisjoint(op):
        return None
    return tuple(_HALF.get(part, part) for part in op)


HALVES: Final = (
    InstructionRow(
        (
            (r"(?:(?:add|sub|mul)(?:\.rn)?|min|max)\.(?P<t>bf16)", "=b16 b16 b16"),
            (r"fma\.rn(?P<relu>\.relu)?\.(?P<t>bf16)", "=b16 b16 b16 b16"),
            (r"(?:neg|abs)\.(?P<t>bf16)", "=b16 b16"),
            (r"(?:ex2\.approx\.ftz|tanh\.approx)\.(?P<t>bf16)", "=b16 b16"),
        ),
        name="bf16.{whole}", numbers=_of_bf16, term=_term_of_bf16, converts=("bf16", "bf16"),
    ),
    InstructionRow(
        ((r"cvt\.rn(?P<relu>\.relu)?\.(?P<t>bf16)\.(?P<s>f32)", "=b16 s"),),
        name="cvt{relu}.{t}.{s}", numbers=_rounded, term=_rounded_term, converts=("", "bf16"),
    ),
    InstructionRow(
        ((r"cvt\.(?P<t>f32)\.(?P<s>bf16)", "=t b16"),),
        name="cvt.{t}.{s}",
        numbers=lambda o, a: from_memory(a, DType.BF16),
        term=lambda o, n, v: n.bf16_number(v[0]), converts=("bf16", ""),
    ),
    InstructionRow(
        (
            (r"cvt\.rn\.(?P<t>f16x2)\.(?P<s>f32)", "=b32 s s"),
            (r"cvt\.rn(?:\.relu)?\.(?P<t>bf16x2)\.(?P<s>f32)", "=b32 s s"),
            (r"(?:(?:add|sub|mul)(?:\.rn)?|min|max)(?:\.ftz)?\.(?P<t>f16x2)", "=b32 b32 b32"),
            (r"(?:(?:add|sub|mul)(?:\.rn)?|min|max)\.(?P<t>bf16x2)", "=b32 b32 b32"),
            (r"fma\.rn(?:\.ftz)?\.(?P<t>f16x2)", "=b32 b32 b32 b32"),
            (r"fma\.rn(?:\.relu)?\.(?P<t>bf16x2)", "=b32 b32 b32 b32"),
            (r"(?:neg|abs)\.(?P<t>f16x2|bf16x2)", "=b32 b32"),
            (r"(?:ex2\.approx|tanh\.approx)\.(?P<t>f16x2)", "=b32 b32"),
            (r"(?:ex2\.approx\.ftz|tanh\.approx)\.(?P<t>bf16x2)", "=b32 b32"),
        ),
        name="{whole}", numbers=_of_pairs,
    ),
)  # fmt: skip
