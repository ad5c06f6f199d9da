"""Uninterpreted functions in models: a table of the values that matter, and one for all other arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, field

if TYPE_CHECKING:
    from pysmt.fnode import FNode
    from pysmt.typing import PySMTType


class Table(Struct, frozen=True):
    """A function on numbers: what it is for some arguments, and everywhere else.

    >>> square = Table({(2,): 4, (3,): 9}, 0)
    >>> square(3), square(5)
    (9, 0)
    >>> print(square)
    (2) -> 4, (3) -> 9, else 0
    """

    entries: dict[tuple[Any, ...], Any]
    default: Any

    def __call__(self, *arguments: Any) -> Any:
        """Return the value for some numbers."""
        return self.entries.get(arguments, self.default)

    def __str__(self) -> str:
        rows = [f"({', '.join(map(str, key))}) -> {value}" for key, value in sorted(self.entries.items())]
        return ", ".join([*rows, f"else {self.default}"])


Value: TypeAlias = bool | int | Fraction | Table
"""What a formula or a symbol is; bit-vectors are unsigned ints."""


def default_of(kind: PySMTType) -> Any:
    """Return the value that stands for one that is left open: False, zero, or a table of these."""
    if kind.is_function_type():
        return Table({}, default_of(kind.return_type))
    if kind.is_bool_type():
        return False
    return Fraction(0) if kind.is_real_type() else 0


class Applications(Struct):
    """Where an engine's formulas apply uninterpreted functions."""

    found: dict[FNode, set[FNode]] = field(default_factory=dict)
    _seen: set[FNode] = field(default_factory=set)

    def add(self, formulas: Iterable[FNode]) -> None:
        """Look through more formulas."""
        from pysmt.environment import get_env

        free = get_env().fvo.get_free_variables
        pending = [f for f in formulas if any(s.symbol_type().is_function_type() for s in free(f))]
        while pending:
            node = pending.pop()
            if node not in self._seen and not node.is_quantifier():  # in which arguments are no values
                self._seen.add(node)
                pending += node.args()
                if node.is_function_application():
                    self.found.setdefault(node.function_name(), set()).add(node)

    def table(self, function: FNode, value: Callable[[FNode], Any], default: Any = None) -> Table:
        """Return a function as a table; `value` gives the value of each term, and `default` that of all others."""
        entries = {tuple(map(value, each.args())): value(each) for each in self.found.get(function, ())}
        return Table(entries, default_of(function.symbol_type().return_type) if default is None else default)
