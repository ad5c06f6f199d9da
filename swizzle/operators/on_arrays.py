"""Expressions on NumPy's arrays, as printed texts compute them: each in the type of the word that it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from swizzle.operators.loop import BOOL
from swizzle.operators.types import computed_in, infinite_summands, stand_in
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.elements import wrapped
from symbolic.expressions.columns import ON_COLUMNS
from symbolic.expressions.expression import Expression, terms
from symbolic.expressions.meaning import Key, SeveralKinds, evaluate
from symbolic.ir.program import DType


def on_arrays(
    expression: Expression, dtype: DType, values: Mapping[str, Any], types: Mapping[str, DType],
    infinite: Mapping[str, int] | None = None,
) -> Any:  # fmt: skip
    """Return an expression of arrays in a type; conditions are any numbers that are not 0.

    `infinite` are the names of whole numbers that may be an infinity.
    """
    domain = _domain_of(tuple(types.items()), tuple((infinite or {}).items()))
    found = evaluate(expression, values, domain, BOOL if expression.truth else dtype)
    return np.asarray(found).astype(NUMPY_DTYPES[DType.I32 if dtype is BOOL else dtype])[()]


@lru_cache(maxsize=64)
def _domain_of(types: tuple[tuple[str, DType], ...], infinite: tuple[tuple[str, int], ...]) -> _Typed:
    return _Typed(dict(types), dict(infinite))


class _Typed(SeveralKinds):
    """Columns of the types of words: what divides or shifts is computed in its own type, a comparison in the widest."""

    def __init__(self, types: Mapping[str, DType], infinite: Mapping[str, int]) -> None:
        super().__init__(ON_COLUMNS)
        self._types, self._infinite = types, infinite
        self._signs: dict[Expression, set[int]] = {}

    def name(self, value: Any, kind: DType) -> Any:
        return np.asarray(value) != 0 if kind is BOOL else np.asarray(value).astype(NUMPY_DTYPES[kind])

    def constant(self, value: Any, kind: DType) -> Any:
        if kind is BOOL or kind.is_float:
            return np.asarray(bool(value) if kind is BOOL else float(value), NUMPY_DTYPES[kind])[()]
        whole = stand_in(value, kind) if isinstance(value, float) else wrapped(int(value), kind)
        return np.asarray(whole, NUMPY_DTYPES[kind])[()]

    def arguments_of(self, node: Expression, kind: DType) -> Sequence[Key]:
        match node.operator:
            case "select":
                return [(node.arguments[0], BOOL), *((each, kind) for each in node.arguments[1:])]
            case "+":
                return [(what, kind) for _, what in terms(node)]
            case "<" | "<=" | "==":
                kind = computed_in(self._types, *node.arguments)
            case "//" | "%" | "<<" | ">>":
                kind = computed_in(self._types, node.arguments[0])
        return [(each, kind) for each in node.arguments]

    def applied(self, node: Expression, kind: DType, *values: Any) -> Any:
        if node.operator == "+":
            return self._sum(node, kind, values)
        found = self.table[node.operator](*values)
        return found.astype(NUMPY_DTYPES[kind]) if node.operator in ("//", "%", "<<", ">>") else found

    def _sum(self, node: Expression, kind: DType, values: Sequence[Any]) -> Any:
        """Return a sum, which is an infinity where one of its summands is."""
        summands = dict(zip(terms(node), values, strict=True))
        found = reduce(np.add, (self.constant(number, kind) * value for (number, _), value in summands.items()))
        known = {what: value for (_, what), value in summands.items()}
        for what, sign in () if kind.is_float else infinite_summands(node, self._infinite, self._signs):
            limit = self.constant(stand_in(sign, kind), kind)
            found = np.where(known[what] == limit, limit, found)
        return found
