"""What a hole became: the formula that people read, and the constants that files keep."""

from __future__ import annotations

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

    def __repr__(self) -> str:
        return f"<{self.name} = {self.formula} at {self.place}>"


def holes_as_json(holes: Sequence[HoleFormula]) -> list[dict[str, str]]:
    """Return each hole's name, place and formula, and the sketch that it was found in where that is another."""
    return [
        {"name": hole.name, "place": str(hole.place), "formula": hole.formula}
        | ({"found_in": hole.found_in} if hole.found_in else {})
        for hole in holes
    ]
