"""The holes of the language: how each kind is spelled, what it takes and gives, what it may become in which space.

This table is light, so that the language, the front end and the command line read it at once. What is named in
`spaces` are families of templates (`templates/registry.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from symbolic.errors import SwizzleError
from symbolic.ir.program import DType, Hole

Space: TypeAlias = Literal["1", "2", "3", "4"]
Point: TypeAlias = tuple[int, ...]
SPACES: Final[tuple[Space, ...]] = ("1", "2", "3", "4")
LARGEST_ARGUMENT: Final = 10_000
"""Of a condition, whose constant ranges over all sums and differences."""


class HoleArgument(Struct, frozen=True):
    """A parameter of a hole's call: its size, an index, which may have a default, any number of indices, or families.

    The last is a text, the names of families separated by commas.
    """

    name: str
    role: Literal["size", "index", "indices", "families"]
    default: int | str | None = None


class HoleKind(Struct, frozen=True):
    """A kind of hole.

    `size` is its size where no argument says so, `largest` bounds the argument. `gives` is INDEX, in range(size), or
    BOOL. `moves`: its first argument is an index in range(size) too, and the hole says where that is taken from. `like`
    is the kind of hole that takes and gives the same, and so has the same families.
    """

    kind: str
    arguments: tuple[HoleArgument, ...]
    gives: DType
    largest: int
    spaces: Mapping[Space, tuple[str, ...]]
    size: int | None = None
    moves: bool = False
    like: str | None = None

    @property
    def family_kind(self) -> str:
        """The kind of hole that its families are of: its own, or that of the hole which it is like."""
        return self.like or self.kind

    @property
    def spelling(self) -> str:
        """Its name in a sketch, without the mark of a `.swz` file."""
        return f"sw_{self.kind}"

    def values(self, hole: Hole) -> Sequence[int]:
        """Return all that such a hole may give, in order."""
        return (False, True) if self.gives is DType.BOOL else range(hole.size)

    def call(self, hole: Hole) -> str:
        """Return a hole as the sketch spells it, without arguments that are as if left out."""
        words, left = [], list(hole.arguments)
        for argument in self.arguments:
            if argument.role == "size":
                words.append(str(hole.size))
            elif argument.role == "families":
                names = ", ".join(hole.families)
                words += [] if names == argument.default else [f'{argument.name}="{names}"']
            elif argument.role == "indices":
                words += left
            elif left and left != [str(argument.default)]:
                words.append(left.pop(0))
        return f"?{self.spelling}({', '.join(words)})"

    def check(self, hole: Hole, points: Sequence[Point]) -> None:
        """Refuse points at which such a hole may not be asked."""
        if not self.moves:
            reach = max((abs(v) for point in points for v in point), default=0)
            if reach > LARGEST_ARGUMENT:
                raise SwizzleError(
                    f"an argument of this ?{self.spelling} is as large as {reach:,}",
                    place=hole.place,
                    expected=f"arguments up to {LARGEST_ARGUMENT:,}, as every distance between them is a choice",
                    fix="give it the lane, the loop variable or a small index instead",
                )
            return
        if not points or (min(points)[0] >= 0 and max(points)[0] < hole.size):
            return
        for point in points:
            if not 0 <= point[0] < hole.size:
                raise SwizzleError(
                    f"the first argument of this ?{self.spelling}, {hole.arguments[0]}, is {point[0]} somewhere",
                    place=hole.place,
                    expected=f"an index from 0 to {hole.size - 1}, as its second argument says",
                    fix="give the number of elements as the second argument, or reduce the index first",
                )


_XFORM: Final = HoleKind(
    kind="xform",
    arguments=(HoleArgument("i", "index"), HoleArgument("n", "size"), HoleArgument("k", "index", default=0)),
    gives=DType.INDEX,
    largest=1024,  # a block's threads
    spaces={"1": ("xform",), "2": ("xform",), "3": ("xform",), "4": ("xform", "xor")},
    moves=True,
)
FAMILIES_OF_INDEX: Final = ("xor", "rotate", "pad", "xform", "column_major", "compose", "table", "constant_table")
"""What a `?sw_index` may name, each with the functions that it has for a `?sw_xform` of Space 3 or 4."""
_INDEX: Final = HoleKind(
    kind="index",
    arguments=(
        HoleArgument("i", "index"),
        HoleArgument("n", "size"),
        HoleArgument("k", "index", default=0),
        HoleArgument("families", "families", default="xor, rotate"),
    ),
    gives=DType.INDEX,
    largest=2048,  # a tile of 32 rows and more
    spaces=dict.fromkeys(SPACES, FAMILIES_OF_INDEX),
    moves=True,
    like="xform",
)
_PART: Final = HoleKind(
    kind="part",
    arguments=(HoleArgument("n", "size"), HoleArgument("v", "indices")),
    gives=DType.INDEX,
    largest=64,  # more registers than a thread indexes
    spaces=dict.fromkeys(SPACES, ("part",)),
)
_COND: Final = HoleKind(
    kind="cond",
    arguments=(HoleArgument("v", "indices"),),
    gives=DType.BOOL,
    largest=2,
    spaces=dict.fromkeys(SPACES, ("cond",)) | {"4": ("cond", "remainder", "scaled", "both")},
    size=2,
)
HOLE_KINDS: Final[Mapping[str, HoleKind]] = {each.kind: each for each in (_XFORM, _INDEX, _PART, _COND)}
"""The kinds that are filled by templates."""
_STEP: Final = (HoleArgument("i", "index"), HoleArgument("d", "index", default=1))
SCAN_KINDS: Final[Mapping[str, HoleKind]] = {
    each.kind: each
    for each in (
        HoleKind(kind="when", arguments=_STEP, gives=DType.BOOL, largest=2, spaces={}, size=2),
        HoleKind(kind="from", arguments=_STEP, gives=DType.INDEX, largest=1024, spaces={}, size=1024),
        HoleKind(
            kind="place", arguments=(HoleArgument("j", "index"),), gives=DType.INDEX, largest=1024, spaces={}, size=1024
        ),
    )
}
"""The kinds that `swizzle/scans` fills together, before any other hole: the steps of a scan, and where elements are."""
BY_SPELLING: Final[Mapping[str, HoleKind]] = {
    each.spelling: each for each in (*HOLE_KINDS.values(), *SCAN_KINDS.values())
}

HOMES: Final = ("shuffle", "shared", "vector")
"""What a `?sw_home` of an `exchange` may name: where elements are on their way from one thread to another."""
HOME: Final = "home"
"""The kind of hole that an `exchange` is. It has no templates: `swizzle/solving/homes` makes a program of it."""


def kind_of(hole: Hole) -> HoleKind:
    """Return the kind of a hole."""
    return HOLE_KINDS.get(hole.kind) or SCAN_KINDS[hole.kind]


def spellings(last: str, mark: str = "?", call: str = "") -> str:
    """Return the name of every hole of templates, the last one after a word: `?sw_xform, ?sw_part or ?sw_cond`."""
    *others, final = [f"{mark}{kind.spelling}{call}" for kind in HOLE_KINDS.values()]
    return f"{', '.join(others)} {last} {final}"
