"""What a hole became: the formula that people read, and the constants that files keep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from symbolic.errors import Place, printable

_TABLE = re.compile(r"\(([\d, ]+)\)(?=\[)")
_SHOWN = 16  # entries


class HoleFormula(Struct, frozen=True):
    """What a hole became. `formula` is Python over the sketch's own spelling of the hole's arguments;
    `constants` are the template's (for the paper's sw_xform gs, c_f, d_f, c_r, d_r, c, wrap), none where the formula is
    all there is. `found_in` names the sketch whose solution it was taken from, '' where it was found here."""

    name: str
    kind: str
    place: Place
    formula: str
    constants: Mapping[str, int]
    found_in: str = ""

    @property
    def shown(self) -> str:
        """The formula with only the ends of a long table."""
        return _TABLE.sub(lambda found: _ends(found[1].split(", ")), self.formula)

    @property
    def table_bytes(self) -> int:
        """How many bytes of constants the formula looks its value up in; 0 for one without a table."""
        if found := _TABLE.search(self.formula):
            entries = [int(entry) for entry in found[1].rstrip(",").split(",")]
            return len(entries) * (1 if max(entries) < 1 << 8 else 2)
        named = self.constants.items() if {"table", "constant_table"} & self.constants.keys() else ()
        words = [abs(word) for name, word in named if name.startswith("word_")]
        return 4 * len(words) if all(re.search(rf"\b{word}\b", self.formula) for word in words) else 0

    def __repr__(self) -> str:
        return f"<{self.name} = {self.formula} at {self.place}>"


def _ends(entries: Sequence[str]) -> str:
    kept = entries if len(entries) <= _SHOWN else [*entries[: _SHOWN // 2], "...", entries[-1]]
    return f"({', '.join(kept)})"


def holes_as_json(holes: Sequence[HoleFormula]) -> list[dict[str, str | int]]:
    """Return each hole's name, place and formula, the bytes of its table, and the other sketch that it was found in."""
    return [
        {"name": hole.name, "place": str(hole.place), "formula": hole.formula}
        | ({"table_bytes": hole.table_bytes} if hole.table_bytes else {})
        | ({"found_in": printable(hole.found_in)} if hole.found_in else {})
        for hole in holes
    ]
