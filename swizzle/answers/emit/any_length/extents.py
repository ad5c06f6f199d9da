"""From strides to lengths: what one number along an axis of the grid says about the extents of all arrays."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from msgspec import Struct

from cuda_out.tiling.tiling import AXES, Span, TiledAxis
from cuda_out.tiling.translation import NotTranslated, Translated
from symbolic.errors import Place
from symbolic.ir.program import Parameter, Program


class Extents(Struct, frozen=True):
    """A tiled axis, and the dimensions of arrays that grow with it."""

    axis: TiledAxis
    spans: Mapping[str, tuple[Span | None, ...]]


def extents(program: Program, moves: Translated) -> Extents | NotTranslated:
    """Find the length along an axis of which the extents of all arrays are linear functions.

    The outputs begin and end with the length; inputs may have a fixed number of elements more (a halo).
    """
    axis = moves.axis
    blocks = program.grid[AXES.index(axis)]
    for parameter in program.parameters:
        strides = moves.strides[parameter.name]
        if min(strides, default=0) < 0:
            return _no(f"accesses to {parameter.name} move backwards along blockIdx.{axis}", parameter.place)
        moving = sum(stride > 0 for stride in strides)
        if parameter.by_value and moving:
            return _no(f"{parameter.name}, which is passed by value, would grow with the length", parameter.place)
        if parameter.role in ("out", "inout") and moving != 1:
            found = "no dimension" if not moving else f"{moving} dimensions"
            return _no(f"{found} of {parameter.name} moves with blockIdx.{axis}, not one", parameter.place)
    tile = gcd(*(stride for strides in moves.strides.values() for stride in strides))
    declared: int | None = None
    for parameter in program.parameters:
        if parameter.role not in ("out", "inout"):
            continue
        extent, stride = _moving(parameter, moves)
        scale = stride // tile
        length = extent // scale
        if extent % scale or -(-length // tile) != blocks:
            what = f"{parameter.name} has {extent} elements along {axis}"
            return _no(f"{what}, but {blocks} blocks of {stride} cover {blocks * stride}", parameter.place)
        if declared not in (None, length):
            return _no(f"the outputs have different lengths along {axis}, {declared} and {length}", parameter.place)
        declared = length
    assert declared is not None, "a kernel has an output"
    spans: dict[str, tuple[Span | None, ...]] = {}
    for parameter in program.parameters:
        strides = moves.strides[parameter.name]
        spans[parameter.name] = tuple(
            Span(axis, stride // tile, extent - stride // tile * declared) if stride else None
            for extent, stride in zip(parameter.shape, strides, strict=True)
        )
    return Extents(TiledAxis(axis, tile, 1, declared), spans)


def _moving(parameter: Parameter, moves: Translated) -> tuple[int, int]:
    """Return the extent and the stride of the dimension that moves."""
    pairs = zip(parameter.shape, moves.strides[parameter.name], strict=True)
    ((extent, stride),) = [pair for pair in pairs if pair[1]]
    return extent, stride


def _no(why: str, place: Place) -> NotTranslated:
    return NotTranslated(why, place)
