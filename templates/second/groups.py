"""What the second description of every template is made of: groups of rows, of which one is chosen.

The second description is for `--certify`: the primitives of the paper's sections 5.1 to 5.3 and equation 1, enumerated,
told apart by what they are at the points, and one of them chosen. No code is shared with `templates`, but the
primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from symbolic.second.formulas import Cases, exactly, fresh, some_of

Point: TypeAlias = tuple[int, ...]
ValueTable: TypeAlias = npt.NDArray[np.int64]


class Description(Protocol):
    """What a hole may be: choices of rows, its cases at a point, and the function that a model chooses."""

    groups: list[OneOf]

    def at(self, point: Point) -> Cases: ...
    def filled(self, model: Any) -> Callable[[Sequence[Any]], Any]: ...


class OneOf:
    """Rows of which exactly one is chosen."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self.literals = [fresh() for _ in rows]
        self.rule = exactly(1, self.literals)

    def cases(self, values: Sequence[Any]) -> Cases:
        """Return the value of the row that is chosen."""
        groups: dict[Any, list[Any]] = {}
        for value, literal in zip(values, self.literals, strict=True):
            groups.setdefault(value, []).append(literal)
        return {value: some_of(literals) for value, literals in groups.items()}

    def chosen(self, model: Any) -> Any:
        return next(r for r, literal in zip(self.rows, self.literals, strict=True) if model.true(literal))


def distinct(rows: Iterable[Any], value: Callable[[Any], Any]) -> list[tuple[Any, ValueTable]]:
    """Return the first row of each value, with the value."""
    seen: dict[bytes, tuple[Any, ValueTable]] = {}
    for row in rows:
        table = np.ascontiguousarray(value(row))
        seen.setdefault(table.tobytes(), (row, table))
    return list(seen.values())


def inverse(values: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        found.setdefault(value, []).append(place)
    return found
