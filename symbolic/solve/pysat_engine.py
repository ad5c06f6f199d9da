"""The SAT solvers of python-sat as PySMT solvers for Boolean formulas, and as engines.

And, Or, Not, Implies, Iff and Ite become clauses by Tseitin's encoding; a clause over literals is passed on as it
is. Constraints are permanent unless they were added after a `push`, which guards them by an activation literal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pysmt.operators as op
from pysmt.environment import get_env
from pysmt.exceptions import PysmtValueError, SolverReturnedUnknownResultError
from pysmt.fnode import FNode
from pysmt.logics import QF_BOOL
from pysmt.solvers.eager import EagerModel
from pysmt.solvers.solver import Solver, SolverOptions

from symbolic.solve.answer import Answer, Model, Sat, Unknown, Unsat
from symbolic.solve.engines import SatName
from symbolic.solve.sat import SatSolver


class PysatOptions(SolverOptions):  # type: ignore[misc]
    """No options beyond PySMT's own."""

    def __call__(self, solver: Any) -> None:
        """There is nothing to set."""


class PysatSolver(Solver):  # type: ignore[misc]
    """CaDiCaL 1.9.5 or Glucose 4.2 behind PySMT's solver interface."""

    LOGICS = (QF_BOOL,)
    OptionsClass = PysatOptions

    def __init__(self, environment: Any, name: SatName = "cadical", logic: Any = QF_BOOL, **options: Any) -> None:
        super().__init__(environment=environment, logic=logic, **options)
        self.engine = SatSolver(name)
        self.sat = self.engine.sat
        self.literals: dict[FNode, int] = {}
        self._variables = 0
        self._levels: list[int] = []
        self._true: frozenset[int] = frozenset()

    # ---- formulas to clauses -----------------------------------------------------------------------------------

    def literal(self, formula: FNode) -> int:
        """Return the literal that stands for a formula, defining it by clauses the first time."""
        literals = self.literals
        if formula.node_type() == op.NOT and formula not in literals:
            literals[formula] = -self.literal(formula.arg(0))
        pending = [formula]
        while pending:
            node = pending[-1]
            if node in literals:
                pending.pop()
                continue
            missing = [argument for argument in node.args() if argument not in literals]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            literals[node] = self._define(node, [literals[argument] for argument in node.args()])
        return literals[formula]

    def _define(self, node: FNode, inputs: list[int]) -> int:
        kind, add = node.node_type(), self.sat.add_clause
        if kind == op.NOT:
            return -inputs[0]
        output = self._fresh()
        if kind == op.SYMBOL and node.symbol_type().is_bool_type():
            return output
        if kind == op.BOOL_CONSTANT:
            add([output if node.is_true() else -output])
        elif kind == op.AND:
            for x in inputs:
                add([-output, x])
            add([output, *(-x for x in inputs)])
        elif kind == op.OR:
            for x in inputs:
                add([output, -x])
            add([-output, *inputs])
        elif kind == op.IMPLIES:
            a, b = inputs
            for clause in ([-output, -a, b], [output, a], [output, -b]):
                add(clause)
        elif kind == op.IFF:
            a, b = inputs
            for clause in ([-output, -a, b], [-output, a, -b], [output, a, b], [output, -a, -b]):
                add(clause)
        elif kind == op.ITE:
            c, a, b = inputs
            for clause in ([-output, -c, a], [-output, c, b], [output, -c, -a], [output, c, -b]):
                add(clause)
        else:
            raise PysmtValueError(f"not a Boolean operator: {node}")
        return output

    def _fresh(self) -> int:
        self._variables += 1
        return self._variables

    def add_assertion(self, formula: FNode, named: Any = None) -> None:
        """Conjoin a formula at the current level."""
        known, add = self.literals, self.sat.add_clause
        guard = [-level for level in self._levels[-1:]]
        pending = [formula]
        while pending:
            node = pending.pop()
            kind = node.node_type()
            if kind == op.AND:
                pending.extend(node.args())
            elif kind == op.OR:
                add([known.get(a) or self.literal(a) for a in node.args()] + guard)
            elif kind == op.IMPLIES:
                add([-self.literal(node.arg(0)), self.literal(node.arg(1)), *guard])
            else:
                add([self.literal(node), *guard])

    # ---- PySMT's interface -------------------------------------------------------------------------------------

    def solve(self, assumptions: Sequence[FNode] | None = None) -> bool:
        """Decide, however long it takes."""
        found = self.engine.attempt(self.assumed(assumptions or ()), -1)
        if found is None:
            raise SolverReturnedUnknownResultError
        self.note_model(found)
        return found

    def assumed(self, assumptions: Sequence[FNode]) -> list[int]:
        """Return the literals of the open levels and of some assumptions."""
        return [*self._levels, *(self.literal(a) for a in assumptions)]

    def note_model(self, found: bool | None) -> None:
        """Keep the model of an answer that has one."""
        if found:
            self._true = frozenset(x for x in self.engine.model() if x > 0)

    def core(self, assumptions: Sequence[FNode]) -> tuple[FNode, ...]:
        """Return the assumptions that the last unsat answer used."""
        used = set(self.engine.core())
        return tuple(a for a in assumptions if self.literals[a] in used)

    def assignment(self) -> dict[FNode, bool]:
        """Return the last model, over every symbol that occurs."""
        true = self._true
        return {formula: x in true for formula, x in self.literals.items() if formula.is_symbol()}

    def get_value(self, item: FNode) -> FNode:
        """Return the value of a formula in the last model, as a formula."""
        manager = self.environment.formula_manager
        return manager.Bool(Model(self.assignment().get).value(item))

    def get_model(self) -> EagerModel:
        """Return the last model as PySMT's."""
        values = {s: self.environment.formula_manager.Bool(v) for s, v in self.assignment().items()}
        return EagerModel(values, self.environment)

    def push(self, levels: int = 1) -> None:
        """Open levels."""
        self._levels.extend(self._fresh() for _ in range(levels))

    def pop(self, levels: int = 1) -> None:
        """Forget what the last levels added."""
        for _ in range(levels):
            self.sat.add_clause([-self._levels.pop()])

    def _exit(self) -> None:
        self.engine.close()


class PysatEngine:
    """A SAT solver, in process."""

    holds_gil = False

    def __init__(self, name: SatName) -> None:
        self.name: str = name
        self._pysmt = PysatSolver(get_env(), name)

    def add(self, formulas: Sequence[FNode]) -> None:
        """Conjoin formulas."""
        known, literal = self._pysmt.literals.get, self._pysmt.literal
        add_clause, add_assertion = self._pysmt.sat.add_clause, self._pysmt.add_assertion
        for formula in formulas:
            if formula.node_type() == op.OR:
                add_clause([known(a) or literal(a) for a in formula.args()])
            else:
                add_assertion(formula)

    def check(self, assumptions: Sequence[FNode], timeout: float | None) -> Answer:
        """Decide; the core is the solver's."""
        found = self._pysmt.engine.check(self._pysmt.assumed(assumptions), timeout)
        self._pysmt.note_model(found)
        if found is None:
            return Unknown(f"timeout after {timeout:g} s")
        return Sat(Model(self._pysmt.assignment().get)) if found else Unsat(self._pysmt.core(assumptions))

    def symbols(self) -> Sequence[FNode]:
        """Return every symbol that occurs."""
        return list(self._pysmt.assignment())

    def close(self) -> None:
        """Stop a running check and free the solver."""
        self._pysmt.exit()
