"""The semantic backbone of a kernel: what is computed, without how (section 4.1).

Each load, accumulation, assignment and store of the kernel is a statement in a nest of loops of its own. What a
statement makes is taken by others point to point: at one value of a loop by what is at the same value there.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

StatementKind: TypeAlias = Literal["load", "copy", "begin", "accumulate", "compute", "store"]
"""`copy` is a load's value in registers or, if that is decided, taken from shared memory; `begin` starts a sum."""


class LoopLevel(Struct, frozen=True):
    """A level of a loop that is strip-mined.

    Attributes:
        name: the loop's name and the level: `i0` is the outermost one.
        loop: the loop's name.
        sizes: what can be chosen for its extent; empty for the outermost level, whose extent is the rest.
    """

    name: str
    loop: str
    sizes: tuple[int, ...]


class BackboneLoop(Struct, frozen=True):
    """A loop of the kernel.

    Attributes:
        name: its variable.
        length: its length as the kernel writes it, the name of a parameter or a number.
        extent: its length, a number.
        tiles: its levels, the outermost first. A loop that is not strip-mined has one level, with one size.
    """

    name: str
    length: str
    extent: int
    tiles: tuple[LoopLevel, ...]

    @property
    def open_ended(self) -> bool:
        """Whether the outermost level has what the others leave, so that any length will do that they divide."""
        return not self.tiles[0].sizes


class Statement(Struct, frozen=True):
    """A statement with the loops around it.

    Attributes:
        name: what decisions call it.
        kind: what it does.
        loops: the names of the loops of its nest.
        reads: the names of the statements whose values it takes.
        array: of a load, a copy and a store the array, of an accumulation the accumulator.
        index: of a load and a store the indices of the array, over loops.
        text: what it computes: expressions over loops, the names of `reads` and scalars. Of a `begin` it is the call
            of `accumulator`, without a shape.
        dtype: of a load, a copy and an assignment the type of its value, as the kernel writes it.
    """

    name: str
    kind: StatementKind
    loops: tuple[str, ...]
    reads: tuple[str, ...] = ()
    array: str = ""
    index: tuple[str, ...] = ()
    text: str = ""
    dtype: str = ""


class Backbone(Struct, frozen=True):
    """What a kernel computes.

    Attributes:
        name: the kernel's name.
        loops: its loops by name, in the order of the text.
        statements: its statements, in the order of the text: values are made before they are taken.
        arguments: the kernel's parameters by name, with their types as they are written.
        arrays: of each array its element type, its shape as it is written, and whether the kernel writes it.
    """

    name: str
    loops: dict[str, BackboneLoop]
    statements: tuple[Statement, ...]
    arguments: dict[str, str]
    arrays: dict[str, BackboneArray]

    def statement(self, name: str) -> Statement:
        """Return the statement of a name."""
        return next(statement for statement in self.statements if statement.name == name)

    def tiles(self, statement: Statement) -> list[LoopLevel]:
        """Return the levels of a statement's loops, those of one loop together."""
        return [tile for loop in statement.loops for tile in self.loops[loop].tiles]

    def reduced(self, statement: Statement) -> tuple[str, ...]:
        """Return the loops along which a statement accumulates."""
        if statement.kind != "accumulate":
            return ()
        (begin,) = (self.statement(name) for name in statement.reads if self.statement(name).kind == "begin")
        return tuple(loop for loop in statement.loops if loop not in begin.loops)

    def result_loops(self, statement: Statement) -> tuple[str, ...]:
        """Return the loops at whose values a statement leaves one value each."""
        reduced = self.reduced(statement)
        return tuple(loop for loop in statement.loops if loop not in reduced)

    def users(self, name: str) -> list[Statement]:
        """Return the statements that take a statement's value."""
        return [statement for statement in self.statements if name in statement.reads]


class BackboneArray(Struct, frozen=True):
    """The type of an array: its element type, its extents, and whether it is written."""

    dtype: str
    shape: tuple[int, ...]
    written: bool


def tiled(name: str, length: str, extent: int, sizes: tuple[tuple[int, ...], ...]) -> BackboneLoop:
    """Return a loop strip-mined into an outermost level and one for each of some sets of sizes.

    Sizes that do not divide the length with some sizes of the others are left out. A loop that nothing divides is not
    strip-mined.
    """
    fitting = [tuple(size for size in level if size <= extent and extent % size == 0) for level in sizes]
    if not fitting or not all(any(size > 1 for size in level) for level in fitting):
        return BackboneLoop(name, length, extent, (LoopLevel(name, name, (extent,)),))
    inner = tuple(LoopLevel(f"{name}{n}", name, level) for n, level in enumerate(fitting, 1))
    return BackboneLoop(name, length, extent, (LoopLevel(f"{name}0", name, ()), *inner))


def with_divisors(extent: int, sizes: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return the sizes of levels with the other divisors of a length between the least and the greatest of each.

    >>> with_divisors(24, ((2, 4, 8), (1, 2)))
    ((2, 3, 4, 6, 8), (1, 2))
    """
    return tuple(
        tuple(size for size in range(min(level), max(level) + 1) if size in level or extent % size == 0)
        for level in sizes
    )


def default_sizes(reduced: bool, alone: bool) -> tuple[tuple[int, ...], ...]:
    """Return the sizes of section 5.2: two levels of a loop over outputs, one of a loop that is summed along."""
    if reduced:
        return ((2, 4, 8, 16, 32),)
    if alone:
        return (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), (1, 2, 4)
    return (2, 4, 8, 16, 32), (1, 2, 4, 8)
