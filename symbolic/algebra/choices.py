"""Choices by several comparisons of data, `where(a < b and c < d, x, y)`: one term for every order of the comparisons.

Such a choice is written as choices within a choice, with one *exit*: it is `x` where all comparisons hold (or fail, as
each one says), else `y`, whichever of them is asked first. An `or` is the same with `x` for the exit. Terms ask the
youngest comparison first. Nothing else is known of choices: not what one outcome says about another comparison, nor
that a comparison is asked twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, Protocol, TypeAlias

from symbolic.ir.functions import ChoiceFunction, row_of, where

Term: TypeAlias = int
_Compared: TypeAlias = tuple[str, Term, Term, bool]
"""A comparison and the outcome for which a chain goes on."""

LESS_THAN: Final = where("<").name
EQUAL_TO: Final = where("==").name
CHOOSING: Final = frozenset((LESS_THAN, EQUAL_TO))


class _Table(Protocol):
    """The table of terms."""

    nodes: list[tuple[str, tuple[Any, ...]]]

    def intern(self, op: str, args: tuple[Any, ...], /) -> Term: ...


def is_choice(op: str) -> bool:
    """Say whether an operator chooses between two values by a comparison."""
    return isinstance(row_of(op), ChoiceFunction)


def _age(asked: _Compared) -> tuple[Any, ...]:
    op, a, b, outcome = asked
    return max(a, b), a, b, op, outcome


class Choices:
    """The choices in one table of terms."""

    def __init__(self, table: _Table) -> None:
        self.table = table
        self._chains: dict[tuple[Term, Term], tuple[list[_Compared], Term]] = {}

    def apply(self, op: str, a: Term, b: Term, x: Term, y: Term) -> Term:
        """Return the term of `where(a < b, x, y)` or `where(a == b, x, y)`."""
        if op == EQUAL_TO and b < a:
            a, b = b, a
        for outcome, chosen, leaves_to in ((True, x, y), (False, y, x)):
            asked, then = self._chain(chosen, leaves_to)
            if asked:
                return self._made([(op, a, b, outcome), *asked], then, leaves_to)
        return self.table.intern(op, (a, b, x, y))

    def spellings(self, op: str, term: Term) -> Iterator[tuple[Term, ...]]:
        """Yield all arguments of which `op` makes a choice."""
        made_by, arguments = self.table.nodes[term]
        if not is_choice(made_by):
            return
        a, b, x, y = arguments
        (asked, then), leaves_to = self._chain(term, y), y
        if len(asked) == 1:
            (asked, then), leaves_to = self._chain(term, x), x
        if x == y:
            asked, then = [(made_by, a, b, True)], x
        for first in dict.fromkeys(asked):
            own, a, b, outcome = first
            if own == op:
                rest = list(asked)
                rest.remove(first)
                chosen = self._made(rest, then, leaves_to)
                ways = (chosen, leaves_to) if outcome else (leaves_to, chosen)
                yield a, b, *ways
                if op == EQUAL_TO and a != b:
                    yield b, a, *ways

    def _chain(self, term: Term, leaves_to: Term) -> tuple[list[_Compared], Term]:
        """Return the comparisons one after the other that lead from a term to the same exit, and what is behind."""
        found = self._chains.get((term, leaves_to))
        if found is None:
            asked, at = list[_Compared](), term
            while True:
                op, args = self.table.nodes[at]
                if not is_choice(op) or args[2] == args[3] or leaves_to not in args[2:]:
                    break
                a, b, x, y = args
                asked.append((op, a, b, y == leaves_to))
                at = x if y == leaves_to else y
            last = self._another_exit(at, leaves_to)
            if last is not None:
                asked.append(last[0])
                at = last[1]
            found = self._chains[term, leaves_to] = asked, at
        return found

    def _another_exit(self, term: Term, leaves_to: Term) -> tuple[_Compared, Term] | None:
        """Return the comparison that leads from a chain to an exit which is the same chain without it, and what is
        behind; None where there is none."""
        (op, args), (other_op, _) = self.table.nodes[term], self.table.nodes[leaves_to]
        if not is_choice(op) or not is_choice(other_op) or args[2] == args[3]:
            return None
        for behind in args[2:]:
            (asked, then), (others, other) = self._chain(term, behind), self._chain(leaves_to, behind)
            if others and then == other and len(asked) == len(others) + 1:
                more = Counter(asked) - Counter(others)
                if more.total() == 1:
                    ((op, a, b, outcome),) = more
                    return (op, a, b, not outcome), behind
        return None

    def _made(self, asked: list[_Compared], then: Term, leaves_to: Term) -> Term:
        for op, a, b, outcome in sorted(asked, key=_age):
            inner, behind = self._chain(leaves_to, then)
            if inner:
                then = self._made([(op, a, b, not outcome), *inner], behind, then)
            else:
                then = self.table.intern(op, (a, b, *((then, leaves_to) if outcome else (leaves_to, then))))
        return then
