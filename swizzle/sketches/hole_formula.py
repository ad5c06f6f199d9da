"""What a hole became: the formula that people read, and the constants that files keep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from symbolic.errors import Place


class HoleFormula(Struct, frozen=True):
    """What a hole became. `formula` is Python over the sketch's own spelling of the hole's arguments;
    `constants` are the template's (for the paper's sw_xform gs, c_f, d_f, c_r, d_r, c, wrap). `found_in` names the
    sketch whose solution it was taken from, '' where it was found here."""

    name: str
    kind: str
    place: Place
    formula: str
    constants: Mapping[str, int]
    found_in: str = ""

    @property
    def table_bytes(self) -> int:
        """How many bytes of constants the formula looks its value up in; 0 for one without a table."""
        named = self.constants.items() if "table" in self.constants else ()
        words = [abs(word) for name, word in named if name.startswith("word_")]
        return 4 * len(words) if all(re.search(rf"\b{word}\b", self.formula) for word in words) else 0

    def __repr__(self) -> str:
        return f"<{self.name} = {self.formula} at {self.place}>"


def holes_as_json(holes: Sequence[HoleFormula]) -> list[dict[str, str | int]]:
    """Return each hole's name, place and formula, the bytes of its table, and the other sketch that it was found in."""
    return [
        {"name": hole.name, "place": str(hole.place), "formula": hole.formula}
        | ({"table_bytes": hole.table_bytes} if hole.table_bytes else {})
        | ({"found_in": hole.found_in} if hole.found_in else {})
        for hole in holes
    ]
