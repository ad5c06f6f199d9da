"""What a solver answers, as values, never exceptions: sat with a model, unsat with a core, or unknown with a reason;
and to a question over guards, that it is possible or excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from msgspec import Struct

from symbolic.solve.tables import Value
from symbolic.values.guard import Guard

if TYPE_CHECKING:
    from pysmt.fnode import FNode


IRRATIONAL: Final = "z3's answer holds irrational numbers"
"""Why an answer is unknown although some numbers meet the formulas: no model says which."""


class Model:
    """A value for every symbol; symbols whose value the engine left open are False or zero.

    A model stays valid after later checks and after its solver is closed.
    """

    __slots__ = ("_known", "_lookup")

    def __init__(self, lookup: Callable[[FNode], Value | None]) -> None:
        self._lookup = lookup
        self._known: dict[FNode, Value] = {}

    def true(self, symbol: FNode) -> bool:
        """Tell whether a Boolean symbol is true."""
        return self._symbol(symbol) is True

    def value(self, formula: FNode) -> Value:
        """Return the value of any formula: a bool, an int (bit-vectors are unsigned), a Fraction."""
        from symbolic.solve.evaluate import evaluate

        return self._symbol(formula) if formula.is_symbol() else evaluate(formula, self._symbol, self._known)

    def _symbol(self, symbol: FNode) -> Value:
        value = self._known.get(symbol)
        if value is None:
            from symbolic.solve.evaluate import default_value

            found = self._lookup(symbol)
            value = self._known[symbol] = default_value(symbol) if found is None else found
        return value


class Sat(Struct, frozen=True):
    """The formulas hold under `model`."""

    model: Model


class Unsat(Struct, frozen=True):
    """No assignment satisfies the formulas; `core` holds the assumptions of the check that are already too many."""

    core: tuple[FNode, ...]


class Unknown(Struct, frozen=True):
    """The engine gave up, or ran out of time."""

    reason: str


Answer: TypeAlias = Sat | Unsat | Unknown


class SolverEngine(Protocol):
    """One solver that holds formulas. `holds_gil` says that its check lets nothing else run in this process."""

    name: str
    holds_gil: bool

    def add(self, formulas: Sequence[FNode]) -> None:
        """Conjoin formulas."""

    def check(self, assumptions: Sequence[FNode], timeout: float | None) -> Answer:
        """Decide the conjunction under these literals, in so many seconds; usable after a KeyboardInterrupt."""

    def symbols(self) -> Sequence[FNode]:
        """Return the symbols that occur in what was added."""

    def close(self) -> None:
        """Free what the engine holds; more than once is fine."""


Holds: TypeAlias = Callable[[Guard], bool]
Clauses: TypeAlias = Sequence[Sequence[Guard]]


class Possible(Struct, frozen=True):
    """Some choice is possible; `holds` tells which guards hold under it."""

    holds: Holds


class Excluded(Struct, frozen=True):
    """No choice is possible; `core` holds the assumptions that already exclude all of them."""

    core: frozenset[Guard]


Verdict: TypeAlias = Possible | Excluded | Unknown
