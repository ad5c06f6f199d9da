"""From a kernel of fixed size to what each of its blocks runs, ready for the passes and the printer."""

from __future__ import annotations

from cuda_out.tiling.blocks import endless, first_block
from cuda_out.tiling.tiling import TiledAxis, Tiling
from cuda_out.tiling.translation import Ends, NotTranslated, translated
from cuda_out.tiling.trips import with_length
from symbolic.ir.program import Program


def ends_of(axis: TiledAxis) -> Ends:
    """Return what translation is told of an axis with edges."""
    return Ends(axis.blocks(axis.declared), axis.tile, axis.declared)


def without_bounds(program: Program, tiling: Tiling) -> Program:
    """Return the program without comparisons with the arrays' lengths, on a grid without end.

    Along axes with edges, they ask how much is before a block and left for it.
    """
    program = endless(with_length(program, tiling), [axis.axis for axis in tiling.of_grid])
    for axis in tiling.of_grid:
        moves = translated(program, axis.axis, ends_of(axis) if axis.edges else None)
        assert not isinstance(moves, NotTranslated), "a tiling has axes along which blocks are moved copies"
        program = moves.program
    return program


def one_tile(program: Program, tiling: Tiling) -> Program:
    """Return what block 0 runs where no array ends inside it."""
    return first_block(without_bounds(program, tiling), [axis.axis for axis in tiling.of_grid])
