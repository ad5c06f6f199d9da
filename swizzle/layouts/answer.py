"""What a search answers, and what a layout of one's own takes: turns by access, the least, and the proof in words."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from swizzle.layouts.layout import Layout, side_by_side, with_text
from swizzle.layouts.requests import Requests
from swizzle.layouts.steps import Addresses
from symbolic.machine.accesses import BANKS

_NO_FORMULA: Final = (
    "  NO FORMULA: a table of {} bytes in constant memory, whose entries lanes wait for one after the other;\n"
    '  families=["xor", "rotate", "pad"] keeps to formulas'
)


class Share(Struct, frozen=True):
    """One access: the turns that it takes, the least in any layout, and one a phase, which is no conflict at all."""

    name: str
    turns: int
    least: int
    phases: int

    def __str__(self) -> str:
        if self.turns == self.phases:
            return f"{self.name}: {plural(self.turns, 'turn')}, no conflict"
        least = "the least there is" if self.turns == self.least else f"at least {self.least}"
        return f"{self.name}: {self.turns} turns of {plural(self.phases, 'phase')}, {least}"


class Counted(Struct, frozen=True):
    """The turns of all accesses under a layout."""

    shares: tuple[Share, ...]

    @property
    def turns(self) -> int:
        return sum(share.turns for share in self.shares)

    @property
    def least(self) -> int:
        """What no layout goes below."""
        return sum(share.least for share in self.shares)

    @property
    def conflicts(self) -> int:
        """The turns beyond one a phase: what `--cost conflicts` counts."""
        return sum(share.turns - share.phases for share in self.shares)

    def __repr__(self) -> str:
        return "\n".join(map(str, self.shares))


class FoundLayout(Struct, frozen=True):
    """The layout that was found, or None; with what is known of it.

    `least` is what every layout is proved to take at least; `optimal` says that the answer takes no more. `proof` says
    in words why, or what is open.
    """

    requests: Requests
    layout: Layout | None
    counted: Counted | None
    proof: str
    optimal: bool
    tried: int
    least: int

    @property
    def passes(self) -> int | None:
        """The turns of all accesses; None where there is no layout."""
        return None if self.counted is None else self.counted.turns

    @property
    def free(self) -> bool:
        """Whether there is no conflict at all."""
        return self.passes == self.requests.free

    def __repr__(self) -> str:
        if self.layout is None:
            return self.proof
        names = [("cute", self.layout.cute), ("tma", self.layout.tma)]
        lines = [
            f"{self.layout.kind}: {self.layout.formula}",
            *(f"  {name}: {text}" for name, text in names if text and text != "NONE"),
            *([_NO_FORMULA.format(self.layout.table_bytes)] if self.layout.table_bytes else []),
            f"  {plural(self.layout.bytes, 'byte')}, {plural(self.layout.instructions, 'instruction')} for an index",
            *(f"  {share}" for share in (self.counted.shares if self.counted else ())),
            f"  {self.proof}",
        ]
        return "\n".join(lines)

    def svg(self) -> str:
        """Return a figure of the tile with its banks as colours, row-major and as it was found; '' without a layout."""
        if self.layout is None:
            return ""
        plain = Layout(self.layout.shape, self.layout.bits, tuple(range(len(self.layout.shape))))
        tiles = [("row-major", plain.banks()), (self.layout.kind, self.layout.banks())]
        return side_by_side(tiles, "the banks of the tile, before and after", BANKS)

    def _repr_html_(self) -> str | None:
        return None if self.layout is None else with_text(repr(self), self.svg())


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Return '1 turn' or '3 turns'; `nouns` is the plural where that is no s more."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def counted(requests: Requests, table: Addresses) -> Counted:
    """Return the turns of each access under a layout's table."""
    turns = requests.turns(table)
    return Counted(
        tuple(
            Share(each.name, own, int(each.least.sum()), len(each.cells))
            for each, own in zip(requests.phases, turns, strict=True)
        )
    )
