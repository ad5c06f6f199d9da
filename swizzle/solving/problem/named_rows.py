"""The rows that lanes name to ldmatrix and stmatrix in a run with open holes, and the turns that they take in memory
for some values of the holes: part of every filling's conflicts, known before it is printed and counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from swizzle.solving.problem.many import Many, Values
from symbolic.ir.matrices import MATRIX_ROWS, ROW_BYTES
from symbolic.machine.accesses import BANKS, WORD, bytes_of, turns
from symbolic.machine.arrays import NamedRows
from symbolic.values.vector import Deferred, HoleQuestion, Lanes


class _OfOneHole(Struct, frozen=True):
    """Rows that one call of a hole decides: where they begin for each of its values, of the lanes that name one."""

    question: HoleQuestion
    on: Lanes
    places: Lanes
    words: Lanes


class RowTurns:
    """How many turns the named rows take beyond one for each matrix, by the values of the holes."""

    def __init__(self, rows: Sequence[NamedRows], many: Many) -> None:
        self._decided: list[_OfOneHole] = []
        for each in rows:
            cells, mask = each.cells, each.naming
            if not isinstance(cells, Deferred) or cells.question is None or not isinstance(mask, np.ndarray):
                continue  # the same for all fillings, or not known before the others are
            asked = cells.question
            places = many.points[asked.hole].places(asked.arguments, mask)
            words = np.where(mask, cells.table * bytes_of(each.row.dtype) // WORD, -1)
            self._decided.append(_OfOneHole(asked, mask, places, words))

    def __bool__(self) -> bool:
        return bool(self._decided)

    def of(self, values: Values) -> int:
        """Return the turns of a filling; what other holes decide is left out."""
        total = 0
        for each in self._decided:
            lines = np.searchsorted(each.question.values, values[each.question.hole][each.places])
            words = each.words[lines.clip(max=len(each.words) - 1), np.arange(len(lines))]
            matrices = words.reshape(-1, MATRIX_ROWS)
            found = turns(matrices, ROW_BYTES // WORD, BANKS)
            total += int((found - 1).clip(min=0).sum())
        return total
