"""The least value of a real number under formulas, as z3 guesses it; who asks proves it by questions of his own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import z3
from msgspec import Struct
from pysmt.fnode import FNode

from symbolic.solve.answer import Model
from symbolic.solve.interrupt import Interruptible
from symbolic.solve.tables import Applications
from symbolic.solve.z3_engine import converter_of, leave, reader, tried


class Least(Struct, frozen=True):
    """The greatest number that no value is below, None where there is none; whether some value is that number, as it
    then is in the model."""

    value: Fraction | None
    met: bool
    model: Model


def least(formulas: Sequence[FNode], number: FNode, timeout: float | None, work: int) -> Least | None:
    """Return the least value that a number has where all formulas hold; None where z3 does not say, in as many steps
    (0: any number) and seconds."""
    converter, applications = converter_of(new=False), Applications()
    applications.add(formulas)
    terms = [*map(converter.convert, formulas)]

    def asked() -> tuple[Any, Any]:
        made = z3.Optimize(ctx=converter.ctx)
        made.add(*terms)
        return made, made.minimize(converter.convert(number))

    optimum, handle = asked()
    found = tried(optimum)
    if found == z3.unknown:
        optimum, handle = asked()
        optimum.set("rlimit", work)
        running: Interruptible[Any] = Interruptible(converter.ctx.interrupt)
        found, _ = running.run(optimum.check, timeout)
    if found != z3.sat:
        return None
    bound = optimum.lower_values(handle)
    if any(map(z3.is_algebraic_value, bound)):
        return None
    leave(converter)
    infinite, value, infinitesimal = (Fraction(str(each)) for each in bound)
    model = Model(reader(optimum.model(), converter, applications, quantified=False))
    return Least(None, False, model) if infinite else Least(value, not infinitesimal, model)
