"""Data as canonical terms: what is equal here is equal for all inputs.

Operators take one term for each value, or arrays of terms at once, without a step of Python for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import repeat
from operator import itemgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from symbolic.algebra.conversions import WIDEN, conversion, holds, is_number_of
from symbolic.algebra.numbers import Lanes
from symbolic.algebra.operator_laws import LAWS
from symbolic.algebra.orders import accumulation
from symbolic.algebra.tally import Accumulation
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.elements import wrapped
from symbolic.ir.functions import gathered
from symbolic.ir.program import DType, FunctionName

Ids = npt.NDArray[np.int64]


def apply_pairs(terms: Terms, op: str, a: Ids, b: Ids) -> Ids:
    """Return the canonical term of each pair."""
    law = LAWS.get(op)
    if law is None or not law.commutes:
        return np.array([terms.apply(op, pair) for pair in zip(a.tolist(), b.tolist(), strict=True)], np.int64)
    low, high = np.minimum(a, b), np.maximum(a, b)
    keys = list(zip(repeat(op), zip(low.tolist(), high.tolist(), strict=True), strict=False))
    found: Any = terms.known(keys)
    if None in found:
        factors = distinct_terms(terms, np.concatenate([a, b]))
        if op == "*" and _operators(terms, factors) <= {"atom"}:
            found = terms.add(keys, found, _differ(low * len(terms.nodes) + high))
        else:
            found = [
                term if term is not None else terms.apply(op, key[1]) for term, key in zip(found, keys, strict=True)
            ]
    return np.array(found, np.int64)


def apply_rows(terms: Terms, op: str, rows: Ids) -> Ids:
    """Return the canonical term of each row, whose order counts where the operator does not commute."""
    if rows.shape[1] == 1:
        return rows[:, 0]
    if rows.shape[1] == 2:
        return apply_pairs(terms, op, rows[:, 0], rows[:, 1])
    law = LAWS.get(op)
    if law is None or not law.commutes:
        return np.array([terms.apply(op, row) for row in rows.tolist()], np.int64)
    ordered = np.sort(rows, axis=1)
    keys = list(zip(repeat(op), map(tuple, ordered.tolist()), strict=False))
    found: Any = terms.known(keys)
    if None in found:
        if op == "+" and _are_items(terms, ordered):
            found = terms.add(keys, found, distinct=False)
        else:
            found = [
                term if term is not None else terms.apply(op, row)
                for term, row in zip(found, rows.tolist(), strict=True)
            ]
    return np.array(found, np.int64)


def _are_items(terms: Terms, rows: Ids) -> bool:
    """Say whether each row, which is sorted, is the items of a canonical sum: no numbers, multiples, sums, or twins."""
    used = distinct_terms(terms, rows)
    if (rows[:, 1:] == rows[:, :-1]).any() or _operators(terms, used) & {"+", "const", "unwritten"}:
        return False
    return not terms.has_multiples(used)


def _differ(numbers: Ids) -> bool:
    """Say whether no two numbers are the same."""
    ordered = np.sort(numbers)
    return not (ordered[1:] == ordered[:-1]).any()


def distinct_terms(terms: Terms, ids: Ids) -> list[Term]:
    """Return terms, each once."""
    there = np.zeros(len(terms.nodes), bool)
    there[ids.reshape(-1)] = True
    used: list[Term] = np.flatnonzero(there).tolist()
    return used


def _operators(terms: Terms, used: list[Term]) -> set[str]:
    """Return what the nodes of some terms are made by."""
    return set(map(itemgetter(0), map(terms.nodes.__getitem__, used)))


_MANY: Final = 256
"""So many rows are worth a digest."""
_KEPT: Final = 1 << 12
"""As many results are kept."""


class Canonical:
    """Canonical terms; every lane holds the number of a term in one table."""

    rounds = False

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def blank(self, size: int, dtype: DType) -> Lanes:
        return np.full(size, UNWRITTEN, np.int64)

    def constant(self, value: Any, dtype: DType) -> Any:
        if dtype.is_float and value % 1 == 0 and not is_number_of(dtype, value):
            self.terms.unrounded.setdefault(("number", dtype), f"{dtype.value}({value:.0f}) is {value:.0f}")
        return np.int64(self.terms.const(value))

    def rows(self, op: str, rows: Lanes) -> Lanes:
        """Apply an operator to each row of terms; equal rows are computed once, and the same rows never again."""
        return self._known(op, rows, lambda: self._rows(op, rows))

    def _rows(self, op: str, rows: Lanes) -> Lanes:
        if len(rows) == 1:
            return np.array([self.terms.apply(op, rows[0].tolist())], np.int64)
        if rows.shape[1] == 2:  # numbers of both terms in one, which is sorted several times as fast
            count = len(self.terms.nodes)
            distinct, inverse = np.unique(rows[:, 0] * count + rows[:, 1], return_inverse=True)
            results = apply_pairs(self.terms, op, *np.divmod(distinct, count))
        else:
            distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
            results = np.array([self.terms.apply(op, row) for row in distinct.tolist()], np.int64)
        found: Lanes = results[inverse.reshape(-1)]
        return found

    def _known(self, key: Any, rows: Lanes, work: Callable[[], Lanes]) -> Lanes:
        """Return what many rows give, which a program's next run asks again: terms do not change."""
        if len(rows) < _MANY:
            return work()
        known = self.terms.of_rows
        whole = (key, rows.shape, blake2b(rows.tobytes(), digest_size=20).digest())
        found = known.get(whole)
        if found is None:
            if len(known) >= _KEPT:
                known.clear()
            found = work()
            known[whole] = found
            found.flags.writeable = False
        return found

    def unary(self, op: str, a: Lanes, dtype: DType) -> Lanes:
        if op == "-":
            return self.rows("*", np.stack([np.full_like(a, self.terms.const(-1)), a], axis=1))
        return self.rows(op, a[:, None])

    def binary(self, op: str, a: Lanes, b: Lanes, dtype: DType) -> Lanes:
        if op == "-":
            return self.binary("+", a, self.unary("-", b, dtype), dtype)
        return self.rows(op, np.stack(np.broadcast_arrays(a, b), axis=1))

    def apply(self, function: FunctionName, operands: Sequence[Lanes], dtype: DType) -> Lanes:
        return self.rows(function, np.stack(np.broadcast_arrays(*operands), axis=1))

    def gather(self, array: str, cells: Lanes, base: Lanes, at: Lanes) -> Lanes:
        return self.rows(gathered(array), at[:, None])

    def cast(self, a: Lanes, source: DType, target: DType) -> Lanes:
        if source is DType.INDEX:
            return np.array([self.constant(v, target) for v in a.tolist()], np.int64)
        for op in conversion(source, target):
            found = self.rows(op, a[:, None])
            for term in set(a.tolist()) if op.startswith(WIDEN) else ():
                if self.terms.is_const(term):  # an integer type has it within its bounds
                    number = wrapped(int(self.terms.nodes[term][1][0]), source)
                    found = np.where(a == term, self.terms.const(number), found)
            a = found
        return a

    def compare(self, dtype: DType, compared: Sequence[Lanes]) -> None:
        """Note a comparison of numbers of 16 bits that were computed: as real numbers they are not rounded first."""
        if dtype.is_float and dtype.bits == 16:
            some = {term for lanes in compared for term in lanes.tolist()}
            if not all(holds(self.terms, dtype, term) for term in some):
                said = f"what is compared in {dtype.value} is not rounded first"
                self.terms.unrounded.setdefault(("compared", dtype), said)

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        start, order = [] if init is None else [self.terms.const(init)], accumulation(self.terms, op)
        if not active:
            total = order.total(start)
            return np.array(UNWRITTEN if total is None else total)
        rows = np.where(np.stack(active, axis=1), np.stack(values, axis=1), -1)
        return self._known((op, *start), rows, lambda: self._totals(order, start, rows))

    def _totals(self, order: Accumulation, start: list[Term], rows: Lanes) -> Lanes:
        if order.law.commutes:
            rows.sort(axis=1)
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        results = []
        for row in distinct.tolist():
            total = order.total(start + [t for t in row if t >= 0])
            results.append(UNWRITTEN if total is None else total)
        return np.take(np.array(results, np.int64), inverse.reshape(-1))
