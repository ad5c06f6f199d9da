"""One small incremental interface to every solver, over PySMT's formulas.

Formulas live in PySMT's current environment, `pysmt.environment.get_env()`: build with its `formula_manager`, and
do not change environments while a solver is open. Models, cores and answers are values (`symbolic.solve.answer`).

    with Solver("z3", boolean=True) as solver:
        solver.add(clauses)
        match solver.check([assumption], timeout=5):
            case Sat(model): ...
            case Unsat(core): ...
            case Unknown(reason): ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from typing_extensions import assert_never

from symbolic.errors import SwizzleError
from symbolic.solve.answer import Answer, Model, Sat, SolverEngine, Unknown, Unsat
from symbolic.solve.engines import EngineName, SatName, SolverName, members
from symbolic.solve.interrupt import gc_paused
from symbolic.solve.portfolio import race
from symbolic.solve.words import words

if TYPE_CHECKING:
    from pysmt.fnode import FNode

__all__ = [
    "Answer",
    "EngineName",
    "Model",
    "Sat",
    "Solver",
    "SolverName",
    "Unknown",
    "Unsat",
    "unchecked_formulas",
]

Fragment: TypeAlias = Literal["boolean", "bits", "any", "quantified"]


class Solver:
    """Formulas that are conjoined, and checks under assumptions. A context manager; `close` frees the engines.

    `boolean` promises that only Boolean symbols and connectives occur: every engine then runs its SAT core.
    Without it the engine is chosen at the first check, from the formulas added by then. `timeout` in seconds is
    each check's own unless the check names another; `work` limits z3's steps in each, on all machines alike, and
    whatever was asked before, if the question is `alone` in its context, at some milliseconds.
    'portfolio' races all engines that are installed and can do the job, each check in fresh processes; cvc5 runs in a
    process of its own too.
    """

    def __init__(
        self, name: SolverName = "z3", *, boolean: bool = False, timeout: float | None = None, work: int | None = None,
        alone: bool = False,
    ) -> None:  # fmt: skip
        if name not in get_args(SolverName):
            raise SwizzleError(
                f"no solver is called {name!r}",
                expected="'z3', 'cvc5', 'cadical', 'glucose' or 'portfolio'",
                fix="name one of these, or leave it out",
            )
        if name in get_args(SatName) and not boolean:
            raise SwizzleError(
                f"{name} decides Boolean formulas only", expected=f"Solver({name!r}, boolean=True)", fix="use 'z3'"
            )
        self._names = members(name, boolean)
        self._timeout = timeout
        self._work, self._alone = work, alone
        self._fragment: Fragment | None = "boolean" if boolean else None
        self._kept: list[FNode] = []
        self._words = None if boolean else words()
        self._engines: tuple[SolverEngine, ...] = self._open("boolean") if boolean else ()

    def __enter__(self) -> Solver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, formulas: Iterable[FNode]) -> None:
        """Conjoin formulas; one call per batch is the fast way."""
        with gc_paused():
            batch = list(formulas if self._words is None else map(self._words.translated, formulas))
            if self._fragment == "boolean":
                self._feed(batch)
                return
            self._kept.extend(batch)
            if self._fragment is not None and (
                self._fragment == "quantified" or _fragment(batch, arithmetic=self._fragment == "any") in (
                    "bits", self._fragment
                )
            ):  # fmt: skip
                self._feed(batch)
            else:
                self._close_engines()

    def check(self, assumptions: Sequence[FNode] = (), timeout: float | None = None) -> Answer:
        """Decide whether all that was added holds under the assumptions, which are Boolean literals."""
        assert all(a.is_literal() for a in assumptions), "an assumption is a Boolean symbol or its negation"
        limit = self._timeout if timeout is None else timeout
        if not self._engines:
            self._fragment = _fragment(self._kept)
            self._engines = self._open(self._fragment)
            self._feed(self._kept)
        alone = len(self._engines) == 1 and not self._engines[0].holds_gil
        answer = self._engines[0].check(assumptions, limit) if alone else race(self._engines, assumptions, limit)
        return Sat(self._words.model(answer.model)) if self._words and isinstance(answer, Sat) else answer

    def close(self) -> None:
        """Free the engines; more than once is fine."""
        self._close_engines()

    def _open(self, fragment: Fragment) -> tuple[SolverEngine, ...]:
        return tuple(_engine(name, fragment, self._work, self._alone) for name in self._names)

    def _feed(self, batch: Sequence[FNode]) -> None:
        with gc_paused():
            for engine in self._engines:
                engine.add(batch)

    def _close_engines(self) -> None:
        engines, self._engines = self._engines, ()
        for engine in engines:
            engine.close()


@contextmanager
def unchecked_formulas() -> Iterator[None]:
    """Build formulas without PySMT's type check of every node, for code that builds them by the 100,000.

    The collector is paused too. Only for formulas that are right by construction: a wrong type goes unnoticed.
    """
    from pysmt.environment import get_env

    manager: Any = get_env().formula_manager
    checked = manager._do_type_check
    manager._do_type_check = lambda formula: None
    try:
        with gc_paused():
            yield
    finally:
        manager._do_type_check = checked


def _engine(name: EngineName, fragment: Fragment, work: int | None, alone: bool) -> SolverEngine:
    match name:
        case "z3":
            from symbolic.solve.z3_engine import Z3Engine

            return Z3Engine(fragment, work, alone=alone)
        case "cvc5":
            from symbolic.solve.cvc5_engine import Cvc5Engine

            return Cvc5Engine(fragment)
        case "cadical" | "glucose":
            from symbolic.solve.pysat_engine import PysatEngine

            assert fragment == "boolean"
            return PysatEngine(name)
        case _:
            assert_never(name)


def _fragment(formulas: Sequence[FNode], *, arithmetic: bool = False) -> Fragment:
    """Return 'bits' when there are only bit-vectors and Booleans, else 'any': with numbers, or functions, which nobody
    looks for where there may be some (`arithmetic`); of formulas with quantifiers, 'quantified'."""
    import pysmt.operators as op

    numbers = {op.INT_CONSTANT, op.REAL_CONSTANT, op.BV_TONATURAL, op.FUNCTION}
    pending, met, plain = list(formulas), set[int](), not arithmetic
    while pending:
        node = pending.pop()
        if node.node_id() in met:
            continue
        met.add(node.node_id())
        kind = node.node_type()
        if kind in op.QUANTIFIERS:
            return "quantified"
        if plain and (kind in numbers or (kind == op.SYMBOL and _is_number(node))):
            plain = False
        pending += node.args()
    return "bits" if plain else "any"


def _is_number(symbol: FNode) -> bool:
    kind = symbol.symbol_type()
    return not (kind.is_bool_type() or kind.is_bv_type())
