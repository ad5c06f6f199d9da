"""What warps ask of a tile: an access is a set of warp-wide instructions, each lane of which moves neighbouring cells.
Those that everybody makes are here: rows, columns, blocks, asynchronous copies, matrix fragments.

An access of one's own is a Python function from a lane (and whatever counts the instructions) to the cell that its
vector begins at, or None where the lane is off. `swizzle/layouts/access.py` has those that everybody makes.

Of a tile with two axes, axis 0 counts rows and axis 1 columns; `along` is the axis that a lane's vector runs along. In
which of them neighbours lie side by side in memory is what the search finds out. Fragments follow the PTX ISA (sections
on mma, ldmatrix and stmatrix): of lane l, g = l // 4 is its group and t = l % 4 its place in the group.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod
from numbers import Integral
from types import FrameType
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import LANES

Coordinates = npt.NDArray[np.int64]
"""Of shape (instructions, lanes, axes): the cell at which a lane's vector begins; -1 in each axis where it is off."""


class Asked(Struct, frozen=True):
    """What an access asks of one tile: where vectors begin, how many elements they have, and along which axis."""

    starts: Coordinates
    width: int
    along: int


class Access(Struct, frozen=True):
    """A pattern: its name, and what it asks of a tile of a shape whose elements have so many bits.

    `holds` is the cell in each slot of each lane after a load, of shape (slots, lanes, axes), where the addresses that
    lanes give do not say it.
    """

    name: str
    of: Callable[[tuple[int, ...], int], Asked]
    holds: Callable[[tuple[int, ...], int], Coordinates] | None = None

    def __repr__(self) -> str:
        return self.name


def mistake(found: str, expected: str, fix: str) -> NoReturn:
    """Raise the user's error, at the line outside of this package that called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("swizzle.layouts"):
        frame = frame.f_back
    place = None
    if frame is not None:
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip()
        start = len(text) - len(text.lstrip()) + 1
        place = Place(frame.f_code.co_filename, frame.f_lineno, start, len(text) + 1)
    raise SwizzleError(found, place=place, expected=expected, fix=fix)


def is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def axis_of(along: object, axes: int, name: str) -> int:
    """Return an axis as a number from 0, or raise the user's error."""
    if not is_int(along) or not -axes <= int(along) < axes:  # type: ignore[call-overload]
        mistake(
            f"{name} runs along axis {along!r} of a tile with {axes} axes",
            f"an axis from {-axes} to {axes - 1}",
            fix="count axes from 0; the last is -1",
        )
    return int(along) % axes  # type: ignore[call-overload, no-any-return]


def access(
    cell: Callable[..., Any],
    *,
    width: int = 1,
    along: int = -1,
    lanes: int = 32,
    name: str = "",
    **instructions: int | Iterable[int],
) -> Access:
    """Return an access given by a function: `access(lambda lane, k: (lane, k), k=32)` is 32 columns of 32 cells.

    `cell(lane, ...)` is where a lane's vector begins: a tuple with a coordinate for each axis, or None where the lane
    is off. A vector has `width` elements along the axis `along`. Each further parameter counts instructions: it is
    given as a number, for 0, 1, ..., or as the values that it takes, and all combinations are made. A parameter with a
    default may be left out. Raises SwizzleError at the caller's line.
    """
    if getattr(cell, "__module__", "") == "swizzle.layouts.access":
        name = cell.__name__
        mistake(f"the access is the function {name} itself", "what it returns", f"layouts.{name}(...)")
    if not callable(cell):
        mistake(f"an access is {cell!r}", "a function from a lane to a cell, or a pattern", "lambda lane: (lane, 0)")
    _check_width(width)
    if not is_int(lanes) or not 1 <= lanes <= 32:
        mistake(
            f"an access has {lanes!r} lanes",
            "an int from 1 to 32, the lanes of a warp",
            fix="leave lanes= out for a whole warp",
        )
    own = name or getattr(cell, "__name__", "access").replace("<lambda>", "lambda")
    ranges = {key: _range(own, key, value) for key, value in instructions.items()}
    _check_parameters(cell, own, ranges)

    def of(shape: tuple[int, ...], bits: int) -> Asked:
        axis = axis_of(along, len(shape), own)
        starts = np.full((prod(map(len, ranges.values())), lanes, len(shape)), -1, np.int64)
        for row, values in zip(starts, product(*ranges.values()), strict=True):
            counted = dict(zip(ranges, values, strict=True))
            for lane in range(lanes):
                found = cell(lane, **counted)
                if found is not None:
                    row[lane] = _checked(found, shape, f"{own} at {_point(lane, counted)}")
        return Asked(starts, int(width), axis)

    return Access(own, of)


def _range(name: str, key: str, value: Any) -> list[int]:
    values = list(range(value)) if is_int(value) else list(value) if isinstance(value, Iterable) else None
    if values is None or not values or not all(is_int(each) for each in values):
        mistake(f"{key} of {name} is {value!r}", "a number from 1, or the values that it takes", f"{key}=8")
    return [int(each) for each in values]


def _check_parameters(cell: Callable[..., Any], name: str, ranges: dict[str, list[int]]) -> None:
    try:
        inspect.signature(cell).bind(0, **dict.fromkeys(ranges, 0))
    except TypeError as error:
        names = ", ".join(["lane", *ranges])
        mistake(
            f"{name} cannot be called with ({names}): {error}",
            "a function of the lane, and of each parameter that counts instructions",
            "access(lambda lane, k: (lane, k), k=32)",
        )


def _point(lane: int, counted: dict[str, int]) -> str:
    return ", ".join([f"lane {lane}", *(f"{key} = {value}" for key, value in counted.items())])


def _checked(found: Any, shape: tuple[int, ...], where: str) -> Sequence[int]:
    one = (found,) if is_int(found) and len(shape) == 1 else found
    if not isinstance(one, tuple | list) or len(one) != len(shape) or not all(is_int(each) for each in one):
        mistake(
            f"{where} gives {found!r}",
            f"a cell, {f'a tuple of {len(shape)} ints' if len(shape) > 1 else 'an int'}, or None where the lane is off",
            fix="return the cell's indices, or None",
        )
    if not all(0 <= each < size for each, size in zip(one, shape, strict=True)):
        mistake(
            f"{where} gives the cell {tuple(one)}, which is outside of the tile",
            " and ".join(f"0 <= {each} < {size}" for each, size in zip(_names(len(shape)), shape, strict=True)),
            "return None where a lane is off",
        )
    return one


def _names(axes: int) -> Sequence[str]:
    return ("r", "c") if axes == 2 else [f"axis {k}" for k in range(axes)]


_MMA = re.compile(r"m(8|16)n(8)k(4|8|16|32|64)")


def linear(order: Literal["row", "column"] = "row", width: int = 1) -> Access:
    """Return the whole tile in one linear order, 32 lanes after each other, each with a vector of `width` elements."""
    if order not in ("row", "column"):
        mistake(f"a linear order is {order!r}", "'row' or 'column'", fix="name one of these")
    _check_width(width)

    def of(shape: tuple[int, ...], bits: int) -> Asked:
        axes = list(range(len(shape)))
        return _in_order(shape, axes if order == "row" else axes[::-1], width, f"linear({order!r}, {width})")

    return Access(f"linear({order!r}{_more(width)})", of)


def rows(width: int = 1) -> Access:
    """Return every row, by as many lanes as it has vectors, 32 at most at once."""
    return _lines("rows", 1, width)


def columns(width: int = 1) -> Access:
    """Return every column, by as many lanes as it has vectors (which run down the column), 32 at most at once."""
    return _lines("columns", 0, width)


def blocks(height: int, width: int, vector: int = 1, *, along: int = -1) -> Access:
    """Return the tile block by block: `height` times `width` lanes, each with a `vector` of elements along an axis."""
    _check_width(vector)
    if not (is_int(height) and is_int(width) and height >= 1 and width >= 1 and height * width <= LANES):
        mistake(f"a block has {height!r} x {width!r} lanes", f"at most {LANES} lanes", fix="make the block smaller")
    name = f"blocks({height}, {width}{_more(vector)})"

    def of(shape: tuple[int, ...], bits: int) -> Asked:
        _two_axes(shape, name)
        axis = axis_of(along, 2, name)
        step = [height, width]
        step[axis] *= vector
        _divides(shape, step, name)
        corners = _grid([range(0, n, s) for n, s in zip(shape, step, strict=True)])
        inside = _grid([range(0, s, vector if a == axis else 1) for a, s in enumerate(step)])
        return Asked(corners[:, None, :] + inside[None, :, :], vector, axis)

    return Access(name, of)


def cp_async(bytes: int = 16, *, along: int = -1) -> Access:
    """Return copies into the tile, `bytes` (4, 8, 16) a lane along an axis, in linear order with that axis fastest."""
    if bytes not in (4, 8, 16):
        mistake(f"cp_async moves {bytes!r} bytes", "4, 8 or 16 bytes a lane", fix="name one of these")
    return _chunks(f"cp_async({bytes})", bytes, along)


def tma(*, along: int = -1) -> Access:
    """Return the stores of a TMA box: 16-byte chunks in linear order. `best(..., tma=True)` keeps to TMA's modes."""
    return _chunks("tma()", 16, along)


def ldmatrix(count: int = 4, *, trans: bool = False, along: int = -1) -> Access:
    """Return ldmatrix.x1, .x2 or .x4 over the whole tile: matrices of 8 rows, each row 16 bytes along an axis.

    Of banks, `trans` makes no difference, as the rows in memory are the same: it decides what registers hold. Operand B
    of mma in rows of N is `trans` in a tile of K x N; a tile that is stored column by column is `along=0`.
    Matrices go down the tile first, as registers of mma's operand A do. Of banks that makes no difference, either: each
    matrix is a phase of its own.
    """
    return _matrices("ldmatrix", count, trans, along)


def stmatrix(count: int = 4, *, trans: bool = False, along: int = -1) -> Access:
    """Return stmatrix.x1, .x2 or .x4 over the whole tile: what `ldmatrix` reads is written."""
    return _matrices("stmatrix", count, trans, along)


def mma(operand: Literal["A", "B", "C"], shape: str, *, k: int | None = None, along: int | None = None) -> Access:
    """Return the loads of an operand of mma.sync (or, of "C", of an accumulator) over the whole tile.

    `shape` is as in PTX: "m16n8k8", "m16n8k16", "m16n8k32", ... The tile of A is M x K and of B is K x N; `k` is the
    axis of the tile that counts k, where it is another (for C, the axis that counts n). A lane's elements of a register
    are neighbours along k (for C, two along n): they are moved at once where `along` is that axis, and one by one
    otherwise. By default it is that axis.
    """
    match = _MMA.fullmatch(shape) if isinstance(shape, str) else None
    if operand not in ("A", "B", "C") or match is None:
        mistake(
            f"{operand!r} of {shape!r} is no operand of mma.sync",
            '"A", "B" or "C" of a shape such as "m16n8k8", "m16n8k16" or "m16n8k32"',
            fix="name an operand and a shape that PTX has",
        )
    m, n, depth = map(int, match.groups())
    axis = {"A": 1, "B": 0, "C": 1}[operand] if k is None else k
    name = f"mma({operand!r}, {shape!r}{'' if k is None else f', k={k}'}{'' if along is None else f', along={along}'})"

    def of(tile: tuple[int, ...], bits: int) -> Asked:
        _two_axes(tile, name)
        deep = axis_of(axis, 2, name)
        group, place = np.divmod(np.arange(LANES), 4)
        per = 2 if operand == "C" else max(1, 32 // bits)
        width = per if axis_of(deep if along is None else along, 2, name) == deep else 1
        across, inner = (n if operand == "B" else m), (n if operand == "C" else depth)
        if inner % (4 * per):
            mistake(
                f"{name} does not exist for elements of {bits} bits",
                f"k a multiple of {4 * per}",
                fix="use a shape that PTX has for this type",
            )
        steps = [0, 0]
        steps[deep], steps[1 - deep] = inner, across
        _divides(tile, steps, name)
        corners = _grid([range(0, size, step) for size, step in zip(tile, steps, strict=True)])
        registers = _grid([range(0, inner, 4 * per), range(0, across, 8), range(0, per, width)])  # as PTX numbers them
        lanes = np.empty((len(registers), LANES, 2), np.int64)
        lanes[:, :, 1 - deep] = registers[:, 1:2] + group
        lanes[:, :, deep] = registers[:, :1] + registers[:, 2:] + place * per
        starts = corners[:, None, None, :] + lanes[None]
        return Asked(starts.reshape(-1, LANES, 2), width, deep)

    return Access(name, of)


# ---- what they are made of -----------------------------------------------------------------------------------------


def _lines(kind: str, axis: int, width: int) -> Access:
    _check_width(width)
    name = f"{kind}({width})" if width > 1 else f"{kind}()"

    def of(shape: tuple[int, ...], bits: int) -> Asked:
        _two_axes(shape, name)
        length = shape[axis]
        _divides((length,), (width,), name)
        vectors = length // width
        chunks = -(-vectors // LANES)
        along = np.full(chunks * LANES, -1, np.int64)
        along[:vectors] = np.arange(vectors) * width
        starts = np.empty((shape[1 - axis], chunks * LANES, 2), np.int64)
        starts[:, :, axis] = along
        starts[:, :, 1 - axis] = np.where(along >= 0, np.arange(shape[1 - axis])[:, None], -1)
        return Asked(starts.reshape(-1, LANES, 2), width, axis)

    return Access(name, of)


def _chunks(name: str, size: int, along: int) -> Access:
    def of(shape: tuple[int, ...], bits: int) -> Asked:
        axis = axis_of(along, len(shape), name)
        if size * 8 % bits:
            mistake(
                f"{name} cuts elements of {bits} bits",
                f"elements of at most {size * 8} bits",
                fix="use a wider instruction, or narrower elements",
            )
        axes = [each for each in range(len(shape)) if each != axis] + [axis]
        return _in_order(shape, axes, size * 8 // bits, name)

    return Access(name if along == -1 else f"{name[:-1]}{'' if name.endswith('()') else ', '}along={along})", of)


def _matrices(instruction: str, count: int, trans: bool, along: int) -> Access:
    if count not in (1, 2, 4):
        mistake(f"{instruction} moves {count!r} matrices", "1, 2 or 4 matrices", fix="name one of these")
    name = f"{instruction}({count}{', trans=True' if trans else ''}{'' if along == -1 else f', along={along}'})"

    def of(shape: tuple[int, ...], bits: int) -> Asked:
        _two_axes(shape, name)
        axis, row = axis_of(along, 2, name), 128 // bits
        step = [8, row] if axis == 1 else [row, 8]
        _divides(shape, step, name)
        corners = _corners(shape, step)
        spare = -len(corners) % count
        matrix = np.zeros((8, 2), np.int64)
        matrix[:, 1 - axis] = np.arange(8)
        starts = (corners[:, None, :] + matrix[None]).reshape(-1, 2)
        starts = np.concatenate([starts, np.full((8 * spare, 2), -1, np.int64)])
        return Asked(starts.reshape(-1, 8 * count, 2), row, axis)

    def holds(shape: tuple[int, ...], bits: int) -> Coordinates:
        axis = of(shape, bits).along
        if trans and bits != 16:
            mistake(
                f"{name} transposes elements of {bits} bits",
                "elements of 16 bits",
                fix="leave trans out, or view the elements as 16 bits",
            )
        per = max(1, 32 // bits)
        corners = _corners(shape, [8, 128 // bits] if axis == 1 else [128 // bits, 8])
        group, place = np.divmod(np.arange(LANES), 4)
        inside = np.stack([np.tile(group, (per, 1)), place * per + np.arange(per)[:, None]], -1)
        inside = inside if trans != (axis == 1) else inside[..., ::-1]
        found: Coordinates = (corners[:, None, None, :] + inside[None]).reshape(-1, LANES, 2)
        return found

    return Access(name, of, holds)


def _corners(shape: Sequence[int], step: Sequence[int]) -> Coordinates:
    """Return the first cells of matrices that fill the tile, down it first."""
    return _grid([range(0, size, each) for size, each in zip(reversed(shape), reversed(step), strict=True)])[:, ::-1]


def _in_order(shape: tuple[int, ...], axes: Sequence[int], width: int, name: str) -> Asked:
    """Return the tile's vectors in a linear order, the last of `axes` the fastest, by 32 lanes at once."""
    fast = axes[-1]
    _divides((shape[fast],), (width,), name)
    count = prod(shape) // width
    index = np.arange(-(-count // LANES) * LANES)
    starts = np.empty((len(index), len(shape)), np.int64)
    left = index
    for axis in reversed(axes):
        length = shape[axis] // width if axis == fast else shape[axis]
        left, place = np.divmod(left, length)
        starts[:, axis] = place * (width if axis == fast else 1)
    starts[count:] = -1
    return Asked(starts.reshape(-1, LANES, len(shape)), width, fast)


def _grid(ranges: Sequence[range]) -> Coordinates:
    """Return all combinations, the last one running fastest; of shape (combinations, ranges)."""
    found: Coordinates = np.stack(np.meshgrid(*(np.array(r) for r in ranges), indexing="ij"), -1)
    return found.reshape(-1, len(ranges)).astype(np.int64)


def _more(width: int) -> str:
    return f", {width}" if width > 1 else ""


def _check_width(width: Any) -> None:
    if not is_int(width) or width < 1:
        mistake(
            f"the width of an access is {width!r}",
            "how many elements a lane moves, an int from 1",
            fix="width=4 moves four elements a lane; leave it out for 1",
        )


def _two_axes(shape: Sequence[int], name: str) -> None:
    if len(shape) != 2:
        mistake(
            f"{name} is asked of a tile with {len(shape)} axes",
            "a tile with two, rows and columns",
            fix="give the tile two axes",
        )


def _divides(shape: Sequence[int], steps: Sequence[int], name: str) -> None:
    if any(size % step for size, step in zip(shape, steps, strict=True)):
        sizes, pieces = (" x ".join(map(str, each)) for each in (shape, steps))
        mistake(
            f"{name} takes pieces of {pieces}, which do not fill {sizes}",
            f"multiples of {pieces}",
            fix="round the tile's extents up",
        )
