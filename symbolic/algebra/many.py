"""Operators on many terms at once, without a step of Python for each: what `Terms.apply` gives for each row."""

from __future__ import annotations

from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from symbolic.algebra.operator_laws import LAWS
from symbolic.algebra.terms import Term, Terms

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
