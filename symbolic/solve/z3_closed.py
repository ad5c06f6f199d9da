"""PySMT's way into z3, which learns of floors here, and closed formulas as z3 decides them."""

from __future__ import annotations

from typing import Any

import z3
from pysmt.environment import get_env
from pysmt.fnode import FNode
from pysmt.solvers.z3 import Z3Converter

from symbolic.solve.floors import REAL_FLOOR
from symbolic.solve.interrupt import Interruptible

__all__ = ["Z3Converter", "holds_in_z3"]


def _floor(converter: Z3Converter, formula: FNode, args: list[Any], **_: object) -> Any:
    term = z3.Z3_mk_real2int(converter.ctx.ref(), args[0])
    z3.Z3_inc_ref(converter.ctx.ref(), term)
    return term


Z3Converter.set_handler(_floor, REAL_FLOOR)


def holds_in_z3(closed: FNode, timeout: float) -> bool | None:
    """Tell whether a formula without free symbols holds; None where z3 does not say in time (seconds)."""
    converter = Z3Converter(get_env(), z3_ctx=z3.Context())
    solver = z3.Solver(ctx=converter.ctx)
    solver.add(converter.convert(closed))
    running: Interruptible[Any] = Interruptible(converter.ctx.interrupt)
    found, _ = running.run(solver.check, timeout)
    return None if found == z3.unknown else bool(found == z3.sat)
