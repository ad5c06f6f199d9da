"""Data as canonical terms: what is equal here is equal for all inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from symbolic.algebra.functions import gathered
from symbolic.algebra.numbers import Lanes, conversion
from symbolic.algebra.operator_laws import wrapped
from symbolic.algebra.orders import accumulation
from symbolic.algebra.terms import UNWRITTEN, WIDEN, Term, Terms
from symbolic.ir.program import DType, FunctionName


class Canonical:
    """Canonical terms; every lane holds the number of a term in one table."""

    rounds = False

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def blank(self, size: int, dtype: DType) -> Lanes:
        return np.full(size, UNWRITTEN, np.int64)

    def constant(self, value: Any, dtype: DType) -> Any:
        return np.int64(self.terms.const(value))

    def rows(self, op: str, rows: Lanes) -> Lanes:
        """Apply an operator to each row of terms; equal rows are computed once."""
        apply = self.terms.apply
        if rows.shape[1] == 2:  # numbers of both terms in one, which is sorted several times as fast
            count = len(self.terms.nodes)
            pairs, inverse = np.unique(rows[:, 0] * count + rows[:, 1], return_inverse=True)
            distinct: Iterable[Sequence[Term]] = zip(*(part.tolist() for part in np.divmod(pairs, count)), strict=True)
        else:
            some, inverse = np.unique(rows, axis=0, return_inverse=True)
            distinct = some.tolist()
        results = np.array([apply(op, row) for row in distinct], np.int64)
        return results[inverse.reshape(-1)]

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
            return np.array([self.terms.const(v) for v in a.tolist()], np.int64)
        op = conversion(source, target)
        if op is None:
            return a
        found = self.rows(op, a[:, None])
        for term in set(a.tolist()) if op.startswith(WIDEN) else ():
            if self.terms.is_const(term):  # an integer type has it within its bounds
                found = np.where(a == term, self.terms.const(wrapped(int(self.terms.nodes[term][1][0]), source)), found)
        return found

    def reduce(self, op: str, active: Sequence[Lanes], values: Sequence[Lanes], init: Any, dtype: DType) -> Lanes:
        start, order = [] if init is None else [self.terms.const(init)], accumulation(self.terms, op)
        if not active:
            total = order.total(start)
            return np.array(UNWRITTEN if total is None else total)
        rows = np.where(np.stack(active, axis=1), np.stack(values, axis=1), -1)
        if order.law.commutes:
            rows.sort(axis=1)
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        results = []
        for row in distinct.tolist():
            total = order.total(start + [t for t in row if t >= 0])
            results.append(UNWRITTEN if total is None else total)
        return np.array(results, np.int64)[inverse.reshape(-1)]
