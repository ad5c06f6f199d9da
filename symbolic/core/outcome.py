"""A question asked of a solver, with a limit on its time and a check of its answer; and the outcome: what a query found
out, and what values are under it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol
from weakref import WeakSet

from msgspec import Struct
from typing_extensions import assert_never

from symbolic.core.obligations import Obligation
from symbolic.core.structures import mapped
from symbolic.core.value_types import BitVector, Boolean, Integer, Real
from symbolic.errors import SwizzleError, shown
from symbolic.solve.answer import Answer, Model, Sat, Unknown, Unsat
from symbolic.solve.engines import UndecidedQuantifier
from symbolic.solve.floor_division import manager
from symbolic.solve.smtlib import smtlib_text
from symbolic.solve.solver import Solver
from symbolic.solve.words import limits

if TYPE_CHECKING:
    from pysmt.fnode import FNode


class Clock:
    """The time that a whole query may take, shared out among its checks, and what it is being spent on."""

    def __init__(self, timeout: float | None, query: str) -> None:
        if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < threading.TIMEOUT_MAX):
            raise SwizzleError(f"a timeout of {shown(timeout)}", expected="seconds, more than 0", fix="timeout=10")
        self._timeout = timeout
        self._query = query
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self.doing = ""

    def left(self) -> float | None:
        """Return the seconds left, never less than a moment."""
        return None if self._deadline is None else max(0.001, self._deadline - time.monotonic())

    def late(self, answer: Answer) -> Answer:
        """Return the answer; one that says nothing says what was asked, and of how long."""
        if not isinstance(answer, Unknown):
            return answer
        doing = f", {self.doing}" if self.doing else ""
        if self._deadline is not None and time.monotonic() >= self._deadline - 0.05:
            return Unknown(f"{self._query} had no answer within {self._timeout:g} s{doing}")
        return Unknown(f"{self._query} had no answer{doing}: {answer.reason}")

    def checked(self, engine: Solver, assumptions: Sequence[FNode], *formulas: FNode) -> Answer:
        """Return the engine's answer, after its model was evaluated."""
        return checked(self.late(engine.check(assumptions, self.left())), *formulas)


def checked(answer: Answer, *formulas: FNode) -> Answer:
    """Return a solver's answer, after its model was evaluated in Python's integers. Under a quantifier, a function may
    be no table and a formula undecided: then the answer is unknown."""
    if isinstance(answer, Sat):
        try:
            holds = all(answer.model.value(formula) for formula in formulas)
        except UndecidedQuantifier as error:
            return Unknown(f"an answer was found, and {error.found}")
        if not holds and not all(map(manager().env.qfo.is_qf, formulas)):
            return Unknown("an answer was found, and a function in it is no table, so that it cannot be checked")
        assert holds, "the solver's model does not satisfy"
    return answer


SHOWN = 8  # variables of an outcome's text


class Outcome(Struct, frozen=True, eq=False):
    """What a query found out.

    'sat': there is an answer, read it by `outcome[value]`. 'unsat': it was proved that there is none. 'unknown':
    see `reason`. Within `bitwidth` the reason says of which integers 'unsat' is said. `optimal` says, for `optimize`,
    that a sat answer was proved to be the best, and `proved` of which of its objectives.
    """

    status: Literal["sat", "unsat", "unknown"]
    reason: str = ""
    optimal: bool = False
    model: Model | None = None
    asked: tuple[Obligation, ...] = ()
    question: tuple[Any, ...] = ()  # formulas; `help` looks the types of a Struct up
    proved: tuple[bool, ...] = ()

    def show(self) -> str:
        """Return, as source, every lifted function that the query had unknowns of, filled.

        Raises SwizzleError where the outcome is not sat.
        """
        model, asked = self._model(), self._symbols()
        shown = sorted((each for each in _SKETCHES if not asked.isdisjoint(each.unknowns())), key=lambda s: s.order)
        return "\n\n".join(str(each.evaluated(model)) for each in shown)

    def __repr__(self) -> str:
        """Return the status in a line, with the values of the first few variables.

        >>> Outcome("unsat")
        <Outcome: unsat>
        """
        about = self.reason
        if self.model is not None:
            named = sorted((symbol for symbol in self._symbols() if "!" not in symbol.symbol_name()), key=str)
            values = [f"{symbol.symbol_name()} = {self.model.value(symbol)}" for symbol in named[:SHOWN]]
            about = ", ".join(values + ["..."] * (len(named) > SHOWN))
        return f"<Outcome: {self.status}{f', {about}' if about else ''}>"

    def _symbols(self) -> set[FNode]:
        """Return the symbols that the query was about."""
        formulas = [*(each.condition.formula for each in self.asked), *self.question]
        return {symbol for formula in formulas for symbol in manager().env.fvo.get_free_variables(formula)}

    def __getitem__(self, value: Any) -> Any:
        """Return what a value is: an int, a bool of a Boolean, a Fraction of a Real; what holds such; a filled program.

        Raises SwizzleError where the outcome is not sat.
        """
        if isinstance(value, str):
            raise SwizzleError(
                f"outcome[{value!r}]: a text stands for nothing but itself", expected="a symbolic value",
                fix=f"outcome[{value}], where {value} = integer({value!r})" if value.isidentifier() else "outcome[x]",
            )  # fmt: skip
        return evaluated(value, self._model())

    def evaluate(self, value: Any) -> Any:
        """Return `outcome[value]`."""
        return self[value]

    def partial(self, value: Any) -> Any:
        """Return what is left of a value, in whatever holds it, when the symbols that the query was about have this
        answer's values: other symbols stay.

        Raises SwizzleError where the outcome is not sat.
        """
        model, asked = self._model(), self._symbols()
        known = {symbol: model.value(symbol) for symbol in asked}

        def left(each: Any) -> Any:
            match each:
                case Boolean() | Integer() | Real() | BitVector():
                    from symbolic.solve.evaluate import Specialised

                    formula = Specialised(each.formula, known).at(known)
                    made = each.like(formula) if not isinstance(each, Boolean) else Boolean(formula)
                    return evaluated(made, model) if formula.is_constant() else made
                case list():
                    return [left(item) for item in each]
            cases = getattr(type(each), "cases", None)
            if cases is not None:
                chosen = [part for condition, part in cases(each) if left(condition) is True]
                return left(chosen[0]) if chosen else each
            return mapped(left, each)

        return left(value)

    def smtlib(self) -> str:
        """Return the question as SMT-LIB text, for any other solver: is there an answer? That there is none is what a
        'verify' hopes for. What `optimize` minimizes and the words of `bitwidth` are no part of it."""
        return smtlib_text(self.question)

    @property
    def broken(self) -> list[Obligation]:
        """The assertions that the answer breaks, of those that were made in the query's block: for `verify`."""
        model = self._model()
        return [each for each in self.asked if each.demanded and not model.value(each.condition.formula)]

    def __iter__(self) -> NoReturn:
        raise SwizzleError(
            "an outcome cannot be iterated over", expected="the values that are wanted", fix="outcome[x, y]"
        )

    def __bool__(self) -> NoReturn:
        raise SwizzleError(
            f"an outcome has no truth value: this one is {self.status}, and what that means depends on the query",
            expected="a comparison of its status", fix="outcome.status == 'sat'",
        )  # fmt: skip

    def _model(self) -> Model:
        if self.model is None:
            raise SwizzleError(
                f"this outcome is {self.status} and gives no values" + (f": {self.reason}" if self.reason else ""),
                expected="a sat outcome", fix="look at outcome.status first",
            )  # fmt: skip
        return self.model


class Sketched(Protocol):
    """A function with unknowns."""

    order: int

    def unknowns(self) -> set[FNode]:
        """Return the symbols of its unknowns."""

    def evaluated(self, model: Model) -> object:
        """Return it without unknowns; its text is the source."""


_SKETCHES: WeakSet[Sketched] = WeakSet()
_ORDER = count()


def shown_by(sketch: Sketched) -> None:
    """Let outcomes show a function, after those that were made before."""
    sketch.order = next(_ORDER)
    _SKETCHES.add(sketch)


def outcome_of(answer: Answer, asked: tuple[Obligation, ...], question: tuple[FNode, ...]) -> Outcome:
    """Return a solver's answer to a question, whether some formulas hold, as the outcome of a query."""
    match answer:
        case Sat(model):
            return Outcome("sat", model=model, asked=asked, question=question)
        case Unsat():
            return Outcome("unsat", limits(question), asked=asked, question=question)
        case Unknown(reason):
            return Outcome("unknown", reason, asked=asked, question=question)
        case _:
            assert_never(answer)


def evaluated(value: Any, model: Model) -> Any:
    """Return what a value is under a model: symbolic values become numbers, in whatever holds them.

    What knows best itself says so by a method `evaluated(model)`.
    """
    match value:
        case Boolean() | Integer():
            return model.value(value.formula)
        case Real():
            number = model.value(value.formula)
            assert isinstance(number, int | Fraction)
            return Fraction(number)
        case BitVector():
            found = model.value(value.formula)
            from symbolic.solve.evaluate import as_signed

            assert isinstance(found, int)
            return as_signed(found, value.width) if value.signed else found
        case list():
            return [evaluated(item, model) for item in value]
        case dict():
            return {key: evaluated(item, model) for key, item in value.items()}
    if hasattr(type(value), "evaluated"):
        return value.evaluated(model)
    return mapped(lambda item: evaluated(item, model), value)
