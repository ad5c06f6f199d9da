"""z3 behind PySMT's formulas: its own context, the setting that suits the fragment, and a lean way in for clauses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

import pysmt.operators as op
import z3
from pysmt.environment import get_env
from pysmt.fnode import FNode
from pysmt.typing import PySMTType

from symbolic.solve.answer import IRRATIONAL, Answer, Model, Sat, Unknown, Unsat
from symbolic.solve.engines import OWN_CONTEXTS
from symbolic.solve.interrupt import Interruptible, gc_paused
from symbolic.solve.tables import Applications, Value
from symbolic.solve.z3_closed import Z3Converter

Fragment: TypeAlias = Literal["boolean", "bits", "any", "quantified"]

# QF_FD is z3's incremental SAT core; without a name z3 picks by itself and takes integers too.
_LOGIC: dict[Fragment, str | None] = {"boolean": "QF_FD", "bits": "QF_BV", "any": None, "quantified": None}


_WITH_NUMBERS = ("any", "quantified")

MOST_IDLE, MOST_KEPT = 4, 20_000
AT_ONCE: Final = 4_000
"""So many of z3's steps, about a millisecond, are taken in the caller's thread: most questions end there, and to hand
one to a thread that can be left takes longer than a small question."""
_IDLE: list[tuple[object, Z3Converter]] = []


def _idle() -> list[tuple[object, Z3Converter]]:
    own = OWN_CONTEXTS.get()
    return _IDLE if own is None else own


def converter_of(*, new: bool) -> Z3Converter:
    """Return a way into a context of z3 that nobody else uses, so that threads do not meet in one.

    Making a context and freeing it takes longer than a small question, so that a few are kept, with the terms that were
    made in them: the next question is often about the same ones. How many steps a question takes depends on what
    was asked before in its context; so one of which the answer must not depend on that has a `new` one.
    """
    environment = get_env()
    idle = _idle()
    while idle and not new:
        made_for, converter = idle.pop()
        if made_for is environment:
            return converter
    return Z3Converter(environment, z3_ctx=z3.Context())


def leave(converter: Z3Converter) -> None:
    """Leave a context to the next question, unless it is large."""
    if len(_idle()) < MOST_IDLE and len(converter.memoization) < MOST_KEPT:
        _idle().append((get_env(), converter))


def tried(solver: Any, terms: Iterable[Any] = ()) -> Any:
    """Return the answer of a solver of z3's to a question that takes it a few steps; unknown of any other."""
    with gc_paused():
        solver.set("rlimit", AT_ONCE)
        result = solver.check(*terms)
        solver.set("rlimit", 0)
    return result


class Z3Engine:
    """z3, in process; it can be interrupted at any time."""

    name = "z3"
    holds_gil = False

    def __init__(self, fragment: Fragment, work: int | None = None, *, alone: bool = False) -> None:
        self._fragment = fragment
        self._converter = converter_of(new=alone)
        self._work = work
        self._z3 = self._solver()
        self._running: Interruptible[Any] = Interruptible(self._interrupt)
        self._reusable = not alone
        self._at_once = work is None and not alone and fragment != "boolean"
        self._added: list[FNode] = []  # as long as a question may be tried at once
        self._applications = Applications()

    def _solver(self) -> Any:
        context, name = self._converter.ctx, _LOGIC[self._fragment]
        made = z3.SolverFor(name, ctx=context) if name else z3.Solver(ctx=context)
        if self._work is not None:
            made.set("rlimit", self._work)
        made.set("ctrl_c", False)  # otherwise z3 swallows Ctrl-C and answers unknown
        return made

    def add(self, formulas: Sequence[FNode]) -> None:
        """Assert formulas; a clause over known literals skips PySMT's walker."""
        self._running.settle()
        if self._at_once:
            self._added += formulas
        context, solver = self._converter.ctx.ref(), self._z3.solver
        known, walk = self._converter.memoization, self._converter.walk
        arrays: dict[int, Any] = {}
        if self._fragment in _WITH_NUMBERS:
            self._applications.add(formulas)
        for formula in formulas:
            if formula.node_type() != op.OR:
                z3.Z3_solver_assert(context, solver, walk(formula))
                continue
            literals = []
            for argument in formula.args():
                term = known.get(argument)
                literals.append(walk(argument) if term is None else term)
            size = len(literals)
            array = arrays.get(size)
            if array is None:
                array = arrays[size] = z3.Ast * size
            z3.Z3_solver_assert(context, solver, z3.Z3_mk_or(context, size, array(*literals)))

    def check(self, assumptions: Sequence[FNode], timeout: float | None) -> Answer:
        """Decide; the core is z3's."""
        terms = {self._converter.convert(assumption): assumption for assumption in assumptions}
        self._at_once = self._at_once and len(self._converter.memoization) < MOST_KEPT
        result, late = tried(self._z3, terms) if self._at_once else z3.unknown, False
        if result == z3.unknown and self._at_once:  # a solver that was stopped half way may have lost what it was told
            self._at_once, self._z3 = False, self._solver()
            self.add(self._added)
        if result == z3.unknown:
            result, late = self._running.run(lambda: self._z3.check(*terms), timeout)
        if result == z3.sat:
            model = self._z3.model()
            if self._fragment in _WITH_NUMBERS and _irrational(model):
                return Unknown(IRRATIONAL)
            quantified = self._fragment == "quantified"
            return Sat(Model(reader(model, self._converter, self._applications, quantified)))
        if result == z3.unsat:
            core = {term.get_id() for term in self._z3.unsat_core()}
            return Unsat(tuple(a for term, a in terms.items() if term.get_id() in core))
        self._reusable = False  # a context that gave up may give up on the next question, too
        return Unknown(f"timeout after {timeout:g} s" if late else self._z3.reason_unknown())

    def symbols(self) -> Sequence[FNode]:
        """Return every symbol that is known: those of what was added, and of earlier questions in this context."""
        return [*(f for f in self._converter.memoization if f.is_symbol()), *self._applications.found]

    def close(self) -> None:
        """Stop a running check, and leave the context to the next engine, unless it was interrupted or is large."""
        self._running.settle()
        if self._reusable:
            self._reusable = False
            leave(self._converter)

    def _interrupt(self) -> None:
        self._reusable = False
        self._z3.interrupt()


def reader(model: z3.ModelRef, converter: Z3Converter, applications: Applications, quantified: bool) -> Any:
    """Return a lookup that asks z3's model for one symbol at a time; what a function is where nothing applies it, only
    if formulas are quantified.

    A value is read off as a numeral at once: `out[0]` is a view of the buffer, not a copy of the term's address, so
    whoever keeps it (as the memo of PySMT's way back from z3 does) would see it change with the next value.
    """
    context, known = converter.ctx.ref(), converter.memoization

    def lookup(symbol: FNode) -> Value | None:
        if symbol.symbol_type().is_function_type():
            return applications.table(symbol, value, elsewhere(symbol) if quantified else None)
        return value(symbol)

    def elsewhere(symbol: FNode) -> Value | None:
        interpretations = (model[d] for d in model.decls() if d.arity() and d.name() == symbol.symbol_name())
        others = next((each.else_value() for each in interpretations), None)
        if others is None or not z3.is_const(others) or z3.is_var(others):
            return None
        return number(others.as_ast(), symbol.symbol_type().return_type)

    def value(node: FNode) -> Value | None:
        term = known.get(node)
        if term is None:
            return node.constant_value() if node.is_constant() else None
        out = (z3.Ast * 1)()
        z3.Z3_model_eval(context, model.model, term, True, out)
        return number(out[0], get_env().stc.get_type(node))

    def number(numeral: Any, kind: PySMTType) -> Value:
        if kind.is_bool_type():
            return bool(z3.Z3_get_bool_value(context, numeral) == z3.Z3_L_TRUE)
        numeral = z3.Z3_get_numeral_string(context, numeral)
        return Fraction(numeral) if kind.is_real_type() else int(numeral)

    return lookup


def _irrational(model: z3.ModelRef) -> bool:
    """Tell whether some symbol's value is an irrational algebraic number, which a Fraction cannot hold."""
    return any(z3.is_algebraic_value(model[d]) for d in model.decls() if d.range().kind() == z3.Z3_REAL_SORT)
