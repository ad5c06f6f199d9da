"""A formula for the values that a free hole would have: what a user may write in place of the hole.

Looked for are the formulas of `templates.shortest`, with the products of two arguments as arguments of their own, and
these cut off below and above: `max(lane - 1, 0)`, `min(k + lane, 31)`, `(2 * lane * k + lane) % 8`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement
from typing import Final

import numpy as np

from symbolic.ir.program import Const, DType, Expr, Hole
from symbolic.ir.walk import subexpressions
from templates.formula import applied, binary, formula_text, parameters, values_of
from templates.holes import Point, kind_of
from templates.shortest import Shortest

MOST_POINTS: Final = 4096


def formula_of_table(hole: Hole, table: Mapping[Point, int]) -> str:
    """Return a formula over the hole's arguments with a table's values at all its points; '' where none is found.

    Of several it is the one with the fewest operators, arguments and numbers; then the one with small numbers.
    """
    points = sorted(table)
    if kind_of(hole).gives is not DType.INDEX or not 1 < len(points) <= MOST_POINTS:
        return ""
    found = _formulas(hole, points, [table[point] for point in points])
    return min(found, key=lambda weighed: weighed[:2], default=(0, 0, ""))[-1]


def _formulas(hole: Hole, points: list[Point], wanted: list[int]) -> Iterator[tuple[int, int, str]]:
    """Yield formulas, each with its length, the sum of its numbers, and its text."""
    arguments, own = parameters(hole.arguments), np.array(points, np.int64).reshape(len(points), len(hole.arguments))
    varied = [n for n, column in enumerate(own.T) if np.ptp(column)]
    pairs = list(combinations_with_replacement(varied, 2))
    table = np.stack([*own.T, *(own[:, a] * own[:, b] for a, b in pairs)], axis=1)
    expressions = [*arguments, *(binary("*", arguments[a], arguments[b]) for a, b in pairs)]
    names = [*hole.arguments, *(f"product{n}" for n in range(len(pairs)))]
    values, lowest, highest = np.array(wanted, np.int64), min(wanted), max(wanted)
    for width in dict.fromkeys((len(hole.arguments), len(names))):
        shortest = Shortest(hole.size, names[:width], [tuple(row) for row in table[:, :width].tolist()])
        for low, high in ((None, None), (lowest, None), (None, highest), (lowest, highest)):
            cut = ((values == lowest) & (low is not None)) | ((values == highest) & (high is not None))
            if cut.sum() > len(values) - 2:
                continue
            formula = shortest.found([None if c else value for c, value in zip(cut.tolist(), wanted, strict=True)])
            if formula is None:
                continue
            made = np.broadcast_to(values_of(formula, list(table.T)), values.shape)
            made = made if low is None else np.maximum(made, low)
            made = made if high is None else np.minimum(made, high)
            if np.array_equal(made, values):
                yield _weighed(hole, applied(formula, expressions, hole.place), low, high)


def _weighed(hole: Hole, formula: Expr, low: int | None, high: int | None) -> tuple[int, int, str]:
    text, nodes = formula_text(hole, formula), list(subexpressions(formula))
    text = text if low is None else f"max({text}, {low})"
    text = text if high is None else f"min({text}, {high})"
    bounds = [bound for bound in (low, high) if bound is not None]
    numbers = [*bounds, *(int(node.value) for node in nodes if isinstance(node, Const))]
    return len(nodes) + 2 * len(bounds), sum(map(abs, numbers)), text
