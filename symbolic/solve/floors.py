"""The floor of a real number as a node of formulas, which PySMT does not have: SMT-LIB's `to_int`.

PySMT's walkers ask the environment what to do with nodes that they do not know; engines have methods of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pysmt.operators as op

from symbolic.solve.floor_division import manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode

REAL_FLOOR: Final[int] = op.new_node_type(node_str="real_floor")


def real_floor(number: FNode) -> FNode:
    """Return the greatest integer that is not above a real number; that of an integer is the integer."""
    m = manager()
    if REAL_FLOOR not in m.env.dwf:
        _known_to(m.env)
    if number.is_toreal():
        return number.arg(0)
    if number.is_constant():
        return m.Int(number.constant_value() // 1)
    return m.create_node(REAL_FLOOR, (number,))


def _known_to(environment: Any) -> None:
    """Tell an environment's walkers, and those that print, what the node is."""
    from pysmt.printers import HRPrinter
    from pysmt.smtlib.printers import SmtDagPrinter, SmtPrinter
    from pysmt.typing import INT

    def printed(self: Any, formula: FNode) -> Any:
        self.write("floor(")
        yield formula.arg(0)
        self.write(")")

    def printed_for_solvers(self: Any, formula: FNode) -> Any:
        return self.walk_nary(formula, "to_int")

    meanings: dict[type, Callable[..., Any]] = {
        type(environment.stc): lambda _, formula, args: INT,
        type(environment.fvo): lambda _, formula, args: args[0],
        type(environment.qfo): lambda _, formula, args: args[0],
        type(environment.theoryo): lambda _, formula, args: args[0].set_lira(),
        type(environment.typeso): lambda _, formula, args: args[0],
        type(environment.substituter): lambda self, formula, args, **_: real_floor(args[0]),
        type(environment.simplifier): lambda self, formula, args, **_: real_floor(args[0]),
        HRPrinter: printed,
        SmtPrinter: printed_for_solvers,
        SmtDagPrinter: lambda self, formula, args: self.walk_nary(formula, args, "to_int"),
    }
    for walker, meaning in meanings.items():
        environment.add_dynamic_walker_function(REAL_FLOOR, walker, meaning)
