"""The least value of a real number under formulas, as z3 guesses it; who asks proves it by questions of his own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import z3
from msgspec import Struct
from pysmt.environment import get_env
from pysmt.fnode import FNode

from symbolic.solve.interrupt import Interruptible
from symbolic.solve.z3_closed import Z3Converter


class Least(Struct, frozen=True):
    """The greatest number that no value is below, None where there is none; whether some value is that number."""

    value: Fraction | None
    met: bool


WORK: Final = 1_000_000
"""As many of z3's steps are spent on a guess about integers, of which there are other ways to find the least."""


def least(formulas: Sequence[FNode], number: FNode, timeout: float | None, *, work: int | None = None) -> Least | None:
    """Return the least value that a number has where all formulas hold; None where z3 does not say (seconds)."""
    converter = Z3Converter(get_env(), z3_ctx=z3.Context())
    optimum = z3.Optimize(ctx=converter.ctx)
    if work is not None:
        optimum.set("rlimit", work)
    optimum.add(*map(converter.convert, formulas))
    handle = optimum.minimize(converter.convert(number))
    running: Interruptible[Any] = Interruptible(converter.ctx.interrupt)
    found, _ = running.run(optimum.check, timeout)
    if found != z3.sat:
        return None
    bound = optimum.lower_values(handle)
    if any(map(z3.is_algebraic_value, bound)):
        return None
    infinite, value, infinitesimal = (Fraction(str(each)) for each in bound)
    return Least(None, False) if infinite else Least(value, not infinitesimal)
