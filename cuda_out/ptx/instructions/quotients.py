"""Rows of quotients, roots and approximated functions.

Approximations count as the true value, as floats are real numbers.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.operation import INTEGERS, Compute, InstructionRow, Operation
from cuda_out.ptx.kinds import KINDS, Typed
from symbolic.algebra.terms import Term


def _integer_quotient(o: Operation, a: Typed, b: Typed) -> Typed:
    """Integer division rounds toward zero, its remainder has the dividend's sign."""
    floored = a // b
    quotient = floored + ((floored * b != a) & ((a < 0) != (b < 0)))
    found: Typed = quotient if o.says("op") == "div" else a - quotient * b
    return found.astype(KINDS[o.result])


def _integer_quotient_term(o: Operation, n: Normal, v: list[Term]) -> Term:
    if o.result[0] == "s":
        return o.opaque(n, v)
    return (n.floor_divide if o.says("op") == "div" else n.modulo)(o.result, v[0], v[1])


_APPROXIMATED: Final[dict[str, tuple[Compute, str]]] = {
    "ex2": (np.exp2, "exp2:f64"), "lg2": (np.log2, "log2:f64"), "sin": (np.sin, "sin:f64"), "cos": (np.cos, "cos:f64"),
    "tanh": (np.tanh, "tanh:f64"), "rsqrt": (lambda a: np.float32(1) / np.sqrt(a), "rsqrt:f64"),
}  # fmt: skip
"""What instructions approximate, on numbers and as functions of mathematics."""


QUOTIENTS: Final = (
    InstructionRow(
        ((rf"(?:div|rem)\.(?P<t>{INTEGERS})", "=t t t"),), numbers=_integer_quotient, term=_integer_quotient_term
    ),
    InstructionRow(
        ((r"div\.(?:approx|full|rn)(?:\.ftz)?\.(?P<t>f32)", "=t t t"), (r"div\.rn\.(?P<t>f64)", "=t t t")),
        numbers=lambda o, a, b: a / b,
        term=lambda o, n, v: n.multiply(o.result, v[0], n.inverse(o.result, v[1])),
        rounds_once=True,
    ),
    InstructionRow(
        ((r"rcp\.(?:approx|rn)(?:\.ftz)?\.(?P<t>f32)", "=t t"), (r"rcp\.rn\.(?P<t>f64)", "=t t")),
        numbers=lambda o, a: np.divide(KINDS[o.result](1), a),
        term=lambda o, n, v: n.inverse(o.result, v[0]),
        rounds_once=True,
    ),
    InstructionRow(
        ((r"sqrt\.(?:approx|rn)(?:\.ftz)?\.(?P<t>f32)", "=t t"), (r"sqrt\.rn\.(?P<t>f64)", "=t t")),
        numbers=lambda o, a: np.sqrt(a),
        term=lambda o, n, v: n.function_of("sqrt:f64", v, o.result),
        rounds_once=True,
    ),
    InstructionRow(
        (
            (r"(?:ex2|lg2|sin|cos|rsqrt)\.approx(?:\.ftz)?\.(?P<t>f32)", "=t t"),
            (r"tanh\.approx\.(?P<t>f16|f32)", "=t t"),
            (r"ex2\.approx\.(?P<t>f16)", "=t t"),
        ),
        numbers=lambda o, a: _APPROXIMATED[o.says("op")][0](a),
        term=lambda o, n, v: n.function_of(_APPROXIMATED[o.says("op")][1], v, o.result),
    ),
)
