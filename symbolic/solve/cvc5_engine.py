"""cvc5 behind PySMT's formulas. Its check holds Python's lock, so it only ever runs in a forked process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cvc5 import Kind
from pysmt.environment import get_env
from pysmt.exceptions import SolverReturnedUnknownResultError
from pysmt.fnode import FNode
from pysmt.solvers.cvcfive import CVC5Converter, CVC5Solver

from symbolic.solve.answer import Answer, Model, Sat, Unknown, Unsat
from symbolic.solve.floors import REAL_FLOOR
from symbolic.solve.tables import Applications, Value
from symbolic.solve.z3_engine import Fragment

_LOGIC: dict[Fragment, str] = {"boolean": "QF_UF", "bits": "QF_BV", "any": "QF_ALL", "quantified": "ALL"}


def _floor(converter: CVC5Converter, formula: FNode, args: list[Any], **_: object) -> Any:
    return converter.cvc5.mkTerm(Kind.TO_INTEGER, args[0])


CVC5Converter.set_handler(_floor, REAL_FLOOR)


class Cvc5Engine:
    """cvc5; `symbolic.solve.portfolio` checks it in a child process, where it can be stopped."""

    name = "cvc5"
    holds_gil = True

    def __init__(self, fragment: Fragment) -> None:
        self._pysmt = CVC5Solver(get_env(), _LOGIC[fragment], generate_models=True, incremental=True)
        self._converter = self._pysmt.converter
        self._applications = Applications()

    def add(self, formulas: Sequence[FNode]) -> None:
        """Assert formulas."""
        self._applications.add(formulas)
        walk, assert_formula = self._converter.walk, self._pysmt.cvc5.assertFormula
        for formula in formulas:
            assert_formula(walk(formula))

    def check(self, assumptions: Sequence[FNode], timeout: float | None) -> Answer:
        """Decide, ignoring Ctrl-C; the core is all the assumptions. The model is valid until the next check."""
        if timeout is not None:
            self._pysmt.cvc5.setOption("tlimit-per", str(max(1, int(timeout * 1000))))
        try:
            found = self._pysmt.solve(list(assumptions))
        except SolverReturnedUnknownResultError:
            return Unknown("no answer" if timeout is None else f"no answer within {timeout:g} s")
        return Sat(Model(self._value)) if found else Unsat(tuple(assumptions))

    def _value(self, node: FNode) -> Value | None:
        if node.is_symbol() and node.symbol_type().is_function_type():
            return self._applications.table(node, self._value)
        value: Value = self._pysmt.get_value(node).constant_value()
        return value

    def symbols(self) -> Sequence[FNode]:
        """Return every symbol that was declared to cvc5."""
        return list(self._converter.declared_vars)

    def close(self) -> None:
        """Drop the solver."""
        self._pysmt.exit()
