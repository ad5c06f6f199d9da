"""What each hole became, as a table: its values over the arguments that the kernel gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from swizzle.solving.solution.answered import WrittenHole
from symbolic.errors import Place
from templates.holes import HOLE_KINDS
from templates.registry import FilledHole

MOST_ROWS, MOST_COLUMNS = 8, 64


class HoleTable(Struct, frozen=True):
    """A hole's values: one column for each value of its first argument, one row for each of the other arguments.

    `rows` are the first few, (`k = 2`, the values), or one where they are all the same; None where the kernel never
    asks. `more` is how many are left out.
    """

    name: str
    kind: str
    place: Place
    size: int
    formula: str
    words: str
    argument: str
    columns: tuple[int, ...]
    rows: tuple[tuple[str, tuple[int | None, ...]], ...]
    more: int

    @property
    def drawn(self) -> int | None:
        """The row to draw with arrows: of a transform, the first that moves anything."""
        if self.kind not in HOLE_KINDS or not HOLE_KINDS[self.kind].moves:
            return None
        return next((n for n, (_, values) in enumerate(self.rows) if values != self.columns), None)


def hole_table(filling: FilledHole | WrittenHole, formula: str, asked: Mapping[tuple[int, ...], int]) -> HoleTable:
    """Lay out the values of a hole at the points where the kernel asks it."""
    hole = filling.hole
    columns = sorted({point[0] for point in asked if point})[:MOST_COLUMNS]
    others = sorted({point[1:] for point in asked})
    values = {other: tuple(asked.get((column, *other)) for column in columns) for other in others}
    if len(others) > 1 and len(set(values.values())) == 1:
        rows, more = [(f"any {', '.join(hole.arguments[1:])}", values[others[0]])], 0
    else:
        rows = [(_named(hole.arguments[1:], other), values[other]) for other in others[:MOST_ROWS]]
        more = max(0, len(others) - MOST_ROWS)
    return HoleTable(
        hole.name,
        hole.kind,
        hole.place,
        hole.size,
        formula,
        filling.words(),
        hole.arguments[0] if hole.arguments else "",
        tuple(columns),
        tuple(rows),
        more,
    )


def _named(names: Sequence[str], values: Sequence[int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
